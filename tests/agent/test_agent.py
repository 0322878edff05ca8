"""Tools from the model's call to the transcript: the agent's loop and the records of a turn."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from benchmarks.support.loopback import Loopback
from benchmarks.support.loopback import Reply as Sent
from benchmarks.support.loopback_wires import unmarked
from chat_loop.agent.agent import MAX_STEPS, ModelAgent
from chat_loop.agent.ask import CallLimits
from chat_loop.agent.tools import MAX_RESULT, STEP_LIMIT_RESULT, Tool
from chat_loop.context.exchanges import NO_REPLY, call_id
from chat_loop.errors import EmptyReply, Overloaded, SessionError, StreamBroken
from chat_loop.events import (
    Event,
    Finished,
    ReplyEnded,
    TextDelta,
    ToolCalled,
    ToolReturned,
)
from chat_loop.providers import Provider
from chat_loop.sessions.records import Query, Reply, Use
from chat_loop.values import (
    Message,
    Request,
    ToolCall,
    ToolResult,
    ToolSpec,
    Usage,
    Window,
)
from tests.support.agent_turns import Turns, agent_of, events_of
from tests.support.providers import anthropic_at, clear_environment, openai_at
from tests.support.scripted import ScriptedProvider, Step
from tests.support.scripted_chat import START, Clock

HELLO = (Message("user", "Hello"),)
SCHEMA = {
    "type": "object",
    "properties": {"query": {"type": "string"}, "limit": {"type": "integer"}},
    "required": ["query"],
    "additionalProperties": False,
}


def tool(run: Callable[[Mapping[str, object]], Awaitable[str]], name: str = "search") -> Tool:
    return Tool(ToolSpec(name, f"It is {name}.", SCHEMA), run)


async def echo(given: Mapping[str, object]) -> str:
    return f"Found {given['query']}."


def calling(*arguments: str, text: str = "", name: str = "search") -> Message:
    """A step of the script with a call for each of `arguments`, and ids unlike the program's."""
    calls = tuple(
        ToolCall(f"toolu_{number}", name, given) for number, given in enumerate(arguments)
    )
    return Message("assistant", text, calls=calls)


def scripted(*steps: Step, calls_tools: bool = True, window: int = 128_000) -> ScriptedProvider:
    return ScriptedProvider(steps=steps, calls_tools=calls_tools, window=Window(window))


def run(agent: ModelAgent, messages: tuple[Message, ...] = HELLO, **more: Any) -> list[Event]:
    return asyncio.run(events_of(agent, *messages, **more))


def returned(events: list[Event]) -> list[tuple[str, str, bool]]:
    return [
        (event.id, event.text, event.failed) for event in events if isinstance(event, ToolReturned)
    ]


def test_the_agent_runs_what_is_called_and_asks_again() -> None:
    provider = scripted(
        calling('{"query": "boats"}', '{"query": "bread"}', text="I look. "), "Both were found."
    )
    events = run(agent_of(provider, tool(echo)), max_tokens=50)

    one, two = (
        ToolCall("c1", "search", '{"query": "boats"}'),
        ToolCall("c2", "search", '{"query": "bread"}'),
    )
    assert events == [
        TextDelta("I "),
        TextDelta("look. "),
        ToolCalled(one),
        ToolCalled(two),
        Finished(stop="tool", usage=Usage(input=3, output=8)),
        ToolReturned(id="c1", name="search", text="Found boats.", failed=False, seconds=0.0),
        ToolReturned(id="c2", name="search", text="Found bread.", failed=False, seconds=0.0),
        TextDelta("Both "),
        TextDelta("were "),
        TextDelta("found."),
        Finished(stop="end", usage=Usage(input=15, output=3, cached=3)),
    ]
    specs = (ToolSpec("search", "It is search.", SCHEMA),)
    first = Request(system="Be kind.", messages=HELLO, max_tokens=50, tools=specs)
    used = (
        *HELLO,
        Message("assistant", "I look. ", calls=(one, two)),
        Message(
            "user", "", results=(ToolResult("c1", "Found boats."), ToolResult("c2", "Found bread."))
        ),
    )
    second = Request(system="Be kind.", messages=used, max_tokens=50, tools=specs)
    assert provider.requests == [first, second]


