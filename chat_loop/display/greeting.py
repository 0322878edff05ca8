"""The lines before the first prompt: the offer to continue the last session, and a welcome."""

from __future__ import annotations

import os

from chat_loop.display.text import cut_to, one_line

NARROW = 80
"""Below this many columns the welcome says less."""


def offer(name: str, when: str, columns: int) -> str:
    """Return the offer to resume a session, on one line of at most `columns`."""
    rest = f' ({when}) · type "resume last" to continue'
    if len(rest) + 30 > columns:
        rest = " · resume last"
    # A line that is full makes some terminals begin another.
    room = columns - len(f"Last time: {rest}") - 1
    shown = cut_to(one_line(name, 50), room)
    return f"Last time: {shown}{rest}" if room > 1 else rest.removeprefix(" · ")


def greeting(model: str, directory: str, columns: int) -> tuple[str, ...]:
    """Return the welcome of the first start: four lines of less than `columns` each."""
    home = os.path.expanduser("~")  # noqa: PTH111 - Path's own fails where there is no home
    if directory.startswith(f"{home}/") and home != "/":
        directory = f"~{directory.removeprefix(home)}"
    room, narrow = columns - 1, columns < NARROW
    model = one_line(model, 60)
    if narrow:
        model = model.partition(":")[2] or model
        using, switch, saved = "Welcome. Using ", ".", "Saved in "
        leaving, more = "exit quits, resume continues.", "help shows more."
    else:
        using, switch = "Welcome. Using ", ". /model to switch."
        saved = "Conversations are markdown files in "
        leaving = "exit saves and quits; resume picks up later."
        more = "Long conversations are compacted automatically. Esc stops, @path adds a file."
    end_of_path = cut_to(one_line(directory, 400)[::-1], room - len(saved))[::-1]
    return (
        f"{using}{cut_to(model, room - len(using + switch))}{switch}",
        f"{saved}{end_of_path}",
        leaving,
        more,
    )
