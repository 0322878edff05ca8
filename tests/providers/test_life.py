"""What arrives is a sign of life, and a reply ends when the model has said why it stopped."""

from __future__ import annotations

import asyncio
import gzip
import json
import zlib
from collections.abc import AsyncIterator, Sequence

import pytest

from benchmarks.support.loopback import Loopback, Reply
from chat_loop.agent.ask import CallLimits, ask
from chat_loop.errors import EmptyReply, ProviderError, RequestRejected, StreamBroken, TimedOut
from chat_loop.events import Arriving, Event, Finished, TextDelta, ThinkingDelta, ToolCalled
from chat_loop.providers import Provider
from chat_loop.providers.replies import Joiner
from chat_loop.providers.replies import ReplyStream as State
from chat_loop.values import Message, Request, ToolCall, ToolSpec, Usage, Window
from tests.support.providers import (
    MakeProvider,
    anthropic_at,
    closing,
    compatible_at,
    host,
    openai_at,
    outcome_of,
)

MAKERS = pytest.mark.parametrize("make", [anthropic_at, compatible_at])
USAGE = Usage(input=3, output=2)
REQUEST = Request(system="", messages=(Message("user", "Hi"),))
SEARCH = ToolSpec("search", "Searches.", {"type": "object"})


class Timed(Provider):
    """A provider whose events come after pauses, in seconds of a clock that runs at once."""

    name, model = "timed", "test"
    window = Window(1000)

    def __init__(self, *steps: Event | float) -> None:
        self._steps = steps

    async def stream(self, request: Request) -> AsyncIterator[Event]:
        for step in self._steps:
            if isinstance(step, float):
                await asyncio.sleep(step)
            else:
                yield step


class QuickClock(asyncio.SelectorEventLoop):
    """An event loop whose clock jumps to the next timer instead of waiting for it."""

    def __init__(self) -> None:
        super().__init__()
        self._jumped = 0.0

    def time(self) -> float:
        return super().time() + self._jumped

    def _run_once(self) -> None:
        timers = self._scheduled  # type: ignore[attr-defined]
        due = [timer.when() for timer in timers if not timer.cancelled()]
        if due and not self._ready:  # type: ignore[attr-defined]
            self._jumped += max(0.0, min(due) - self.time())
        super()._run_once()  # type: ignore[misc]


def asked(*steps: Event | float, first: float = 120.0) -> tuple[list[Event], ProviderError | None]:
    """Return what one attempt to ask a provider yields, and its error."""
    provider = Timed(*steps)
    provider.first_event_seconds = first
    events: list[Event] = []

    async def run() -> ProviderError | None:
        try:
            async for event in ask(provider, REQUEST, CallLimits(attempts=1)):
                events.append(event)
        except ProviderError as error:
            return error
        return None

    with asyncio.Runner(loop_factory=QuickClock) as runner:
        return events, runner.run(run())


ALIVE, WRITING = Arriving(), Arriving(name="write_file", characters=9)
WORD, END = TextDelta("Hi"), Finished(stop="end")


def test_what_arrives_unseen_keeps_a_reply_alive() -> None:
    writing = [step for _ in range(50) for step in (80.0, WRITING)]
    pinging = [step for _ in range(20) for step in (80.0, ALIVE)]

    assert asked(100.0, WORD, *writing, END) == ([WORD, *[WRITING] * 50, END], None)
    assert asked(100.0, ALIVE, 100.0, WORD, *pinging, END) == ([WORD, END], None)
    assert asked(500.0, WORD, 500.0, END, first=600.0) == ([WORD, END], None)


@pytest.mark.parametrize(
    ("steps", "sentence"),
    [
        ((121.0, WORD), "The model sent nothing for 120 seconds."),
        ((9.0, ALIVE, 121.0), "The model sent no word, and then nothing for 120 seconds."),
        ((9.0, WORD, 91.0), "The reply stopped: nothing came for 90 seconds."),
        ((9.0, WORD, 60.0, ALIVE, 91.0), "The reply stopped: nothing came for 90 seconds."),
        ((60.0, ALIVE) * 31, "The connection is alive, but no word came for 30 minutes."),
        ((WORD, *(60.0, ALIVE) * 31), "The connection is alive, but no word came for 30 minutes."),
    ],
)
def test_each_silence_has_its_limit_and_its_sentence(
    steps: Sequence[Event | float], sentence: str
) -> None:
    _, error = asked(*steps, END)

    assert isinstance(error, TimedOut)
    assert error.message == sentence


