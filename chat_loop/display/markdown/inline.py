r"""Markup within a paragraph, read by markdown-it-py: emphasis, code, links, pictures, HTML.

The rules are CommonMark's with GitHub's strikethrough, but for three cases that replies are full
of: `2*3*4` is arithmetic, `\(x\)` and `\[x\]` are formulas, an address keeps its underscores.
A sign that opens something must be closed within `FARTHEST` characters, so that a stream never
waits longer for it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import cache

from markdown_it import MarkdownIt
from markdown_it.rules_block import StateBlock
from markdown_it.rules_inline import StateInline
from markdown_it.token import Token
from msgspec import Struct, field

from chat_loop.display.markdown.theme import BOLD, ITALIC, STRUCK, UNDERLINED, Theme

MAX_DISTANCE = 400
"""Characters between the sign that opens something and the one that closes it, at most."""
NESTING = 60
"""Levels of quotes, lists and emphasis; markdown-it-py drops what is nested deeper."""

_ADDRESS = re.compile(r"://[^\s<>()\[\]*`~]*[^\s<>()\[\]*`~_.,;:!?'\"]")
_VALUE = r"\"[^\"]*\"|'[^']*'|[^\s\"'=<>`]+"
_MAY_BE_TAG = re.compile(
    rf"<(?:[A-Za-z][^\s<>]*|/?[A-Za-z][\w-]*(?:\s+[\w:.-]+(?:\s*=\s*(?:{_VALUE}))?)*"
    r"(?:\s+(?:[\w:.-]+\s*(?:=\s*(?:\"[^\"]*|'[^']*)?)?)?)?/?|[!?].*)?\Z",
    re.DOTALL,
)
_LABEL = re.compile(r"\\.|(?<!`)(`+)(?!`).*?(?<!`)\1(?!`)|`+|[\[\]<]", re.DOTALL)
"""Escapes, code (with a group), and the signs that count in the label of a link."""
_STYLES = {"em_open": ITALIC, "strong_open": BOLD, "s_open": STRUCK, "link_open": UNDERLINED}

Rule = Callable[[StateInline, bool], bool]


class Span(Struct, frozen=True):
    """Text and the numbers of its SGR sequence; empty numbers mean plain text. A `whole` span is
    moved to the next line rather than broken, however long it is.
    """

    text: str
    style: str
    whole: bool = False


class Markdown(MarkdownIt):
    """markdown-it-py with addresses as they were typed."""

    def normalizeLink(self, url: str) -> str:  # noqa: N802 - the library's name
        return url

    def normalizeLinkText(self, url: str) -> str:  # noqa: N802
        return url


@cache
def markdown() -> MarkdownIt:
    """Return the parser. Link definitions are text: a link that was printed cannot be changed when
    its definition arrives.
    """
    parser = Markdown("commonmark", {"maxNesting": NESTING}).enable(["table", "strikethrough"])
    parser.disable("reference")
    rules = parser.inline.ruler
    for name, rule in zip(rules.get_active_rules(), rules.getRules(""), strict=True):
        if name in ("backticks", "link", "image", "autolink", "html_inline"):
            rules.at(name, _bound_rule(rule))
        elif name in ("emphasis", "strikethrough"):
            rules.at(name, _position_rule(rule))
        elif name == "escape":
            rules.at(name, _escape(rule))
    rules.before("backticks", "address", _address)
    blocks = parser.block.ruler
    table = dict(zip(blocks.get_active_rules(), blocks.getRules(""), strict=True))["table"]

    def with_bar(state: StateBlock, start: int, end: int, silent: bool) -> bool:
        """Read a table whose header begins with a bar: any line of text could be one otherwise."""
        begin = state.bMarks[start] + state.tShift[start]
        return state.src.startswith("|", begin) and table(state, start, end, silent)

    blocks.at("table", with_bar, {"alt": ["paragraph", "reference"]})
    parser.inline.ruler2.after("balance_pairs", "distance", _unpair)
    return parser


class Marks(Struct):
    """The positions of the signs of a paragraph that open something: `unclosed` are those that more
    text may close, `closed` those of which the end is known, too.
    """

    unclosed: list[int] = field(default_factory=list)
    closed: list[tuple[int, int]] = field(default_factory=list)


def stable_length(content: str) -> int:
    """Return the length of a growing paragraph whose markup no more text can change."""
    marks = Marks()
    markdown().inline.parse(content, markdown(), {"marks": marks}, [])
    near = len(content) - MAX_DISTANCE
    end = min([at for at in marks.unclosed if at >= near], default=len(content))
    for begin, close in sorted(marks.closed, reverse=True):
        if begin < end < close:
            end = begin
    return end


def spans_of(content: str, theme: Theme, style: str = "") -> list[Span]:
    """Return a paragraph's text with its styles; a line break is the text `\\n`."""
    tokens: list[Token] = []
    markdown().inline.parse(content, markdown(), {"marks": Marks()}, tokens)
    return _spans(tokens, theme, style)


