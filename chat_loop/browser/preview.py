"""What the browser tells of a session besides its row: how it ended, its summary, its last
exchanges.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from chat_loop.browser.cells import plain
from chat_loop.sessions.records import Exchange, Session, Summary
from chat_loop.wording import STOPS, counted

EXCHANGES = 8
"""How many of the last exchanges are kept."""
ITEMS = 12
"""How many items of a section of the summary are kept."""
CHARACTERS = 500
"""How much of one text is kept."""

_ENDS = {"exit": "", "compact": "compacted", "resume": "resumed", "clear": "cleared"}


class Section(Struct, frozen=True):
    """One section of the summary: its first items; `more` counts the others."""

    name: str
    items: tuple[str, ...]
    more: int = 0


class Preview(Struct, frozen=True, kw_only=True):
    """All texts are safe for the terminal and short. `title` and `notes` are lines of their own.

    `exchanges` are the last ones, oldest first, each as (speaker, text) of its query and of its
    reply when one came; `earlier` counts the exchanges before them.
    """

    title: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    sections: tuple[Section, ...] = ()
    exchanges: tuple[tuple[tuple[str, str], ...], ...] = ()
    earlier: int = 0


def preview_of(session: Session, damage: Sequence[str] = (), price: str = "") -> Preview:
    """Return the preview of a session that could be read; `damage` is what could not be read of it,
    `price` what its conversation cost.
    """
    header, seal, exchanges = session.header, session.seal, session.exchanges
    title = []
    if header.parent:
        title.append(f"Session {max(2, session.depth)} of its chain, after {header.parent}")
    if header.model or price:
        title.append(" · ".join(filter(None, (plain(header.model, 100), price))))
    began = f"{header.created:%Y-%m-%d %H:%M}"
    ended = f"{seal.at:%Y-%m-%d %H:%M}" if seal is not None else ""
    how = _ENDS[seal.reason] if seal is not None else "no summary yet"
    title.append(f"{began} – {ended}" if ended else f"Begun {began}")
    title[-1] += f", {how}" if how else ""
    notes = [plain(fault, 200) for fault in damage[:1]]
    notes += [f"and {counted(len(damage) - 1, 'more fault')}"] if len(damage) > 1 else []
    last = exchanges[-EXCHANGES:]
    return Preview(
        title=tuple(title),
        notes=tuple(notes),
        sections=_sections(seal.summary) if seal is not None and seal.summary is not None else (),
        exchanges=tuple(_said(exchange, plain(header.agent, 40) or "Agent") for exchange in last),
        earlier=len(exchanges) - len(last),
    )


def _sections(summary: Summary) -> tuple[Section, ...]:
    parts = {
        "Topics": summary.topics,
        "Decisions": summary.decisions,
        "Pending": summary.pending,
        "Pinned": summary.pinned,
    }
    return tuple(
        Section(
            name,
            tuple(plain(item, CHARACTERS) for item in items[:ITEMS]),
            max(0, len(items) - ITEMS),
        )
        for name, items in parts.items()
        if items
    )


def _said(exchange: Exchange, agent: str) -> tuple[tuple[str, str], ...]:
    query = ("You", plain(exchange.query.text, CHARACTERS))
    reply = exchange.reply
    if reply is None:
        return (query,)
    stop = STOPS.get(reply.stop, "")
    return query, (f"{agent} ({stop})" if stop else agent, plain(reply.text, CHARACTERS))
