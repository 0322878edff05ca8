"""Resumption (pure): the child that continues a stored session, word for word or from its summary.
A summary that is missing is asked of the caller.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from chat_loop.context.budget import Limits
from chat_loop.context.exchanges import Lengths, exchange_tokens, shorten_results, squeeze
from chat_loop.context.messages import Context
from chat_loop.context.request import Frame
from chat_loop.conversation.child_plan import ChildPlan, Paid, basis_of, child_tokens, lengths_of
from chat_loop.conversation.stored_context import (
    after_summary,
    check_resumable,
    covering_summary,
    is_judged,
    stored_summary,
)
from chat_loop.sessions import summary_block
from chat_loop.sessions.manager import LoadedSession
from chat_loop.sessions.records import Exchange, Session, Summary
from chat_loop.tokens import Count

MOST_VERBATIM = 16_000  # tokens of exchanges that come back word for word by themselves
FILLED = 0.9  # of the trigger, the most that a child begins with


class Wish(Struct, frozen=True, kw_only=True):
    """How a stored session is continued: with all exchanges that fit if `whole`, else from its
    summary with the `last` exchanges. `after` are exchanges of its descendants that are kept as
    well. A summary that covers only a part counts as missing if it must cover everything
    (`covers_all`).
    """

    last: int = 0
    whole: bool = False
    after: tuple[Exchange, ...] = ()
    covers_all: bool = False


def fits_verbatim(frame: Frame, context: Context) -> bool:
    """Return True if all exchanges that the model of a session saw come back word for word by
    themselves. No more of them are counted than that takes.
    """
    limit = min(frame.window.tokens // 4, MOST_VERBATIM)
    block = context.sent_block
    if block is not None:
        limit -= frame.count(summary_block.render(block))
    lengths = context.session.shortened
    for exchange in reversed(context.exchanges):
        if limit < 0:
            return False
        limit -= exchange_tokens(exchange, frame.count, lengths, origin=frame.counted_origin)
    return limit >= 0


def wish_to_resume(loaded: LoadedSession, context: Context, limits: Limits, wish: Wish) -> Wish:
    """Return what a resume brings: all exchanges of a fork in which nothing was said yet, and the
    newest ones of a session without a summary, which else would not tell the model of them.
    """
    session = loaded.session
    is_fork = session.seal is None and bool(context.carried) and not session.exchanges
    if is_fork:
        wish = replace(wish, whole=True)
    if stored_summary(session) is not None:
        return wish
    return replace(wish, last=max(wish.last, limits.preserve_recent // 2))


def continued(
    frame: Frame,
    loaded: LoadedSession,
    context: Context,
    wish: Wish,
    made: Summary | None = None,
) -> ChildPlan | None:
    """Plan the child that continues a session. Return None if its summary has to be `made` first,
    of all that is in its context. Raises SessionError for an empty session.
    """
    exchanges = (*context.exchanges, *wish.after)
    if wish.whole:
        if not exchanges and context.sent_block is None and not context.pins:
            check_resumable(Session(header=loaded.session.header))
        fitting = _fitting(frame, loaded, exchanges, context, context.sent_block or Summary())
        if len(fitting.exchanges) == len(exchanges):
            plan = verbatim(loaded, context, wish.after)
            return replace(plan, lengths=fitting.lengths)
        wish = replace(wish, whole=False, last=len(exchanges))
    summary = made or covering_summary(loaded.session, covers_all=wish.covers_all)
    if summary is None:
        return None
    uncovered = () if made is not None else after_summary(loaded.session)
    unsummarized = (*uncovered, *wish.after)
    number = max(min(max(1, wish.last), len(exchanges)), len(unsummarized))
    newest = exchanges[len(exchanges) - number :]
    cuts: Lengths = {}
    if number == 1 and not (wish.last or unsummarized):  # nobody asked for all of it
        limit = frame.window.tokens // 10
        cuts = _cut_to(limit, newest[0], context.session.shortened, frame.count)
    fitting = _fitting(frame, loaded, newest, context, summary, cuts)
    carried = fitting.exchanges
    if len(carried) < len(unsummarized) and made is None:  # a smaller window than before
        return None
    return ChildPlan(
        parent=loaded.session,
        path=loaded.path,
        block=summary_block.render(summary),
        carried=carried,
        unsummarized_from=next((each.ref for each in carried if each in unsummarized), ""),
        left_out=number - len(carried),
        lengths=fitting.lengths,
    )


def verbatim(loaded: LoadedSession, context: Context, after: Sequence[Exchange] = ()) -> ChildPlan:
    """Plan a child with all exchanges of a context and those `after` it, word for word."""
    block = context.sent_block
    unsummarized = (*context.after_block, *after)
    return ChildPlan(
        parent=loaded.session,
        path=loaded.path,
        block=summary_block.render(block) if block else "",
        carried=(*context.exchanges, *after),
        paid=_paid(loaded.session, context),
        unsummarized_from=unsummarized[0].ref if unsummarized else "",
        pins=context.pins,
    )


def with_summary(context: Context, path: Path, summary: Summary) -> ChildPlan:
    """Plan a child of the live session with another summary before the same exchanges. What was
    paid for without being sent is dropped, or the next summary would not have the change.
    """
    session = context.session
    unsummarized = context.after_block
    return ChildPlan(
        parent=session,
        path=path,
        block=summary_block.render(summary),
        carried=context.exchanges,
        unsummarized_from=unsummarized[0].ref if unsummarized else "",
        basis=basis_of(session),
        lengths=lengths_of(context.exchanges, session.shortened),
    )


def with_pins(plan: ChildPlan) -> ChildPlan:
    """Return a plan whose block has all pins, since exchanges do not tell the model of them."""
    block = summary_block.parse(plan.block) if plan.block else Summary()
    if plan.pins is None or plan.pins == block.pinned:
        return plan
    pinned = replace(block, pinned=plan.pins)
    return replace(plan, block=summary_block.render(pinned))


def _paid(session: Session, context: Context) -> Paid | None:
    """Return the newest block that was made of the exchanges of a stored session, if any was."""
    summary = stored_summary(session)
    uncovered = after_summary(session)
    if summary is None:
        if session.covered is not None:
            summary = context.parent_block
        uncovered = context.unsummarized
    covered = context.exchanges[: len(context.exchanges) - len(uncovered)]
    if summary is None or not covered:
        return None
    return Paid(summary_block.render(summary), covered[-1])


def paid_by(plan: ChildPlan, context: Context) -> ChildPlan:
    """Return a plan that brings back the exchanges before a context, with the block of that context
    as the one that is paid for.
    """
    if is_judged(context.session):  # it is to be made again
        return replace(plan, paid=None)
    block = context.parent_block
    new = {each.key for each in context.unsummarized}
    covered = [each for each in plan.carried if each.key not in new]
    if block is None or not covered or plan.left_out:
        return plan
    return replace(plan, paid=Paid(summary_block.render(block), covered[-1]))


class _Fitting(Struct, frozen=True):
    """Exchanges that fit, with the lengths of their shortened parts."""

    exchanges: tuple[Exchange, ...]
    lengths: Lengths


def _cut_to(limit: int, exchange: Exchange, lengths: Lengths, count: Count) -> Lengths:
    """Return the lengths with which a carried exchange has at most `limit` tokens: its results are
    shortened before anything else.
    """
    excess = exchange_tokens(exchange, count, lengths) - limit
    cuts = shorten_results([exchange], lengths, excess, count, spares_newest=False)
    return cuts | squeeze(exchange, {**lengths, **cuts}, limit, count)


def _fitting(
    frame: Frame,
    loaded: LoadedSession,
    exchanges: Sequence[Exchange],
    context: Context,
    summary: Summary,
    cuts: Lengths | None = None,
) -> _Fitting:
    """Return the newest exchanges that, together with a block, stay so far below the trigger that
    the next message fits. Results are shortened before an exchange is left out, and the newest one
    is shortened until it fits; `cuts` are the lengths of parts that are shortened anyway.
    """
    count = frame.count
    newest = tuple(exchanges[-1:])  # with the sentence that introduces the words
    plan = ChildPlan(
        parent=loaded.session,
        path=loaded.path,
        block=summary_block.render(summary),
        carried=newest,
    )
    lengths = {**lengths_of(exchanges, context.session.shortened), **(cuts or {})}
    size_of = partial(exchange_tokens, count=count, origin=frame.counted_origin)
    sizes = [size_of(each, lengths=lengths) for each in exchanges]
    free = int(frame.trigger * FILLED) - child_tokens(frame, plan)
    free += sum(map(size_of, newest))
    excess = sum(sizes) - free
    if excess > 0:
        lengths |= shorten_results(exchanges, lengths, excess, count, spares_newest=False)
        sizes = [size_of(each, lengths=lengths) for each in exchanges]
    start = len(exchanges)
    while start and sizes[start - 1] <= free:
        start -= 1
        free -= sizes[start]
    if newest and start == len(exchanges):
        cuts = squeeze(newest[0], lengths, free * 3 // 4, count)  # the rest is for the next query
        if size_of(newest[0], lengths={**lengths, **cuts}) <= free:
            return _Fitting(newest, lengths_of(newest, {**lengths, **cuts}))
    kept = tuple(exchanges[start:])
    return _Fitting(kept, lengths_of(kept, lengths))
