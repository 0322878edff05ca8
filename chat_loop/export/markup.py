"""What was said, as HTML: markdown with raw HTML off, links that lead only to the web, code
coloured by classes.

Everything is escaped, images are links, and no markup of the text's own comes through. Linear in
the text: nesting is bounded, and only code of a size that no colouring rule can be slow on is
coloured.
"""

from __future__ import annotations

import re
from collections.abc import MutableMapping, Sequence
from functools import cache
from html import escape
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token
from markdown_it.utils import OptionsDict
from pygments.lexer import Lexer
from pygments.lexers import get_lexer_by_name
from pygments.token import (
    Comment,
    Error,
    Generic,
    Keyword,
    Name,
    Number,
    Operator,
    Punctuation,
    String,
)
from pygments.token import Token as Kind

_NESTING = 20
"""Quotes and lists within each other; what is deeper is shown as it was typed."""
_COLOURED = 8_000
"""Characters of a code block that is coloured."""
_UGLY = re.compile(r"\s{100}|[^\n]{1000}")
"""Code in which some languages' rules would take quadratic time."""
_URL = re.compile(r"https?://[^\s<>\"'`]{1,2000}")
_SCHEMES = ("http://", "https://", "mailto:")
_REL = 'rel="noopener noreferrer nofollow"'

_LANGUAGES = {
    name: lexer
    for lexer, names in {
        "bash": "sh shell zsh",
        "c": "h",
        "console": "shell-session",
        "cpp": "c++ cc hpp",
        "css": "",
        "diff": "patch",
        "docker": "dockerfile",
        "go": "golang",
        "haskell": "hs",
        "html": "",
        "ini": "cfg conf systemd properties",
        "java": "csharp cs c#",
        "javascript": "js jsx node",
        "json": "jsonc json5",
        "kotlin": "kt",
        "lua": "",
        "make": "makefile",
        "nginx": "",
        "perl": "pl",
        "php": "",
        "powershell": "ps1",
        "python": "py python3",
        "r": "",
        "ruby": "rb",
        "rust": "rs",
        "scala": "",
        "sql": "postgresql sqlite mysql",
        "swift": "",
        "toml": "",
        "typescript": "ts tsx",
        "xml": "svg",
        "yaml": "yml",
    }.items()
    for name in (lexer, *names.split())
}
"""Each language's rules were tried on hostile code; one that is not here is not coloured."""

_CLASSES = {
    Comment: "c",
    Keyword: "k",
    Name.Builtin: "b",
    Name.Class: "f",
    Name.Function: "f",
    Name.Tag: "k",
    Name.Attribute: "b",
    Name.Decorator: "b",
    Number: "n",
    String: "s",
    Operator: "o",
    Punctuation: "",
    Error: "",
    Generic.Deleted: "d",
    Generic.Inserted: "i",
    Generic.Heading: "f",
    Generic.Subheading: "f",
    Generic.Prompt: "c",
    Kind: "",
}
COLOURS = tuple(dict.fromkeys(filter(None, _CLASSES.values())))
"""The classes that coloured code has, for the style."""


class _Markdown(MarkdownIt):
    def validateLink(self, url: str) -> bool:  # noqa: N802 - the library's name
        return url.lower().startswith(_SCHEMES)


class _Renderer(RendererHTML):
    """Rules for single tokens; `env["breaks"]` keeps the lines as they were typed."""

    def heading_open(self, tokens: Sequence[Token], at: int, options: OptionsDict, env: Env) -> str:
        return f"<h{_level(tokens[at])}>"

    def heading_close(
        self, tokens: Sequence[Token], at: int, options: OptionsDict, env: Env
    ) -> str:
        return f"</h{_level(tokens[at])}>\n"

    def link_open(self, tokens: Sequence[Token], at: int, options: OptionsDict, env: Env) -> str:
        env["link"] = True
        return _link(str(tokens[at].attrGet("href") or ""), str(tokens[at].attrGet("title") or ""))

    def link_close(self, tokens: Sequence[Token], at: int, options: OptionsDict, env: Env) -> str:
        env["link"] = False
        return "</a>"

    def image(self, tokens: Sequence[Token], at: int, options: OptionsDict, env: Env) -> str:
        token = tokens[at]
        text = escape(f"Image: {token.content or 'without a name'}")
        shown = f'<span class="image">{text}</span>'
        return shown if env.get("link") else f"{_link(str(token.attrGet('src') or ''))}{shown}</a>"

    def text(self, tokens: Sequence[Token], at: int, options: OptionsDict, env: Env) -> str:
        content = tokens[at].content
        return escape(content) if env.get("link") or "://" not in content else _linked(content)

    def softbreak(self, tokens: Sequence[Token], at: int, options: OptionsDict, env: Env) -> str:
        return "<br>\n" if env.get("breaks") else "\n"

    def hardbreak(self, tokens: Sequence[Token], at: int, options: OptionsDict, env: Env) -> str:
        return "<br>\n"

    def fence(self, tokens: Sequence[Token], at: int, options: OptionsDict, env: Env) -> str:
        info = tokens[at].info.split()
        return code(tokens[at].content, info[0] if info else "")

    def code_block(self, tokens: Sequence[Token], at: int, options: OptionsDict, env: Env) -> str:
        return code(tokens[at].content)

    def table_open(self, tokens: Sequence[Token], at: int, options: OptionsDict, env: Env) -> str:
        return '<div class="wide" tabindex="0"><table>\n'

    def table_close(self, tokens: Sequence[Token], at: int, options: OptionsDict, env: Env) -> str:
        return "</table></div>\n"

    def th_open(self, tokens: Sequence[Token], at: int, options: OptionsDict, env: Env) -> str:
        return f"<th{_side(tokens[at])}>"

    def td_open(self, tokens: Sequence[Token], at: int, options: OptionsDict, env: Env) -> str:
        return f"<td{_side(tokens[at])}>"


