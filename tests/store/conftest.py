"""The S3 server of these tests, and machines that share a store on it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.support.s3_server import BUCKET, S3Server, require_server
from tests.support.shared_sessions import Machine


@pytest.fixture(scope="module")
def s3(tmp_path_factory: pytest.TempPathFactory) -> Iterator[S3Server]:
    """Yield a server for all tests of a module; each test has its own prefix."""
    require_server()
    with S3Server(tmp_path_factory.mktemp("s3") / "objects") as server:
        yield server


@pytest.fixture
def prefix(s3: S3Server, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Set the variables that a program needs for the server; return the prefix of the test."""
    for name, value in s3.environment().items():
        monkeypatch.setenv(name, value)
    monkeypatch.delenv("AWS_PROFILE", raising=False)
    return re.sub(r"\W+", "-", request.node.name) + "/"


@pytest.fixture
def url(prefix: str) -> str:
    return f"s3://{BUCKET}/{prefix.rstrip('/')}"


@pytest.fixture
def machine(tmp_path: Path, url: str) -> Callable[[str], Machine]:
    """Return a function that makes a machine by name; the machine's folder is empty at first."""
    return lambda name: Machine(tmp_path / name, url)
