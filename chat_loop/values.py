"""The values that all layers share, and the formats of their numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Literal

from msgspec import Struct
from msgspec.structs import asdict, replace

StopReason = Literal["end", "length", "refusal", "tool", "interrupted", "error"]
"""Why a reply ended: `tool` to wait for one, `interrupted` by the user, `error` by a failure."""

Role = Literal["user", "assistant"]


class Usage(Struct, frozen=True, kw_only=True):
    """Tokens of a model call; `input` includes `cached` and `written`, `output` the `reasoning`."""

    input: int = 0
    output: int = 0
    cached: int = 0
    written: int = 0
    reasoning: int = 0
    estimated: bool = False

    @property
    def total(self) -> int:
        return self.input + self.output

    def __add__(self, other: Usage) -> Usage:
        numbers = ("input", "output", "cached", "written", "reasoning")
        sums = {name: getattr(self, name) + getattr(other, name) for name in numbers}
        return Usage(**sums, estimated=self.estimated or other.estimated)


class Compaction(Struct, frozen=True, kw_only=True):
    """The audit of one compaction. `first` and `last` are references. Sizes are in tokens, `cost`
    is in US dollars (None: unknown price). `archived` counts the values only in the archive.
    """

    first: str
    last: str
    before: int
    after: int
    why: str = "asked"
    model: str = ""
    cost: float | None = None
    decisions: int = 0
    pins: int = 0
    facts: int = 0
    archived: int = 0
    superseded: int = 0


class ToolCounts(Struct, frozen=True):
    """What tools did, by their results."""

    changed_files: int
    commands: int
    not_done: int  # calls that were denied, failed or were interrupted


class Finding(Struct, frozen=True):
    """A line of `doctor`'s report. `hint` says what to do. No field contains a key."""

    state: Literal["ok", "note", "warning", "problem"]
    name: str
    text: str
    hint: str = ""


EFFORTS = ("off", "minimal", "low", "medium", "high", "xhigh", "max")
"""How much a model may be asked to think, the least first."""
USUAL_EFFORT = "default"
"""The effort that leaves this to the model, whatever the config says."""


class Parameters(Struct, frozen=True, kw_only=True):
    """How a model is asked to answer. What is empty or None is not said, so that the model or its
    service decides. `max_tokens` is the maximum of a reply.
    """

    effort: str = ""  # one of EFFORTS, or USUAL_EFFORT
    temperature: float | None = None
    top_p: float | None = None
    max_tokens: int | None = None

    @property
    def text(self) -> str:
        """What is set, such as `effort high, temperature 0.2`; empty if nothing is."""
        unset = ("", None, USUAL_EFFORT)
        chosen = [f"{name} {value}" for name, value in asdict(self).items() if value not in unset]
        return ", ".join(chosen)

    def with_fallback(self, other: Parameters) -> Parameters:
        """Return these, with those of `other` where these say nothing."""
        chosen = {name: value for name, value in asdict(self).items() if value not in ("", None)}
        return replace(other, **chosen)


class Offered(Struct, frozen=True):
    """A model that can be chosen by its reference. The `window` is in tokens, 0 if unknown, and the
    `note` says why it is offered. One that `is_missing` must be downloaded first.
    """

    reference: str
    window: int = 0
    note: str = ""
    is_missing: bool = False


def matching(models: Sequence[Offered], words: str) -> Sequence[Offered]:
    """Return the models whose reference or note contains all words."""
    wanted = words.casefold().split()
    if not wanted:
        return models
    found = []
    for offer in models:
        text = f"{offer.reference} {offer.note}".casefold()
        if all(word in text for word in wanted):
            found.append(offer)
    return found


class ToolSpec(Struct, frozen=True):
    """A tool as a model sees it. `parameters` is the JSON schema of an object."""

    name: str
    description: str
    parameters: Mapping[str, object]


class ToolCall(Struct, frozen=True):
    """A tool that the model called. `arguments` is JSON as the model wrote it, perhaps damaged."""

    id: str
    name: str
    arguments: str


class FileChange(Struct, frozen=True):
    """A file that a tool wrote: its path, and the digests of its text after and before, if any."""

    text: str
    written: str
    replaced: str


class ToolResult(Struct, frozen=True):
    """The result of the call with the same `id`; when it failed, a sentence for the model."""

    id: str
    text: str
    failed: bool = False


class Image(Struct, frozen=True):
    """An image of a message: its bytes are kept in `file`; `data` has them as base64 to send."""

    name: str
    media: str
    width: int
    height: int
    file: str = ""
    data: str = ""


class Picture(Struct, frozen=True):
    """An image in the line of a message, with its pixels and bytes: a file that `mention` names as
    `@path`, or the bytes of one that has a `name` only.
    """

    width: int
    height: int
    size: int
    mention: str = ""
    name: str = ""
    data: bytes = b""


class Message(Struct, frozen=True):
    """One message of a request. The results in a user's message answer the calls of the
    assistant's message before it. `opaque` is what the service sent with an assistant's message
    and wants back, as JSON.
    """

    role: Role
    text: str
    calls: tuple[ToolCall, ...] = ()
    results: tuple[ToolResult, ...] = ()
    images: tuple[Image, ...] = ()
    opaque: str = ""

    @property
    def whole(self) -> str:
        """All texts of the message that take tokens, for estimates."""
        if not (self.results or self.calls):  # most have none
            return self.text
        results = (result.text for result in self.results)
        calls = (f"{call.name} {call.arguments}" for call in self.calls)
        return "\n".join(filter(None, (*results, self.text, *calls)))


