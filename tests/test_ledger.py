"""The ledger's lines: how they are written, and how they are found again in a summary block."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from chat_loop.context.ledger import SECTIONS, Item, Section, items, line
from chat_loop.sessions import summary_block
from chat_loop.sessions.records import Exchange, Query, Summary
from tests.strategies import texts
from tests.talking import START


def test_a_line_says_where_and_by_whom() -> None:
    place = Exchange(Query(number=14, at=START, text="?"), depth=2).ref
    assert line("We take oak.", place, "user") == "We take oak. [2 user]"
    assert line("Call Bob.", place, "reply") == "Call Bob. [2 reply]"
    assert line("It is 5 m.", place, "user") == "It is 5 m. [2 user]"
    assert line("It is 6 m.", place, "reply") == "It is 6 m. [2 reply]"


def test_the_lines_of_a_block() -> None:
    summary = Summary(
        topics=("Oak [1.2]",),
        decisions=("We take oak. [1 user]", "Use beech [1.3]"),
        pending=("Call Bob. [1 reply]",),
        pinned=("Pinned. [1 user]",),
        key_facts=("It is [5 m]. [10 user]", "It is 6 m. [10 reply]", ""),
        files=("a.py",),
    )
    assert list(items(summary)) == [
        Item("We take oak. [1 user]", "decisions", "We take oak.", "1", "user"),
        Item("Use beech [1.3]", "decisions", "Use beech [1.3]", "", "narrative"),
        Item("Call Bob. [1 reply]", "pending", "Call Bob.", "1", "reply"),
        Item("It is [5 m]. [10 user]", "key_facts", "It is [5 m].", "10", "user"),
        Item("It is 6 m. [10 reply]", "key_facts", "It is 6 m.", "10", "reply"),
        Item("", "key_facts", "", "", "narrative"),
    ]


@given(
    texts,
    st.integers(1, 99),
    st.integers(1, 9999),
    st.sampled_from(["user", "reply"]),
    st.sampled_from(SECTIONS),
)
def test_a_line_is_read_as_it_was_written(
    text: str, depth: int, number: int, speaker: str, section: Section
) -> None:
    written = line(text, f"{depth}.{number}", speaker)
    summary = replace(Summary(topics=("t",)), **{section: (written,)})
    (item,) = items(summary_block.parse(summary_block.render(summary)))
    assert (item.line, item.text, item.ref, item.speaker) == (written, text, str(depth), speaker)
