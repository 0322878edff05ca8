"""Plans (pure): the child session that continues a conversation, as a value. Files are read through
an argument `load`, and a summary that is missing is asked of the caller.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime
from functools import partial
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from chat_loop.context import budget, request
from chat_loop.context.budget import Limits, Narration, Plan
from chat_loop.context.exchanges import (
    Lengths,
    exchange_tokens,
    shorten_results,
    squeeze,
)
from chat_loop.context.messages import Context, shorten_block
from chat_loop.context.request import Frame
from chat_loop.conversation.conversation_options import FEEDBACK
from chat_loop.conversation.summarizer import build_block
from chat_loop.errors import SessionError, UsageError
from chat_loop.providers import Provider
from chat_loop.redact import Redactor
from chat_loop.sessions import marker, records, summary_block
from chat_loop.sessions.chain import exchange_of, link_of
from chat_loop.sessions.live import LiveSession
from chat_loop.sessions.manager import LoadedSession, SessionManager
from chat_loop.sessions.naming import title
from chat_loop.sessions.records import (
    ALL,
    EPOCH,
    Answering,
    Exchange,
    Header,
    Seal,
    Session,
    Summary,
    place_of_ref,
)
from chat_loop.tokens import Count
from chat_loop.values import Compaction, Usage, plural

LoadFrom = Callable[[str, int], LoadedSession]
"""Loads a session by its id, at least from the query with a number on. Raises SessionError."""
Cost = Callable[[str, Usage], float | None]

SEEN = "/show looks into a session."
MOST_WORDS = 16_000  # tokens of words that come back by themselves
FILLED = 0.9  # of the trigger, the most that a child begins with


class DelayedBlock(Struct, frozen=True, kw_only=True):
    """The summary of the ended session `parent`, made after its child began. `problem` is why its
    file did not get it.
    """

    parent: str
    summary: Summary
    problem: SessionError | None = None


class Basis(Struct, frozen=True):
    """The state of a live session on which a plan is based: its records without the asides."""

    id: str
    entries: int


def basis_of(session: Session) -> Basis:
    """Return the state of a live session, which is compared before a plan is carried out."""
    asides = records.Aside | records.AsideReply
    kept = sum(not isinstance(entry, asides) for entry in session.entries)
    return Basis(session.header.id, kept)


class Paid(Struct, frozen=True):
    """A block that is not sent, because its words are: up to the exchange `last`."""

    block: str
    last: Exchange


class ChildPlan(Struct, frozen=True, kw_only=True):
    """A child session to begin: its parent, and the block and exchanges of the conversation so far.
    `paid` is a newer block, if the exchanges are the words that it was made of.
    A fork omits everything after the reference `until`. In a merge, `merged` is the second parent's
    id, of which it omits what comes after `merged_until`, and `depth` is the child's place in the
    chain. `standing` is what is undone or brought back
    of the sessions before it (None: the same as in the parent). `left_out` requested exchanges did
    not fit and are only in the block, and `lengths` are those of shortened parts. `basis` is the
    state of the live session if the plan depends on it. With a `provider`, that model answers in
    the child.
    """

    parent: Session
    path: Path
    block: str
    carried: tuple[Exchange, ...] = ()
    paid: Paid | None = None
    unsummarized_from: str = ""
    pins: tuple[str, ...] | None = None
    until: str = ""
    merged: str = ""
    merged_until: str = ""
    depth: int = 0
    standing: tuple[records.UndoEntry, ...] | None = None
    left_out: int = 0
    basis: Basis | None = None
    lengths: Lengths = {}
    provider: Provider | None = None

    @property
    def omits(self) -> bool:
        """True if words of the conversation are missing in the child's context."""
        return bool(self.block or self.left_out or self.lengths)

    def restoration(self, at: datetime) -> records.Restoration:
        """Return the child's first record."""
        totals = self.parent.totals
        return records.Restoration(
            at=at,
            parent_created=self.parent.header.created,
            queries=totals.queries,
            tokens=totals.combined,
            block=self.block,
            grandparent=self.parent.header.parent,
            depth=self.depth or self.parent.depth + 1,
            verbatim_from=self.carried[0].ref if self.carried else "",
            unsummarized_from=self.unsummarized_from,
            until=self.until,
            merged=self.merged,
            merged_until=self.merged_until,
        )

    def begin(
        self,
        sessions: SessionManager,
        *,
        agent: str,
        agent_path: str,
        answering: Answering,
        tools: str = "",
    ) -> tuple[LiveSession, list[records.Entry]]:
        """Return the child, whose file does not exist yet, and its first entries."""
        at = sessions.now()
        standing = self.standing
        if standing is None:
            standing = tuple(self.parent.standing.values())
        # before its restoration: what it undoes itself stands behind that
        entries: list[records.Entry] = [replace(entry, at=at) for entry in standing]
        entries.append(self.restoration(at))
        if self.pins is not None:
            before = summary_block.parse(self.block).pinned if self.block else ()
            entries += [records.Unpin(at=at, text=pin) for pin in before if pin not in self.pins]
            entries += [records.Pin(at=at, text=pin) for pin in self.pins if pin not in before]
        if self.paid is not None:
            last = self.paid.last
            covered = records.Covered(
                at=at, block=self.paid.block, last_ref=last.ref, session=last.session
            )
            entries.append(covered)
        entries += shortened_entries(self.carried, self.lengths, at)
        live = sessions.begin(
            agent=agent,
            agent_path=agent_path,
            model=answering.model,
            endpoint=answering.endpoint,
            tools=tools,
            parent=self.parent.header.id,
            parent_path=str(self.path),
            after=self.parent,
        )
        return live, entries

    def with_parent(self, before: str, header: Header, path: Path) -> ChildPlan:
        """Return the plan after the session with the id `before` was sealed under another one,
        because another program had changed its file.
        """
        plan = self
        if plan.parent.header.id == before:
            parent = replace(plan.parent, header=replace(plan.parent.header, id=header.id))
            plan = replace(plan, parent=parent, path=path)
        return replace(plan, merged=header.id if plan.merged == before else plan.merged)


