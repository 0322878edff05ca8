"""The lines before the first prompt: the offer to go on with the last session, and a welcome."""

from __future__ import annotations

import os

from chat_loop.display.text import cut_to, one_line

NARROW = 80
"""Below this many columns the first start says less."""


def offer(name: str, when: str, columns: int) -> str:
    """Return the offer to resume a session, on one line of at most `columns`."""
    rest = f" ({when}) · resume last goes on with it"
    if len(rest) + 30 > columns:
        rest = " · resume last"
    # A line that is full makes some terminals begin another.
    room = columns - len(f"Last time: {rest}") - 1
    shown = cut_to(one_line(name, 50), room)
    return f"Last time: {shown}{rest}" if room > 1 else rest.removeprefix(" · ")


def greeting(model: str, directory: str, columns: int) -> tuple[str, ...]:
    """Return the greeting of the first start: four lines of less than `columns` each."""
    room = columns - 1
    if columns < NARROW:
        lead, model = "Welcome. ", model.partition(":")[2] or model
        told = (
            f"Saved in {_end_of_path(directory, room - 9)}",
            "exit leaves, resume goes on.",
            "help shows more.",
        )
        return (lead + cut_to(f"{one_line(model, 60)} answers.", room - len(lead)), *told)
    answers = " answers; /model shows who else could."
    return (
        f"Welcome. {cut_to(one_line(model, 60), room - 9 - len(answers))}{answers}",
        f"Conversations are markdown files in {_end_of_path(directory, room - 37)}.",
        "exit saves one with a summary and leaves; resume goes on with it another day.",
        "Long ones are compacted automatically. Esc stops a reply, @path adds a file.",
    )


def _end_of_path(path: str, columns: int) -> str:
    """Return a path with the home directory as `~`, or its end where it does not fit."""
    home = os.path.expanduser("~")  # noqa: PTH111 - Path's own fails where there is no home
    if path.startswith(f"{home}/") and home != "/":
        path = f"~{path.removeprefix(home)}"
    return cut_to(one_line(path, 400)[::-1], columns)[::-1]