def test_calls_run_at_the_same_time_and_results_come_as_they_return() -> None:
    async def collect() -> list[Event]:
        bread = asyncio.Event()

        async def wait(given: Mapping[str, object]) -> str:
            if given["query"] == "bread":
                bread.set()
            else:
                await bread.wait()
            return f"Found {given['query']}."

        agent = agent_of(provider, tool(wait))
        return await events_of(agent, *HELLO)

    provider = scripted(calling('{"query": "boats"}', '{"query": "bread"}'), "Done.")
    assert returned(asyncio.run(collect())) == [
        ("c2", "Found bread.", False),
        ("c1", "Found boats.", False),
    ]
    assert [result.id for result in provider.requests[1].messages[-1].results] == ["c1", "c2"]


@pytest.mark.parametrize(
    ("name", "arguments", "text"),
    [
        ("find", "{}", "No tool named find. The tools are: search."),
        ("", "{}", "No tool named unnamed. The tools are: search."),
        ("\x1b[2J rm -rf", "{}", "No tool named __2J_rm_-rf. The tools are: search."),
        ("search", '{"query": "b', "The arguments are not a JSON object. Call the tool again with valid JSON."),
        ("search", "[]", "The arguments are not a JSON object. Call the tool again with valid JSON."),
        ("search", "", "The argument “query” is missing. Call the tool again."),
        ("search", '{"query": 3}', "The argument “query” must be of type string. Call the tool again."),
        ("search", '{"query": "x", "limit": true}', "The argument “limit” must be of type integer. Call the tool again."),
        (
            "search",
            '{"query": "x", "deep": 1}',
            "No argument named “deep”; there are: query, limit. Call the tool again.",
        ),
    ],
)  # fmt: skip
def test_a_call_that_cannot_be_run_is_told_to_the_model(
    name: str, arguments: str, text: str
) -> None:
    provider = scripted(calling(arguments, name=name), "Sorry.")
    events = run(agent_of(provider, tool(echo)))
    assert returned(events) == [("c1", text, True)]
    assert events[-1] == Finished(
        stop="end", usage=Usage(input=provider_words(provider), output=1, cached=3)
    )
    assert provider.requests[1].messages[-1].results == (ToolResult("c1", text, failed=True),)


def provider_words(provider: ScriptedProvider) -> int:
    """The number of words in the last request, which the script reports as tokens."""
    request = provider.requests[-1]
    return len(request.system.split()) + sum(
        len(message.whole.split()) for message in request.messages
    )


def test_a_tool_that_fails_says_why_and_the_others_go_on() -> None:
    async def pick(given: Mapping[str, object]) -> str:
        if given["query"] == "slow":
            await asyncio.Event().wait()
        if given["query"] == "bad":
            raise SessionError("There is no place 9.9.", "The last is 2.14.")
        if given["query"] == "network":
            raise TimeoutError(110, "Connection timed out")
        if given["query"] == "disk":
            raise OSError(5, "Input/output error")
        return ""

    queries = ("slow", "bad", "empty", "disk", "network")
    provider = scripted(calling(*(f'{{"query": "{query}"}}' for query in queries)), "Sorry.")
    events = run(agent_of(provider, tool(pick), seconds=0.01))
    assert sorted(returned(events)) == [
        ("c1", "search took longer than 0 seconds and was stopped.", True),
        ("c2", "There is no place 9.9. The last is 2.14.", True),
        ("c3", "(nothing)", False),
        ("c4", "search failed: input/output error.", True),
        ("c5", "search failed: connection timed out.", True),
    ]


