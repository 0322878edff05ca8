"""Undoing a compaction, lost parents, removed pins, and smaller windows."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from chat_loop.context.request import message_list
from chat_loop.conversation import continuing
from chat_loop.conversation.child_plan import ChildPlan
from chat_loop.sessions.records import Restoration, Session
from chat_loop.values import Message, Usage, Window
from tests.support.scripted_chat import QUIET, SUMMARY, Says, Step, Talk

ANSWER: Step = Says(("because",), usage=None)
SUMMED: Step = Says((SUMMARY,), usage=Usage(input=900, output=40))


def talk_of(
    folder: Path, *queries: str, compacted_after: int = 0, window: Window | None = None
) -> Talk:
    """Return a conversation of `queries`, compacted after `compacted_after` of them if not 0."""
    steps = [ANSWER] * len(queries)
    if compacted_after:
        steps.insert(compacted_after, SUMMED)
    talk = Talk(folder, *steps, options=QUIET, window=window)

    async def run() -> None:
        for number, query in enumerate(queries, 1):
            await talk.conversation.ask(query)
            if number == compacted_after:
                assert await talk.conversation.compact()

    asyncio.run(run())
    return talk


def restoration(session: Session) -> Restoration:
    assert session.restoration is not None
    return session.restoration


def queries_of(messages: tuple[Message, ...]) -> list[str]:
    """Return the queries that the model sees word for word."""
    return [message.text.rpartition("\n\n")[2] for message in messages if message.role == "user"]


EIGHT = tuple(f"q{number} " + "word " * 5 + f"{number}." for number in range(1, 9))


async def uncompacted(talk: Talk) -> ChildPlan:
    conversation = talk.conversation
    return await continuing.uncompact(
        conversation.planning(), conversation.live, conversation.context
    )


def test_uncompact_that_does_not_fit_is_offered_in_part(tmp_path: Path) -> None:
    long = tuple(f"{number} " + "word " * 300 for number in range(1, 9))
    talk = talk_of(tmp_path, *long, "then", compacted_after=8, window=Window(8_192))
    talk.conversation.agent.provider.window = Window(2_600)  # as if the model was changed
    plan = asyncio.run(uncompacted(talk))
    assert plan.left_out > 0
    assert [exchange.query.text for exchange in plan.carried][-1] == "then"
    asyncio.run(talk.conversation.accept(plan, acknowledge=False))
    conversation = talk.conversation
    assert message_list(conversation.frame, conversation.context)[0].text.startswith(
        "CONTEXT RESTORATION"
    )


@pytest.mark.parametrize("damage", ["gone", "truncated", "garbage"])
def test_a_parent_that_is_lost_while_its_child_runs_costs_nothing(
    tmp_path: Path, damage: str
) -> None:
    talk = talk_of(tmp_path, *EIGHT, "then", compacted_after=8)
    path = tmp_path / f"{talk.conversation.session.header.parent}.md"
    if damage == "gone":
        path.unlink()
    else:
        path.write_bytes(path.read_bytes()[:300] if damage == "truncated" else b"\x00\xff" * 500)
    talk.model.steps = [ANSWER, SUMMED]
    asyncio.run(talk.conversation.ask("again"))
    assert queries_of(talk.sent[-1]) == [*EIGHT[6:], "then", "again"]
    assert asyncio.run(talk.conversation.compact())


def test_a_smaller_window_is_given_what_fits_and_nothing_is_left_out_of_both(
    tmp_path: Path,
) -> None:
    long = tuple(f"{number} " + "word " * 300 for number in range(1, 13))
    before = talk_of(tmp_path, *long, compacted_after=12, window=Window(100_000))
    parent = before.conversation.session.header.parent
    before.conversation.close()
    later = Talk(tmp_path, *[SUMMED] * 30, options=QUIET, window=Window(1_000))
    asyncio.run(later.resume(parent))
    restored = restoration(later.conversation.session)
    assert later.conversation.budget.used <= later.conversation.frame.trigger
    assert restored.unsummarized_from == ""
    sealed = later.sessions.load(tmp_path / f"{parent}.md").session.seal
    assert sealed is not None
    assert sealed.covers is None
