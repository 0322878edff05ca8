"""The state of one streamed reply: its tool calls, its reasoning, and why it ended."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct

from chat_loop.events import Event, Finished, TextDelta, ThinkingDelta, ToolCalled
from chat_loop.values import StopReason, ToolCall, Usage

MAX_CALLS = 32  # further calls of a reply are dropped
MAX_ARGUMENTS = 1 << 20  # characters; longer arguments are cut, and so no JSON any more
MAX_DEPTH = 32  # how deep the arguments of a call may be nested
INVALID_KEY = "INVALID_JSON"  # the key of arguments that are none, on a wire that takes only JSON
MAX_BLANK = 256  # characters of white space after which no reasoning is expected any more
THINK_TAGS: Mapping[str, str] = {
    "<think>": "</think>",
    "<thought>": "</thought>",
    "[THINK]": "[/THINK]",
}


class Reply:
    """One stream so far. Adapters fill it from the events of their wire."""

    def __init__(self) -> None:
        self.stop: StopReason | None = None  # none while the model has not said why it stopped
        self.usage: Usage | None = None
        self.calls = Calls()
        self.reasoning = ReasoningSplitter()
        self.thoughts: list[str] = []  # its reasoning, which a service may want back with the calls
        self.done = False  # the wire's own end mark has come
        self.started = False  # some text or reasoning has been passed on

    def final_events(self, *, with_calls: bool) -> Iterator[Event]:
        """Yield what is left of a complete reply. Some servers say `stop` for `tool_calls`."""
        yield from self.reasoning.rest()
        stop = self.stop or "end"
        if with_calls and stop == "end":
            calls = self.calls.complete()
            yield from map(ToolCalled, calls)
            stop = "tool" if calls else stop
        yield Finished(stop=stop, usage=self.usage)


class _Call(Struct, eq=False):
    id: str = ""
    name: str = ""
    pieces: list[str] = []
    length: int = 0
    extra: dict[str, object] = {}


class Calls:
    """The tool calls of one reply. Servers leave out the index, the id or the arguments, give every
    call the index 0, repeat its name with every piece, or send the arguments as an object.
    """

    def __init__(self) -> None:
        self._calls: list[_Call] = []
        self._newest: _Call | None = None
        self._by_key: dict[object, _Call] = {}  # by id, and by index

    def add(self, index: object, identity: str, name: str, arguments: str) -> None:
        """Take a piece. Parts that it leaves out are empty; an `index` must be a number."""
        if not (identity or name or arguments):
            return
        index = index if isinstance(index, int) else None
        call = self._find_call(index, identity, name, arguments)
        if call is None:
            call = _Call()
            if len(self._calls) < MAX_CALLS:
                self._calls.append(call)
        self._newest = call
        if index is not None:
            self._by_key[index] = call
        if identity:
            self._by_key[identity] = call
        call.id, call.name = call.id or identity, call.name or name
        if piece := arguments[: MAX_ARGUMENTS - call.length]:
            call.pieces.append(piece)
            call.length += len(piece)

    def _find_call(
        self, index: int | None, identity: str, name: str, arguments: str
    ) -> _Call | None:
        """Return the call that a piece belongs to, None when it begins one."""
        if identity in self._by_key:
            return self._by_key[identity]
        call = self._newest if index is None else self._by_key.get(index)
        if not identity and not name:
            return call or self._newest
        if call is None or (identity and call.id):
            return None
        if name and call.name:
            last = call.pieces[-1] if call.pieces else ""
            if name != call.name or (last.endswith("}") and arguments.startswith("{")):
                return None  # the name comes again, and the arguments begin anew
        return call

    def add_extra(self, extra: Mapping[str, object]) -> None:
        """Take fields that came beside the newest call."""
        if self._newest is not None:
            self._newest.extra.update(extra)

    def complete(self) -> tuple[ToolCall, ...]:
        """Return the calls in the order they began."""
        return tuple(ToolCall(call.id, call.name, "".join(call.pieces)) for call in self._calls)

    def extras(self) -> tuple[dict[str, object], ...]:
        """Return the fields that came beside each of the calls."""
        return tuple(call.extra for call in self._calls)


class ReasoningSplitter:
    """Splits a reply that begins with `<think>…</think>` into reasoning and answer."""

    def __init__(self) -> None:
        self._buffer = ""  # the beginning, or what may be the first part of the closing tag
        self._close: str | None = None  # the closing tag; None at the beginning, "" in the answer
        self._strip = False  # white space between reasoning and answer may still come

    def split(self, text: str) -> Iterator[TextDelta | ThinkingDelta]:
        """Take a piece of the reply's text and yield what is certain by now."""
        if text and self._close == "" and not self._strip:
            yield TextDelta(text)
            return
        text, self._buffer = self._buffer + text, ""
        if self._close is None:
            start = text.lstrip()
            tag = next((tag for tag in THINK_TAGS if start.startswith(tag)), "")
            may_become_tag = any(tag.startswith(start) for tag in THINK_TAGS)
            if not tag and may_become_tag and len(text) <= MAX_BLANK:
                self._buffer = text
                return
            self._close = THINK_TAGS.get(tag, "")
            text = start[len(tag) :] if tag else text
        if self._close:
            inside, closed, text = text.partition(self._close)
            if closed:
                self._close, self._strip = "", True
            else:
                sizes = range(len(self._close) - 1, 0, -1)
                held = next((size for size in sizes if inside.endswith(self._close[:size])), 0)
                inside, self._buffer = inside[: len(inside) - held], inside[len(inside) - held :]
            if inside:
                yield ThinkingDelta(inside)
        if self._strip:
            text = text.lstrip()
            self._strip = not text
        if text:
            yield TextDelta(text)

    def rest(self) -> Iterator[TextDelta | ThinkingDelta]:
        """Yield what is still held back when the reply has ended."""
        held, self._buffer = self._buffer, ""
        if held:
            yield ThinkingDelta(held) if self._close else TextDelta(held)