@pytest.mark.parametrize(("window", "most"), [(128_000, MAX_RESULT), (8_192, 2_048)])
def test_a_long_result_is_kept_whole_and_given_in_part(window: int, most: int) -> None:
    async def much(given: Mapping[str, object]) -> str:
        return "x" * 100_000

    agent = agent_of(scripted(calling('{"query": ""}'), "Done.", window=window), tool(much))
    [result] = [event for event in run(agent) if isinstance(event, ToolReturned)]
    assert (result.text, result.given, result.not_kept) == ("x" * 100_000, most, 0)
    assert not result.failed


def test_of_a_huge_result_the_file_gets_a_megabyte() -> None:
    async def much(given: Mapping[str, object]) -> str:
        return "ä" * 2_000_000

    agent = agent_of(scripted(calling('{"query": ""}'), "Done."), tool(much))
    [result] = [event for event in run(agent) if isinstance(event, ToolReturned)]
    assert (result.text, result.given, result.not_kept) == ("ä" * 500_000, MAX_RESULT, 3_000_000)


def test_the_last_calls_of_twelve_steps_are_not_run_and_the_model_has_to_answer() -> None:
    provider = scripted(*[calling('{"query": "more"}')] * MAX_STEPS, "That is all.")
    events = run(agent_of(provider, tool(echo)))
    results = returned(events)
    assert [identity for identity, _, _ in results] == [f"c{number}" for number in range(1, 13)]
    assert [text for _, text, _ in results] == ["Found more."] * 11 + [STEP_LIMIT_RESULT]
    assert [failed for _, _, failed in results] == [False] * 11 + [True]
    assert [len(request.tools) for request in provider.requests] == [1] * 13
    assert isinstance(events[-1], Finished)
    assert events[-1].stop == "end"


def test_a_model_that_calls_where_it_was_to_answer_is_not_obeyed() -> None:
    steps = [calling('{"query": "more"}')] * MAX_STEPS
    told = run(agent_of(scripted(*steps, calling("{}", text="Well.")), tool(echo)))
    assert len(returned(told)) == MAX_STEPS
    assert told[-2:] == [TextDelta("Well."), Finished(stop="end", usage=told[-1].usage)]  # type: ignore[attr-defined]
    with pytest.raises(EmptyReply, match="only called search"):
        run(agent_of(scripted(*steps, calling("{}")), tool(echo)))


@pytest.mark.parametrize(
    ("tools", "calls_tools", "offer"),
    [((), True, True), ((tool(echo),), False, True), ((tool(echo),), True, False)],
)
def test_when_no_calls_are_taken(tools: tuple[Tool, ...], calls_tools: bool, offer: bool) -> None:
    provider = scripted(calling('{"query": "x"}', text="Well."), calls_tools=calls_tools)
    agent = agent_of(provider, *tools)
    assert run(agent, offer_tools=offer) == [
        TextDelta("Well."),
        Finished(stop="end", usage=Usage(input=3, output=4)),
    ]
    specs = tuple(each.spec for each in tools) if calls_tools else ()
    request = Request(system="Be kind.", messages=HELLO, tools=specs, takes_calls=offer)
    assert provider.requests == [request]
    assert agent.calls_tools == (bool(tools) and calls_tools)


class Broken(Provider):
    """A provider whose stream breaks after a call; then it answers."""

    name, model, window, first_event_seconds, calls_tools = (
        "broken",
        "test",
        Window(1000),
        60.0,
        True,
    )
    takes_images = False

    def __init__(self, before: Event) -> None:
        self.before = before
        self.asked = 0

    def warm(self) -> None:
        """Load nothing."""

    def begin_session(self) -> None:
        """Try nothing again."""

    async def close(self) -> None:
        """Close nothing."""

    async def stream(self, request: Request) -> AsyncIterator[Event]:
        self.asked += 1
        yield self.before
        raise StreamBroken("It broke.")


