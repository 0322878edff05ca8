"""What the model is sent and how full its window is."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chat_loop.context.budget import Budget, budget
from chat_loop.context.messages import alternating, messages_of
from chat_loop.context.restore import acknowledgment_request, restoration_text
from chat_loop.sessions import block
from chat_loop.sessions.parse import parse
from chat_loop.sessions.records import Entry, Header, Pin, Query, Reply, Restoration, Session, Summary
from chat_loop.sessions.transcript import render
from chat_loop.values import Message, Usage, Window
from tests.strategies import sessions, texts
from tests.talking import START, said, words

HEADER = Header(id="b", created=START, agent="Sally", parent="a", parent_path="/home/bob/a.md")
RESTORATION = Restoration(
    at=START,
    parent_created=START,
    queries=5,
    tokens=2345,
    block=block.render(Summary(topics=("Boats",))),
    grandparent="z",
)


def query(number: int, text: str) -> Query:
    return Query(number=number, at=START, text=text)


def reply(number: int, text: str, usage: Usage | None = None) -> Reply:
    return Reply(number=number, at=START, text=text, usage=usage)


def session(*entries: Entry) -> Session:
    return Session(header=HEADER, entries=entries)


def test_the_restoration_whole() -> None:
    assert restoration_text(HEADER, RESTORATION) == (
        """\
CONTEXT RESTORATION: You are continuing a previous conversation from 2026-11-21 22:30.

Previous session summary (Session ID: a, 5 queries, 2.3K tokens):

This session was resumed from: z
Previous session file: /home/bob/a.md

<!-- SESSION_SUMMARY_START -->
**Background Context:** Initial session.

**Current Session Summary:**
**Topics Discussed:**
- Boats

**Decisions Made:**
*none*

**Pending:**
*none*
<!-- SESSION_SUMMARY_END -->

The summary is for orientation. What it lists under Pinned and Key Facts is exact. If it does not contain the answer \
to a later question, say that it does not."""
    )
    first = restoration_text(HEADER, replace(RESTORATION, grandparent=""))
    assert "This session was resumed from" not in first
    assert acknowledgment_request(HEADER, RESTORATION) == (
        restoration_text(HEADER, RESTORATION)
        + """

Task: Review the above and provide a brief acknowledgment (2-6 sentences or bullets) that includes:
1. Main topics discussed
2. Key decisions made
3. Confirmation you're ready to continue

Keep your response concise."""
    )


EXCHANGES = st.lists(st.tuples(texts, st.one_of(st.none(), texts)), max_size=5)
TURNS = st.lists(st.builds(Message, st.sampled_from(("user", "assistant")), texts))


@given(st.booleans(), st.one_of(st.none(), texts), EXCHANGES, texts)
def test_messages_begin_and_end_with_the_user_and_alternate(
    child: bool, acknowledgment: str | None, exchanges: list[tuple[str, str | None]], text: str
) -> None:
    entries: list[Entry] = [RESTORATION] if child else []
    entries += [reply(0, acknowledgment)] if child and acknowledgment is not None else []
    for number, (asked, answered) in enumerate(exchanges, 1):
        entries += [query(number, asked), Pin(at=START, text=asked)]
        entries += [reply(number, answered)] if answered is not None else []
    messages = messages_of(session(*entries, query(len(exchanges) + 1, text)))
    assert [message.role for message in messages] == [("user", "assistant")[at % 2] for at in range(len(messages))]
    assert messages[-1].role == "user"
    assert messages[-1].text.endswith(text)


@given(TURNS)
def test_joining_neighbours_loses_no_word(turns: list[Message]) -> None:
    messages = alternating((turn.role, turn.text) for turn in turns)
    assert all(one.role != two.role for one, two in pairwise(messages))
    assert "\n\n".join(message.text for message in messages) == "\n\n".join(turn.text for turn in turns)


@given(sessions)
def test_messages_are_the_same_after_writing_and_reading_the_session(value: Session) -> None:
    read = parse(render(value)).session
    assert read is not None
    assert messages_of(read) == messages_of(value)


def test_what_of_a_session_is_sent() -> None:
    restored = restoration_text(HEADER, RESTORATION)
    asked = acknowledgment_request(HEADER, RESTORATION)
    one, two = query(1, "one"), query(2, "two")
    assert messages_of(session(one, reply(1, "1"), two)) == said("one", "1", "two")
    assert messages_of(session(one, reply(1, " \n"), two)) == said("one\n\ntwo")
    assert messages_of(session(one, two)) == said("one\n\ntwo")
    assert messages_of(session(RESTORATION, one)) == said(f"{restored}\n\none")
    assert messages_of(session(RESTORATION, reply(0, ""), one)) == said(f"{restored}\n\none")
    assert messages_of(session(RESTORATION, reply(0, "Ready."), one)) == said(asked, "Ready.", "one")


@pytest.mark.parametrize(
    ("entries", "used", "estimated"),
    [
        ((), 2, True),
        ((query(1, "a b c"),), 2 + 3 + 4, True),
        ((query(1, "a b c"), reply(1, "d", Usage(input=50, output=7))), 57, False),
        ((query(1, "a"), reply(1, "d", Usage(input=50, output=7, cached=40, reasoning=5))), 52, False),
        ((query(1, "a"), reply(1, "d", Usage(input=50, output=7)), query(2, "b c")), 57 + 2 + 4, False),
        (
            (query(1, "a"), reply(1, "d", Usage(input=50, output=7)), query(2, "b c"), reply(2, "half a reply")),
            57 + (2 + 4) + (3 + 4),
            False,
        ),
        ((query(1, "a"), reply(1, "b c", Usage(input=9, output=9, estimated=True))), 2 + (1 + 4) + (2 + 4), True),
        ((RESTORATION, reply(0, "Ready.", Usage(input=80, output=2)), query(1, "a")), 82 + 1 + 4, False),
    ],
)
def test_how_full_the_window_is(entries: tuple[Entry, ...], used: int, estimated: bool) -> None:
    window = Window(1000)
    assert budget(session(*entries), "Be kind.", window, words) == Budget(used, window, estimated)


def test_a_full_window_is_warned_of_from_four_fifths() -> None:
    assert [Budget(used, Window(100), False).warn for used in (0, 79, 80, 300)] == [False, False, True, True]
    assert Budget(5, Window(0), False).warn
    assert Budget(25, Window(100), False).share == 0.25
