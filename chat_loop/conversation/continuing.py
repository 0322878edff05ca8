"""Continuing: reads stored sessions, has missing summaries made, and plans the child."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Protocol

from msgspec import Struct
from msgspec.structs import replace

from chat_loop.context.budget import Narration
from chat_loop.context.messages import Context
from chat_loop.context.request import Frame
from chat_loop.conversation import branch_plans, child_plan, resumption, stored_context, summarizer
from chat_loop.conversation.background import DelayedBlock
from chat_loop.conversation.branch_plans import Branches
from chat_loop.conversation.child_plan import ChildPlan
from chat_loop.conversation.compaction import Draft
from chat_loop.conversation.conversation_options import Options
from chat_loop.conversation.resumption import Wish
from chat_loop.errors import SaveError, SessionError, SessionLocked, UsageError, save_error
from chat_loop.events import Event, SessionFound, SummaryEnded, Warned
from chat_loop.sessions import summary_block
from chat_loop.sessions.chain import ancestors_of, read_chain
from chat_loop.sessions.live import LiveSession
from chat_loop.sessions.manager import LoadedSession, SessionManager
from chat_loop.sessions.naming import name_of
from chat_loop.sessions.reach import Found
from chat_loop.sessions.records import (
    Answering,
    Exchange,
    Header,
    Seal,
    SealReason,
    Session,
    Summary,
    place_of_ref,
)
from chat_loop.tasks import in_daemon_thread, uncancel
from chat_loop.values import Usage, plural

FIRST = "That is the first message of this conversation."
GOES_ON = "Continuing in a new session with what is saved so far."


class Narrate(Protocol):
    """Has the models write the narrative of a span. `fallback` says what happens if that fails, and
    the user may skip an `optional` one.
    """

    def __call__(
        self,
        context: Context,
        span: Sequence[Exchange],
        focus: str = "",
        fallback: str = "",
        *,
        optional: bool = False,
    ) -> Awaitable[Narration]: ...


class Planning(Struct, frozen=True, kw_only=True):
    """What planning needs. `options` are those of the program, without the settings of a session.
    `narrate` has the models write the narrative of a span, and reports how that ended. `fallback`
    says what happens if a resume fails.
    """

    sessions: SessionManager
    frame: Frame
    options: Options
    answering: Answering
    acknowledges: bool
    narrate: Narrate
    report: Callable[[Event], None]
    fallback: str = stored_context.SEEN

    def load(self, identity: str) -> LoadedSession:
        """Load a session by its id. Raises SessionError."""
        return self.sessions.load(self.sessions.session_file(identity))

    def context_of(self, loaded: LoadedSession) -> Context:
        """Return a stored session as its model saw it; warn about exchanges that are missing."""
        return self.checked_context(loaded)[0]

    def checked_context(self, loaded: LoadedSession) -> tuple[Context, bool]:
        """Return the same, and whether no exchange is missing."""
        context, missing = stored_context.context_of(loaded.session, self.sessions.load_from)
        if missing:
            self.report(Warned(missing, "The summary covers what it can of them."))
        return context, not missing


class Missing(Struct, frozen=True):
    """A session whose summary is missing, so that its child begins with an extract."""

    loaded: LoadedSession
    context: Context


class Resumption(Struct, frozen=True, kw_only=True):
    """A planned resume. `confirmed` is true if the model is asked to confirm what it got. `left_at`
    is the exchange at which the conversation was left, if it has one. `missing` is the session
    whose summary can still be made.
    """

    plan: ChildPlan
    confirmed: bool
    left_at: Exchange | None = None
    missing: Missing | None = None


class _Made(Struct, frozen=True):
    """A summary that was missing, if one was: `missing` if no model was asked, `failed` if it gave
    none.
    """

    summary: Summary = Summary()
    missing: Missing | None = None
    failed: bool = False


async def resume(
    planning: Planning,
    loaded: LoadedSession,
    *,
    last: int = 0,
    whole: bool = False,
    summary: bool = False,
    quick: bool = False,
) -> Resumption:
    """Plan to continue a session: with all exchanges that fit if `whole`; if a `summary` or the
    `last` ones are asked for, from its summary; else with all of them if they are short. If
    `quick`, no model is asked. A session that somebody else has open is branched. Raises
    SessionError.
    """
    loaded = _as_left(planning, loaded)
    session = loaded.session
    frame = planning.frame
    stored_context.check_resumable(session, planning.fallback)
    context, has_all = planning.checked_context(loaded)
    is_missing = stored_context.stored_summary(session) is None
    if is_missing and not (quick or loaded.is_open):
        _warn_if_locked(planning, session)
    by_summary = summary or last or stored_context.goes_by_summary(session)
    if not (whole or by_summary or loaded.is_partial) and (has_all or is_missing):
        whole = await in_daemon_thread(resumption.fits_verbatim, frame, context)
    asks = not (quick or is_missing)  # nobody waits for a summary
    options = planning.options.with_settings(session.settings)
    wish = Wish(last=last, whole=whole, covers_all=options.compact_on_resume and asks)
    wish = resumption.wish_to_resume(loaded, context, frame.limits, wish)
    made = _Made()
    if loaded.is_open and not session.exchanges and session.restoration is not None:
        plan = as_begun(planning, context)
    else:
        plan, made = await _child(planning, loaded, context, wish, asks=asks)
    plan = resumption.with_pins(plan)
    if loaded.is_open and session.exchanges:
        plan = replace(plan, until=session.exchanges[-1].ref)
    missing = made.missing
    confirmed = not (quick or made.failed or missing is not None)
    acknowledged = confirmed and planning.acknowledges
    tokens = await in_daemon_thread(child_plan.child_tokens, frame, plan, acknowledged=acknowledged)
    planning.report(_found(planning, loaded, plan, tokens, is_extract=missing is not None))
    left_at = None
    if context.exchanges:
        left_at = context.exchanges[-1]
    return Resumption(plan=plan, confirmed=confirmed, left_at=left_at, missing=missing)


def _found(
    planning: Planning, loaded: LoadedSession, plan: ChildPlan, tokens: int, *, is_extract: bool
) -> SessionFound:
    """Return what is shown of a session that is resumed in `tokens`."""
    header = loaded.session.header
    parent = loaded.session.restoration
    queries = loaded.session.totals.queries
    if not queries and parent is not None:  # it only has its parent's exchanges
        queries = parent.queries
    parts = []
    if plan.block:
        parts.append("key points" if is_extract else "a summary")
    if plan.carried:
        parts.append(plural(len(plan.carried), "message"))
    return SessionFound(
        id=header.id,
        agent=header.agent,
        created=header.created,
        queries=queries,
        tokens=tokens,
        damage=loaded.damage,
        name=name_of(loaded.session),
        model=planning.answering.model,
        brought=" and ".join(parts),
        left_out=plan.left_out,
        cost=planning.options.cost(planning.answering.model, Usage(input=tokens)),
        is_old=header.created.year != planning.sessions.now().year,
    )


def _as_left(planning: Planning, loaded: LoadedSession) -> LoadedSession:
    """Return a session as its child leaves it: of one that somebody else has open, what has ended
    there. Warn of that. Raises SessionError.
    """
    identity = loaded.session.id
    if planning.sessions.is_open_elsewhere(loaded):
        loaded = stored_context.finished(loaded)
        exchanges = loaded.session.exchanges
        where = "beside it, as it began"
        if exchanges:
            where = f"of it, after {exchanges[-1].ref}"
        text = f"Session {identity} is open in another process."
        planning.report(Warned(text, f"Continuing in a branch {where}."))
    elif loaded.is_open and loaded.session.exchanges:
        text = f"The machine that began {identity} has not ended it."
        planning.report(Warned(text, "Continuing in a new session with what is here so far."))
    return loaded


def _warn_if_locked(planning: Planning, session: Session) -> None:
    """Warn when another process is still making the summary of a session."""
    try:
        with suppress(OSError):
            planning.sessions.lock_summary(session.id).close()
    except SessionLocked as error:
        planning.report(Warned(error.message, GOES_ON))


async def _child(
    planning: Planning, loaded: LoadedSession, context: Context, wish: Wish, *, asks: bool
) -> tuple[ChildPlan, _Made]:
    """Plan a child, after making the summary of its parent if that is missing."""
    plan = await in_daemon_thread(resumption.continued, planning.frame, loaded, context, wish)
    if plan is not None:
        return plan, _Made()
    if loaded.is_partial:  # only its ends were read, and the middle is needed
        loaded = planning.sessions.load(loaded.path)
        context = planning.context_of(loaded)
    made = await _summary_of(planning, loaded, context, asks=asks)
    plan = await in_daemon_thread(
        resumption.continued, planning.frame, loaded, context, wish, made.summary
    )
    assert plan is not None
    return plan, made


async def _summary_of(
    planning: Planning, loaded: LoadedSession, context: Context, *, asks: bool
) -> _Made:
    """Make the summary of a stored session, and write it into its file if a model was asked or if
    it needs none.
    """
    session = loaded.session
    report = planning.report
    options = planning.options.with_settings(session.settings)
    unsummarized = context.unsummarized
    is_invalid = session.seal is not None and session.seal.summary is not None
    if unsummarized and is_invalid and stored_context.stored_summary(session) is None:
        report(Warned("The session's summary has an invalid format; making a new one."))
    narration = Narration()
    is_final = bool(unsummarized) and asks
    if is_final and options.use_ai_summary:
        try:
            narration = await planning.narrate(context, unsummarized, optional=True)
        except asyncio.CancelledError:
            uncancel()
            report(SummaryEnded(source="extracted", problem="Summary skipped."))
            is_final = False
    # neither Ctrl-C nor an exit waits for a large session to be read
    summary = await in_daemon_thread(summarizer.final_block, planning.frame, context, narration)
    if is_final and loaded.is_sealable:
        try:
            seal_stored(planning.sessions, loaded, "resume", summary, narration)
        except (SaveError, SessionLocked) as error:
            report(Warned(error.message, GOES_ON))
    missing = None
    if unsummarized and not asks:
        missing = Missing(loaded, context)
    return _Made(summary, missing, failed=bool(narration.problem))


def seal_stored(
    sessions: SessionManager,
    loaded: LoadedSession,
    reason: SealReason,
    summary: Summary,
    narration: Narration,
    *,
    remade: bool = False,
) -> Seal:
    """Write a summary into the file of a session that has ended; return its seal."""
    before = loaded.session.seal
    seal = narration.seal(sessions.now(), reason, summary)
    seal = replace(seal, remade=remade, compaction=before.compaction if before else None)
    sessions.seal_stored(loaded, seal)
    return seal


def deliver_missing(
    sessions: SessionManager, frame: Frame, missing: Missing, narration: Narration
) -> DelayedBlock:
    """Write the summary that was missing into its session's file, and return it for the child."""
    loaded = missing.loaded
    summary = summarizer.final_block(frame, missing.context, narration)
    problem: SessionError | None = None
    if loaded.is_sealable:
        try:
            seal_stored(sessions, loaded, "resume", summary, narration)
        except SessionError as error:
            problem = error
    return DelayedBlock(parent=loaded.session.id, summary=summary, problem=problem)


