"""The indexer: the index follows the files and the live session, in the background, and never gets
in the way.
"""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from chat_loop.library import indexer as indexer_module
from chat_loop.library.file import FILE
from chat_loop.library.growth import Growth
from chat_loop.library.index import Index
from chat_loop.library.indexer import Indexer
from chat_loop.library.library import Library
from chat_loop.library.refresh import grown
from chat_loop.library.stale import stale
from chat_loop.sessions import partial
from chat_loop.sessions.live import LiveSession
from chat_loop.sessions.manager import SessionManager
from chat_loop.sessions.partial import newest_first
from chat_loop.sessions.records import (
    Entry,
    Name,
    Query,
    Reply,
    Seal,
    Session,
    Summary,
    Tag,
    Undo,
    Untag,
)
from chat_loop.sessions.writer import render
from chat_loop.values import Usage
from tests.shelves import START, session, write
from tests.test_library_index import contents, fill, held, up_to_date

NOW = datetime(2026, 6, 1, 12, 30, tzinfo=UTC)
PATIENCE = 20.0


@contextmanager
def indexer(folder: Path) -> Iterator[Indexer]:
    made = Indexer(folder, lambda: NOW)
    try:
        yield made
    finally:
        made.close()
        thread = made._thread
        if thread is not None:
            thread.join(PATIENCE)
            assert not thread.is_alive()


def known(folder: Path) -> set[str]:
    with closing(Index(folder)) as index:
        return set(index.known())


def is_current(folder: Path) -> bool:
    """Whether the index knows every file as it is."""
    with closing(Index(folder)) as index:
        return not stale(index.known(), newest_first(folder))


def live(folder: Path) -> LiveSession:
    return SessionManager(folder, now=lambda: START).begin(agent="Sally")


def say(session: LiveSession, text: str = "What is bread?") -> None:
    number = session.next_number
    at = START + timedelta(minutes=number)
    session.add(Query(number=number, at=at, text=text))
    session.add(
        Reply(number=number, at=at, text=f"Reply {number}.", usage=Usage(input=9, output=1))
    )


def same_as_from_the_file(folder: Path) -> None:
    """What was noted is what reading the files gives."""
    with closing(Index(folder)) as index:
        assert not stale(index.known(), newest_first(folder))
        found = contents(index)
    (folder / FILE).unlink()
    with closing(up_to_date(folder)) as index:
        assert found == contents(index)


def test_it_reads_what_the_index_does_not_know(tmp_path: Path) -> None:
    fill(tmp_path, 50)
    with indexer(tmp_path) as kept:
        kept.start()
        assert kept.wait(PATIENCE)
        assert kept.trouble == ""
    same_as_from_the_file(tmp_path)
    (tmp_path / "s07.md").unlink()
    with indexer(tmp_path) as kept:
        kept.start()
        assert kept.wait(PATIENCE)
    assert len(known(tmp_path)) == 49


def test_the_newest_files_come_first(tmp_path: Path) -> None:
    fill(tmp_path, 50)
    seen: list[set[str]] = []
    with pytest.MonkeyPatch.context() as patch, indexer(tmp_path) as kept:
        patch.setattr(indexer_module, "BATCH_FILES", 10)
        patch.setattr(Indexer, "_pause", lambda self: seen.append(set(self._opened().known())))
        kept.start()
        assert kept.wait(PATIENCE)
    assert [sorted(ids)[0] for ids in seen] == ["s40", "s30", "s20", "s10", "s00"]


def test_a_folder_that_is_not_there_stays_so(tmp_path: Path) -> None:
    with indexer(tmp_path / "none") as kept:
        kept.start()
        assert kept.wait(PATIENCE)
        assert kept.trouble == ""
    assert not (tmp_path / "none").exists()


