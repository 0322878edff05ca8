"""A resume that is offline or stopped, and what it reads."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from chat_loop.conversation import continuing
from chat_loop.conversation.conversation_options import Options
from chat_loop.errors import Overloaded
from chat_loop.values import Window
from tests.support.scripted_chat import Clock, Says, Talk, names

MORE = tuple(f"And number {number}?" for number in range(2, 7))
"""With these queries as well, a session is too long to be carried word for word."""


def later(folder: Path, *steps: str | Says | Overloaded, options: Options | None = None) -> Talk:
    """Return a chat of the program, which is started again an hour or more later."""
    clock = Clock()
    clock.seconds = 3600 * (1 + len(names(folder)))
    return Talk(folder, *steps, clock=clock, options=options)


def unsealed(folder: Path, *queries: str) -> str:
    """Make a session whose process was killed, and return its id."""
    talk = Talk(folder, *(f"Answer {number}." for number, _ in enumerate(queries, 1)))

    async def run() -> None:
        for query in queries:
            await talk.conversation.ask(query)
        talk.conversation.close()

    asyncio.run(run())
    return talk.conversation.live.header.id


def test_offline_the_extract_stays_and_the_next_resume_tries_again(tmp_path: Path) -> None:
    before = unsealed(tmp_path, "My boat is 9.4 m long. Is that much?", *MORE)
    data = (tmp_path / f"{before}.md").read_bytes()
    talk = later(tmp_path, *[Overloaded("It is down.")] * 2)
    asyncio.run(talk.resume(before))
    assert len(talk.sent) == 2
    block = talk.conversation.context.parent_block
    assert block is not None
    assert block.topics[0] == "My boat is 9.4 m long. [1.1]"
    assert "My boat is 9.4 m long. [1 user]" in block.key_facts
    assert (tmp_path / f"{before}.md").read_bytes() == data


def test_a_resume_that_reads_a_long_session_can_be_stopped(tmp_path: Path) -> None:
    """A worker thread reads the words, and stopping it changes nothing."""
    first = Talk(tmp_path, "Good.", options=Options(on_exit="later"))
    asyncio.run(first.conversation.ask("Port 8080 is open at host-7. " * 2_000))
    first.conversation.close()
    before = {path: path.read_bytes() for path in tmp_path.glob("*.md")}
    options = Options(use_ai_summary=False)
    talk = Talk(tmp_path, options=options, window=Window(4_000), agent="Bob")

    async def stop() -> None:
        loaded = talk.sessions.load(first.path)
        resuming = asyncio.ensure_future(
            continuing.resume(talk.conversation.planning(), loaded, summary=True)
        )
        await asyncio.sleep(0)
        assert not resuming.done()
        resuming.cancel()
        with pytest.raises(asyncio.CancelledError):
            await resuming

    asyncio.run(stop())
    assert talk.conversation.live.is_empty
    assert {path: path.read_bytes() for path in tmp_path.glob("*.md")} == before
