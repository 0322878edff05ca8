"""A shelf of sessions with branches for tests of commands, and screens without the times at which tests run."""

from __future__ import annotations

import os
import re
from datetime import datetime, timedelta
from pathlib import Path

from chat_loop.chain.options import Options
from tests.screens import Screen
from tests.talking import names

CODE = Options(acknowledge=False, attach_from_archive=False, use_ai_summary=False)
"""Every summary is made by code."""

_NOW = re.compile(r"(?:today \d\d:\d\d|[A-Z][a-z]{2} \d\d, \d\d:\d\d|20(?!20)\d\d-\d\d-\d\d)(?= · \d)")
"""When a file was changed that a test has just written."""


def run(folder: Path, *lines: str, hours: int, answers: tuple[str, ...] = ()) -> str:
    """What the user saw, with each file's time set to a noon in June 2020 afterwards."""
    screen = Screen(folder, lines, *["Noted."] * 20, hours=hours, options=CODE, answers=answers)
    for number, name in enumerate(names(folder), 1):
        noon = (
            datetime(2020, 5, 31, 12) + timedelta(days=number)
        ).timestamp()  # of the local clock, as the list shows it
        os.utime(folder / name, (noon, noon))
    text = "\n".join(line.rstrip() for line in screen.text.split("\n")).replace(str(folder), "/sessions")
    return _NOW.sub("NOW", text.replace("Time: 2.0s | Tokens: 110 (in: 100, out: 10)\n\n", ""))


def shelf(folder: Path) -> None:
    """A kitchen that is gone on with twice, and talk of something else."""
    run(
        folder,
        *("The budget of the kitchen is 8,400 euros.", "The gateway listens on port 5432."),
        *("/rename Kitchen", "/tag home"),
        hours=0,
    )
    run(folder, "/resume 1", "The gateway listens on port 5544 now.", "Decision: we take oak fronts.", hours=1)
    run(folder, "/sessions --unfold", "/resume 2", "The gateway listens on port 6000 now.", "/untag home", hours=2)
    run(folder, "Wie heiß wird [b]Öl[/b]? 漢字 \x1b]0;x\x07", hours=3)
