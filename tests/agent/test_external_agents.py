"""Agents of other libraries in a conversation: a real pydantic-ai agent, others by interface."""

from __future__ import annotations

import asyncio
import sys
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from chat_loop.agent.agent import ModelAgent
from chat_loop.agent.agent_files import Definition, apply_definition
from chat_loop.agent.external_agents import ExternalProvider
from chat_loop.config import AutoCompactConfig, Config
from chat_loop.conversation.conversation import Conversation
from chat_loop.conversation.conversation_options import Options
from chat_loop.errors import RequestRejected
from chat_loop.events import Event, Finished, SummaryEnded, TextDelta, ToolCalled, ToolReturned
from chat_loop.sessions.manager import SessionManager
from chat_loop.values import Message, Request, ToolCall, Usage
from tests.support.agent_turns import events_of
from tests.support.scripted_chat import SUMMARY, Clock, Model, words

if TYPE_CHECKING:  # each test that runs one of its agents imports pydantic-ai, which takes a second
    from pydantic_ai import Agent as PydanticAgent
    from pydantic_ai.messages import ModelMessage
    from pydantic_ai.models.function import AgentInfo


def provider(agent: object, name: str = "Dice") -> ExternalProvider:
    return ExternalProvider(
        Definition(name=name, path="/a/agent.py", foreign=agent), {"Dice": 9_000}
    )


async def told(
    agent: object, *messages: str, system: str = "", summary: bool = False
) -> list[Event]:
    said = tuple(
        Message("assistant" if number % 2 else "user", text) for number, text in enumerate(messages)
    )
    request = Request(system=system, messages=said, grammar="x" if summary else None)
    return [event async for event in provider(agent).stream(request)]


def asked(agent: object, *messages: str, system: str = "", summary: bool = False) -> list[Event]:
    return asyncio.run(told(agent, *messages, system=system, summary=summary))


def reply(events: list[Event]) -> str:
    return "".join(event.text for event in events if isinstance(event, TextDelta))


async def rolling(messages: list[ModelMessage], info: AgentInfo) -> AsyncIterator[Any]:
    """A model that calls `roll` before it answers, and quotes what it was given."""
    from pydantic_ai.messages import ToolReturnPart, UserPromptPart
    from pydantic_ai.models.function import DeltaToolCall

    last = messages[-1].parts[-1]
    if isinstance(last, ToolReturnPart):
        prompts = [
            part.content
            for message in messages
            for part in message.parts
            if isinstance(part, UserPromptPart)
        ]
        yield "It is "
        yield f"{last.content}; you said {prompts}, I am told {info.instructions}."
    else:
        yield "Let me roll."
        yield {1: DeltaToolCall(name="roll", json_args='{"sides": 6}', tool_call_id="x1")}


def dice() -> PydanticAgent[None, str]:
    from pydantic_ai import Agent as PydanticAgent
    from pydantic_ai.models.function import FunctionModel

    agent = PydanticAgent(
        FunctionModel(stream_function=rolling), name="Dice", system_prompt="Be kind."
    )

    @agent.tool_plain
    def roll(sides: int) -> str:
        sys.stdout.write("\x1b[2Jrolling")
        return str(sides - 2)

    return agent


def conversation(
    directory: Path, agent: ModelAgent, events: list[Event], options: Options | None = None
) -> Conversation:
    clock = Clock()
    return Conversation(
        agent,
        SessionManager(directory, now=clock.now, monotonic=clock.monotonic),
        count=words,
        show=events.append,
        options=options or Options(attach_from_archive=False),
    )


def foreign(agent: object, name: str = "Dice") -> ModelAgent:
    base = ModelAgent(name=name, system_prompt="", provider=provider(agent, name))
    return apply_definition(base, Definition(name=name, path="/a/agent.py", foreign=agent))


