"""Tool calls as they are shown: one line for the call, one for its result; a call that is asked
about stands whole.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from chat_loop.display.text import one_line
from chat_loop.events import ToolCalled, ToolReturned
from chat_loop.values import ToolCall
from chat_loop.wording import ALLOWED, compact_number, counted

if TYPE_CHECKING:
    from chat_loop.display.manager import DisplayManager

LONGEST_CALL = 160
"""Characters of a call's arguments."""
LONGEST_VALUE = 60
SHORT_RESULT = 60
"""Characters of a result that are shown; of a longer one also how much it is."""
_STYLES = {"+": "green", "-": "red", "@": "cyan", "\\": "dim"}


def shown(display: DisplayManager, event: ToolCalled | ToolReturned) -> None:
    """One line for a call, which is waited for, and one for what came of it."""
    if isinstance(event, ToolCalled):
        display.begin_waiting()
        called(display, event.call)
    else:
        returned(display, event)


def called(display: DisplayManager, call: ToolCall) -> None:
    """The tool and the arguments in short."""
    display.line(f"{call.name}: {_arguments(call.arguments)}".rstrip(": "), "dim", symbol="🔧")


def returned(display: DisplayManager, event: ToolReturned) -> None:
    """Show the outcome of a call: the result as far as a line takes it, and its size; why, when it
    failed.
    """
    took = f" ({event.seconds:.1f} s)" if event.seconds >= 0.1 else ""
    if event.denied:
        display.line(f"  {event.name} denied", "yellow")
        return
    if event.failed:
        display.line(
            f"  {event.name} failed: {one_line(event.text.removeprefix(ALLOWED), 300)}{took}", "red"
        )
        return
    text = event.text.removeprefix(ALLOWED).strip("\n")
    lines = text.count("\n") + 1
    shown = one_line(text.partition("\n")[0], SHORT_RESULT)
    size = f" ({counted(lines, 'line')}, {compact_number(len(text))} characters)"
    size = "" if lines == 1 and len(text) <= SHORT_RESULT else size
    display.line(f"  {event.name}: {shown}{size}{took}", "dim")


def proposed(display: DisplayManager, text: str) -> None:
    """Show all that a call would do before the user is asked: every line, a diff in its colours."""
    lines = text.split("\n")
    inside = False
    for line in lines:
        inside = inside or line.startswith("--- ")
        display.line(
            line, _STYLES.get(line[:1], "") if inside else "bold" if line is lines[0] else ""
        )
    if len(lines) >= display.console.height - 2 and display.is_terminal:
        display.line(f"({counted(len(lines), 'line')}: scroll up to read all of it)", "yellow")


def _arguments(text: str) -> str:
    """`path=a.py, first=3`; as they stand, when they are no JSON object."""
    try:
        given = json.loads(text) if text.strip() else {}
    except (ValueError, RecursionError):
        given = None
    if not isinstance(given, dict):
        return one_line(text, LONGEST_CALL)
    parts = (
        f"{one_line(str(name), LONGEST_VALUE)}={one_line(_value(value), LONGEST_VALUE)}"
        for name, value in given.items()
    )
    return one_line(", ".join(parts), LONGEST_CALL)


def _value(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
