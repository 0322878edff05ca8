"""A compaction works in a worker thread, so the event loop goes on, and Ctrl-C leaves everything
whole. Messages about a refusal and a resume are true.
"""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path

import pytest

from chat_loop.conversation.conversation_options import Options
from chat_loop.events import Compacted
from chat_loop.sessions.files import Files
from chat_loop.values import Window
from tests.support.scripted_chat import Says, Talk, words

GUARD_SECONDS = 60.0
"""The time that a worker waits for the event loop. It is only reached if the loop is blocked."""
LONG = "word " * 400
UNREPORTED = Says(("Yes.",), usage=None)
QUIET = Options(acknowledge=False, on_exit="later", attach_from_archive=False, use_ai_summary=False)


class Waiter:
    """Makes a worker wait until the event loop has proved that it runs."""

    def __init__(self) -> None:
        self.loop: asyncio.AbstractEventLoop | None = None
        self.waits = 0
        self.on_the_loop = 0

    def wait(self) -> None:
        if self.loop is None:
            return
        if threading.current_thread() is threading.main_thread():
            self.on_the_loop += 1
            return
        turned = threading.Event()
        self.loop.call_soon_threadsafe(turned.set)
        assert turned.wait(GUARD_SECONDS), "the event loop stands still"
        self.waits += 1


class WatchedFiles(Files):
    """Files that replace a transcript only while the event loop runs."""

    def __init__(self, waiter: Waiter) -> None:
        self._waiter = waiter

    def replace(self, path: Path, data: bytes) -> None:
        if path.suffix == ".md":
            self._waiter.wait()
        super().replace(path, data)


@pytest.mark.parametrize("asked", [True, False])
async def test_a_compaction_scans_and_writes_beside_the_event_loop(
    tmp_path: Path, asked: bool
) -> None:
    written, scanned = Waiter(), Waiter()
    talk = Talk(
        tmp_path,
        *[UNREPORTED] * 20,
        window=Window(8_000),
        options=QUIET,
        files=WatchedFiles(written),
    )

    def count(text: str) -> int:
        if scanned.waits < 3 and threading.current_thread() is not threading.main_thread():
            scanned.wait()
        return words(text)

    talk.conversation.count = count

    written.loop = scanned.loop = asyncio.get_running_loop()
    for number in range(1, 17):
        if asked and number == 10:
            break
        await talk.conversation.ask(f"{number} port {4000 + number} " + LONG)
    if asked:
        await talk.conversation.compact()
    assert any(isinstance(event, Compacted) for event in talk.events)
    written.loop = scanned.loop = None
    await talk.conversation.end()
    assert scanned.waits > 0
    assert (written.waits, written.on_the_loop) == (1, 0)


async def test_a_compaction_that_is_cancelled_while_it_writes_is_carried_out_whole(
    tmp_path: Path,
) -> None:
    talk = Talk(tmp_path, *["Yes."] * 9, options=QUIET)
    begun, go = threading.Event(), threading.Event()

    class Slow(Files):
        def replace(self, path: Path, data: bytes) -> None:
            if path.suffix == ".md":
                begun.set()
                assert go.wait(GUARD_SECONDS)
            super().replace(path, data)

    talk.sessions.files = Slow()
    conversation = talk.conversation

    await talk.conversation.leave("clear")  # the next session gets the slow files
    for number in range(1, 5):
        await conversation.ask(f"{number} " + LONG)
    first = conversation.live.header.id
    work = asyncio.ensure_future(conversation.compact())
    await asyncio.to_thread(begun.wait, GUARD_SECONDS)
    work.cancel()
    await asyncio.sleep(0)
    work.cancel()
    await asyncio.sleep(0)
    assert not work.done()
    go.set()
    with pytest.raises(asyncio.CancelledError):
        await work
    assert conversation.live.header.parent == first
    await conversation.ask("And then?")
    await conversation.end()
    sealed = talk.sessions.load(tmp_path / f"{first}.md").session
    assert sealed.seal is not None
    assert sealed.seal.reason == "compact"


async def test_a_query_is_kept_when_the_compaction_before_it_is_stopped(tmp_path: Path) -> None:
    talk = Talk(tmp_path, *[UNREPORTED] * 20, window=Window(8_000), options=QUIET)
    begun, go = threading.Event(), threading.Event()

    def count(text: str) -> int:
        if threading.current_thread() is not threading.main_thread():
            begun.set()
            assert go.wait(GUARD_SECONDS)
        return words(text)

    talk.conversation.count = count

    for number in range(1, 16):
        await talk.conversation.ask(f"{number} " + LONG)
    number = 16
    work = asyncio.ensure_future(talk.conversation.ask(f"{number} " + LONG))
    assert await asyncio.to_thread(begun.wait, GUARD_SECONDS)
    work.cancel()
    go.set()
    with pytest.raises(asyncio.CancelledError):
        await work
    talk.conversation.close()
    last = talk.conversation.session.exchanges[-1]
    assert last.query.text.startswith(f"{number} word")
    assert last.reply is not None
    assert (last.reply.stop, last.reply.failed) == ("interrupted", False)
    assert f"{number} word word" in talk.text