def test_pydantic_ai_tells_its_text_its_tools_and_what_each_step_used() -> None:
    events = asked(dice(), "hey", "ho", "roll", system="Notes.")
    [returned] = [event for event in events if isinstance(event, ToolReturned)]
    assert events == [
        TextDelta("Let me roll."),
        ToolCalled(ToolCall("x1", "roll", '{"sides":6}')),
        Finished(stop="tool", usage=events[2].usage if isinstance(events[2], Finished) else None),
        ToolReturned(id="x1", name="roll", text="4", failed=False, seconds=returned.seconds),
        TextDelta("It is "),
        TextDelta("4; you said ['hey', 'roll'], I am told Notes.."),
        Finished(stop="end", usage=events[6].usage if isinstance(events[6], Finished) else None),
    ]
    usages = [event.usage for event in events if isinstance(event, Finished)]
    first, second = (usage.output if usage else 0 for usage in usages)
    assert 0 < first < 12
    assert 0 < second < 16  # of the second step, not of both
    assert not any(usage is None or usage.estimated for usage in usages)


def test_pydantic_ai_keeps_its_system_prompt_when_the_history_is_ours() -> None:
    from pydantic_ai import Agent as PydanticAgent
    from pydantic_ai.models.function import FunctionModel

    seen: list[list[str]] = []

    async def model(messages: list[ModelMessage], info: AgentInfo) -> AsyncIterator[str]:
        seen.append([part.part_kind for message in messages for part in message.parts])
        yield "So."

    asked(
        PydanticAgent(FunctionModel(stream_function=model), system_prompt="Be kind."),
        "hey",
        "ho",
        "you",
    )
    assert seen == [["system-prompt", "user-prompt", "text", "user-prompt"]]


def test_pydantic_ai_with_an_answer_that_is_no_text() -> None:
    from pydantic import BaseModel
    from pydantic_ai import Agent as PydanticAgent
    from pydantic_ai.models.test import TestModel

    class City(BaseModel):
        name: str

    agent = PydanticAgent(TestModel(custom_output_args={"name": "Rome"}), output_type=City)
    assert reply(asked(agent, "Where?")) == '{"name":"Rome"}'


def test_a_summary_call_tells_text_only() -> None:
    kinds = [type(event) for event in asked(dice(), "Summarize", system="Task", summary=True)]
    assert kinds == [TextDelta, TextDelta, TextDelta, Finished]


