"""Planning a compaction: when the context must shrink, which exchanges are compacted or kept, and
the reason. Fixed cases and laws.
"""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from chat_loop.context.budget import (
    Limits,
    Plan,
    ledger_room,
    messages_in,
    nearest_limit,
    newest_within,
    plan,
    plan_requested,
    room,
    trigger,
)
from chat_loop.context.exchanges import exchange_tokens
from chat_loop.sessions.records import Call, Exchange, Query, Reply, Use
from tests.support.scripted_chat import START, words

COUNT = words


def exchange(number: int, size: int = 10, *, answered: bool = True, depth: int = 1) -> Exchange:
    """Return an exchange. The query and, if it is answered, the reply have about half of `size`
    tokens each.
    """
    text = " ".join(["word"] * max(1, size // 2 - 4))
    reply = Reply(number=number, at=START, text=text) if answered else None
    return Exchange(Query(number=number, at=START, text=text), reply, depth)


def talk(messages: int, size: int = 10) -> tuple[Exchange, ...]:
    """Return exchanges of `messages` messages. If that is odd, the last query has no reply yet."""
    whole = tuple(exchange(number, size) for number in range(1, messages // 2 + 1))
    return (*whole, exchange(messages // 2 + 1, size, answered=False)) if messages % 2 else whole


@dataclass(frozen=True)
class Case:
    """A situation and its expected plan. `compacts` is a number of messages."""

    messages: int
    used: int
    window: int
    limits: Limits
    due: bool
    compacts: int
    reason: str
    size: int = 10


BY_MESSAGES = Limits(max_messages=50, trigger_threshold=0.75)
CASES = {
    "30 of 50 messages at 0.75": Case(
        30, 300, 128_000, BY_MESSAGES, False, 0, "The context was 60% full (30/50 messages)"
    ),
    "37 of 50 messages at 0.75": Case(
        37, 370, 128_000, BY_MESSAGES, False, 0, "The context was 74% full (37/50 messages)"
    ),
    "38 of 50 messages at 0.75": Case(
        38, 380, 128_000, BY_MESSAGES, True, 14, "The context was 76% full (38/50 messages)"
    ),
    "39 of 50 messages at 0.75": Case(
        39, 390, 128_000, BY_MESSAGES, True, 14, "The context was 78% full (39/50 messages)"
    ),
    "45 of 50 messages at 0.75": Case(
        45, 450, 128_000, BY_MESSAGES, True, 18, "The context was 90% full (45/50 messages)"
    ),
    "80 % of 128K": Case(
        100,
        102_400,
        128_000,
        Limits(),
        True,
        40,
        "The context was 80% full (102K/128K tokens)",
        2_048,
    ),
    "79 % of 128K": Case(
        100,
        101_120,
        128_000,
        Limits(),
        False,
        0,
        "The context was 79% full (101K/128K tokens)",
        2_022,
    ),
    "a threshold of 0.6": Case(
        100,
        80_000,
        128_000,
        Limits(trigger_threshold=0.6),
        True,
        46,
        "The context was 62% full (80K/128K tokens)",
        1_600,
    ),
    "8K local": Case(
        20, 6_600, 8_192, Limits(), True, 12, "The context was 81% full (6.6K/8K tokens)", 660
    ),
    "a limit of tokens": Case(
        40,
        8_100,
        128_000,
        Limits(max_tokens=10_000),
        True,
        30,
        "The context was 81% full (8.1K/10K tokens)",
        400,
    ),
    "everything is recent": Case(
        10,
        100,
        128_000,
        Limits(max_messages=10),
        True,
        0,
        "The context was 100% full (10/10 messages), and everything is recent",
    ),
    "nothing was said": Case(
        0, 100, 128_000, Limits(), False, 0, "The context was 0% full (100/128K tokens)"
    ),
    "one giant exchange": Case(
        2,
        110_000,
        128_000,
        Limits(),
        True,
        2,
        "The context was 86% full (110K/128K tokens)",
        110_000,
    ),
}


def planned(case: Case) -> Plan:
    return plan(talk(case.messages, case.size), case.window, case.limits, COUNT, used=case.used)


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_what_the_seeds_say(case: Case) -> None:
    found = planned(case)
    assert (messages_in(found.compact), found.reason) == (case.compacts, case.reason)
    near = nearest_limit(case.used, case.messages, case.window, case.limits)[0]
    assert (near >= 1) == case.due
    if case.due:
        assert (*found.compact, *found.keep) == talk(case.messages, case.size)
        assert (
            messages_in(found.keep) >= min(case.messages, 10)
            or not case.messages
            or case.size > 600
        )


def test_the_oldest_are_compacted() -> None:
    found = planned(CASES["80 % of 128K"])
    assert [one.query.number for one in found.compact] == list(range(1, 21))
    assert planned(CASES["79 % of 128K"]).compact == ()


def test_a_reply_has_room_in_any_window() -> None:
    assert [window - room(window) for window in (2_048, 8_192, 16_384, 128_000, 1_000_000)] == [
        409,
        1_638,
        3_276,
        8_192,
        8_192,
    ]
    assert [trigger(window, Limits()) for window in (8_192, 128_000)] == [6_553, 102_400]
    assert trigger(16_384, Limits(trigger_threshold=1.0)) == room(16_384) == 13_108
    assert [ledger_room(window, Limits()) for window in (8_192, 16_384, 128_000)] == [
        2_826,
        5_652,
        12_000,
    ]


def test_the_nearest_limit_counts() -> None:
    limits = Limits(max_messages=20, max_tokens=1_000)
    assert nearest_limit(400, 10, 128_000, limits)[1:] == (10, 20, "messages")
    assert nearest_limit(900, 10, 128_000, limits)[1:] == (900, 1_000, "tokens")
    assert nearest_limit(900, 10, 128_000, limits)[0] == 0.9 / 0.8
    assert nearest_limit(900, 0, 1_000, Limits())[0] == 900 / 800


def test_what_an_ancestor_said_is_compacted_before_the_sessions_own() -> None:
    carried = tuple(exchange(number, 600, depth=1) for number in range(5, 15))
    own = tuple(exchange(number, 600, depth=2) for number in range(1, 8))
    found = plan((*carried, *own), 14_000, Limits(), COUNT, used=12_000, carried=10)
    assert found.keep == own[-len(found.keep) :]
    assert len(found.keep) >= 5
    assert found.compact[:10] == carried


def test_a_restored_block_does_not_count_twice() -> None:
    """The new block replaces it, so it takes no room from the words; all other tokens do."""
    whole = talk(240, 200)
    limits = Limits(compact_ratio=0.1)
    spoken = sum(exchange_tokens(each, COUNT) for each in whole)
    alone = plan(whole, 30_000, limits, COUNT, used=spoken)
    restored = plan(whole, 30_000, limits, COUNT, used=spoken + 3_000, restored=3_000)
    beside = plan(whole, 30_000, limits, COUNT, used=spoken + 3_000)
    assert [len(found.keep) for found in (alone, restored, beside)] == [33, 33, 18]


def test_a_stronger_compression_compacts_more() -> None:
    whole = talk(240, 200)
    spoken = sum(exchange_tokens(each, COUNT) for each in whole)
    kept = [
        len(
            plan(
                whole,
                30_000,
                Limits(target_compression=share, compact_ratio=0.1),
                COUNT,
                used=spoken,
            ).keep
        )
        for share in (1.0, 0.75, 0.6)
    ]
    assert kept[0] > kept[1] > kept[2] > 0


@pytest.mark.parametrize(("exchanges", "kept"), [(1, 0), (3, 0), (4, 1), (5, 1), (20, 5), (100, 5)])
def test_a_compaction_that_was_asked_for_keeps_the_newest_quarter_at_most_the_recent_ones(
    exchanges: int, kept: int
) -> None:
    found = plan_requested(talk(exchanges * 2), 128_000, Limits(), COUNT)
    assert (len(found.keep), len(found.compact)) == (kept, exchanges - kept)


def test_a_compaction_that_was_asked_for_keeps_little_of_long_words() -> None:
    found = plan_requested(talk(40, 2_000), 200_000, Limits(), COUNT)
    assert len(found.keep) == 1


def test_without_compaction_the_limits_cut_off_the_oldest() -> None:
    whole = talk(41)
    assert newest_within(whole, Limits(max_messages=20), COUNT) == whole[-10:]
    assert newest_within(whole, Limits(max_tokens=45), COUNT) == whole[-5:]
    assert newest_within(whole, Limits(max_tokens=1), COUNT) == whole[-1:]
    assert newest_within(whole, Limits(), COUNT) == whole


def test_large_arguments_of_tools_leave_with_their_exchanges() -> None:
    """Arguments are sent and count, so compacting their exchanges makes the context small again."""
    at, text = START, " ".join(["line"] * 2_000)
    whole = tuple(
        replace(
            each,
            uses=(
                Use(
                    Call(number=each.query.number, at=at, id="1", name="write_file", arguments=text)
                ),
            ),
        )
        for each in talk(40)
    )
    assert newest_within(whole, Limits(max_tokens=7_000), COUNT) == whole[-3:]
    found = plan(whole, 50_000, Limits(preserve_recent=10), COUNT, used=41_000)
    assert found.compact
    assert len(found.keep) >= 5, "the arguments of old calls would stay"


SIZES = st.lists(st.tuples(st.integers(2, 5_000), st.booleans()), max_size=60)


@given(
    SIZES,
    st.integers(1_000, 200_000),
    st.integers(0, 10),
    st.integers(0, 20),
    st.floats(0.05, 1.0),
    st.floats(0.05, 1.0),
)
def test_whatever_is_planned_nothing_is_lost_and_what_stays_fits(
    sizes: list[tuple[int, bool]],
    window: int,
    carried: int,
    recent: int,
    ratio: float,
    threshold: float,
) -> None:
    exchanges = tuple(
        exchange(number, size, answered=answered)
        for number, (size, answered) in enumerate(sizes, 1)
    )
    carried = min(carried, len(exchanges))
    limits = Limits(compact_ratio=ratio, preserve_recent=recent, trigger_threshold=threshold)
    total = sum(min(words(text) + 4, room(window) // 2) for one in exchanges for text in texts(one))
    found = plan(exchanges, window, limits, COUNT, used=total + 50, carried=carried)
    if total + 50 < trigger(window, limits):
        assert (found.compact, found.keep) == ((), ())
        return
    assert (*found.compact, *found.keep) == exchanges
    if found.compact:
        assert len(found.compact) >= carried
    kept = sum(min(words(text) + 4, room(window) // 2) for one in found.keep for text in texts(one))
    assert not found.compact or kept <= trigger(window, limits)


def texts(one: Exchange) -> tuple[str, ...]:
    return (one.query.text, one.reply.text) if one.reply else (one.query.text,)
