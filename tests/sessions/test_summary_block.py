"""The summary block is read as it was written."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from chat_loop.sessions import summary_block
from chat_loop.sessions.records import Summary
from tests.support.strategies import summaries


@given(summaries, st.integers(0, 3))
def test_law_of_the_summary_block(summary: Summary, decided: int) -> None:
    pins = tuple(f"{summary_block.DECIDED}{pin}" for pin in summary.pinned[:decided])
    summary = replace(summary, pinned=(*pins, *summary.pinned[decided:]))
    for grouped in (True, False):
        text = summary_block.render(summary, grouped=grouped)
        assert summary_block.parse(text) == summary


EDITED = """\
## Background
We build a boat.

# Topics
* Wood [1.1]
1. Sails [1.2]
2) Ropes
   and knots

Decisions made:
\u2022 Oak it is.
We use port 4711.

### **Pending**
- Call the yard.

Notes of mine:
nothing else
"""


def test_an_edited_block_is_read_as_what_a_person_means() -> None:
    assert summary_block.parse(EDITED) == Summary(
        background="We build a boat.",
        topics=("Wood [1.1]", "Sails [1.2]", "Ropes\n and knots"),
        decisions=("Oak it is.\nWe use port 4711.",),
        pending=("Call the yard.\nNotes of mine:\nnothing else",),
    )


@pytest.mark.parametrize("text", ["we use port 4711", "- we use port 4711", "Port: 4711\nPinned"])
def test_free_text_is_the_background(text: str) -> None:
    assert summary_block.parse(text) == Summary(background=text)


def test_a_plain_word_of_a_heading_is_no_heading() -> None:
    text = "**Pending:**\n- Call the yard,\n  **Pinned:**\n  Pinned\nPinned is a word."
    (item,) = summary_block.parse(text).pending
    assert item == "Call the yard,\n**Pinned:**\nPinned\nPinned is a word."


def test_what_was_recorded_with_decide_stands_among_the_decisions() -> None:
    summary = Summary(
        decisions=("Oak it is. [1 user]",),
        pinned=("Decision: port 6000.", "Decision: a\n- b", "The code is 4711.", "Decision: late."),
    )
    text = summary_block.render(summary)
    assert "- Oak it is. [1 user]\n*Recorded with /decide:*\n- Decision: port 6000.\n" in text
    assert "**Pinned:**\n- The code is 4711.\n- Decision: late." in text
    alone = summary_block.render(Summary(pinned=summary.pinned[:1]))
    assert "**Decisions Made:**\n*Recorded with /decide:*\n- Decision: port 6000.\n\n" in alone
    assert summary_block.parse(text) == summary
