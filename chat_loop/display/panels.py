"""Panels and tables of the commands about the context, drawn from values."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from chat_loop.display.manager import DisplayManager
from chat_loop.display.plot import HEIGHT, plot
from chat_loop.display.text import one_line, printable
from chat_loop.sessions.records import Exchange, Session, Summary
from chat_loop.values import Compaction, Window
from chat_loop.wording import compact_number, compaction_text, dollars_text, plural, window_text

BAR = 30
TOPICS = 8
"""How many topics a panel lists."""
FIRST_WORDS = 70
NARROW_PLOT = 30
"""Below this many columns a plot has no scale."""


def show_draft(
    display: DisplayManager, compaction: Compaction, keep: Sequence[Exchange], text: str
) -> None:
    """Show a draft compaction: its savings, the exchanges that stay, and the summary."""
    before, after = compaction.before, compaction.after
    display.line(f"Compacting would take {before:,} tokens to about {after:,}.")
    display.prose(f"{compaction_text(compaction)}.", "dim")
    if keep:
        display.line(f"{plural(len(keep), 'exchange')} would stay in their own words:")
        for exchange in keep:
            display.line(f"  [{exchange.ref}] {one_line(exchange.query.text, FIRST_WORDS)}")
    display.line()
    show_block(display, text)
    display.line()


def show_block(display: DisplayManager, text: str) -> None:
    """Show a summary block, wrapped between words."""
    for line in text.split("\n"):
        display.prose(line, indent=2)


def show_summary(
    display: DisplayManager, compaction: Compaction, summary: Summary, before: int, after: int
) -> None:
    """Show the panel of a finished compaction; `before` and `after` count messages."""
    from rich.panel import Panel

    less = f" ({1 - after / before:.0%} reduction)" if before > after else ""
    lines = [
        f"Messages: {before} → {after}{less}",
        f"Tokens saved: ~{max(0, compaction.before - compaction.after):,}",
    ]
    if summary.topics:
        lines += [
            "",
            "Key Topics:",
            *(f"• {one_line(topic, 200)}" for topic in summary.topics[:TOPICS]),
        ]
        more = len(summary.topics) - TOPICS
        lines += [f"… and {more} more"] if more > 0 else []
    lines += [
        "",
        f"Files Modified: {len(summary.files)}",
        f"Commands Run: {commands_in(summary)}",
        f"Key Decisions: {len(summary.decisions)}",
        f"Key Facts: {len(summary.key_facts)}",
    ]
    if compaction.archived:
        lines.append(f"In the archive only: {plural(compaction.archived, 'value')}")
    body = "\n".join(lines)
    display.panel(Panel(body, title="Session Summary", title_align="left", expand=False))


def commands_in(summary: Summary) -> int:
    """Return how many tool uses a block's lines count."""
    total = 0
    for line in summary.tools:
        number = line.partition(": ")[2].partition(" ")[0]
        total += int(number) if number.isascii() and number.isdigit() and len(number) < 10 else 0
    return total


def show_context(
    display: DisplayManager,
    parts: Sequence[tuple[str, int]],
    used: int,
    window: Window,
    *,
    estimated: bool,
) -> None:
    """Show what fills the window, with a bar for each part."""
    mark = "~" if estimated else ""
    guessed = ", guessed" if window.guessed else ""
    share = used / window.tokens if window.tokens else 1.0
    of = window_text(window.tokens, False)
    display.line(
        f"Context: {mark}{used:,} of {window.tokens:,} tokens ({mark}{share:.0%} of {of}{guessed})"
    )
    width = max(len(name) for name, _ in parts)
    full, empty = ("█", "░") if display.has_symbols else ("#", ".")
    for name, tokens in parts:
        part = tokens / window.tokens if window.tokens else 0.0
        bar = min(BAR, round(part * BAR))
        drawn = (
            f"  {full * bar}{empty * (BAR - bar)}"
            if display.console.width > width + BAR + 24
            else ""
        )
        display.line(f"  {name:<{width}}  {tokens:>9,}  {part:>4.0%}{drawn}")