class Draft(Struct, frozen=True, kw_only=True):
    """A compaction that is ready to be carried out."""

    plan: Plan
    narration: Narration
    summary: Summary
    compaction: Compaction
    basis: Basis
    is_paid: bool = False  # true if the summary was made earlier, of words that came back

    @property
    def source(self) -> records.SummarySource:
        """The author of the summary."""
        if self.is_paid:
            return "model"
        return self.narration.source


class Leaving(Struct, frozen=True, kw_only=True):
    """How the live session is left. `seal` is None if nothing was said in it. If the seal cannot be
    saved, `must_save` keeps the session open, and `refusal` says so. The background summary is
    canceled unless `keeps_background`; if it is still running, `deliver` gets it with the path of
    the sealed file. `is_new` begins another conversation, whose spending is counted from zero.
    `compacted` is shown once it is so, with the size that the context then has, or will have once
    the child is `acknowledged`. If it `is_branch`, the command itself tells where it begins.
    """

    seal: Seal | None
    reason: str
    must_save: bool = True
    refusal: str = "Staying in this session."
    keeps_background: bool = False
    deliver: Callable[[Path, Narration], DelayedBlock | None] | None = None
    is_new: bool = True
    compacted: Draft | None = None
    acknowledged: bool = False
    is_branch: bool = False


def shortened_entries(
    exchanges: Iterable[Exchange], lengths: Lengths, at: datetime
) -> list[records.Shortened]:
    """Return the records of the shortened parts of exchanges."""
    refs = {(each.session, str(each.query.number)): each.ref for each in exchanges}
    entries = []
    for place, tokens in lengths.items():
        ref = refs.get((place.session, place.number))
        if ref is None:
            continue
        entry = records.Shortened(
            at=at,
            ref=ref,
            session=place.session,
            call=place.call,
            part=place.part,
            tokens=tokens,
        )
        entries.append(entry)
    return entries


def lengths_of(exchanges: Iterable[Exchange], lengths: Lengths) -> Lengths:
    """Return the lengths of the shortened parts of these exchanges."""
    numbers = {(each.session, str(each.query.number)) for each in exchanges}
    found = {}
    for place, tokens in lengths.items():
        if (place.session, place.number) in numbers:
            found[place] = tokens
    return found


def child_tokens(frame: Frame, plan: ChildPlan, *, acknowledged: bool = False) -> int:
    """Return the tokens of the first request of a planned child, without a query."""
    parent = plan.parent.header
    header = replace(parent, parent=parent.id, parent_path=str(plan.path))
    restoration = plan.restoration(parent.created)
    return request.child_tokens(
        frame, header, restoration, plan.carried, plan.lengths, acknowledged=acknowledged
    )