def test_a_live_session_is_followed(tmp_path: Path) -> None:
    with indexer(tmp_path) as kept:
        kept.start()
        chat = live(tmp_path)
        for number in range(5):
            say(chat, f"Question {number}")
            if number == 2:
                chat.add(Undo(number=3, at=START))
                chat.add(Name(at=START, text="Bread"))
                chat.add(Tag(at=START, text="food"))
            kept.note(chat.session, chat.path)
            assert kept.wait(PATIENCE)
            assert is_current(tmp_path)
        with closing(Index(tmp_path)) as index:
            assert index.ask("SELECT position, number, query FROM exchanges ORDER BY position") == [
                (1, 1, "Question 0"),
                (2, 2, "Question 1"),
                (3, 4, "Question 3"),
                (4, 5, "Question 4"),
            ]
            row = index.rows([chat.header.id])[chat.header.id]
        assert (row.name, row.tags, row.queries, row.tokens, row.state) == (
            "Bread",
            ("food",),
            5,
            50,
            "unsealed",
        )
        chat.seal(
            Seal(
                at=START,
                reason="exit",
                source="model",
                summary=Summary(topics=("Bread [1]",)),
                covers=2,
            )
        )
        kept.note(chat.session, chat.path, sealed=True)
        assert kept.wait(PATIENCE)
        chat.close()
    with closing(Index(tmp_path)) as index:
        assert index.rows([chat.header.id])[chat.header.id].state == "sealed"
        assert index.ask("SELECT first, last FROM message_summaries") == [(1, 2)]
        assert index.ask("SELECT number FROM exchanges WHERE archived") == [(1,), (2,)]
    same_as_from_the_file(tmp_path)


def test_a_crash_between_two_notes_is_repaired(tmp_path: Path) -> None:
    chat = live(tmp_path)
    say(chat)
    with indexer(tmp_path) as kept:
        kept.start()
        kept.note(chat.session, chat.path)
        assert kept.wait(PATIENCE)
    say(chat)
    chat.close()
    assert not is_current(tmp_path)
    with indexer(tmp_path) as kept:
        kept.start()
        assert kept.wait(PATIENCE)
    same_as_from_the_file(tmp_path)


def test_what_is_in_the_file_later_than_the_note_is_not_taken_for_known(tmp_path: Path) -> None:
    """The note has the file's size at that time, however late it is taken."""
    chat = live(tmp_path)
    say(chat)
    with indexer(tmp_path) as kept:
        kept.note(chat.session, chat.path)
        say(chat)
        kept.start()
        assert kept.wait(PATIENCE)
        with closing(Index(tmp_path)) as index:
            assert index.known()[chat.header.id].size != chat.path.stat().st_size or is_current(
                tmp_path
            )
    chat.close()
    shelf = Library(tmp_path, lambda: NOW)
    assert shelf.rows()[0][0].queries == 2
    shelf.close()


def test_notes_are_coalesced(tmp_path: Path) -> None:
    chat = live(tmp_path)
    with indexer(tmp_path) as kept:
        for _ in range(30):
            say(chat)
            kept.note(chat.session, chat.path)
        assert len(kept._notes) == 1
        kept.start()
        assert kept.wait(PATIENCE)
    chat.close()
    same_as_from_the_file(tmp_path)


def test_a_session_without_a_file_is_not_noted(tmp_path: Path) -> None:
    with indexer(tmp_path) as kept:
        kept.note(Session(header=live(tmp_path).header), tmp_path / "x.md")
        kept.start()
        assert kept.wait(PATIENCE)
    assert list(tmp_path.iterdir()) == []


