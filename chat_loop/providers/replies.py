"""The state of one streamed reply: its tool calls, its reasoning, and why it ended."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby

import msgspec
from msgspec import Struct

from chat_loop.events import Event, Finished, TextDelta, ThinkingDelta, ToolCalled
from chat_loop.values import StopReason, ToolCall, Usage

MAX_CALLS = 32  # per reply; one more is passed on but not run, and the others are dropped
MAX_ARGUMENTS = 1 << 20  # characters; longer arguments are cut, and then are not JSON
MAX_DEPTH = 32  # the deepest nesting of a call's arguments
INVALID_KEY = "INVALID_JSON"  # wraps arguments that are not JSON, for a wire that needs JSON
MAX_BLANK = 256  # leading spaces; after more of them, no reasoning is expected
THINK_TAGS = {"<think>": "</think>", "<thought>": "</thought>", "[THINK]": "[/THINK]"}


class Reply:
    """One stream up to now. Adapters fill it from the events of their wire."""

    def __init__(self, *, think_tags: bool = False) -> None:
        """Start an empty reply. `think_tags` means that the text may contain reasoning in tags."""
        self.stop: StopReason | None = None  # None until the model says why it stopped
        self.usage: Usage | None = None
        self.calls = Calls()
        self.thoughts: list[str] = []  # its reasoning, which a service may want back with the calls
        self.done = False  # the wire's own end mark has arrived
        self.started = False  # some text or reasoning has been passed on
        self._splitter = ReasoningSplitter() if think_tags else None
        self._added: list[TextDelta | ThinkingDelta] = []

    def add_text(self, text: str) -> None:
        """Add a piece of the text."""
        if text:
            self._added.append(TextDelta(text))

    def add_thinking(self, text: str) -> None:
        """Add a piece of the reasoning."""
        if text:
            self.thoughts.append(text)
            self._added.append(ThinkingDelta(text))

    def take_deltas(self) -> Iterator[Event]:
        """Yield what was added since the last time. Neighbors of one kind become one delta."""
        added, self._added = self._added, []
        for kind, neighbors in groupby(added, key=type):
            text = "".join(delta.text for delta in neighbors)
            deltas: Iterable[Event] = [kind(text)]
            if self._splitter is not None and kind is TextDelta:
                deltas = self._splitter.split(text)
            for delta in deltas:
                self.started = True
                yield delta

    def final_events(self, *, with_calls: bool) -> Iterator[Event]:
        """Yield the rest of a complete reply. Some servers say `stop` instead of `tool_calls`."""
        if self._splitter is not None:
            yield from self._splitter.rest()
        stop = self.stop or "end"
        if with_calls and stop == "end":
            calls = self.calls.complete()
            yield from map(ToolCalled, calls)
            stop = "tool" if calls else stop
        yield Finished(stop=stop, usage=self.usage)


class Call(Struct, eq=False):
    """A tool call that is being streamed."""

    id: str = ""
    name: str = ""
    pieces: list[str] = []
    length: int = 0
    signature: str = ""  # Gemini's, which it wants back

    def takes(self, identity: str, name: str, arguments: str) -> bool:
        """Return False for a piece that begins another call."""
        if identity and identity == self.id:
            return True
        if identity and self.id:
            return False
        if not name or not self.name:
            return True
        ended = bool(self.pieces) and self.pieces[-1].endswith("}")
        return name == self.name and not (ended and arguments.startswith("{"))


class Calls(list[Call]):
    """The tool calls of one reply. Some servers omit the index, the id or the arguments, give every
    call the index 0, repeat its name with every piece, or send the arguments as an object.
    """

    def __init__(self) -> None:
        self._by_key: dict[object, Call] = {}  # by id, by index, and the newest by None

    def add(
        self, index: object, identity: str, name: str, arguments: str, signature: str = ""
    ) -> None:
        """Add a piece. Its missing parts are empty. An `index` that is not a number is ignored."""
        if identity or name or arguments:
            index = index if isinstance(index, int) else None
            call = self._by_key.get(identity) or self._by_key.get(index)
            if call is None and not identity and not name:
                call = self._by_key.get(None)
            if call is None or not call.takes(identity, name, arguments):
                call = Call()
                if len(self) <= MAX_CALLS:
                    self.append(call)
            self._by_key |= {None: call, index: call, identity or index: call}
            call.id, call.name = call.id or identity, call.name or name
            call.pieces.append(arguments[: MAX_ARGUMENTS - call.length])
            call.length += len(call.pieces[-1])
        if signature and None in self._by_key:
            self._by_key[None].signature = signature

    def complete(self) -> tuple[ToolCall, ...]:
        """Return the calls in the order they began."""
        return tuple(ToolCall(call.id, call.name, "".join(call.pieces)) for call in self)


class ReasoningSplitter:
    """Splits a reply that begins with `<think>…</think>` into reasoning and answer."""

    def __init__(self) -> None:
        self._buffer = ""  # the beginning, or what may be the first part of the closing tag
        self._close: str | None = None  # the closing tag; None at the beginning, "" in the answer
        self._strip = False  # white space between reasoning and answer may still come

    def split(self, text: str) -> Iterator[TextDelta | ThinkingDelta]:
        """Add a piece of the reply's text, and yield the deltas that are certain by now."""
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
                beginnings = (self._close[:size] for size in range(len(self._close), 0, -1))
                self._buffer = next(filter(inside.endswith, beginnings), "")
            if inside := inside.removesuffix(self._buffer):
                yield ThinkingDelta(inside)
        if self._strip:
            text = text.lstrip()
            self._strip = not text
        if text:
            yield TextDelta(text)

    def rest(self) -> Iterator[TextDelta | ThinkingDelta]:
        """Yield the text that is still buffered when the reply has ended."""
        text, self._buffer = self._buffer, ""
        if text:
            yield ThinkingDelta(text) if self._close else TextDelta(text)


def tool_name(name: str) -> str:
    """Return `name` in a form that every wire accepts: 1 to 64 letters, digits, `_` and `-`."""
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
    """Return a call's arguments as an object, {} for no text, or None if they cannot be sent."""
    try:  # refuses infinite numbers and halves of surrogate pairs
        value = msgspec.json.decode(text.strip() or "{}", type=dict[str, object])
    except (ValueError, RecursionError):
        return None
    return value if _is_shallow(value, MAX_DEPTH) else None


def _is_shallow(value: object, levels: int) -> bool:
    if not isinstance(value, dict | list):
        return True
    items = value.values() if isinstance(value, dict) else value
    return levels > 0 and all(_is_shallow(item, levels - 1) for item in items)


def arguments_text(arguments: object) -> str:
    """Return arguments as text, whether they came as text or as an object."""
    if isinstance(arguments, dict) and arguments:
        try:
            return json.dumps(arguments, ensure_ascii=False)
        except RecursionError:
            return ""
    return arguments if isinstance(arguments, str) else ""