# Compaction


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
    restoration = context.session.restoration
    restored = 0
    if restoration:
        restored = count(restoration.block)
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
    keys = [(each.session, each.query.number) for each in exchanges]
    key = exchange.session, exchange.query.number
    at = keys.index(key) if key in keys else 0
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
    """Combine a plan and a narration into a draft. The context holds `used` tokens, and `waiting`
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
    header = replace(session.header, parent=session.header.id, parent_path=str(path))
    at = session.header.created
    entries = (child.restoration(at), *shortened_entries(child.carried, child.lengths, at))
    return Context(Session(header=header, entries=entries), child.carried)


def after_turn(draft: Draft, context: Context) -> Draft:
    """Return a draft that was made during a turn, with what the turn has added."""
    plan = with_turn(draft.plan, context)
    return replace(draft, plan=plan, basis=basis_of(context.session))


def seal_of(draft: Draft, session: Session, at: datetime) -> Seal:
    """Return the seal of the session that a draft compacts."""
    own = [each.query.number for each in draft.plan.compact if each.depth == session.depth]
    return replace(
        draft.narration.seal(at, "compact", draft.summary),
        source=draft.source,
        covers=max(own, default=0) if draft.plan.keep else None,
        compaction=draft.compaction,
    )


def compacted_child(draft: Draft, context: Context, path: Path, seal: Seal) -> ChildPlan:
    """Return the child of a compaction, whose parent has the title of its seal."""
    session = context.session
    header = replace(session.header, title=title(session, seal))
    block = summary_block.render(draft.summary)
    child = _compacted(context, path, draft.plan, block)
    return replace(child, parent=replace(session, header=header), basis=draft.basis)


# Stored sessions


class Wish(Struct, frozen=True, kw_only=True):
    """How a stored session is continued: with all words that fit if `whole`, else from its summary
    with the `last` exchanges. `after` are exchanges of its descendants that are kept as well. A
    summary that covers only a part counts as missing if it must cover everything (`covers_all`).
    """

    last: int = 0
    whole: bool = False
    after: tuple[Exchange, ...] = ()
    covers_all: bool = False


def context_of(session: Session, load: LoadFrom) -> tuple[Context, str]:
    """Return a session as its model saw it, and a sentence about what is missing, if anything. Only
    what it carries is read.
    """
    restoration = session.restoration
    if restoration is None:
        return Context(session), ""
    since = (session.depth, 0)
    if restoration.verbatim_from:
        since = place_of_ref(restoration.verbatim_from)
    redone = {
        place_of_ref(entry.ref): entry.session
        for entry in session.changed.values()
        if isinstance(entry, records.Redo)
    }
    first = min((since, *redone))
    text = f"The words from {first[0]}.{first[1]} on are incomplete"
    problem = ""
    child = session
    words: tuple[Exchange, ...] = ()
    for depth in range(session.depth - 1, first[0] - 1, -1):
        if not child.header.parent:
            return Context(session, words), f"{text}: {child.header.id} names no parent."
        wanted = [place[1] for place in redone if place[0] == depth]
        if depth >= since[0]:
            wanted.append(since[1] if depth == since[0] else 0)
        number = min(wanted, default=ALL)
        try:
            loaded = load(child.header.parent, number)
        except SessionError as error:
            return Context(session, words), f"{text}: {error.message}"
        parent = loaded.session
        problem = _missing_in(loaded, child, number) or problem
        seen = parent.as_continued(link_of(child).last_query, session.standing)
        carried = []
        for exchange in seen.exchanges:
            at = depth, exchange.query.number
            if at >= since or redone.get(at) == exchange.session:
                carried.append(replace(exchange, depth=depth))
        words = (*carried, *words)
        child = parent
    return Context(session, words), problem and f"{text}: {problem}"


def _missing_in(loaded: LoadedSession, child: Session, number: int) -> str:
    """Return a sentence if a session, from a query on, has not all that its child got of it."""
    identity = loaded.session.header.id
    if len(loaded.damage) > loaded.torn_records:
        return f"{identity} is damaged. {loaded.damage[0]}"
    said = 0
    if child.restoration is not None:
        said = child.restoration.queries
    queries = (entry for entry in loaded.session.entries if isinstance(entry, records.Query))
    last = max((query.number for query in queries), default=0)
    if number != ALL and last < said:
        return f"{identity} had {plural(said, 'message')}; its file ends after {last}."
    return ""


def check_resumable(session: Session, hint: str = SEEN) -> None:
    """Raise SessionError for an empty session; failed queries do not count."""
    if all(exchange.failed for exchange in session.exchanges) and not (
        session.restoration or session.pins
    ):
        text = f"Session {session.header.id} has no messages: it can't be resumed."
        raise SessionError(text, hint)


def finished(loaded: LoadedSession) -> LoadedSession:
    """Return a session that another process has open, up to the last exchange that has ended there:
    of a child, at least what it began with. Raises SessionError if there is nothing.
    """
    session = loaded.session
    ended = [exchange for exchange in session.exchanges if _has_ended(exchange, loaded)]
    if not ended and session.restoration is None:
        raise nothing_ended(session)
    is_torn = len(loaded.damage) <= loaded.torn_records  # its writer is still writing
    return replace(
        loaded,
        session=session.up_to(ended[-1].query.number if ended else 0),
        damage=() if is_torn else loaded.damage,
        is_open=True,
    )


def nothing_ended(session: Session) -> SessionError:
    """Return the error of a session that another process has open without a reply."""
    text = f"Session {session.header.id} is open in another process"
    parent = session.header.parent
    hint = f"Take {parent}, which it continues." if parent else "Try again in a moment."
    return SessionError(f"{text}, and no reply has ended there yet.", hint)


def _has_ended(exchange: Exchange, loaded: LoadedSession) -> bool:
    """Return False for the last exchange of a session if its reply is still being written."""
    if exchange is not loaded.session.exchanges[-1]:
        return True
    if exchange.reply is None or exchange.reply.stop == "tool":
        return False
    return not (exchange.reply.stop == "interrupted" and loaded.torn_records)


def stored_summary(session: Session) -> Summary | None:
    """Return the summary in a session's file; None when it is missing or empty. What a person wrote
    need not have any heading.
    """
    seal = session.seal
    summary = seal.summary if seal is not None else None
    if seal is None or summary is None:
        return None
    has_lists = summary.topics or summary.decisions or summary.pending or summary.pinned
    is_written = seal.edited and summary.background.strip() not in ("", Summary().background)
    if not (has_lists or is_written):
        return None
    if seal.edited:
        return without_secrets(summary)
    return summary


def without_secrets(summary: Summary) -> Summary:
    """Return a summary that a person edited, with a mark in the place of each secret. Pins stay."""
    redactor = Redactor()
    lists = (name for name in summary_block.LISTS if name != "pinned")
    return replace(
        summary,
        background=redactor(summary.background),
        **{name: tuple(map(redactor, getattr(summary, name))) for name in lists},
    )


def covering_summary(session: Session, *, covers_all: bool) -> Summary | None:
    """Return the summary in a session's file, or None if it is missing or covers too little."""
    covers = None
    if session.seal is not None:
        covers = session.seal.covers
    if covers is not None and covers_all:
        return None
    return stored_summary(session)