def _spans(  # noqa: C901 - one case for each kind of token
    tokens: Sequence[Token], theme: Theme, style: str, *, in_link: bool = False
) -> list[Span]:
    spans: list[Span] = []
    styles = [style]
    links: list[tuple[str, int]] = []
    for token in tokens:
        kind = token.type
        if kind in _STYLES:
            styles.append(_join_styles(styles[-1], _STYLES[kind]))
            if kind == "link_open":
                links.append((str(token.attrs["href"]), len(spans)))
        elif kind == "link_close":
            styles.pop()
            address, begin = links.pop()
            label = "".join(span.text for span in spans[begin:])
            if label == address:
                spans[begin:] = [Span(address, _join_styles(styles[-1], UNDERLINED), True)]
            else:
                spans += _address_of(address, theme, styles[-1])
        elif kind.endswith("_close"):
            styles.pop()
        elif kind == "image":
            underlined = _join_styles(styles[-1], UNDERLINED)
            spans += _spans(token.children or (), theme, underlined, in_link=True)
            if not (links or in_link):
                spans += _address_of(str(token.attrs["src"]), theme, styles[-1])
        elif kind in ("softbreak", "hardbreak"):
            spans.append(Span("\n", ""))
        elif kind == "code_inline":
            spans.append(Span(token.content, _join_styles(styles[-1], theme.code), True))
        elif token.content:
            spans.append(Span(token.content, styles[-1], kind == "html_inline"))
    return spans


def _address_of(address: str, theme: Theme, style: str) -> list[Span]:
    """Return what stands behind a link's label."""
    if not address:
        return []
    return [Span(" ", style), Span(f"({address})", _join_styles(style, theme.address), True)]


def _join_styles(style: str, more: str) -> str:
    return f"{style};{more}" if style else more


def _bound_rule(rule: Rule) -> Rule:
    """Return a rule that reads at most `FARTHEST` characters, and notes a sign that it may read
    once more of the text is there.
    """

    def bounded(state: StateInline, silent: bool) -> bool:
        start, tokens = state.pos, len(state.tokens)
        marks: Marks = state.env["marks"]
        unclosed, closed = len(marks.unclosed), len(marks.closed)
        if rule(state, True):
            length, state.pos = state.pos - start, start
            if length <= MAX_DISTANCE and rule(state, silent):
                # Only code and tags, which bind tighter, can still close what is open within it.
                label = start + 2 if state.src[start] == "!" else 0  # is read as a text of its own
                within = [at + label for at in marks.unclosed[unclosed:]]
                marks.unclosed[unclosed:] = [at for at in within if state.src[at] in "<`"]
                del marks.closed[closed:]
                if not silent and state.src[start] == "`" and len(state.tokens) == tokens:
                    marks.unclosed.append(start)
                elif not silent:
                    marks.closed.append((start, state.pos))
                return True
        state.pos = start
        near = len(state.src) - MAX_DISTANCE
        known = marks.unclosed and marks.unclosed[-1] >= near  # the first one is what counts
        if start >= near and not (silent or known) and _may_open(state.src[start:]):
            marks.unclosed.append(start)
        return False

    return bounded


