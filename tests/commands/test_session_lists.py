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


def test_the_list_is_numbered_as_resume_takes_it(tmp_path: Path) -> None:
    shelf(tmp_path)
    screen = Screen(tmp_path, ["sessions", "/resume 2 --quick"], hours=9)
    assert "\n".join(line.rstrip() for line in screen.text.splitlines()).startswith(
        """\
You: sessions
1  How do I sort?                                     14h  1 message   5 tokens
2  [red]Wie sortiert[/] man ␛]0;x␇ das?               15h  1 message  12 tokens
3  漢字                                               16h  1 message   3 tokens
4  word word word word word word word word word wor…  17h  1 message  61 tokens
You: /resume 2 --quick
📋 Loading session...
✓ Found: Sally - Nov 21, 16:30 (1 query, 16 tokens)"""
    )
    assert screen.talk.conversation.live.header.parent == "sally_20261121_163015"


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
