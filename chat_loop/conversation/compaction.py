"""Compaction (pure): where the context is cut, and the child that continues it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import datetime
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from chat_loop.context import activity, budget
from chat_loop.context.budget import Narration, Plan
from chat_loop.context.exchanges import exchange_tokens
from chat_loop.context.messages import Context, shorten_block
from chat_loop.context.request import Frame
from chat_loop.conversation.child_plan import (
    Basis,
    ChildPlan,
    basis_of,
    child_tokens,
    lengths_of,
    shortened_entries,
)
from chat_loop.conversation.summarizer import build_block
from chat_loop.errors import UsageError
from chat_loop.events import Compacted
from chat_loop.sessions import marker, records, summary_block
from chat_loop.sessions.naming import title
from chat_loop.sessions.records import Exchange, Seal, Session, Summary
from chat_loop.values import Compaction, Usage

Cost = Callable[[str, Usage], float | None]


class Draft(Struct, frozen=True, kw_only=True):
    """A compaction that is ready to be carried out."""

    plan: Plan
    narration: Narration
    summary: Summary
    compaction: Compaction
    basis: Basis
    is_paid: bool = False  # true if the summary was made earlier, of exchanges that came back

    @property
    def source(self) -> records.SummarySource:
        """The author of the summary."""
        if self.is_paid:
            return "model"
        return self.narration.source


class Pressure(Struct, frozen=True):
    """The share that is reached of the nearest limit. `is_full` if it is the one on messages."""

    share: float
    is_full: bool


def pressure_of(frame: Frame, context: Context, used: int) -> Pressure:
    """Return how near a context of `used` tokens is to a limit."""
    limits = frame.limits
    messages = 0
    if limits.max_messages:
        messages = budget.messages_in(context.exchanges)
    share = budget.nearest_limit(used, messages, frame.window.tokens, limits)[0]
    return Pressure(share, 0 < limits.max_messages <= messages)


def tokens_of(frame: Frame, exchanges: Iterable[Exchange]) -> int:
    """Return the tokens of exchanges as they are sent."""
    return sum(exchange_tokens(exchange, frame.count) for exchange in exchanges)


def cut(frame: Frame, context: Context, used: int | None = None, ahead: int = 0) -> Plan:
    """Plan the cut of a context of `used` tokens, `ahead` tokens before it is needed. Plan one that
    the user asked for if `used` is None.
    """
    window = frame.window.tokens
    limits = frame.limits
    count = frame.count
    exchanges = context.exchanges
    unsummarized = context.unsummarized_of(context.carried)
    # a seal can only say which of its own exchanges its block covers
    carried = 0
    if unsummarized:
        carried = len(context.carried)
    if used is None:
        return budget.plan_requested(exchanges, window, limits, count, carried)
    restored = count(context.session.block)
    return budget.plan(
        exchanges,
        window,
        limits,
        count,
        used=used,
        carried=carried,
        restored=restored,
        ahead=ahead,
        lengths=context.session.shortened,
        origin=frame.counted_origin,
    )


def cut_before(plan: Plan, context: Context, exchange: Exchange) -> Plan:
    """Return a plan that compacts all before an exchange of the context. Raises UsageError if that
    is nothing.
    """
    exchanges = context.exchanges
    keys = [each.key for each in exchanges]
    at = keys.index(exchange.key) if exchange.key in keys else 0
    if not context.unsummarized_of(exchanges[:at]):
        hint = "/context shows what is in the context."
        raise UsageError(f"There is nothing to summarize before {exchange.ref}.", hint)
    return replace(plan, compact=exchanges[:at], keep=exchanges[at:])


def widened(plan: Plan, context: Context, ready: Narration) -> Plan:
    """Return a plan that compacts all that a narration covers which is ready."""
    covered = len(ready.covered)
    if covered <= len(context.unsummarized_of(plan.compact)):
        return plan
    at = len(context.exchanges) - len(context.unsummarized) + covered
    return replace(plan, compact=context.exchanges[:at], keep=context.exchanges[at:])


def draft(
    frame: Frame,
    context: Context,
    path: Path,
    plan: Plan,
    narration: Narration,
    cost: Cost,
    *,
    used: int,
    waiting: int = 0,
    acknowledged: bool = False,
) -> Draft:
    """Combine a plan and a narration into a draft. The context has `used` tokens, and `waiting`
    ones come with the next query. Shorten the block until both fit.
    """

    def tokens_with(block: str) -> int:
        child = _compacted(context, path, plan, block)
        return waiting + child_tokens(frame, child, acknowledged=acknowledged)

    span = context.unsummarized_of(plan.compact)
    made = build_block(frame, context, narration, span, plan.keep)
    summary = made.summary
    block = summary_block.render(summary)
    after = tokens_with(block)
    if after > frame.room:
        limit = frame.count(block) - after + frame.room
        block = shorten_block(block, limit, frame.count)
        summary = summary_block.parse(block)
        after = tokens_with(block)
    compacted = span or plan.compact
    audit = Compaction(
        first=compacted[0].ref,
        last=compacted[-1].ref,
        before=used,
        after=after,
        why="asked" if plan.reason == "Asked for" else "automatic",
        model=marker.safe_value(narration.model),
        cost=0.0 if narration.usage is None else cost(narration.model, narration.usage),
        decisions=len(summary.decisions),
        pins=len(summary.pinned),
        facts=len(summary.key_facts),
        archived=len(made.archived_values),
        superseded=made.superseded,
    )
    return Draft(
        plan=plan,
        narration=narration,
        summary=summary,
        compaction=audit,
        basis=basis_of(context.session),
        is_paid=not span,
    )


def _compacted(context: Context, path: Path, plan: Plan, block: str) -> ChildPlan:
    """Return the child of a compacted session with a block."""
    session = context.session
    unsummarized = context.unsummarized_of(plan.keep)
    return ChildPlan(
        parent=session,
        path=path,
        block=block,
        carried=plan.keep,
        unsummarized_from=unsummarized[0].ref if unsummarized else "",
        lengths=lengths_of(plan.keep, session.shortened),
    )


def edited(
    frame: Frame,
    context: Context,
    path: Path,
    draft: Draft,
    summary: Summary,
    *,
    acknowledged: bool,
) -> Draft:
    """Return a draft with the block that the user edited."""
    child = _compacted(context, path, draft.plan, summary_block.render(summary))
    compaction = replace(
        draft.compaction,
        after=child_tokens(frame, child, acknowledged=acknowledged),
        decisions=len(summary.decisions),
        pins=len(summary.pinned),
        facts=len(summary.key_facts),
    )
    return replace(draft, summary=summary, compaction=compaction)


def with_turn(plan: Plan, context: Context) -> Plan:
    """Return a plan that keeps the newest exchange, whose turn is still running."""
    compact = plan.compact
    exchanges = context.exchanges
    if len(compact) == len(exchanges):
        compact = exchanges[:-1]
    return replace(plan, compact=compact, keep=exchanges[len(compact) :])


def view_of(draft: Draft, context: Context, path: Path) -> Context:
    """Return the context of a drafted child before the draft is carried out."""
    session = context.session
    plan = with_turn(draft.plan, context)
    child = _compacted(context, path, plan, summary_block.render(draft.summary))
    header = replace(session.header, parent=session.id, parent_path=str(path))
    at = session.header.created
    entries = (child.restoration(at), *shortened_entries(child.carried, child.lengths, at))
    return Context(Session(header=header, entries=entries), child.carried)


def after_turn(draft: Draft, context: Context) -> Draft:
    """Return a draft that was made during a turn, with what the turn has added."""
    return replace(draft, plan=with_turn(draft.plan, context), basis=basis_of(context.session))


def seal_of(draft: Draft, session: Session, at: datetime) -> Seal:
    """Return the seal of the session that a draft compacts."""
    own = [each.number for each in draft.plan.compact if each.depth == session.depth]
    return replace(
        draft.narration.seal(at, "compact", draft.summary),
        source=draft.source,
        covers=max(own, default=0) if draft.plan.keep else None,
        compaction=draft.compaction,
    )


def event_of(draft: Draft, after: int) -> Compacted:
    """Return what is shown of a compaction whose child begins with `after` tokens."""
    return Compacted(
        compaction=replace(draft.compaction, after=after),
        reason=draft.plan.reason,
        source=draft.source,
        block=summary_block.render(draft.summary),
        topics=draft.summary.topics,
        files=activity.changed_files(draft.summary.files),
    )


def compacted_child(draft: Draft, context: Context, path: Path, seal: Seal) -> ChildPlan:
    """Return the child of a compaction, whose parent has the title of its seal."""
    session = context.session
    header = replace(session.header, title=title(session, seal))
    child = _compacted(context, path, draft.plan, summary_block.render(draft.summary))
    return replace(child, parent=replace(session, header=header), basis=draft.basis)
