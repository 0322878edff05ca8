"""What a Python function tells of itself, as a tool's specification (pure): signature, type hints
and docstring.
"""

from __future__ import annotations

import inspect
import re
import typing
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from chat_loop.errors import ChatLoopError, ConfigError
from chat_loop.values import ToolSpec

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,63}")
_ARGUMENTS = ("Args:", "Arguments:", "Parameters:")
_ARGUMENT = re.compile(r"\*{0,2}([A-Za-z_]\w*)(?: ?\([^)]{0,100}\))?: ?(.*)")
_FIELD = re.compile(r":param (?:[\w.\[\], |]{1,100} )?([A-Za-z_]\w*): ?(.*)")
_DEEPEST = 16
"""How deep types may refer to one another."""


class Signature(Struct, frozen=True):
    """A function's specification, and what it takes to call it: the kinds of its parameters, in
    their order.
    """

    spec: ToolSpec
    types: Mapping[str, Any]
    positional: tuple[str, ...]

    def bound(self, given: Mapping[str, object]) -> tuple[list[object], dict[str, object]]:
        """The arguments of a call, converted. Raises ChatLoopError with a sentence for the
        model.
        """
        converted = {
            name: _converted(name, value, self.types[name]) for name, value in given.items()
        }
        ahead = []
        for name in self.positional:
            if name not in converted:
                break
            ahead.append(converted.pop(name))
        return ahead, converted


def signature_of(function: Callable[..., object]) -> Signature:
    """Read a function. Raises ConfigError with a sentence for the user when it cannot be a tool."""
    name = getattr(function, "__name__", "")
    if not (inspect.isfunction(function) or inspect.ismethod(function)):
        raise ConfigError(
            f"{name or type(function).__name__} is no Python function: it cannot be a tool."
        )
    if not _NAME.fullmatch(name):
        raise ConfigError(
            f"A tool cannot be called {name}.", "Give it a name of up to 64 letters, digits and _."
        )
    if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
        raise ConfigError(f"The function {name} yields: a tool returns its result.")
    description, described = documented(inspect.getdoc(function) or "")
    if not description:
        raise ConfigError(
            f"The function {name} has no docstring.", "It tells the model what the tool is for."
        )
    try:
        hints = typing.get_type_hints(function, include_extras=True)
    except (NameError, TypeError, SyntaxError, AttributeError) as error:
        raise ConfigError(f"The types of the function {name} cannot be read: {error}.") from error
    parameters = inspect.signature(function).parameters.values()
    schema = {
        "type": "object",
        "properties": {
            parameter.name: {
                **_schema(name, parameter, hints),
                **(
                    {"description": described[parameter.name]}
                    if parameter.name in described
                    else {}
                ),
                **_default(parameter),
            }
            for parameter in parameters
        },
        "required": [
            parameter.name for parameter in parameters if parameter.default is parameter.empty
        ],
        "additionalProperties": False,
    }
    ahead = tuple(
        parameter.name for parameter in parameters if parameter.kind is parameter.POSITIONAL_ONLY
    )
    return Signature(ToolSpec(name, description, schema), hints, ahead)


def documented(text: str) -> tuple[str, dict[str, str]]:
    """A docstring without what it says of the arguments, and that by their names: in Google's form
    or Sphinx's.
    """
    kept: list[str] = []
    found: dict[str, list[str]] = {}
    current: list[str] | None = None
    inside = False
    indent = 0
    for line in text.split("\n"):
        bare = line.strip()
        depth = len(line) - len(line.lstrip())
        if match := _FIELD.match(bare):
            current = found.setdefault(match[1], [match[2]])
            indent = depth
        elif bare in _ARGUMENTS and not depth:
            inside, current, indent = True, None, 0
        elif inside and bare and not depth:  # the next section
            inside, current = False, None
            kept.append(line)
        elif (
            inside
            and bare
            and (current is None or depth <= indent)
            and (match := _ARGUMENT.match(bare))
        ):
            current, indent = found.setdefault(match[1], [match[2]]), depth
        elif current is not None and bare and depth > indent:
            current.append(bare)
        elif not inside:
            current = None
            kept.append(line)
    return "\n".join(kept).strip(), {
        name: " ".join(filter(None, parts)) for name, parts in found.items()
    }


def _schema(
    function: str, parameter: inspect.Parameter, hints: Mapping[str, Any]
) -> dict[str, Any]:
    """The JSON schema of one argument, without references to others. Raises ConfigError when there
    is none.
    """
    name = parameter.name
    if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
        raise ConfigError(
            f"The function {function} takes *{name}: a tool has to name its arguments."
        )
    if name not in hints:
        raise ConfigError(
            f"The argument {name} of the function {function} has no type.", "For example: str."
        )
    kind = hints[name]
    try:
        (schema,), others = msgspec.json.schema_components((kind,), schema_hook=_hooked)
        whole: dict[str, Any] = _whole(
            schema, {f"#/$defs/{key}": value for key, value in others.items()}, 0
        )
        return whole
    except (TypeError, ValueError, NameError, RecursionError) as error:
        shown = getattr(kind, "__name__", str(kind))
        raise ConfigError(
            f"The argument {name} of the function {function} has a type that a model cannot "
            f"be told of: {shown}.",
            "Such as str, int, float, bool, list, dict, Literal, Enum, or a dataclass.",
        ) from error


def _whole(schema: Any, others: Mapping[str, Any], depth: int) -> Any:
    """A schema with what it refers to in its place: not every server follows references."""
    if depth > _DEEPEST:
        raise ValueError("a type that holds itself")
    if isinstance(schema, list):
        return [_whole(inner, others, depth) for inner in schema]
    if not isinstance(schema, dict):
        return schema
    if isinstance(reference := schema.get("$ref"), str):
        rest = {key: value for key, value in schema.items() if key != "$ref"}
        return {**_whole(others[reference], others, depth + 1), **rest}
    whole = {key: _whole(value, others, depth) for key, value in schema.items()}
    choices = schema.get("enum")
    if isinstance(choices, list) and choices and all(isinstance(choice, str) for choice in choices):
        whole.setdefault("type", "string")  # some servers want it said
    return whole


def _hooked(kind: type) -> dict[str, Any]:
    if issubclass(kind, Path):
        return {"type": "string", "format": "path"}
    raise NotImplementedError


def _default(parameter: inspect.Parameter) -> dict[str, object]:
    if parameter.default is parameter.empty:
        return {}
    try:
        return {
            "default": msgspec.to_builtins(
                parameter.default, str_keys=True, enc_hook=_default_hooked
            )
        }
    except (TypeError, ValueError):
        return {}


def _default_hooked(value: object) -> object:
    if isinstance(value, Path):
        return str(value)
    raise NotImplementedError


def _converted(name: str, value: object, kind: Any) -> object:
    try:
        return msgspec.convert(value, kind, dec_hook=_path)
    except (msgspec.ValidationError, ValueError, TypeError, RecursionError) as error:
        what, _, where = str(error).partition(" - at `$")
        inner = where.rstrip("`")
        raise ChatLoopError(
            f"The argument “{name}{inner}” is wrong: {what[:1].lower()}{what[1:300]}.",
            "Call the tool again.",
        ) from error


def _path(kind: type, value: object) -> object:
    if issubclass(kind, Path) and isinstance(value, str):
        return Path(value)
    raise TypeError(f"{kind.__name__} cannot be made of this")
