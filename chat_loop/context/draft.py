"""A compaction before anything is written (pure): what its summary call is asked for, what that
came to, and the draft made of it, as values.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct, field
from msgspec.structs import replace

from chat_loop.agent.ask import Patience
from chat_loop.context.budget import Count, Plan, room
from chat_loop.context.messages import Thread, shortened_block
from chat_loop.sessions import marker, summary_block
from chat_loop.sessions.records import Exchange, Session, Summary, SummarySource
from chat_loop.values import Compaction, Usage

if TYPE_CHECKING:
    from chat_loop.context.ledger import Kept


class SummaryOptions(Struct, frozen=True, kw_only=True):
    """The wishes for a summary call. `max_tokens` is the ceiling of one; `limit` is in seconds, per
    call.

    `instructions` are the agent's own. `patience` has the limits of a call. `optional`: Ctrl-C does
    without.
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
    rest.

    `invented` are lines that were left out, because they name exact values that nobody said.
    `model` is provider:model of whoever wrote it.
    """

    narrative: Summary | None
    covered: tuple[Exchange, ...] = ()
    """The exchanges that the narrative tells."""
    usage: Usage | None = None
    seconds: float = 0.0
    model: str = ""
    problem: str = ""
    invented: tuple[str, ...] = ()
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


def spanned(thread: Thread, plan: Plan) -> tuple[Exchange, ...]:
    """Return what a plan compacts and no block covers yet."""
    fresh = {exchange.ref for exchange in thread.fresh}
    return tuple(exchange for exchange in plan.compact if exchange.ref in fresh)


def read_ahead(session: Session) -> None:
    """Look through a session's newest exchange, so that a compaction finds it read."""
    from chat_loop.context.ledger import harvest  # not before the first reply

    harvest(session.exchanges[-1:])


def covering(
    thread: Thread,
    outcome: Outcome | None,
    span: Sequence[Exchange],
    tail: Sequence[Exchange],
    *,
    ledger_room: int,
    count: Count,
) -> Kept:
    """Return the block that covers `span`. A model has told the beginning of it, if any `outcome`
    has a narrative; the rest of the topics are extracted. The ledger takes `ledger_room` tokens.
    """
    from chat_loop.context import ledger, summary  # not before something is compacted

    parent = thread.inherited
    if not span:  # nothing new was said: the parent's block is passed on
        return ledger.Kept(
            summary=replace(parent or Summary(), pinned=thread.pins),
            archived=(),
            superseded=0,
        )
    told = [outcome.narrative] if outcome is not None and outcome.narrative is not None else []
    rest = span[len(outcome.covered) :] if outcome is not None else span
    if rest or not told:
        told.append(summary.extracted(rest, parent))
    return ledger.ledger(
        parent,
        summary.joined(told, parent),
        fresh=span,
        tail=tail,
        pins=thread.pins,
        room=ledger_room,
        count=count,
    )


def drafted(
    thread: Thread,
    plan: Plan,
    outcome: Outcome | None,
    *,
    used: int,
    after: Callable[[str, Sequence[Exchange]], int],
    window: int,
    ledger_room: int,
    count: Count,
    cost: Callable[[str, Usage], float | None],
) -> Draft:
    """Put a plan and what the model wrote of the beginning of its span together.

    `used` are the tokens of the next request now, `after(block, words)` those of a child that
    begins with these. The block is shortened where it would not fit.
    """
    from chat_loop.context import ledger

    span = spanned(thread, plan)
    narrative = outcome.narrative if outcome else None
    kept = covering(thread, outcome, span, plan.keep, ledger_room=ledger_room, count=count)
    summary = kept.summary
    block = summary_block.render(summary)
    held = after(block, plan.keep)
    if held > room(window):
        block = shortened_block(block, count(block) - held + room(window), count)
        summary, held = summary_block.parse(block), after(block, plan.keep)
    usage = outcome.usage if outcome else None
    free = 0.0 if usage is None else cost(outcome.model, usage) if outcome else None
    compaction = Compaction(
        first=(span or plan.compact)[0].ref,
        last=(span or plan.compact)[-1].ref,
        before=used,
        after=held,
        why="asked" if plan.reason == "Asked for" else "automatic",
        model=marker.value(outcome.model) if outcome else "",
        cost=free,
        decisions=len(summary.decisions),
        pins=len(summary.pinned),
        facts=len(summary.key_facts),
        archived=len({value for line in kept.archived for value in ledger.read(line.text).values}),
        superseded=kept.superseded,
    )
    return Draft(
        plan=plan,
        span=span,
        summary=summary,
        source="model" if narrative is not None else "extracted",
        compaction=compaction,
        usage=usage,
        seconds=outcome.seconds if outcome else None,
    )
