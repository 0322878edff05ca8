"""Panels and tables for the commands that show the context."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from chat_loop.characters import one_line
from chat_loop.display.display_manager import DisplayManager
from chat_loop.display.sanitizer import printable
from chat_loop.sessions import summary_block
from chat_loop.sessions.records import Exchange, Session, Summary
from chat_loop.values import (
    Compaction,
    ToolCounts,
    Window,
    compaction_text,
    dollars_text,
    plural,
    window_text,
)

BAR = 30
MIN_BAR_COLUMNS = 80
TOPICS = 8
FIRST_WORDS = 70


def show_draft(
    display: DisplayManager, compaction: Compaction, keep: Sequence[Exchange], summary: Summary
) -> None:
    """Show a draft compaction: its savings, the exchanges that it keeps, and the summary."""
    before = compaction.before
    after = compaction.after
    display.prose(f"Compacting would shrink {before:,} tokens to about {after:,}.")
    display.prose(f"{compaction_text(compaction)}.", "dim")
    if keep:
        display.line(f"{plural(len(keep), 'message')} would stay word for word:")
        for exchange in keep:
            display.line(f"  [{exchange.ref}] {one_line(exchange.query.text, FIRST_WORDS)}")
    display.line()
    show_block(display, summary)
    display.line()


def show_block(display: DisplayManager, summary: Summary) -> None:
    """Show a summary block: its headings, and its items as bullets."""
    recorded = summary_block.recorded_in(summary)
    _show_items(display, "Background Context", [summary.background], "")
    for name, heading in summary_block.LISTS.items():
        items: tuple[str, ...] = getattr(summary, name)
        if name == "decisions":
            items += recorded
        elif name == "pinned":
            items = items[len(recorded) :]
        if items or name in ("topics", "decisions", "pending"):
            display.line()
            _show_items(display, heading.strip("*:"), items or ["none"], name)


def _show_items(display: DisplayManager, title: str, items: Sequence[str], name: str) -> None:
    """Show a list of a block under its title. Markdown that a model wrote is rendered; what you
    said, pinned or named stays as it is.
    """
    bullet = "•" if name else ""
    indent = "    " if name else "  "
    display.line(title, "bold")
    for item in items:
        is_exact = name in ("pinned", "files", "tools") or item.startswith(summary_block.DECIDED)
        if is_exact or summary_block.is_spoken_by_user(item) or not display.theme:
            text = printable(item).replace("\n", f"\n{indent}")
            start = f"  {bullet} " if bullet else indent
            display.prose(f"{start}{text}", indent=len(indent))
            continue
        text = display.rendered(item, leads=len(bullet), indent=len(indent)).strip("\n")
        lines = f"{bullet}{text}".split("\n")
        display.draw([f"  {lines[0]}", *(f"{indent}{line}" for line in lines[1:])])


def show_summary(
    display: DisplayManager,
    compaction: Compaction,
    summary: Summary,
    counts: ToolCounts,
    before: int,
    after: int,
) -> None:
    """Show the panel of a finished compaction; `before` and `after` count messages."""
    less = ""
    if before > after:
        less = f" ({1 - after / before:.0%} reduction)"
    lines = [
        f"Messages: {before} → {after}{less}",
        f"Tokens saved: ~{max(0, compaction.before - compaction.after):,}",
    ]
    if summary.topics:
        topics = [f"• {one_line(topic, 200)}" for topic in summary.topics[:TOPICS]]
        lines += ["", "Key Topics:", *topics]
    if len(summary.topics) > TOPICS:
        lines.append(f"… and {len(summary.topics) - TOPICS} more")
    lines += [
        "",
        f"Files Modified: {counts.changed_files}",
        f"Commands Run: {counts.commands}",
        f"Key Decisions: {len(summary.decisions)}",
        f"Key Facts: {len(summary.key_facts)}",
    ]
    if counts.not_done:
        lines.append(f"Tools denied, failed or stopped: {counts.not_done}")
    if compaction.archived:
        lines.append(f"In the archive only: {plural(compaction.archived, 'value')}")
    display.panel("\n".join(lines), "Session Summary")


def show_context(
    display: DisplayManager,
    parts: Sequence[tuple[str, int]],
    used: int,
    window: Window,
    *,
    estimated: bool,
) -> None:
    """Show the parts that fill the window, with a bar for each."""
    mark = "~" if estimated else ""
    size = max(1, window.tokens)
    of = window_text(window.tokens, False)
    if window.guessed:
        of += ", guessed"
    heading = f"Context: {mark}{used:,} of {window.tokens:,} tokens"
    note = f"({mark}{used / size:.0%} of {of})"
    lines = [f"{heading} {note}"]
    if display.is_terminal and len(lines[0]) >= display.console.width:
        lines = [heading, f"  {note}"]
    for line in lines:
        display.prose(line, indent=2)
    rows = []
    for name, tokens in parts:
        full = min(BAR, round(tokens / size * BAR))
        bar = ""
        if display.console.width >= MIN_BAR_COLUMNS:
            bar = "█" * full + "░" * (BAR - full)
        rows.append((f"  {name}", f"{tokens:,}", f"{tokens / size:.0%}", bar))
    display.table(rows, numbers=(1, 2))


def sparkline(values: Sequence[int], width: int) -> str:
    """Draw nonnegative values in at most `width` cells; a cell may show the largest of several."""
    group = -(-len(values) // max(width, 1))
    largest = [max(values[at : at + group]) for at in range(0, len(values), group)]
    top = max(1, *largest)
    return "".join("▁▂▃▄▅▆▇█"[value * 7 // top] for value in largest)


class Summarized(Struct, frozen=True):
    """Messages of which only a summary is in the context: the references of the first and the last
    one, and the session that has the summary, if there is one.
    """

    first: str
    last: str
    session: str
    summary: Summary | None


def show_history(
    display: DisplayManager,
    summarized: Sequence[Summarized],
    recent: Sequence[Exchange],
    total: int,
    *,
    agent: str,
    full: bool,
) -> None:
    """Show a chain's summaries, then `recent` exchanges, with their references."""
    display.line(f"Session history ({plural(total, 'message')} total):")
    for number, part in enumerate(summarized, 1):
        display.line()
        span = _span(part.first, part.last)
        display.line(f"[Summary {number}] {span} ({part.session}):", "bold")
        if part.summary is None:
            display.line("  no summary was made")
            continue
        for name in ("topics", "decisions", "pending"):
            items = getattr(part.summary, name)
            listed = items if full else items[:3]
            title = ""
            if name != "topics":
                title = f"{name.capitalize()}: "
            for item in listed:
                text = printable(item) if full else one_line(item, 300)
                display.prose(f"  {title}{text}", indent=4)
            if len(listed) < len(items):
                display.line(f"  … {len(items) - len(listed)} more", "dim")
    if recent:
        display.line()
        display.line(f"[Recent] {_span(recent[0].ref, recent[-1].ref)}:", "bold")
    for exchange in recent:
        _show_messages(display, exchange, agent, full=full)


