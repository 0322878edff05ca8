"""Fixtures of the tests of subcommands."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.saved_sessions import ALL, put


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A home with saved sessions."""
    put(tmp_path / "sessions", *ALL)
    return tmp_path