def test_nothing_is_tried_again_after_a_call() -> None:
    provider = Broken(ToolCalled(ToolCall("x", "search", "{}")))
    limits = CallLimits(attempts=3)
    agent = ModelAgent(
        name="Sally", system_prompt="", provider=provider, tools=(tool(echo),), limits=limits
    )
    with pytest.raises(StreamBroken):
        run(agent)
    assert provider.asked == 1


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Loopback]:
    clear_environment(monkeypatch, tmp_path)
    with Loopback() as loopback:
        yield loopback


GOLDEN = Path(__file__).parents[1] / "golden"
TRANSCRIPT = (GOLDEN / "turns/tools.md").read_text("utf-8")


@pytest.mark.parametrize("make", [anthropic_at, pytest.param(openai_at, marks=pytest.mark.slow)])
def test_a_turn_with_tools_over_a_real_wire_whole(
    server: Loopback, tmp_path: Path, make: Callable[[str], Provider]
) -> None:
    clock = Clock()

    async def slow(given: Mapping[str, object]) -> str:
        clock.seconds += 3
        return await echo(given)

    boats, broken = (
        ToolCall("x", "search", '{"query": "böats"}'),
        ToolCall("y", "search", '{"query":'),
    )
    bread = ToolCall("z", "search", '{"query": "bread"}')
    server.enqueue(
        Sent(
            chunks=("I ", "look."),
            calls=(boats, broken),
            usage=Usage(input=30, output=20, cached=10),
        ),
        Sent(calls=(bread,), usage=None),
        Sent(chunks=("Boats ", "and bread."), usage=Usage(input=60, output=5)),
        Sent(chunks=("Yes.",), usage=Usage(input=90, output=2)),
    )
    turns = Turns(tmp_path / "sessions", make(server.url), tool(slow), clock=clock)
    reply, _ = turns.say("What of boats and bread?", "Sure?")
    assert turns.text[: len(TRANSCRIPT)] == TRANSCRIPT
    whole = Usage(input=97, output=28, cached=10, estimated=True)
    assert reply == Reply(
        number=1, at=START, text="I look.\n\nBoats and bread.", stop="end", seconds=6.0, usage=whole
    )
    [exchange, _] = turns.live.session.exchanges
    assert exchange.reply == reply
    assert [(use.call.id, use.result.text if use.result else None) for use in exchange.uses] == [
        ("c1", "Found böats."),
        ("c2", "The arguments are not a JSON object. Call the tool again with valid JSON."),
        ("c3", "Found bread."),
    ]
    assert turns.ended == [
        ReplyEnded(number=1, stop="end", usage=whole, seconds=6.0),
        ReplyEnded(number=2, stop="end", usage=Usage(input=90, output=2), seconds=0.0),
    ]
    _, _, third, fourth = [unmarked(request.body["messages"]) for request in server.requests]
    assert fourth[: len(third)] == third, "what was sent once is sent again as it was"
    assert fourth[len(third) :] == [
        {"role": "assistant", "content": "Boats and bread."},
        {"role": "user", "content": "Sure?"},
    ]


def test_the_time_of_a_reply_and_its_tools_is_without_the_users_answer(
    tmp_path: Path, server: Loopback
) -> None:
    clock = Clock()

    async def slow(given: Mapping[str, object]) -> str:
        clock.seconds += 3
        return "Found."

    async def approve(tool: Tool, text: str) -> bool:
        clock.seconds += 60
        return True

    server.enqueue(
        Sent(calls=(ToolCall("x", "search", '{"query": "boats"}'),)), Sent(chunks=("Boats.",))
    )
    asking = replace(tool(slow), prepare=lambda given: "Search?")
    turns = Turns(tmp_path / "sessions", openai_at(server.url), asking, clock=clock)
    turns.agent = replace(turns.agent, approve=approve)
    reply, *_ = turns.say("What of boats?")
    assert reply.seconds == 3.0
    [exchange] = turns.live.session.exchanges
    assert [use.result and use.result.seconds for use in exchange.uses] == [3.0]