@st.composite
def lives(draw: st.DrawFn) -> tuple[tuple[Entry, ...], list[int]]:
    """Entries in the order in which a live session gets them, and after how many of them it is
    noted.
    """
    entries: list[Entry] = []
    standing: list[int] = []
    number = 0
    for act in draw(
        st.lists(
            st.sampled_from(("ask", "ask", "reply", "undo", "name", "tag", "untag")), max_size=25
        )
    ):
        match act:
            case "ask":
                number += 1
                standing.append(number)
                entries.append(Query(number=number, at=START, text=f"Question {number}"))
            case "reply" if standing:
                entries.append(
                    Reply(number=standing[-1], at=START, text="So.", usage=Usage(input=3, output=1))
                )
            case "undo" if standing:
                entries.append(Undo(number=standing.pop(), at=START))
            case "name":
                entries.append(Name(at=START, text=draw(st.sampled_from(("", "A", "B")))))
            case "tag" | "untag":
                kind = Tag if act == "tag" else Untag
                entries.append(kind(at=START, text=draw(st.sampled_from(("a", "b", "c")))))
    notes = draw(st.lists(st.integers(0, len(entries)), max_size=6).map(sorted))
    return tuple(entries), [*notes, len(entries)]


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(lives())
def test_growing_gives_the_same_as_reading_whole(
    drawn: tuple[tuple[Entry, ...], list[int]],
) -> None:
    entries, notes = drawn
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        header = replace(session("a").header, tags=("b", "home"), name="Old")
        growth = Growth(header)
        with closing(Index(folder)) as index:
            for count in notes:
                part = Session(header=header, entries=entries[:count])
                path = write(folder, render(part), count, part.header.id)
                status = path.stat()
                assert growth.goes_on(part)
                grown(index, growth, part, path, status.st_size, status.st_mtime_ns)
                row = index.rows(["a"])["a"]
                assert row == partial.row(path)
        same_as_from_the_file(folder)


def test_another_session_under_the_same_name_is_read_anew(tmp_path: Path) -> None:
    with indexer(tmp_path) as kept:
        kept.start()
        for made in (session("a", 5), session("a", 2), session("a", 8)):
            kept.note(made, write(tmp_path, render(made), len(made.entries), made.header.id))
            assert kept.wait(PATIENCE)
    same_as_from_the_file(tmp_path)


# What goes wrong.


def test_a_damaged_index_is_made_anew(tmp_path: Path) -> None:
    fill(tmp_path)
    (tmp_path / FILE).write_bytes(b"garbage")
    with indexer(tmp_path) as kept:
        kept.start()
        assert kept.wait(PATIENCE)
        assert kept.trouble == (
            "The index was damaged: it is kept as .index-damaged-20260601-123000.sqlite, and "
            "a new one is made from "
            "the sessions."
        )
    same_as_from_the_file(tmp_path)


def test_an_index_that_is_damaged_meanwhile(tmp_path: Path) -> None:
    fill(tmp_path)
    chat = live(tmp_path)
    with indexer(tmp_path) as kept:
        kept.start()
        assert kept.wait(PATIENCE)
        with closing(sqlite3.connect(tmp_path / FILE)) as database:
            database.execute("DROP TABLE exchanges")
        say(chat)
        kept.note(chat.session, chat.path)
        assert kept.wait(PATIENCE)
        assert kept.trouble.startswith("The index was damaged")
    chat.close()
    same_as_from_the_file(tmp_path)


def test_a_locked_index_is_tried_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(indexer_module, "AGAIN_SECONDS", 0.2)
    fill(tmp_path)
    up_to_date(tmp_path).close()
    chat = live(tmp_path)
    with indexer(tmp_path) as kept:
        with held(tmp_path, "EXCLUSIVE"):
            kept.start()
            say(chat)
            kept.note(chat.session, chat.path)
            assert not kept.wait(1.0)
            assert (
                kept.trouble
                == f"The index {tmp_path / FILE} cannot be used now: another process is writing "
                "to it."
            )
        assert kept.wait(PATIENCE)
        assert kept.trouble == ""
    chat.close()
    same_as_from_the_file(tmp_path)


def test_an_index_that_cannot_be_made(tmp_path: Path) -> None:
    fill(tmp_path)
    (tmp_path / FILE).mkdir()
    with indexer(tmp_path) as kept:
        kept.start()
        while not kept.trouble:
            assert not kept.wait(0.01)
        assert (
            kept.trouble == f"The index {tmp_path / FILE} is not a regular file: it is left alone."
        )