def words_fit(frame: Frame, context: Context) -> bool:
    """Return True if all words that the model of a session saw come back by themselves. No more of
    them are counted than that takes.
    """
    limit = min(frame.window.tokens // 4, MOST_WORDS)
    block = context.sent_block
    if block is not None:
        limit -= frame.count(summary_block.render(block))
    lengths = context.session.shortened
    for exchange in reversed(context.exchanges):
        if limit < 0:
            return False
        limit -= exchange_tokens(exchange, frame.count, lengths, origin=frame.counted_origin)
    return limit >= 0


def goes_by_summary(session: Session) -> bool:
    """Return True if a person edited the summary of a session, had it made again, or judged the one
    before: then it is used, however short the words are. So is that of a child that does not record
    what its parent gave it, in the format of the first version.
    """
    seal = session.seal
    if seal is not None and (seal.edited or seal.remade):
        return True
    is_unrecorded = bool(session.header.parent) and session.restoration is None
    return stored_summary(session) is not None and (is_unrecorded or is_judged(session))


def is_judged(session: Session) -> bool:
    """Return True if the user said in a session that the summary before it is bad."""
    judged = f"{FEEDBACK}: bad"
    settings = (entry for entry in session.entries if isinstance(entry, records.Setting))
    return any(setting.text.startswith(judged) for setting in settings)


def wish_to_resume(loaded: LoadedSession, context: Context, limits: Limits, wish: Wish) -> Wish:
    """Return what a resume brings: all words of a fork in which nothing was said yet, and the
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
            plan = _verbatim(loaded, context, wish.after)
            return replace(plan, lengths=fitting.lengths)
        wish = replace(wish, whole=False, last=len(exchanges))
    summary = made or covering_summary(loaded.session, covers_all=wish.covers_all)
    if summary is None:
        return None
    uncovered = () if made is not None else _uncovered(loaded.session)
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


def _uncovered(session: Session) -> tuple[Exchange, ...]:
    """Return the exchanges after the last one that a session's own summary covers."""
    covers = None
    if session.seal is not None:
        covers = session.seal.covers
    last = ALL if covers is None else covers
    rest = (exchange for exchange in session.exchanges if exchange.query.number > last)
    return tuple(exchange for exchange in rest if not exchange.failed)


def _verbatim(loaded: LoadedSession, context: Context, after: Sequence[Exchange] = ()) -> ChildPlan:
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
    """Plan a child of the live session with another summary before the same words. What was paid
    for without being sent is dropped, or the next summary would not have the change.
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
    """Return a plan whose block has all pins, since words do not tell the model of them."""
    block = summary_block.parse(plan.block) if plan.block else Summary()
    if plan.pins is None or plan.pins == block.pinned:
        return plan
    pinned = replace(block, pinned=plan.pins)
    return replace(plan, block=summary_block.render(pinned))


def _paid(session: Session, context: Context) -> Paid | None:
    """Return the newest block that was made of the words of a stored session, if there is one."""
    summary = stored_summary(session)
    uncovered = _uncovered(session)
    if summary is None:
        summary = None
        if session.covered is not None:
            summary = context.parent_block
        uncovered = context.unsummarized
    covered = context.exchanges[: len(context.exchanges) - len(uncovered)]
    if summary is None or not covered:
        return None
    return Paid(summary_block.render(summary), covered[-1])


def paid_by(plan: ChildPlan, context: Context) -> ChildPlan:
    """Return a plan that brings back the words before a context, with the block of that context as
    the one that is paid for.
    """
    if is_judged(context.session):  # it is to be made again
        return replace(plan, paid=None)
    block = context.parent_block
    new = {(each.session, each.query.number) for each in context.unsummarized}
    covered = []
    for each in plan.carried:
        if (each.session, each.query.number) not in new:
            covered.append(each)
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


# Branches


def forked(loaded: LoadedSession, number: int) -> LoadedSession:
    """Return a session as it was after query `number`, even if that was undone. Raises UsageError
    if there is none.
    """
    session = loaded.session
    if _is_undone(session, number):
        session = replace(
            session, entries=(*session.entries, records.Redo(at=EPOCH, number=number))
        )
    number = exchange_of(session, number).query.number
    return replace(loaded, session=session.up_to(number), is_open=True)


def _is_undone(session: Session, number: int) -> bool:
    counting = (exchange.query.number for exchange in session.exchanges)
    return number != 0 and number not in counting and session.exchange(number) is not None


def fork_of(loaded: LoadedSession, plan: ChildPlan, number: int) -> ChildPlan:
    """Return the plan of a fork, which names the session and the place where it leaves it."""
    session = loaded.session
    standing = tuple(session.standing.values())
    if _is_undone(session, number):
        ref = f"{session.depth}.{number}"
        redo = records.Redo(at=EPOCH, number=0, ref=ref, session=session.header.id)
        standing = (*standing, redo)
    else:
        number = exchange_of(session, number).query.number
    until = f"{session.depth}.{number}"
    return replace(plan, parent=session, until=until, standing=standing)


def as_begun(session: Session, context: Context, parent: LoadedSession) -> ChildPlan:
    """Plan a child like `session` as it began, beside it. `context` has the words that it carries,
    and `parent` is the session before it.
    """
    restoration = session.restoration
    assert restoration is not None
    begun = session.up_to(0)
    until = restoration.until
    if not until and parent.session.exchanges:
        until = parent.session.exchanges[-1].ref
    return ChildPlan(
        parent=parent.session,
        path=parent.path,
        block=restoration.block,
        carried=context.carried,
        unsummarized_from=restoration.unsummarized_from,
        pins=Context(begun).pins,
        until=until,
        merged=restoration.merged,
        merged_until=restoration.merged_until,
        depth=restoration.depth if restoration.merged else 0,
        standing=tuple(begun.standing.values()),
        lengths=lengths_of(context.carried, begun.shortened),
    )


def fork(loaded: LoadedSession, number: int, load: LoadFrom) -> ChildPlan:
    """Plan a fork with all words, whatever fits."""
    cut_off = forked(loaded, number)
    context, _ = context_of(cut_off.session, load)
    return fork_of(loaded, _verbatim(cut_off, context), number)


class Uncompacted(Struct, frozen=True):
    """The nearest ancestor with exchanges that the context lacks, the exchanges after it, and the
    reference at which its child forks, if any.
    """

    loaded: LoadedSession
    after: tuple[Exchange, ...]
    until: str


def uncompacted(
    context: Context, ancestors: Iterable[LoadedSession], load: LoadFrom
) -> Uncompacted:
    """Find what the last compaction took out of a context. The ancestors come parent first, and
    reading them may raise SessionError. Raises UsageError if there was no compaction.
    """
    session = context.session
    in_context = context.refs
    after: tuple[Exchange, ...] = ()
    for loaded in ancestors:
        restoration = session.restoration
        if restoration is None or restoration.merged:
            break
        after = (*session.exchanges, *after)
        until = restoration.until
        session = loaded.session
        words, missing = context_of(session, load)
        if missing or any(exchange.ref not in in_context for exchange in words.exchanges):
            return Uncompacted(replace(loaded, is_open=bool(until)), after, until)
    hint = "/tree shows the sessions before it."
    raise UsageError("This session was not compacted.", hint)


# Merges


class Branches(Struct, frozen=True):
    """Two sessions to merge, the one with more of their common session first. `fork` is the depth
    of that session, 0 if they have none in common. `left_open` are the ids of those that somebody
    else goes on with.
    """

    first: LoadedSession
    second: LoadedSession
    fork: int
    left_open: frozenset[str] = frozenset()

    def until(self, branch: LoadedSession) -> str:
        """Return the reference where a branch is left, if it is left open."""
        session = branch.session
        if session.header.id not in self.left_open or not session.exchanges:
            return ""
        return session.exchanges[-1].ref


def branches_of(
    first: LoadedSession,
    second: LoadedSession,
    ancestors: Callable[[Session], Iterator[Session]],
    left_open: frozenset[str] = frozenset(),
) -> Branches:
    """Return the order of two sessions to merge. Raises UsageError and SessionError."""
    if first.session.header.id == second.session.header.id:
        hint = "merge takes two sessions; /tree shows the branches of this one."
        raise UsageError(f"Both are {first.session.header.id}.", hint)
    chains = []
    for branch in (first, second):
        check_resumable(branch.session)
        chains.append([branch.session, *ancestors(branch.session)])
    ids = {session.header.id for session in chains[0]}
    common = next((session for session in chains[1] if session.header.id in ids), None)
    common_id = ""
    if common is not None:
        common_id = common.header.id
    branches = [
        (first, _last_shared_query(chains[0], common_id)),
        (second, _last_shared_query(chains[1], common_id)),
    ]
    branches.sort(key=lambda pair: (pair[0].session.header.id != common_id, -pair[1]))
    (first, _), (second, shared) = branches
    session = first.session
    last = 0
    if session.exchanges:
        last = session.exchanges[-1].query.number
    if session.header.id == common_id and last <= shared:
        whole = second.session.header.id
        part = session.header.id
        text = f"{whole} continues {part}: there is nothing to merge."
        raise UsageError(text, f"/resume {whole} has both.")
    return Branches(first, second, common.depth if common is not None else 0, left_open)


def _last_shared_query(chain: Sequence[Session], common: str) -> float:
    """Return the last query of the `common` session in a branch, or infinity if it has all."""
    children = [session for session in chain if common and session.header.parent == common]
    untils = (child.restoration.until for child in children if child.restoration is not None)
    return max((place_of_ref(until)[1] or float("inf") for until in untils), default=float("inf"))


def merged(frame: Frame, branches: Branches, summaries: tuple[Summary, Summary]) -> ChildPlan:
    """Plan the child of two sessions from their summaries."""
    from chat_loop.context import merge  # late: it loads the ledger

    session = branches.first.session
    second = branches.second.session
    fork = branches.fork
    depth = branches.first.session.depth
    room = budget.ledger_room(frame.window.tokens, frame.limits)
    summary = merge.merge(*summaries, room, frame.count, fork=fork, shift=depth - fork)
    tags = tuple(dict.fromkeys((*session.tags, *second.tags)))
    tag_kinds = records.Tag | records.Untag
    entries = tuple(entry for entry in session.entries if not isinstance(entry, tag_kinds))
    return ChildPlan(
        parent=replace(session, header=replace(session.header, tags=tags), entries=entries),
        path=branches.first.path,
        block=summary_block.render(summary),
        until=branches.until(branches.first),
        merged=second.header.id,
        merged_until=branches.until(branches.second),
        depth=depth + second.depth - fork + 1,
    )
