"""The index is correct: a bug is not taken for damage, deleted text is gone, and a search that has
to wait says why.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from chat_loop.errors import IndexUnavailable, SessionError
from chat_loop.library.filters import SessionFilter
from chat_loop.library.index import FILE, Index
from chat_loop.library.indexed import Position
from chat_loop.library.library import Library
from chat_loop.library.search import search_all
from chat_loop.library.semantic import SemanticIndex, available
from tests.support.session_folders import session, write


@pytest.fixture(name="folder")
def _folder(tmp_path: Path) -> Path:
    for number in range(8):
        write(
            tmp_path,
            session(f"s{number}", 1 + number % 3, text=f"Tell me about wombat{number}."),
            number,
        )
    return tmp_path


@pytest.fixture(name="shelf")
def _shelf(folder: Path) -> Iterator[Library]:
    with closing(Library(folder)) as shelf:
        shelf.update_index()
        yield shelf


def hits(shelf: Library, words: str, semantic: SemanticIndex | None = None) -> list[str]:
    found, _ = search_all(shelf, words, SessionFilter(), 5, semantic=semantic)
    return [hit.row.id for hit in found]


# A bug in the program.


def test_a_bug_is_not_taken_for_a_damaged_index(folder: Path, shelf: Library) -> None:
    before = (folder / FILE).read_bytes()

    def wrong(index: Index) -> int:
        index.ask("SELECT 1")
        return int("x")

    for question in (
        wrong,
        lambda index: int("x"),
        lambda index: "1" + 1,  # type: ignore[operator]
        lambda index: int(float("inf")),
        lambda index: len(index.ask("SELEC")),
    ):
        with pytest.raises((ValueError, TypeError, OverflowError, sqlite3.Error)):
            shelf.ask(question)
    assert (folder / FILE).read_bytes() == before
    assert list(folder.glob(".index-*")) == []
    assert hits(shelf, "wombat3") == ["s3"]


@pytest.mark.parametrize(
    "change",
    [
        "at = 'soon'",
        "at = 5",
        "texts = x'07'",
        "texts = '[[1]]'",
        "texts = '[]'",
        "session = 'x'",
        "position = x'ff'",
    ],
)
def test_texts_and_numbers_that_nobody_wrote_are_damage(
    folder: Path, shelf: Library, change: str
) -> None:
    shelf.close()
    with closing(sqlite3.connect(folder / FILE)) as database:
        database.execute("DROP INDEX exchanges_place")
        database.execute(f"UPDATE exchanges SET {change}")
        database.commit()
    found, warning = search_all(shelf, "wombat3", SessionFilter(), 5)
    if change.startswith(("session", "position")):
        assert found == []
    else:
        assert [hit.row.id for hit in found] == ["s3"]
        assert warning.startswith("The index was damaged")


# Deleted text.


def stored(folder: Path) -> set[str]:
    """Return every word that the index contains."""
    with closing(Index(folder)) as index:
        index.ask("CREATE VIRTUAL TABLE temp.words USING fts5vocab (main, sentences, row)")
        return {word for (word,) in index.ask("SELECT term FROM temp.words")}


def test_words_of_sessions_that_are_gone_are_gone(folder: Path, shelf: Library) -> None:
    assert {"wombat1", "wombat4", "tell"} <= stored(folder)
    (folder / "s4.md").unlink()
    write(folder, session("s1", 2, text="Something else, please."), 50)
    shelf.update_index()
    words = stored(folder)
    assert not {"wombat1", "wombat4"} & words
    assert {"wombat3", "tell", "someth"} <= words
    assert hits(shelf, "wombat4") == hits(shelf, "wombat1") == []
    for path in folder.glob("*.md"):
        path.unlink()
    shelf.update_index()
    assert stored(folder) == set()


def test_words_that_are_cut_otherwise_than_when_they_were_stored_go_as_well(
    folder: Path, shelf: Library, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another version of the program or of Unicode splits and folds words differently."""
    monkeypatch.setattr("chat_loop.library.refresh.lines", lambda *texts: " ".join(texts).upper())
    (folder / "s4.md").unlink()
    write(folder, session("s1", 2, text="Something else, please."), 50)
    shelf.update_index()
    with closing(Index(folder)) as index:
        index.ask("INSERT INTO sentences (sentences) VALUES ('integrity-check')")
        for gone in ("wombat4", "wombat1"):
            assert index.ask("SELECT rowid FROM sentences WHERE sentences MATCH ?", (gone,)) == []
        assert index.ask("SELECT count(*) FROM sentences") == index.ask(
            "SELECT count(*) FROM exchanges"
        )


def embedded(index: Index) -> list[bytes]:
    """Give each exchange without a vector a zero vector. Return the contents that have a vector."""
    bare = "SELECT content FROM exchanges WHERE content NOT IN (SELECT content FROM vectors)"
    vector = bytes([1]) + bytes(383)
    index.keep_vectors([(content, vector) for (content,) in index.ask(bare)])
    return [content for (content,) in index.ask("SELECT content FROM vectors ORDER BY content")]


@pytest.mark.skipif(not available(), reason="searching by meaning is not installed")
def test_vectors_stay_with_their_texts(folder: Path, shelf: Library) -> None:
    """Unchanged texts are not embedded again, and deleted texts are not found."""
    semantic = SemanticIndex()

    def near() -> set[Position]:
        with closing(Index(folder)) as index:
            also = {(one, at) for one, at in index.ask("SELECT session, position FROM exchanges")}
            return set(semantic.near(index, "wombat", also))

    with closing(Index(folder)) as index:
        before = embedded(index)
    assert len(near()) >= len(before) > 0
    shelf.update_index(rebuild=True)
    write(folder, session("s3", 1, text="Something else, please."), 50)
    shelf.update_index()
    with closing(Index(folder)) as index:
        [(new,)] = index.ask(
            "SELECT e.session FROM exchanges e JOIN sessions s "
            "ON s.key = e.session WHERE s.id = 's3'"
        )
        kept = index.ask("SELECT content FROM vectors ORDER BY content")
        assert [content for (content,) in kept] == before
    assert new not in {one for one, _ in near()}
    (folder / "s3.md").unlink()
    (folder / "s4.md").unlink()
    shelf.update_index()
    with closing(Index(folder)) as index:
        assert set(embedded(index)) < set(before)


def test_a_vector_that_comes_late_belongs_to_nobody(folder: Path, shelf: Library) -> None:
    """An exchange is replaced by another one while it is being embedded."""
    with closing(Index(folder)) as index:
        [(content, identity)] = index.ask(
            "SELECT e.content, s.id FROM exchanges e JOIN sessions s ON s.key = e.session "
            "ORDER BY e.key DESC LIMIT 1"
        )
        write(folder, session(identity, 3, text="Something else, please."), 60)
        shelf.update_index()
        index.keep_vectors([(content, bytes(384))])
        assert index.ask("SELECT * FROM vectors") == []


# Several processes.


def test_an_index_that_is_replaced_again_and_again_is_waited_for(
    folder: Path, shelf: Library
) -> None:
    replaced: list[int] = []

    def question(times: int, index: Index) -> str:
        if len(replaced) < times:
            replaced.append(1)
            (folder / FILE).unlink()
            raise IndexUnavailable("The file has moved.", was_replaced=True)
        return "answered"

    assert shelf.ask(lambda index: question(3, index)).value == "answered"
    assert len(replaced) == 3
    with pytest.raises(SessionError) as caught:
        shelf.ask(lambda index: question(1_000, index))
    assert caught.value.message == (f"The index of {folder} is busy. Try again in a moment.")
