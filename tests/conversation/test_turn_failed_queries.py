"""A query that was refused or never answered stays in the file with a mark, and is not sent again
by itself.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from pathlib import Path

import pytest
from msgspec.structs import replace

from benchmarks.support.loopback import Loopback, failing
from benchmarks.support.loopback import Reply as Served
from chat_loop.agent.agent import Agent
from chat_loop.agent.ask import CallLimits
from chat_loop.agent.tools import Tool
from chat_loop.conversation.conversation import Conversation
from chat_loop.conversation.options import Options
from chat_loop.errors import (
    ConnectionFailed,
    ContextFull,
    Overloaded,
    ProviderError,
    RequestRejected,
    TimedOut,
)
from chat_loop.providers.wire import WireProvider
from chat_loop.sessions.manager import SessionManager
from chat_loop.sessions.parser import parse
from chat_loop.sessions.records import Reply
from chat_loop.tokens import estimate
from chat_loop.values import ToolCall, ToolSpec, Window
from tests.support.providers import anthropic_at, openai_at
from tests.support.screens import Line, Screen
from tests.support.scripted_chat import SUMMARY, Says, Step, Talk, said

QUIET = replace(Options(), acknowledge=False, on_exit="later", attach_from_archive=False)
REJECTED = RequestRejected("The server rejected the request.", "Check it.")
NOTE = "The model will not see this message again; /retry resends it.\n"


def run(folder: Path, lines: list[Line], *steps: Step, **further: object) -> Screen:
    return Screen(folder, lines, *steps, options=QUIET, **further)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "error",
    [
        REJECTED,
        Overloaded("It is down."),
        ConnectionFailed("Cannot reach it."),
        TimedOut("It ran out of time."),
    ],
)
def test_the_next_request_does_not_hold_it_and_retry_asks_it_again(
    tmp_path: Path, error: ProviderError
) -> None:
    screen = run(tmp_path, ["Bad one", "Good one", "/history"], error, "Fine.")
    assert screen.talk.sent == [said("Bad one"), said("Good one")]
    assert screen.text.count(NOTE) == 1
    assert "Message 1: You: Bad one (not sent again)\n" in screen.text
    again = run(tmp_path / "again", ["Bad one", "/retry", "More"], error, "Done.", "More.")
    assert again.talk.sent == [said("Bad one"), said("Bad one"), said("Bad one", "Done.", "More")]


def test_the_file_keeps_it_with_its_mark(tmp_path: Path) -> None:
    screen = run(tmp_path, ["Bad one", "Good one"], REJECTED, "Fine.")
    text = screen.talk.path.read_text("utf-8")
    assert "**You:** Bad one\n" in text
    assert "<!-- chat:end stop=error failed=yes -->" in text
    assert "Failed | Not sent again*\n" in text
    read = parse(text.encode())
    assert read.damage == ()
    assert read.session is not None
    assert [(one.query.text, one.failed) for one in read.session.exchanges] == [
        ("Bad one", True),
        ("Good one", False),
    ]


def test_a_refusal_takes_its_words_along(tmp_path: Path) -> None:
    refusal = Says(("I cannot",), then="refusal")
    screen = run(tmp_path, ["Hi", "Bad one", "Good one"], "Hello.", refusal, "Fine.")
    assert screen.talk.sent[-1] == said("Hi", "Hello.", "Good one")
    assert screen.text.count(NOTE) == 1
    assert "I cannot" in screen.talk.text


def test_what_had_begun_and_what_the_user_stopped_goes_on_as_before(tmp_path: Path) -> None:
    broken = Says(("Half",), then=Overloaded("It is down."))
    screen = run(tmp_path, ["Tell", "Count", "Go on"], broken, Says(then="silence"), "Yes.")
    assert screen.talk.sent[-1] == said("Tell", "Half", "Count\n\nGo on")
    assert NOTE not in screen.text


def test_a_resume_a_summary_and_an_uncompact_know_nothing_of_it(tmp_path: Path) -> None:
    lines: list[Line] = [
        "Hi",
        "Bad one",
        "Which wood?",
        "compact",
        "Go on",
        "/uncompact",
        "And now?",
    ]
    screen = run(tmp_path, lines, "Hello.", REJECTED, "Oak.", SUMMARY, "So.", "Now.", answers=["y"])
    assert not any(
        "Bad one" in message.text for messages in screen.talk.sent[2:] for message in messages
    )
    first = sorted(tmp_path.glob("*.md"))[0].stem
    for command in (f"/resume {first} --full", f"/resume {first} --last 3"):
        resumed = run(tmp_path, [command, "More"], "So.", hours=1)
        assert not any("Bad one" in message.text for message in resumed.talk.sent[-1]), command
        assert resumed.talk.sent[-1][-1].text.endswith("More")


def test_a_session_of_failed_queries_has_nothing_to_go_on_from(tmp_path: Path) -> None:
    run(tmp_path, ["Bad one"], REJECTED)
    [file] = tmp_path.glob("*.md")
    screen = run(tmp_path, [f"/resume {file.stem}"], hours=1)
    assert "has no exchanges: it can't be resumed." in screen.text


def test_a_query_that_does_not_fit_is_not_in_the_way_of_the_next(tmp_path: Path) -> None:
    options = replace(QUIET, limits=replace(QUIET.limits, enabled=False))
    counted_here = [Says((text,), usage=None) for text in ("One.", "Two.", "Fine.")]
    talk = Talk(tmp_path, *counted_here, options=options, window=Window(1_000))

    async def asked() -> None:
        await talk.conversation.ask("word " * 380)
        await talk.conversation.ask("word " * 380)
        with pytest.raises(ContextFull):
            await talk.conversation.ask("word " * 390)
        await talk.conversation.ask("Short.")

    asyncio.run(asked())
    assert talk.sent[-1][-1].text == "Short."
    [failed] = [one for one in talk.conversation.session.exchanges if one.failed]
    assert failed.query.number == 3


@pytest.mark.parametrize("provider_at", [anthropic_at, openai_at])
@pytest.mark.parametrize(
    "answer",
    [
        failing(400, "invalid_request_error", "No."),
        failing(400, "content_filter", "The response was filtered.", code="content_filter"),
        Served(chunks=(), stop="refusal"),
        Served(chunks=("I can",), stop="refusal"),
    ],
)
def test_on_the_wires(
    tmp_path: Path, provider_at: Callable[[str], WireProvider], answer: Served
) -> None:
    with Loopback() as server:
        server.enqueue(answer)

        async def ask() -> None:
            conversation = _conversation(tmp_path, provider_at(server.url))
            with contextlib.suppress(ProviderError):
                await conversation.ask("Bad one")
            await conversation.ask("Good one")
            conversation.close()
            await conversation.agent.provider.close()

        asyncio.run(ask())
    assert [request.query for request in server.requests] == ["Bad one", "Good one"]
    assert len(server.requests[1].texts) == 1


def test_a_tool_result_that_the_server_rejects_goes_with_its_query(tmp_path: Path) -> None:
    async def look(given: object) -> str:
        return "poison"

    tool = Tool(ToolSpec("look", "Looks.", {"type": "object", "properties": {}}), look)
    with Loopback() as server:
        server.enqueue(
            Served(calls=(ToolCall("a", "look", "{}"),)),
            failing(400, "invalid_request_error", "No."),
        )

        async def ask() -> Conversation:
            conversation = _conversation(tmp_path, openai_at(server.url), tool)
            with pytest.raises(RequestRejected):
                await conversation.ask("Look")
            await conversation.ask("Good one")
            conversation.close()
            await conversation.agent.provider.close()
            return conversation

        conversation = asyncio.run(ask())
    assert "poison" not in str(server.requests[-1].body)
    replies = [
        entry
        for entry in conversation.session.entries
        if isinstance(entry, Reply) and entry.number == 1
    ]
    assert [reply.failed for reply in replies] == [False, True]


def _conversation(folder: Path, provider: WireProvider, *tools: Tool) -> Conversation:
    agent = Agent(
        name="Sally",
        system_prompt="Be kind.",
        provider=provider,
        tools=tools,
        limits=CallLimits(attempts=1),
    )
    return Conversation(
        agent, SessionManager(folder), count=estimate, show=lambda event: None, options=QUIET
    )
