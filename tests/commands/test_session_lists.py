"""`sessions` and `resume` on the screen of an empty folder."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.library_screens import in_zone
from tests.support.screens import Screen


@pytest.fixture(autouse=True)
def _size(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    for name in ("FORCE_COLOR", "NO_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE"):
        monkeypatch.delenv(name, raising=False)
    in_zone(monkeypatch)


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
