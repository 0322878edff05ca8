"""Search hits, and sessions and exchanges to read, drawn from values."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from msgspec import Struct

from chat_loop.display.manager import DisplayManager
from chat_loop.display.text import one_line, printable
from chat_loop.sessions.records import Exchange, Query, Session, SessionRow
from chat_loop.wording import attached_text, counts_text, plural, when_text

LAST = 5
"""How many exchanges of a session are shown."""
WORDS = 300


class ShownHit(Struct, frozen=True, kw_only=True):
    """A hit as it is shown: excerpts by who said them, and which of their words were asked for.

    `related`: it holds none of the words; only its meaning is near.
    """

    row: SessionRow
    query: Query
    excerpts: tuple[tuple[str, str], ...]
    related: bool = False
    marked: tuple[str, ...] = ()


def show_hits(display: DisplayManager, hits: Sequence[ShownHit], now: datetime) -> None:
    """The numbered hits, the best first."""
    if not hits:
        display.line(
            "No matches. It may have been said in other words; /sessions WORDS looks at names."
        )
        return
    for number, hit in enumerate(hits, 1):
        tags = "".join(f" #{one_line(tag, 40)}" for tag in hit.row.tags)
        related = " · related" if hit.related else ""
        when = f" · query {hit.query.number} · {when_text(hit.query.at, now)}{related}"
        name = one_line(hit.row.name or hit.row.id, 100)
        display.row((f"{number:>3}  ", ""), (name, "bold"), (when, "dim"), (tags, "cyan"))
        for who, excerpt in hit.excerpts:
            _show_excerpt(display, f"{one_line(who, 40)}: {one_line(excerpt, 600)}", hit.marked)
    display.line("show N, resume N and quote N (with /) go on from a hit.", "dim")


def _show_excerpt(display: DisplayManager, text: str, marked: tuple[str, ...]) -> None:
    from rich.padding import Padding
    from rich.text import Text

    shown = Text(text)
    shown.highlight_words(marked, "bold yellow", case_sensitive=False)
    display.console.print(Padding(shown, (0, 0, 0, 5), expand=False), soft_wrap=False)


def show_session(display: DisplayManager, session: Session, damage: Sequence[str]) -> None:
    """A session: what it is, its summary, and its last exchanges."""
    header, totals, given = session.header, session.totals, session.restoration
    pairs = [
        ("Session ID", header.id),
        ("Name", session.name or header.title),
        ("Tags", " ".join(f"#{tag}" for tag in session.tags)),
        ("Date", f"{header.created:%Y-%m-%d %H:%M}"),
        ("Agent", header.agent),
        ("Model", header.model),
        ("Project", header.project),
        ("Resumed From", header.parent),
        ("Forked At", given.until if given is not None else ""),
        ("Merged With", given.merged if given is not None else ""),
        ("Size", counts_text(totals.queries, totals.combined)),
    ]
    display.lines((label, value) for label, value in pairs if value)
    for sentence in damage[:3]:
        display.line(one_line(sentence), "yellow")
    summary = session.seal.summary if session.seal else None
    if summary is not None:
        display.line()
        sections = {
            "": summary.topics,
            "Decisions": summary.decisions,
            "Pending": summary.pending,
            "Pinned": summary.pinned,
        }
        for title, items in sections.items():
            if items:
                display.line(f"{title or 'Topics'}:", "bold")
            for item in items[:8]:
                display.prose(f"  - {one_line(item, WORDS)}", indent=4)
            if len(items) > 8:
                display.line(f"    … {len(items) - 8} more", "dim")
    exchanges = session.exchanges
    if len(exchanges) > LAST:
        display.line()
        display.line(
            f"… {plural(len(exchanges) - LAST, 'exchange')} before; /show N QUERY shows one whole.",
            "dim",
        )
    for exchange in exchanges[-LAST:]:
        display.line()
        display.prose(
            f"[{exchange.query.number}] You: {one_line(exchange.query.text, WORDS)}", indent=4
        )
        if exchange.reply is not None:
            display.prose(
                f"    {one_line(header.agent, 40)}: {one_line(exchange.reply.text, WORDS)}",
                indent=4,
            )


def show_exchange(display: DisplayManager, session: Session, exchange: Exchange) -> None:
    """One exchange, whole."""
    display.line(
        f"{session.header.id}, query {exchange.query.number}, {exchange.query.at:%Y-%m-%d %H:%M}",
        "dim",
    )
    display.line("You:", "bold")
    display.line(printable(exchange.query.text))
    if exchange.attached:
        files = (
            attached_text(file.name, file.size, file.width, file.height)
            for file in exchange.attached
        )
        display.line(" · ".join(one_line(file, 200) for file in files), "dim", symbol="📎")
    if exchange.reply is not None:
        display.line(f"{one_line(session.header.agent, 60)}:", "bold")
        display.reply(exchange.reply.text)
