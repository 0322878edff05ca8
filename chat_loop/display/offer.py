"""The line that offers to go on with the last session."""

from __future__ import annotations

from chat_loop.display.text import cut_to, one_line


def offer(name: str, when: str, columns: int) -> str:
    """The offer to go on with a session, as long as fits into one line of so many columns."""
    rest = f" ({when}) · resume last goes on with it"
    if len(rest) + 30 > columns:
        rest = " · resume last"
    room = columns - len(f"Last time: {rest}") - 1  # a line that is full makes some terminals begin another
    shown = cut_to(one_line(name, 50), room)
    return f"Last time: {shown}{rest}" if room > 1 else rest.removeprefix(" · ")


def greeting(model: str, directory: str) -> tuple[str, ...]:
    """What is said at the first start, in four lines."""
    return (
        f"Welcome. {one_line(model, 60)} answers; /model shows who else could.",
        f"Each conversation becomes a markdown file in {one_line(directory, 400)}.",
        "exit makes a summary of it and leaves; sessions and resume go on with it another day.",
        "A long one is compacted by itself. Ctrl-C stops a reply, @path sends a file along.",
    )