def add_delayed(
    sessions: SessionManager,
    frame: Frame,
    context: Context,
    draft: Draft,
    path: Path,
    narration: Narration,
) -> DelayedBlock | None:
    """Write a narration into the file of a session that `draft` sealed with an extract of
    `context`, unless it was edited. Return its block. Raises SessionError.
    """
    span = context.unsummarized_of(draft.plan.compact)
    summary = summarizer.build_block(frame, context, narration, span, draft.plan.keep).summary
    loaded = sessions.load(path)
    seal = loaded.session.seal
    if seal is None or seal.summary != draft.summary:
        return None
    seal = replace(
        seal, source="model", summary=summary, usage=narration.usage, seconds=narration.seconds
    )
    sessions.seal_stored(loaded, seal)
    return DelayedBlock(parent=loaded.session.id, summary=summary)


async def fork(planning: Planning, loaded: LoadedSession, number: int) -> ChildPlan:
    """Plan to continue from query `number` of a session, word for word. Raises UsageError."""
    cut_off = branch_plans.forked(loaded, number)
    plan = await _whole(planning, cut_off)
    return branch_plans.fork_of(loaded, plan, number)


async def before(planning: Planning, found: Found, context: Context) -> ChildPlan:
    """Plan to continue from before a message of the chain. `context` is that of the open session.
    Raises UsageError if it is the first one, and SessionError.
    """
    session = found.session
    number = found.exchange.number
    earlier = [each for each in session.exchanges if each.number < number]
    if earlier:
        return await fork(planning, found.loaded, earlier[-1].number)
    if session.restoration is None or not session.header.parent:
        raise UsageError(FIRST, "/new starts an empty session.")
    if session.id != context.session.id:
        context = planning.context_of(found.loaded)
    return as_begun(planning, context)


