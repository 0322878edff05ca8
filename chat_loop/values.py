"""The values that all layers share: pure, frozen, equal by content."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from msgspec import Struct

StopReason = Literal["end", "length", "refusal", "tool", "interrupted", "error"]
"""Why a reply ended; `tool`: it waits for one, `interrupted`: by the user, `error`: broken off."""

Role = Literal["user", "assistant"]


class Usage(Struct, frozen=True, kw_only=True):
    """Tokens of one model call as the OpenAI API counts them. `input` includes those `cached` and
    `written` in the provider's prompt cache, `output` those of the `reasoning`.
    """

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
    """The audit of one compaction. `first` and `last` are references, sizes in tokens, `cost` in
    US dollars (None: unknown price); `archived` are values in the archive only.
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


class Message(Struct, frozen=True):
    """One message as it is sent; the stored form is an exchange. The results in a user's message
    answer the calls of the assistant's message before it.
    """

    role: Role
    text: str
    calls: tuple[ToolCall, ...] = ()
    results: tuple[ToolResult, ...] = ()
    images: tuple[Image, ...] = ()

    @property
    def whole(self) -> str:
        """Every text in it that takes tokens, for estimates."""
        results = (result.text for result in self.results)
        calls = (f"{call.name} {call.arguments}" for call in self.calls)
        return "\n".join(filter(None, (*results, self.text, *calls)))


class Request(Struct, frozen=True, kw_only=True):
    """One model call, independent of the wire. `messages` alternate, the user's first and last;
    None is the provider's default. `grammar` is GBNF for the reply, where the provider can.
    """

    system: str
    messages: tuple[Message, ...]
    max_tokens: int | None = None
    grammar: str | None = None
    tools: tuple[ToolSpec, ...] = ()

    @property
    def texts(self) -> tuple[str, ...]:
        """The texts that the model reads, for counting."""
        return (self.system, *(message.whole for message in self.messages))


class Window(Struct, frozen=True):
    """The tokens that a model takes, prompt and reply together; `guessed` for an unknown model."""

    tokens: int
    guessed: bool = False