def tool_name(name: str) -> str:
    """Return `name` as every wire takes it: 1 to 64 letters, digits, `_` and `-`."""
    return re.sub(r"[^A-Za-z0-9_-]", "_", name[:64]) or "unnamed"


def find_refused_tool(message: str, names: Sequence[str]) -> str:
    """Return the name of the tool that a refusal is about, or "": Anthropic gives its position
    (`tools.3.custom.input_schema: …`), OpenAI its name (`Invalid schema for function 'search': …`).
    """
    position = re.search(r"\btools?[.\[](\d{1,4})", message)
    if position and int(position[1]) < len(names):
        return names[int(position[1])]
    quoted = r"(['\"`]){0}\1|\b(?:function|tool):? {0}(?![\w-])"
    named = [name for name in names if re.search(quoted.format(re.escape(name)), message)]
    return max(named, key=len, default="")


def arguments_of(text: str) -> dict[str, object] | None:
    """Return a call's arguments as an object, {} for no text, None for what cannot be sent."""
    if not text.strip():
        return {}
    try:
        value = json.loads(text)
        # refuses infinite numbers and halves of surrogate pairs
        json.dumps(value, ensure_ascii=False, allow_nan=False).encode()
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) and _is_shallow(value, MAX_DEPTH) else None


def _is_shallow(value: object, levels: int) -> bool:
    if not isinstance(value, dict | list):
        return True
    items = value.values() if isinstance(value, dict) else value
    return levels > 0 and all(_is_shallow(item, levels - 1) for item in items)


def arguments_text(arguments: object) -> str:
    """Return arguments that came as text or as an object as text."""
    if isinstance(arguments, dict) and arguments:
        try:
            return json.dumps(arguments, ensure_ascii=False)
        except RecursionError:
            return ""
    return arguments if isinstance(arguments, str) else ""
