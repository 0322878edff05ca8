"""Listings are the same from the index and from the files: folded chains, pages, and filters,
whatever the folder contains.
"""

from __future__ import annotations

import os
import sqlite3
import tempfile
from collections.abc import Collection
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from chat_loop.errors import SessionError
from chat_loop.library import index as index_module
from chat_loop.library import library as library_module
from chat_loop.library.filters import SessionFilter
from chat_loop.library.index import FILE, Index
from chat_loop.library.library import Library
from chat_loop.sessions.records import Branch, Seal, Session, SessionRow, Summary
from chat_loop.sessions.rows import row_of, spoken_tokens
from tests.support.engines import open_library
from tests.support.session_folders import (
    FOREIGN,
    SECRET,
    START,
    Made,
    folders,
    names,
    session,
    sessions,
    write,
)

NOW = datetime(2026, 6, 1, tzinfo=UTC)
SEALED = Seal(at=START, reason="compact", source="model", summary=Summary(topics=("Monads [1]",)))


library = Library


def without_index(folder: Path) -> Library:
    """Return a library that has no index and cannot make one."""
    (folder / FILE).mkdir()
    return Library(folder)


def fill(folder: Path, files: Collection[Made], later: int = 0) -> None:
    for made in files:
        write(folder, made.data, made.changed + later, made.identity)


def ids(rows: list[SessionRow]) -> list[str]:
    return [row.id for row in rows]


def same(rows: list[SessionRow], folder: Path) -> list[SessionRow]:
    """Return rows as if they came from `folder`, without the values that only whole files give."""
    return [replace(row, folder=folder, spent=None, compaction="") for row in rows]


wanted = st.builds(
    SessionFilter,
    words=st.sampled_from(
        ("", "", "#work", "#late trip", "trip", "sally", "%", "_x\\", "s1", "home")
    ),
    agent=st.sampled_from(("", "", "sal")),
    project=st.sampled_from(("", "shop")),
    since=st.sampled_from((None, START)),
    before=st.sampled_from((None, NOW)),
)


@pytest.mark.usefixtures("engine")
@settings(suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture])
@given(
    folders(),
    st.sampled_from((None, 0, 1, 3, 20)),
    wanted,
    st.booleans(),
    st.sampled_from(("", "s0")),
    st.booleans(),
)
def test_an_index_and_two_libraries_and_the_files_give_equal_listings(
    files: tuple[Made, ...],
    limit: int | None,
    wanted: SessionFilter,
    fold: bool,
    here: str,
    everything: bool,
) -> None:
    with tempfile.TemporaryDirectory() as name:
        one, other = Path(name, "one"), Path(name, "other")
        for folder in (one, other):
            folder.mkdir()
            fill(folder, files)
        indexed, plain = open_library(one), without_index(other)
        if indexed.shared is not None:  # half of the files are in both
            fill(indexed.directory, files[::2])
        indexed.update_index()
        asked = {"wanted": wanted, "fold": fold, "here": here, "everything": everything}
        (rows, left), warning = indexed.rows(limit, **asked)  # type: ignore[arg-type]
        assert warning == ""
        (found, others), warning = plain.rows(limit, **asked)  # type: ignore[arg-type]
        assert bool(warning) == bool(files)
        assert (same(found, one), others) == (same(rows, one), left)
        known, _ = indexed.relatives([made.identity for made in files[:1]])
        links, _ = plain.links()
        assert list(known.items()) == list(links.items()) or indexed.shared is not None
        assert len(rows) + left <= len(files)
        indexed.close()
        plain.close()


@given(sessions("s1"), st.integers(1, 3))
def test_running_totals_are_those_of_a_session_that_ends_there(drawn: Session, number: int) -> None:
    assume(any(exchange.query.number > number for exchange in drawn.exchanges))
    totals = [one for one in drawn.running_totals(spoken_tokens) if one.number <= number][-1]
    end = row_of(drawn.up_to(number), Path("s1.md"))
    assert (totals.queries, totals.tokens) == (end.queries, end.tokens)
    assert (totals.said, totals.spent) == (end.said, end.spent)


