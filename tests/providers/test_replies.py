"""Reasoning in the text of a reply, however the stream splits it."""

from __future__ import annotations

import asyncio

import pytest

from benchmarks.support.loopback import Loopback, Reply
from chat_loop.events import TextDelta, ThinkingDelta
from tests.support.providers import REQUEST, Call, calling, closing, compatible_at, words

MAX_BLANK = 256  # characters


def told(call: Call, server: Loopback, pieces: list[str]) -> tuple[str, str]:
    """Return the reasoning and the answer of a reply that arrives in `pieces`."""
    server.enqueue(Reply(chunks=tuple(pieces)))
    events, error = call(REQUEST)
    assert error is None
    thoughts = "".join(event.text for event in events if isinstance(event, ThinkingDelta))
    return thoughts, "".join(event.text for event in events if isinstance(event, TextDelta))


@pytest.mark.parametrize(
    ("text", "reasoning", "answer"),
    [
        ("Hello.", "", "Hello."),
        ("", "", ""),
        ("<think>\nHm.\n</think>\n\nHello.\n", "\nHm.\n", "Hello.\n"),
        ("\n<think></think>\nHello.", "", "Hello."),
        ("<thought>Hm.</thought>Hello.", "Hm.", "Hello."),
        ("[THINK]Hm.[/THINK]Hello.", "Hm.", "Hello."),
        ("<think>Hm. It was cut", "Hm. It was cut", ""),
        ("<think>a </thin b", "a </thin b", ""),
        ("<thinking>Hello.", "", "<thinking>Hello."),
        (
            "In R1 <think> begins it, </think> ends it.",
            "",
            "In R1 <think> begins it, </think> ends it.",
        ),
        ("<think>a</think> b <think>c</think>", "a", "b <think>c</think>"),
        ("<think>a <think> b</think> c", "a <think> b", "c"),
    ],
)
def test_what_is_reasoning_and_what_is_answer(
    server: Loopback, text: str, reasoning: str, answer: str
) -> None:
    with calling(compatible_at(server.url)) as call:
        assert told(call, server, [text]) == (reasoning, answer)
        assert told(call, server, list(text)) == (reasoning, answer)


@pytest.mark.parametrize("begin", ["Hello, ", " " * MAX_BLANK + "\n"])
def test_what_is_known_does_not_wait(server: Loopback, begin: str) -> None:
    """Nor does white space, before which reasoning might begin, wait without end."""
    server.enqueue(Reply(chunks=(begin, "<think>"), stall_after=1, stall_seconds=60))

    async def run() -> list[object]:
        provider = compatible_at(server.url)
        async with closing(provider) as stream:
            events: list[object] = [await anext(words(stream))]
            await asyncio.to_thread(server.stalled)
            server.release()
            events += [event async for event in words(stream)]
        await provider.close()
        return events[:-1]

    assert asyncio.run(run()) == [TextDelta(begin), TextDelta("<think>")]
