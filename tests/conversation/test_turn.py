"""Turns of a conversation: the requests, the file at each moment, and the end of a session."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from chat_loop.conversation.options import Options
from chat_loop.errors import UsageError
from chat_loop.events import ReplyEnded, ThinkingDelta
from chat_loop.values import Message, Usage
from tests.support.scripted_chat import SUMMARY, Says, Talk, names, said


def test_compact_makes_the_next_request_smaller(tmp_path: Path) -> None:
    talk = Talk(tmp_path, "word " * 3000, SUMMARY, "Ready.", "Yes.")

    async def run() -> None:
        await talk.conversation.ask("Write 3,000 words")
        await talk.conversation.compact()
        await talk.conversation.ask("Still there?")

    asyncio.run(run())
    assert sum(len(message.text.split()) for message in talk.sent[-1]) < 200


def test_the_query_is_on_disk_before_the_request_leaves_and_the_reply_before_it_is_told(
    tmp_path: Path,
) -> None:
    talk = Talk(tmp_path, Says(("Hello ", "there"), then="silence"))

    async def run() -> None:
        work = asyncio.ensure_future(talk.conversation.ask("Hi"))
        await talk.model.silent.wait()
        assert talk.text.endswith(
            "**You:** Hi\n<!-- chat:end -->\n\n<!-- chat:reply n=1 -->\n**Sally:** Hello there"
        )
        work.cancel()
        await asyncio.gather(work, return_exceptions=True)

    asyncio.run(run())
    assert talk.text.endswith(
        "**Sally:** Hello there\n<!-- chat:end stop=interrupted -->\n\n*Time: 0.0s | Tokens: ~9 (in: 7, out: 2) | Interrupted*\n"
    )


def test_thinking_is_told_and_neither_saved_nor_sent_again(tmp_path: Path) -> None:
    talk = Talk(tmp_path, Says(("Four.",), thinking="two and two"), "Yes.")

    async def run() -> None:
        await talk.conversation.ask("2 + 2?")
        await talk.conversation.ask("Sure?")

    asyncio.run(run())
    assert ThinkingDelta("two and two") in talk.events
    assert "two and two" not in talk.text
    assert talk.sent[1] == said("2 + 2?", "Four.", "Sure?")


def test_a_reply_that_reported_no_usage_is_estimated(tmp_path: Path) -> None:
    talk = Talk(tmp_path, Says(("one two three",), usage=None))
    asyncio.run(talk.conversation.ask("count to three"))
    usage = Usage(
        input=2 + 3 + 4, output=3, estimated=True
    )  # system prompt, query, overhead of a message
    assert talk.events[-1] == ReplyEnded(number=1, stop="end", usage=usage, seconds=2.0)
    assert "*Time: 2.0s | Tokens: ~12 (in: 9, out: 3)*" in talk.text


def test_nothing_said_leaves_no_file_and_asks_nothing(tmp_path: Path) -> None:
    talk = Talk(tmp_path)
    asyncio.run(talk.conversation.end())
    asyncio.run(talk.conversation.leave("clear"))
    assert (names(tmp_path), talk.events, talk.sent) == ([], [], [])
    with pytest.raises(UsageError, match="nothing to compact"):
        asyncio.run(talk.conversation.compact())


def test_without_summary_on_exit_the_session_is_sealed_without_a_call(tmp_path: Path) -> None:
    talk = Talk(tmp_path, "Hello.", options=Options(on_exit="later"))

    async def run() -> None:
        await talk.conversation.ask("Hi")
        await talk.conversation.end()

    asyncio.run(run())
    assert len(talk.sent) == 1
    assert talk.text.endswith(
        "\n---\n\n*No summary*\n<!-- chat:sealed at=2026-11-21T22:30:17+01:00 reason=exit "
        "summary=none "
        "queries=1 tokens=110 -->\n"
    )


def test_clear_begins_a_session_that_knows_nothing(tmp_path: Path) -> None:
    talk = Talk(tmp_path, "Hello.", "Who?")

    async def run() -> None:
        await talk.conversation.ask("I am Bob")
        talk.conversation.pin("Bob")
        await talk.conversation.leave("clear")
        await talk.conversation.ask("Who am I?")

    asyncio.run(run())
    assert talk.sent[1] == said("Who am I?")
    assert talk.conversation.thread.pins == ()
    assert names(tmp_path) == ["sally_20261121_223015.md", "sally_20261121_223017.md"]
    assert "reason=clear" in (tmp_path / "sally_20261121_223015.md").read_text()


def test_the_newest_session_is_noted_as_the_current_one(tmp_path: Path) -> None:
    talk = Talk(tmp_path, "Hello.", SUMMARY, "Ready.")

    async def run() -> None:
        await talk.conversation.ask("Hi")
        await talk.conversation.compact()

    asyncio.run(run())
    assert talk.sessions.current() == talk.conversation.live.header.id == "sally_20261121_223019"


def test_a_pin_alone_is_a_session(tmp_path: Path) -> None:
    talk = Talk(tmp_path, "Noted.")
    talk.conversation.pin("Bob is 41")
    asyncio.run(talk.conversation.end())
    seal = talk.sessions.load(talk.path).session.seal
    assert seal is not None
    assert seal.summary is not None
    assert seal.summary.pinned == ("Bob is 41",)
    assert talk.sent == []


def test_messages_are_what_they_were_when_the_conversation_goes_on(tmp_path: Path) -> None:
    """Each request begins with the whole last request, so that the provider can cache it."""
    talk = Talk(tmp_path, "a", "b", SUMMARY, "Ready.", "c", "d")

    async def run() -> None:
        for query in ("1", "2"):
            await talk.conversation.ask(query)
        await talk.conversation.compact()
        for query in ("3", "4"):
            talk.clock.seconds += 3600
            await talk.conversation.ask(query)

    asyncio.run(run())
    chats: list[tuple[Message, ...]] = [talk.sent[index] for index in (0, 1, 3, 4, 5)]
    assert chats[1][:1] == chats[0]
    assert chats[3][:1] == chats[2]
    assert chats[4][:3] == chats[3]
