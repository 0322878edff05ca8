"""Search hits, and sessions and exchanges to read, drawn from values."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from chat_loop.display.manager import DisplayManager
from chat_loop.display.rows import tags_text
from chat_loop.display.text import one_line, printable
from chat_loop.sessions.records import Exchange, Query, Session, SessionRow
from chat_loop.wording import attached_text, counts_text, plural, when_text

MAX_EXCHANGES = 5
"""The most exchanges of a session that are shown."""
MAX_TEXT = 300


def show_hits(
    display: DisplayManager,
    hits: Sequence[tuple[SessionRow, Query, bool, Sequence[tuple[str, str]]]],
    words: Sequence[str],
    now: datetime,
) -> None:
    """Show the numbered hits, best first: row, query, True for one that is only related, and the
    excerpts by speaker, in which the words are highlighted.
    """
    from rich.padding import Padding
    from rich.text import Text

    if not hits:
        display.line("No matches. Try different words; /sessions WORDS looks at names.")
        return
    for number, (row, query, related, excerpts) in enumerate(hits, 1):
        when = f" · query {query.number} · {when_text(query.at, now)}"
        when += " · related" if related else ""
        name, tags = one_line(row.name or row.id, 100), tags_text(row)
        display.row((f"{number:>3}  ", ""), (name, "bold"), (when, "dim"), (tags, "cyan"))
        speakers = {"User": "You", "Assistant": row.agent or "Assistant"}
        for who, excerpt in excerpts:
            text = Text(f"{one_line(speakers.get(who, who), 40)}: {one_line(excerpt, 600)}")
            text.highlight_words(words, "bold yellow", case_sensitive=False)
            display.panel(Padding(text, (0, 0, 0, 5), expand=False))
    display.line("show N, resume N and quote N (with /) go on from a hit.", "dim")


def show_session(display: DisplayManager, session: Session, damage: Sequence[str]) -> None:
    """Show a session: its header, its summary and its last exchanges."""
    header, totals, restoration = session.header, session.totals, session.restoration
    pairs = [
        ("Session ID", header.id),
        ("Name", session.name or header.title),
        ("Tags", " ".join(f"#{tag}" for tag in session.tags)),
        ("Date", f"{header.created:%Y-%m-%d %H:%M}"),
        ("Agent", header.agent),
        ("Model", header.model),
        ("Project", header.project),
        ("Resumed From", header.parent),
        ("Forked At", restoration.until if restoration is not None else ""),
        ("Merged With", restoration.merged if restoration is not None else ""),
        ("Size", counts_text(totals.queries, totals.combined)),
    ]
    display.lines((label, value) for label, value in pairs if value)
    for sentence in damage[:3]:
        display.line(one_line(sentence), "yellow")
    summary = session.seal.summary if session.seal else None
    if summary is not None:
        display.line()
        for name in ("topics", "decisions", "pending", "pinned"):
            items = getattr(summary, name)
            if items:
                display.line(f"{name.capitalize()}:", "bold")
            for item in items[:8]:
                display.prose(f"  - {one_line(item, MAX_TEXT)}", indent=4)
            if len(items) > 8:
                display.line(f"    … {len(items) - 8} more", "dim")
    earlier = len(session.exchanges) - MAX_EXCHANGES
    if earlier > 0:
        display.line()
        text = f"… {plural(earlier, 'exchange')} before; /show N QUERY shows one whole."
        display.line(text, "dim")
    for exchange in session.exchanges[-MAX_EXCHANGES:]:
        display.line()
        query = one_line(exchange.query.text, MAX_TEXT)
        display.prose(f"[{exchange.query.number}] You: {query}", indent=4)
        if exchange.reply is not None:
            reply = one_line(exchange.reply.text, MAX_TEXT)
            display.prose(f"    {one_line(header.agent, 40)}: {reply}", indent=4)


def show_exchange(display: DisplayManager, session: Session, exchange: Exchange) -> None:
    """Show a full exchange."""
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
