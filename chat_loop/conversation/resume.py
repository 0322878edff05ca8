"""ChildPlanner: plans the child session that continues one stored session, or merges two."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from functools import partial

from msgspec.structs import replace

from chat_loop.context import budget, merge
from chat_loop.context.budget import Outcome
from chat_loop.context.messages import Thread, place
from chat_loop.conversation.conversation import Conversation
from chat_loop.conversation.plans import ChildPlan, LateBlock
from chat_loop.errors import SaveError, SessionError, SessionLocked, UsageError
from chat_loop.events import SessionFound, SummaryEnded, Warned
from chat_loop.sessions import records, summary_block
from chat_loop.sessions.chain import ALL, exchange_of, link_of, read_chain
from chat_loop.sessions.live import save_error
from chat_loop.sessions.manager import LoadedSession, SessionManager
from chat_loop.sessions.records import Exchange, Seal, Session, Summary
from chat_loop.tasks import in_daemon_thread, uncancel
from chat_loop.values import Usage


class ChildPlanner:
    """Plans children of stored sessions. If `quick`, it asks no model and writes nothing.

    If a summary is missing, the child begins at once with an extract, made of `extracted`.
    """

    def __init__(self, conversation: Conversation, *, quick: bool = False) -> None:
        self._conversation = conversation
        self._sessions = conversation.sessions
        self._quick = quick
        self._covers_all = False
        self._summaries = conversation.compaction.summaries
        self.model_failed = False  # at a summary, so it is not asked to acknowledge one either
        self.extracted: tuple[LoadedSession, Thread] | None = None

    async def resume(
        self, loaded: LoadedSession, *, last: int = 0, whole: bool = False
    ) -> ChildPlan:
        """Continue from a summary and `last` exchanges, or all if `whole`. Raises SessionError."""
        session, header, conversation = loaded.session, loaded.session.header, self._conversation
        _check_resumable(session, conversation.fallback_text)
        thread, full_tokens, full_cost = self._thread(loaded), 0, None
        if not (whole or loaded.is_partial):
            inherited = summary_block.render(thread.inherited) if thread.inherited else ""
            size = conversation.meter.child_size(inherited, thread.exchanges)
            if size <= conversation.window // 4:
                price, model = conversation.options.cost, conversation.agent.model
                full_tokens, full_cost = size, price(model, Usage(input=size))
        totals, parent = session.totals, session.restoration
        if totals.queries or parent is None:
            queries, tokens = totals.queries, totals.combined
        else:  # it only has its parent's words
            queries, tokens = parent.queries, parent.tokens
        conversation.show(
            SessionFound(
                id=header.id,
                agent=header.agent,
                created=header.created,
                queries=queries,
                tokens=tokens,
                damage=loaded.damage,
                full_tokens=full_tokens,
                full_cost=full_cost,
            )
        )
        is_missing = _stored_summary(session) is None
        if is_missing and not self._quick:
            self._quick = True  # the user does not wait for a summary
            self._warn_if_locked(session)
        # A fork in which nothing was said yet consists only of carried words.
        whole = whole or (session.seal is None and bool(thread.carried) and not session.exchanges)
        if is_missing:  # no summary tells the model of the last ones
            last = max(last, conversation.options.limits.preserve_recent // 2)
            # an extract would only repeat a short session
            whole = whole or bool(full_tokens and 0 < len(thread.exchanges) <= last)
        if whole:
            plan = await self._whole(loaded, thread)
        else:
            plan = await self._summarized(loaded, thread, last)
        if loaded.is_open and session.exchanges:
            text = f"The machine that began {header.id} has not ended it."
            hint = "Continuing in a new session with what is here so far."
            conversation.show(Warned(text, hint))
            plan = replace(plan, until=session.exchanges[-1].ref)
        return plan

    def _warn_if_locked(self, session: Session) -> None:
        """Warn when another process has the session open, or is still making its summary."""
        try:
            with suppress(OSError):
                self._sessions.lock_summary(session.header.id).close()
        except SessionLocked as error:
            hint = "Continuing in a new session with what is saved so far."
            self._conversation.show(Warned(error.message, hint))

    def summarize_extracted(self) -> bool:
        """Begin the resumed session's missing summary in the background. It goes into the session's
        file and, if it arrives in time, into the child. Return False if no summary is begun.
        """
        conversation = self._conversation
        can_keep = conversation.options.use_ai_summary and self._sessions.saves
        if self.extracted is None or not can_keep:
            return False
        loaded, thread = self.extracted
        identity = loaded.session.header.id

        def deliver(outcome: Outcome) -> LateBlock:
            summary, problem = self._summaries.cover(thread, outcome), None
            if loaded.is_sealable:
                try:
                    self._seal(loaded, "resume", summary, outcome)
                except SessionError as error:
                    problem = error
            return LateBlock(parent=identity, summary=summary, problem=problem)

        try:
            lock = self._sessions.lock_summary(identity)
        except (SessionLocked, OSError):
            return False
        conversation.compaction.summarize_parent(thread, deliver, lock)
        return True

    async def fork(self, loaded: LoadedSession, number: int) -> ChildPlan:
        """Continue from query `number` of a session, verbatim. Raises UsageError."""
        session, number = loaded.session, exchange_of(loaded.session, number).query.number
        cut = replace(loaded, session=session.up_to(number), is_open=True)
        plan = await self._whole(cut, self._thread(cut))
        return replace(plan, parent=session, until=f"{session.depth}.{number}")

    async def uncompact(self) -> ChildPlan:
        """Continue with all words from before and after the last compaction. Raises UsageError."""
        conversation = self._conversation
        live, path = conversation.session, conversation.live.path
        loaded, own, until = self._compacted()
        plan = await self._whole(loaded, self._thread(loaded), own)
        if not own:
            header = replace(plan.parent.header, settings=live.present_header.settings)
            return replace(plan, parent=replace(plan.parent, header=header), until=until)
        parent, until = live, ""
        if conversation.live.is_empty:
            # it has no file yet, so the child continues its parent instead
            stored = self._sessions.load(self._sessions.session_file(live.header.parent))
            parent, path = stored.session, stored.path
            until = live.restoration.until if live.restoration is not None else ""
        pins = conversation.thread.pins
        return replace(plan, parent=parent, path=path, until=until, pins=pins)

    def _compacted(self) -> tuple[LoadedSession, tuple[Exchange, ...], str]:
        """Return the nearest ancestor with exchanges that the context lacks, the exchanges after
        it, and the reference at which its child forks, if any. Raises UsageError if there is none.
        """
        session, in_context = self._conversation.session, self._conversation.context_refs()
        chain = read_chain(self._sessions, session)
        after: tuple[Exchange, ...] = ()
        hint = "/tree shows the sessions before it."
        for loaded in chain.ancestors:
            restoration = session.restoration
            if restoration is None or restoration.merged:
                break
            after, until = (*session.exchanges, *after), restoration.until
            session = loaded.session
            thread, missing = thread_of(self._sessions, session)
            if missing or any(exchange.ref not in in_context for exchange in thread.exchanges):
                return replace(loaded, is_open=bool(until)), after, until
        else:
            if chain.problem:
                raise SessionError(chain.problem, hint)
        raise UsageError("This session was not compacted.", hint)

    async def _whole(
        self, loaded: LoadedSession, thread: Thread, after: Sequence[Exchange] = ()
    ) -> ChildPlan:
        """Continue with a thread's exchanges and those `after` it. Summarize what does not fit."""
        words = (*thread.exchanges, *after)
        if not words and thread.inherited is None:
            _check_resumable(Session(header=loaded.session.header))
        if len(self._fitting(words, thread.inherited or Summary())) == len(words):
            return _in_words(loaded, thread, after)
        return await self._summarized(loaded, thread, len(words), after)

    async def _summarized(
        self, loaded: LoadedSession, thread: Thread, last: int, after: Sequence[Exchange] = ()
    ) -> ChildPlan:
        """Continue from a session's summary and its `last` exchanges, counting those `after` it."""
        words = (*thread.exchanges, *after)
        summary, uncovered = await self._summary_of(loaded, thread)
        number = max(min(last, len(words)), len(uncovered) + len(after))
        words = words[len(words) - number :]
        fitting = self._fitting(words, summary)
        if len(fitting) < len(uncovered) + len(after):  # a smaller window than before
            summary, uncovered = await self._summary_of(loaded, thread, remake=True)
            fitting = self._fitting(words, summary)
        unsummarized = (*uncovered, *after)
        return ChildPlan(
            parent=loaded.session,
            path=loaded.path,
            block=summary_block.render(summary),
            carried=fitting,
            unsummarized_from=next((word.ref for word in fitting if word in unsummarized), ""),
            left_out=number - len(fitting),
        )

    def _fitting(self, words: Sequence[Exchange], summary: Summary) -> tuple[Exchange, ...]:
        """Return the newest of `words` that, together with a block, stay below the trigger."""
        conversation, count = self._conversation, self._conversation.count
        # including the sentence that introduces them
        around = conversation.meter.child_size(summary_block.render(summary), words[-1:])
        free, start = conversation.trigger - around, len(words)
        free += sum(budget.exchange_size(word, count, tools=False) for word in words[-1:])
        while start:
            free -= budget.exchange_size(words[start - 1], count, tools=False)
            if free < 0:
                break
            start -= 1
        return tuple(words[start:])

    async def _summary_of(
        self, loaded: LoadedSession, thread: Thread, *, remake: bool = False
    ) -> tuple[Summary, tuple[Exchange, ...]]:
        """Return a session's block (made now if missing or `remake`) and what it does not cover."""
        session, show = loaded.session, self._conversation.show
        options = self._conversation.options_of(session)
        # a summary that covers only part of its session is made again, which asks a model
        covers_all = self._covers_all or (options.compact_on_resume and not self._quick)
        stored, covers = _stored_summary(session), session.seal.covers if session.seal else None
        if stored is not None and not remake and (covers is None or not covers_all):
            last = ALL if covers is None else covers
            rest = (said for said in session.exchanges if said.query.number > last)
            return stored, tuple(exchange for exchange in rest if not exchange.failed)
        if loaded.is_partial:  # only its ends were read, and the middle is needed
            loaded = self._sessions.load(loaded.path)
            thread = self._thread(loaded)
        outcome = Outcome()
        if thread.fresh and stored is None and session.seal and session.seal.summary is not None:
            show(Warned("The session's summary has an invalid format; making a new one."))
        is_final = bool(thread.fresh) and not self._quick
        if is_final and options.use_ai_summary:
            try:
                outcome = await self._summaries.narrate(thread, thread.fresh, optional=True)
                self.model_failed = bool(outcome.problem)
            except asyncio.CancelledError:
                uncancel()
                show(SummaryEnded(source="extracted", problem="Summary skipped."))
                is_final = False
        if thread.fresh and self._quick:
            self.extracted = loaded, thread
        # neither Ctrl-C nor an exit waits for a large session to be read
        summary = await in_daemon_thread(partial(self._summaries.cover, thread, outcome))
        if is_final and loaded.is_sealable:
            try:
                self._seal(loaded, "resume", summary, outcome)
            except (SaveError, SessionLocked) as error:
                hint = "Continuing in a new session with what is saved so far."
                show(Warned(error.message, hint))
        return summary, ()

    def _seal(
        self, loaded: LoadedSession, reason: records.SealReason, summary: Summary, outcome: Outcome
    ) -> Seal:
        """Write a late summary into its session; return the seal."""
        before = loaded.session.seal
        seal = outcome.seal(self._sessions.now(), reason, summary)
        seal = replace(seal, compaction=before.compaction if before else None)
        self._sessions.seal_stored(loaded, seal)
        return seal

    async def summarize(self, loaded: LoadedSession, focus: str = "") -> Seal:
        """Rewrite the summary of a stored session; return its seal. Raises SessionError."""
        identity, thread, outcome = loaded.session.header.id, self._thread(loaded), Outcome()
        loaded.check_sealable()
        if not thread.fresh:
            raise SessionError(f"Session {identity} has nothing to summarize.")
        if self._conversation.options.use_ai_summary:
            stays = "The file stays as it is."
            outcome = await self._summaries.narrate(thread, thread.fresh, focus, fallback=stays)
            if outcome.narrative is None:
                raise SessionError(f"No summary could be made of session {identity}.")
        reason = loaded.session.seal.reason if loaded.session.seal is not None else "exit"
        return self._seal(loaded, reason, self._summaries.cover(thread, outcome), outcome)

    def _thread(self, loaded: LoadedSession) -> Thread:
        thread, missing = thread_of(self._sessions, loaded.session)
        if missing:
            hint = "The summary covers what it can of them."
            self._conversation.show(Warned(missing, hint))
        return thread

    async def merge(self, first: LoadedSession, second: LoadedSession) -> tuple[ChildPlan, bool]:
        """Continue from two branches, and write missing summaries. Return the plan, and True if the
        branches have a session in common. Raises UsageError and SessionError.
        """
        if first.session.header.id == second.session.header.id:
            hint = "merge takes two sessions; /tree shows the branches of this one."
            raise UsageError(f"Both are {first.session.header.id}.", hint)
        chains = []
        for branch in (first, second):
            _check_resumable(branch.session)
            ancestors = read_chain(self._sessions, branch.session).ancestors
            chains.append([branch.session, *(ancestor.session for ancestor in ancestors)])
        ids = {session.header.id for session in chains[0]}
        common = next((session for session in chains[1] if session.header.id in ids), None)
        common_id, fork = (common.header.id, common.depth) if common is not None else ("", 0)
        branches = [(first, _last_shared_query(chains[0], common_id))]
        branches.append((second, _last_shared_query(chains[1], common_id)))
        # the branch with more of their common session comes first
        branches.sort(key=lambda pair: (pair[0].session.header.id != common_id, -pair[1]))
        (first, _), (second, shared) = branches
        session, depth = first.session, first.session.depth
        last = session.exchanges[-1].query.number if session.exchanges else 0
        if session.header.id == common_id and last <= shared:
            whole, part = second.session.header.id, session.header.id
            text = f"{whole} continues {part}: there is nothing to merge."
            raise UsageError(text, f"/resume {whole} has both.")
        self._covers_all, conversation = True, self._conversation  # a merge carries no words
        summary = merge.merge(
            (await self._summary_of(first, self._thread(first)))[0],
            (await self._summary_of(second, self._thread(second)))[0],
            budget.ledger_room(conversation.window, conversation.options.limits),
            conversation.count,
            fork=fork,
            shift=depth - fork,
        )
        tags = tuple(dict.fromkeys((*session.tags, *second.session.tags)))
        tag_kinds = records.Tag | records.Untag
        entries = tuple(entry for entry in session.entries if not isinstance(entry, tag_kinds))
        plan = ChildPlan(
            parent=replace(session, header=replace(session.header, tags=tags), entries=entries),
            path=first.path,
            block=summary_block.render(summary),
            merged=second.session.header.id,
            depth=depth + second.session.depth - fork + 1,
        )
        return plan, common is not None


