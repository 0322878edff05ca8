"""Fixtures of the tests of providers."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from benchmarks.support.loopback import Loopback
from tests.support.providers import clear_environment


@pytest.fixture(autouse=True)
def _environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    clear_environment(monkeypatch, tmp_path)


@pytest.fixture
def server() -> Iterator[Loopback]:
    """A server on loopback without any reply."""
    with Loopback() as loopback:
        yield loopback
