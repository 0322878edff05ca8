"""Fixtures of the tests of providers."""

from __future__ import annotations

from pathlib import Path

import pytest

from chat_loop.providers import servers
from tests.support.catalogue import ALL
from tests.support.providers import MakeProvider, anthropic_at, clear_environment, openai_at


@pytest.fixture(autouse=True)
def _environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    clear_environment(monkeypatch, tmp_path)


@pytest.fixture(autouse=True)
def _patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a busy machine take long for the answers of its own servers."""
    monkeypatch.setattr(servers, "CONNECT_SECONDS", 60.0)
    monkeypatch.setattr(servers, "ANSWER_SECONDS", 60.0)


@pytest.fixture(params=[anthropic_at, openai_at])
def provider_at(request: pytest.FixtureRequest) -> MakeProvider:
    """A provider of each wire that has an SDK of its own."""
    make: MakeProvider = request.param
    return make


@pytest.fixture
def services(_environment: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The environment variables of all services in the catalogue."""
    for service in ALL:
        service.set_up(monkeypatch, tmp_path)
    for service in ALL:  # each `set_up` clears the variables of the others
        for name, value in service.variables.items():
            monkeypatch.setenv(name, value)
