"""Python functions as tools: the signature becomes the schema, the docstring the description."""

from __future__ import annotations

import inspect
import json
import re
import typing
from collections.abc import Callable
from typing import Any, TypeVar, cast

import docstring_parser
import pydantic_core
from pydantic import TypeAdapter, ValidationError
from pydantic.errors import PydanticUserError

from chat_loop.agent.isolation import in_thread, on_loop, plain_line
from chat_loop.agent.tools import Arguments, Tool, call_question
from chat_loop.errors import ChatLoopError, ConfigError
from chat_loop.values import ToolSpec

_MARK = "__chat_loop_changes__"
_HINT = (
    "A tool is a function with an English name, a docstring, and arguments with types such as str, "
    "int, float, bool, list, dict, Literal, Enum, or a dataclass."
)
F = TypeVar("F", bound=Callable[..., object])


def changes(function: F) -> F:
    """Mark a function that changes something: the user approves or denies each call."""
    setattr(function, _MARK, True)
    return function


def tool_of(function: Callable[..., Any]) -> Tool:
    """Make a tool from a function. Results that are not text become JSON. Raises ConfigError."""
    spec, adapter = _describe_function(function)
    is_async = inspect.iscoroutinefunction(function)

    def convert(arguments: Arguments) -> dict[str, object]:
        try:
            named = pydantic_core.ArgsKwargs((), dict(arguments))
            return adapter.validate_python(named)
        except ValidationError as error:
            first = error.errors()[0]
            name, *inner = first["loc"]
            where = f"{name}{''.join(f'[{part!r}]' for part in inner)}"
            reason = f"{first['msg'][:1].lower()}{first['msg'][1:300]}"
            wrong = f"The argument “{where}” is wrong: {reason}."
            raise ChatLoopError(wrong, "Call the tool again.") from error

    async def run(arguments: Arguments) -> str:
        values = convert(arguments)

        async def await_result() -> str:
            return text_of(await function(**values))

        work = on_loop(await_result) if is_async else in_thread(lambda: text_of(function(**values)))
        return (await work).text(spec.name)

    def prepare(arguments: Arguments) -> str:
        convert(arguments)  # fail before the user is asked
        return call_question(spec.name, arguments)

    return Tool(spec, run, prepare if hasattr(function, _MARK) else None)


def _describe_function(
    function: Callable[..., object],
) -> tuple[ToolSpec, TypeAdapter[dict[str, object]]]:
    """Return the specification of a function, and an adapter that converts its arguments."""

    def collect(**values: object) -> dict[str, object]:
        return values  # with the function's signature, but without calling it

    name = getattr(function, "__name__", "") or type(function).__name__
    docstring = docstring_parser.parse(inspect.getdoc(function) or "")
    yields = inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function)
    rules = {
        "it is not a Python function": inspect.isfunction(function) or inspect.ismethod(function),
        "its name does not suit every model": re.fullmatch(r"[A-Za-z_]\w{0,63}", name, re.ASCII),
        "it yields instead of returning a result": not yields,
        "it has no docstring": docstring.description,
    }
    try:
        if problem := next((rule for rule, kept in rules.items() if not kept), ""):
            raise ValueError(problem)
        signature = inspect.signature(function)
        hints = typing.get_type_hints(function, include_extras=True)
        vars(collect)["__signature__"] = signature
        collect.__annotations__ = {key: hints.get(key, Any) for key in signature.parameters}
        adapter = TypeAdapter[dict[str, object]](cast(Any, collect))  # it takes functions, too
        schema = json.loads(json.dumps(adapter.json_schema()), object_hook=_without_title)
        if schema["type"] != "object":
            raise ValueError("its arguments need names")
    except (PydanticUserError, NameError, TypeError, ValueError) as error:
        reason = plain_line(str(error).partition(". ")[0], 200).rstrip(".")
        raise ConfigError(f"The function {name} cannot be a tool: {reason}.", _HINT) from error
    description = (docstring.description or "").strip()
    if docstring.returns is not None and docstring.returns.description:
        description += f"\n\nReturns: {docstring.returns.description}"
    for parameter in docstring.params:
        if parameter.arg_name in schema["properties"] and parameter.description:
            about = " ".join(parameter.description.split())
            schema["properties"][parameter.arg_name]["description"] = about
    return ToolSpec(name, description, {"required": [], **schema}), adapter


def _without_title(schema: dict[str, object]) -> dict[str, object]:
    """Return a schema without its title, which only repeats a name."""
    return {
        key: value for key, value in schema.items() if key != "title" or isinstance(value, dict)
    }


def text_of(result: object) -> str:
    """Return the result of a function as text for the model."""
    if result is None or isinstance(result, str):
        return str(result or "")
    try:
        return pydantic_core.to_json(result, fallback=str, inf_nan_mode="null").decode()
    except (ValueError, RecursionError):
        return str(result)
