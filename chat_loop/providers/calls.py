"""Tool calls on the wires, put together from the pieces that they stream in.

Servers leave out the index, the id or the arguments, give every call the index 0, send a call
whole, repeat its name with every piece, or send the arguments as an object instead of its text.
"""

from __future__ import annotations

import json
import re
from collections import OrderedDict
from collections.abc import Mapping, Sequence

from msgspec import Struct

from chat_loop.values import ToolCall

MOST_CALLS = 32
"""Further calls of a reply are dropped."""
LONGEST_ARGUMENTS = 1 << 20
"""Characters; longer arguments are cut, and so no JSON any more."""
MOST_NESTED = 32
"""How deep the arguments of a call may be nested."""
INVALID = "INVALID_JSON"
"""The key of arguments that are no JSON object, on a wire that takes nothing else."""
MOST_KEPT = 256
"""Calls whose replayed fields are remembered."""
LONGEST_EXTRA = 1 << 18
"""Characters of JSON that are remembered of a call."""


def tool_name(name: str) -> str:
    """Return `name` as every wire takes it: 1 to 64 letters, digits, `_` and `-`."""
    return re.sub(r"[^A-Za-z0-9_-]", "_", name[:64]) or "unnamed"


def refused_tool(refusal: str, names: Sequence[str]) -> str:
    """Return the name of the tool that a server's refusal is about, "" where it names none.

    `names` are those of the request in their order: Anthropic gives a position
    (`tools.3.custom.input_schema: …`), OpenAI a name (`Invalid schema for function 'search': …`).
    """
    position = re.search(r"\btools?[.\[](\d{1,4})", refusal)
    if position and int(position[1]) < len(names):
        return names[int(position[1])]
    quoted = r"(['\"`]){0}\1|\b(?:function|tool):? {0}(?![\w-])"
    named = [name for name in names if re.search(quoted.format(re.escape(name)), refusal)]
    return max(named, key=len, default="")


def arguments_of(text: str) -> dict[str, object] | None:
    """Return the JSON object of a call's arguments; None for none, or one that cannot be sent.

    No text at all is an empty object: some servers leave it out.
    """
    if not text.strip():
        return {}
    try:
        value = json.loads(text)
        # refuses infinite numbers and halves of surrogate pairs
        json.dumps(value, ensure_ascii=False, allow_nan=False).encode()
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) and _is_shallow(value, MOST_NESTED) else None


def _is_shallow(value: object, levels: int) -> bool:
    if not isinstance(value, dict | list):
        return True
    inner = value.values() if isinstance(value, dict) else value
    return levels > 0 and all(_is_shallow(item, levels - 1) for item in inner)


def as_text(arguments: object) -> str:
    """Return arguments that came as text or as an object as text."""
    if isinstance(arguments, dict) and arguments:
        try:
            return json.dumps(arguments, ensure_ascii=False)
        except RecursionError:
            return ""
    return arguments if isinstance(arguments, str) else ""


class _Call(Struct, eq=False):
    """A call that has begun."""

    id: str = ""
    name: str = ""
    pieces: list[str] = []
    length: int = 0
    extra: dict[str, object] = {}


class Calls:
    """The calls of one reply, as far as they have come."""

    def __init__(self) -> None:
        self._begun: list[_Call] = []
        self._newest: _Call | None = None
        self._known: dict[object, _Call] = {}
        """By their id, and by their index."""

    def add(self, index: object, identity: str, name: str, arguments: str) -> None:
        """Take a piece. Parts that it leaves out are empty; an `index` must be a number."""
        if not (identity or name or arguments):
            return
        index = index if isinstance(index, int) else None
        call = self._continued(index, identity, name, arguments)
        if call is None:
            call = _Call()
            if len(self._begun) < MOST_CALLS:
                self._begun.append(call)
        self._newest = call
        if index is not None:
            self._known[index] = call
        if identity:
            self._known[identity] = call
        call.id, call.name = call.id or identity, call.name or name
        piece = arguments[: LONGEST_ARGUMENTS - call.length]
        if piece:
            call.pieces.append(piece)
            call.length += len(piece)

    def note(self, extra: Mapping[str, object]) -> None:
        """Take fields that came beside the newest call."""
        if self._newest is not None:
            self._newest.extra.update(extra)

    @property
    def extras(self) -> tuple[dict[str, object], ...]:
        """The fields that came beside each of the calls, in their order."""
        return tuple(call.extra for call in self._begun)

    def complete(self) -> tuple[ToolCall, ...]:
        """Return the calls in the order they began."""
        return tuple(ToolCall(call.id, call.name, "".join(call.pieces)) for call in self._begun)

    def _continued(
        self, index: int | None, identity: str, name: str, arguments: str
    ) -> _Call | None:
        """Return the call that a piece belongs to, None when it begins one."""
        if identity in self._known:
            return self._known[identity]
        call = self._newest if index is None else self._known.get(index)
        if not identity and not name:
            return call or self._newest
        if call is None or (identity and call.id):
            return None
        if name and call.name:
            last = call.pieces[-1] if call.pieces else ""
            if name != call.name or (last.endswith("}") and arguments.startswith("{")):
                return None  # the name comes again, and the arguments begin anew
        return call


class ReplayedFields:
    """Fields that a service sends beside its calls and wants back with them.

    Gemini signs its calls and refuses one without its signature
    (https://ai.google.dev/gemini-api/docs/thought-signatures); DeepSeek wants the reasoning that
    led to the calls (https://api-docs.deepseek.com/guides/thinking_mode). They are remembered by
    the name and the arguments of a call, as long as the provider lives, and stand in no transcript.
    """

    def __init__(self) -> None:
        self._kept: OrderedDict[tuple[str, str], tuple[Mapping[str, object], str]] = OrderedDict()

    def keep(
        self, calls: Sequence[ToolCall], extras: Sequence[Mapping[str, object]], reasoning: str
    ) -> None:
        """Remember one of `extras` for each call, and the reasoning before the first."""
        for call, extra in zip(calls, extras, strict=True):
            try:
                text = json.dumps(extra, ensure_ascii=False, allow_nan=False)
                text.encode()  # halves of surrogate pairs cannot be sent back
            except (ValueError, RecursionError):
                text = ""
            kept = extra if 0 < len(text) <= LONGEST_EXTRA else {}
            if kept or reasoning:
                self._kept[tool_name(call.name), call.arguments] = kept, reasoning
                self._kept.move_to_end((tool_name(call.name), call.arguments))
            reasoning = ""
        while len(self._kept) > MOST_KEPT:
            self._kept.popitem(last=False)

    def of(self, call: ToolCall) -> tuple[Mapping[str, object], str]:
        """Return the fields and the reasoning of a call; nothing when they are not known."""
        return self._kept.get((tool_name(call.name), call.arguments), ({}, ""))
