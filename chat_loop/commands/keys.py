"""The keys of the line, as `/help keys` and the README tell them."""

from __future__ import annotations

from chat_loop.commands.chat import Chat

NARROW = 60
"""Below this many columns what a key does stands below it."""
KEYS = (
    ("Enter", "Sends the entry."),
    (
        "Alt-Enter, Ctrl-J",
        "Begins a new line; so does Shift-Enter where the terminal tells it from Enter.",
    ),
    ("\\ Enter", "Begins a new line: the backslash goes."),
    ("\\\\ Enter", "In an empty line: opens an entry of several lines, which an empty one ends."),
    (
        "Tab",
        (
            "Completes commands, their options and what they take (sessions, models, settings), "
            "templates, @files."
        ),
    ),
    ("Up, Down", "Moves between the lines, then through what was entered before."),
    ("Ctrl-R", "Searches what was entered before; Enter takes what is found into the line."),
    (
        "Ctrl-X Ctrl-E",
        "Edits the entry in $VISUAL or $EDITOR and takes it back (v in vi's command mode).",
    ),
    ("Ctrl-C", "Clears the line; stops a reply, keeping what came of it, and whatever else runs."),
    ("Ctrl-D", "Leaves, from an empty line."),
)
"""(keys, what they do)"""

REST = "The others are those of emacs; input: {keys: vi} in the config makes them those of vi."


def show_keys(chat: Chat) -> None:
    """Every key that does something of its own."""
    width = max(len(keys) for keys, _ in KEYS)
    for keys, what in KEYS:
        if chat.display.console.width >= NARROW:
            chat.display.prose(f"  {keys:<{width}}  {what}", indent=width + 4)
        else:
            chat.display.line(f"  {keys}")
            chat.display.prose(f"    {what}", indent=4)
    chat.display.prose(REST, "dim")