def _span(first: str, last: str) -> str:
    if first == last:
        return first
    return f"{first} to {last}"


def _show_messages(display: DisplayManager, exchange: Exchange, agent: str, *, full: bool) -> None:
    """Show the query of an exchange behind its reference, and its reply below."""
    note = " (not sent again)" if exchange.failed else ""
    start = f"  {exchange.ref}  "
    texts = [exchange.query.text]
    if exchange.reply is not None and exchange.reply.text.strip():
        texts.append(exchange.reply.text)
    for speaker, message in zip(("You", agent), texts, strict=False):
        text = printable(message) if full else one_line(message, FIRST_WORDS)
        display.prose(f"{start}{speaker}: {text}{note}", indent=len(start) + 2)
        start = " " * len(start)


def show_compactions(display: DisplayManager, sessions: Sequence[Session]) -> None:
    """Show the audit of a chain's compactions, oldest first."""
    seals = [session.seal for session in sessions if session.seal is not None]
    audits = [(seal, seal.compaction) for seal in seals if seal.compaction is not None]
    if audits:
        display.line()
        display.line(f"{plural(len(audits), 'compaction')}:", "bold")
    for seal, compaction in audits:
        parts = [
            f"{seal.at:%b %d, %H:%M}",
            f"{compaction.first} to {compaction.last}",
            compaction_text(compaction),
            compaction.model or "no model",
        ]
        if seal.seconds is not None:
            parts += [f"{seal.seconds:.1f}s"]
        if compaction.model:
            parts += [dollars_text(compaction.cost)]
        display.prose("  " + " · ".join(parts), indent=4)
