"""Resuming: an old session is taken up by a child of it, from its summary, its last words, or all
of them.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from itertools import takewhile

from chat_loop.context.plan import exchange_size, trigger
from chat_loop.context.thread import Thread
from chat_loop.conversation.ancestors import parent_of, thread_of
from chat_loop.conversation.cancelling import uncancel
from chat_loop.conversation.compaction import Compacting
from chat_loop.conversation.live_context import Beginning, LiveContext
from chat_loop.conversation.options import Options
from chat_loop.errors import SaveError, SessionError, SessionLocked, UsageError
from chat_loop.events import SummaryEnded, Warned
from chat_loop.frozen import dataclass
from chat_loop.sessions import summary_block
from chat_loop.sessions.chain import known_to
from chat_loop.sessions.manager import Loaded
from chat_loop.sessions.records import OF_QUERY, Exchange, Seal, Session, Summary

UNCHANGED = "What stands in the file stays."


@dataclass(frozen=True, kw_only=True)
class Offer:
    """A way to take a session up: what the child would begin with, and the tokens that its first
    request would hold.

    `left_out` exchanges of those asked for do not fit in their own words; the block stands for
    them.
    """

    beginning: Beginning
    tokens: int
    left_out: int = 0
    has_own_block: bool = False
    """Whether the block is the summary in the session's own file."""
    answered: bool = True
    """Whether the model answered what it was asked for this; one that did not is asked for nothing
    more at once.
    """


