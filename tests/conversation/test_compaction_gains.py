"""Limits of compaction: none that saves nothing, no endless summary calls, and no block that leaves
no room for the query.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from msgspec.structs import replace

from benchmarks.support.loopback import Loopback, Received, Reply, failing
from benchmarks.support.loopback import talk as spoken
from chat_loop.agent.agent import Agent
from chat_loop.context.budget import Limits
from chat_loop.context.messages import shorten_block
from chat_loop.conversation.conversation import Conversation
from chat_loop.conversation.options import Options
from chat_loop.events import Compacted, Event
from chat_loop.providers.openai import OpenAIProvider
from chat_loop.sessions.manager import SessionManager
from chat_loop.sessions.records import Summary
from chat_loop.sessions.summary_block import parse, render
from chat_loop.tokens import estimate
from chat_loop.values import Usage, Window
from tests.support.providers import entry
from tests.support.screens import Line, Screen
from tests.support.scripted_chat import SUMMARY, Says, Step, Talk, names

QUIET = replace(Options(), acknowledge=False, on_exit="later", attach_from_archive=False)
ANSWER: Step = Says(("because",), usage=None)
SUMMED: Step = Says((SUMMARY,), usage=Usage(input=900, output=40))


def small(
    folder: Path, lines: list[Line], *steps: Step, answer: str = "n", asks: bool = True
) -> Screen:
    """Return the screen of a chat that has little to compact. `answer` is typed when the program
    asks whether to compact anyway.
    """

    return Screen(folder, lines, *steps, options=QUIET, compacts=answer, asks=asks)


@pytest.mark.parametrize("line", ["compact", "/compact boats", "/summarize"])
def test_a_typed_compaction_that_gains_nothing_asks_before_a_model_does(
    tmp_path: Path, line: str
) -> None:
    screen = small(tmp_path, ["Hi", line, "So?"], ANSWER, ANSWER)
    assert "\nNot compacted.\n" in screen.text
    assert len(screen.talk.sent) == 2, "no summary was asked for"
    assert len(names(tmp_path)) == 1
    again = small(tmp_path / "b", ["Hi", line, "So?"], ANSWER, SUMMED, ANSWER, answer="y")
    assert len(names(tmp_path / "b")) == 2
    assert "Compacted" in again.text or "Session Summary" in again.text


def test_where_nobody_can_be_asked_it_declines_with_a_sentence_or_is_forced(tmp_path: Path) -> None:
    screen = small(tmp_path, ["Hi", "compact", "So?"], ANSWER, ANSWER, asks=False)
    told = r"Not compacted: \d+ tokens now, about \d+ after\. /compact --force compacts anyway\."
    assert re.search(told, " ".join(screen.text.split()))
    assert len(names(tmp_path)) == 1
    forced = small(
        tmp_path / "b", ["Hi", "/compact --force", "So?"], ANSWER, SUMMED, ANSWER, asks=False
    )
    assert len(names(tmp_path / "b")) == 2
    assert "Not compacted" not in forced.text


def test_the_question_says_both_sizes(tmp_path: Path) -> None:
    asked: list[str] = []
    talk = Talk(tmp_path, ANSWER, options=QUIET)

    async def may(before: int, after: int) -> bool:
        asked.append(f"{before} {after}")
        return False

    async def run() -> None:
        await talk.conversation.ask("Hi")
        used = talk.conversation.budget.used
        assert not await talk.conversation.compact("", may)
        [sizes] = asked
        before, after = map(int, sizes.split())
        assert before == used
        assert after > before
        talk.conversation.close()

    asyncio.run(run())


def test_an_automatic_compaction_that_gains_nothing_does_not_happen_and_asks_no_model(
    tmp_path: Path,
) -> None:
    """The memory alone fills the limit, so no compaction could help."""
    memory = "word " * 1_000
    options = replace(QUIET, limits=Limits(max_tokens=1_100, preserve_recent=2))
    talk = Talk(tmp_path, options=options, window=Window(40_000), memory=lambda: memory)

    async def run() -> None:
        for number in range(16):
            talk.model.steps = [ANSWER, SUMMED]
            await talk.conversation.ask(f"Short {number}")
            await talk.conversation.compaction.wait()
        talk.conversation.close()

    asyncio.run(run())
    assert [event for event in talk.events if isinstance(event, Compacted)] == []
    assert len([request for request in talk.model.requests if request.grammar is not None]) <= 1
    assert len(names(tmp_path)) == 1


def test_the_limit_of_messages_holds_whatever_they_are_worth(tmp_path: Path) -> None:
    options = replace(QUIET, use_ai_summary=False, limits=Limits(max_messages=6, preserve_recent=2))
    talk = Talk(tmp_path, *[ANSWER] * 12, options=options)

    async def run() -> None:
        for number in range(12):
            await talk.conversation.ask(f"Short {number}")
            assert len(talk.sent[-1]) <= 7
        talk.conversation.close()

    asyncio.run(run())


def _served(limit: int) -> Callable[[Received], Reply]:
    """Return a server with a window of `limit` tokens that it only reports when it refuses."""

    def served(request: Received) -> Reply:
        tokens = sum(map(estimate, (request.system, *request.texts)))
        if tokens > limit - 100:
            message = (
                f"request ({tokens} tokens) exceeds the available context size ({limit} tokens)"
            )
            return failing(400, "exceed_context_size_error", message)
        return replace(
            spoken(request), chunks=("So it is, and the code is A-17. " * 12,), usage=None
        )

    return served


def _chat(folder: Path, server: Loopback, window: int, shown: list[Event]) -> Conversation:
    """Return a conversation with a server whose window has `window` tokens in the table."""
    provider = OpenAIProvider(
        "m", entry("compatible", f"{server.url}/v1"), window=Window(window, True)
    )
    return Conversation(
        Agent(name="Sally", system_prompt="Be kind.", provider=provider),
        SessionManager(folder),
        count=estimate,
        show=shown.append,
        options=replace(QUIET, use_ai_summary=False),
    )


def _facts(number: int) -> str:
    return " ".join(
        f"Server {number}-{part} has port {7000 + 10 * number + part}." for part in range(6)
    )


@pytest.mark.parametrize("asked", [20, 400, 900])
def test_after_a_refusal_the_block_leaves_room_for_the_query(tmp_path: Path, asked: int) -> None:
    """The server's window has 2,048 tokens, but the table says 8,192, as with a llama-server."""
    shown: list[Event] = []
    with Loopback(_served(2_048)) as server:

        async def run() -> None:
            conversation = _chat(tmp_path, server, 8_192, shown)
            for number in range(14):
                await conversation.ask(_facts(number))
            await conversation.ask("What of " + "the harbor " * (asked // 3) + "?")
            assert conversation.budget.window == Window(2_048)
            conversation.close()
            await conversation.agent.provider.close()

        asyncio.run(run())
    assert any(isinstance(event, Compacted) for event in shown)


def test_a_shortened_block_gives_up_key_facts_before_anything_else() -> None:
    """Facts that share a place write it only once. Removing one saves less than its tokens, so more
    of them must go.
    """
    facts = tuple(f"Server {number} has port {7000 + number}. [1 user]" for number in range(60))
    whole = Summary(
        topics=("Ports [1]",),
        decisions=("Use Redis [1]",),
        pending=("Test it [1]",),
        key_facts=facts,
    )
    text = render(whole)
    for most in range(100, estimate(text), 7):
        short = shorten_block(text, most, estimate)
        left = parse(short)
        assert estimate(short) <= most
        assert left.key_facts == facts[len(facts) - len(left.key_facts) :] != ()
        assert replace(left, key_facts=facts) == whole


@pytest.mark.parametrize("asked", [0, 250])
def test_a_block_is_shortened_anew_when_the_window_turns_out_to_be_smaller(
    tmp_path: Path, asked: int
) -> None:
    """The session is resumed with a large block, and its first query is refused. The block is
    shortened to fit the window that the refusal names.
    """
    first = Talk(
        tmp_path,
        *[ANSWER] * 40,
        options=replace(QUIET, use_ai_summary=False),
        window=Window(100_000),
    )

    async def fill() -> str:
        for number in range(40):
            await first.conversation.ask(_facts(number))
        await first.conversation.compact()
        first.conversation.close()
        return first.conversation.session.header.parent

    identity = asyncio.run(fill())
    with Loopback(_served(2_048)) as server:

        async def run() -> None:
            conversation = _chat(tmp_path, server, 32_000, [])
            loaded = conversation.sessions.load(tmp_path / f"{identity}.md")
            await conversation.accept(
                await conversation.planner().resume(loaded), acknowledge=False
            )
            reply = await conversation.ask("Which port has 3-3?" + " And then?" * asked)
            assert reply.text
            conversation.close()
            await conversation.agent.provider.close()

        asyncio.run(run())


def test_what_the_limits_leave_out_is_said_once_and_in_context(tmp_path: Path) -> None:
    options = replace(QUIET, limits=Limits(enabled=False, max_messages=6))
    lines: list[Line] = [f"Question {number}" for number in range(6)]
    screen = Screen(tmp_path, [*lines, "/context"], *[ANSWER] * 6, options=options)
    text = " ".join(screen.text.split())
    told = (
        "The model no longer gets the oldest 1 exchange: automatic compaction is off, and "
        "max_history_messages is 6."
    )
    assert text.count("The model no longer gets the oldest") == 1
    assert f"You: Question 3 ⚠️ {told}" in text
    assert "The oldest 4 exchanges are not sent: context.max_history_messages" in text


def test_an_unknown_price_is_called_unknown(tmp_path: Path) -> None:
    screen = Screen(tmp_path, ["Hi", "/context", "/stats"], "Hello.", options=QUIET)
    assert "The price of the model is unknown.\n" in screen.text
    assert re.search(r"Cost of the session: +price unknown", screen.text)
    assert "free" not in screen.text
