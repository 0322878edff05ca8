"""The state of one streamed reply: its tool calls, its reasoning, and why it ended."""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import Protocol

import msgspec
from msgspec import Struct

from chat_loop.characters import one_line
from chat_loop.errors import ProviderError
from chat_loop.events import Arriving, Event, Finished, TextDelta, ThinkingDelta, ToolCalled
from chat_loop.providers.endings import MEANINGS, STOPS, Ending, ending_error
from chat_loop.providers.stream import PIECE
from chat_loop.values import StopReason, ToolCall, Usage

SIGN_SECONDS = 1.0  # between two signs of life of a reply that shows nothing
MAX_CALLS = 32  # per reply; one more is passed on but not run, and the others are dropped
MAX_ARGUMENTS = 1 << 20  # characters; longer arguments are cut, and then are not JSON
MAX_DEPTH = 32  # the deepest nesting of a call's arguments
INVALID_KEY = "INVALID_JSON"  # wraps arguments that are not JSON, for a wire that needs JSON
MAX_BLANK = 256  # leading spaces; after more of them, no reasoning is expected
THINK_TAGS = {"<think>": "</think>", "<thought>": "</thought>", "[THINK]": "[/THINK]"}


class Wanted(Protocol):
    """What arrives with a reply and may have to go back. `size` is that of its part that no delta
    has, in characters.
    """

    size: int

    def value(self) -> object:
        """Return it as a value of JSON, or None if nothing arrived."""


class ReplyStream:
    """One stream up to now. Adapters fill it from the events of their wire."""

    def __init__(self, *, think_tags: bool = False, wanted: Wanted | None = None) -> None:
        """Start an empty reply. `think_tags` means that the text may contain reasoning in tags."""
        self.wanted = wanted
        self.stop: StopReason | None = None  # None until the model says why it stopped
        self.usage: Usage | None = None
        self.calls = Calls()
        self.characters = 0  # of the text, when it was added
        self.done = False  # the wire's own end mark has arrived
        self.started = False  # some text or reasoning has been passed on
        self.identity = ""  # the server's id of this reply
        self.is_stable = False  # that id has come more than once
        self.choice: object = None  # the number of the choice that is read, if there are several
        self._ending: tuple[Ending, str] | None = None  # an ending that is no answer, its reason
        self._splitter = ReasoningSplitter() if think_tags else None
        self._added: list[TextDelta | ThinkingDelta] = []
        self._joiners: dict[type[Event], Joiner] = {TextDelta: Joiner(), ThinkingDelta: Joiner()}
        self._characters = 0  # passed on
        self._has_shown = False  # a delta was passed on since the last sign of life
        self._reported = 0  # the size of the calls that the last sign of life told
        self._signed_at = 0.0

    @property
    def size(self) -> int:
        """The characters that have arrived."""
        hidden = 0
        if self.wanted is not None:
            hidden = self.wanted.size
        return self._characters + self.calls.size + hidden

    def add_text(self, text: str) -> None:
        """Add a piece of the text."""
        if text:
            self.characters += len(text)
            self._added.append(TextDelta(text))

    def add_thinking(self, text: str) -> None:
        """Add a piece of the reasoning."""
        if text:
            self._added.append(ThinkingDelta(text))

    def end(self, reason: object) -> None:
        """Store why the reply ended, in the words of the server, which are empty in the middle of a
        reply. After a refusal or a failure, no other reason counts.
        """
        if not reason or self.stop in ("refusal", "error"):
            return
        reason = one_line(reason if isinstance(reason, str) else repr(reason), 60)
        meaning = MEANINGS.get(reason.partition(":")[0].strip().lower())
        if meaning == "unfinished":
            return
        if meaning in ("failure", "pause"):
            self.fail(meaning, reason)
        elif meaning is None:
            self.fail("unknown", reason)
        else:
            self.stop = STOPS[meaning]

    def fail(self, ending: Ending, reason: str = "") -> None:
        """Store an ending that is no answer."""
        self.stop = "error"
        self._ending = (ending, reason)

    def is_another(self, identity: str, *, begins: bool) -> bool:
        """Note the id of an event. Return True, after beginning again, if it belongs to another
        reply, which it `begins`. Some servers give each event an id of its own, and some say in
        each that a reply begins.
        """
        if not identity or identity == self.identity:
            self.is_stable = self.is_stable or bool(identity)
            return False
        if begins and self.is_stable and self.has_begun:
            self.begin_again()
            return True
        self.identity = identity
        return False

    @property
    def has_begun(self) -> bool:
        return bool(self.started or self._added or self.calls)

    def begin_again(self) -> None:
        """End this reply, because another one begins. In the middle of this one, it has failed."""
        self.done = True
        if self.stop is None:
            self.fail("restart")

    def take_deltas(self) -> Iterator[TextDelta | ThinkingDelta]:
        """Yield what was added since the last time. Neighbors of one kind become one delta, of at
        most `PIECE` characters.
        """
        added = self._added
        self._added = []
        for kind, neighbors in groupby(added, key=type):
            text = "".join(delta.text for delta in neighbors)
            self._characters += len(text)
            for start in range(0, len(text), PIECE):
                yield from self._deltas(kind, self._joiners[kind].feed(text[start : start + PIECE]))

    def _deltas(
        self, kind: type[TextDelta | ThinkingDelta], text: str
    ) -> Iterator[TextDelta | ThinkingDelta]:
        if not text:
            return
        deltas: Iterable[TextDelta | ThinkingDelta] = [kind(text)]
        if self._splitter is not None and kind is TextDelta:
            deltas = self._splitter.split(text)
        for delta in deltas:
            self.started = self._has_shown = True
            yield delta

    def sign_of_life(self, now: float) -> Arriving | None:
        """Return what is known of the call that is arriving. If nothing arrives that is shown or a
        call, return an empty sign, at most one in `SIGN_SECONDS`. `now` is in seconds.
        """
        size = self.calls.size
        name = ""
        if size > self._reported and self.calls:
            self._reported = size
            name = tool_name(self.calls[-1].name)
        elif self._has_shown or now - self._signed_at < SIGN_SECONDS:
            self._has_shown = False
            return None
        self._signed_at = now
        return Arriving(name=name, characters=size)

    def final_events(self, *, with_calls: bool) -> Iterator[Event]:
        """Yield the rest of a complete reply. Some servers say `stop` instead of `tool_calls`."""
        yield from self._deltas(TextDelta, self._joiners[TextDelta].feed("", last=True))
        if self._splitter is not None:
            yield from self._splitter.rest()
        stop = self.stop or "end"
        if with_calls and stop == "end":
            calls = self.calls.complete()
            yield from map(ToolCalled, calls)
            stop = "tool" if calls else stop
        yield Finished(stop=stop, usage=self.usage)

    def failure(self, host: str) -> ProviderError | None:
        """Return the error for an ending that is no answer, or None."""
        if self._ending is None:
            return None
        return ending_error(*self._ending, host)