def as_begun(planning: Planning, context: Context) -> ChildPlan:
    """Plan a child like the session of a context as it began, beside it. Raises SessionError."""
    session = context.session
    return branch_plans.as_begun(session, context, planning.load(session.header.parent))


async def _whole(
    planning: Planning, loaded: LoadedSession, after: tuple[Exchange, ...] = ()
) -> ChildPlan:
    """Plan a child with all exchanges of a session and those `after` it, as far as they fit."""
    options = planning.options.with_settings(loaded.session.settings)
    wish = Wish(whole=True, after=after, covers_all=options.compact_on_resume)
    plan, _ = await _child(planning, loaded, planning.context_of(loaded), wish, asks=True)
    return plan


async def uncompact(planning: Planning, live: LiveSession, context: Context) -> ChildPlan:
    """Plan to continue with all exchanges before and after the last compaction of the live
    session. Raises UsageError if there was none, and SessionError.
    """
    session = context.session
    found = branch_plans.uncompacted(
        context, ancestors_of(planning.sessions, session), planning.sessions.load_from
    )
    plan = await _whole(planning, found.loaded, found.after)
    plan = replace(resumption.paid_by(plan, context), basis=child_plan.basis_of(session))
    if not found.after:
        header = replace(plan.parent.header, settings=session.present_header.settings)
        return replace(plan, parent=replace(plan.parent, header=header), until=found.until)
    pins = context.pins
    if not live.is_empty:
        return replace(plan, parent=session, path=live.path, until="", pins=pins)
    # it has no file yet, so the child continues its parent instead
    stored = planning.load(session.header.parent)
    return replace(plan, parent=stored.session, path=stored.path, until=session.until, pins=pins)


