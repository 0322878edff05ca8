"""Python functions as tools: the signature becomes the schema, the docstring what the model is
told. One that is marked with `changes` runs only after the user was shown the call and allowed it.
"""

from __future__ import annotations

import inspect
import re
import typing
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, TypeVar, cast

import docstring_parser
import pydantic_core
from pydantic import TypeAdapter, ValidationError
from pydantic.errors import PydanticUserError

from chat_loop.agent.isolation import in_thread, on_loop
from chat_loop.agent.tools import Tool, call_text
from chat_loop.errors import ChatLoopError, ConfigError
from chat_loop.values import ToolSpec

_MARK = "__chat_loop_changes__"
F = TypeVar("F", bound=Callable[..., object])


def changes(function: F) -> F:
    """Mark a function that changes something: the user is shown each call, and allows it or not."""
    setattr(function, _MARK, True)
    return function


def tool_of(function: Callable[..., object]) -> Tool:
    """Return the tool that a function is: it gives the model text as it is, everything else as
    JSON, then what was printed. Raises ConfigError with a sentence for the user.
    """
    spec, adapters = _described(function)
    awaited = inspect.iscoroutinefunction(function)

    def converted(given: Mapping[str, object]) -> dict[str, object]:
        arguments = {}
        for key, value in given.items():
            try:
                arguments[key] = adapters[key].validate_python(value)
            except (ValidationError, RecursionError) as error:
                first = error.errors()[0] if isinstance(error, ValidationError) else None
                inner = "".join(f"[{part!r}]" for part in first["loc"]) if first else ""
                what = first["msg"][:300] if first else "It is nested too deeply"
                raise ChatLoopError(
                    f"The argument “{key}{inner}” is wrong: {what[:1].lower()}{what[1:]}.",
                    "Call the tool again.",
                ) from error
        return arguments

    async def run(given: Mapping[str, object]) -> str:
        arguments = converted(given)

        async def awaited_text() -> str:
            return text_of(await cast("Awaitable[object]", function(**arguments)))

        work = (
            on_loop(awaited_text) if awaited else in_thread(lambda: text_of(function(**arguments)))
        )
        return (await work).text(spec.name)

    def asks(given: Mapping[str, object]) -> str:
        converted(given)  # what cannot run is not asked about
        return call_text(spec.name, given)

    marked = getattr(function, _MARK, False)
    return Tool(spec, run, asks if marked else None, stops=awaited)


def _described(
    function: Callable[..., object],
) -> tuple[ToolSpec, dict[str, TypeAdapter[Any]]]:
    """Return what a model is told of a function, and what checks and converts its arguments."""
    name = getattr(function, "__name__", "") or type(function).__name__
    docstring = docstring_parser.parse(inspect.getdoc(function) or "")
    if not (inspect.isfunction(function) or inspect.ismethod(function)):
        raise ConfigError(f"{name} is no Python function: it cannot be a tool.")
    if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]{0,63}", name):
        hint = "Give it a name of up to 64 letters, digits and _."
        raise ConfigError(f"A tool cannot be called {name}.", hint)
    if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
        raise ConfigError(f"The function {name} yields: a tool returns its result.")
    if not docstring.description:
        hint = "It tells the model what the tool is for."
        raise ConfigError(f"The function {name} has no docstring.", hint)
    about = docstring.description.strip()
    if docstring.returns is not None and docstring.returns.description:
        about += f"\n\nReturns: {docstring.returns.description}"
    try:
        hints = typing.get_type_hints(function, include_extras=True)
    except (NameError, TypeError, SyntaxError, AttributeError) as error:
        raise ConfigError(f"The types of the function {name} cannot be read: {error}.") from error
    parameters = inspect.signature(function).parameters
    adapters: dict[str, TypeAdapter[Any]] = {}
    properties: dict[str, dict[str, Any]] = {}
    for key, parameter in parameters.items():
        adapters[key], properties[key] = _argument(name, parameter, hints)
        for one in docstring.params:
            if one.arg_name == key and one.description:
                properties[key]["description"] = " ".join(one.description.split())
    required = [key for key, one in parameters.items() if one.default is one.empty]
    schema = {"type": "object", "properties": properties, "required": required}
    return ToolSpec(name, about, {**schema, "additionalProperties": False}), adapters


def _argument(
    function: str, parameter: inspect.Parameter, hints: Mapping[str, Any]
) -> tuple[TypeAdapter[Any], dict[str, Any]]:
    """Return what checks an argument, and its JSON schema."""
    name = parameter.name
    if parameter.kind not in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
        shown = str(parameter).partition(":")[0]
        raise ConfigError(f"The function {function} takes {shown}: a tool names its arguments.")
    if name not in hints:
        missing = f"The argument {name} of the function {function} has no type."
        raise ConfigError(missing, "For example: str.")
    try:
        adapter = TypeAdapter[Any](hints[name])
        schema = adapter.json_schema()
        schema = _inlined(schema, schema.get("$defs", {}), 0)
        if parameter.default is not parameter.empty:
            default = adapter.dump_python(parameter.default, mode="json", warnings=False)
            schema["default"] = default
    except (PydanticUserError, NameError, TypeError, ValueError, RecursionError) as error:
        kind = getattr(hints[name], "__name__", hints[name])
        raise ConfigError(
            f"The argument {name} of the function {function} has a type that a model cannot be "
            f"told of: {kind}.",
            "Such as str, int, float, bool, list, dict, Literal, Enum, or a dataclass.",
        ) from error
    return adapter, schema


def _inlined(schema: Any, others: Mapping[str, Any], depth: int) -> Any:
    """Return a schema without titles, and with what it refers to in its place: not every server
    follows references.
    """
    if depth > 16:
        raise ValueError("a type that holds itself")
    if isinstance(schema, list):
        return [_inlined(inner, others, depth) for inner in schema]
    if not isinstance(schema, dict):
        return schema
    if isinstance(reference := schema.get("$ref"), str):
        rest = {key: value for key, value in schema.items() if key != "$ref"}
        return {**_inlined(others[reference.removeprefix("#/$defs/")], others, depth + 1), **rest}
    return {
        key: _inlined(value, others, depth)
        for key, value in schema.items()
        if key != "$defs" and not (key == "title" and isinstance(value, str))
    }


def text_of(result: object) -> str:
    """Return what a function returned, for the model."""
    if result is None or isinstance(result, str):
        return str(result or "")
    try:
        return pydantic_core.to_json(result, fallback=str, inf_nan_mode="null").decode()
    except (ValueError, RecursionError):
        return str(result)
