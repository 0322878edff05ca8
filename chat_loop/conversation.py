"""Conversation: one chain as it goes on. Asks, saves, compacts, restores and ends; shows nothing itself.

Everything that happens is told to `show` as an event. The order of acts is the contract of `sessions/live.py`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, replace

from chat_loop.agent.agent import Agent
from chat_loop.context import ledger, summary
from chat_loop.context.budget import Budget, budget
from chat_loop.context.compactor import Outcome, summarise
from chat_loop.context.messages import messages_of
from chat_loop.context.restore import acknowledgment_request
from chat_loop.errors import ProviderError, SaveError, SessionError, SessionLocked, UsageError
from chat_loop.events import (
    Event,
    Restoring,
    SessionBegun,
    SessionFound,
    SessionSealed,
    SummaryEnded,
    Warned,
)
from chat_loop.sessions import block
from chat_loop.sessions.live import LiveSession, save_error
from chat_loop.sessions.manager import Loaded, SessionManager
from chat_loop.sessions.records import Pin, Query, Reply, Restoration, Seal, SealReason, Session, Summary
from chat_loop.turn import answer
from chat_loop.values import Message, Usage

LONGEST_ACKNOWLEDGMENT = 2048
"""Tokens; a few sentences are asked for, and a small model may not find its end."""
MAKE_LATER = "It will be made when you resume the session."
NOT_COMPACTED = "Not compacted: the conversation goes on with all its words."


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What the config decides about a conversation. `summary_timeout` is in seconds, per call."""

    acknowledge: bool = True
    summary_on_exit: bool = True
    summary_timeout: float = 120.0


