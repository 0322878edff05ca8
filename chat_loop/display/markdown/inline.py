"""Parses markup within a paragraph with markdown-it-py: emphasis, code, links, images, HTML.

The rules are those of the dialect, with GitHub's strikethrough.
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

from chat_loop.display.markdown.dialect import speak
from chat_loop.display.markdown.theme import BOLD, DIM, ITALIC, STRUCK, UNDERLINED, Theme

NESTING = 60  # levels of quotes, lists and emphasis; markdown-it-py drops text nested deeper

_OPEN = re.compile(
    r"!?\[(?!(?:[^\[\]<`\\]|\\.)*\][^(])|!\Z"  # a label that is not closed, or a link's address
    r"|<(?:[A-Za-z][^\s<>]*|/?[A-Za-z][\w-]*(?:\s(?:[^<>\"']|\"[^\"]*(?:\"|\Z)|'[^']*(?:'|\Z))*)?"
    r"|[!?].*)?\Z",
    re.DOTALL,
)
"""The start of a link, an image or a tag that more text may complete."""
_SIGNS = {"backticks": "`", "link": "[", "image": "!", "autolink": "", "html_inline": "<"}
"""The signs that the rules begin with. For `<` only the second of two rules decides."""
_STYLES = {"em_open": ITALIC, "strong_open": BOLD, "s_open": STRUCK, "link_open": UNDERLINED}

_LONE_DASH = re.compile(r"(?<=\n)[ \t>]*-\s*\Z")

Rule = Callable[[StateInline, bool], bool]


class Span(Struct, frozen=True):
    """Text and the numbers of its SGR sequence; empty numbers mean plain text. What `stays_whole`
    goes to the next row rather than being broken.
    """

    text: str
    style: str
    stays_whole: bool = False


class InlineMarks(Struct):
    """The positions of the signs that more text may close, and the ranges that are closed."""

    unclosed: list[int] = field(default_factory=list)
    closed: list[tuple[int, int]] = field(default_factory=list)


class Markdown(MarkdownIt):
    """A markdown-it-py parser that leaves addresses as they were typed."""

    def normalizeLink(self, url: str) -> str:  # noqa: N802 - the library's name
        return url

    def normalizeLinkText(self, url: str) -> str:  # noqa: N802 - the library calls it
        return url


@cache
def markdown() -> MarkdownIt:
    """Return the parser. It ignores link definitions, which may arrive after a link is printed."""
    parser = Markdown("commonmark", {"maxNesting": NESTING}).enable(["table", "strikethrough"])
    parser.disable("reference")
    speak(parser)
    rules = parser.inline.ruler
    for name, rule in zip(rules.get_active_rules(), rules.getRules(""), strict=True):
        if name in _SIGNS:
            rules.at(name, _marking_rule(rule, _SIGNS[name]))
        elif name in ("emphasis", "strikethrough"):
            rules.at(name, _delimiter_rule(rule))
    parser.inline.ruler2.after("balance_pairs", "mark_delimiters", _mark_delimiters)
    blocks = parser.block.ruler
    table = dict(zip(blocks.get_active_rules(), blocks.getRules(""), strict=True))["table"]

    def table_with_bar(state: StateBlock, start: int, end: int, silent: bool) -> bool:
        """Parse a table only if its header begins with a bar, since any line could be a header."""
        begin = state.bMarks[start] + state.tShift[start]
        return state.src.startswith("|", begin) and table(state, start, end, silent)

    blocks.at("table", table_with_bar, {"alt": ["paragraph", "reference"]})
    return parser


def without_open_item(text: str) -> str:
    """Return `text` without a lone dash on its last line, even in a quote. The dash begins a list
    item that was cut off, but would turn the line before it into a heading.
    """
    return _LONE_DASH.sub("", text)


def stable_length(content: str) -> int:
    """Return the length of the start of a growing paragraph whose markup cannot change any more."""
    marks = InlineMarks()
    markdown().inline.parse(content, markdown(), {"marks": marks}, [])
    end = min(marks.unclosed, default=len(content))
    for begin, close in sorted(marks.closed, reverse=True):
        if begin < end < close:
            end = begin
    return end


def spans_of(content: str, theme: Theme, style: str = "") -> list[Span]:
    """Return a paragraph's text with its styles; a line break is the text `\\n`."""
    tokens: list[Token] = []
    markdown().inline.parse(content, markdown(), {"marks": InlineMarks()}, tokens)
    return _spans(tokens, theme, style)


