"""Shows saved sessions: lists, trees, search hits, single sessions and exchanges."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from chat_loop.characters import one_line
from chat_loop.display import conversation_rows as drawn
from chat_loop.display.display_manager import DisplayManager, call_line
from chat_loop.display.preview import preview_of
from chat_loop.display.sanitizer import printable
from chat_loop.sessions.records import Exchange, Query, Session, SessionRow
from chat_loop.values import STOPS, attached_text, counts_text, plural, when_text

MAX_TEXT = 2_000
"""The most characters shown of a message, or of one list in a summary."""


def show_sessions(
    display: DisplayManager,
    rows: Sequence[SessionRow],
    more: int,
    now: datetime,
    cost: drawn.Cost | None = None,
) -> None:
    """Show the numbered list, then say that there are `more` older sessions."""
    table = drawn.RowTable(rows, now, cost)
    for at in range(len(rows)):
        display.console.row(*table.line(at, display.console.width))
    if more:
        hint = "/sessions --all lists them, /sessions WORDS filters"
        display.line(f"… and {more:,} older: {hint}.", "dim")


def show_tree(
    display: DisplayManager, nodes: Sequence[tuple[SessionRow, str, bool]], here: str, now: datetime
) -> None:
    """Show a chain with its branches, oldest first. A node is a row, the tree lines before it, and
    True if it is already shown above. `here` is the id of the open session.
    """
    numbers = {row.id: number for number, (row, _, again) in enumerate(nodes, 1) if not again}
    rows = {row.id: row for row, _, _ in nodes}
    tokens = sum(row.tokens or 0 for row in rows.values())
    display.line(f"{plural(len(numbers), 'session')}, {tokens:,} tokens:", "bold")
    for number, (row, stem, again) in enumerate(nodes, 1):
        start = f"{number:>3}  {stem}● "
        below = stem.replace("├─", "│ ").replace("└─", "  ")
        if again:
            display.console.row((start, ""), (f"number {numbers[row.id]} above", "dim"))
            continue
        mark = "  ← you are here" if row.id == here else ""
        tags = drawn.tags_text(row.tags)
        name = drawn.tree_name(row, rows.get(row.parent))
        room = display.console.width - len(start) - len(mark) - len(tags)
        style = "bold" if row.id == here else ""
        display.console.row(
            (start, ""), (one_line(name, max(room, 10)), style), (tags, "cyan"), (mark, "green")
        )
        origin = f"forked at {row.until}" if row.until else ""
        if row.merged:
            other = row.merged
            if row.merged in numbers:
                other = f"number {numbers[row.merged]}"
            origin = f"merged with {other}"
        counts = drawn.ODD.get(row.state, "")
        if row.queries == 0:
            counts = "no messages"
        elif row.queries is not None:
            counts = counts_text(row.queries, row.tokens or 0)
        missing = drawn.missing_text(row, rows)
        facts = (origin, missing, row.compaction, when_text(row.updated, now), counts)
        display.console.row((f"     {below}  ", ""), (" · ".join(filter(None, facts)), "dim"))


def show_hits(
    display: DisplayManager,
    hits: Sequence[tuple[SessionRow, Query, bool, Sequence[tuple[str, str]]]],
    words: Sequence[str],
    now: datetime,
) -> None:
    """Show the numbered hits, best first. A hit is a row, a query, True if it is only related, and
    the excerpts by speaker, in which `words` are highlighted.
    """
    if not hits:
        display.line("No matches. Try different words; /sessions WORDS looks at names.")
        return
    for number, (row, query, related, excerpts) in enumerate(hits, 1):
        when = f" · {row.depth}.{query.number} · {when_text(query.at, now)}"
        if row.owner:
            when += f" · {one_line(row.owner, 40)}"
        if related:
            when += " · related"
        name = one_line(row.name or row.id, 100)
        tags = drawn.tags_text(row.tags)
        display.console.row((f"{number:>3}  ", ""), (name, "bold"), (when, "dim"), (tags, "cyan"))
        speakers = {"User": "You", "Assistant": row.agent or "Assistant"}
        for who, excerpt in excerpts:
            text = f"{one_line(speakers.get(who, who), 40)}: {one_line(excerpt, 600)}"
            display.console.excerpt(text, words)
    display.line("/show N, /resume N and /quote N take these numbers.", "dim")


def show_session(
    display: DisplayManager, name: str, session: Session, damage: Sequence[str]
) -> None:
    """Show a session: its facts, its summary and its last exchanges."""
    preview = preview_of(session, damage, length=MAX_TEXT)
    display.console.row((one_line(name), "bold"), (drawn.tags_text(session.tags), "cyan"))
    for label, text in preview.about:
        display.prose(f"{label}: {text}" if label else text, indent=2)
    display.line()
    if preview.earlier:
        earlier = plural(preview.earlier, "message")
        display.line(f"… {earlier} before; /show N MESSAGE shows one in full.", "dim")
    for speaker, text in preview.messages:
        display.prose(f"{speaker}: {text}", indent=4)


def show_exchange(display: DisplayManager, session: Session, exchange: Exchange) -> None:
    """Show a full exchange."""
    query = exchange.query
    display.line(
        f"{exchange.session or session.id}, {exchange.ref}, {query.at:%Y-%m-%d %H:%M}", "dim"
    )
    display.line("You:", "bold green")
    display.line(printable(query.text))
    if exchange.attached:
        display.files(
            attached_text(file.name, file.size, file.width, file.height)
            for file in exchange.attached
        )
    for use in exchange.uses:
        display.prose(call_line(use.call.name, use.call.arguments), "dim", symbol="🔧")
        if use.result is not None:
            display.line(printable(use.result.text), "dim")
    if exchange.reply is not None:
        display.line(f"{one_line(session.header.agent, 60)}:", "bold cyan")
        display.reply(exchange.reply.text)
        if stop := STOPS.get(exchange.reply.stop):
            display.line(f"({stop})", "dim")
