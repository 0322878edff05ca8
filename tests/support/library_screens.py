"""A shelf of sessions with branches for tests of commands, and screens without the times of the
test run.
"""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from chat_loop.conversation.conversation_options import Options
from tests.support.screens import Screen

CODE = Options(acknowledge=False, attach_from_archive=False, use_ai_summary=False)
"""Code writes every summary, without the model."""


def in_zone(patch: pytest.MonkeyPatch) -> None:
    """Set the machine's time zone, whose dates lists show, to that of the tests."""
    patch.setenv("TZ", "Etc/GMT-1")
    time.tzset()


def run(folder: Path, *lines: str, hours: int, answers: tuple[str, ...] = ()) -> str:
    """Return the text that the user saw."""
    screen = Screen(folder, lines, *["Noted."] * 20, hours=hours, options=CODE, answers=answers)
    text = "\n".join(line.rstrip() for line in screen.text.split("\n")).replace(
        str(folder), "/sessions"
    )
    return text.replace("Time: 2.0s | Tokens: 110 (in: 100, out: 10)\n\n", "")


def shelf(folder: Path) -> None:
    """Make a session about a kitchen with two continuations, and a session about something else."""
    run(
        folder,
        *("The budget of the kitchen is 8,400 euros.", "The gateway listens on port 5432."),
        *("/rename Kitchen", "/tag home"),
        hours=0,
    )
    run(
        folder,
        "/resume 1",
        "The gateway listens on port 5544 now.",
        "Decision: we take oak fronts.",
        hours=1,
    )
    run(
        folder,
        "/sessions --unfold",
        "/resume 2",
        "The gateway listens on port 6000 now.",
        "/tag --remove home",
        hours=2,
    )
    run(folder, "Wie heiß wird [b]Öl[/b]? 漢字 \x1b]0;x\x07", hours=3)
