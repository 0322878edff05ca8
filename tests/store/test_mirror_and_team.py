"""The same sessions in a folder, in an object store, and in a team's library."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from msgspec.structs import replace

from benchmarks.support.postgres_server import PostgresServer
from chat_loop.library.filters import SessionFilter
from chat_loop.library.library import Library
from chat_loop.library.refresh import share
from chat_loop.library.search import search_all
from chat_loop.sessions.records import SessionRow
from chat_loop.team.postgres import Postgres
from chat_loop.team.team_library import TeamLibrary
from tests.support.saved_sessions import FIRST, OPEN, SECOND
from tests.support.shared_sessions import Machine
from tests.support.store_servers import StoreServer

ROLES = "same_librarian", "same_alice", "same_bob"
WORDS = "the bursts of a token bucket, or the database"


def seen(library: Library) -> tuple[list[SessionRow], set[tuple[object, ...]]]:
    """Return the rows of a library without whose they are, and what a search finds."""
    (rows, more), warning = library.rows()
    hits, problem = search_all(library, WORDS, SessionFilter(), 9)
    assert (more, warning, problem) == (0, "", "")
    plain = [replace(row, folder=Path(), owner="") for row in rows]
    return plain, {(hit.row.id, hit.exchange.query.number, hit.texts, hit.matches) for hit in hits}


@pytest.mark.slow
def test_bytes_rows_and_hits_are_the_same_wherever_a_session_comes_from(
    machine: Callable[[str], Machine],
    server: StoreServer,
    prefix: str,
    postgres: PostgresServer,
    tmp_path: Path,
) -> None:
    alice, bob = machine("alice"), machine("bob")
    written = {path.name: path.read_bytes() for path in map(alice.put, (FIRST, SECOND, OPEN))}
    alice.sync()
    bob.sync()
    assert server.objects(prefix) == written
    assert {path.name: path.read_bytes() for path in bob.files()} == written

    name = f"same_{server.scheme}"
    postgres.database(name, *ROLES)
    postgres.run("GRANT same_alice TO same_bob")
    librarian, own, other = (postgres.url(name, role) for role in ROLES)
    empty = tmp_path / "empty"
    Postgres(empty, librarian).close()  # makes the tables
    with (
        closing(TeamLibrary(own, alice.folder)) as of_alice,
        closing(TeamLibrary(other, bob.folder)) as of_bob,
        closing(TeamLibrary(other, empty)) as elsewhere,
        closing(Library(alice.folder)) as first,
    ):
        share(alice.folder, of_alice)
        share(bob.folder, of_bob)
        expected = seen(first)
        assert [row.id for row in expected[0]] == [OPEN.header.id, SECOND.header.id]
        assert len(expected[1]) == 3
        for folder, shared in ((bob.folder, None), (empty, elsewhere), (bob.folder, of_bob)):
            with closing(Library(folder, shared=shared)) as library:
                assert seen(library) == expected
    with closing(Postgres(empty, other)) as database:
        assert database.ask("SELECT count(*) FROM sessions") == [(len(written),)]
