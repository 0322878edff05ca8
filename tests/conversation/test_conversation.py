"""A whole conversation from its first message to its end: all files, requests and events."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from chat_loop.context import summary
from chat_loop.events import (
    Compacted,
    Finished,
    ReplyEnded,
    Restoring,
    SessionBegun,
    SessionSealed,
    SummaryEnded,
    SummaryProgress,
    SummaryStarted,
    TextDelta,
)
from chat_loop.values import Compaction, Usage
from tests.support.scripted_chat import SUMMARY, Says, Talk, said

CALL = Usage(input=100, output=10)
PARENT = "sally_20261121_223015"
CHILD = "sally_20261121_223031"

RESTORATION = r"""CONTEXT RESTORATION: You are continuing a previous conversation from 2026-11-21 22:30.

Previous session summary (Session ID: sally_20261121_223015, 2 queries, 220 tokens):

Previous session file: {folder}/sally_20261121_223015.md

<!-- SESSION_SUMMARY_START -->
**Background Context:** Initial session.

**Current Session Summary:**
**Topics Discussed:**
- Greetings [1]

**Decisions Made:**
- Stay polite [1]

**Pending:**
*none*

**Pinned:**
- \<!-- chat:end -->
  Bob is 41 years old

**Key Facts:**
- Hi, I am Bob [1 user]
<!-- SESSION_SUMMARY_END -->

The summary is for orientation. What is pinned or marked [2 user] or [2 reply] is word for word what the user or you said in the chain's second session; [2.14] is its query 14. If the summary does not contain the answer to a later question, search the archive when you have a tool for that; otherwise say that it does not.

Task: Review the above and provide a brief acknowledgment (2-6 sentences or bullets) that includes:
1. Main topics discussed
2. Key decisions made
3. Confirmation you're ready to continue

Keep your response concise."""

SECOND_SUMMARY = """\
**Background Context:** Bob said hello before.

**Current Session Summary:**
**Topics Discussed:**
- Bob's name [1]
**Decisions Made:**
- none
**Pending:**
- none"""


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Talk]:
    """Return a conversation of two exchanges with a pin, `compact`, an exchange, and `exit`."""
    folder = tmp_path_factory.mktemp("sessions")
    talk = Talk(
        folder,
        "Hello Bob.",
        Says(("- no", "ted")),
        SUMMARY,
        "We greeted each other. Ready!",
        "Bob.",
        SECOND_SUMMARY,
    )
    conversation = talk.conversation

    async def run() -> None:
        await conversation.ask("Hi, I am Bob")
        talk.clock.seconds += 10
        conversation.pin("<!-- chat:end -->\nBob is 41 years old")
        await conversation.ask("Remember it")
        assert await conversation.compact()
        talk.clock.seconds += 10
        await conversation.ask("Who am I?")
        await conversation.end()

    asyncio.run(run())
    return folder, talk


def test_after_compact_the_model_is_sent_the_summary_instead_of_the_words(
    told: tuple[Path, Talk],
) -> None:
    folder, talk = told
    first, second, summary_call, restoration, after, last_summary = talk.model.requests
    restored = RESTORATION.format(folder=folder)
    assert first.messages == said("Hi, I am Bob")
    assert second.messages == said("Hi, I am Bob", "Hello Bob.", "Remember it")
    assert restoration.messages == said(restored)
    assert after.messages == said(restored, "We greeted each other. Ready!", "Who am I?")
    assert {request.system for request in (first, second, restoration, after)} == {"Be kind."}
    assert [request.max_tokens for request in (first, second, restoration, after)] == [
        None,
        None,
        2048,
        None,
    ]
    for request in (summary_call, last_summary):
        assert request.system == summary.SYSTEM
        assert len(request.messages) == 1
        assert request.max_tokens == 2048


def test_everything_that_happens_is_told_in_order(told: tuple[Path, Talk]) -> None:
    folder, talk = told
    parent_path, child_path = str(folder / f"{PARENT}.md"), str(folder / f"{CHILD}.md")
    assert talk.events == [
        SessionBegun(id=PARENT, path=parent_path, model="scripted:test"),
        TextDelta("Hello Bob."),
        Finished(stop="end", usage=CALL),
        ReplyEnded(number=1, stop="end", usage=CALL, seconds=2.0),
        TextDelta("- no"),
        TextDelta("ted"),
        Finished(stop="end", usage=CALL),
        ReplyEnded(number=2, stop="end", usage=CALL, seconds=2.0),
        SummaryStarted(parts=1),
        SummaryProgress(part=1, parts=1, characters=len(SUMMARY)),
        SummaryEnded(source="model", usage=CALL, seconds=2.0),
        SessionSealed(
            id=PARENT,
            path=parent_path,
            reason="compact",
            queries=2,
            session_tokens=CALL + CALL,
            restoration_tokens=Usage(),
            saved=True,
            summary="model",
        ),
        Compacted(
            compaction=Compaction(
                first="1.1",
                last="1.2",
                before=110,
                after=257,
                model="scripted:test",
                decisions=1,
                pins=1,
                facts=1,
            ),
            reason="Asked for",
            source="model",
            block=RESTORATION.partition("START -->\n")[2].partition("\n<!-- SESSION")[0],
        ),
        Restoring(PARENT, "compact"),
        SessionBegun(id=CHILD, path=child_path, model="scripted:test", parent=PARENT),
        TextDelta("We greeted each other. Ready!"),
        Finished(stop="end", usage=CALL),
        ReplyEnded(number=0, stop="end", usage=CALL, seconds=2.0),
        TextDelta("Bob."),
        Finished(stop="end", usage=CALL),
        ReplyEnded(number=1, stop="end", usage=CALL, seconds=2.0),
        SummaryStarted(parts=1, optional=True),
        SummaryProgress(part=1, parts=1, characters=len(SECOND_SUMMARY)),
        SummaryEnded(source="model", usage=CALL, seconds=2.0),
        SessionSealed(
            id=CHILD,
            path=child_path,
            reason="exit",
            queries=1,
            session_tokens=CALL,
            restoration_tokens=CALL,
            saved=True,
            summary="model",
        ),
    ]