@given(folders(), folders())
def test_what_the_index_knows_in_part_is_completed_from_the_files(
    before: tuple[Made, ...], after: tuple[Made, ...]
) -> None:
    """The index knows an older state of the folder, and too many files are new to read at once."""
    with tempfile.TemporaryDirectory() as name, pytest.MonkeyPatch.context() as patch:
        one, other = Path(name, "one"), Path(name, "other")
        one.mkdir()
        other.mkdir()
        fill(one, before)
        first = library(one)
        first.update_index()
        first.close()
        for made in before:
            (one / f"{made.identity}.md").unlink()
        for folder in (one, other):
            fill(folder, after, later=100)
        patch.setattr(library_module, "SOON_FILES", 0)
        late, plain = library(one), without_index(other)
        (rows, left), _ = late.rows()
        (found, others), _ = plain.rows()
        assert (same(found, one), others) == (same(rows, one), left)
        late.close()
        plain.close()


def chain(folder: Path) -> None:
    """Write the chain a, b, c, in which a was used after b; d is forked from b; e merges c and d; f
    is on its own.
    """
    write(folder, session("a", seal=SEALED), 40)
    write(folder, session("b", parent="a", seal=SEALED), 20)
    write(folder, session("c", parent="b"), 50)
    write(folder, session("d", parent="b", until="1.1"), 60)
    write(folder, session("f"), 55)


@pytest.mark.parametrize("make", [library, without_index])
def test_chains_are_folded_to_their_newest_session(tmp_path: Path, make: type[Library]) -> None:
    chain(tmp_path)
    shelf = make(tmp_path)
    (rows, left), _ = shelf.rows()
    assert [(row.id, row.folded, row.compactions) for row in rows] == [
        ("d", 2, 1),
        ("f", 0, 0),
        ("c", 2, 2),
    ]
    assert [row.queries for row in rows] == [3, 1, 3]
    words = "What is a monad? (1)"
    assert [row.branch for row in rows] == [Branch("1.1", words), None, Branch("2.1", words)]
    assert left == 0
    assert ids(shelf.rows(fold=False).value.rows) == ["d", "f", "c", "a", "b"]
    assert [row.id for row in shelf.rows(here="d").value.rows if row.current] == ["d"]
    assert shelf.rows(1).value.more == 2
    write(tmp_path, session("e", parent="c", merged="d"), 70)
    assert [(row.id, row.folded) for row in shelf.rows().value.rows] == [("e", 4), ("f", 0)]
    assert shelf.links().value["e"].parents == ("c", "d")
    shelf.close()


def test_sessions_that_name_each_other_as_parents_are_listed(tmp_path: Path) -> None:
    write(tmp_path, session("a", parent="b"), 1)
    write(tmp_path, session("b", parent="a"), 2)
    write(tmp_path, session("c", parent="c"), 3)
    shelf = library(tmp_path)
    assert [(row.id, row.folded) for row in shelf.rows().value.rows] == [("c", 0), ("b", 1)]
    shelf.close()


@pytest.mark.parametrize("make", [library, without_index])
def test_words_and_filters(tmp_path: Path, make: type[Library]) -> None:
    write(tmp_path, session("a", name="Trip to Oslo", tags=("travel",), project="/home/me/oslo"), 1)
    write(tmp_path, session("b", agent="Bot", text="Trip plans"), 2)
    write(tmp_path, session("c", text="Bread"), 3)
    shelf = make(tmp_path)

    def found(**asked: object) -> list[str]:
        wanted = SessionFilter(**asked)  # type: ignore[arg-type]
        return ids(shelf.rows(wanted=wanted).value.rows)

    assert found(words="TRIP") == ["b", "a"]
    assert found(words="trip oslo") == ["a"]
    assert found(words="#Travel") == ["a"]
    assert found(agent="bot") == ["b"]
    assert found(project="me/oslo") == ["a"]
    assert found(since=START.replace(year=2027)) == []
    assert found(words="100%") == []
    assert shelf.rows(1, wanted=SessionFilter(words="trip")).value.more == 1
    shelf.close()


def test_words_of_summaries_are_known_to_the_index(tmp_path: Path) -> None:
    write(tmp_path, session("a", seal=SEALED), 1)
    write(tmp_path, session("b"), 2)
    shelf = library(tmp_path)
    assert ids(shelf.rows(wanted=SessionFilter(words="monads")).value.rows) == ["a"]
    shelf.close()


