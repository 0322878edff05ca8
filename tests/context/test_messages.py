"""The messages that are sent to the model, and how full its window is."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import get_args

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from msgspec.structs import replace

from chat_loop.context.budget import PARTS, Budget, last_report, parts, weigh
from chat_loop.context.exchanges import NO_REPLY, call_id
from chat_loop.context.messages import (
    Context,
    messages_of,
    pieces,
    prompt,
    restoration_text,
    shorten_block,
)
from chat_loop.sessions import summary_block
from chat_loop.sessions.parser import parse
from chat_loop.sessions.records import (
    ArchiveContext,
    Call,
    Entry,
    Exchange,
    Header,
    ModelChange,
    Pin,
    Query,
    Reply,
    Restoration,
    Result,
    Session,
    Shortened,
    Summary,
)
from chat_loop.sessions.writer import render
from chat_loop.tokens import estimate
from chat_loop.values import Message, StopReason, ToolCall, ToolResult, Usage, Window
from tests.support.scripted_chat import START, said, words
from tests.support.strategies import entries as any_entries
from tests.support.strategies import sessions, texts

HEADER = Header(id="b", created=START, agent="Sally", parent="a", parent_path="/home/bob/a.md")
RESTORATION = Restoration(
    at=START,
    parent_created=START,
    queries=5,
    tokens=2345,
    block=summary_block.render(Summary(topics=("Boats",))),
    grandparent="z",
)


def query(number: int, text: str) -> Query:
    return Query(number=number, at=START, text=text)


def reply(number: int, text: str, usage: Usage | None = None, stop: StopReason = "end") -> Reply:
    return Reply(number=number, at=START, text=text, usage=usage, stop=stop)


def call(number: int, identity: str, arguments: str = "{}") -> Call:
    return Call(number=number, at=START, id=identity, name="search", arguments=arguments)


def result(number: int, identity: str, text: str, failed: bool = False) -> Result:
    return Result(number=number, at=START, id=identity, text=text, failed=failed)


def session(*entries: Entry) -> Session:
    return Session(header=HEADER, entries=entries)


def sent(*entries: Entry, tools: bool = True) -> tuple[Message, ...]:
    return messages_of(Context(session(*entries)), tools=tools)


IDS = st.sampled_from(("c1", "c2", "c3"))
STEPS = st.lists(
    st.one_of(
        st.builds(query, st.integers(1, 2), texts),
        st.builds(call, st.integers(1, 2), IDS, texts),
        st.builds(result, st.integers(1, 2), IDS, texts, st.booleans()),
        st.builds(reply, st.integers(0, 2), texts, stop=st.sampled_from(get_args(StopReason))),
        any_entries,
    )
)


@given(sessions, st.booleans())
def test_joining_neighbors_loses_no_word(value: Session, tools: bool) -> None:
    thread = Context(value)
    messages = messages_of(thread, tools=tools)
    assert all(first.role != second.role for first, second in pairwise(messages))
    said = (message.text for message in messages if message.text != NO_REPLY)
    assert "\n\n".join(filter(None, said)) == "\n\n".join(
        piece.text for _, piece in pieces(thread, tools=tools) if piece.text
    )


@given(sessions, st.booleans())
def test_messages_are_the_same_after_writing_and_reading_the_session(
    value: Session, tools: bool
) -> None:
    read = parse(render(value)).session
    assert read is not None
    assert messages_of(Context(read), tools=tools) == messages_of(Context(value), tools=tools)


@given(STEPS)
@example(
    [
        query(1, "Hi"),
        query(2, "Go on."),
        call(1, "c1", "a"),
        Reply(number=1, at=START, text="", stop="error", failed=True),
        call(2, "c2", "b"),
    ]
)
def test_every_call_is_answered_at_once_and_nothing_else_is(entries: list[Entry]) -> None:
    messages = sent(*entries)
    assert all(one.role != two.role for one, two in pairwise(messages))
    for before, message in pairwise((Message("user", ""), *messages, Message("assistant", ""))):
        assert [result.id for result in message.results] == [call.id for call in before.calls]
        assert not message.calls or message.role == "assistant"
        assert not message.results or message.role == "user"
    exchanges = session(*entries).exchanges
    assert [(call.name, call.arguments) for message in messages for call in message.calls] == [
        (use.call.name, use.call.arguments)
        for exchange in exchanges
        for use in exchange.uses
        if not exchange.failed
    ]


@given(STEPS)
def test_without_tools_calls_and_results_are_words(entries: list[Entry]) -> None:
    messages = sent(*entries, tools=False)
    assert all(one.role != two.role for one, two in pairwise(messages))
    assert all(not message.calls and not message.results for message in messages)
    asked = "".join(message.text for message in messages if message.role == "user")
    with_tools = sent(*entries)
    for message in with_tools:
        assert all(call.arguments in asked for call in message.calls)
        assert all(result.text in asked for result in message.results)
    answers = [message.text for message in messages if message.role == "assistant"]
    spoken = [message.text for message in with_tools if message.role == "assistant"]
    assert answers == [text for text in spoken if text not in ("", NO_REPLY)]


def test_what_of_a_session_is_sent() -> None:
    restored = restoration_text(HEADER, RESTORATION)
    asked = f"{restored}\n\n{prompt('acknowledge.txt')}"
    one, two = query(1, "one"), query(2, "two")
    assert sent(one, reply(1, "1"), two) == said("one", "1", "two")
    assert sent(one, reply(1, " \n"), two) == said("one\n\ntwo")
    assert sent(one, two) == said("one\n\ntwo")
    found = ArchiveContext(number=1, at=START, text="[2.14] …")
    assert sent(one, found) == said("[2.14] …\n\none")
    assert sent(one, found, reply(1, "1")) == said("one", "1"), "only until it is answered"
    assert sent(RESTORATION, one) == said(f"{restored}\n\none")
    assert sent(RESTORATION, reply(0, ""), one) == said(f"{restored}\n\none")
    assert sent(RESTORATION, reply(0, "Ready."), one) == said(asked, "Ready.", "one")


STEP_BY_STEP = (
    query(1, "What of boats?"),
    reply(1, "I look.", stop="tool"),
    call(1, "c1", '{"query": "boats"}'),
    call(1, "c2"),
    result(1, "c2", "There is no query.", failed=True),
    result(1, "c1", "Found."),
    reply(1, "", stop="tool"),
    call(1, "c3"),
    result(1, "c3", "Nothing."),
    reply(1, "There were boats."),
    query(2, "Thanks."),
)


def wire_id(number: int, place: int) -> str:
    """Return the id on the wire of a call of query `number`."""
    return call_id(Exchange(query(number, ""), session=HEADER.id), place)


def test_the_steps_of_a_reply_are_sent_as_they_were() -> None:
    c1, c2, c3 = [wire_id(1, place) for place in range(3)]
    assert len({c1, c2, c3}) == 3
    assert all(re.fullmatch("[a-z0-9]{9}", identity) for identity in (c1, c2, c3))
    assert sent(*STEP_BY_STEP) == (
        Message("user", "What of boats?"),
        Message(
            "assistant",
            "I look.",
            calls=(ToolCall(c1, "search", '{"query": "boats"}'), ToolCall(c2, "search", "{}")),
        ),
        Message(
            "user",
            "",
            results=(ToolResult(c1, "Found."), ToolResult(c2, "There is no query.", True)),
        ),
        Message("assistant", "", calls=(ToolCall(c3, "search", "{}"),)),
        Message("user", "", results=(ToolResult(c3, "Nothing."),)),
        Message("assistant", "There were boats."),
        Message("user", "Thanks."),
    )


def test_the_steps_of_a_reply_in_words() -> None:
    assert sent(*STEP_BY_STEP, tools=False) == said(
        "What of boats?",
        "I look.",
        '[search {"query": "boats"} gave: Found.]\n\n[search {} failed: There is no query.]\n\n'
        "[search {} gave: Nothing.]",
        "There were boats.",
        "Thanks.",
    )


FAILED = (
    query(7, "Bad."),
    Reply(number=7, at=START, text="", stop="error", usage=Usage(input=900, output=1), failed=True),
)
ONLY = wire_id(1, 0)
NONE = Message("user", "", results=(ToolResult(ONLY, "interrupted", failed=True),))
NEXT = (Message("assistant", NO_REPLY), Message("user", "Go on."))


@pytest.mark.parametrize(
    ("rest", "answers"),
    [
        ((), (NONE,)),
        ((query(2, "Go on."),), (NONE, *NEXT)),
        ((Pin(at=START, text="x"), reply(1, "", stop="error")), (NONE,)),
        ((result(1, "c9", "Lost."), query(2, "Go on.")), (NONE, *NEXT)),
        (
            (result(1, "c1", "Found."), reply(1, "", stop="interrupted"), query(2, "Go on.")),
            (Message("user", "", results=(ToolResult(ONLY, "Found."),)), *NEXT),
        ),
    ],
)
def test_a_turn_that_was_torn_while_tools_ran(
    rest: tuple[Entry, ...], answers: tuple[Message, ...]
) -> None:
    """Some services refuse a user's message after results, so a note stands for the reply."""
    messages = sent(query(1, "Hi"), reply(1, "I look.", stop="tool"), call(1, "c1"), *rest)
    assert messages == (
        Message("user", "Hi"),
        Message("assistant", "I look.", calls=(ToolCall(ONLY, "search", "{}"),)),
        *answers,
    )


