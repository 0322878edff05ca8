"""Converts blocks of markdown to lines: headings, lists, quotes, code, tables."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from markdown_it.token import Token
from msgspec import Struct
from msgspec.structs import replace

from chat_loop.display.markdown.code import CodeColors
from chat_loop.display.markdown.dialect import FORMULA, TASK
from chat_loop.display.markdown.inline import NESTING, Span, markdown, spans_of, stable_length
from chat_loop.display.markdown.table import MEASURED_LINES, table_lines
from chat_loop.display.markdown.theme import DIM, Theme

_RULE = 40  # the most columns of a rule
_BULLETS = ("•", "◦", "▪")
_CONTAINER = re.compile(r"[ \t]*(?:>[ \t]*)*")  # the markers of quotes before a line


class UnwrappedLine(Struct):
    """A line of text before it is wrapped. `prefix` goes before it, `next_prefix` before each of
    its continuation lines. `source` is the number of the source line that it begins on. `blank`
    means that an empty line comes before it. A line that may still grow is not `complete`.
    """

    source: int
    spans: Sequence[Span]
    prefix: tuple[Span, ...] = ()
    next_prefix: tuple[Span, ...] = ()
    blank: bool = False
    wraps: bool = False
    complete: bool = True
    is_text: bool = False


class _Container(Struct):
    """A quote or a list item. Its `marker` is shown once; its other lines get `indent` instead."""

    marker: tuple[Span, ...]
    indent: tuple[Span, ...]
    is_quote: bool = False


class MarkdownBlocks:
    """The blocks of `source`. If `ended`, no text follows, and so all of it is final."""

    def __init__(self, source: str, theme: Theme, columns: int, *, ended: bool) -> None:
        self._theme = theme
        self._columns = columns
        self._ended = ended
        self._lines = source.split("\n")
        self._last = len(self._lines) - (not self._lines[-1])
        """The number of lines, not counting an empty last one."""
        self._containers: list[_Container] = []
        self._lists = 0
        self.tokens: list[Token] = []
        parser = markdown()
        parser.block.parse(source, parser, {}, self.tokens)
        self.waiting_rows = 0  # the rows of a table whose column widths are not known yet

    def last_start(self) -> int:
        """Return the source line of the last block that can be parsed without those before it."""
        for token in reversed(self.tokens):
            if token.map and (token.level == 0 or (token.level == 1 and token.type == _ITEM)):
                return token.map[0]
        return 0

    @property
    def ends_in_code(self) -> bool:
        """True if the last block is code between fences, which is in no list and no quote."""
        return bool(self.tokens) and self.tokens[-1].type == "fence" and not self.tokens[-1].level

    def lines(self) -> Iterator[UnwrappedLine]:  # noqa: C901, PLR0912 - one case for each kind of token
        """Yield the lines, up to the point where later text may change them."""
        if any(token.level >= NESTING - 3 for token in self.tokens):
            for number, text in enumerate(self._lines[: self._last]):  # the parser loses words
                yield self._line(number, [Span(text.strip(), "")])
            return
        skipped = 0
        for at, token in enumerate(self.tokens):
            kind = token.type
            if skipped:
                skipped += (kind == "table_open") - (kind == "table_close")
            elif kind == "table_open":
                skipped = 1
                yield from self._table(token)
            elif kind == "inline":
                yield from self._text(token, self.tokens[at - 1])
            elif kind in ("fence", "code_block", "html_block", FORMULA):
                yield from self._verbatim(token)
            elif kind == "hr":
                assert token.map
                yield self._rule(token.map[0])
            elif kind == "blockquote_open":
                self._containers.append(_Container((), (Span("│ ", DIM),), is_quote=True))
            elif kind == _ITEM:
                marker = self._marker(token, self.tokens[at + 1 : at + 3])
                spans = (Span(marker, self._theme.marks), Span(" ", ""))
                indent = (Span(" " * (len(marker) + 1), ""),)
                self._containers.append(_Container(spans, indent))
            elif kind.startswith(("bullet_list", "ordered_list")):
                self._lists += token.nesting
            elif kind in ("blockquote_close", "list_item_close"):
                if self._containers[-1].marker and (self._ended or at + 1 < len(self.tokens) - 1):
                    yield self._line(self._item_line, [])
                self._containers.pop()

    def _marker(self, token: Token, following: Sequence[Token]) -> str:
        """Return the marker of an item: a bullet, its number as written, or the box of a task."""
        assert token.map
        self._item_line = token.map[0]
        marker = _BULLETS[min(self._lists, len(_BULLETS)) - 1]
        if token.info:
            marker = f"{token.info}{token.markup}"
        task = None
        if following[1:]:
            task = TASK.match(following[1].content)
        if task is None or following[0].type != "paragraph_open":
            return marker
        following[1].content = following[1].content[task.end() :]
        box = "☐" if task[1] == " " else "☑"
        if token.info:
            return f"{marker} {box}"
        return box

    def _line(
        self,
        source: int,
        spans: Sequence[Span],
        *,
        starts_block: bool = True,
        indented: bool = True,
        **more: bool,
    ) -> UnwrappedLine:
        """Return a line inside the open containers, whose markers are shown once."""
        prefix: list[Span] = []
        next_prefix: list[Span] = []
        for container in self._containers:
            if indented or container.is_quote or container.marker:
                prefix += container.marker or container.indent
                next_prefix += container.indent
                container.marker = ()
        above = "-"
        if starts_block and source:
            above = self._lines[source - 1]
        blank = not _CONTAINER.sub("", above, count=1).strip()
        return UnwrappedLine(source, spans, tuple(prefix), tuple(next_prefix), blank, **more)

    def _text(self, token: Token, opening: Token) -> Iterator[UnwrappedLine]:
        """Yield the lines of a paragraph or a heading, without text that may still change."""
        assert token.map
        theme = self._theme
        content = token.content
        style = ""
        underlined = opening.type == "heading_open" and opening.markup in "=-"
        if opening.type == "heading_open" and not underlined:  # underlined ones are printed as text
            style = theme.headings[min(int(opening.tag[1]), len(theme.headings)) - 1]
        grows = not self._ended and token.map[1] >= self._last
        if grows:
            header = content.rfind("\n") + 1
            if content[header:].lstrip().startswith("|"):  # it may be the header of a table
                content = content[:header].rstrip("\n")
            content = content[: stable_length(content)].rstrip("\\")  # it may be a line break
        lines: list[list[Span]] = [[]]
        for span in spans_of(content, theme, style):
            for number, text in enumerate(span.text.split("\n")):
                if number:
                    lines.append([])
                if text:
                    lines[-1].append(replace(span, text=text))
        for number, spans in enumerate(lines):
            line = self._line(
                token.map[0] + number, spans, starts_block=not number, wraps=True, is_text=not style
            )
            line.complete = not grows or number < len(lines) - 1
            yield line
        if underlined and opening.markup == "-":
            yield self._rule(token.map[1] - 1, starts_block=False)

    def _rule(self, source: int, *, starts_block: bool = True) -> UnwrappedLine:
        spans = [Span("─" * max(1, min(_RULE, self._columns - 1)), DIM)]
        return self._line(source, spans, starts_block=starts_block, indented=False)

    def _verbatim(self, token: Token) -> Iterator[UnwrappedLine]:
        """Yield the lines of code, HTML or a formula."""
        assert token.map
        begin, end = token.map
        texts = token.content.split("\n")
        if texts[-1] == "" or (end >= self._last and not self._ended and self._lines[-1]):
            texts.pop()  # an unfinished line
        fenced = token.type == "fence"
        colors = CodeColors(token.info.split(" ")[0] if fenced else "")
        if fenced:
            opening = Span(f"─── {token.info.strip()}".rstrip(), DIM)
            yield self._line(begin, [opening], indented=False)
        words = self._theme.words
        indent = "    " if token.type == "code_block" else ""
        for number, text in enumerate(texts, begin + fenced):
            spans = [Span(part, words.get(kind, "")) for part, kind in colors.line(indent + text)]
            yield self._line(number, spans, starts_block=number == begin, indented=False)
        closing = _CONTAINER.sub("", self._lines[end - 1], count=1).strip()
        closed = end - 1 > begin and closing.startswith(token.markup) and not closing.strip("`~")
        if fenced and (closed or self._ended or end < self._last):
            yield self._line(end - 1, [Span("───", DIM)], starts_block=False, indented=False)

    def _table(self, token: Token) -> Iterator[UnwrappedLine]:
        """Yield the lines of a table once the widths of its columns are known."""
        assert token.map
        begin, end = token.map
        grows = not self._ended and end >= self._last
        if grows and self._lines[-1]:
            end -= 1  # an unfinished row
        source = [_CONTAINER.sub("", line, count=1) for line in self._lines[begin:end]]
        if grows and len(source) < MEASURED_LINES:
            self.waiting_rows = len(source)
            return
        lines, is_aligned = table_lines(source, self._columns, self._theme)
        for number, (row, spans) in enumerate(lines):
            at = begin + row if number else begin
            line = self._line(at, spans, starts_block=not number, wraps=not is_aligned)
            if not is_aligned:
                line.next_prefix = (*line.next_prefix, Span("  ", ""))
            yield line


_ITEM = "list_item_open"