class Joiner:
    """Puts characters together that a server has cut: halves of surrogate pairs, and bytes of UTF-8
    that were decoded with `surrogateescape`. What has no other half becomes U+FFFD.
    """

    def __init__(self) -> None:
        self._half = ""  # the first half of a pair
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._is_open = False  # a part of a character is held back

    def feed(self, text: str, *, last: bool = False) -> str:
        """Add the next piece. Return what is certain by now, all of it if `last`."""
        if not self._is_open and _is_whole(text):
            return text
        text = self._half + text
        self._half = ""
        if not last and text[-1:] and _FIRST_HALF.match(text[-1]):
            self._half = text[-1]
            text = text[:-1]
        pairs = text.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")
        whole = _NO_BYTES.sub("\ufffd", pairs)
        joined = self._decoder.decode(whole.encode("utf-8", "surrogateescape"), last)
        self._is_open = bool(self._half or self._decoder.getstate()[0])
        return joined


_HALVES = re.compile("[\ud800-\udfff]")
_FIRST_HALF = re.compile("[\ud800-\udbff]")
_NO_BYTES = re.compile("[\ud800-\udc7f\udd00-\udfff]")
"""Halves of pairs other than the bytes of `surrogateescape`."""


def _is_whole(text: str) -> bool:
    return text.isascii() or not _HALVES.search(text)


def replace_surrogates(text: str) -> str:
    """Return `text` in valid UTF-8: join what was cut, and replace the rest by U+FFFD."""
    if _is_whole(text):  # nearly always, and asked of each message of each request
        return text
    return Joiner().feed(text, last=True)