def test_carried_and_live_an_exchange_is_sent_the_same_way() -> None:
    whole = session(*STEP_BY_STEP[:-1])
    child = Session(header=replace(HEADER, id="c", parent="b"), entries=(query(1, "Thanks."),))
    carried = messages_of(Context(child, whole.exchanges))
    assert carried == sent(*STEP_BY_STEP)


def test_what_was_shortened_is_marked_with_where_the_rest_is() -> None:
    long = "Found. " * 2_000
    entries = (query(1, "Hi"), reply(1, "", stop="tool"), call(1, "c1"), result(1, "c1", long))
    cut = Shortened(at=START, ref="1.1", session=HEADER.id, call="c1", tokens=200)
    *_, message = sent(*entries, cut)
    [answer] = message.results
    assert estimate(answer.text) <= 200
    assert answer.text.startswith("Found. Found.")
    assert answer.text.endswith("Found. ")
    note = r"\[… 1[0-9],\d{3} of 14,000 characters left out: session_archive_read reads them, as “1.1” …\]"
    assert re.search(note.replace("“", '"').replace("”", '"'), answer.text)
    given = replace(result(1, "c1", long), given=200, not_kept=5_000)
    [answer] = sent(*entries[:-1], given)[-1].results
    assert "characters left out: not kept …]" in answer.text