@pytest.mark.parametrize(
    ("events", "sentence"),
    [
        ((), "The model returned an empty reply."),
        ((TextDelta("\n \n"),), "The model returned an empty reply."),
        ((ThinkingDelta("It is 42."),), "The model returned only reasoning, and no answer."),
    ],
)
def test_a_reply_without_a_word_is_a_failure(events: Sequence[Event], sentence: str) -> None:
    told, error = asked(*events, Finished(stop="end", usage=USAGE))

    assert told == list(events)
    assert isinstance(error, EmptyReply)
    assert (error.message, error.usage) == (sentence, USAGE)


@pytest.mark.parametrize("stop", ["length", "refusal"])
def test_a_reply_that_was_cut_before_its_first_word_says_so_itself(stop: str) -> None:
    end = Finished(stop=stop)  # type: ignore[arg-type]
    assert asked(ThinkingDelta("Hm."), end) == ([ThinkingDelta("Hm."), end], None)


@MAKERS
def test_the_arguments_of_a_call_are_shown_as_they_arrive(
    server: Loopback, make: MakeProvider
) -> None:
    call = ToolCall("a", "search", '{"query": "tides"}')
    server.enqueue(Reply(calls=(call,), stall_after=1))

    async def run() -> list[Event]:
        provider = make(server.url)
        request = Request(system="", messages=REQUEST.messages, tools=(SEARCH,))
        async with closing(provider, request) as stream:
            events: list[Event] = []
            async for event in stream:
                events.append(event)
                if isinstance(event, Arriving) and event.name:
                    await asyncio.to_thread(server.stalled)
                    server.release()
        await provider.close()
        return events

    events = asyncio.run(run())

    sizes = [event.characters for event in events if isinstance(event, Arriving) and event.name]
    assert sizes[0] == len("search") + len(call.arguments) // 2
    assert sizes == sorted(set(sizes))
    assert [event.call for event in events if isinstance(event, ToolCalled)] == [call]


@MAKERS
def test_a_stop_reason_ends_the_reply_although_the_connection_stays_open(
    server: Loopback, make: MakeProvider
) -> None:
    stop = {
        "anthropic": '{"type": "message_delta", "delta": {"stop_reason": "end_turn"}}',
        "openai": '{"choices": [{"delta": {}, "finish_reason": "stop"}]}',
    }
    raw = stop["anthropic" if make is anthropic_at else "openai"]
    server.enqueue(Reply(chunks=("Hi",), raw=(raw,), stall_after=2, usage=None))

    events, error = outcome_of(make(server.url))

    assert error is None
    assert events == [TextDelta("Hi"), Finished(stop="end")]
    server.left()


def sse(*contents: str) -> bytes:
    events = [json.dumps({"choices": [{"delta": {"content": content}}]}) for content in contents]
    events += ['{"choices": [{"delta": {}, "finish_reason": "stop"}]}', "[DONE]"]
    return "".join(f"data: {event}\n\n" for event in events).encode()


def text_of(server: Loopback, body: bytes, **headers: str) -> str:
    """Return the text of a reply with this body."""
    server.enqueue(Reply(body=body, headers={"content-type": "text/event-stream", **headers}))
    events, error = outcome_of(compatible_at(server.url))
    assert error is None
    return "".join(event.text for event in events if isinstance(event, TextDelta))


def test_a_bad_byte_and_a_huge_number_cost_only_themselves(server: Loopback) -> None:
    bad = sse("aXb").replace(b"X", b"\xff")
    control = sse("aXb").replace(b"X", b"\x01")
    nines = "9" * 5000
    usage = f'data: {{"choices": [], "usage": {{"prompt_tokens": {nines}}}}}\n\n'.encode()

    assert text_of(server, bad) == "a\ufffdb"
    assert text_of(server, control) == "a\x01b"
    assert text_of(server, usage + sse("ab")) == "ab"


def test_a_packed_reply_is_unpacked(server: Loopback) -> None:
    text = "é" * 100_000
    assert text_of(server, gzip.compress(sse(text)), **{"content-encoding": "gzip"}) == text
    assert text_of(server, zlib.compress(sse(text)), **{"content-encoding": "deflate"}) == text