def _last_shared_query(chain: Sequence[Session], common: str) -> float:
    """Return the last query of the `common` session in a branch, or infinity if it has all."""
    children = [session for session in chain if common and session.header.parent == common]
    untils = (child.restoration.until for child in children if child.restoration is not None)
    return max((place(until)[1] or float("inf") for until in untils), default=float("inf"))


def fork_stored(sessions: SessionManager, loaded: LoadedSession, number: int) -> str:
    """Write a child that continues a session from query `number`; return its id."""
    session, header = loaded.session, loaded.session.header
    thread, _ = thread_of(sessions, session.up_to(number))
    plan = replace(_in_words(loaded, thread), until=f"{session.depth}.{number}")
    live, entries = plan.begin(sessions, header.agent, header.agent_path, header.model)
    try:
        for entry in entries:
            live.add(entry)
        if live.problem is not None:
            raise save_error(live.path, live.problem) from live.problem
        return live.header.id
    finally:
        live.close()


def _in_words(loaded: LoadedSession, thread: Thread, after: Sequence[Exchange] = ()) -> ChildPlan:
    """Plan a child with all exchanges of a thread and those `after` it, verbatim."""
    return ChildPlan(
        parent=loaded.session,
        path=loaded.path,
        block=summary_block.render(thread.inherited) if thread.inherited else "",
        carried=(*thread.exchanges, *after),
        unsummarized_from=next((word.ref for word in (*thread.fresh, *after)), ""),
        pins=thread.pins,
    )