@pytest.mark.parametrize(
    ("entries", "used"),
    [
        ((), None),
        ((query(1, "a b c"),), None),
        ((query(1, "a b c"), reply(1, "d", Usage(input=50, output=7))), 57),
        ((query(1, "a"), reply(1, "d", Usage(input=50, output=7, cached=40, reasoning=5))), 52),
        ((query(1, "a"), reply(1, "d", Usage(input=50, output=7)), query(2, "b c")), 57 + 2 + 4),
        (
            (
                query(1, "a"),
                reply(1, "d", Usage(input=50, output=7)),
                query(2, "b c"),
                reply(2, "half a reply"),
            ),
            57 + (2 + 4) + (3 + 4),
        ),
        ((query(1, "a"), reply(1, "d", Usage(input=50, output=7)), query(2, "x " * 900)), 57 + 904),
        (
            (
                query(1, "a"),
                reply(1, "d", Usage(input=50, output=7)),
                ModelChange(at=START, text="x:y"),
            ),
            None,
        ),
        ((query(1, "a"), reply(1, "b c", Usage(input=9, output=9, estimated=True))), None),
        ((query(1, "a"), reply(1, "b c", Usage(input=0, output=0))), None),
        ((RESTORATION, reply(0, "Ready.", Usage(input=80, output=2)), query(1, "a")), None),
        ((query(1, "a"), reply(1, "d", Usage(input=50, output=7)), *FAILED), 57),
        (
            (
                query(1, "a"),
                ArchiveContext(number=1, at=START, text="not sent again"),
                reply(1, "d", Usage(input=50, output=7)),
                query(2, "b"),
                ArchiveContext(number=2, at=START, text="sent now"),
            ),
            57 - (3 + 4) + (1 + 4) + (2 + 4),
        ),
    ],
)
def test_how_full_the_window_is_by_what_was_reported(
    entries: tuple[Entry, ...], used: int | None
) -> None:
    report = last_report(session(*entries), words)
    assert (report and report.next) == used


def test_how_full_the_window_is_by_an_estimate() -> None:
    thread = Context(session(query(1, "a b c"), reply(1, "d e"), *FAILED))
    weights = weigh(pieces(thread), "Be kind.", "Memory.", 30, words)
    assert weights == {
        "System prompt": 2,
        "Memory": 1,
        "Tools": 30,
        "This session": (3 + 4) + (2 + 4),
    }


@given(
    st.dictionaries(st.sampled_from(PARTS), st.integers(0, 10**6), max_size=6),
    st.integers(0, 10**6),
)
def test_the_parts_add_up(weights: dict[str, int], total: int) -> None:
    window = 2_000_000
    made = dict(parts(weights, Budget(total, Window(window), False), 3))
    assert sum(made.values()) == window
    assert all(tokens >= 0 for tokens in made.values())


def test_a_full_window_is_warned_of_from_four_fifths() -> None:
    shares = [Budget(used, Window(100), False).warning for used in (0, 79, 80, 94, 95, 300)]
    assert shares == [0.0, 0.0, 0.8, 0.9, 0.95, 0.95]
    assert Budget(5, Window(0), False).warning
    assert Budget(25, Window(100), False).share == 0.25


def test_a_block_into_which_somebody_pasted_a_book_is_shortened_in_the_middle() -> None:
    book = "beginning " + "word " * 400_000 + "end"
    whole = Summary(background=book, decisions=("Oak it is. [1 user]",), pending=(book,))
    short = shorten_block(summary_block.render(whole), 500, words)
    assert words(short) <= 500
    left = summary_block.parse(short)
    assert left.decisions == whole.decisions, "the rest stays"
    for text in (left.background, *left.pending):
        assert text.startswith("beginning word")
        assert "characters left out" in text
        assert text.endswith("word end")


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
    text = summary_block.render(whole)
    for most in range(100, words(text), 7):
        short = shorten_block(text, most, words)
        left = summary_block.parse(short)
        assert words(short) <= most
        assert left.key_facts == facts[len(facts) - len(left.key_facts) :] != ()
        assert replace(left, key_facts=facts) == whole
