"""The indexer updates the index from the files and the open session in the background, and never
blocks the program.
"""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import timedelta
from pathlib import Path
from queue import Queue

import pytest

from chat_loop.library import indexer as indexer_module
from chat_loop.library import library as library_module
from chat_loop.library import refresh as refresh_module
from chat_loop.library.index import FILE, Index
from chat_loop.library.indexer import Indexer
from chat_loop.sessions.live import LiveSession
from chat_loop.sessions.manager import SessionManager
from chat_loop.sessions.records import Query, Reply, Seal, Summary
from chat_loop.sessions.rows import newest_first
from chat_loop.values import Usage
from tests.support.headless import run
from tests.support.index_tables import contents, fill, held, up_to_date
from tests.support.session_folders import START, session, write

PATIENCE = 60.0


@contextmanager
def indexer(folder: Path) -> Iterator[Indexer]:
    made = Indexer(folder)
    try:
        yield made
    finally:
        made.close()
        thread = made._thread
        if thread.ident is not None:
            thread.join(PATIENCE)
            assert not thread.is_alive()


class Waits(threading.Event):
    """An event that tells how long the indexer waits for it, when a wait begins."""

    def __init__(self) -> None:
        super().__init__()
        self.begun: Queue[float | None] = Queue()

    def wait(self, timeout: float | None = None) -> bool:
        self.begun.put(timeout)
        return super().wait(timeout)


def known(folder: Path) -> set[str]:
    with closing(Index(folder)) as index:
        return set(index.links())


def is_current(folder: Path) -> bool:
    """Return True when the index is up to date with every file."""
    with closing(Index(folder)) as index:
        return not any(index.stale(newest_first(folder)))


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
    """Check that the index is the same as one that is made from the files."""
    with closing(Index(folder)) as index:
        assert not any(index.stale(newest_first(folder)))
        found = contents(index)
    (folder / FILE).unlink()
    with closing(up_to_date(folder)) as index:
        assert found == contents(index)


def test_the_newest_files_come_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fill(tmp_path, 50)
    seen: list[set[str]] = []
    monkeypatch.setattr(refresh_module, "BATCH_FILES", 10)
    monkeypatch.setattr(library_module, "SOON_FILES", 10)
    monkeypatch.setattr(Indexer, "_pause", lambda *_: seen.append(known(tmp_path)))
    with indexer(tmp_path) as kept:
        kept.start()
        assert kept.idle.wait(PATIENCE)
    assert [sorted(ids)[0] for ids in seen] == ["s40", "s30", "s20", "s10", "s00"]


def test_a_folder_that_is_not_there_stays_so(tmp_path: Path) -> None:
    with indexer(tmp_path / "none") as kept:
        kept.start()
        assert kept.idle.wait(PATIENCE)
    assert not (tmp_path / "none").exists()


def test_what_changed_is_read_when_it_is_woken(tmp_path: Path) -> None:
    with indexer(tmp_path) as kept:
        kept.start()
        chat = live(tmp_path)
        say(chat)
        say(chat)
        kept.wake()
        assert kept.idle.wait(PATIENCE)
        assert is_current(tmp_path)
        with closing(Index(tmp_path)) as index:
            assert index.rows([chat.header.id])[chat.header.id].state == "unsealed"
        summary = Summary(topics=("Bread [1]",))
        chat.seal(Seal(at=START, reason="exit", source="model", summary=summary, covers=1))
        kept.wake()
        assert kept.idle.wait(PATIENCE)
        chat.close()
    with closing(Index(tmp_path)) as index:
        assert index.rows([chat.header.id])[chat.header.id].state == "sealed"
        assert index.ask("SELECT last FROM message_summaries") == [(1,)]
        assert index.ask("SELECT number FROM exchanges WHERE archived") == [(1,)]
    same_as_from_the_file(tmp_path)


# Failures.


def test_an_index_that_is_damaged_again_and_again_is_left_for_a_while(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(tmp_path)
    tried: list[int] = []

    def damaged(self: Index, there: object, *, texts: bool) -> None:
        tried.append(1)
        raise self.damage()

    monkeypatch.setattr(Index, "stale", damaged)
    with indexer(tmp_path) as kept:
        waits = kept._wake = Waits()
        kept.start()
        assert waits.begun.get(timeout=PATIENCE) == indexer_module.AGAIN_SECONDS
        assert not kept.idle.is_set()
        assert len(tried) == 2


@pytest.mark.slow
def test_a_locked_index_is_tried_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(indexer_module, "AGAIN_SECONDS", 0.2)
    fill(tmp_path)
    up_to_date(tmp_path).close()
    write(tmp_path, session("new"), 99)
    with indexer(tmp_path) as kept:
        waits = kept._wake = Waits()
        with held(tmp_path, "EXCLUSIVE"):
            kept.start()
            assert waits.begun.get(timeout=PATIENCE) == 0.2
            assert not kept.idle.is_set()
        assert kept.idle.wait(PATIENCE)
    same_as_from_the_file(tmp_path)


def test_it_stops_between_two_transactions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fill(tmp_path, 300)
    between, closed = threading.Event(), threading.Event()
    pause = Indexer._pause

    def held_pause(self: Indexer, done: float, of: int) -> None:
        between.set()
        assert closed.wait(PATIENCE)
        pause(self, done, of)

    monkeypatch.setattr(Indexer, "_pause", held_pause)
    kept = Indexer(tmp_path)
    kept.start()
    assert between.wait(PATIENCE)
    kept.close()
    kept.start()
    kept.wake()
    closed.set()
    kept._thread.join(PATIENCE)
    assert not kept._thread.is_alive()
    assert 0 < len(known(tmp_path)) < 300


def test_an_indexer_that_was_never_started_does_nothing(tmp_path: Path) -> None:
    fill(tmp_path)
    with indexer(tmp_path) as kept:
        kept.wake()
    assert not (tmp_path / FILE).exists()
    assert kept._thread.ident is None


def test_a_search_finds_what_was_just_said(tmp_path: Path) -> None:
    """The real program finds it, in the running chat and in another process."""
    keys = {"COLUMNS": "200"}
    stdin = b"The gateway listens on port 5432.\n/search gateway port\nexit\n"
    shown = run(tmp_path, "--model", "scripted:echo", stdin=stdin, keys=keys).stdout.decode()
    assert "· 1.1" in shown.partition("/search gateway")[2]
    assert "No matches" not in shown
    found = run(tmp_path, "sessions", "search", "gateway port", "--text")
    assert b"port 5432" in found.stdout
    same_as_from_the_file(tmp_path / "sessions")


def test_the_thread_does_not_import_what_plugins_import_at_the_same_time() -> None:
    """Two threads that import `importlib.resources` and `importlib.metadata` for the first time at
    once can deadlock. Python 3.11 then raises an error in one of them.
    """
    code = """
import sys
import msgspec
before = {name for name in sys.modules if name.startswith("importlib.resources")}
from chat_loop.library import index, refresh
print(sorted({name for name in sys.modules if name.startswith("importlib.resources")} - before))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