class Conversation:
    """The live session and the agent that answers in it. `count(text)` estimates tokens."""

    def __init__(
        self,
        agent: Agent,
        sessions: SessionManager,
        *,
        count: Callable[[str], int],
        show: Callable[[Event], None],
        options: Options,
    ) -> None:
        self.agent = agent
        self.sessions = sessions
        self._count = count
        self._show = show
        self._options = options
        self._problem_told = False
        self.live = self._fresh()

    @property
    def session(self) -> Session:
        return self.live.session

    @property
    def budget(self) -> Budget:
        """How full the window is, as of now."""
        return budget(self.session, self.agent.system_prompt, self.agent.provider.window, self._count)

    @property
    def otherwise(self) -> str:
        """What happens when a resume fails, as a sentence."""
        return "Starting fresh." if self.live.empty else "This session goes on."

    @property
    def pins(self) -> tuple[str, ...]:
        return ledger.pins(self.session)

    async def ask(self, text: str) -> Reply:
        """Save the query, ask, save the reply as it arrives. Raises ProviderError after saving what came.

        When cancelled, the partial reply is saved as interrupted and CancelledError goes on.
        """
        number = self.live.next_number
        self._add(Query(number=number, at=self.sessions.now(), text=text))
        return await self._answer(number, messages_of(self.session))

    def pin(self, text: str) -> None:
        """Keep `text` in every later summary block of the chain, word for word."""
        self._add(Pin(at=self.sessions.now(), text=text))

    async def compact(self, focus: str = "") -> bool:
        """Seal this session with a summary and go on in a child that starts from it.

        Returns False, with everything as it was, when no summary could be made. Raises UsageError when there is nothing
        to compact. When cancelled before the session is sealed, nothing has changed.
        """
        if not self.session.exchanges:
            raise UsageError("There is nothing to compact yet.", "Say something first.")
        outcome = await self._summarise(self.session, focus, NOT_COMPACTED)
        if outcome.source != "model":
            return False
        parent = self.session
        seal = Seal(
            at=self.sessions.now(),
            reason="compact",
            source="model",
            summary=outcome.summary,
            usage=outcome.usage,
            seconds=outcome.seconds,
        )
        try:
            self.live.seal(seal)
        except SaveError as error:
            self._problem_told = True
            self._show(Warned(error.message, f"{NOT_COMPACTED} {error.hint}"))
            return False
        self._ended(seal)
        await self._begin_child(parent, str(self.live.path), outcome.summary, "compact")
        return True

    async def resume(self, loaded: Loaded) -> None:
        """End this session and go on in a child of `loaded`; its summary is made now when it has none.

        Raises SessionError when there is nothing in it to resume; then this session goes on.
        """
        session = loaded.session
        totals = session.totals
        if not session.exchanges and session.restoration is None and not session.pins:
            raise SessionError(f"Session {session.header.id} has no exchanges: it can't be resumed.", self.otherwise)
        self._show(
            SessionFound(
                id=session.header.id,
                agent=session.header.agent,
                created=session.header.created,
                queries=totals.queries,
                tokens=totals.combined,
                damage=loaded.damage,
            )
        )
        known = await self._summary_of(loaded)
        self.leave("resume")  # refused while its words are not on disk
        await self._begin_child(session, str(loaded.path), known, "resume")

    def leave(self, reason: SealReason) -> None:
        """End this session at once, without a model call, and have a fresh one.

        Raises SaveError when the disk refuses: words that are nowhere but here are only left at the exit.
        """
        seal = self._without_model(reason)
        if reason != "exit" and not self.live.empty:
            try:
                self.live.seal(seal)
            except SaveError as error:
                self._problem_told = True
                raise SaveError(error.message, f"This session is not left. {error.hint}") from error
            self._ended(seal)
        else:
            self._seal(seal)
        self.live = self._fresh()

    async def end(self) -> None:
        """Summarise and seal the session. Cancelled during the summary, it is sealed without one."""
        if self.live.empty:
            return
        seal = self._without_model("exit")
        answered = any(exchange.reply and exchange.reply.text.strip() for exchange in self.session.exchanges)
        if self._options.summary_on_exit and answered:
            try:
                outcome = await self._summarise(self.session, "", MAKE_LATER)
            except asyncio.CancelledError:
                _uncancel()
                self._show(SummaryEnded(source="none", problem=f"Summary skipped. {MAKE_LATER}"))
            else:
                if outcome.source == "model":
                    seal = replace(seal, source="model", summary=outcome.summary)
                seal = replace(seal, usage=outcome.usage, seconds=outcome.seconds, at=self.sessions.now())
        self._seal(seal)

    def close(self) -> None:
        """Give back the live session's file and lock, sealed or not."""
        self.live.close()

    def _fresh(self) -> LiveSession:
        return self.sessions.begin(agent=self.agent.name, agent_path=self.agent.path, model=self.agent.model)

    def _add(self, entry: Query | Pin | Restoration) -> None:
        first = self.live.empty
        self.live.add(entry)
        header = self.live.header
        if first:
            self._show(SessionBegun(id=header.id, path=str(self.live.path), model=header.model, parent=header.parent))
            if self.live.problem is None:
                self.sessions.point_to(header.id)
        self._tell_problem()

    def _tell_problem(self) -> None:
        """Say once that saving fails, and once that it works again."""
        problem = self.live.problem
        if problem is not None and not self._problem_told:
            error = save_error(self.live.path, problem)
            self._show(Warned(error.message, error.hint))
        elif problem is None and self._problem_told:
            self._show(Warned("Saving works again: everything said so far is on disk."))
        self._problem_told = problem is not None

    async def _answer(self, number: int, messages: tuple[Message, ...], max_tokens: int | None = None) -> Reply:
        """Stream one reply into the file. Raises ProviderError and CancelledError after saving it."""
        expected = self.budget.used

        def estimate(text: str) -> Usage:
            return Usage(input=expected, output=self._count(text), estimated=True)

        at = self.sessions.now()
        try:
            return await answer(
                self.agent,
                self.live,
                messages,
                number=number,
                at=at,
                estimate=estimate,
                show=self._show,
                max_tokens=max_tokens,
            )
        finally:
            self._tell_problem()

    async def _summarise(self, session: Session, focus: str, otherwise: str = "") -> Outcome:
        """Ask for a summary. `otherwise` is what happens without the model's; empty: the extracted one is taken."""
        outcome = await summarise(
            self.agent.provider,
            session,
            count=self._count,
            show=self._show,
            limit=self._options.summary_timeout,
            focus=focus,
            patience=self.agent.patience,
        )
        source, problem = outcome.source, outcome.problem
        if source != "model" and otherwise:
            source, problem = "none", f"Summary failed: {problem} {otherwise}"
        self._show(SummaryEnded(source=source, usage=outcome.usage, seconds=outcome.seconds, problem=problem))
        return outcome

    async def _summary_of(self, loaded: Loaded) -> Summary:
        """The summary block of a session that is about to be resumed, made now when it has none."""
        session = loaded.session
        sealed = session.seal.summary if session.seal else None
        if sealed is not None and (sealed.topics or sealed.decisions or sealed.pending or sealed.pinned):
            return sealed
        parent = ledger.inherited(session)
        if not session.exchanges:
            return ledger.carry(parent or Summary(), session)
        if sealed is not None:
            self._show(Warned("The session's summary has an invalid format; it is made anew."))
        try:
            outcome = await self._summarise(session, "")
        except asyncio.CancelledError:
            _uncancel()
            self._show(SummaryEnded(source="extracted", problem="Summary skipped."))
            return ledger.carry(summary.extracted(session, parent), session)
        if loaded.sealable:
            self._keep_summary(loaded, outcome)
        return outcome.summary

    def _keep_summary(self, loaded: Loaded, outcome: Outcome) -> None:
        """Write a summary that was made late into the session it belongs to, when that can be done."""
        seal = Seal(
            at=self.sessions.now(),
            reason="resume",
            source=outcome.source,
            summary=outcome.summary,
            usage=outcome.usage,
            seconds=outcome.seconds,
        )
        try:
            self.sessions.seal_later(loaded, seal)
        except SessionLocked as error:
            self._show(Warned(error.message, "Going on from what is saved so far, in a session of its own."))
        except SaveError as error:
            self._show(Warned(f"The summary could not be kept in {loaded.path.name}: {error.message}"))

    def _without_model(self, reason: SealReason) -> Seal:
        """A seal that costs nothing: a child in which nothing was said passes its parent's block on."""
        seal = Seal(at=self.sessions.now(), reason=reason)
        parent = ledger.inherited(self.session)
        if self.session.exchanges or (parent is None and not self.session.pins):
            return seal
        return replace(seal, source="extracted", summary=ledger.carry(parent or Summary(), self.session))

    def _seal(self, seal: Seal) -> None:
        live = self.live
        if live.empty:
            live.close()
            return
        try:
            live.seal(seal)
        except SaveError as error:
            self._show(Warned(error.message, error.hint))
        self._ended(seal)

    def _ended(self, seal: Seal) -> None:
        """The live session was sealed, as far as the disk allowed."""
        live, totals = self.live, self.session.totals
        saved = live.saved
        live.close()
        self._problem_told = False
        self._show(
            SessionSealed(
                id=live.header.id,
                path=str(live.path),
                reason=seal.reason,
                queries=totals.queries,
                session_tokens=totals.session,
                restoration_tokens=totals.restoration,
                saved=saved,
                summary=seal.source,
            )
        )

    async def _begin_child(self, parent: Session, path: str, known: Summary, reason: SealReason) -> None:
        """Begin a session that is given its parent's summary block, and let the agent confirm it."""
        agent, totals = self.agent, parent.totals
        self._show(Restoring(parent.header.id, reason))
        self.live = self.sessions.begin(
            agent=agent.name, agent_path=agent.path, model=agent.model, parent=parent.header.id, parent_path=path
        )
        restoration = Restoration(
            at=self.sessions.now(),
            parent_created=parent.header.created,
            queries=totals.queries,
            tokens=totals.combined,
            block=block.render(known),
            grandparent=parent.header.parent,
        )
        self._add(restoration)
        if not self._options.acknowledge:
            return
        try:
            request = Message("user", acknowledgment_request(self.live.header, restoration))
            ceiling = min(LONGEST_ACKNOWLEDGMENT, agent.provider.window.tokens // 8)
            await self._answer(0, (request,), ceiling)
        except ProviderError as error:
            self._show(Warned(f"The acknowledgment failed: {error.message}", "The context is restored all the same."))
        except asyncio.CancelledError:
            _uncancel()


def _uncancel() -> None:
    """A cancelled step was skipped; the task itself goes on."""
    task = asyncio.current_task()
    if task is not None:
        task.uncancel()
