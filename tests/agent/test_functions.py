"""Python functions as tools: their schemas, their calls, their errors, and their isolation."""

from __future__ import annotations

import asyncio
import enum
import functools
import json
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel

from chat_loop.agent.ask import CallLimits
from chat_loop.agent.functions import changes, tool_of
from chat_loop.agent.tools import Tool, Toolbox
from chat_loop.errors import ChatLoopError, ConfigError, SessionError
from chat_loop.events import ToolReturned
from chat_loop.values import ToolCall

PATIENCE = 60  # seconds


class Color(enum.Enum):
    RED = "red"
    BLUE = "blue"


@dataclass
class Point:
    x: int
    label: str | None = None


class Options(BaseModel):
    deep: bool = False


def paint(
    color: Color,
    points: list[Point],
    how: Literal["thick", "thin"] = "thin",
    scale: float | None = None,
    size: tuple[int, int] = (1, 2),
    options: Options | None = None,
    into: Path = Path("out.png"),
) -> str:
    """Paints points.

    It takes a while.

    Args:
        color: What they are
            painted with.
        points (list): Where.

    Returns:
        What was painted.
    """
    assert isinstance(color, Color)
    assert all(isinstance(point, Point) for point in points)
    return f"{color.name} {points} {how} {scale} {size} {options} {into!r}"


def run(tool: Tool, **given: object) -> str:
    return asyncio.run(call(tool, given))


async def call(tool: Tool, given: Mapping[str, object]) -> str:
    return await tool.run(given)


def failure(tool: Tool, **given: object) -> str:
    with pytest.raises(ChatLoopError) as caught:
        run(tool, **given)
    return f"{caught.value.message} {caught.value.hint}".strip()


def test_what_a_model_is_told_of_a_function() -> None:
    spec = tool_of(paint).spec
    assert (spec.name, spec.description) == (
        "paint",
        "Paints points.\n\nIt takes a while.\n\nReturns: What was painted.",
    )
    point = {
        "type": "object",
        "properties": {
            "x": {"type": "integer"},
            "label": {"anyOf": [{"type": "string"}, {"type": "null"}], "default": None},
        },
        "required": ["x"],
    }
    options = {"type": "object", "properties": {"deep": {"type": "boolean", "default": False}}}
    pair = [{"type": "integer"}, {"type": "integer"}]
    assert spec.parameters == {
        "$defs": {
            "Color": {"type": "string", "enum": ["red", "blue"]},
            "Options": options,
            "Point": point,
        },
        "type": "object",
        "properties": {
            "color": {"$ref": "#/$defs/Color", "description": "What they are painted with."},
            "points": {
                "type": "array",
                "items": {"$ref": "#/$defs/Point"},
                "description": "Where.",
            },
            "how": {"type": "string", "enum": ["thick", "thin"], "default": "thin"},
            "scale": {"anyOf": [{"type": "number"}, {"type": "null"}], "default": None},
            "size": {
                "type": "array",
                "minItems": 2,
                "maxItems": 2,
                "prefixItems": pair,
                "default": [1, 2],
            },
            "options": {"anyOf": [{"$ref": "#/$defs/Options"}, {"type": "null"}], "default": None},
            "into": {"type": "string", "format": "path", "default": "out.png"},
        },
        "required": ["color", "points"],
        "additionalProperties": False,
    }
    assert json.loads(json.dumps(spec.parameters)) == spec.parameters


def test_arguments_are_converted() -> None:
    text = run(
        tool_of(paint),
        color="blue",
        points=[{"x": 3}],
        scale=2,
        size=[3, 4],
        options={"deep": True},
        into="a",
    )
    assert text == "BLUE [Point(x=3, label=None)] thin 2.0 (3, 4) deep=True " + repr(Path("a"))


