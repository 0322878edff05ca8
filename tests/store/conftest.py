"""The servers of these tests, and machines that share a store on one of them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.support.s3_server import BUCKET
from tests.support.shared_sessions import Machine
from tests.support.store_servers import StoreServer, server_of


@pytest.fixture(scope="module", params=["s3", pytest.param("azure", marks=pytest.mark.slow)])
def server(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[StoreServer]:
    """Yield a server for all tests of a module; each test has its own prefix."""
    with server_of(request.param, tmp_path_factory.mktemp("store") / "objects") as server:
        yield server


@pytest.fixture
def prefix(server: StoreServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Set the variables that a program needs for the server; return the prefix of the test."""
    for name, value in server.environment().items():
        monkeypatch.setenv(name, value)
    monkeypatch.delenv("AWS_PROFILE", raising=False)
    return re.sub(r"\W+", "-", tmp_path.name) + "/"


@pytest.fixture
def url(server: StoreServer, prefix: str) -> str:
    return f"{server.scheme}://{BUCKET}/{prefix.rstrip('/')}"


@pytest.fixture
def machine(tmp_path: Path, url: str) -> Callable[[str], Machine]:
    """Return a function that makes a machine by name; the machine's folder is empty at first."""
    return lambda name: Machine(tmp_path / name, url)
