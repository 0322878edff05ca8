"""Errors in the background reach the user, once, and nothing else ends with them."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path

import pytest

from chat_loop.errors import UsageError
from chat_loop.tasks import in_daemon_thread, report_bug
from tests.support.headless import ECHO, run, saved
from tests.support.injected_bugs import MESSAGE, bug

NEAR = "context: {max_history_tokens: 300}\nauto_compact: {summary_on_exit: later}\n"
"""A config with which the summary for the next compaction begins in the first few exchanges."""


@pytest.mark.parametrize(
    "target",
    [
        "chat_loop.conversation.summarizer:narrate",
        "chat_loop.context.ledger:read_ahead",
        "chat_loop.library.indexer:Indexer._embed",
    ],
    ids=["a task", "a thread that is awaited", "a thread"],
)
def test_a_bug_in_the_background_is_said_once_and_the_chat_goes_on(
    tmp_path: Path, target: str
) -> None:
    home = tmp_path / "home"
    (home / "sessions").mkdir(parents=True)
    (home / "config.yaml").write_text(NEAR)
    lines = "".join(f"number {number}: {'word ' * 60}\n" for number in range(6))
    done = run(home, *ECHO, stdin=lines.encode(), keys=bug(tmp_path / "code", target))
    text = done.stdout.decode()
    assert (done.returncode, done.stderr) == (0, b"")
    assert text.count(f"Something went wrong in chat-loop: TypeError: {MESSAGE}") == 1
    assert text.count(f"The rest goes on. The traceback is in {home / 'chat-loop.log'}.") == 1
    assert (home / "chat-loop.log").read_text().count("Traceback") == 1
    sessions = saved(home)
    assert len(sessions) > 1  # it was compacted
    assert all(session.seal for session in sessions)
    exchanges = [exchange for session in sessions for exchange in session.exchanges]
    assert len(exchanges) == 6
    assert all(exchange.reply and exchange.reply.text for exchange in exchanges)


def test_only_a_bug_is_reported() -> None:
    reported: list[object] = []

    async def failing(error: Exception) -> None:
        raise error

    async def main() -> None:
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(lambda loop, context: reported.append(context["exception"]))
        for error in (UsageError("wrong"), OSError("gone"), KeyError("bug")):
            task = loop.create_task(failing(error))
            task.add_done_callback(report_bug)
            await asyncio.wait({task})
        waiting = loop.create_task(asyncio.sleep(60))
        waiting.add_done_callback(report_bug)
        waiting.cancel()
        await asyncio.wait({waiting})

    asyncio.run(main())
    assert [type(error) for error in reported] == [KeyError]


def test_a_thread_returns_its_result_or_raises_its_error() -> None:
    def fail() -> None:
        raise KeyError("x")

    async def main() -> str:
        with pytest.raises(KeyError):
            await in_daemon_thread(fail)
        return await in_daemon_thread(lambda: threading.current_thread().name)

    assert asyncio.run(main()) == "work"