def thread_of(sessions: SessionManager, session: Session) -> tuple[Thread, str]:
    """Return a session as its model saw it, and a sentence about what is missing, if anything."""
    restoration, child = session.restoration, session
    if restoration is None or not restoration.verbatim_from:
        return Thread(session), ""
    first = place(restoration.verbatim_from)
    words: tuple[Exchange, ...] = ()
    for depth in range(session.depth - 1, first[0] - 1, -1):
        if not child.header.parent:
            break
        try:
            parent = sessions.load(sessions.session_file(child.header.parent)).session
        except SessionError as error:
            return Thread(session, words), (
                f"The words from {restoration.verbatim_from} on are incomplete: {error.message}"
            )
        said = [
            replace(exchange, depth=depth)
            for exchange in parent.up_to(link_of(child).last_query).exchanges
        ]
        words = (
            *(exchange for exchange in said if (depth, exchange.query.number) >= first),
            *words,
        )
        child = parent
    return Thread(session, words), ""


def _check_resumable(session: Session, hint: str = "/show looks into a session.") -> None:
    """Raise SessionError for an empty session; failed queries do not count."""
    if all(exchange.failed for exchange in session.exchanges) and not (
        session.restoration or session.pins
    ):
        text = f"Session {session.header.id} has no exchanges: it can't be resumed."
        raise SessionError(text, hint)


def _stored_summary(session: Session) -> Summary | None:
    """Return the summary in a session's file; None when it is missing or empty."""
    summary = session.seal.summary if session.seal is not None else None
    if summary and (summary.topics or summary.decisions or summary.pending or summary.pinned):
        return summary
    return None
