"""The preview of a session: its end, its summary, its last exchanges; read behind the screen."""

from __future__ import annotations

import asyncio
import re
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress

from msgspec import Struct

from chat_loop.display.text import cells, cut_to, one_line
from chat_loop.sessions.records import Session, SessionRow
from chat_loop.wording import STOPS, plural

EXCHANGES = 8
"""The last exchanges that a preview has."""
ITEMS = 12
"""The items of a section of the summary that a preview has."""
CHARACTERS = 500
"""The characters of one text that a preview has."""
MAX_PREVIEWS = 200
"""Previews."""
SECTIONS = ("Topics", "Decisions", "Pending", "Pinned")

# Terminals disagree on how wide these make the characters beside them: soft hyphen, joiners,
# variation selectors, skin tones.
_UNCERTAIN_WIDTH = re.compile(
    "[\u00ad\u034f\u200b-\u200d\u180b-\u180f\ufe00-\ufe0f\U000e0100-\U000e01ef\U0001f3fb-\U0001f3ff]"
)
# More than so many marks on one character would reach over the lines around it.
_MARK = "[\u0300-\u036f\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f]"
_STACKED_MARKS = re.compile(f"({_MARK}{{3}}){_MARK}+")


def safe_text(text: str, length: int) -> str:
    """Return foreign text on one line of at most `length` characters of known width."""
    text = text[: length * 4]
    return one_line(
        text if text.isascii() else _STACKED_MARKS.sub(r"\1", _UNCERTAIN_WIDTH.sub("", text)),
        length,
    )


def fill(text: str, width: int, *, right: bool = False) -> str:
    """Return `text` in exactly `width` columns; `right`: blanks stand before it."""
    text = cut_to(text, width)
    blanks = " " * (width - cells(text))
    return blanks + text if right else text + blanks


class Preview(Struct, frozen=True, kw_only=True):
    """All texts are safe for the terminal and short. `title` and `notes` are lines of their own.

    `sections` of the summary and `exchanges`, the oldest first, are pairs of a heading or a speaker
    and a text; `earlier` counts the exchanges before them.
    """

    title: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    sections: tuple[tuple[str, str], ...] = ()
    exchanges: tuple[tuple[tuple[str, str], ...], ...] = ()
    earlier: int = 0


def preview_of(session: Session, damage: Sequence[str] = (), price: str = "") -> Preview:
    """Return the preview of a session; `damage` is what could not be read of it, `price` what its
    conversation cost.
    """
    header, seal = session.header, session.seal
    when = f"Begun {header.created:%Y-%m-%d %H:%M}, no summary yet"
    if seal is not None:
        how = {"compact": ", compacted", "resume": ", resumed", "clear": ", cleared"}
        when = f"{header.created:%Y-%m-%d %H:%M} – {seal.at:%Y-%m-%d %H:%M}"
        when += how.get(seal.reason, "")
    chain = f"Session {max(2, session.depth)} of its chain, after {header.parent}"
    model = " · ".join(filter(None, (safe_text(header.model, 100), price)))
    more = f"and {plural(len(damage) - 1, 'more fault')}" if len(damage) > 1 else ""
    notes = (*(safe_text(fault, 200) for fault in damage[:1]), more)
    agent = safe_text(header.agent, 40) or "Agent"
    exchanges = []
    for exchange in session.exchanges[-EXCHANGES:]:
        pair = [("You", safe_text(exchange.query.text, CHARACTERS))]
        if exchange.reply is not None:
            stop = STOPS.get(exchange.reply.stop, "")
            speaker = f"{agent} ({stop})" if stop else agent
            pair.append((speaker, safe_text(exchange.reply.text, CHARACTERS)))
        exchanges.append(tuple(pair))
    summary = seal.summary if seal is not None else None
    items = {name: getattr(summary, name.lower(), ()) for name in SECTIONS}
    return Preview(
        title=tuple(filter(None, (chain if header.parent else "", model, when))),
        notes=tuple(filter(None, notes)),
        sections=tuple(
            (name, safe_text("; ".join(lines[:ITEMS]), CHARACTERS))
            for name, lines in items.items()
            if lines
        ),
        exchanges=tuple(exchanges),
        earlier=len(session.exchanges) - len(exchanges),
    )


class Previews:
    """Previews by row, read one at a time: `read` is called in a thread of its own, `changed` in
    the loop's when there is something new to show.
    """

    def __init__(self, read: Callable[[SessionRow], Preview], changed: Callable[[], None]) -> None:
        self._read = read
        self._changed = changed
        self._cache: dict[SessionRow, Preview] = {}
        self._reading = False
        self._next: SessionRow | None = None

    def get(self, row: SessionRow) -> Preview | None:
        """Return the preview of `row`; None while it is read. The row asked for last is next."""
        known = self._cache.get(row)
        if known is None:
            self._next = row
            self._start()
        return known

    def forget(self) -> None:
        """Read everything again: files may have changed."""
        self._cache.clear()

    def _start(self) -> None:
        row = self._next
        if self._reading or row is None or row in self._cache:
            return
        self._reading, self._next = True, None
        loop = asyncio.get_running_loop()

        def work() -> None:
            preview = Preview(notes=("It cannot be read.",))
            try:
                preview = self._read(row)
            finally:
                with suppress(RuntimeError):  # the loop has ended
                    loop.call_soon_threadsafe(self._done, row, preview)

        # A daemon: a file that cannot be read to its end must not keep the program from leaving.
        threading.Thread(target=work, daemon=True, name="preview").start()

    def _done(self, row: SessionRow, preview: Preview) -> None:
        self._reading = False
        if len(self._cache) >= MAX_PREVIEWS:
            self._cache.pop(next(iter(self._cache)))
        self._cache[row] = preview
        self._start()
        self._changed()
