"""What MCP servers list and return, made safe for a model and a wire (pure). All of it is
foreign.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any

from msgspec import Struct

from chat_loop.providers.calls import tool_name

MOST_TOOLS = 128
"""Tools of all servers that a model is offered."""
MOST_LISTED = 1_000
"""Tools of one server that are read at all."""
LONGEST_DESCRIPTION = 1_024
LONGEST_SCHEMA = 8_192
"""Characters of JSON; of a longer schema only the names and types of the arguments are kept."""
MOST_ARGUMENTS = 64
MOST_NESTED = 16
LONGEST_OWN_NAME = 256
LONGEST_SHOWN = 64
_CHOICES = ("oneOf", "anyOf", "allOf", "not", "enum", "const", "if", "then", "else")
"""What some wires refuse at the top of a schema."""
_KEPT = ("type", "items")
_ARGUMENT = re.compile(r"[A-Za-z0-9_.-]{1,64}")

Json = Mapping[str, Any]


class Listed(Struct, frozen=True, kw_only=True):
    """A tool as its server lists it. `name` is the server's own; description and parameters are
    cleaned.
    """

    name: str
    description: str
    parameters: Json


class Named(Struct, frozen=True, kw_only=True):
    """A tool of a server under the name that the model calls it by."""

    name: str
    server: str
    tool: Listed


def usable(tools: Sequence[object]) -> tuple[list[Json], list[str]]:
    """Return the tools of a list that have a name and a schema, and the names of the others, empty
    without one.
    """
    kept: list[Json] = []
    skipped: list[str] = []
    for tool in tools:
        name = tool.get("name") if isinstance(tool, dict) else None
        name = name if isinstance(name, str) else ""
        if isinstance(tool, dict) and name and isinstance(tool.get("inputSchema"), dict):
            kept.append(tool)
        else:
            skipped.append(cleaned(name, LONGEST_SHOWN))
    return kept, skipped


def listed(tools: Iterable[Json], valid: Callable[[Json], bool]) -> tuple[Listed, ...]:
    """The tools of a server's list that can be called; of several with one name, the first.

    `valid(schema)` says whether it is a JSON schema at all.
    """
    found: dict[str, Listed] = {}
    for tool in tools:
        name = tool.get("name")
        if (
            not isinstance(name, str)
            or not 0 < len(name) <= LONGEST_OWN_NAME
            or name in found
            or not _is_text(name)
        ):
            continue
        found[name] = Listed(
            name=name,
            description=cleaned(
                str(tool.get("description") or tool.get("title") or ""), LONGEST_DESCRIPTION
            ),
            parameters=parameters(tool.get("inputSchema"), valid),
        )
        if len(found) == MOST_LISTED:
            break
    return tuple(found.values())


def named(
    servers: Iterable[tuple[str, Sequence[Listed]]],
    taken: Collection[str],
    room: int,
    before: Mapping[tuple[str, str], str] | None = None,
) -> tuple[tuple[Named, ...], int]:
    """The tools of all servers under names that no other has, and how many are left out.

    They are at most MOST_TOOLS, and what a model is told of them takes at most `room` characters. A
    name that a tool had `before`, by its server and own name, stays its own: what was allowed for
    it must not become another one's.
    """
    before = before or {}
    names, chosen, left = {*taken, *before.values()}, list[Named](), 0
    for server, tools in servers:
        for tool in tools:
            name = before.get((server, tool.name), "")
            if not name or name in taken:
                name = _unique(tool_name(f"{server}_{tool.name}"), names)
            size = len(name) + len(tool.description) + len(json.dumps(tool.parameters))
            if len(chosen) == MOST_TOOLS or size > room:
                left += 1
                continue
            room -= size
            names.add(name)
            chosen.append(Named(name=name, server=server, tool=tool))
    return tuple(chosen), left


def parameters(schema: object, valid: Callable[[Json], bool]) -> Json:
    """A schema as every wire takes it: an object's, not too large, and without anything hidden in
    its texts.
    """
    whole = _clean(schema, MOST_NESTED) if isinstance(schema, dict) else None
    if not isinstance(whole, dict):
        return {"type": "object", "properties": {}}
    given = whole.get("properties")
    known = given if isinstance(given, dict) else {}
    properties = {
        name: _schema(value) for name, value in known.items() if _ARGUMENT.fullmatch(name)
    }
    properties = dict(list(properties.items())[:MOST_ARGUMENTS])
    wanted = whole.get("required")
    names = [name for name in wanted if isinstance(name, str)] if isinstance(wanted, list) else []
    required = [name for name in dict.fromkeys(names) if name in properties]
    rest = {key: value for key, value in whole.items() if key not in _CHOICES}
    made = {**rest, "type": "object", "properties": properties, "required": required}
    if _fits(made) and valid(made):
        return made
    short = {
        name: {key: value[key] for key in _KEPT if key in value}
        for name, value in properties.items()
    }
    made = {"type": "object", "properties": short, "required": required}
    if _fits(made) and valid(made):
        return made
    return {"type": "object", "properties": {}}


def cleaned(text: str, most: int) -> str:
    """Text without control characters and without what is not seen, at most so many characters."""
    shown = "".join(
        sign
        for sign in text[: most * 4]
        if sign in "\n\t" or (sign.isprintable() and _is_text(sign))
    )
    return shown if len(shown) <= most else f"{shown[: most - 1]}…"


def asked(server: str, tool: str, arguments: Mapping[str, object]) -> str:
    """The whole of what a call would do, for the user."""
    tool = " ".join(cleaned(tool, LONGEST_SHOWN).split())
    given = json.dumps(arguments, indent=2, ensure_ascii=False) if arguments else "no arguments"
    return f"{tool} of the MCP server {server}\n{given}"


def result_text(result: Json) -> str:
    """The result of a call as text; pictures and other bytes are described in a line."""
    content = result.get("content")
    blocks = (
        [block for block in content if isinstance(block, dict)] if isinstance(content, list) else []
    )
    parts = [_block(block) for block in blocks]
    structured = result.get("structuredContent")
    if structured is not None:
        texts = [str(block.get("text", "")) for block in blocks if block.get("type") == "text"]
        if not any(_says(text, structured) for text in texts):
            parts.append(json.dumps(structured, ensure_ascii=False))
    return "\n".join(filter(None, parts))


def _block(block: Json) -> str:
    resource = block.get("resource")
    match block.get("type"):
        case "text":
            return str(block.get("text", ""))
        case "image" | "audio" as kind:
            return f"[{kind}, {_bytes_of(block, 'data')}: not shown]"
        case "resource_link":
            about = cleaned(str(block.get("description") or block.get("title") or ""), 200)
            return (
                "[resource "
                f"{cleaned(str(block.get('uri', '')), 500)}{f': {about}' if about else ''}]"
            )
        case "resource" if isinstance(resource, dict):
            where = cleaned(str(resource.get("uri", "")), 500)
            text = resource.get("text")
            if isinstance(text, str):
                return f"[resource {where}]\n{text}"
            return f"[resource {where}, {_bytes_of(resource, 'blob')}: not shown]"
        case other:
            return f"[{cleaned(str(other), LONGEST_SHOWN)}: not shown]"


def _bytes_of(block: Json, key: str) -> str:
    kind = cleaned(str(block.get("mimeType") or "unknown type"), LONGEST_SHOWN)
    return f"{kind}, {len(str(block.get(key, ''))) * 3 // 4:,} bytes"


def _says(text: str, value: object) -> bool:
    """Return whether a text repeats a structured value, which servers send for clients that read
    texts only.

    A value that is no object is wrapped in one key, whose name differs by server.
    """
    values = [value, *value.values()] if isinstance(value, dict) and len(value) == 1 else [value]
    if text in values:
        return True
    try:
        return json.loads(text) in values
    except (ValueError, RecursionError):
        return False


def _unique(name: str, names: Collection[str]) -> str:
    number, made = 1, name
    while made in names:
        number += 1
        made = f"{name[: 63 - len(str(number))]}_{number}"
    return made


def _schema(value: object) -> Json:
    return value if isinstance(value, dict) else {}


def _clean(value: object, depth: int) -> object:
    """JSON with cleaned texts; what is nested too deeply is left open."""
    if isinstance(value, str):
        return cleaned(value, LONGEST_DESCRIPTION)
    if isinstance(value, dict | list) and not depth:
        return {} if isinstance(value, dict) else []
    if isinstance(value, dict):
        made = {
            cleaned(str(key), LONGEST_OWN_NAME): _clean(inner, depth - 1)
            for key, inner in value.items()
        }
        if made.get("type") == "array" and "prefixItems" not in made:
            made.setdefault("items", {})  # without it a wire refuses the request
        return made
    if isinstance(value, list):
        return [_clean(inner, depth - 1) for inner in value]
    return value


def _fits(schema: Json) -> bool:
    try:
        return len(json.dumps(schema, allow_nan=False)) <= LONGEST_SCHEMA
    except ValueError:
        return False


def _is_text(text: str) -> bool:
    """Whether it can be sent: it holds no half of a surrogate pair."""
    return text.isascii() or text == text.encode("utf-8", "ignore").decode()