class Request(Struct, frozen=True, kw_only=True):
    """One model call, for any provider. `messages` alternate and begin and end with the user's.
    Without `max_tokens`, the provider decides. `grammar` restricts the reply, if supported.
    `tokens` is the size of all that the model reads by the sender's count, or 0. Without
    `takes_calls`, the model is to answer without the tools that it is offered. Of `parameters`,
    `max_tokens` is not read: it is in the request's own.
    """

    system: str
    messages: tuple[Message, ...]
    max_tokens: int | None = None
    grammar: str | None = None
    tools: tuple[ToolSpec, ...] = ()
    tokens: int = 0
    takes_calls: bool = True
    parameters: Parameters = Parameters()

    @property
    def texts(self) -> tuple[str, ...]:
        """The texts that the model reads, for counting."""
        return (self.system, *(message.whole for message in self.messages))


class Window(Struct, frozen=True):
    """The tokens that prompt and reply may have together, `guessed` for an unknown model."""

    tokens: int
    guessed: bool = False


STOPS: dict[StopReason, str] = {
    "length": "cut off at the token limit",
    "refusal": "refused",
    "interrupted": "interrupted",
    "error": "failed",
}

ALLOWED = "[allowed by the user]"
"""The first line of the result of a tool call that the user approved."""


class LeftOutText(Struct, frozen=True):
    """The name of something that a model did not get, and the reason as a word."""

    text: str
    reason: str


def compact_number(number: int) -> str:
    """Shorten a number: 156 -> `156`, 2345 -> `2.3K`, 1_250_000 -> `1.2M`."""
    for unit, name in ((1_000_000, "M"), (1_000, "K")):
        if number >= unit:
            whole, tenth = divmod(number * 10 // unit, 10)
            if whole < 100 and tenth:
                return f"{whole}.{tenth}{name}"
            return f"{whole}{name}"
    return str(number)


def counts_text(queries: int, tokens: int) -> str:
    """Return a text such as `5 queries, 2.3K tokens`."""
    return f"{queries} {'query' if queries == 1 else 'queries'}, {compact_number(tokens)} tokens"


def tokens_text(usage: Usage) -> str:
    """Return `345 (in: 123, out: 222)`, plus cached and reasoning tokens; `~` marks estimates."""
    parts = [f"in: {usage.input:,}", f"out: {usage.output:,}"]
    if usage.cached:
        parts += [f"cached: {usage.cached:,}"]
    if usage.reasoning:
        parts += [f"reasoning: {usage.reasoning:,}"]
    return f"{'~' if usage.estimated else ''}{usage.total:,} ({', '.join(parts)})"


def window_text(tokens: int, guessed: bool) -> str:
    """Return a window's usual name: 8192 -> `8K`, 200000 -> `200K`; `?` marks a guess."""
    power_of_two = tokens >= 1024 and tokens & (tokens - 1) == 0
    number = f"{tokens // 1024}K" if power_of_two else compact_number(tokens)
    return f"{number}{'?' if guessed else ''}"


def size_text(size: int) -> str:
    """Return bytes in readable units: `812 bytes`, `2.1 KB`, `14 KB`, `491 MB`, `1.12 GB`."""
    if size < 1_000:
        if size == 1:
            return "1 byte"
        return f"{size} bytes"
    if size >= 999_500_000:
        return f"{size / 1e9:,.2f} GB"
    number, unit = (size / 1e6, "MB") if size >= 999_500 else (size / 1e3, "KB")
    if number < 9.95:
        return f"{number:.1f} {unit}"
    return f"{number:.0f} {unit}"


def attached_text(name: str, size: int, width: int, height: int) -> str:
    """Describe an attached file: `notes.txt, 2.1 KB`, or for an image, `photo.png, 640×480`."""
    return f"{name}, {f'{width}×{height}' if width else size_text(size)}"


def sha256(data: bytes) -> str:
    """Return the digest of bytes, in hexadecimal."""
    import hashlib  # OpenSSL takes 3 ms, which a list need not spend

    return hashlib.sha256(data).hexdigest()


def plural(number: int, noun: str) -> str:
    """Return `1 pin`, `6 pins` or `2 queries`."""
    if number == 1:
        return f"1 {noun}"
    if noun.endswith("y"):
        return f"{number:,} {noun[:-1]}ies"
    return f"{number:,} {noun}s"


def compaction_text(compaction: Compaction) -> str:
    """Return `61K → 9.4K tokens · 4 decisions, 52 facts kept · 37 values in the archive only`."""
    parts = [f"{compact_number(compaction.before)} → {compact_number(compaction.after)} tokens"]
    counts = {"decision": compaction.decisions, "pin": compaction.pins, "fact": compaction.facts}
    if any(counts.values()):
        texts = (plural(number, noun) for noun, number in counts.items() if number)
        parts.append(f"{', '.join(texts)} kept")
    if compaction.archived:
        parts.append(f"{plural(compaction.archived, 'value')} in the archive only")
    return " · ".join(parts)


def dollars_text(cost: float | None) -> str:
    """Return `$0.0123`, `$12.35`, `less than $0.0001`, `free` or `price unknown`."""
    if cost is None:
        return "price unknown"
    if cost == 0:
        return "free"
    if cost < 0.0001:
        return "less than $0.0001"
    return f"${cost:,.{4 if cost < 0.99995 else 2}f}"


def when_text(moment: datetime | None, now: datetime) -> str:
    """Return `today 14:30`, `Nov 21, 14:30`, `2025-11-21`, or `unknown`."""
    if moment is None:
        return "unknown"
    if moment.date() == now.date():
        return f"today {moment:%H:%M}"
    if moment.year == now.year:
        return f"{moment:%b %d, %H:%M}"
    return f"{moment:%Y-%m-%d}"
