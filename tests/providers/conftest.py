"""Fixtures of the tests of providers."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.catalogue import ALL
from tests.support.providers import clear_environment


@pytest.fixture(autouse=True)
def _environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    clear_environment(monkeypatch, tmp_path)


@pytest.fixture
def services(_environment: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The environment variables of all services in the catalogue."""
    for service in ALL:
        service.set_up(monkeypatch, tmp_path)
    for service in ALL:  # each `set_up` clears the variables of the others
        for name, value in service.variables.items():
            monkeypatch.setenv(name, value)
