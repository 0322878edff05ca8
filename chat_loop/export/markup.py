"""Converts markdown to HTML, without raw HTML. Links lead only to the web or to mail, and those of
a summary also to messages of the page.

Everything is escaped, classes color code, and an image is shown as its name and address. The time
is linear because nesting is bounded.
"""

from __future__ import annotations

import re
from functools import cache
from html import escape

from markdown_it import MarkdownIt
from markdown_it.token import Token

from chat_loop.display.markdown.code import CodeColors
from chat_loop.display.markdown.dialect import FORMULA, TASK, speak
from chat_loop.display.markdown.inline import without_open_item

MESSAGE_LINK = r"#s[0-9]{1,6}q[0-9]{1,9}"
_NESTING = 20  # the depth of quotes and lists; text that nests them deeper is shown as typed


class _Markdown(MarkdownIt):
    def validateLink(self, url: str) -> bool:  # noqa: N802 - the library's name
        return url.lower().startswith(("http://", "https://", "mailto:"))


class _MarkedMarkdown(_Markdown):
    def validateLink(self, url: str) -> bool:  # noqa: N802 - the library's name
        return re.fullmatch(MESSAGE_LINK, url) is not None or super().validateLink(url)


@cache
def _markdown(breaks: bool, marked: bool = False) -> MarkdownIt:
    options = {"html": False, "maxNesting": _NESTING, "xhtmlOut": False, "breaks": breaks}
    reader = _MarkedMarkdown if marked else _Markdown
    return speak(reader("commonmark", options).enable(["table", "strikethrough"]))


def prose(text: str, breaks: bool = False, *, marked: bool = False) -> str:
    """Return markdown as HTML; `breaks` keeps single newlines, as people type them in a prompt. If
    it is `marked`, it may link to messages of the page.
    """
    reader = _markdown(breaks, marked)
    tokens = reader.parse(without_open_item(text))
    if any(token.level >= _NESTING - 1 for token in tokens):
        typed = text.replace("\r\n", "\n")  # the reader leaves out text that is nested deeper
        return f'<pre class="typed">\n{escape(typed)}</pre>\n'
    for item, opening, words in zip(tokens, tokens[1:], tokens[2:], strict=False):
        if item.type == "list_item_open" and opening.type == "paragraph_open" and words.children:
            _draw_box(item, words.children[0])
    for token in tokens:
        for part in (token, *(token.children or ())):
            _adapt(part)
    return str(reader.renderer.render(tokens, reader.options, {}))


def _draw_box(item: Token, first: Token) -> None:
    """Draw the box of a task as on the terminal."""
    task = TASK.match(first.content)
    if task is None or first.type != "text":
        return
    box = "☐" if task[1] == " " else "☑"
    first.content = f"{box} {first.content[task.end() :]}"
    if not item.info:  # a bullet gives way to the box, a number stays
        item.attrs["class"] = "task"


def _adapt(token: Token) -> None:
    """Adapt a token to the page. It may become an HTML token, which the text cannot create."""
    html = ""
    match token.type:
        case "fence" | "code_block":
            html = code(token.content, "".join(token.info.split()[:1]))
        case kind if kind == FORMULA:
            html = code(token.content.rstrip("\n"))
        case "table_open":
            html = '<div class="wide" tabindex="0"><table>\n'
        case "table_close":
            html = "</table></div>\n"
        case "th_open" | "td_open":
            side = str(token.attrs.pop("style", "")).removeprefix("text-align:")
            token.attrs |= {"class": side} if side in ("right", "center") else {}
        case "heading_open" | "heading_close":  # the page's own headings end at the third level
            token.tag = f"h{min(6, int(token.tag[1:]) + 3)}"
        case "link_open":
            token.attrs["rel"] = "noopener noreferrer nofollow"
        case "image":
            name = token.content or "without a name"
            address = str(token.attrGet("src") or "")
            html = f'<span class="image">{escape(f"Image: {name} ({address})")}</span>'
    if html:
        token.type = "html_block"
        token.content = html


def code(text: str, language: str = "") -> str:
    """Return a code block as HTML, below its language, colored as on the terminal."""
    colors = CodeColors(language)
    lines = []
    for line in text.split("\n"):
        pieces = []
        for piece, kind in colors.line(line):
            html = escape(piece)
            if kind:
                html = f'<span class="{kind}">{html}</span>'
            pieces.append(html)
        lines.append("".join(pieces))
    inner = "\n".join(lines)
    title = ""
    if language:
        title = f"<figcaption>{escape(language[:40])}</figcaption>"
    return f'<figure>{title}<pre tabindex="0"><code>{inner}</code></pre></figure>\n'


def code_blocks(text: str) -> tuple[tuple[str, str], ...]:
    """Return the fenced code blocks in markdown, in order, each as (language, code)."""
    blocks = []
    for token in _markdown(False).parse(text):
        if token.type == "fence":
            blocks.append((token.info.strip().partition(" ")[0], token.content))
    return tuple(blocks)
