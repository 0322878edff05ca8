"""Fixtures of the tests of providers."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.providers import clear_environment


@pytest.fixture(autouse=True)
def _environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    clear_environment(monkeypatch, tmp_path)
