"""One summary block of two branches."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chat_loop.context.merge import merge
from chat_loop.sessions import summary_block
from chat_loop.sessions.records import Summary
from tests.support.scripted_chat import words
from tests.support.strategies import lines

BASE = Summary(
    background="Initial session.",
    topics=("The shop [1.1]",),
    decisions=("We use oak. [1 user]", "We open in May. [1 user]"),
    pending=("Order handles. [1 user]",),
    pinned=("Never on Sundays.", "Be brief."),
    key_facts=("The budget is 8,400 euros. [1 user]", "Lena is the carpenter. [1 reply]"),
    files=("a.py",),
    tools=("read_file: 2 uses (a.py)",),
)


def merged(first: Summary, second: Summary, *, room: int = 1_000) -> Summary:
    return merge(first, second, room, words, fork=1, shift=2)


def test_nothing_new_is_the_base_itself() -> None:
    assert merged(BASE, BASE) == BASE


def test_the_lines_of_both_are_there_once() -> None:
    first = Summary(
        background="The shop is planned.",
        topics=("The shop [1.1]", "A loan [2.1, 3.2]"),
        decisions=("We use oak. [1 user]", "We hire Tom. [2 user]"),
        pending=("Call the bank. [2 user]",),
        pinned=("Never on Sundays.", "Use metres."),
        key_facts=("Lena is the carpenter. [1 reply]", "The loan is 5,000 euros. [3 user]"),
        files=("a.py", "b.py"),
        tools=("read_file: 5 uses (a.py; b.py)",),
    )
    second = Summary(
        background="Initial session.",
        topics=("The shop [1.1]", "Paint [2.1-2.3]", "Done [3]"),
        decisions=("We use oak. [1 user]", "Walls are white. [2 reply]", "By hand [2.2]"),
        pending=("Buy paint. [2 user]",),
        pinned=("Be brief.", "Use metres."),
        key_facts=("The budget is 8,400 euros. [1 user]", "Paint needs 4 litres. [2 user]"),
        files=("a.py", "c.py"),
        tools=("read_file: 3 uses (a.py; c.py)", "run: 1 use"),
    )
    assert merged(first, second) == Summary(
        background="The shop is planned.",
        topics=("The shop [1.1]", "A loan [2.1, 3.2]", "Paint [4.1-4.3]", "Done [3]"),
        decisions=(
            *("We use oak. [1 user]", "We hire Tom. [2 user]"),
            *("Walls are white. [4 reply]", "By hand [4.2]"),
        ),
        pending=("Call the bank. [2 user]", "Buy paint. [4 user]"),
        pinned=("Never on Sundays.", "Use metres.", "Be brief."),
        key_facts=(
            *("The budget is 8,400 euros. [1 user]", "Lena is the carpenter. [1 reply]"),
            *("The loan is 5,000 euros. [3 user]", "Paint needs 4 litres. [4 user]"),
        ),
        files=("a.py", "b.py", "c.py"),
        tools=("read_file: 5 uses (a.py; b.py)", "run: 1 use"),
    )


@pytest.mark.parametrize(
    ("one", "other", "left"),
    [
        ("The port is 5432. [1 user]", "Correction: the port is 6000. [2 user]", 1),
        ("Correction: the port is 5544. [2 user]", "The port is 5432. [1 user]", 1),
        ("Now the port is 5544. [2 user]", "The port is 6000. [2 user]", 2),
    ],
)
def test_a_correction_holds_in_both_branches(one: str, other: str, left: int) -> None:
    both = merged(Summary(key_facts=(one,)), Summary(key_facts=(other,)))
    assert len(both.key_facts) == left
    assert "Correction" in both.key_facts[-1] or left == 2


def test_a_merged_block_fits_its_room() -> None:
    facts = tuple(
        f"The lamp in room {number} has {number + 7} watts. [1 user]" for number in range(60)
    )
    both = merged(Summary(key_facts=facts[:40]), Summary(key_facts=facts[30:]), room=100)
    assert 5 < len(both.key_facts) < 15


LISTS = st.lists(lines, max_size=4, unique=True).map(tuple)


BLOCKS = st.builds(
    Summary, background=lines, topics=LISTS, decisions=LISTS, pending=LISTS, key_facts=LISTS, pinned=LISTS,
    files=LISTS, tools=LISTS,
)  # fmt: skip


@given(BLOCKS, BLOCKS, st.integers(0, 200))
def test_whatever_is_merged_is_a_block(first: Summary, second: Summary, room: int) -> None:
    both = merged(first, second, room=room)
    assert summary_block.parse(summary_block.render(both)) == both
    assert {*both.pinned} == {*first.pinned, *second.pinned}