async def test_a_conversation_with_its_tools_is_saved_and_read_back(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    events: list[Event] = []

    chat = conversation(tmp_path, foreign(dice()), events)
    await chat.ask("roll")
    await chat.ask("again")
    await chat.leave("exit")
    [path] = tmp_path.glob("*.md")
    session = SessionManager(tmp_path).load(path).session
    assert (session.header.agent, session.header.agent_path, session.header.model) == (
        "Dice", "/a/agent.py", "python:Dice",
    )  # fmt: skip
    first, second = session.exchanges
    assert first.reply is not None
    assert first.reply.text.startswith("Let me roll.\n\nIt is 4; you said ['roll']")
    assert [(use.call.id, use.call.name) for use in (*first.uses, *second.uses)] == [
        ("c1", "roll"),
        ("c2", "roll"),
    ]
    assert second.uses[0].result is not None
    assert second.uses[0].result.text == "4"
    assert capfd.readouterr() == ("", "")


def test_what_it_does_for_an_acknowledgment_is_not_told() -> None:
    async def run() -> list[Event]:
        return await events_of(foreign(dice()), Message("user", "roll"), offer_tools=False)

    kinds = [type(event) for event in asyncio.run(run())]
    assert kinds == [TextDelta, TextDelta, TextDelta, Finished]


class Strands:
    """The documented interface of a Strands agent: `messages`, and `stream_async` with events."""

    def __init__(self, events: list[dict[str, Any]]) -> None:
        self.messages: list[dict[str, Any]] = [{"role": "user", "content": [{"text": "left over"}]}]
        self.prompts: list[str] = []
        self.seen: list[list[dict[str, Any]]] = []
        self._events = events

    async def stream_async(self, prompt: str) -> AsyncIterator[dict[str, Any]]:
        self.prompts.append(prompt)
        self.seen.append(list(self.messages))
        self.messages.append({"role": "user", "content": [{"text": prompt}]})
        for event in self._events:
            sys.stdout.write(event.get("data", ""))
            yield event


def metadata(taken: int, given: int, cached: int = 0) -> dict[str, Any]:
    usage = {
        "inputTokens": taken,
        "outputTokens": given,
        "totalTokens": taken + given,
        "cacheReadInputTokens": cached,
    }
    return {"event": {"metadata": {"usage": usage}}}


def test_the_interface_of_strands() -> None:
    class Result:
        stop_reason = "max_tokens"

    use = {"toolUse": {"toolUseId": "t1", "name": "roll dice!", "input": {"sides": 6}}}
    result = {
        "toolUseId": "t1",
        "status": "error",
        "content": [{"text": "no"}, {"json": {"why": 1}}],
    }
    agent = Strands(
        [
            {"init_event_loop": True},
            {"reasoningText": "Hm."},
            metadata(5, 3, cached=2),
            {"message": {"role": "assistant", "content": [use]}},
            {"message": {"role": "user", "content": [{"toolResult": result}]}},
            {"data": "It "},
            {"data": "failed\ud800."},
            metadata(9, 4),
            {"result": Result()},
        ]
    )
    events = asked(agent, "hey", "ho", "roll", system="Notes.")
    [returned] = [event for event in events if isinstance(event, ToolReturned)]
    text = 'no\n{"why":1}'
    assert events == [
        ToolCalled(ToolCall("t1", "roll dice!", '{"sides": 6}')),
        Finished(stop="tool", usage=Usage(input=7, output=3, cached=2)),
        ToolReturned(id="t1", name="roll dice!", text=text, failed=True, seconds=returned.seconds),
        TextDelta("It "),
        TextDelta("failed\ufffd."),
        Finished(stop="length", usage=Usage(input=9, output=4)),
    ]
    assert agent.prompts == ["Notes.\n\nroll"]
    said = [
        {"role": "user", "content": [{"text": "hey"}]},
        {"role": "assistant", "content": [{"text": "ho"}]},
    ]
    assert agent.seen == [said]  # the program sets the agent's own memory aside


def test_anything_that_streams_or_can_be_called() -> None:
    class Streams:
        async def stream_async(self, prompt: str) -> AsyncIterator[object]:
            yield "a"
            yield {"data": "b"}
            yield {"other": 1}

    class Answer:
        output = "an answer"

    async def coroutine(prompt: str) -> str:
        await asyncio.sleep(0)
        return f"<{prompt}>"

    def pieces(prompt: str) -> Iterator[str]:
        yield from ("x", "y")

    async def later(prompt: str) -> AsyncIterator[str]:
        yield "1"
        yield "2"

    agents: list[tuple[object, str]] = [
        (Streams(), "ab"),
        (lambda prompt: Answer(), "an answer"),
        (coroutine, "<hi>"),
        (pieces, "xy"),
        (later, "12"),
        (lambda prompt: {"a": 1}, '{"a":1}'),
        (lambda prompt: None, ""),
        (lambda prompt: 42, "42"),
    ]
    for agent, text in agents:
        events = asked(agent, "hi")
        assert reply(events) == text
        assert events[-1] == Finished(stop="end", usage=None)


def test_one_that_takes_a_text_gets_the_whole_conversation() -> None:
    assert reply(asked(lambda prompt: prompt, "hi")) == "hi"
    assert reply(asked(lambda prompt: prompt, "hi", "ho", "so?", system="Notes.")) == (
        "Notes.\n\nThe conversation so far:\n\nUser: hi\n\nYou: ho\n\nAnswer what the user "
        "says now:\n\nso?"
    )


def broken(error: BaseException) -> Callable[[str], str]:
    def agent(prompt: str) -> str:
        raise error

    return agent


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (ValueError("two\nlines.\x1b[2J"), "The agent Dice failed: ValueError: two lines. [2J."),
        (SystemExit(3), "The agent Dice failed: SystemExit: 3."),
        (KeyboardInterrupt(), "The agent Dice failed: KeyboardInterrupt."),
    ],
)
def test_its_failures_are_one_sentence(error: BaseException, message: str) -> None:
    for agent in (broken(error), Raising(error)):
        with pytest.raises(RequestRejected) as caught:
            asked(agent, "hi")
        assert caught.value.message == message


