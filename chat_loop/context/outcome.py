"""What a summary call is asked for, and what it came to, as values."""

from __future__ import annotations

from msgspec import Struct

from chat_loop.agent.ask import Patience
from chat_loop.sessions.records import Summary
from chat_loop.values import Usage


class SummaryOptions(Struct, frozen=True, kw_only=True):
    """The wishes for a summary call. `max_tokens` is the ceiling of one; `limit` is in seconds, per
    call.

    `instructions` are the agent's own. `patience` has the limits of a call. `after_error`: seconds
    within which a provider that failed must begin to answer the one more call that it gets.
    `optional`: Ctrl-C does without.
    """

    max_tokens: int = 2048
    limit: float = 120.0
    instructions: str = ""
    patience: Patience | None = None
    after_error: float = 5.0
    optional: bool = False
    retry: bool = True
    """Ask the same provider once more after a failure. In the background the next turn is the
    second time.
    """


class Outcome(Struct, frozen=True, kw_only=True):
    """The result of a summary call: a narrative, or None and in `problem` why, as a sentence's
    rest.

    `invented` are lines that were left out, because they name exact values that nobody said.
    `model` is provider:model of whoever wrote it.
    """

    narrative: Summary | None
    usage: Usage | None = None
    seconds: float = 0.0
    model: str = ""
    problem: str = ""
    invented: tuple[str, ...] = ()
    answered: bool = True
    """False when a provider failed at last; one that wrote something else has answered."""
    partial: Summary | None = None
    """The beginning of a narrative that failed: its first parts, or what came until the time was
    over.
    """