class StreamedCall(Struct, eq=False):
    """A tool call that is being streamed."""

    id: str = ""
    name: str = ""
    pieces: list[str] = []
    length: int = 0

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


class Calls(list[StreamedCall]):
    """The tool calls of one reply. Some servers omit the index, the id or the arguments, give every
    call the index 0, repeat its name with every piece, or send the arguments as an object.
    """

    def __init__(self) -> None:
        self.size = 0  # characters that have arrived
        self._by_key: dict[object, StreamedCall] = {}  # by id, by index, and the newest by None

    def add(self, index: object, identity: str, name: str, arguments: str) -> None:
        """Add a piece. Its missing parts are empty. An `index` that is not a number is ignored."""
        if identity or name or arguments:
            self.size += len(name) + len(arguments)
            index = index if isinstance(index, int) else None
            call = self._find(index, identity, name, arguments)
            if call is None or not call.takes(identity, name, arguments):
                call = StreamedCall()
                if len(self) <= MAX_CALLS:
                    self.append(call)
            self._by_key |= {None: call, index: call, identity or index: call}
            call.id = call.id or identity
            call.name = call.name or name
            if piece := arguments[: MAX_ARGUMENTS - call.length]:
                call.pieces.append(piece)
                call.length += len(piece)

    @property
    def newest(self) -> int:
        """The index of the call that got the last piece, or -1 if it is not in the list."""
        call = self._by_key.get(None)
        if call is not None and call in self:
            return self.index(call)
        return -1

    def _find(self, index: object, identity: str, name: str, arguments: str) -> StreamedCall | None:
        """Return the call that a piece may belong to, or None for the first piece of another."""
        by_id = self._by_key.get(identity)
        by_index = self._by_key.get(index)
        if by_id is None:
            if by_index is None and not identity and not name:
                return self._by_key.get(None)
            return by_index
        if by_index is not None and by_index.id == identity:
            return by_index  # two calls may have one id
        if by_index is None and name and (not arguments or arguments.startswith("{")):
            return None
        return by_id

    def complete(self) -> tuple[ToolCall, ...]:
        """Return the calls in the order they began."""
        calls = []
        for call in self:
            arguments = replace_surrogates("".join(call.pieces))
            calls.append(ToolCall(call.id, call.name, arguments))
        return tuple(calls)


class ReasoningSplitter:
    """Splits a reply that begins with `<think>…</think>` into reasoning and answer."""

    def __init__(self) -> None:
        self._buffer = ""  # the beginning, or what may be the first part of the closing tag
        self._close: str | None = None  # the closing tag; None at the beginning, "" in the answer
        self._strip = False  # white space between reasoning and answer may still come

    def split(self, text: str) -> Iterator[TextDelta | ThinkingDelta]:
        """Add a piece of the reply's text, and yield the deltas that are certain by now."""
        text = self._buffer + text
        self._buffer = ""
        if self._close is None:
            start = text.lstrip()
            tag = next((tag for tag in THINK_TAGS if start.startswith(tag)), "")
            may_become_tag = any(tag.startswith(start) for tag in THINK_TAGS)
            if not tag and may_become_tag and len(text) <= MAX_BLANK:
                self._buffer = text
                return
            self._close = THINK_TAGS.get(tag, "")
            if tag:
                text = start[len(tag) :]
        if self._close:
            inside, closed, text = text.partition(self._close)
            if closed:
                self._close = ""
                self._strip = True
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
        text = self._buffer
        self._buffer = ""
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
    return value if is_shallow(value, MAX_DEPTH) else None


def is_shallow(value: object, levels: int) -> bool:
    """Return True for a value of JSON that is nested at most `levels` deep."""
    if not isinstance(value, dict | list):
        return True
    items = value.values() if isinstance(value, dict) else value
    return levels > 0 and all(is_shallow(item, levels - 1) for item in items)


def arguments_text(arguments: object) -> str:
    """Return arguments as text, whether they came as text or as an object."""
    if isinstance(arguments, dict) and arguments:
        try:
            return json.dumps(arguments, ensure_ascii=False)
        except RecursionError:
            return ""
    return arguments if isinstance(arguments, str) else ""
