"""`sessions` and `resume` on the screen: the list, and finding a session by number or id."""

from __future__ import annotations

import os
from datetime import datetime
from pathlib import Path

import pytest

from chat_loop.conversation.options import Options
from tests.support.library_screens import in_zone
from tests.support.screens import Screen
from tests.support.scripted_chat import names


@pytest.fixture(autouse=True)
def _size(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    for name in ("FORCE_COLOR", "NO_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE"):
        monkeypatch.delenv(name, raising=False)
    in_zone(monkeypatch)


def shelf(folder: Path) -> None:
    """Make four sessions, an hour apart. Their files changed in the opposite order, as in a backup
    that was restored.
    """
    lines = ["word " * 60, "漢字", "[red]Wie sortiert[/] man \x1b]0;x\x07 das?", "How do I sort?"]
    for number, line in enumerate(lines):
        options = Options(on_exit="later", attach_from_archive=False)
        Screen(folder, [line], "So.", hours=number - 8, options=options)
        path = folder / names(folder)[-1]
        noon = datetime(2020, 6, 9 - number, 12).timestamp()
        os.utime(path, (noon, noon))


def test_an_empty_folder(tmp_path: Path) -> None:
    screen = Screen(tmp_path / "none", ["sessions", "resume 1", "compact", "/pin"])
    assert screen.text == (
        """\
You: sessions
No conversations yet; --all also lists runs of -p and failed ones.
You: resume 1
✗ No session 1.
  sessions lists them.
You: compact
✗ There is nothing to compact yet.
  Send a message first.
You: /pin
✗ There are no pins.
  /pin TEXT keeps a text word for word.
Goodbye!
"""
    )
    assert not (tmp_path / "none").exists()
    assert screen.code == 0
