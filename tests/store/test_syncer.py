"""The thread of a chat: messages go to the store in the background, and a problem is reported once."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from queue import Queue
from threading import Event

import pytest

from chat_loop.sessions.mirror import SyncReport
from chat_loop.sessions.records import Query
from chat_loop.store.syncer import BackgroundSync
from tests.support.ports import answering
from tests.support.saved_sessions import FIRST, OPEN, at
from tests.support.shared_sessions import Machine
from tests.support.store_servers import StoreServer

pytestmark = pytest.mark.slow

PATIENCE = 60.0
Told = Queue[tuple[str, str]]


class Runs:
    """Synchronizes, and counts the attempts, failed ones as well."""

    def __init__(self, machine: Machine) -> None:
        self._mirror = machine.mirror
        self.begun = Event()
        self.ended: Queue[None] = Queue()

    def __call__(self, *, both_ways: bool) -> SyncReport:
        self.begun.set()
        try:
            return self._mirror.sync(both_ways=both_ways)
        finally:
            self.ended.put(None)

    def until(self, is_so: Callable[[], bool]) -> None:
        """Wait until `is_so` returns True after a synchronization."""
        while not is_so():
            self.ended.get(timeout=PATIENCE)


@contextmanager
def syncing(runs: Runs) -> Iterator[tuple[BackgroundSync, Told]]:
    told = Told()
    background = BackgroundSync(runs, lambda *words: told.put(words), pause=0.01, retry=0.05)
    background.start()
    try:
        yield background, told
    finally:
        background.close()
        background._thread.join(PATIENCE)
        assert not background._thread.is_alive()


def test_what_is_said_goes_to_the_store_and_what_is_there_comes(
    machine: Callable[[str], Machine], server: StoreServer, prefix: str, url: str
) -> None:
    here, there = machine("here"), machine("there")
    there.put(FIRST)
    there.sync()
    runs = Runs(here)
    with syncing(runs) as (syncer, told):
        live = here.sessions.begin(agent="Sally")
        for number in (1, 2, 3):
            live.add(Query(number=number, at=at(11, 21, number), text=f"Question {number}?"))
            syncer.wake()
            data = live.path.read_bytes()
            runs.until(lambda: data in server.objects(prefix).values())  # noqa: B023
        live.close()
        runs.until(lambda: FIRST.header.id in here.said())
    assert not syncer.is_behind
    assert told.empty()


def test_a_store_that_is_away_is_told_once_and_caught_up(
    machine: Callable[[str], Machine], server: StoreServer, prefix: str, url: str
) -> None:
    here = machine("here")
    path = here.put(OPEN)
    server.kill()
    with syncing(Runs(here)) as (syncer, told):
        message, hint = told.get(timeout=PATIENCE)
        assert message == f"{url} cannot be reached."
        assert hint == "Sessions are saved here and sent later; chat-loop sync tries."
        assert syncer.is_behind
        for _ in range(5):
            syncer.wake()
        server.start()
        assert told.get(timeout=PATIENCE) == ("The store works again.", "")
        assert not syncer.is_behind
    assert server.objects(prefix) == {path.name: path.read_bytes()}
    assert told.empty()


@pytest.mark.parametrize("server", ["s3"], indirect=True)
def test_a_server_that_does_not_answer_delays_no_exit(
    machine: Callable[[str], Machine], url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = machine("here")
    here.put(OPEN)
    with answering(None) as port:
        monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{port}")
        runs = Runs(here)
        syncer = BackgroundSync(runs, lambda *words: None)
        syncer.start()
        assert runs.begun.wait(PATIENCE)
        syncer.close()
        assert syncer._thread.is_alive(), "it still waits for the server"
    syncer._thread.join(PATIENCE)
    assert not syncer._thread.is_alive()


@pytest.mark.parametrize("server", ["s3"], indirect=True)
def test_a_disk_that_refuses_is_told(machine: Callable[[str], Machine], tmp_path: Path) -> None:
    here = machine("here")
    here.folder.write_text("This is no folder.")
    with syncing(Runs(here)) as (syncer, told):
        message, _ = told.get(timeout=PATIENCE)
        assert message == "The sessions cannot be synchronized: not a directory."
        assert syncer.is_behind
