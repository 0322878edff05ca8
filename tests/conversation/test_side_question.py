"""A question beside the conversation: it has the whole context, and nothing later has it."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from msgspec.structs import replace

from chat_loop.errors import ProviderError, UsageError
from chat_loop.sessions.parser import parse
from chat_loop.sessions.records import Aside, AsideReply, Reply, Session
from chat_loop.values import Usage
from tests.support.screens import Screen
from tests.support.scripted_chat import QUIET, SUMMARY, Says, Step, Talk

ANSWER = Says(("It is ", "5544."), usage=Usage(input=70, output=5))
QUESTION = "Which port was it?"


def saved(talk: Talk) -> Session:
    session = parse(talk.path.read_bytes()).session
    assert session is not None
    return session


def asides(session: Session) -> list[tuple[str, str]]:
    return [
        (type(entry).__name__, entry.text)
        for entry in session.entries
        if isinstance(entry, Aside | AsideReply)
    ]


def test_it_has_the_context_and_no_later_request_or_summary_has_it(tmp_path: Path) -> None:
    talk = Talk(tmp_path, "Fine.", ANSWER, "Good.", SUMMARY, "Well.", options=QUIET)
    conversation = talk.conversation

    async def work() -> AsideReply:
        await conversation.ask("We test on port 5544.")
        reply = await conversation.beside(QUESTION)
        await conversation.ask("Go on.")
        return reply

    reply = asyncio.run(work())
    assert (reply.text, reply.stop, reply.usage) == ("It is 5544.", "end", ANSWER.usage)
    _, beside, later = (request.messages for request in talk.model.requests)
    assert [message.text for message in beside[:2]] == ["We test on port 5544.", "Fine."]
    assert beside[2].text.endswith(f"\n\n{QUESTION}")
    assert [message.text for message in later] == ["We test on port 5544.", "Fine.", "Go on."]
    session = saved(talk)
    assert session == talk.conversation.session
    assert asides(session) == [("Aside", QUESTION), ("AsideReply", "It is 5544.")]
    assert session.totals.session == Usage(input=270, output=25)

    async def compact() -> None:
        await conversation.compact()
        await conversation.ask("And now?")

    asyncio.run(compact())
    assert all(QUESTION not in message.text for message in talk.model.requests[-2].messages)
    assert all(QUESTION not in message.text for message in talk.model.requests[-1].messages)


def test_it_is_asked_during_a_reply_and_written_behind_it(tmp_path: Path) -> None:
    talk = Talk(tmp_path, Says(("The port ", "is"), "silence"), ANSWER, "Good.", options=QUIET)
    conversation = talk.conversation

    async def work() -> None:
        asked = asyncio.ensure_future(conversation.ask("We test on port 5544."))
        await talk.model.silent.wait()
        await conversation.beside(QUESTION)
        assert QUESTION not in talk.text
        asked.cancel()
        await asyncio.wait({asked})
        await conversation.ask("Go on.")

    asyncio.run(work())
    texts = [message.text for message in talk.model.requests[1].messages]
    assert texts[:2] == ["We test on port 5544.", "The port is"]
    assert texts[2].endswith(QUESTION)
    session = saved(talk)
    kinds = [type(entry).__name__ for entry in session.entries]
    assert kinds == ["Query", "Reply", "Aside", "AsideReply", "Query", "Reply"]
    interrupted = session.entries[1]
    assert isinstance(interrupted, Reply)
    assert (interrupted.text, interrupted.stop) == ("The port is", "interrupted")


def test_a_draft_is_not_stale_because_of_it(tmp_path: Path) -> None:
    steps: list[Step] = [*["Fine."] * 8, SUMMARY, ANSWER]
    talk = Talk(tmp_path, *steps, options=QUIET)
    conversation = talk.conversation

    async def work() -> bool:
        for number in range(8):
            await conversation.ask(f"The mast of boat {number} has {number}.5 m.")
        draft = await conversation.draft()
        await conversation.beside(QUESTION)
        return await conversation.take(draft)

    before = talk.path
    assert asyncio.run(work())
    sealed = parse(before.read_bytes()).session
    assert sealed is not None
    assert sealed.seal is not None
    assert asides(sealed)[0] == ("Aside", QUESTION)


def test_what_arrived_or_was_paid_for_is_kept_and_a_failure_raised(tmp_path: Path) -> None:
    lost = Says(("It is",), ProviderError("The line was cut.", "Try again."))
    refused = ProviderError("No.", "Wait.")
    thought = Says(usage=Usage(input=70, output=30), thinking="A port?")
    stopped = Says(("It ", "was"), "silence")
    talk = Talk(tmp_path, "Fine.", lost, refused, thought, stopped, "Good.", options=QUIET)
    conversation = talk.conversation

    async def work() -> None:
        await conversation.ask("We test on port 5544.")
        for _ in range(3):
            with pytest.raises(ProviderError):
                await conversation.beside(QUESTION)
        asked = asyncio.ensure_future(conversation.beside(QUESTION))
        await talk.model.silent.wait()
        asked.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asked
        await conversation.ask("Go on.")

    asyncio.run(work())
    kept = [
        (entry.text, entry.stop, entry.usage)
        for entry in saved(talk).entries
        if isinstance(entry, AsideReply)
    ]
    assert [(text, stop) for text, stop, _ in kept] == [
        ("It is", "error"),
        ("", "error"),
        ("It was", "interrupted"),
    ]
    assert kept[1][2] == thought.usage
    assert [message.text for message in talk.sent[-1]] == [
        "We test on port 5544.",
        "Fine.",
        "Go on.",
    ]


async def test_an_agent_with_tools_of_its_own_is_not_asked(tmp_path: Path) -> None:
    """Nobody could keep it from acting on a question that counts for nothing."""
    talk = Talk(tmp_path, "Fine.", options=QUIET)
    await talk.conversation.ask("We test on port 5544.")
    talk.conversation.agent = replace(talk.conversation.agent, own_tools=True)
    with pytest.raises(UsageError, match="Sally has tools of its own"):
        await talk.conversation.beside(QUESTION)
    assert len(talk.sent) == 1
    assert asides(saved(talk)) == []


def test_the_command(tmp_path: Path) -> None:
    screen = Screen(tmp_path, ["Hello.", f"/btw {QUESTION}", "/btw"], "Hi.", ANSWER, options=QUIET)
    after = screen.text.partition(f"You: /btw {QUESTION}\n")[2]
    assert after.startswith(
        f"Beside the conversation: “{QUESTION}”\nIt is 5544.\nTime: 2.0s | Tokens: 75 (in: 70, "
    )
    assert "Usage: /btw QUESTION" in after
