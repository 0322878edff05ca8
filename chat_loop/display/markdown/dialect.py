"""The markdown that models write: CommonMark, without what is meant literally.

Formulas, patterns, paths, arithmetic and Python's names contain signs that CommonMark would remove.
They stay as they are, and so do backslashes that escape no markup. A list that is indented too
deeply is still a list.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from markdown_it import MarkdownIt
from markdown_it.rules_block import StateBlock
from markdown_it.rules_inline import StateInline

if TYPE_CHECKING:
    from collections.abc import Callable

    BlockRule = Callable[[StateBlock, int, int, bool], bool]
    InlineRule = Callable[[StateInline, bool], bool]

TASK = re.compile(r"\[([ xX])\](?: |$)")
"""The box of a task at the beginning of an item."""
FORMULA = "formula"
"""The type of the token of a formula that has its own lines."""

_LONGEST = 400  # characters of a formula within a line
_BRACED = rf"(?:(?!\\[)\]]).){{0,{_LONGEST}}}"
_DOLLAR = (
    r"\$(?!\d[\d.,]*[kKMB]?[^\w\\^{}+=<>(|$-])"  # no amount of money: $5, $2.50
    r"(?=[\w\\({\[|<+-])(?:[^$\\\n]|\\.)"
)
_LITERAL = {
    "\\": re.compile(
        rf"\\\({_BRACED}\\\)|\\\[{_BRACED}\\\]"
        rf"|\\(?:(?<=[A-Za-z]:\\)|(?=[^\s`]{{0,{_LONGEST}}}(?<=\\)[A-Za-z0-9]))"  # a path
        r"[^\s`]*[^\s`*_~]"
        r"|\\[^\w\s*_~`#<>\[\]$.)+-]",
        re.DOTALL,
    ),
    "$": re.compile(
        rf"\$\$[^$]{{1,{_LONGEST}}}\$\$|{_DOLLAR}{{0,{_LONGEST}}}?(?<![\s\\(])\$(?![A-Za-z0-9])"
    ),
    "*": re.compile(
        r"(?<=[A-Za-z0-9])\*(?=[A-Za-z0-9])"  # a*b
        r"|(?<=/)\*(?!\*)"  # src/*
        r"|(?<=[A-Za-z0-9_/)\]])\*\*(?=[0-9/])"  # x**2, src/**/
        r"|(?<=\()\*+(?=\))|(?<=\[)\*+(?=\])|(?<=\")\*+(?=\")|(?<=')\*+(?=')"  # COUNT(*)
    ),
    "_": re.compile(
        r"__[A-Za-z0-9]+(?:_+[A-Za-z0-9]+)*?__"  # __init__
        r"|(?<=/)_+|_+(?=/)|_+(?=\{)"
    ),
    "[": re.compile(r"(?<=[A-Za-z0-9_])\[[^\[\]\n]*\]\([^\s()./:#]*\)"),  # handlers[name](event)
    ":": re.compile(r"(?<=http|ttps)://[^\s<>()\[\]*`~]*[^\s<>()\[\]*`~_.,;:!?'\"]"),
}
"""What is literal, by its first sign."""
_UNFINISHED = {
    "\\": re.compile(rf"\\(?:[(\[]{_BRACED}\\?|[^\s`]{{0,{_LONGEST}}})\Z", re.DOTALL),
    "$": re.compile(
        rf"(?:\$|\$\$[^$]{{0,{_LONGEST}}}\$?|{_DOLLAR}{{0,{_LONGEST}}}[\\$]?)\Z",
    ),
}
"""What more text may make literal."""
_ESCAPED = re.compile(r"[*_~`#<>\[\]]|\$\d")
_ESCAPED_FIRST = re.compile(r"(?:\A|\n)[ \t]*(?:\\[+-]|\d{1,9}\\[.)])\Z")
"""An escape before a sign that would begin a list."""
_IN_WORD = re.compile(r"[A-Za-z0-9/]")
_ITEM = re.compile(r"(?:[-*+]|\d{1,9}[.)])[ \t]+\S")
_DISPLAYED = re.compile(r"\$\$|\\\[(?=[ \t\\]|\Z|.*\\\][ \t]*\Z)|\\begin\{\w+\*?\}")
"""The start of a formula that has its own lines."""


def speak(parser: MarkdownIt) -> MarkdownIt:
    """Make `parser` read the dialect, and return it."""
    rules = parser.inline.ruler
    inline = dict(zip(rules.get_active_rules(), rules.getRules(""), strict=True))
    rules.at("emphasis", _closing_within_words(inline["emphasis"]))
    rules.before("escape", "literal", _literal)
    blocks = parser.block.ruler
    block = dict(zip(blocks.get_active_rules(), blocks.getRules(""), strict=True))
    blocks.at("code", _code_without_items(block["code"]))
    blocks.at("list", _deep_list(block["list"]), {"alt": ["paragraph", "reference", "blockquote"]})
    blocks.at("paragraph", _paragraph_before_item(block["paragraph"]))
    interrupted = ["paragraph", "reference", "blockquote", "list"]
    blocks.before("fence", FORMULA, _formula, {"alt": interrupted})
    return parser


def _literal(state: StateInline, silent: bool) -> bool:
    """Read what is meant literally as text, and record what more text may make literal."""
    start = state.pos
    sign = state.src[start]
    if sign not in _LITERAL:
        return False
    match = _LITERAL[sign].match(state.src, start)
    end = match.end() if match else start
    if sign == "\\" and match is None and not _escapes(state.src, start):
        end = start + 1
    if not silent:
        state.append_pending(state.src[start:end])
        unfinished = _UNFINISHED.get(sign)
        if "marks" in state.env and unfinished and unfinished.match(state.src, start):
            state.env["marks"].unclosed.append(start)
    state.pos = end
    return end > start


def _escapes(text: str, at: int) -> bool:
    """Return True if the backslash `at` makes a sign of markup a text, or breaks a line."""
    following = text[at + 1 : at + 2]
    if following in ("", "\n") or _ESCAPED.match(text, at + 1):
        return True
    return _ESCAPED_FIRST.search(text[max(0, at - 40) : at + 2]) is not None


def _closing_within_words(rule: InlineRule) -> InlineRule:
    """Return a rule for emphasis that does not open it after a letter: `a**b`."""

    def emphasis(state: StateInline, silent: bool) -> bool:
        start = state.pos
        first = len(state.delimiters)
        if not rule(state, silent):
            return False
        if start and _IN_WORD.match(state.src, start - 1):
            for delimiter in state.delimiters[first:]:
                delimiter.open = False
        return True

    return emphasis


def _is_deep_item(state: StateBlock, line: int) -> bool:
    """Return True if `line` begins an item, in another one, that is indented like code."""
    depth = state.sCount[line] - state.blkIndent
    begin = state.bMarks[line] + state.tShift[line]
    return state.listIndent >= 0 and 4 <= depth <= 8 and bool(_ITEM.match(state.src, begin))


def _code_without_items(rule: BlockRule) -> BlockRule:
    def code(state: StateBlock, start: int, end: int, silent: bool) -> bool:
        return not _is_deep_item(state, start) and rule(state, start, end, silent)

    return code


def _deep_list(rule: BlockRule) -> BlockRule:
    """Return a rule for lists that also takes a list that is indented like code."""

    def deep_list(state: StateBlock, start: int, end: int, silent: bool) -> bool:
        indent = state.blkIndent
        if _is_deep_item(state, start):
            state.blkIndent = state.sCount[start]
        was_read = rule(state, start, end, silent)
        state.blkIndent = indent
        return was_read

    return deep_list


def _paragraph_before_item(rule: BlockRule) -> BlockRule:
    """Return a rule for paragraphs that ends one before an item that is indented like code."""

    def paragraph(state: StateBlock, start: int, end: int, silent: bool) -> bool:
        last = state.lineMax
        line = start + 1
        while line < last and not state.isEmpty(line) and not _is_deep_item(state, line):
            line += 1
        state.lineMax = line
        was_read = rule(state, start, end, silent)
        state.lineMax = last
        return was_read

    return paragraph


def _formula(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """Read a formula on its own lines. TeX allows no empty line in it, which ends it too."""
    begin = state.bMarks[start] + state.tShift[start]
    opening = _DISPLAYED.match(state.src, begin, state.eMarks[start])
    if opening is None or state.sCount[start] - state.blkIndent >= 4:
        return False
    closing = {"$$": "$$", "\\[": "\\]"}.get(opening[0], opening[0].replace("begin", "end", 1))
    line = start
    at = state.src.find(closing, opening.end(), state.eMarks[start])
    if at >= 0 and state.src[at + len(closing) : state.eMarks[start]].strip():
        return False  # text follows it
    if silent:
        return True
    while at < 0 and line + 1 < end and not state.isEmpty(line + 1):
        line += 1
        if state.sCount[line] < state.blkIndent:
            line -= 1
            break
        at = state.src.find(closing, state.bMarks[line], state.eMarks[line])
    state.line = line + 1
    token = state.push(FORMULA, "", 0)
    token.map = [start, state.line]
    token.content = state.getLines(start, state.line, state.blkIndent, True)
    return True
