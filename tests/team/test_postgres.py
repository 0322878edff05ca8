"""A team's library in PostgreSQL: who sees which sessions, two machines of one owner, and a server
that is down, not ready, or denies access.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from benchmarks.support.postgres_server import PostgresServer, temporary_server
from chat_loop.config import parse
from chat_loop.errors import ConfigError, IndexUnavailable, SessionError
from chat_loop.library.filters import SessionFilter
from chat_loop.library.indexer import Indexer
from chat_loop.library.library import Library
from chat_loop.library.refresh import share
from chat_loop.library.search import search_all
from chat_loop.library.semantic import SemanticIndex, available
from chat_loop.team.postgres import VERSION, Postgres
from chat_loop.team.team_library import TeamLibrary
from tests.support.engines import binaries_with_pgvector, require_server
from tests.support.index_tables import SEALED, fill, rows_of, up_to_date
from tests.support.session_folders import session, write

NUMBERS = itertools.count()
PATIENCE = 60.0
TABLES = "sessions", "exchanges", "sentences", "message_summaries", "vectors", "copies"


class Team:
    """A database, and the folders of its members."""

    def __init__(self, server: PostgresServer, top: Path) -> None:
        self.server, self.top = server, top
        self.name = f"team{next(NUMBERS)}"
        self.members = [f"{who}_{self.name}" for who in ("maker", "alice", "bob", "carol")]
        server.database(self.name, *self.members)
        with self.index("maker"):
            pass  # nobody is a member of the role that makes the tables

    def url(self, who: str, **password: str) -> str:
        return self.server.url(self.name, f"{who}_{self.name}", **password)

    def folder(self, name: str) -> Path:
        folder = self.top / name
        folder.mkdir(exist_ok=True)
        return folder

    @contextmanager
    def library(self, who: str, folder: str = "") -> Iterator[Library]:
        """Yield a library that shares what is in its folder now."""
        place = self.folder(folder or who)
        with closing(TeamLibrary(self.url(who), place)) as shared:
            share(place, shared)
            with closing(Library(place, thorough=True, shared=shared)) as library:
                yield library

    @contextmanager
    def index(self, who: str, folder: str = "") -> Iterator[Postgres]:
        with closing(Postgres(self.folder(folder or who), self.url(who))) as index:
            yield index

    def listed(self, who: str, folder: str = "") -> list[tuple[str, str]]:
        with self.library(who, folder) as library:
            (rows, _), warning = library.rows(fold=False)
            assert warning == ""
            return sorted((row.id, row.owner.partition("_")[0]) for row in rows)

    def grant(self, owner: str, to: str, verb: str = "GRANT {} TO {}") -> None:
        self.server.run(verb.format(f"{owner}_{self.name}", f"{to}_{self.name}"))


@pytest.fixture(name="team")
def _team(postgres: PostgresServer, tmp_path: Path) -> Team:
    return Team(postgres, tmp_path)


def found(library: Library, words: str) -> list[tuple[str, str]]:
    hits, _ = search_all(library, words, SessionFilter(), 5)
    return [(hit.row.id, hit.row.owner.partition("_")[0]) for hit in hits]


# Access.


def test_a_row_is_seen_by_its_owner_and_by_whom_the_owners_role_was_granted_to(team: Team) -> None:
    write(team.folder("alice"), session("plan", 2, text="The heron is blue."), 1)
    write(team.folder("bob"), session("notes", 1, text="The otter is brown."), 2)
    assert team.listed("alice") == [("plan", "")]
    assert team.listed("bob") == [("notes", "")]
    team.grant("alice", to="bob")
    assert team.listed("bob") == [("notes", ""), ("plan", "alice")]
    assert team.listed("alice") == [("plan", "")]
    assert team.listed("carol") == []
    with team.library("bob") as library:
        assert set(found(library, "heron")) == {("plan", "alice")}
        stored, _ = library.session("plan")
        assert stored is not None
        assert [one.query.text for one in stored.exchanges] == [
            "The heron is blue. (1)",
            "The heron is blue. (2)",
        ]
        assert library.session("nothing") == (None, "")
    with team.library("carol") as library:
        assert found(library, "heron otter") == []
    team.grant("bob", to="carol")  # a member of a member
    assert team.listed("carol") == [("notes", "bob"), ("plan", "alice")]
    team.grant("alice", to="bob", verb="REVOKE {} FROM {}")
    assert team.listed("carol") == [("notes", "bob")]


@pytest.mark.slow
def test_the_database_itself_guards_every_table(team: Team) -> None:
    """This includes statements that the program never makes, and the maker of the tables."""
    for who in ("alice", "bob"):
        fill(team.folder(who), 3)
        team.listed(who)
        with team.index(who) as index:
            bare = index.lacking(99)
            index.keep_vectors([(content, bytes(384)) for content in bare])
    with team.index("bob") as bob, team.index("maker") as maker:
        for table in TABLES:
            assert bob.ask(f"SELECT DISTINCT owner::text FROM {table}") == [(bob.owner,)]
            if table != "sentences":  # the words alone are open to the maker
                assert maker.ask(f"SELECT count(*) FROM {table}") == [(0,)]
    team.grant("alice", to="bob")
    word = "to_tsquery('chat_loop.words', 'monad')"
    for who, count in (("carol", 0), ("alice", 6), ("bob", 12)):  # the functions that see all words
        with team.index(who) as index:
            assert index.ask(f"SELECT holding({word}, 99)") == [(count,)]
            found = f"SELECT count(*) FROM matching(ARRAY[{word}], '{{1}}', NULL, 99)"
            assert index.ask(found) == [(count,)]
    with team.index("bob") as bob:
        for table in TABLES[:-1]:
            seen = bob.ask(f"SELECT count(DISTINCT owner) FROM {table}")
            assert seen == [(2,)]
            for change in (f"DELETE FROM {table}", f"UPDATE {table} SET owner = current_user"):
                bob.ask("BEGIN")
                bob.ask(f"{change} WHERE owner <> current_user")
                assert bob.ask(f"SELECT count(DISTINCT owner) FROM {table}") == [(2,)]
                bob.ask("ROLLBACK")
            with pytest.raises(IndexUnavailable, match="administrator has to allow"):
                bob.ask(f"UPDATE {table} SET owner = 'alice_{team.name}'")
        with pytest.raises(IndexUnavailable, match="administrator has to allow"):
            bob.ask("ALTER TABLE sessions DISABLE ROW LEVEL SECURITY")


def test_a_session_that_somebody_shares_is_stored_once(team: Team) -> None:
    for who in ("alice", "bob"):  # copied through an object store, with other times
        write(team.folder(who), session("plan", 2), 1 + len(who))
    assert team.listed("alice") == [("plan", "")]
    team.grant("alice", to="bob")
    assert team.listed("bob") == [("plan", "")]  # he has the file
    assert team.listed("bob", "elsewhere") == [("plan", "alice")]
    with team.index("bob") as index:
        assert index.ask("SELECT count(*) FROM sessions") == [(1,)]
        assert index.stale([]) == ([], {"plan"})
    team.grant("alice", to="bob", verb="REVOKE {} FROM {}")
    assert team.listed("bob") == [("plan", "")]  # from the file
    team.grant("alice", to="bob")
    write(team.folder("bob"), session("plan", 3), 9)
    assert team.listed("bob") == [("plan", "")]  # it was continued here
    with team.index("bob") as index:
        assert index.ask("SELECT count(*) FROM sessions") == [(2,)]
        assert index.rows(["plan"])["plan"].queries == 3


def test_a_conversation_that_two_people_went_on_with_is_one_row_and_its_hits_are_unique(
    team: Team,
) -> None:
    plan = session("plan", 2, text="The heron is blue.")
    write(team.folder("alice"), plan, 1)
    for made, changed in ((plan, 1), (session("next", 1, parent="plan", text="Herons?"), 2)):
        write(team.folder("bob"), made, changed)
    team.grant("bob", to="alice")
    assert team.listed("bob") == [("next", ""), ("plan", "")]
    with team.library("alice") as library:
        ([row], more), _ = library.rows()
        assert (row.id, row.owner.partition("_")[0], row.folded, row.queries) == (
            "next",
            "bob",
            1,
            3,
        )
        newest = library.newest(["plan"])
        assert (more, library.listed(), newest) == (0, (["next"], ""), (["next"], ""))
        hits, _ = search_all(library, "heron", SessionFilter(), 9)
        places = [(hit.row.id, hit.exchange.query.number) for hit in hits]
        assert sorted(places) == [("next", 1), ("plan", 1), ("plan", 2)]


def test_of_a_session_that_two_people_changed_the_newest_state_counts(team: Team) -> None:
    for changed, who in enumerate(("bob", "alice"), 1):
        write(team.folder(who), session("plan", changed), changed)
        team.listed(who)
        team.grant(who, to="carol")
    with team.index("carol") as index:
        page = index.family(["plan"])
    assert page.links["plan"].queries == 2


# Two machines of one owner.


@pytest.mark.slow
def test_what_another_machine_indexed_is_not_gone(team: Team) -> None:
    write(team.folder("laptop"), session("one", 1, text="The heron is blue."), 1)
    write(team.folder("server"), session("two", 1, text="The otter is brown."), 2)
    assert team.listed("alice", "laptop") == [("one", "")]
    for folder in ("server", "laptop", "server"):
        assert team.listed("alice", folder) == [("one", ""), ("two", "")]
    with team.library("alice", "server") as library:
        assert found(library, "heron") == [("one", "")]
    (team.folder("laptop") / "one.md").unlink()
    assert team.listed("alice", "server") == [("one", ""), ("two", "")]
    assert team.listed("alice", "laptop") == [("two", "")]


@pytest.mark.slow
def test_a_session_that_is_on_two_machines_is_gone_when_both_have_deleted_it(team: Team) -> None:
    for folder, changed in (("laptop", 1), ("server", 2)):
        write(team.folder(folder), session("one", 1), changed)
        team.listed("alice", folder)
    for folder in ("laptop", "server"):  # nothing is read again and again
        with team.library("alice", folder) as library:
            assert library.update_index() == 0
    (team.folder("laptop") / "one.md").unlink()
    assert team.listed("alice", "laptop") == [("one", "")]
    (team.folder("server") / "one.md").unlink()
    assert team.listed("alice", "server") == []


def test_erased_sessions_are_gone_from_all_folders(team: Team) -> None:
    for folder in ("laptop", "server"):
        write(team.folder(folder), session("one", 1, text="The code is heron."), 1)
        team.listed("alice", folder)
    (team.folder("laptop") / "one.md").unlink()
    with closing(TeamLibrary(team.url("alice"), team.folder("laptop"))) as shared:
        shared.erase(["one"])
    assert team.listed("alice", "laptop") == []
    with pytest.raises(SessionError, match="may still have the words"):
        TeamLibrary("postgresql:///x?host=/nowhere", team.top).erase(["one"])


# Very many sessions.


def test_a_page_is_the_same_whether_all_sessions_are_looked_at_or_few(
    team: Team, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(team.folder("alice"), 40)
    write(team.folder("alice"), session("lone", 1, text="Heron?"), 99)
    wanted = (None, SessionFilter(words="heron"), SessionFilter(words="#work"))

    team.listed("alice")

    def pages() -> list[object]:
        with team.library("alice", "elsewhere") as library:
            return [
                [library.rows(limit, wanted=one, fold=fold).value.rows for limit in (1, 3, 20)]
                for one in wanted
                for fold in (True, False)
            ] + [library.listed(), library.rows(5).value.more]

    expected = pages()
    monkeypatch.setattr("chat_loop.library.shared.ALL_AT_ONCE", 3)
    monkeypatch.setattr("chat_loop.library.shared.EXAMINED", 2)
    assert pages() == expected


@pytest.mark.slow
def test_sessions_that_several_owners_changed_do_not_end_a_page(
    team: Team, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("chat_loop.library.shared.EXAMINED", 2)
    for number in range(10):
        for who in ("alice", "bob"):
            write(team.folder(who), session(f"s{number}", 1, text=who), number)
    team.listed("alice")
    team.grant("alice", to="bob")
    with team.library("bob") as library:
        (rows, more), _ = library.rows(2)
        assert [row.id for row in rows] == ["s9", "s8"]
        assert more >= 8


@pytest.mark.slow
def test_a_damaged_session_of_the_database_is_reported(team: Team) -> None:
    write(team.folder("alice"), session("plan", 2), 1)
    team.listed("alice")
    team.server.run("UPDATE chat_loop.exchanges SET at = 'yesterday'", team.name)
    (team.folder("alice") / "plan.md").unlink()
    with team.library("alice", "elsewhere") as library:
        found, warning = library.session("plan")
        assert found is None
        assert "contains impossible values" in warning


# Meaning.


@pytest.mark.slow
@pytest.mark.skipif(not available(), reason="searching by meaning is not installed")
@pytest.mark.parametrize("has_pgvector", [False, True])
def test_what_is_said_in_other_words_is_found_with_the_vectors_of_another_machine(
    tmp_path: Path, has_pgvector: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    require_server(with_pgvector=has_pgvector)
    said = (
        "The heron catches fish in the pond.",
        "My car needs a new engine.",
        "How do I bake bread with yeast?",
    )
    with temporary_server(binaries_with_pgvector() if has_pgvector else None) as server:
        team = Team(server, tmp_path)
        monkeypatch.setattr("chat_loop.library.indexer.VECTORS", 1)
        if has_pgvector:
            server.run("CREATE EXTENSION vector", team.name)
        with team.index("maker") as index:
            found = index.ask("SELECT to_regclass('passages') IS NOT NULL")
            assert found == [(has_pgvector,)]
        for number, text in enumerate(said):
            sealed = session(f"s{number}", 1, text=text, seal=SEALED)
            write(team.folder("alice"), sealed, number)
        semantic = SemanticIndex()
        with closing(up_to_date(team.folder("alice"))) as local:
            while semantic.embed_batch(local):
                pass
        newer = session("newer", 1, text="This machine has no vectors of it.", seal=SEALED)
        write(team.folder("alice"), newer, len(said))
        with closing(TeamLibrary(team.url("alice"), team.folder("alice"))) as shared:
            indexer = Indexer(team.folder("alice"), shared=shared)
            indexer.start()
            assert indexer.idle.wait(PATIENCE)
            indexer.close()
        team.grant("alice", to="bob")
        for who, hits in (("alice", ["s2"]), ("bob", ["s2"]), ("carol", [])):
            with team.library(who) as library:
                related, _ = search_all(library, "a loaf", SessionFilter(), 5, semantic)
                assert [hit.row.id for hit in related if hit.related] == hits


# Servers that fail.


def sentence(url: str, folder: Path) -> str:
    """Return the message about a library that cannot be used. The list comes from the folder."""
    fill(folder, 3)
    shared = TeamLibrary(url, folder)
    with closing(Library(folder, thorough=True, shared=shared)) as library:
        rows, warning = rows_of(library)
        assert len(rows) == 1
        hits, later = search_all(library, "monad", SessionFilter(), 5)
        assert hits
        assert later == ""  # it is only reported once
        return warning


HIDDEN = "s3cret"


def test_a_server_that_does_not_answer_is_said_once(tmp_path: Path) -> None:
    text = sentence(f"postgresql://alice:{HIDDEN}@127.0.0.1:1/team", tmp_path)
    assert text.startswith("The library postgresql://127.0.0.1:1/team cannot be used now: ")
    assert text.endswith("This machine's own index is used.")
    assert HIDDEN not in text


@pytest.mark.parametrize("url", ["postgresql://a:s3cret@[::1/x", "postgresql://a:s3cret@h:p/x?y=z"])
def test_a_url_that_is_none(tmp_path: Path, url: str) -> None:
    text = sentence(url, tmp_path)
    assert "a URL that PostgreSQL does not understand" in text
    assert HIDDEN not in text


@pytest.mark.slow
def test_a_role_that_may_make_no_tables_is_told(team: Team, tmp_path: Path) -> None:
    team.server.run(f"CREATE DATABASE bare_{team.name}")
    url = team.server.url(f"bare_{team.name}", f"alice_{team.name}", password=HIDDEN)
    text = sentence(url, tmp_path / "here")
    assert "its administrator has to allow it (docs/team.md)" in text
    assert HIDDEN not in text


@pytest.mark.slow
def test_a_library_of_another_version(team: Team, tmp_path: Path) -> None:
    fill(team.folder("alice"), 3)
    fill(team.folder("bob"), 3)
    assert len(team.listed("alice")) == 3
    with team.index("maker") as index:
        index.ask("UPDATE version SET number = %s", (VERSION + 1,))
    assert "is of a newer version: update chat-loop" in sentence(team.url("bob"), tmp_path / "1")
    team.server.run(f"UPDATE chat_loop.version SET number = {VERSION - 1}", team.name)
    text = sentence(team.url("bob"), tmp_path / "2")
    assert f"is of an older version: maker_{team.name} updates it" in text
    assert team.listed("maker") == []  # it is created again, and everybody fills it again
    assert len(team.listed("alice")) == 3
    assert len(team.listed("bob")) == 3


@pytest.mark.slow
def test_a_library_in_another_encoding(postgres: PostgresServer, tmp_path: Path) -> None:
    make = "CREATE DATABASE latin ENCODING 'LATIN1' TEMPLATE template0 LC_COLLATE 'C' LC_CTYPE 'C'"
    postgres.run(make)
    assert "has the encoding LATIN1, not UTF8" in sentence(postgres.url("latin"), tmp_path)


@pytest.mark.slow
def test_a_library_that_takes_no_sessions_is_still_read(team: Team) -> None:
    write(team.folder("alice"), session("plan", 1), 1)
    team.listed("alice")
    team.grant("alice", to="bob")
    with team.index("maker") as index:
        index.ask("REVOKE INSERT ON chat_loop.sessions FROM PUBLIC")
    write(team.folder("bob"), session("own", 1), 2)
    with closing(TeamLibrary(team.url("bob"), team.folder("bob"))) as shared:
        with pytest.raises(IndexUnavailable, match="administrator has to allow"):
            share(team.folder("bob"), shared)
        with closing(Library(team.folder("bob"), shared=shared)) as library:
            (rows, _), warning = library.rows()
            assert ([row.id for row in rows], warning) == (["own", "plan"], "")


def test_a_connection_that_breaks_is_opened_again(team: Team) -> None:
    fill(team.folder("alice"), 3)
    with team.library("alice") as library:
        assert len(library.rows().value.rows) == 1
        team.server.run(
            f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{team.name}'"
        )
        (rows, _), warning = library.rows()
        assert len(rows) == 1
        assert "cannot be used now: terminating connection" in warning
        assert len(library.rows().value.rows) == 1


@pytest.mark.slow
def test_what_a_transcript_may_hold_can_be_stored(team: Team) -> None:
    text = "nul \x00 quote ' back \\ percent % %s 日本語 \U0001f600 " + "x" * 3_000 + " heron"
    write(team.folder("alice"), session("odd", 1, text=text), 1)
    assert team.listed("alice") == [("odd", "")]
    with team.library("alice") as library:
        for words in ("heron", "日本語", "back \\ ' quote", "percent %s"):
            assert found(library, words) == [("odd", "")]


# Settings.


def test_the_setting_takes_a_url_and_never_repeats_it() -> None:
    assert parse(b"library: postgresql://h/team", "c").library == "postgresql://h/team"
    with pytest.raises(ConfigError) as caught:
        parse(f"library: mysql://alice:{HIDDEN}@h/team".encode(), "c")
    assert (
        caught.value.message
        == "c, line 1: the top level: library must be postgresql://HOST/DATABASE."
    )
