"""Lines about sessions that are found, ended or compacted, and about requests tried again."""

from __future__ import annotations

from typing import TYPE_CHECKING

from chat_loop.display.text import one_line
from chat_loop.events import (
    FIRST_RETRY,
    Compacted,
    Connecting,
    Restoring,
    Retrying,
    SessionFound,
    SessionSealed,
    SummaryEnded,
    SummaryStarted,
)
from chat_loop.values import Usage
from chat_loop.wording import compaction_text, counted, counts_text, tokens_text

if TYPE_CHECKING:
    from chat_loop.display.manager import DisplayManager


def found(display: DisplayManager, event: SessionFound) -> None:
    """The session that is about to be resumed, and what is wrong with its file."""
    counts = counts_text(event.queries, event.tokens)
    when = f"{event.created:%b %d, %H:%M}"
    display.prose(
        display.symbol("✓", f"Found: {one_line(event.agent, 60)} - {when} ({counts})"), indent=2
    )
    for sentence in event.damage[:3]:
        display.line(f"  {one_line(sentence)}", "yellow")
    if len(event.damage) > 3:
        display.line(
            f"  and {len(event.damage) - 3} more faults; the file is kept as it is.", "yellow"
        )


def compacted(display: DisplayManager, event: Compacted) -> None:
    """One line; with the block between markers when the user wants to see it."""
    without = "" if event.source == "model" else " · without a model"
    why = "" if event.compaction.why == "asked" else f" {event.reason}."
    display.prose(
        display.symbol("📦", f"Compacted {compaction_text(event.compaction)}{without}.{why}"),
        "dim",
        indent=3,
    )
    if display.show_blocks:
        display.line(f"[SUMMARY: {event.compaction.first} to {event.compaction.last}]", "dim")
        display.line(event.block, "dim")
        display.line("[END SUMMARY]", "dim")


def sealed(display: DisplayManager, event: SessionSealed) -> None:
    """The end of a session: one line in mid-conversation, the whole accounting at the exit."""
    if event.reason == "automatic" and event.saved:
        return
    total = event.session_tokens.total + event.restoration_tokens.total
    if event.reason != "exit":
        counts = counts_text(event.queries, total)
        if event.saved:
            display.prose(display.symbol("💾", f"Saved session: {event.id} ({counts})"), indent=3)
        else:
            display.line("NOT saved.", "bold red")
        return
    display.line("Goodbye!")
    if not event.saved:
        display.line(f"The conversation is NOT saved: {event.path}", "bold red", symbol="✗")
        return
    display.prose(display.symbol("✓", "Conversation saved successfully!"), indent=2)
    display.line(f"  Session ID: {event.id}")
    display.line(f"  Queries: {event.queries}")
    display.prose(f"  Tokens: {_total(event.session_tokens)}", indent=4)
    if event.restoration_tokens.total:
        display.prose(f"  Restoration: {tokens_text(event.restoration_tokens)}", indent=4)
        display.line(f"  Combined Total: {total:,}")
    display.line(f"  Resume with: {display.resume_command} --resume {event.id}")


def connecting(display: DisplayManager, event: Connecting) -> None:
    """Show in a terminal that servers are being connected."""
    display.begin_waiting()
    if event.servers:
        names = ", ".join(event.servers)
        fits = (
            len(names) < display.console.width - 30
        )  # a line that is broken could not be taken back
        display.status(
            "Connecting to "
            f"{one_line(names) if fits else counted(len(event.servers), 'MCP server')} …"
        )


def summary_started(display: DisplayManager, event: SummaryStarted) -> None:
    """A terminal sees how far it is; elsewhere the line is ended when it is done."""
    parts = f" ({event.parts} parts)" if event.parts > 1 else ""
    text = display.symbol("📝", f"Generating session summary{parts}...")
    display.begin_waiting()
    display.status(text)
    display.waiting.hint = " · Ctrl-C skips it" if event.optional else " · Ctrl-C stops it"
    if display.waiting.redraws:
        display.waiting.show(display.console.width)
    else:
        display.begun(text)


def summary_ended(display: DisplayManager, event: SummaryEnded) -> None:
    """Done, or why it was made otherwise, or not at all."""
    text, done = display.waiting.text, "✓" if display.has_symbols else "ok"
    display.waiting.text = display.waiting.more = display.waiting.hint = ""
    if event.source == "model" and display.waiting.redraws:
        display.prose(f"{text} {done}", indent=3)
    elif event.source == "model":
        display.ended(f" {done}")
    elif event.source == "extracted":
        display.warn(event.problem or "Summary made without a model.")
    else:
        display.warn(event.problem)


def retrying(display: DisplayManager, event: Retrying) -> None:
    """Why a request failed, and when it is sent again: a terminal sees the newest, elsewhere the
    first is told.
    """
    reason = one_line(event.reason, 300)
    wait = f"again in {event.seconds:.0f} s" if event.seconds >= 1 else "again"
    if display.waiting.redraws:
        stops = "" if display.waiting.hint else ", Ctrl-C stops"
        display.hold_up(f" Trying {wait} ({event.attempt}/{event.attempts}{stops}): {reason}")
    elif event.attempt == FIRST_RETRY:
        display.prose(
            f"{reason} Trying {wait} ({event.attempt}/{event.attempts}); Ctrl-C stops.",
            "yellow",
            indent=2,
        )


def _total(usage: Usage) -> str:
    return tokens_text(usage) if usage.total else "0"


def restoring(display: DisplayManager, event: Restoring) -> None:
    """A child session gets its parent's block."""
    text = (
        "Starting new session with summary..."
        if event.reason == "compact"
        else "Restoring context..."
    )
    display.prose(display.symbol("🔄", text), indent=3)
    display.begin_waiting()