def _spans(  # noqa: C901 - one case for each kind of token
    tokens: Sequence[Token], theme: Theme, style: str, *, in_link: bool = False
) -> list[Span]:
    spans: list[Span] = []
    styles = [style]
    links: list[tuple[str, int]] = []
    for token in tokens:
        kind = token.type
        address = ""
        if kind in _STYLES:
            styles.append(_join_styles(styles[-1], _STYLES[kind]))
            if kind == "link_open":
                links.append((str(token.attrs["href"]), len(spans)))
        elif kind == "link_close":
            styles.pop()
            address, begin = links.pop()
            label = "".join(span.text for span in spans[begin:])
            if label == address:
                spans[begin:] = [Span(address, _join_styles(styles[-1], UNDERLINED))]
                address = ""
        elif kind.endswith("_close"):
            styles.pop()
        elif kind == "image":
            underlined = _join_styles(styles[-1], UNDERLINED)
            spans += _spans(token.children or (), theme, underlined, in_link=True)
            address = "" if links or in_link else str(token.attrs["src"])
        elif kind in ("softbreak", "hardbreak"):
            spans.append(Span("\n", ""))
        elif kind == "code_inline":
            spans.append(Span(token.content, _join_styles(styles[-1], theme.code)))
        elif token.content:
            spans.append(Span(token.content, styles[-1]))
        if address:  # it follows the label
            address_style = _join_styles(styles[-1], DIM)
            spans += [Span(" ", styles[-1]), Span(f"({address})", address_style, stays_whole=True)]
    return spans


def _join_styles(style: str, more: str) -> str:
    if style:
        return f"{style};{more}"
    return more


def _marking_rule(rule: Rule, sign: str) -> Rule:
    """Return a rule for code, links or tags that also records unclosed and closed positions."""

    def marking(state: StateInline, silent: bool) -> bool:
        start = state.pos
        tokens = len(state.tokens)
        marks: InlineMarks = state.env["marks"]
        was_read = rule(state, silent)
        if silent:
            return was_read
        is_first = not marks.unclosed  # only the first counts
        if not was_read:
            if is_first and state.src[start] == sign and _OPEN.match(state.src, start):
                marks.unclosed.append(start)
        elif sign == "`" and len(state.tokens) == tokens:  # read as text
            marks.unclosed.append(start)
        else:
            marks.closed.append((start, state.pos))
        return was_read

    return marking


def _delimiter_rule(rule: Rule) -> Rule:
    """Return a rule for `*`, `_` or `~` that records the position of each sign in its token."""

    def delimiter(state: StateInline, silent: bool) -> bool:
        start = state.pos
        first = len(state.delimiters)
        if not rule(state, silent):
            return False
        width = (state.pos - start) // max(1, len(state.delimiters) - first)
        for number, delimiter_run in enumerate(state.delimiters[first:]):
            state.tokens[delimiter_run.token].meta["at"] = start + number * width
        return True

    return delimiter


def _mark_delimiters(state: StateInline) -> None:
    """Record the pairs of delimiters, and the delimiters that may still be closed."""
    marks: InlineMarks = state.env["marks"]
    lists = []
    for meta in state.tokens_meta:
        if meta and "delimiters" in meta:
            lists.append(meta["delimiters"])
    for delimiters in (state.delimiters, *lists):
        for delimiter in delimiters:
            at = state.tokens[delimiter.token].meta["at"]
            if delimiter.end >= 0:
                close = state.tokens[delimiters[delimiter.end].token].meta["at"]
                marks.closed.append((at, close + 1))
            elif delimiter.open:
                marks.unclosed.append(at)
