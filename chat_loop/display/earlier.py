"""What is shown of a conversation that goes on: the exchange at which it was left, and the
beginning of its summary.
"""

from __future__ import annotations

import re

from chat_loop.characters import one_line
from chat_loop.display.display_manager import DisplayManager
from chat_loop.display.sanitizer import cells, cut_to
from chat_loop.sessions.records import Exchange, Summary
from chat_loop.sessions.writer import closing_fence
from chat_loop.values import STOPS

HALF_LINES = 8
HALF_CHARACTERS = 1_000
"""The most that is shown of the beginning and of the end of a long message."""
LISTS = {
    "topics": "Topics",
    "decisions": "Decisions",
    "pending": "Pending",
    "pinned": "Pinned",
    "key_facts": "Key facts",
}
"""The lists of a summary that are shown, each on one line."""
_INDENT = "  "
_SEQUENCE = re.compile(r"\x1b\[[0-9;]*m")


def show_exchange(display: DisplayManager, exchange: Exchange) -> None:
    """Show an exchange dim, without the middle of a long message, and how it ended if not well."""
    _show_plain(display, f"You: {without_middle(exchange.query.text)}")
    reply = exchange.reply
    if reply is None:
        return
    if reply.text.strip():
        _show_reply(display, reply.text)
    if stop := STOPS.get(reply.stop):
        _show_plain(display, f"({stop})")


def _show_reply(display: DisplayManager, reply: str) -> None:
    label = f"{one_line(display.agent, 60)}:"
    leads = cells(label)
    short = without_middle(reply)
    if not display.theme:
        _show_plain(display, f"{label} {short}")
        return
    text = display.rendered(short, leads=leads, indent=len(_INDENT))
    lines = f"{label}{text}".rstrip("\n").split("\n")
    display.draw([_dim(f"{_INDENT}{line}") for line in lines])


def _show_plain(display: DisplayManager, text: str) -> None:
    text = text.replace("\n", f"\n{_INDENT}")
    display.prose(f"{_INDENT}{text}", "dim", indent=len(_INDENT))


def without_middle(text: str) -> str:
    """Return a message without its middle if it is long. Code that is cut stays code."""
    text = text.strip("\n")
    lines = text.split("\n")
    if len(lines) <= 2 * HALF_LINES and len(text) <= 2 * HALF_CHARACTERS:
        return text
    head = "\n".join(lines[:HALF_LINES])[:HALF_CHARACTERS]
    tail = "\n".join(lines[-HALF_LINES:])[-HALF_CHARACTERS:]
    missing = len(text) - len(head) - len(tail)
    again = closing_fence(text[: len(text) - len(tail)])
    middle = f"[… {missing:,} characters …]"
    return f"{head}\n{closing_fence(head)}\n{middle}\n\n{again}{tail}"


def show_summary(display: DisplayManager, summary: Summary) -> None:
    """Show a line of each of the main lists of a summary."""
    columns = 200
    if display.is_terminal:
        columns = display.console.width - 1
    shown = False
    for name, title in LISTS.items():
        items: tuple[str, ...] = getattr(summary, name)
        if items:
            text = one_line("; ".join(items), 1_000)
            display.line(cut_to(f"{_INDENT}{title}: {text}", columns), "dim")
            shown = True
    if not shown:
        background = one_line(summary.background, 1_000)
        display.line(cut_to(f"{_INDENT}{background}", columns), "dim")
    display.prose(f"{_INDENT}/summary shows the rest.", "dim", indent=len(_INDENT))


def _dim(line: str) -> str:
    """Return a rendered line that is dim, whatever styles it has."""
    return "\x1b[2m" + _SEQUENCE.sub("\\g<0>\x1b[2m", line) + "\x1b[0m"