TEXT = "aé日🙂\U0010ffff z"


@pytest.mark.parametrize("begin", range(len(TEXT.encode()) + 1))
def test_a_character_that_the_server_cut_is_put_together(begin: int) -> None:
    data = TEXT.encode()
    for end in range(begin, len(data) + 1):
        parts = (data[:begin], data[begin:end], data[end:])
        state = State()
        told: list[Event] = []
        for part in parts:
            state.add_text(part.decode("utf-8", "surrogateescape"))
            told += list(state.take_deltas())
        told += [event for event in state.final_events(with_calls=False) if event != END]
        assert "".join(event.text for event in told if isinstance(event, TextDelta)) == TEXT


def test_a_half_without_its_other_half_is_replaced() -> None:
    for half in ("\ud83d", "\ude00", "\udcff"):
        joiner = Joiner()
        joined = joiner.feed(f"a{half}") + joiner.feed("b") + joiner.feed("", last=True)
        assert joined == "a\ufffdb"


def calls_of(*pieces: tuple[object, str, str, str]) -> list[tuple[str, str]]:
    state = State()
    for piece in pieces:
        state.calls.add(*piece)
    return [(call.name, call.arguments) for call in state.calls.complete()]


def test_two_calls_with_one_id_stay_two() -> None:
    whole = calls_of((0, "x", "read", '{"a": 1}'), (1, "x", "read", '{"b": 2}'))
    cut = calls_of(
        (0, "x", "read", ""), (1, "x", "read", ""), (0, "x", "", '{"a":'), (1, "x", "", '{"b":'),
        (0, "", "", " 1}"), (1, "", "", " 2}"),
    )  # fmt: skip
    one = calls_of((0, "x", "read", '{"a":'), (1, "x", "", " 1}"))

    assert whole == [("read", '{"a": 1}'), ("read", '{"b": 2}')]
    assert cut == [("read", '{"a": 1}'), ("read", '{"b": 2}')]
    assert one == [("read", '{"a": 1}')]


def test_a_reply_ends_at_8_mb_and_keeps_them(server: Loopback) -> None:
    server.enqueue(Reply(chunks=("x" * (1 << 20),) * 12))

    events, error = outcome_of(openai_at(server.url))

    assert isinstance(error, StreamBroken)
    assert error.message == f"{host(server)} sent more than 8 MB in one reply."
    [kept] = events
    assert isinstance(kept, TextDelta)
    assert 8 << 20 < len(kept.text) <= 9 << 20


@pytest.mark.slow
@pytest.mark.parametrize(
    "filling", [pytest.param(b"\n", marks=pytest.mark.slow), b": ping\n\n", b"data: x"]
)
def test_what_never_becomes_an_event_is_given_up(server: Loopback, filling: bytes) -> None:
    body = gzip.compress(filling * (10_000_000 // len(filling)), 1)
    headers = {"content-type": "text/event-stream", "content-encoding": "gzip"}
    server.enqueue(Reply(body=body, headers=headers))

    _, error = outcome_of(openai_at(server.url))

    assert isinstance(error, RequestRejected)
    assert error.message == f"{host(server)} sent more than 8 MB in one event."


def test_other_tasks_get_their_turns_during_a_flood(server: Loopback) -> None:
    """A task that does nothing but wait for its turn gets one for each piece of a flood."""
    flood = gzip.compress(sse(*["word\n"] * 10_000), 1)
    headers = {"content-type": "text/event-stream", "content-encoding": "gzip"}
    server.enqueue(Reply(body=flood, headers=headers))
    turns = 0

    async def count() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    async def run() -> list[int]:
        provider = compatible_at(server.url)
        counting = asyncio.ensure_future(count())
        sizes = []
        before = 0
        async with closing(provider) as stream:
            async for event in stream:
                if isinstance(event, TextDelta):
                    sizes.append(len(event.text))
                    assert turns > before, "the loop stood still between two deltas"
                    before = turns
        counting.cancel()
        await provider.close()
        return sizes

    sizes = asyncio.run(run())
    assert sum(sizes) == 5 * 10_000
    assert max(sizes) <= 16 << 10