@given(names)
def test_secrets_are_in_no_listing_and_not_in_the_index(called: str) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        made = session("a", text=f"My {SECRET}", name=called, project=f"/x/{SECRET}", seal=SEALED)
        write(folder, replace(made, header=replace(made.header, git_branch=f"fix {SECRET}")), 1)
        write(folder, session("b", text=f"My {SECRET}"), 2)
        shelf = library(folder)
        assert SECRET.split()[-1] not in repr(shelf.rows())
        shelf.close()
        assert SECRET.split()[-1].encode() not in (folder / FILE).read_bytes()


def test_files_of_every_kind_have_rows(tmp_path: Path) -> None:
    write(tmp_path, b"", 1, "empty")
    write(tmp_path, b"\x00" * 9, 2, "zeros")
    write(tmp_path, b"# A note\n", 3, "note")
    write(tmp_path, FOREIGN, 4, "plain")
    write(tmp_path, session("other", seal=SEALED), 5, "copy")
    write(tmp_path, session("other", seal=SEALED), 6, "other")
    write(tmp_path, b"<!-- chat:session v=1 id=x -->\n# T", 7, "torn")
    write(tmp_path, b"\n<!-- chat:query n=1 at=2026-01-01T00:00:00 -->\n", 2, "headless")
    (tmp_path / "link.md").symlink_to("/etc/hostname")
    os.utime(tmp_path / "link.md", (1, 1), follow_symlinks=False)
    (tmp_path / "folder.md").mkdir()
    os.utime(tmp_path / "folder.md", (2, 2))
    os.mkfifo(tmp_path / "pipe.md")
    os.utime(tmp_path / "pipe.md", (3, 3))
    (tmp_path / "no id!.md").write_text("x")
    shelf = library(tmp_path)
    (rows, left), warning = shelf.rows()
    assert [(row.id, row.state, row.queries) for row in rows] == [
        ("other", "sealed", 1),
        ("copy", "sealed", 1),
        ("plain", "plain", 1),
        ("zeros", "damaged", None),
        ("torn", "unsealed", 0),
        ("pipe", "foreign", None),
        ("note", "foreign", None),
        ("link", "foreign", None),
        ("headless", "damaged", None),
        ("folder", "foreign", None),
        ("empty", "empty", None),
    ]
    assert (left, warning) == (0, "")
    shelf.close()


def test_a_second_question_of_one_list_takes_the_files_as_they_were(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What comes meanwhile is in the next list. Many rows are read as few are."""
    monkeypatch.setattr(index_module, "MANY", 2)
    write(tmp_path, session("a"), 1)
    with closing(Library(tmp_path)) as shelf:
        files, misnamed = shelf.look()
        few = shelf.rows(files=files).value.rows
        write(tmp_path, session("b"), 2)
        assert (shelf.rows(files=files).value.rows, misnamed) == (few, [])
        many = shelf.rows().value.rows
    assert (ids(few), ids(many), many[1]) == (["a"], ["b", "a"], few[0])


def test_libraries_for_other_threads_use_the_index_that_earlier_ones_left(tmp_path: Path) -> None:
    write(tmp_path, session("a"), 1)

    def used(library: Library) -> Index:
        return library.ask(lambda index: index).value

    with closing(Library(tmp_path)) as first:
        with closing(first.beside()) as one, closing(first.beside()) as two:
            both = {used(one), used(two)}
        late = first.beside()
        again = used(late)
        assert len(both | {again, used(first)}) == 3
    late.close()
    for index in both:
        with pytest.raises(sqlite3.ProgrammingError):
            index.links()


def test_a_folder_that_is_not_there_or_cannot_be_read(tmp_path: Path) -> None:
    with closing(library(tmp_path / "none")) as missing:
        assert missing.rows() == (([], 0), "")
        assert missing.links() == ({}, "")
    assert not (tmp_path / "none").exists()
    (tmp_path / "file").write_text("x")
    with pytest.raises(
        SessionError, match=r"The sessions folder .*file cannot be read: not a directory\."
    ):
        library(tmp_path / "file").rows()
