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

MAX_TOOLS = 128
"""Tools of all servers that a model is offered."""
MAX_LISTED = 1_000
"""Tools of one server that are read at all."""
MAX_DESCRIPTION = 1_024
MAX_SCHEMA = 8_192
"""Characters of JSON; of a longer schema only the names and types of the arguments are kept."""
MAX_NAME = 256
_CHOICES = ("oneOf", "anyOf", "allOf", "not", "enum", "const", "if", "then", "else")
"""What some wires refuse at the top of a schema."""

Json = Mapping[str, Any]


class McpTool(Struct, frozen=True, kw_only=True):
    """A tool as its server lists it, under its own name; description and parameters are cleaned."""

    server: str
    name: str
    description: str
    parameters: Json


class ServerState(Struct, frozen=True, kw_only=True):
    """The state of a server. `problem` says why it failed, or which of its tools cannot be called.

    `missing` are tools that the config names and it does not have. `comes_back`: it failed, and the
    next call connects it again.
    """

    name: str
    state: Literal["not started", "connecting", "connected", "failed"]
    where: str
    problem: str = ""
    tools: tuple[McpTool, ...] = ()
    missing: tuple[str, ...] = ()
    comes_back: bool = False


def usable(tools: Sequence[object]) -> list[Json]:
    """Return those of a list of tools that have a name and a schema."""
    return [
        tool
        for tool in tools
        if isinstance(tool, dict)
        and isinstance(tool.get("name"), str)
        and tool["name"]
        and isinstance(tool.get("inputSchema"), dict)
    ]


def tools_of(
    server: str, listed: Iterable[Json], valid: Callable[[Json], bool]
) -> tuple[McpTool, ...]:
    """Return the tools of a list that can be called; `valid(schema)` checks a JSON schema."""
    tools: dict[str, McpTool] = {}
    for tool in listed:
        name, about = tool["name"], tool.get("description") or tool.get("title") or ""
        usual = len(name) <= MAX_NAME and name.isprintable()
        if usual and name not in tools and len(tools) < MAX_LISTED:
            tools[name] = McpTool(
                server=server,
                name=name,
                description=cleaned(str(about), MAX_DESCRIPTION),
                parameters=parameters(tool["inputSchema"], valid),
            )
    return tuple(tools.values())


def named(
    tools: Iterable[McpTool],
    taken: Collection[str],
    room: int,
    before: Mapping[tuple[str, str], str],
) -> tuple[dict[str, McpTool], int]:
    """Return the tools by names that are not `taken`, and how many had to be left out.

    What a model is told of them takes at most `room` characters. A name that a tool had `before`,
    by its server and own name, stays its own: what was allowed for it must not become another's.
    """
    names, chosen, left = {*taken, *before.values()}, dict[str, McpTool](), 0
    for tool in tools:
        name = before.get((tool.server, tool.name), "")
        if not name or name in taken:
            wanted = name = tool_name(f"{tool.server}_{tool.name}")
            number = 1
            while name in names:
                number += 1
                name = f"{wanted[: 63 - len(str(number))]}_{number}"
        size = len(name) + len(tool.description) + len(json.dumps(tool.parameters))
        if len(chosen) == MAX_TOOLS or size > room:
            left += 1
            continue
        room -= size
        names.add(name)
        chosen[name] = tool
    return chosen, left


def parameters(schema: object, valid: Callable[[Json], bool]) -> Json:
    """Return a schema that every wire takes: an object's, not too large, with clean texts."""
    whole = _clean(schema, 16)
    if not isinstance(whole, dict):
        return {"type": "object", "properties": {}}
    known, wanted = whole.get("properties"), whole.get("required")
    arguments = {
        name: value if isinstance(value, dict) else {}
        for name, value in (known.items() if isinstance(known, dict) else ())
        if re.fullmatch(r"[A-Za-z0-9_.-]{1,64}", name)
    }
    properties = dict(islice(arguments.items(), 64))
    names = wanted if isinstance(wanted, list) else []
    required = [name for name in properties if name in names]
    short = {
        name: {key: value[key] for key in ("type", "items") if key in value}
        for name, value in properties.items()
    }
    rest = {key: value for key, value in whole.items() if key not in _CHOICES}
    for made in ({**rest, "properties": properties}, {"properties": short}):
        made |= {"type": "object", "required": required}
        with suppress(ValueError):  # a number that JSON does not have
            if len(json.dumps(made, allow_nan=False)) <= MAX_SCHEMA and valid(made):
                return made
    return {"type": "object", "properties": {}}


def cleaned(text: str, most: int) -> str:
    """Return at most `most` characters of a text, none of them a control or an unseen one."""
    shown = "".join(sign for sign in text[: most * 4] if sign in "\n\t" or sign.isprintable())
    return shown if len(shown) <= most else f"{shown[: most - 1]}…"


def result_text(result: Json) -> str:
    """Return the result of a call as text; pictures and other bytes are described in a line."""
    content, structured = result.get("content"), result.get("structuredContent")
    blocks = [block for block in content if isinstance(block, dict)] if content else []
    parts = [_block_text(block) for block in blocks]
    if structured is not None and not any(block.get("type") == "text" for block in blocks):
        parts.append(json.dumps(structured, ensure_ascii=False))  # else the text repeats it
    return "\n".join(filter(None, parts))


def _block_text(block: Json) -> str:
    kind, resource = block.get("type"), block.get("resource")
    if kind == "text":
        return str(block.get("text", ""))
    whole = {**block, **resource} if isinstance(resource, dict) else block
    about = whole.get("uri") or whole.get("mimeType") or ""
    name = cleaned(f"{kind} {about}".strip(), 500)
    text = whole.get("text")
    return f"[{name}]\n{text}" if isinstance(text, str) else f"[{name}: not shown]"


def _clean(value: object, depth: int) -> object:
    """Return JSON with cleaned texts; what is nested too deeply is left open."""
    if isinstance(value, str):
        return cleaned(value, MAX_DESCRIPTION)
    if isinstance(value, list):
        return [_clean(inner, depth - 1) for inner in value] if depth else []
    if not isinstance(value, dict):
        return value
    made = {
        cleaned(str(key), MAX_NAME): _clean(inner, depth - 1)
        for key, inner in (value.items() if depth else ())
    }
    if made.get("type") == "array" and "prefixItems" not in made:
        made.setdefault("items", {})  # without it a wire refuses the request
    return made