def with_summary(
    planning: Planning, live: LiveSession, context: Context, summary: Summary
) -> ChildPlan:
    """Plan to continue the live session with another summary before the same exchanges. Raises
    SessionError.
    """
    if not live.is_empty:
        return resumption.with_summary(context, live.path, summary)
    # it has no file yet, so the child continues its parent instead
    return replace(
        as_begun(planning, context),
        block=summary_block.render(summary),
        pins=None,
        until=context.session.until,
    )


def _branch_as_left(planning: Planning, loaded: LoadedSession) -> LoadedSession:
    """Return a branch as a merge leaves it. Of a child in which nothing has ended, that is its
    parent, up to where the child goes on from it. Raises SessionError if it has none.
    """
    branch = _as_left(planning, loaded)
    session = branch.session
    if session.exchanges or not branch.is_open:
        return branch
    restoration = session.restoration
    if restoration is None or restoration.merged or not session.header.parent:
        raise stored_context.nothing_ended(session)
    parent = planning.load(session.header.parent)
    _, number = place_of_ref(restoration.until)
    if number:
        return branch_plans.forked(parent, number)
    return _branch_as_left(planning, parent)


def branches_of(
    planning: Planning, first: LoadedSession, second: LoadedSession, own: str = ""
) -> Branches:
    """Return the order of two sessions to merge, of which a chat may have its `own` one open. Of
    one that somebody else has open, take what has ended there. Raises UsageError and SessionError.
    """
    if first.session.id != own:
        first = _branch_as_left(planning, first)
    if second.session.id != own:
        second = _branch_as_left(planning, second)
    open_ids = {each.session.id for each in (first, second) if each.is_open}
    chains = []
    for branch in (first, second):
        ancestors = read_chain(planning.sessions, branch.session).ancestors
        chains.append([branch.session, *(each.session for each in ancestors)])
    return branch_plans.branches_of(first, second, chains, frozenset(open_ids - {own}))


