"""Tools and results of MCP servers, made safe for a model and a wire (pure)."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

from jsonschema import Draft202012Validator, SchemaError

from chat_loop.agent.isolation import plain_line
from chat_loop.values import sha256

MAX_LISTED = 1_000  # the most tools that are read from one list
MAX_TEXT = 1_024  # characters of a description, or of another text in a schema
MAX_SCHEMA = 8_192  # characters; a longer schema keeps the names and types of its arguments
MAX_NAME = 256
TRAITS = "chat-loop/traits"
"""The key of a tool's `_meta` with the rest that describes it, as JSON."""
_TRAITS = ("title", "annotations", "outputSchema", "execution")
_CHOICES = ("oneOf", "anyOf", "allOf", "not", "enum", "const", "if", "then", "else")
"""Keys that some wires refuse at the top level of a schema."""

Json = Mapping[str, Any]


def clean_tools(tools: Sequence[object]) -> tuple[list[Json], tuple[str, ...]]:
    """Return the tools that can be called, with clean descriptions and schemas, and the names of
    the others.
    """
    clean: dict[str, Json] = {}
    skipped = []
    for tool in tools[:MAX_LISTED]:
        given = tool if isinstance(tool, dict) else {}
        name = given.get("name")
        schema = given.get("inputSchema")
        name = name if isinstance(name, str) else ""
        usable = 0 < len(name) <= MAX_NAME and name.isprintable() and name not in clean
        if usable and isinstance(schema, dict):
            about = clean_text(str(given.get("description") or given.get("title") or ""), MAX_TEXT)
            clean[name] = {
                "name": name,
                "description": about,
                "inputSchema": parameters(schema),
                "_meta": {TRAITS: _traits(given)},
            }
        else:
            skipped.append(f"“{plain_line(name, 40)}”")
    return list(clean.values()), tuple(skipped)


def _traits(tool: Json) -> str:
    """Return what a server says about a tool beside its description and arguments, as JSON, or the
    digest of a longer text. None of it has an effect: a server cannot vouch for itself.
    """
    given = {key: tool[key] for key in _TRAITS if tool.get(key) is not None}
    text = ""
    if given:
        text = json.dumps(_clean(given, 16), ensure_ascii=False, sort_keys=True)
    is_long = len(text) > MAX_TEXT
    if is_long:
        return f"sha256:{sha256(text.encode())}"
    return text


def parameters(schema: Json) -> dict[str, Any]:
    """Return a schema that every wire accepts: an object of limited size with clean texts."""
    clean: Any = _clean(schema, 16)
    properties = clean.get("properties")
    required = clean.get("required")
    arguments = {}
    for name, value in properties.items() if isinstance(properties, dict) else ():
        if re.fullmatch(r"[A-Za-z0-9_.-]{1,64}", name):
            arguments[name] = value if isinstance(value, dict) else {}
    required = required if isinstance(required, list) else []
    basic = {}
    for name, value in arguments.items():
        basic[name] = {key: value[key] for key in ("type", "items") if key in value}
    rest = {key: value for key, value in clean.items() if key not in _CHOICES}
    for candidate in ({**rest, "properties": arguments}, {"properties": basic}):
        candidate |= {"type": "object", "required": [key for key in arguments if key in required]}
        with suppress(ValueError, SchemaError, RecursionError):  # JSON has no infinite numbers
            if len(json.dumps(candidate, allow_nan=False)) <= MAX_SCHEMA:
                Draft202012Validator.check_schema(candidate)
                return candidate
    return {"type": "object", "properties": {}}


def clean_text(text: str, length: int) -> str:
    """Return at most `length` printable characters of a text."""
    printable = "".join(sign for sign in text[: length * 4] if sign in "\n\t" or sign.isprintable())
    if len(printable) <= length:
        return printable
    return f"{printable[: length - 1]}…"


def _clean(value: object, depth: int) -> object:
    """Return JSON with clean texts. Values that are nested too deeply become empty."""
    if isinstance(value, str):
        return clean_text(value, MAX_TEXT)
    if isinstance(value, list):
        if depth:
            return [_clean(inner, depth - 1) for inner in value]
        return []
    if not isinstance(value, dict):
        return value
    items = value.items() if depth else ()
    clean = {clean_text(str(key), MAX_NAME): _clean(inner, depth - 1) for key, inner in items}
    if clean.get("type") == "array" and "prefixItems" not in clean:
        clean.setdefault("items", {})  # without it, some wires refuse the request
    return clean


def result_text(result: Json) -> str:
    """Return the result of a call as text. One line describes each image or other binary block."""
    blocks = result.get("content") or []
    structured = result.get("structuredContent")
    parts = []
    for block in blocks:
        content = {**block, **block.get("resource", {})}
        address = content.get("uri") or content.get("mimeType") or ""
        label = clean_text(f"{block['type']} {address}".strip(), 500)
        if block["type"] == "text":
            parts.append(str(block.get("text", "")))
        elif "text" in content:
            parts.append(f"[{label}]\n{content['text']}")
        else:
            parts.append(f"[{label}: not shown]")
    if structured is not None and not any(block["type"] == "text" for block in blocks):
        parts.append(json.dumps(structured, ensure_ascii=False))  # else the text repeats it
    return "\n".join(filter(None, parts))