@pytest.mark.parametrize(
    ("given", "text"),
    [
        (
            {"color": "green", "points": []},
            "The argument “color” is wrong: input should be 'red' or 'blue'. Call the tool again.",
        ),
        (
            {"color": "red", "points": [{"x": "one"}]},
            (
                "The argument “points[0]['x']” is wrong: input should be a valid integer, unable "
                "to parse string as an integer. Call the tool again."
            ),
        ),
        (
            {"color": "red", "points": [], "size": [1]},
            "The argument “size[1]” is wrong: field required. Call the tool again.",
        ),
    ],
)
def test_wrong_arguments_are_told_to_the_model(given: dict[str, object], text: str) -> None:
    assert failure(tool_of(paint), **given) == text


def test_a_method_is_a_function_too() -> None:
    class Shop:
        def __init__(self, name: str) -> None:
            self.name = name

        def greet(self, who: Annotated[str, "the guest"]) -> str:
            """Greets."""
            return f"{self.name}: hello, {who}."

    tool = tool_of(Shop("Sally's").greet)
    assert list(tool.spec.parameters["properties"]) == ["who"]  # type: ignore[call-overload]
    assert run(tool, who="Bob") == "Sally's: hello, Bob."


def test_arguments_without_a_type_and_any_named_ones() -> None:
    def untyped(a, **more: int) -> str:  # type: ignore[no-untyped-def] # the test is about that
        """It takes anything."""
        return f"{a} {more}"

    tool = tool_of(untyped)
    assert tool.spec.parameters["properties"] == {"a": {}}
    assert run(tool, a=[1], b="2") == "[1] {'b': 2}"


class Node:
    """A type that pydantic cannot convert."""


def undocumented(a: int) -> None: ...


def variable(*parts: str) -> None:
    """It takes anything."""


def foreign_type(node: Node) -> None:
    """Take something that JSON does not have."""


def unknown(a: Missing) -> None:  # type: ignore[name-defined] # noqa: F821
    """Take an argument of an undefined type."""


def größe(a: int) -> None:
    """Have a name that no wire accepts."""


def counting() -> Iterator[int]:
    """Yield one thing after another."""
    yield 1


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (undocumented, "it has no docstring"),
        (variable, "its arguments need names"),
        (
            foreign_type,
            "Unable to generate pydantic-core schema for <class 'tests.agent.test_functions.Node'>",
        ),
        (unknown, "name 'Missing' is not defined"),
        (größe, "its name does not suit every model"),
        (lambda: 1, "its name does not suit every model"),
        (functools.partial(paint), "it is not a Python function"),
        (print, "it is not a Python function"),
        (counting, "it yields instead of returning a result"),
    ],
)  # fmt: skip
def test_what_cannot_be_a_tool_is_told_to_the_user(
    function: Callable[..., object], message: str
) -> None:
    with pytest.raises(ConfigError) as caught:
        tool_of(function)
    name = getattr(function, "__name__", "partial")
    assert caught.value.message == f"The function {name} cannot be a tool: {message}."
    assert caught.value.hint.startswith("A tool is a function with an English name, a docstring,")


@pytest.mark.parametrize(
    ("docstring", "text", "arguments"),
    [
        ("One line.", "One line.", {}),
        (
            (
                "Head.\n\nArgs:\n    a: First: yes\n      and more.\n    b (int, optional): "
                "Second\nRaises:\n    E: never"
            ),
            "Head.",
            {"a": "First: yes and more.", "b": "Second"},
        ),
        (
            "Head.\n\n:param a: First\n    and more\n:param int b: Second\n:returns: it",
            "Head.\n\nReturns: it",
            {"a": "First and more", "b": "Second"},
        ),
    ],
)
def test_docstrings(docstring: str, text: str, arguments: dict[str, str]) -> None:
    def function(a: int = 0, b: int = 0) -> None: ...

    function.__doc__ = docstring
    spec = tool_of(function).spec
    properties: Any = spec.parameters["properties"]
    found = {key: one["description"] for key, one in properties.items() if "description" in one}
    assert (spec.description, found) == (text, arguments)


class Odd:
    """A type that JSON does not have."""

    def __str__(self) -> str:
        return "something odd"


