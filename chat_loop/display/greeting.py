"""The lines before the first prompt: the offer to continue the last session, and a welcome."""

from __future__ import annotations

import os

from chat_loop.display.text import cut_to, one_line


def offer(name: str, when: str, columns: int) -> str:
    """Return the offer to resume a session, on one line of at most `columns` where it fits."""
    rest = f' ({when}) · type "resume last" to continue'
    room = columns - len(f"Last time: {rest}") - 1
    return f"Last time: {cut_to(one_line(name, 50), max(room, 10))}{rest}"


def greeting(model: str, directory: str) -> tuple[str, ...]:
    """Return the welcome of the first start."""
    home = os.path.expanduser("~")  # noqa: PTH111 - Path's own fails where there is no home
    if directory.startswith(f"{home}/") and home != "/":
        directory = f"~{directory.removeprefix(home)}"
    return (
        f"Welcome. Using {one_line(model, 60)}. /model to switch.",
        f"Conversations are markdown files in {one_line(directory, 400)}",
        "exit saves and quits; resume picks up later.",
        "Long conversations are compacted automatically. Esc stops, @path adds a file.",
    )
