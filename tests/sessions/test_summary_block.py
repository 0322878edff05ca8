"""The summary block is read as it was written."""

from __future__ import annotations

from hypothesis import given

from chat_loop.sessions import summary_block
from chat_loop.sessions.records import (
    Summary,
)
from tests.support.strategies import summaries


@given(summaries)
def test_law_of_the_summary_block(summary: Summary) -> None:
    assert summary_block.parse(summary_block.render(summary)) == summary
