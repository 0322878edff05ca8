"""Tool calls on the wires: put together from the pieces that they stream in, and read as the JSON
they should be.

What servers do differently: leave out the index, the id or the arguments; give every call the index
0; send a call whole, or repeat its name with every piece; send the arguments as an object instead
of its text.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence

from chat_loop.values import ToolCall

MOST_CALLS = 32
"""What a reply holds beyond it is dropped."""
LONGEST_ARGUMENTS = 1 << 20
"""Characters; longer arguments are cut, and so no JSON any more."""
MOST_NESTED = 32
"""How deep the arguments of a call may be nested."""

INVALID = "INVALID_JSON"
"""The key under which arguments that are no JSON object are sent back to a wire that takes nothing
else.
"""

_UNNAMEABLE = re.compile(r"[^A-Za-z0-9_-]")


def tool_name(name: str) -> str:
    """`name` as every wire takes it and a marker holds it: 1 to 64 letters, digits, `_` and `-`."""
    return _UNNAMEABLE.sub("_", name[:64]) or "unnamed"


def refused_tool(refusal: str, names: Sequence[str]) -> str:
    """Return the name of the tool that a server's refusal is about, "" where it names none.

    `names` are those of the request in their order: Anthropic gives a position
    (`tools.3.custom.input_schema: …`), OpenAI a name (`Invalid schema for function 'search': …`).
    """
    position = re.search(r"\btools?[.\[](\d{1,4})", refusal)
    if position and int(position[1]) < len(names):
        return names[int(position[1])]
    named = [
        name
        for name in names
        if re.search(
            rf"(['\"`]){re.escape(name)}\1|\b(?:function|tool):? {re.escape(name)}(?![\w-])",
            refusal,
        )
    ]
    return max(named, key=len, default="")


def arguments_of(text: str) -> dict[str, object] | None:
    """The JSON object that a call's arguments are, or None when they are none, or one that no
    request could carry.

    No text at all is an empty object: some servers leave it out.
    """
    if not text.strip():
        return {}
    try:
        value = json.loads(text)
        json.dumps(
            value, ensure_ascii=False, allow_nan=False
        ).encode()  # infinite numbers, halves of surrogate pairs
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) and _is_shallow(value) else None


def _is_shallow(value: object) -> bool:
    level = [value]
    for _ in range(MOST_NESTED):
        level = [
            inner for outer in level for inner in _members(outer) if isinstance(inner, dict | list)
        ]
        if not level:
            return True
    return False


def _members(value: object) -> Iterable[object]:
    if isinstance(value, dict):
        return value.values()
    return value if isinstance(value, list) else ()


def as_text(arguments: object) -> str:
    """Arguments as the text they should have come as."""
    if isinstance(arguments, str):
        return arguments
    try:
        return (
            json.dumps(arguments, ensure_ascii=False)
            if isinstance(arguments, dict) and arguments
            else ""
        )
    except RecursionError:
        return ""


class _Open:
    """A call that has begun."""

    def __init__(self) -> None:
        self.id = self.name = ""
        self.extra: dict[str, object] = {}
        self._pieces: list[str] = []
        self._length = 0

    @property
    def arguments(self) -> str:
        return "".join(self._pieces)

    @property
    def last(self) -> str:
        """The end of its arguments so far."""
        return self._pieces[-1] if self._pieces else ""

    def add(self, identity: str, name: str, arguments: str) -> None:
        self.id = self.id or identity
        self.name = self.name or name
        piece = arguments[: LONGEST_ARGUMENTS - self._length]
        if piece:
            self._pieces.append(piece)
            self._length += len(piece)


class Calls:
    """The calls of one reply, as far as they have come."""

    def __init__(self) -> None:
        self._open: list[_Open] = []
        self._newest: _Open | None = None
        self._by_index: dict[int, _Open] = {}
        self._by_id: dict[str, _Open] = {}

    def add(self, index: object, identity: str, name: str, arguments: str) -> None:
        """Take a piece. What it leaves out is empty; an `index` that is no number counts as left
        out.
        """
        if not (identity or name or arguments):
            return
        place = index if isinstance(index, int) else None
        call = self._continued(place, identity, name, arguments)
        if call is None:
            call = _Open()
            if len(self._open) < MOST_CALLS:
                self._open.append(call)
        self._newest = call
        if place is not None:
            self._by_index[place] = call
        if identity:
            self._by_id[identity] = call
        call.add(identity, name, arguments)

    def note(self, extra: object) -> None:
        """Take what came beside the newest call: an object, or nothing."""
        if isinstance(extra, dict) and self._newest is not None:
            self._newest.extra.update(extra)

    @property
    def extras(self) -> tuple[dict[str, object], ...]:
        """What came beside each of the calls, in their order."""
        return tuple(call.extra for call in self._open)

    def complete(self) -> tuple[ToolCall, ...]:
        """The calls in the order they began."""
        return tuple(ToolCall(call.id, call.name, call.arguments) for call in self._open)

    def _continued(
        self, index: int | None, identity: str, name: str, arguments: str
    ) -> _Open | None:
        """The call that a piece belongs to, None when it begins one."""
        if identity in self._by_id:
            return self._by_id[identity]
        call = self._by_index.get(index) if index is not None else self._newest
        if not identity and not name:
            return call or self._newest
        if call is None or (identity and call.id):
            return None
        if (
            name
            and call.name
            and (name != call.name or (call.last.endswith("}") and arguments.startswith("{")))
        ):
            return None  # the name stands again, but what it stands before begins anew
        return call