def test_one_that_cancels_itself_has_failed() -> None:
    with pytest.raises(
        RequestRejected, match="The agent Dice failed: RuntimeError: CancelledError"
    ):
        asked(broken(asyncio.CancelledError()), "hi")
    with pytest.raises(RequestRejected, match="The agent Dice stopped by itself"):
        asked(Raising(asyncio.CancelledError()), "hi")


class Raising:
    def __init__(self, error: BaseException) -> None:
        self._error = error

    async def stream_async(self, prompt: str) -> AsyncIterator[str]:
        yield "begun"
        raise self._error


async def test_it_can_be_stopped_while_it_blocks_and_is_not_waited_for() -> None:
    entered, go = threading.Event(), threading.Event()

    def blocking(prompt: str) -> str:
        entered.set()
        go.wait(60)
        return "too late"

    task = asyncio.ensure_future(told(blocking, "hi"))
    await asyncio.to_thread(entered.wait, 60)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    go.set()


async def test_a_coroutine_that_is_stopped_is_cancelled_and_the_next_request_waits_for_its_end() -> (
    None
):
    order: list[str] = []
    entered = threading.Event()

    class Slow:
        async def stream_async(self, prompt: str) -> AsyncIterator[str]:
            order.append(f"begin {prompt}")
            try:
                if prompt == "one":
                    entered.set()
                    await asyncio.Event().wait()
            finally:
                await asyncio.sleep(0.01)
                order.append(f"end {prompt}")
            yield "done"

    agent = provider(Slow())

    async def ask(text: str) -> list[Event]:
        return [
            event
            async for event in agent.stream(Request(system="", messages=(Message("user", text),)))
        ]

    task = asyncio.ensure_future(ask("one"))
    await asyncio.to_thread(entered.wait, 60)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert reply(await ask("two")) == "done"
    assert order == ["begin one", "end one", "begin two", "end two"]


def test_its_window_is_its_models_or_what_the_config_says() -> None:
    class Named:
        model = "openai:gpt-4o"

        def __call__(self, prompt: str) -> str:
            return prompt

    class Broken(Named):
        @property
        def model(self) -> str:  # type: ignore[override]
            raise ValueError

    assert provider(Named()).window.tokens == 9_000
    assert provider(Named(), "Other").window.tokens == 128_000
    assert provider(Named(), "Other").window.guessed
    for agent, guessed in ((Named(), False), (Broken(), True)):
        made = provider(agent, "Other")
        made.warm()
        assert made.window.guessed == guessed


def test_who_writes_the_summary(tmp_path: Path) -> None:
    events: list[Event] = []

    async def talk(directory: Path, agent: object, options: Options | None = None) -> list[str]:
        chat = conversation(directory, foreign(agent), events, options)
        await chat.ask("hi")
        assert await chat.compact()
        await chat.leave("exit")
        return [event.source for event in events if isinstance(event, SummaryEnded)]

    def writes(prompt: str) -> str:
        return SUMMARY if prompt.startswith("Task: session summary") else "So."

    assert asyncio.run(talk(tmp_path / "a", writes)) == ["model"]
    events.clear()
    assert asyncio.run(talk(tmp_path / "b", lambda prompt: "So.")) == ["extracted"]
    events.clear()
    named = Config(auto_compact=AutoCompactConfig(summary_provider="test"))
    other = Options(attach_from_archive=False, summarizer=Model(SUMMARY), config=named)
    assert asyncio.run(talk(tmp_path / "c", broken_summary, other)) == ["model"]


def broken_summary(prompt: str) -> str:
    assert not prompt.startswith("Task: session summary")
    return "So."