class Shy(Exception):
    """An error that cannot be turned into text."""

    def __str__(self) -> str:
        raise ValueError


RETURNED: list[tuple[object, str]] = [
    ("text as it is\x1b[2J", "text as it is\x1b[2J"),
    (None, ""),
    (3, "3"),
    ({"a": [1, 2.5, None, True], "ä": "ö"}, '{"a":[1,2.5,null,true],"ä":"ö"}'),
    ([Point(1)], '[{"x":1,"label":null}]'),
    (Odd(), '"something odd"'),
    (float("nan"), "null"),
    (["\ud800"], "['\\ud800']"),
]


@pytest.mark.parametrize(
    ("result", "text"), RETURNED, ids=[repr(text)[:20] for _, text in RETURNED]
)
def test_results_are_text_or_json(result: object, text: str) -> None:
    def give() -> object:
        """Gives something."""
        return result

    async def give_later() -> object:
        """Gives something."""
        await asyncio.sleep(0)
        return result

    assert run(tool_of(give)) == text
    assert run(tool_of(give_later)) == text


FAULTS: list[tuple[BaseException, str]] = [
    (ValueError("no such invoice"), "raises failed: ValueError: no such invoice"),
    (Shy(), "raises failed: Shy"),
    (SystemExit(3), "raises failed: SystemExit: 3"),
    (KeyboardInterrupt(), "raises failed: KeyboardInterrupt"),
    (SessionError("It is sealed.", "Take another."), "It is sealed. Take another."),
    (TimeoutError("Too slow."), "raises failed: TimeoutError: Too slow"),
    (RuntimeError("x" * 5000), "raises failed: RuntimeError: " + "x" * 1999 + "…"),
]


@pytest.mark.parametrize(
    ("error", "text"), FAULTS, ids=[type(error).__name__ for error, _ in FAULTS]
)
def test_what_a_function_raises_is_a_sentence(error: BaseException, text: str) -> None:
    def raises() -> None:
        """Raises."""
        raise error

    async def later() -> None:
        """Raises."""
        await asyncio.sleep(0)
        raise error

    later.__name__ = "raises"
    assert failure(tool_of(raises)) == text
    assert failure(tool_of(later)) == text


async def returned(toolbox: Toolbox, *arguments: str) -> list[ToolReturned]:
    [name] = toolbox.tools
    calls = [ToolCall(f"c{number}", name, given) for number, given in enumerate(arguments, 1)]
    return [event async for event in toolbox.run(calls)]


def test_what_changes_something_is_shown_first() -> None:
    ran: list[int] = []

    @changes
    def cancel(invoice: int, reason: str = "") -> str:
        """Cancels an invoice."""
        ran.append(invoice)
        return "done"

    def due(invoice: int) -> int:
        """Tells what is due."""
        return invoice

    tool = tool_of(cancel)
    assert tool.prepare is not None
    assert (
        tool.prepare({"invoice": 3, "reason": "paid\ntwice"})
        == "cancel:\n  invoice: 3\n  reason:\n    paid\n    twice"
    )
    with pytest.raises(ChatLoopError, match=r"The argument “invoice” is wrong"):
        tool.prepare({"invoice": "three"})
    assert tool_of(due).prepare is None

    async def no(tool: Tool, text: str) -> bool:
        return False

    async def yes(tool: Tool, text: str) -> bool:
        return True

    def answers(approve: Any) -> list[tuple[str, bool]]:
        toolbox = Toolbox({"cancel": tool}, 100, approve)
        results = asyncio.run(returned(toolbox, '{"invoice": 3}', '{"invoice": "x"}'))
        return [
            (result.text, result.failed) for result in sorted(results, key=lambda result: result.id)
        ]

    wrong = ("The argument “invoice” must be of type integer. Call the tool again.", True)
    assert answers(no) == [("Not run: the user did not allow it.", True), wrong]
    assert ran == []
    assert answers(yes) == [("[allowed by the user]\ndone", False), wrong]
    assert ran == [3]


