"""A compaction before anything is written, as values: what its summary call is asked for, what that
came to, and what would be sealed.
"""

from __future__ import annotations

from msgspec import Struct, field

from chat_loop.agent.ask import Patience
from chat_loop.context.budget import Plan
from chat_loop.sessions.records import Exchange, Summary, SummarySource
from chat_loop.values import Compaction, Usage


class SummaryOptions(Struct, frozen=True, kw_only=True):
    """The wishes for a summary call. `max_tokens` is the ceiling of one; `limit` is in seconds, per
    call. `instructions` are the agent's own. `optional`: Ctrl-C does without.
    """

    max_tokens: int = 2048
    limit: float = 120.0
    instructions: str = ""
    patience: Patience = field(default_factory=Patience)
    optional: bool = False
    retry: bool = True
    """Ask the same provider once more after a failure; in the background the next turn does."""


class Outcome(Struct, frozen=True, kw_only=True):
    """The result of a summary call: a narrative, or None and in `problem` why, as a sentence's
    rest. `model` is provider:model of whoever wrote it.
    """

    narrative: Summary | None
    covered: tuple[Exchange, ...] = ()
    """The exchanges that the narrative tells."""
    usage: Usage | None = None
    seconds: float = 0.0
    model: str = ""
    problem: str = ""
    answered: bool = True
    """False when a provider failed at last; one that wrote something else has answered."""
    partial: Summary | None = None
    """The beginning of a narrative that failed: its first parts, or what came in time."""


class Draft(Struct, frozen=True, kw_only=True):
    """A compaction that could be carried out. `span` is what its block newly covers."""

    plan: Plan
    span: tuple[Exchange, ...]
    summary: Summary
    source: SummarySource
    compaction: Compaction
    usage: Usage | None = None
    seconds: float | None = None
    answered: bool = True
    """False when the model failed to answer when it was asked for the summary."""