def unsummarized(planning: Planning, branches: Branches) -> list[LoadedSession]:
    """Return the branches whose summary a merge has a model write."""
    if not planning.options.use_ai_summary:
        return []
    found = []
    for branch in (branches.first, branches.second):
        if stored_context.covering_summary(branch.session, covers_all=True) is None:
            found.append(branch)
    return found


async def merge(planning: Planning, branches: Branches) -> ChildPlan:
    """Plan to continue two branches, after making missing summaries. Raises SessionError."""
    summaries = (
        await _whole_summary(planning, branches.first),
        await _whole_summary(planning, branches.second),
    )
    return await in_daemon_thread(branch_plans.merged, planning.frame, branches, summaries)


async def _whole_summary(planning: Planning, loaded: LoadedSession) -> Summary:
    """Return a summary of everything in a session, since a merge carries no exchanges."""
    context = planning.context_of(loaded)
    stored = stored_context.covering_summary(loaded.session, covers_all=True)
    if stored is not None:
        return stored
    made = await _summary_of(planning, loaded, context, asks=True)
    return made.summary


async def summarize(
    planning: Planning, loaded: LoadedSession, focus: str = "", *, remade: bool = True
) -> Seal:
    """Rewrite the summary of a stored session, which a person wants if it is `remade`; return its
    seal. Raises SessionError.
    """
    identity = loaded.session.id
    context = planning.context_of(loaded)
    loaded.check_sealable()
    if not context.unsummarized:
        raise SessionError(f"Session {identity} has nothing to summarize.")
    narration = Narration()
    if planning.options.use_ai_summary:
        stays = "The file stays as it is."
        narration = await planning.narrate(context, context.unsummarized, focus, stays)
        if narration.narrative is None:
            raise SessionError(f"No summary could be made of session {identity}.")
    reason = loaded.session.seal.reason if loaded.session.seal is not None else "exit"
    summary = summarizer.final_block(planning.frame, context, narration)
    return seal_stored(planning.sessions, loaded, reason, summary, narration, remade=remade)


def write_child(
    sessions: SessionManager, plan: ChildPlan, header: Header, answering: Answering
) -> str:
    """Write the file of a planned child, for the agent and tools of `header` and the model that is
    to answer; return its id. Raises SaveError.
    """
    live, entries = plan.begin(
        sessions,
        agent=header.agent,
        agent_path=header.agent_path,
        answering=answering,
        tools=header.tools,
    )
    try:
        for entry in entries:
            live.add(entry)
        if live.problem is not None:
            raise save_error(live.path, live.problem) from live.problem
        return live.header.id
    finally:
        live.close()