def test_it_stops_at_once(tmp_path: Path) -> None:
    fill(tmp_path, 300)
    kept = Indexer(tmp_path, lambda: NOW)
    kept.start()
    while not (tmp_path / FILE).exists():
        assert not kept.wait(0.001)
    started = time.monotonic()
    kept.close()
    assert time.monotonic() - started < 1
    kept.start()
    kept.note(session("a"), tmp_path / "s01.md")
    thread = kept._thread
    assert thread is not None
    thread.join(PATIENCE)
    assert not thread.is_alive()
    assert len(known(tmp_path)) < 300


def test_a_note_is_taken_before_the_other_files(tmp_path: Path) -> None:
    fill(tmp_path, 60)
    chat = live(tmp_path)
    seen: list[tuple[int, int]] = []
    with pytest.MonkeyPatch.context() as patch, indexer(tmp_path) as kept:

        def pause(self: Indexer) -> None:
            if not seen:
                say(chat)
                kept.note(chat.session, chat.path)
            found = self._opened().known()
            seen.append((len(found), chat.header.id in found))

        patch.setattr(indexer_module, "BATCH_FILES", 10)
        patch.setattr(Indexer, "_pause", pause)
        kept.start()
        assert kept.wait(PATIENCE)
    chat.close()
    assert seen == [(10, False), (21, True), (31, True), (41, True), (51, True), (61, True)]


def test_what_was_noted_before_the_end_is_taken(tmp_path: Path) -> None:
    chat = live(tmp_path)
    with indexer(tmp_path) as kept:
        kept.start()
        assert kept.wait(PATIENCE)
        say(chat)
        kept.note(chat.session, chat.path)
    chat.close()
    assert is_current(tmp_path)


def test_an_indexer_that_was_never_started_does_nothing(tmp_path: Path) -> None:
    fill(tmp_path)
    with indexer(tmp_path) as kept:
        kept.note(session("s01"), tmp_path / "s01.md")
    assert not (tmp_path / FILE).exists()
    assert all(thread.name != "indexer" for thread in threading.enumerate())


def test_further_work_is_done_when_all_files_are_in(tmp_path: Path) -> None:
    fill(tmp_path)
    told: list[int] = []

    def job(index: Index) -> bool:
        told.append(len(index.known()))
        return len(told) < 3

    kept = Indexer(tmp_path, lambda: NOW, [job])
    kept.start()
    assert kept.wait(PATIENCE)
    kept.close()
    assert told == [12, 12, 12]


def test_the_program_keeps_the_index_up(tmp_path: Path) -> None:
    """A whole run through pipes; the session's exchanges are in the index while it lives, its seal
    after the next.
    """
    folder = tmp_path / "home" / "sessions"
    chat = subprocess.Popen(
        [sys.executable, "-m", "chat_loop", "--model", "scripted:echo"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, "HOME": str(tmp_path), "CHAT_LOOP_HOME": str(tmp_path / "home")},
        text=True,
    )
    assert chat.stdin is not None
    for number in (1, 2):
        chat.stdin.write(f"Question {number}\n")
        chat.stdin.flush()
        deadline = time.monotonic() + PATIENCE
        while not (folder / FILE).exists() or answers(folder) < number:
            assert time.monotonic() < deadline
    chat.communicate("exit\n", timeout=PATIENCE)
    assert chat.returncode == 0
    with indexer(folder) as kept:
        kept.start()
        assert kept.wait(PATIENCE)
        assert kept.trouble == ""
    same_as_from_the_file(folder)
    shelf = Library(folder, lambda: NOW)
    assert [(row.state, row.queries, row.name) for row in shelf.rows()[0]] == [
        ("sealed", 2, "Question 1")
    ]
    shelf.close()


def answers(folder: Path) -> int:
    with closing(Index(folder, busy=PATIENCE)) as index:
        return int(index.ask("SELECT count(*) FROM exchanges WHERE reply != ''")[0][0])