class Resuming:
    """Makes offers of how to go on from a stored session; the conversation takes one.

    A `quick` one asks no model and writes nothing: a summary that is missing is extracted for the
    child alone.
    """

    def __init__(
        self, context: LiveContext, compacting: Compacting, options: Options, *, quick: bool = False
    ) -> None:
        self._context = context
        self._compacting = compacting
        self._options = options
        self._quick = quick
        self._answered = True

    async def summarised(self, loaded: Loaded, last: int = 0) -> Offer:
        """Go on from the summary, made now when there is none, and with the `last` exchanges in
        their own words.
        """
        thread = self._thread(loaded)
        if loaded.session.seal is None and thread.carried and not loaded.session.exchanges:
            return await self._whole(
                loaded, thread
            )  # a fork in which nothing was said yet: its words are what it is
        if self._quick and _stored(loaded.session) is None:  # no model tells what was said last
            last = max(last, self._options.limits.preserve_recent // 2)
        known, covers = await self._summary_of(loaded, thread)
        exchanges = thread.exchanges
        uncovered = self._uncovered(thread, covers)
        wanted = max(min(last, len(exchanges)), len(uncovered))
        words = exchanges[len(exchanges) - wanted :] if wanted else ()
        fitting = self._fitting(words, known)
        if len(fitting) < len(
            uncovered
        ):  # a smaller window than before: nothing may be left out of both
            known, covers = await self._summary_of(loaded, thread, anew=True)
            uncovered = ()
            fitting = self._fitting(words, known)
        return self._offer(
            loaded, known, fitting, uncovered, left_out=max(0, wanted - len(fitting))
        )

    async def summarise(self, loaded: Loaded, focus: str = "") -> Seal:
        """Make the summary of a stored session anew, and write it into its file; return its seal.

        Raises SessionError when there is nothing to summarise, the file is not to be written to, or
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
                f"Nothing was said in session {session.header.id} that could be summarised."
            )
        outcome = None
        if self._options.use_ai_summary:
            outcome, _ = await self._compacting.narrate(
                thread, thread.fresh, focus, otherwise=UNCHANGED
            )
            if outcome.narrative is None:
                raise SessionError(f"No summary could be made of session {session.header.id}.")
        old = session.seal
        seal = Seal(
            at=self._context.sessions.now(),
            reason=old.reason if old is not None else "exit",
            source="model" if outcome is not None else "extracted",
            summary=self._compacting.summary_of_all(thread, outcome),
            usage=outcome.usage if outcome is not None else None,
            seconds=outcome.seconds if outcome is not None else None,
            compaction=old.compaction if old is not None else None,
        )
        self._context.sessions.seal_later(loaded, seal)
        return seal

    def sizes(self, loaded: Loaded) -> tuple[int, int]:
        """Return about how many tokens a child of a session would hold with its words, and with a
        summary instead.
        """
        thread, context = self._thread(loaded), self._context
        known = summary_block.render(thread.inherited) if thread.inherited else ""
        made = summary_block.render(self._compacting.summary_of_all(thread, None))
        return context.would_hold(known, thread.exchanges), context.would_hold(made, ())

    async def block_of(self, loaded: Loaded) -> Summary:
        """The summary block of a session, of all its words; made now when there is none."""
        thread = self._thread(loaded)
        known, covers = await self._summary_of(loaded, thread)
        if self._uncovered(thread, covers):
            known, _ = await self._summary_of(loaded, thread, anew=True)
        return known

    def given(self, session: Session) -> Summary:
        """The block that stands for all that a child session was given: its parent's block and the
        words it carries.
        """
        entries = takewhile(lambda entry: not isinstance(entry, OF_QUERY), session.entries)
        thread, _ = thread_of(
            self._context.sessions, replace(session, entries=tuple(entries), seal=None)
        )
        return self._compacting.summary_of_all(thread, None)

    async def whole(self, loaded: Loaded) -> Offer:
        """Go on with everything that the session's model saw, in the same words. What does not fit
        is left out.
        """
        return await self._whole(loaded, self._thread(loaded))

    async def undone(self) -> Offer:
        """Go on as if the last compaction had not been: the words before it, then those that were
        said since.

        Raises UsageError when all of them stand in the context.
        """
        live = self._context.thread
        loaded, own, until = self._compacted()
        before = self._thread(loaded)
        thread = Thread(before.session, (*before.exchanges, *own))
        offer = await self._whole(loaded, before, own)
        if not own:
            return replace(offer, beginning=replace(offer.beginning, until=until))
        beginning = replace(offer.beginning, parent=live.session, path=self._context.live.path)
        if (
            self._context.live.empty
        ):  # it has no file: the child is one of what it would have gone on from
            parent, given = (
                self._context.sessions.directory / f"{live.session.header.parent}.md",
                live.session.restoration,
            )
            loaded = self._context.sessions.load(parent)
            until = given.until if given is not None else ""
            beginning = replace(beginning, parent=loaded.session, path=loaded.path, until=until)
        if offer.left_out:  # the newest that fit, and the block that stands for the others
            fitting = self._fitting(thread.carried, live.inherited or Summary())
            fresh = next((one.ref for one in fitting if one in live.fresh), "")
            known = summary_block.render(live.inherited or Summary())
            beginning = replace(beginning, block=known, carried=fitting, fresh=fresh)
        return replace(offer, beginning=replace(beginning, pins=live.pins))

    async def forked(self, loaded: Loaded, number: int) -> Offer:
        """Go on from query `number` of a session, in the words that its model saw up to there.

        Raises UsageError when there is no such query.
        """
        session = loaded.session
        if all(exchange.query.number != number for exchange in session.exchanges):
            raise UsageError(
                f"There is no query {number} in this session: {session.numbers}.",
                "/history shows what was said, /tree the sessions before it.",
            )
        cut = replace(loaded, session=session.until(number), open=True)
        offer = await self._whole(cut, self._thread(cut))
        beginning = replace(offer.beginning, parent=session, until=f"{session.depth}.{number}")
        return replace(offer, beginning=beginning, has_own_block=False)

    def _compacted(self) -> tuple[Loaded, tuple[Exchange, ...], str]:
        """The nearest ancestor that has words which the context does not have, all that was said
        after it, and where its child forks, if it does.

        A session that forks has its parent's words: what was compacted lies before them. Raises
        SessionError where a chain, edited by hand, comes back to a session.
        """
        seen: set[str] = set()
        sessions, session = self._context.sessions, self._context.session
        known = {exchange.ref for exchange in self._context.thread.exchanges}
        after: tuple[Exchange, ...] = ()
        while True:
            parent, given = parent_of(session), session.restoration
            if parent in seen:
                raise SessionError(
                    f"The chain comes back to {parent}: nothing was compacted.", "/tree shows it."
                )
            seen.add(parent)
            after = (*session.exchanges, *after)
            loaded = sessions.load(sessions.directory / f"{parent}.md")
            session = known_to(loaded.session, given)
            thread, missing = thread_of(sessions, session)
            if missing or any(exchange.ref not in known for exchange in thread.exchanges):
                until = given.until if given is not None else ""
                return replace(loaded, session=session, open=bool(until)), after, until

    async def _whole(self, loaded: Loaded, thread: Thread, after: Sequence[Exchange] = ()) -> Offer:
        words, inherited = (*thread.exchanges, *after), thread.inherited
        if not words and inherited is None:
            raise SessionError(
                f"Session {loaded.session.header.id} has no exchanges: it can't be resumed."
            )
        fitting = self._fitting(words, inherited or Summary())
        if len(fitting) < len(words):
            known, covers = await self._summary_of(loaded, thread)
            uncovered = self._uncovered(thread, covers)
            fitting = self._fitting(words, known)
            return self._offer(
                loaded, known, fitting, uncovered, left_out=len(words) - len(fitting)
            )
        text = summary_block.render(inherited) if inherited else ""
        fresh = (*thread.fresh, *after)
        beginning = Beginning(
            parent=loaded.session,
            path=loaded.path,
            block=text,
            carried=words,
            fresh=fresh[0].ref if fresh else "",
            pins=thread.pins,
        )
        return Offer(beginning=beginning, tokens=self._context.would_hold(text, words))

    def _offer(
        self,
        loaded: Loaded,
        known: Summary,
        words: Sequence[Exchange],
        uncovered: Sequence[Exchange],
        left_out: int,
    ) -> Offer:
        text = summary_block.render(known)
        fresh = next((exchange.ref for exchange in words if exchange in uncovered), "")
        beginning = Beginning(
            parent=loaded.session, path=loaded.path, block=text, carried=tuple(words), fresh=fresh
        )
        tokens = self._context.would_hold(text, words)
        return Offer(
            beginning=beginning,
            tokens=tokens,
            left_out=left_out,
            has_own_block=True,
            answered=self._answered,
        )

    def _thread(self, loaded: Loaded) -> Thread:
        thread, missing = thread_of(self._context.sessions, loaded.session)
        if missing:
            self._context.show(Warned(missing, "The summary stands for them as far as it goes."))
        return thread

    @staticmethod
    def _uncovered(thread: Thread, covers: int | None) -> tuple[Exchange, ...]:
        if covers is None:
            return ()
        own = thread.session.exchanges
        return tuple(
            exchange for exchange in own if exchange.query.number > covers and not exchange.failed
        )

    def _fitting(self, words: Sequence[Exchange], known: Summary) -> tuple[Exchange, ...]:
        """The newest of `words` that stay below the trigger, so that nothing is compacted at
        once.
        """
        context = self._context
        free = trigger(context.window, self._options.limits) - context.would_hold(
            summary_block.render(known), ()
        )
        kept = len(words)
        while (
            kept
            and (
                free := free
                - exchange_size(words[kept - 1], context.count, context.window, tools=False)
            )
            >= 0
        ):
            kept -= 1
        return tuple(words[kept:])

    async def _summary_of(
        self, loaded: Loaded, thread: Thread, *, anew: bool = False
    ) -> tuple[Summary, int | None]:
        """The block of a session that is taken up, and the last query it covers; made now when
        there is none.
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
            loaded = self._context.sessions.load(loaded.path)
            session, thread = loaded.session, self._thread(loaded)
        if not thread.fresh:
            return self._compacting.summary_of_all(thread, None), None
        if seal is not None and seal.summary is not None and stored is None:
            self._context.show(
                Warned("The session's summary has an invalid format; it is made anew.")
            )
        if self._quick:
            return self._compacting.summary_of_all(thread, None), None
        outcome = None
        if self._options.use_ai_summary:
            try:
                outcome, _ = await self._compacting.narrate(thread, thread.fresh, optional=True)
            except asyncio.CancelledError:
                uncancel()
                self._context.show(SummaryEnded(source="extracted", problem="Summary skipped."))
                return self._compacting.summary_of_all(thread, None), None
            self._answered = outcome.answered
        made = self._compacting.summary_of_all(thread, outcome)
        if loaded.sealable:
            usage = outcome.usage if outcome else None
            seal = Seal(
                at=self._context.sessions.now(),
                reason="resume",
                source="model" if outcome and outcome.narrative else "extracted",
                summary=made,
                usage=usage,
                seconds=outcome.seconds if outcome else None,
                compaction=session.seal.compaction if session.seal else None,
            )
            self._keep(loaded, seal)
        return made, None

    def _keep(self, loaded: Loaded, seal: Seal) -> None:
        """Write a summary that was made late into the session it belongs to, when that can be
        done.
        """
        show = self._context.show
        try:
            self._context.sessions.seal_later(loaded, seal)
        except SessionLocked as error:
            show(
                Warned(
                    error.message, "Going on from what is saved so far, in a session of its own."
                )
            )
        except SaveError as error:
            show(Warned(f"The summary could not be kept in {loaded.path.name}: {error.message}"))


def _stored(session: Session) -> Summary | None:
    """The summary in a session's file; None when there is none, or nothing in it."""
    found = session.seal.summary if session.seal is not None else None
    return (
        found
        if found and (found.topics or found.decisions or found.pending or found.pinned)
        else None
    )
