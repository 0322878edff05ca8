"""The one stream: what happens while a model answers. Display, fold, `--json` and tests all read these."""

from __future__ import annotations

from dataclasses import dataclass

from chat_loop.values import StopReason, Usage


@dataclass(frozen=True, slots=True)
class TextDelta:
    """A piece of the reply's text, as it arrived."""

    text: str


@dataclass(frozen=True, slots=True)
class ThinkingDelta:
    """A piece of the model's reasoning; shown, never stored as the reply."""

    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Finished:
    """The last event of a complete stream. `stop` is end, length or refusal; usage is None when the server told none."""

    stop: StopReason
    usage: Usage | None = None


Event = TextDelta | ThinkingDelta | Retrying | Finished
