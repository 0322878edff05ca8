"""The one stream: what happens while a model answers. Display, fold, `--json` and tests all read
these.
"""

from __future__ import annotations

from datetime import datetime

from chat_loop.frozen import dataclass
from chat_loop.values import Compaction, StopReason, ToolCall, Usage


@dataclass(frozen=True)
class TextDelta:
    """A piece of the reply's text, as it arrived."""

    text: str


@dataclass(frozen=True)
class ThinkingDelta:
    """A piece of the model's reasoning; shown, never stored as the reply."""

    text: str


FIRST_RETRY = 2
"""The attempt after the first error."""


@dataclass(frozen=True, kw_only=True)
class Retrying:
    """The request failed before any content and is about to be sent again."""

    reason: str
    """One sentence: what went wrong."""
    seconds: float
    """The pause before the next attempt."""
    attempt: int
    """The attempt that comes next, from 2."""
    attempts: int
    """The most attempts there will be."""


@dataclass(frozen=True)
class ToolCalled:
    """The model called a tool. Its `id` is the wire's as a provider tells it, the program's own
    from the agent on.
    """

    call: ToolCall


@dataclass(frozen=True, kw_only=True)
class ToolReturned:
    """A call has its result. `text` is what the model is given of it. `denied`: the user did not
    allow it.
    """

    id: str
    name: str
    text: str
    failed: bool
    seconds: float
    denied: bool = False


@dataclass(frozen=True, kw_only=True)
class Finished:
    """The last event of one model call. `stop` is end, length, refusal, or tool when the model
    waits for its calls.

    `usage` is None when none was told.
    """

    stop: StopReason
    usage: Usage | None = None


@dataclass(frozen=True, kw_only=True)
class ReplyEnded:
    """A reply is complete as far as it came, and saved. `number` is its query's; 0 is the
    acknowledgment.
    """

    number: int
    stop: StopReason
    usage: Usage | None
    seconds: float


@dataclass(frozen=True, kw_only=True)
class SessionBegun:
    """A session got its first entry."""

    id: str
    path: str
    model: str
    parent: str = ""


@dataclass(frozen=True, kw_only=True)
class SessionFound:
    """The session that will be resumed."""

    id: str
    agent: str
    created: datetime
    queries: int
    tokens: int
    damage: tuple[str, ...] = ()


@dataclass(frozen=True)
class Restoring:
    """A child session gets its parent's summary block, after a compaction or a resume."""

    parent: str
    reason: str


@dataclass(frozen=True, kw_only=True)
class SummaryStarted:
    """A summary is being made, in so many calls. When `optional`, Ctrl-C does without it."""

    parts: int
    optional: bool = False


@dataclass(frozen=True, kw_only=True)
class SummaryProgress:
    """How far a summary has come, in characters of the current part."""

    part: int
    parts: int
    characters: int


@dataclass(frozen=True, kw_only=True)
class SummaryEnded:
    """A summary was made (`source` is model or extracted) or not (none). `problem`: why the model's
    is missing.
    """

    source: str
    usage: Usage | None = None
    seconds: float | None = None
    problem: str = ""


@dataclass(frozen=True, kw_only=True)
class Compacted:
    """The context was compacted: the session ended, its child goes on. `block` is the summary
    block's inner text.
    """

    compaction: Compaction
    reason: str
    source: str
    """Who wrote the narrative: model or extracted."""
    block: str


@dataclass(frozen=True)
class Connecting:
    """A request waits for these MCP servers; for none any more when there are none."""

    servers: tuple[str, ...]


@dataclass(frozen=True)
class Recalled:
    """Passages of the archive were attached to the newest query. `refs` are the references they
    come from.
    """

    refs: tuple[str, ...]


@dataclass(frozen=True)
class Attached:
    """Files go with the newest query. `files` tells each in a few words, as `photo.png,
    640×480`.
    """

    files: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class SessionSealed:
    """A session ended. `saved` is False when the disk refused."""

    id: str
    path: str
    reason: str
    queries: int
    session_tokens: Usage
    restoration_tokens: Usage
    saved: bool
    summary: str
    """Where its summary block came from: model, extracted, or none."""


@dataclass(frozen=True)
class Warned:
    """Something that the user should know and that stops nothing."""

    message: str
    hint: str = ""


Event = (
    TextDelta
    | ThinkingDelta
    | Retrying
    | ToolCalled
    | ToolReturned
    | Finished
    | ReplyEnded
    | SessionBegun
    | SessionFound
    | Restoring
    | SummaryStarted
    | SummaryProgress
    | SummaryEnded
    | Compacted
    | Connecting
    | Recalled
    | Attached
    | SessionSealed
    | Warned
)
