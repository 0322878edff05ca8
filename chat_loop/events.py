"""The events of a conversation, for the display, `--json` and tests."""

from __future__ import annotations

from datetime import datetime

from msgspec import Struct

from chat_loop.values import Compaction, FileChange, LeftOutText, StopReason, ToolCall, Usage


class Event(Struct, frozen=True):
    """Something that happened."""


class TextDelta(Event, frozen=True):
    """A piece of the reply's text, as it arrived."""

    text: str


class ThinkingDelta(Event, frozen=True):
    """A piece of the model's reasoning, which is shown but never stored as the reply."""

    text: str


class Arriving(Event, frozen=True, kw_only=True):
    """A sign of life: something arrived that is not shown yet. If it is a part of a call of the
    tool `name`, `characters` counts those of all calls of the reply up to now.
    """

    name: str = ""
    characters: int = 0


FIRST_RETRY = 2  # the attempt after the first error


class Retrying(Event, frozen=True, kw_only=True):
    """A request failed before any content; the next `attempt`, 2 or more, is after `seconds`."""

    reason: str
    seconds: float
    attempt: int
    attempts: int


class ToolCalled(Event, frozen=True):
    """The model called a tool. A provider gives the service's `id`; the agent makes its own."""

    call: ToolCall


class OpaqueArrived(Event, frozen=True):
    """What the service sent with this step and wants back in later requests, as JSON."""

    text: str


class ToolReturned(Event, frozen=True, kw_only=True):
    """A call has its result. The model gets `given` tokens of `text` (None: all), without what was
    `left_out`; `not_kept` bytes more are not even saved. If `denied`, the user did not allow the
    call. `asked` is the time that questions about it took.
    """

    id: str
    name: str
    text: str
    failed: bool
    seconds: float
    denied: bool = False
    changes: tuple[FileChange, ...] = ()
    left_out: tuple[LeftOutText, ...] = ()
    given: int | None = None
    not_kept: int = 0
    asked: float = 0.0


class Finished(Event, frozen=True, kw_only=True):
    """The last event of one model call; `usage` is None when none was reported."""

    stop: StopReason
    usage: Usage | None = None


class ReplyEnded(Event, frozen=True, kw_only=True):
    """A reply ended and is saved. `number` is that of its query, or 0 for the acknowledgment."""

    number: int
    stop: StopReason
    usage: Usage | None
    seconds: float


class SessionBegun(Event, frozen=True, kw_only=True):
    """A session got its first entry."""

    id: str
    path: str
    model: str
    parent: str = ""


class SessionFound(Event, frozen=True, kw_only=True):
    """The session that will be resumed. Its context will take `tokens`, which cost `cost` US
    dollars with `model`, and holds what `brought` says; `left_out` requested exchanges do not fit.
    `is_old` is true if it was created in another year.
    """

    id: str
    agent: str
    created: datetime
    queries: int
    tokens: int
    damage: tuple[str, ...] = ()
    name: str = ""
    model: str = ""
    brought: str = ""
    left_out: int = 0
    cost: float | None = None
    is_old: bool = False


class Restoring(Event, frozen=True):
    """A child session gets its parent's summary block, after a compaction or a resume."""

    parent: str
    reason: str


class SummaryStarted(Event, frozen=True, kw_only=True):
    """A summary is being made, in `parts` calls. If it is `optional`, Ctrl-C skips it."""

    parts: int
    optional: bool = False


class SummaryProgress(Event, frozen=True, kw_only=True):
    """The progress of a summary, in characters of the current part."""

    part: int
    parts: int
    characters: int


class SummaryEnded(Event, frozen=True, kw_only=True):
    """A summary was made, is left to another process (`source` background), or failed (none)."""

    source: str
    usage: Usage | None = None
    seconds: float | None = None
    problem: str = ""


class SummaryPrepared(Event, frozen=True, kw_only=True):
    """A summary was prepared in the background. `use` is empty if it is for the next exit or
    compaction, `restored` if a resumed session has it now, and `late` if it came too late for that.
    """

    usage: Usage | None
    cost: float | None
    use: str = ""


class Compacted(Event, frozen=True, kw_only=True):
    """The session ended with the summary `block`; its child continues. `topics` and the changed
    `files` are those of the block.
    """

    compaction: Compaction
    reason: str
    source: str
    block: str
    topics: tuple[str, ...] = ()
    files: tuple[str, ...] = ()


class Connecting(Event, frozen=True):
    """A request waits for these MCP servers; empty when the wait is over."""

    servers: tuple[str, ...]


class Recalled(Event, frozen=True):
    """Passages of the archive, with the references `refs`, were attached to the newest query."""

    refs: tuple[str, ...]


class Attached(Event, frozen=True):
    """Files go with the newest query, each described briefly: `photo.png, 640×480`."""

    files: tuple[str, ...]


class SessionSealed(Event, frozen=True, kw_only=True):
    """A session ended. `saved` is False if writing failed; `summary` is the source of its block."""

    id: str
    path: str
    reason: str
    queries: int
    session_tokens: Usage
    restoration_tokens: Usage
    saved: bool
    summary: str


class Warned(Event, frozen=True):
    """A warning for the user; the work continues."""

    message: str
    hint: str = ""
