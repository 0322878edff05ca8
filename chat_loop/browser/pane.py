"""The preview of the selected session, drawn: as much of its summary and its last exchanges as
there is room for.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime

from chat_loop.browser.browsing import Browsing
from chat_loop.browser.cells import Line, padded, plain, width_of, wrapped
from chat_loop.browser.preview import Preview, Section
from chat_loop.browser.table import name_text, tags_text, when_text
from chat_loop.display.rows import compactions_text
from chat_loop.sessions.records import SessionRow
from chat_loop.wording import counted, counts_text

_SUMMARIES = ((12, 4), (8, 3), (6, 2), (4, 2), (3, 2), (2, 2), (0, 4), (0, 3), (0, 2), (0, 1))
"""(items of a section, lines of an item), from generous to scarce; 0 items: a section runs on, in
so many lines.
"""
_EXCHANGES = (
    (8, 6),
    (6, 5),
    (5, 4),
    (4, 4),
    (3, 4),
    (3, 3),
    (2, 3),
    (2, 2),
    (1, 3),
    (1, 2),
    (1, 1),
)
"""(exchanges, lines of each text), from generous to scarce."""
TALK_HEADED = 7
"""With more lines than these the last exchanges have a heading."""


def pane(
    state: Browsing, preview: Preview | None, width: int, height: int, now: datetime
) -> list[Line]:
    """Exactly `height` lines of `width` columns. The row is told at once, the rest when `preview`
    has been read.
    """
    row = state.row
    lines: list[Line] = []
    if row is not None and width > 0:
        lines = _head(row, preview, width, height, now)
        if preview is not None:
            lines += _body(preview, width, height - len(lines))
        elif len(lines) + 2 <= height:
            lines += [[], [("dim", "…")]]
    lines = lines[:height]
    return [padded(line, width) for line in [*lines, *([[]] * (height - len(lines)))]]


def _head(
    row: SessionRow, preview: Preview | None, width: int, height: int, now: datetime
) -> list[Line]:
    tall = height >= 16
    lines: list[Line] = [
        [("bold", text)] for text in wrapped(name_text(row), width, 3 if tall else 1)
    ]
    numbers = counts_text(row.queries, row.tokens or 0) if row.queries is not None else ""
    facts = [plain(row.id, 100), when_text(row.updated, now), plain(row.agent, 40), numbers]
    if tags := tags_text(row):
        facts.append(tags)
    facts.append(compactions_text(row))
    if row.folded:
        facts.append(f"{counted(row.folded, 'older session')} folded")
    if row.shared:
        facts.append(f"{counted(row.shared, 'query')} shared with other branches")
    lines += _told(" · ".join(filter(None, facts)), width, 4 if tall else 2, "dim")
    if preview is not None:
        for text in preview.title if tall else preview.title[:1]:
            lines += _told(text, width, 2 if tall else 1, "dim")
        for text in preview.notes:
            lines += _item("! ", text, width, 3 if tall else 2)
    return lines


def _body(preview: Preview, width: int, height: int) -> list[Line]:
    """The summary and the last exchanges; where both cannot be whole, each gets about half."""

    def summary(lines: int) -> list[Line]:
        return _largest(lambda size: _summary(preview.sections, width, *size), _SUMMARIES, lines)

    def talk(lines: int) -> list[Line]:
        return _largest(
            lambda size: _talk(preview, width, *size, headed=lines > TALK_HEADED), _EXCHANGES, lines
        )

    said = talk(height - min(len(summary(height)), height - height // 2))
    return [*summary(height - len(said)), *said]


def _summary(sections: Sequence[Section], width: int, items: int, most: int) -> list[Line]:
    lines: list[Line] = []
    for section in sections:
        if not items:
            lines += _speech(section.name, "; ".join(section.items), width, most)
            continue
        lines += [[("bold", section.name)]] if lines else [[], [("bold", section.name)]]
        for item in section.items[:items]:
            lines += _item("• ", item, width, most)
        more = max(0, len(section.items) - items) + section.more
        lines += [[("dim", f"  … {more:,} more")]] if more else []
    return lines


def _talk(preview: Preview, width: int, exchanges: int, most: int, *, headed: bool) -> list[Line]:
    shown = preview.exchanges[-exchanges:]
    earlier = preview.earlier + len(preview.exchanges) - len(shown)
    lines: list[Line] = []
    if shown and headed:
        lines = [
            [],
            [("bold", "Last words"), ("dim", f" ({earlier:,} earlier)" if earlier else "")],
        ]
    for exchange in shown:
        for speaker, text in exchange:
            lines += _speech(speaker, text, width, most)
    return lines


def _told(text: str, width: int, most: int, style: str = "") -> list[Line]:
    return [[(style, line)] for line in wrapped(text, width, most)]


def _item(mark: str, text: str, width: int, most: int) -> list[Line]:
    """`mark` before the first line, blanks before the others."""
    room = width - width_of(mark)
    lines = wrapped(text, room, most) if room > 0 else []
    return [
        [("", f"{' ' * width_of(mark) if number else mark}{line}")]
        for number, line in enumerate(lines)
    ]


def _speech(speaker: str, text: str, width: int, most: int) -> list[Line]:
    """What somebody said, the speaker in bold."""
    first, *others = wrapped(f"{speaker}: {text}", max(1, width - 2), most)
    name, colon, rest = first.partition(":") if first.startswith(f"{speaker}:") else ("", "", first)
    return [[("bold", name + colon), ("", rest)], *([("", f"  {line}")] for line in others)]


def _largest(
    build: Callable[[tuple[int, int]], list[Line]], sizes: Sequence[tuple[int, int]], height: int
) -> list[Line]:
    """What `build` makes of the first of `sizes` that fits `height` lines, else the beginning of
    the last.
    """
    lines: list[Line] = []
    for size in sizes:
        lines = build(size)
        if len(lines) <= height:
            return lines
    return lines[: max(0, height)]