# What runs beside the program: no standard streams, and no way to block it


def test_what_is_printed_is_dropped(capsys: pytest.CaptureFixture[str]) -> None:
    def talks(what: str) -> str | None:
        """Talks."""
        print(what, "\x1b[2J")  # noqa: T201 - the test is about that
        sys.stderr.write("and this")
        return None if what == "only" else "the result"

    async def talks_later() -> str:
        """Talks."""
        print("later")  # noqa: T201
        return "the result"

    def fails() -> None:
        """Talks and fails."""
        print("before")  # noqa: T201
        raise ValueError

    assert run(tool_of(talks), what="first") == "the result"
    assert run(tool_of(talks), what="only") == ""
    assert run(tool_of(talks_later)) == "the result"
    assert failure(tool_of(fails)) == "fails failed: ValueError"
    assert capsys.readouterr() == ("", "")


def test_the_program_goes_on_printing_while_functions_run(
    capsys: pytest.CaptureFixture[str],
) -> None:
    together = threading.Barrier(3, timeout=PATIENCE)

    def talks(what: str) -> str:
        """Talks, in a thread of its own as well."""
        together.wait()
        print(what)  # noqa: T201
        another = threading.Thread(target=print, args=("somebody else",))
        another.start()
        another.join()
        together.wait()
        return what

    async def both() -> list[str]:
        tool = tool_of(talks)
        one, two = (
            asyncio.ensure_future(call(tool, {"what": "a"})),
            asyncio.ensure_future(call(tool, {"what": "b"})),
        )
        await asyncio.to_thread(together.wait)
        print("the program")  # noqa: T201
        await asyncio.to_thread(together.wait)
        return [await one, await two]

    assert asyncio.run(both()) == ["a", "b"]
    assert capsys.readouterr().out == "the program\n"


def test_a_function_that_asks_gets_no_answer() -> None:
    def asks() -> str:
        """Asks."""
        return input("Name? ")

    assert failure(tool_of(asks)) == "asks failed: EOFError: EOF when reading a line"


def box(tool: Tool, seconds: float = 60.0, characters: int = 50_000) -> Toolbox:
    return Toolbox({tool.spec.name: tool}, characters, limits=CallLimits(tool=seconds))


HANGING = """
import asyncio, threading
from chat_loop.agent.agent import ModelAgent
from chat_loop.agent.ask import CallLimits
from chat_loop.agent.functions import tool_of
from chat_loop.events import ToolReturned
from tests.support.agent_turns import events_of
from tests.support.scripted import ScriptedProvider
from chat_loop.values import Message, ToolCall

def hangs():
    'Hangs.'
    threading.Event().wait()

async def blocks():
    'Blocks.'
    threading.Event().wait()

async def run():
    calls = (ToolCall("1", "hangs", ""), ToolCall("2", "blocks", ""))
    provider = ScriptedProvider(steps=[Message("assistant", "", calls=calls), "Done."], calls_tools=True)
    tools = (tool_of(hangs), tool_of(blocks))
    agent = ModelAgent(name="", system_prompt="", provider=provider, tools=tools, limits=CallLimits(tool=0.05))
    events = await events_of(agent, Message("user", "Go"))
    return [event.failed for event in events if isinstance(event, ToolReturned)]

print(asyncio.run(run()))
"""


def test_the_program_ends_whatever_hangs() -> None:
    ended = subprocess.run(
        [sys.executable, "-c", HANGING], capture_output=True, timeout=60, check=True, text=True
    )
    assert (ended.stdout, ended.stderr) == ("[True, True]\n", "")


def test_a_coroutine_that_hangs_is_stopped() -> None:
    stopped = threading.Event()

    async def hangs() -> None:
        """Hangs."""
        try:
            await asyncio.Event().wait()
        finally:
            stopped.set()

    [result] = asyncio.run(returned(box(tool_of(hangs), seconds=1), "{}"))
    assert result.text == "hangs took longer than 1 seconds and was stopped."
    assert stopped.wait(PATIENCE)
