"""The archive in a conversation: tools for models that can call them, excerpts for the others."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from msgspec.structs import replace

from chat_loop.agent.agent import ModelAgent
from chat_loop.context.budget import room, size
from chat_loop.conversation.conversation import Conversation
from chat_loop.conversation.conversation_options import Options
from chat_loop.events import Event, Recalled
from chat_loop.library.archive_tools import READ, SEARCH
from chat_loop.sessions.manager import SessionManager
from chat_loop.sessions.records import ArchiveContext, Call, Result
from chat_loop.values import Message, Request, ToolCall, Window
from tests.support.scripted import ScriptedProvider
from tests.support.scripted_chat import Clock, words

QUIET = replace(Options(), acknowledge=False, on_exit="later")
SAID = "The heating engineer is called Nora Falk, she comes in the second week of May."
CHATTER = [
    f"Tell me something about sailing boats, part {part}."
    for part in ("one", "two", "three", "four", "five")
]


def last_text(request: Request) -> str:
    return request.messages[-1].text


def conversation(
    folder: Path, provider: ScriptedProvider, shown: list[Event], options: Options
) -> Conversation:
    clock = Clock()
    sessions = SessionManager(folder, now=clock.now, monotonic=clock.monotonic)
    agent = ModelAgent(name="Sally", system_prompt="Be kind.", provider=provider)
    return Conversation(agent, sessions, count=words, show=shown.append, options=options)


async def compacted(talk: Conversation) -> None:
    """Say a fact and much else, and compact it all into a block that contains none of it."""
    for text in (SAID, *CHATTER):
        await talk.ask(text)
    draft = await talk.draft()
    assert draft is not None
    bare = replace(draft.summary, topics=("Boats",), decisions=(), pending=(), key_facts=())
    assert await talk.take(replace(draft, summary=bare, plan=replace(draft.plan, keep=())))
    await talk.background.wait()


def test_a_model_that_calls_tools_searches_the_archive(tmp_path: Path) -> None:
    calls = (
        ToolCall("wire-1", SEARCH, '{"query": "heating engineer"}'),
        ToolCall("wire-2", READ, '{"queries": "1"}'),
    )
    provider = ScriptedProvider(
        steps=[
            *["Noted."] * 6,
            Message("assistant", "I will look.", calls=calls),
            "She is called Nora Falk.",
        ],
        calls_tools=True,
    )
    shown: list[Event] = []
    talk = conversation(tmp_path, provider, shown, QUIET)

    async def run() -> None:
        await compacted(talk)
        reply = await talk.ask("What is the heating engineer called?")
        assert reply.text == "I will look.\n\nShe is called Nora Falk."

    asyncio.run(run())
    talk.close()
    assert [len(request.tools) for request in provider.requests if request.grammar is None] == [
        0
    ] * 6 + [2, 2]
    entries = talk.session.entries
    assert [entry.name for entry in entries if isinstance(entry, Call)] == [SEARCH, READ]
    results = {
        entry.id: entry.text for entry in entries if isinstance(entry, Result)
    }  # in the order in which they came
    found, read = results["c1"], results["c2"]
    assert SAID in found
    assert SAID in read
    assert not [entry for entry in entries if isinstance(entry, ArchiveContext)]
    assert provider.requests[-1].messages[-1].results[0].text == found


@pytest.mark.parametrize("attach", [True, False])
def test_a_model_without_tools_is_given_what_was_found(tmp_path: Path, attach: bool) -> None:
    provider = ScriptedProvider(steps=["Noted."] * 8)
    shown: list[Event] = []
    talk = conversation(tmp_path, provider, shown, replace(QUIET, attach_from_archive=attach))

    async def run() -> None:
        await compacted(talk)
        await talk.ask("What is the heating engineer called?")
        await talk.ask("Thanks, go on.")

    asyncio.run(run())
    talk.close()
    asked = provider.requests[-2].messages[-1].text
    assert asked.endswith("What is the heating engineer called?")
    assert (SAID in asked) is attach
    assert [event for event in shown if isinstance(event, Recalled)] == (
        [Recalled(("1.1",))] if attach else []
    )
    assert (
        len([entry for entry in talk.session.entries if isinstance(entry, ArchiveContext)])
        == attach
    )
    assert words(asked) < 400
    *before, query, reply, last = provider.requests[-1].messages
    assert before == list(provider.requests[-2].messages[:-1])
    assert query.text.endswith("What is the heating engineer called?")
    assert SAID not in query.text, "what was found is sent until the query is answered"
    assert (reply.text, last.text) == ("Noted.", "Thanks, go on.")


def test_what_was_found_takes_from_the_room_of_the_reply(tmp_path: Path) -> None:
    provider = ScriptedProvider(steps=["Noted."] * 8, window=Window(4_000))
    shown: list[Event] = []
    talk = conversation(tmp_path, provider, shown, QUIET)
    question = "What is the heating engineer called?"

    async def run() -> None:
        await compacted(talk)
        free = room(4_000) - talk.budget.used - size(question, words) - 10
        await talk.ask("boat " * (free - size("", words) - size("Noted.", words)))
        await talk.ask(question)

    asyncio.run(run())
    talk.close()
    assert [event for event in shown if isinstance(event, Recalled)] == [Recalled(("1.1",))]
    [asked] = [said for said in map(last_text, provider.requests) if said.endswith(question)]
    assert SAID in asked
    found = size(asked, words) - size(question, words)
    assert found > room(4_000) - talk.budget.used, "there was no room for it beside a reply"
    assert talk.budget.used < room(4_000), "and it is not sent again"
