"""How the bytes of a reply are read: events in any form, in pieces of any size."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.support.loopback import Loopback, Reply
from chat_loop.events import Finished, TextDelta
from tests.support.providers import REQUEST, MakeProvider, anthropic_at, calling, openai_at

SSE = {"content-type": "text/event-stream"}


def test_the_data_of_an_event_may_stand_on_several_lines(server: Loopback) -> None:
    """Between events there may be comments, ids and events of other kinds."""

    @given(
        st.lists(st.text(min_size=1, max_size=9), max_size=4),
        st.sampled_from([None, 1, 4]),
        st.sampled_from(["\n", "\r\n"]),
    )
    def check(texts: list[str], indent: int | None, end: str) -> None:
        lines = ["event: chunk", ": a comment", "id: 3"]
        for text in (*texts, "."):
            chunk = {"choices": [{"delta": {"content": text}, "finish_reason": "stop"}]}
            parts = json.dumps(chunk, indent=indent).split("\n")
            lines += [f"data: {part}" for part in parts] + [""]
        body = end.join([*lines, "data: [DONE]"]).encode()
        server.enqueue(Reply(body=body, headers=SSE))

        events, error = call(REQUEST)

        assert error is None
        assert events == [TextDelta("".join([*texts, "."])), Finished(stop="end")]

    with calling(openai_at(server.url)) as call:
        check()


@pytest.mark.parametrize("make", [anthropic_at, openai_at])
def test_characters_may_be_split_between_writes(server: Loopback, make: MakeProvider) -> None:
    text = "é🎉\u2028x日本"
    with calling(make(server.url)) as call:
        for size in (1, 2, 3, 7):
            server.enqueue(Reply(chunks=(text,), usage=None, split=size))
            assert call(REQUEST) == ([TextDelta(text), Finished(stop="end")], None)