def show_plots(
    display: DisplayManager,
    tokens: Sequence[int],
    context: Sequence[int],
    compacted: Sequence[int],
    *,
    used: str,
    window: int,
) -> None:
    """Show the tokens of each exchange, and the context after it and (`used`) now."""
    width = display.console.width - 2
    mark = "▲" if display.has_symbols else "^"
    summarized = f"{plural(len(tokens), 'exchange')}, at most {max(tokens):,} tokens"
    of = f"now {used} of {window:,} tokens{f', {mark} compacted' if compacted else ''}"
    for title, values, marks in (
        (f"Tokens: {summarized}", tokens, ()),
        (f"Context: {of}", context, compacted),
    ):
        display.line()
        display.prose(title, "bold")
        for line in _plot_with_scale(values, width, marks=marks, symbols=display.has_symbols):
            display.line(f"  {line}".rstrip())


def _plot_with_scale(
    values: Sequence[int], width: int, *, marks: Sequence[int], symbols: bool
) -> list[str]:
    """Return a plot, with a scale on the left where there is room for it."""
    top = compact_number(max(values))
    if width < NARROW_PLOT:
        return plot(values, width, marks=marks, symbols=symbols)
    bar = "│" if symbols else "|"
    lines = plot(values, width - len(top) - 3, marks=marks, symbols=symbols)
    labels = [top, *[""] * (HEIGHT - 2), "0"]
    scales = [f"{label:>{len(top)}} {bar} " for label in labels] + [" " * (len(top) + 3)] * (
        len(lines) - HEIGHT
    )
    return [scale + line for scale, line in zip(scales, lines, strict=True)]


class SessionHistory(Struct, frozen=True):
    """One session of a chain in its history: the numbers of its messages within the chain, and its
    summary block.
    """

    first: int
    last: int
    id: str
    summary: Summary | None


def show_history(
    display: DisplayManager,
    summarized: Sequence[SessionHistory],
    recent: Sequence[tuple[int, Exchange]],
    total: int,
    *,
    agent: str,
    full: bool,
) -> None:
    """Show the chain's summaries with the messages they cover, then the messages that stand in the
    context.

    `recent` are exchanges, each with the number of its first message.
    """
    display.line(f"Session history ({plural(total, 'message')} total):")
    for number, session in enumerate(summarized, 1):
        display.line()
        display.line(
            f"[Summary {number}] Messages {session.first}-{session.last} ({session.id}):", "bold"
        )
        summary = session.summary
        if summary is None:
            display.line("  no summary was made")
            continue
        sections = {
            "": summary.topics,
            "Decisions: ": summary.decisions,
            "Pending: ": summary.pending,
        }
        for name, items in sections.items():
            shown = items if full else items[:3]
            for item in shown:
                display.prose(
                    f"  {name}{printable(item) if full else one_line(item, 300)}", indent=4
                )
            if len(shown) < len(items):
                display.line(f"  … {len(items) - len(shown)} more", "dim")
    if recent:
        display.line()
        display.line(f"[Recent] Messages {recent[0][0]}-{total}:", "bold")
    for first, exchange in recent:
        reply = exchange.reply.text if exchange.reply is not None else ""
        said = [("You", exchange.query.text), *([(agent, reply)] if reply.strip() else [])]
        for number, (speaker, text) in enumerate(said, first):
            shown_text = printable(text) if full else one_line(text, FIRST_WORDS)
            note = " (not sent again)" if exchange.failed else ""
            display.prose(f"  Message {number}: {speaker}: {shown_text}{note}", indent=4)


def show_compactions(display: DisplayManager, sessions: Sequence[Session]) -> None:
    """The audit of a chain's compactions, oldest first."""
    compacted = [
        session
        for session in sessions
        if session.seal is not None and session.seal.compaction is not None
    ]
    if not compacted:
        return
    display.line()
    display.line(f"{plural(len(compacted), 'compaction')}:", "bold")
    for session in compacted:
        seal = session.seal
        assert seal is not None
        compaction = seal.compaction
        assert compaction is not None
        parts = [
            f"{seal.at:%b %d, %H:%M}",
            f"{compaction.first} to {compaction.last}",
            compaction_text(compaction),
            compaction.model or "no model",
        ]
        parts += [f"{seal.seconds:.1f}s"] if seal.seconds is not None else []
        parts += [dollars_text(compaction.cost)] if compaction.model else []
        display.prose("  " + " · ".join(parts), indent=4)
