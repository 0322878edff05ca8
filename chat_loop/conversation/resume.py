"""Offers: the ways to go on from stored sessions, each as a value that the conversation accepts.

A session is gone on with from its summary, its last words, all of them, or those up to a query; two
sessions are merged into one child of both.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Sequence
from itertools import takewhile

from msgspec import Struct
from msgspec.structs import replace

from chat_loop.context.budget import exchange_size, trigger
from chat_loop.context.merge import Contradiction, in_both, in_room, merge, without
from chat_loop.context.messages import Thread, place
from chat_loop.context.proposal import Outcome
from chat_loop.conversation.ancestors import (
    Beginning,
    conversation_totals,
    parent_of,
    repinned,
    thread_of,
)
from chat_loop.conversation.compaction import Compaction, uncancel
from chat_loop.conversation.live_context import LiveContext
from chat_loop.errors import SaveError, SessionError, SessionLocked, UsageError
from chat_loop.events import SessionFound, SummaryEnded, Warned
from chat_loop.sessions import summary_block
from chat_loop.sessions.chain import ChainReader, known_to
from chat_loop.sessions.manager import Loaded, SessionManager
from chat_loop.sessions.records import (
    Exchange,
    QueryEntry,
    Seal,
    SealReason,
    Session,
    Summary,
    Tag,
    Untag,
)

UNCHANGED = "What stands in the file stays."


class Offer(Struct, frozen=True, kw_only=True):
    """The beginning of a child session, and the tokens that its first request would hold.

    `left_out` exchanges of those asked for do not fit in their own words; the block stands for
    them. `answered` is False when the model failed at what it was asked for this: it is asked for
    nothing more at once.
    """

    beginning: Beginning
    tokens: int
    left_out: int = 0
    answered: bool = True


class Merge(Struct, frozen=True, kw_only=True):
    """Two branches as one child would begin with them. `contradictions` are the user's to decide.

    `common` is the id of the session that both come from; empty when they have none in common.
    """

    first: Loaded
    second: Loaded
    summary: Summary
    contradictions: tuple[Contradiction, ...]
    common: str
    depth: int


class _Branch(Struct, frozen=True):
    """A session to be merged, and its line: the session, then its ancestors, nearest first."""

    loaded: Loaded
    line: tuple[Session, ...]

    @property
    def id(self) -> str:
        return self.loaded.session.header.id

    def last_shared_query(self, common: str) -> float:
        """Return the last query of the common session that this branch goes on from."""
        child = self.child_of(common)
        return _until(child) if child is not None else float("inf")

    def child_of(self, common: str) -> Session | None:
        """Return the first session of the branch that is its own; of several the one that has most
        of the common one.
        """
        children = [one for one in self.line if common and one.header.parent == common]
        return max(children, key=_until, default=None)

    def depth_of(self, common: str) -> int:
        return next((one.depth for one in self.line if one.header.id == common), 0)


class Offers:
    """Makes offers for a live context.

    When `quick`, no model is asked and nothing is written: a summary that is missing is extracted
    for the child alone.
    """

    def __init__(
        self, context: LiveContext, compaction: Compaction, *, quick: bool = False
    ) -> None:
        self._context = context
        self._sessions = context.sessions
        self._compaction = compaction
        self._options = context.options
        self._quick = quick
        self._answered = True

    async def resumed(self, loaded: Loaded, *, last: int = 0, whole: bool = False) -> Offer:
        """Go on from the summary of a stored session (made now when it has none) and its `last`
        exchanges in their own words, or when `whole` with all words that its model saw.

        Raises SessionError when there is nothing in it to resume.
        """
        session = loaded.session
        if not resumable(session):
            raise SessionError(
                f"Session {session.header.id} has no exchanges: it can't be resumed.",
                self._context.otherwise,
            )
        queries, tokens = conversation_totals(self._sessions, session)
        self._context.show(
            SessionFound(
                id=session.header.id,
                agent=session.header.agent,
                created=session.header.created,
                queries=queries,
                tokens=tokens,
                damage=loaded.damage,
            )
        )
        thread = self._thread(loaded)
        # A fork in which nothing was said yet: its words are what it is.
        untouched = session.seal is None and thread.carried and not session.exchanges
        if whole or untouched:
            return await self._whole(loaded, thread)
        if self._quick and _stored(session) is None:  # no model tells what was said last
            last = max(last, self._options.limits.preserve_recent // 2)
        known, covers = await self._summary_of(loaded, thread)
        exchanges = thread.exchanges
        uncovered = _uncovered(thread, covers)
        wanted = max(min(last, len(exchanges)), len(uncovered))
        words = exchanges[len(exchanges) - wanted :] if wanted else ()
        fitting = self._fitting(words, known)
        if len(fitting) < len(uncovered):
            # a smaller window than before: nothing may be left out of both
            known, covers = await self._summary_of(loaded, thread, anew=True)
            uncovered = ()
            fitting = self._fitting(words, known)
        return self._offer(
            loaded, known, fitting, uncovered, left_out=max(0, wanted - len(fitting))
        )

    async def undone(self) -> Offer:
        """Go on as if the last compaction had not been: the words before it, then those that were
        said since.

        Raises UsageError when all of them stand in the context.
        """
        context = self._context
        live = context.thread
        loaded, own, until = self._compacted()
        before = self._thread(loaded)
        offer = await self._whole(loaded, before, own)
        if not own:
            return replace(offer, beginning=replace(offer.beginning, until=until))
        beginning = replace(offer.beginning, parent=live.session, path=context.live.path)
        if context.live.empty:
            # it has no file: the child is one of what it would have gone on from
            given = live.session.restoration
            loaded = self._sessions.load(self._sessions.session_file(live.session.header.parent))
            until = given.until if given is not None else ""
            beginning = replace(beginning, parent=loaded.session, path=loaded.path, until=until)
        if offer.left_out:
            # the newest that fit, and the block that stands for the others
            known = live.inherited or Summary()
            fitting = self._fitting((*before.exchanges, *own), known)
            fresh = next((one.ref for one in fitting if one in live.fresh), "")
            beginning = replace(
                beginning,
                block=summary_block.render(known),
                carried=fitting,
                fresh=fresh,
                in_file=False,
            )
        return replace(offer, beginning=replace(beginning, pins=live.pins))

    async def forked(self, loaded: Loaded, number: int) -> Offer:
        """Go on from query `number` of a session, in the words that its model saw up to there.

        Raises UsageError when there is no such query.
        """
        session = loaded.session
        hint = "/history shows what was said, /tree the sessions before it."
        cut = replace(loaded, session=_until_query(session, number, hint), open=True)
        offer = await self._whole(cut, self._thread(cut))
        until = f"{session.depth}.{number}"
        beginning = replace(offer.beginning, parent=session, until=until, in_file=False)
        return replace(offer, beginning=beginning)

    async def merge(self, first: Loaded, second: Loaded) -> Merge:
        """Put two branches together. Make the summary of one that has none.

        The one that goes on from more of the session they have in common comes first. Raises
        UsageError when one has everything that the other has: there is nothing to merge then.
        SessionError when nothing was said in one.
        """
        one, other = self._branch(first), self._branch(second)
        if one.id == other.id:
            raise UsageError(
                f"Both are {one.id}.",
                "merge takes two sessions; /tree shows the branches of this one.",
            )
        mine = {session.header.id for session in one.line}
        common = next((up.header.id for up in other.line if up.header.id in mine), "")
        more = other.last_shared_query(common) > one.last_shared_query(common)
        if other.id == common or (one.id != common and more):
            one, other = other, one
        shared = other.last_shared_query(common)
        if one.id == common and all(
            last.query.number <= shared for last in one.line[0].exchanges[-1:]
        ):
            raise UsageError(
                f"{other.id} goes on from {one.id}: there is nothing to merge.",
                f"/resume {other.id} has both.",
            )
        fork, depth = other.depth_of(common), one.line[0].depth
        given = [
            self._given(child)
            for branch in (one, other)
            if (child := branch.child_of(common)) is not None
        ]
        merged = merge(
            await self._block_of(one.loaded),
            await self._block_of(other.loaded),
            in_both(given[0], given[-1]) if given else None,
            fork=fork,
            shift=depth - fork,
        )
        return Merge(
            first=one.loaded,
            second=other.loaded,
            summary=merged.summary,
            contradictions=merged.contradictions,
            common=common,
            depth=depth + other.line[0].depth - fork + 1,
        )

    def merged(self, both: Merge, dropped: Collection[str]) -> Offer:
        """Go on from a merge, without the lines `dropped`."""
        room, count = self._compaction.ledger_room, self._context.count
        text = summary_block.render(in_room(without(both.summary, dropped), room, count))
        session, other = both.first.session, both.second.session
        tags = tuple(dict.fromkeys((*session.tags, *other.tags)))
        entries = tuple(entry for entry in session.entries if not isinstance(entry, Tag | Untag))
        beginning = Beginning(
            parent=replace(session, header=replace(session.header, tags=tags), entries=entries),
            path=both.first.path,
            block=text,
            merged=other,
            depth=both.depth,
        )
        return Offer(beginning=beginning, tokens=self._context.would_hold(text, ()))

    async def summarize(self, loaded: Loaded, focus: str = "") -> Seal:
        """Make the summary of a stored session anew, and write it into its file; return its seal.

        Raises SessionError when there is nothing to summarize, the file is not to be written to, or
        no summary could be made: what stands there stays.
        """
        session = loaded.session
        thread = self._thread(loaded)
        if not loaded.sealable:
            raise SessionError(
                f"{loaded.path.name} is another program’s file or damaged: it stays as it is."
            )
        if not thread.fresh:
            raise SessionError(
                f"Nothing was said in session {session.header.id} that could be summarized."
            )
        outcome = None
        if self._options.use_ai_summary:
            outcome = await self._compaction.narrate(
                thread, thread.fresh, focus, otherwise=UNCHANGED
            )
            if outcome.narrative is None:
                raise SessionError(f"No summary could be made of session {session.header.id}.")
        reason = session.seal.reason if session.seal is not None else "exit"
        seal = self._seal(
            session, reason, self._compaction.summary_of_all(thread, outcome), outcome
        )
        self._sessions.seal_later(loaded, seal)
        return seal

    def sizes(self, loaded: Loaded) -> tuple[int, int]:
        """Return about how many tokens a child would hold with all words, and with a summary."""
        thread, context = self._thread(loaded), self._context
        known = summary_block.render(thread.inherited) if thread.inherited else ""
        made = summary_block.render(self._compaction.summary_of_all(thread, None))
        return context.would_hold(known, thread.exchanges), context.would_hold(made, ())

    def first_request(self, offer: Offer) -> int:
        """Return the tokens of the first request after an accepted `offer`, a query apart."""
        beginning = offer.beginning
        return self._context.would_hold(
            beginning.block, beginning.carried, acknowledged=self._options.acknowledge
        )

    async def _whole(self, loaded: Loaded, thread: Thread, after: Sequence[Exchange] = ()) -> Offer:
        """Go on with a thread's words and those `after` it; what does not fit is left out."""
        words, inherited = (*thread.exchanges, *after), thread.inherited
        if not words and inherited is None:
            raise SessionError(
                f"Session {loaded.session.header.id} has no exchanges: it can't be resumed."
            )
        if len(self._fitting(words, inherited or Summary())) < len(words):
            known, covers = await self._summary_of(loaded, thread)
            fitting = self._fitting(words, known)
            left_out = len(words) - len(fitting)
            return self._offer(loaded, known, fitting, _uncovered(thread, covers), left_out)
        beginning = _in_words(loaded, thread, after)
        tokens = self._context.would_hold(beginning.block, words)
        return Offer(beginning=beginning, tokens=tokens)

    def _offer(
        self,
        loaded: Loaded,
        known: Summary,
        words: Sequence[Exchange],
        uncovered: Sequence[Exchange],
        left_out: int,
    ) -> Offer:
        text = summary_block.render(known)
        beginning = Beginning(
            parent=loaded.session,
            path=loaded.path,
            block=text,
            carried=tuple(words),
            fresh=next((exchange.ref for exchange in words if exchange in uncovered), ""),
            in_file=True,
        )
        return Offer(
            beginning=beginning,
            tokens=self._context.would_hold(text, words),
            left_out=left_out,
            answered=self._answered,
        )

    def _fitting(self, words: Sequence[Exchange], known: Summary) -> tuple[Exchange, ...]:
        """Return the newest of `words` that stay below the trigger."""
        context, limits = self._context, self._options.limits
        free = trigger(context.window, limits) - context.would_hold(summary_block.render(known), ())
        kept = len(words)
        while kept:
            free -= exchange_size(words[kept - 1], context.count, context.window, tools=False)
            if free < 0:
                break
            kept -= 1
        return tuple(words[kept:])

    async def _summary_of(
        self, loaded: Loaded, thread: Thread, *, anew: bool = False
    ) -> tuple[Summary, int | None]:
        """Return the block of a session that is taken up, and the last query it covers; it is made
        now when there is none.
        """
        session = loaded.session
        seal, stored = session.seal, _stored(session)
        partly = (
            seal is not None
            and seal.covers is not None
            and self._options.compact_on_resume
            and not self._quick
        )
        if stored is not None and seal is not None and not (anew or partly):
            return stored, seal.covers
        if loaded.ends:  # it was read from its ends, and the middle is needed
            loaded = self._sessions.load(loaded.path)
            session, thread = loaded.session, self._thread(loaded)
        if thread.fresh and seal is not None and seal.summary is not None and stored is None:
            self._context.show(
                Warned("The session's summary has an invalid format; it is made anew.")
            )
        outcome = None
        if thread.fresh and not self._quick and self._options.use_ai_summary:
            try:
                outcome = await self._compaction.narrate(thread, thread.fresh, optional=True)
            except asyncio.CancelledError:
                uncancel()
                self._context.show(SummaryEnded(source="extracted", problem="Summary skipped."))
                return self._compaction.summary_of_all(thread, None), None
            self._answered = outcome.answered
        made = self._compaction.summary_of_all(thread, outcome)
        if thread.fresh and not self._quick and loaded.sealable:
            self._keep(loaded, self._seal(session, "resume", made, outcome))
        return made, None

    def _seal(
        self, session: Session, reason: SealReason, made: Summary, outcome: Outcome | None
    ) -> Seal:
        return Seal(
            at=self._sessions.now(),
            reason=reason,
            source="model" if outcome and outcome.narrative else "extracted",
            summary=made,
            usage=outcome.usage if outcome else None,
            seconds=outcome.seconds if outcome else None,
            compaction=session.seal.compaction if session.seal else None,
        )

    def _keep(self, loaded: Loaded, seal: Seal) -> None:
        """Write a summary that was made late into its session, when that can be done."""
        try:
            self._sessions.seal_later(loaded, seal)
        except SessionLocked as error:
            hint = "Going on from what is saved so far, in a session of its own."
            self._context.show(Warned(error.message, hint))
        except SaveError as error:
            self._context.show(
                Warned(f"The summary could not be kept in {loaded.path.name}: {error.message}")
            )

    def _compacted(self) -> tuple[Loaded, tuple[Exchange, ...], str]:
        """Return the nearest ancestor that has words which the context does not have, all that was
        said after it, and where its child forks, if it does.

        A session that forks has its parent's words: what was compacted lies before them. Raises
        SessionError where a chain, edited by hand, comes back to a session.
        """
        seen: set[str] = set()
        session = self._context.session
        known = self._context.known()
        after: tuple[Exchange, ...] = ()
        while True:
            parent, given = parent_of(session), session.restoration
            if parent in seen:
                raise SessionError(
                    f"The chain comes back to {parent}: nothing was compacted.", "/tree shows it."
                )
            seen.add(parent)
            after = (*session.exchanges, *after)
            loaded = self._sessions.load(self._sessions.session_file(parent))
            session = known_to(loaded.session, given)
            thread, missing = thread_of(self._sessions, session)
            if missing or any(exchange.ref not in known for exchange in thread.exchanges):
                until = given.until if given is not None else ""
                return replace(loaded, session=session, open=bool(until)), after, until

    async def _block_of(self, loaded: Loaded) -> Summary:
        """Return the block of all words of a session. Make it when there is none."""
        thread = self._thread(loaded)
        known, covers = await self._summary_of(loaded, thread)
        if _uncovered(thread, covers):
            known, _ = await self._summary_of(loaded, thread, anew=True)
        return known

    def _given(self, session: Session) -> Summary:
        """Return the block that stands for all that a child session was given: its parent's block
        and the words it carries.
        """
        entries = tuple(takewhile(lambda entry: not isinstance(entry, QueryEntry), session.entries))
        thread, _ = thread_of(self._sessions, replace(session, entries=entries, seal=None))
        return self._compaction.summary_of_all(thread, None)

    def _branch(self, loaded: Loaded) -> _Branch:
        session = loaded.session
        if not resumable(session):
            raise SessionError(
                f"Nothing was said in {session.header.id}: there is nothing to merge.",
                "/show looks into a session.",
            )
        chain = ChainReader(self._sessions).read(session)
        return _Branch(loaded, (session, *(one.session for one in chain.loaded)))

    def _thread(self, loaded: Loaded) -> Thread:
        thread, missing = thread_of(self._sessions, loaded.session)
        if missing:
            self._context.show(Warned(missing, "The summary stands for them as far as it goes."))
        return thread