def _may_open(text: str) -> bool:
    """Return True when a text may become a link or a tag as it grows."""
    if text[0] == "<":
        return _MAY_BE_TAG.match(text) is not None
    begin = text.find("[")
    if begin not in (0, 1) or text[:begin] not in ("", "!"):
        return text == "!"
    end = _label_end(text, begin)
    if not end:
        return True
    if text[end : end + 1] != "(":
        return end == len(text)
    if re.search("[<\"']", text[end + 1 :]):
        return True  # a round bracket may stand in what is quoted
    depth = 0
    for sign in re.findall(r"\\.|[()]", text[end:], re.DOTALL):
        depth += {"(": 1, ")": -1}.get(sign, 0)
        if not depth:
            return False
    return True


def _label_end(text: str, begin: int) -> int:
    """Return the position behind a link's label, 0 while more text can change it."""
    depth = 0
    for match in _LABEL.finditer(text, begin):
        sign = match[0]
        if sign[0] in "`<" and not match[1]:
            return 0  # a square bracket may stand in code or in a tag
        depth += {"[": 1, "]": -1}.get(sign, 0)
        if not depth:
            return match.end()
    return 0


def _position_rule(rule: Rule) -> Rule:
    """Return a rule for `*`, `_` or `~` that records the position of each sign."""

    def positioned(state: StateInline, silent: bool) -> bool:
        start, first = state.pos, len(state.delimiters)
        sign = state.src[start]
        around = state.src[max(0, start - 1) : start + 2]
        if sign == "*" and len(around) == 3 and around[0].isdigit() and around[2].isdigit():
            return _literal(state, sign, silent)
        if not rule(state, silent):
            return False
        width = (state.pos - start) // max(1, len(state.delimiters) - first)
        for number, delimiter in enumerate(state.delimiters[first:]):
            state.tokens[delimiter.token].meta["at"] = start + number * width
        return True

    return positioned


def _unpair(state: StateInline) -> None:
    """Part pairs of signs that are too far from each other, and note the signs that may find their
    pair.
    """
    marks: Marks = state.env["marks"]
    lists = [meta["delimiters"] for meta in state.tokens_meta if meta and "delimiters" in meta]
    for delimiters in (state.delimiters, *lists):
        for delimiter in delimiters:
            at = state.tokens[delimiter.token].meta["at"]
            if delimiter.end >= 0:
                close = state.tokens[delimiters[delimiter.end].token].meta["at"]
                if close - at > MAX_DISTANCE:
                    delimiter.end = -1
                else:
                    marks.closed.append((at, close + 1))
            elif delimiter.open and delimiters is state.delimiters:
                marks.unclosed.append(at)


def _escape(rule: Rule) -> Rule:
    """Return a rule that leaves the backslash of a formula."""

    def escape(state: StateInline, silent: bool) -> bool:
        pair = state.src[state.pos : state.pos + 2]
        if pair in ("\\(", "\\)", "\\[", "\\]"):
            return _literal(state, pair, silent)
        return rule(state, silent)

    return escape


def _address(state: StateInline, silent: bool) -> bool:
    """Read the rest of an address behind `http` or `https` as text."""
    if state.src[state.pos] != ":" or not state.src[: state.pos].endswith(("http", "https")):
        return False
    match = _ADDRESS.match(state.src, state.pos)
    return match is not None and _literal(state, match[0], silent)


def _literal(state: StateInline, text: str, silent: bool) -> bool:
    if not silent:
        state.append_pending(text)
    state.pos += len(text)
    return True
