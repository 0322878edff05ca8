"""Tools and results of MCP servers, made safe for a model and a wire (pure)."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from itertools import islice
from typing import Any, Literal

from msgspec import Struct

from chat_loop.providers.replies import tool_name
from chat_loop.values import ToolSpec

MAX_TOOLS = 128
"""The most tools of all servers that a model is offered."""
MAX_LISTED = 1_000
"""The most tools of one server that are read."""
MAX_DESCRIPTION = 1_024
MAX_SCHEMA = 8_192
"""Characters of JSON; of a longer schema only the names and types of the arguments are kept."""
MAX_NAME = 256
MAX_ARGUMENTS = 64
_CHOICES = ("oneOf", "anyOf", "allOf", "not", "enum", "const", "if", "then", "else")
"""Keys that some wires refuse at the top level of a schema."""

Json = Mapping[str, Any]


class ServerState(Struct, frozen=True, kw_only=True):
    """The state of a server. `tools` have their own names; `missing` ones are only in the config.
    `reconnects`: it failed, and the next call reconnects it.
    """

    name: str
    state: Literal["not started", "connecting", "connected", "failed"]
    where: str
    problem: str = ""
    tools: tuple[ToolSpec, ...] = ()
    missing: tuple[str, ...] = ()
    reconnects: bool = False


def valid_tools(tools: Sequence[object]) -> list[Json]:
    """Return the tools of a list that have a name and a schema."""
    return [
        tool
        for tool in tools
        if isinstance(tool, dict)
        and isinstance(tool.get("name"), str)
        and tool["name"]
        and isinstance(tool.get("inputSchema"), dict)
    ]


def tools_of(entries: Iterable[Json], is_schema: Callable[[Json], bool]) -> tuple[ToolSpec, ...]:
    """Return the callable tools of a list, with clean descriptions and schemas."""
    tools: dict[str, ToolSpec] = {}
    for tool in entries:
        name, description = tool["name"], tool.get("description") or tool.get("title") or ""
        callable_name = len(name) <= MAX_NAME and name.isprintable()
        if callable_name and name not in tools and len(tools) < MAX_LISTED:
            description = clean_text(str(description), MAX_DESCRIPTION)
            tools[name] = ToolSpec(name, description, parameters(tool["inputSchema"], is_schema))
    return tuple(tools.values())


def name_tools(
    tools: Iterable[tuple[str, ToolSpec]],
    used_names: Collection[str],
    max_characters: int,
    previous_names: Mapping[tuple[str, str], str],
) -> tuple[dict[str, tuple[str, ToolSpec]], int]:
    """Return the servers and their tools by names for the model, and how many were left out.

    Names, descriptions and schemas take at most `room` characters. A name that a tool had `before`
    stays its own: what was allowed for it must not become another's.
    """
    names = {*used_names, *previous_names.values()}
    chosen: dict[str, tuple[str, ToolSpec]] = {}
    omitted = 0
    for server, tool in tools:
        name = previous_names.get((server, tool.name), "")
        if not name or name in used_names:
            first = name = tool_name(f"{server}_{tool.name}")
            number = 1
            while name in names:
                number += 1
                name = f"{first[: 63 - len(str(number))]}_{number}"
        size = len(name) + len(tool.description) + len(json.dumps(tool.parameters))
        if len(chosen) == MAX_TOOLS or size > max_characters:
            omitted += 1
            continue
        max_characters -= size
        names.add(name)
        chosen[name] = server, tool
    return chosen, omitted


def parameters(schema: Json, is_schema: Callable[[Json], bool]) -> dict[str, Any]:
    """Return a schema that every wire accepts: an object of limited size with clean texts."""
    clean: Any = _clean(schema, 16)
    properties, required = clean.get("properties"), clean.get("required")
    arguments = {
        name: value if isinstance(value, dict) else {}
        for name, value in (properties.items() if isinstance(properties, dict) else ())
        if re.fullmatch(r"[A-Za-z0-9_.-]{1,64}", name)
    }
    arguments = dict(islice(arguments.items(), MAX_ARGUMENTS))
    required = required if isinstance(required, list) else []
    basic = {
        name: {key: value[key] for key in ("type", "items") if key in value}
        for name, value in arguments.items()
    }
    rest = {key: value for key, value in clean.items() if key not in _CHOICES}
    for candidate in ({**rest, "properties": arguments}, {"properties": basic}):
        candidate |= {"type": "object", "required": [key for key in arguments if key in required]}
        with suppress(ValueError):  # a number that JSON does not have
            size = len(json.dumps(candidate, allow_nan=False))
            if size <= MAX_SCHEMA and is_schema(candidate):
                return candidate
    return {"type": "object", "properties": {}}


def clean_text(text: str, length: int) -> str:
    """Return at most `length` printable characters of a text."""
    printable = "".join(sign for sign in text[: length * 4] if sign in "\n\t" or sign.isprintable())
    return printable if len(printable) <= length else f"{printable[: length - 1]}…"


def result_text(result: Json) -> str:
    """Return the result of a call as text; pictures and other bytes are described in a line."""
    blocks, structured = result.get("content") or [], result.get("structuredContent")
    parts = [_block_text(block) for block in blocks]
    if structured is not None and not any(block["type"] == "text" for block in blocks):
        parts.append(json.dumps(structured, ensure_ascii=False))  # else the text repeats it
    return "\n".join(filter(None, parts))


def _block_text(block: Json) -> str:
    if block["type"] == "text":
        return str(block.get("text", ""))
    content = {**block, **block.get("resource", {})}
    address = content.get("uri") or content.get("mimeType") or ""
    name = clean_text(f"{block['type']} {address}".strip(), 500)
    return f"[{name}]\n{content['text']}" if "text" in content else f"[{name}: not shown]"


def _clean(value: object, depth: int) -> object:
    """Return JSON with clean texts; values that are nested too deeply become empty."""
    if isinstance(value, str):
        return clean_text(value, MAX_DESCRIPTION)
    if isinstance(value, list):
        return [_clean(inner, depth - 1) for inner in value] if depth else []
    if not isinstance(value, dict):
        return value
    clean = {
        clean_text(str(key), MAX_NAME): _clean(inner, depth - 1)
        for key, inner in (value.items() if depth else ())
    }
    if clean.get("type") == "array" and "prefixItems" not in clean:
        clean.setdefault("items", {})  # without it a wire refuses the request
    return clean