def fork_stored(sessions: SessionManager, loaded: Loaded, number: int) -> str:
    """Write a child of a session that knows what was said up to query `number`; return its id. It
    is resumed later.

    Raises UsageError, and SaveError when the disk refuses.
    """
    session, at = loaded.session, sessions.now()
    thread, _ = thread_of(sessions, _until_query(session, number))
    beginning = replace(_in_words(loaded, thread), until=f"{session.depth}.{number}")
    live = sessions.begin(
        agent=session.header.agent,
        agent_path=session.header.agent_path,
        model=session.header.model,
        parent=session.header.id,
        parent_path=str(loaded.path),
        after=session,
    )
    try:
        live.add(beginning.restoration(at))
        inherited = thread.inherited or Summary()
        for entry in repinned(inherited.pinned, thread.pins, at):
            live.add(entry)
        live.ensure_saved()
        return live.header.id
    finally:
        live.close()


def _in_words(loaded: Loaded, thread: Thread, after: Sequence[Exchange] = ()) -> Beginning:
    """Return the beginning of a child that is given all words of a thread, and those `after` it."""
    inherited, fresh = thread.inherited, (*thread.fresh, *after)
    return Beginning(
        parent=loaded.session,
        path=loaded.path,
        block=summary_block.render(inherited) if inherited else "",
        carried=(*thread.exchanges, *after),
        fresh=fresh[0].ref if fresh else "",
        pins=thread.pins,
    )