def test_an_acknowledgment_gets_the_tools_of_later_requests(tmp_path: Path) -> None:
    provider = scripted("Ready.")
    turns = Turns(tmp_path, provider, tool(echo))
    turns.live.add(Query(number=1, at=START, text="Hello"))
    reply = asyncio.run(turns.answer(0))
    assert (reply.number, reply.text) == (0, "Ready.")
    assert provider.requests[0].tools == (turns.agent.tools[0].spec,)


STOPPED = (GOLDEN / "turns/stopped.md").read_text("utf-8")


async def test_ctrl_c_while_a_tool_runs(tmp_path: Path) -> None:
    clock = Clock()
    provider = scripted(calling('{"query": "quick"}', '{"query": "slow"}', text="I look."), "Fine.")
    states: list[str] = []

    async def search(given: Mapping[str, object]) -> str:
        if given["query"] == "slow":
            states.append(turns.text)
            try:
                await asyncio.Event().wait()
            finally:
                states.append("cancelled")
        return await echo(given)

    turns = Turns(tmp_path, provider, tool(search), clock=clock)

    task = asyncio.ensure_future(turns.ask("Hello"))
    await turns.at_result.wait()
    clock.seconds += 2
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert turns.text[-len(STOPPED) :] == STOPPED
    await turns.ask("And now?")
    assert states[0].endswith(STOPPED[: STOPPED.index("\n<!-- chat:result")]), (
        "calls are on disk before they run"
    )
    assert states[1:] == ["cancelled"]
    assert turns.ended[0] == ReplyEnded(
        number=1, stop="interrupted", usage=Usage(input=3, output=8), seconds=2.0
    )
    [exchange, _] = turns.live.session.exchanges
    quick, slow = call_id(exchange, 0), call_id(exchange, 1)
    assert provider.requests[1].messages == (
        Message("user", "Hello"),
        Message(
            "assistant",
            "I look.",
            calls=(
                ToolCall(quick, "search", '{"query": "quick"}'),
                ToolCall(slow, "search", '{"query": "slow"}'),
            ),
        ),
        Message(
            "user",
            "",
            results=(
                ToolResult(quick, "Found quick."),
                ToolResult(slow, "interrupted", failed=True),
            ),
        ),
        Message("assistant", NO_REPLY),
        Message("user", "And now?"),
    )


def entries_of(turns: Turns) -> list[tuple[str, ...]]:
    """The entries of a session in short form; `turns.text` checks that the file has the same."""
    assert turns.text
    short: list[tuple[str, ...]] = []
    for entry in turns.live.session.entries:
        match entry:
            case Reply(text=text, stop=stop):
                short.append((text, stop))
            case _:
                short.append((type(entry).__name__, getattr(entry, "text", "")))
    return short


def test_an_error_in_a_later_step_keeps_what_came(tmp_path: Path) -> None:
    turns = Turns(
        tmp_path, scripted(calling('{"query": "x"}'), Overloaded("It is down.")), tool(echo)
    )
    with pytest.raises(Overloaded):
        turns.say("Hello")
    assert entries_of(turns) == [
        ("Query", "Hello"),
        ("", "tool"),
        ("Call", ""),
        ("Result", "Found x."),
        ("", "error"),
    ]
    assert [ended.stop for ended in turns.ended] == ["error"]


def test_calls_of_a_step_that_does_not_end_are_kept_as_interrupted(tmp_path: Path) -> None:
    turns = Turns(tmp_path, Broken(ToolCalled(ToolCall("x", "search", "{}"))), tool(echo))
    with pytest.raises(StreamBroken):
        turns.say("Hello")
    assert entries_of(turns) == [
        ("Query", "Hello"),
        ("", "error"),
        ("Call", ""),
        ("Result", "interrupted"),
    ]
    [exchange] = turns.live.session.exchanges
    assert [type(use) for use in exchange.uses] == [Use]
    identity = call_id(exchange, 0)
    assert turns.messages[1:] == (
        Message("assistant", "", calls=(ToolCall(identity, "search", "{}"),)),
        Message("user", "", results=(ToolResult(identity, "interrupted", failed=True),)),
    )