Env = MutableMapping[str, Any]


@cache
def _markdown() -> MarkdownIt:
    options = {"html": False, "maxNesting": _NESTING, "xhtmlOut": False}
    return _Markdown("commonmark", options, renderer_cls=_Renderer).enable(
        ["table", "strikethrough"]
    )


def prose(text: str, breaks: bool = False) -> str:
    """Return markdown as HTML; `breaks` keeps single newlines, as one types them into a prompt."""
    reader = _markdown()
    tokens = reader.parse(text)
    if any(token.level >= _NESTING - 1 for token in tokens):
        return plain(text)  # the reader leaves out what is nested deeper
    rendered = reader.renderer.render(tokens, reader.options, {"breaks": breaks})
    assert isinstance(rendered, str)
    return rendered


def plain(text: str) -> str:
    """Return text as it was typed."""
    text = text.replace("\r\n", "\n")
    return f'<pre class="typed">\n{escape(text)}</pre>\n'


def code_blocks(text: str) -> tuple[tuple[str, str], ...]:
    """The fenced blocks of code in a text of markdown, as they stand in it: (language, code)."""
    return tuple(
        (token.info.strip().partition(" ")[0], token.content)
        for token in _markdown().parse(text)
        if token.type == "fence"
    )


def code(text: str, language: str = "") -> str:
    """Return a code block, with its language above it and coloured when it is one of those
    known.
    """
    name = language.lower()
    lexer = _lexer(_LANGUAGES[name]) if name in _LANGUAGES else None
    small = len(text) <= _COLOURED and not _UGLY.search(text)
    inner = _coloured(text, lexer) if lexer is not None and small else escape(text)
    title = f"<figcaption>{escape(language[:40])}</figcaption>" if language else ""
    return f'<figure>{title}<pre tabindex="0"><code>{inner}</code></pre></figure>\n'


def _level(token: Token) -> int:
    """The page's own headings end at the third level."""
    return min(6, int(token.tag[1:]) + 3)


def _side(token: Token) -> str:
    style = str(token.attrGet("style") or "")
    side = style.removeprefix("text-align:")
    return f' class="{side}"' if side in ("right", "center") else ""


def _link(url: str, title: str = "") -> str:
    titled = f' title="{escape(title)}"' if title else ""
    return f'<a href="{escape(url)}"{titled} {_REL}>'


def _linked(text: str) -> str:
    """Text with the addresses in it as links."""
    parts, done = [], 0
    for match in _URL.finditer(text):
        url = match.group().rstrip(".,;:!?)]}*_")
        parts += [escape(text[done : match.start()]), _link(url), escape(url), "</a>"]
        done = match.start() + len(url)
    return "".join(parts) + escape(text[done:])


@cache
def _lexer(name: str) -> Lexer:
    return get_lexer_by_name(name, stripnl=False, ensurenl=True)


@cache
def _class(kind: Any) -> str:
    while kind not in _CLASSES:
        kind = kind.parent
    return _CLASSES[kind]


def _coloured(text: str, lexer: Lexer) -> str:
    parts: list[str] = []
    run: list[str] = []
    current = ""

    def flush() -> None:
        inner = escape("".join(run))
        parts.append(f'<span class="{current}">{inner}</span>' if current and inner else inner)
        run.clear()

    for kind, value in lexer.get_tokens(text):
        found = _class(kind) if value.strip() else current
        if found != current:
            flush()
            current = found
        run.append(value)
    flush()
    return "".join(parts)