def _until_query(session: Session, number: int, hint: str = "") -> Session:
    """Return a session up to query `number`. Raises UsageError when there is no such query."""
    if all(exchange.query.number != number for exchange in session.exchanges):
        raise UsageError(f"There is no query {number} in this session: {session.numbers}.", hint)
    return session.until(number)


def resumable(session: Session) -> bool:
    """Return True when there is anything in a session to go on from; failed queries are nothing."""
    return bool(
        any(not one.failed for one in session.exchanges)
        or session.restoration is not None
        or session.pins
    )


def _until(child: Session) -> float:
    """Return the last query of its parent that a child has."""
    given = child.restoration
    return (place(given.until)[1] if given is not None else 0) or float("inf")


def _uncovered(thread: Thread, covers: int | None) -> tuple[Exchange, ...]:
    """Return the exchanges of a session that its block, up to query `covers`, does not cover."""
    if covers is None:
        return ()
    own = thread.session.exchanges
    return tuple(one for one in own if one.query.number > covers and not one.failed)


def _stored(session: Session) -> Summary | None:
    """Return the summary in a session's file; None when there is none, or nothing in it."""
    found = session.seal.summary if session.seal is not None else None
    if found and (found.topics or found.decisions or found.pending or found.pinned):
        return found
    return None
