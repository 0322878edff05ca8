"""The parts of the chat that commands use."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from msgspec import Struct, field

from chat_loop.agent.secret_gate import SecretGate
from chat_loop.commands.asking import ask
from chat_loop.commands.references import AmbiguousSession, find_session, require_file
from chat_loop.commands.templates import Templates
from chat_loop.config import Config
from chat_loop.display.listings import show_sessions
from chat_loop.display.questions import Question
from chat_loop.errors import UsageError
from chat_loop.library.library import Library
from chat_loop.library.shared import Answer
from chat_loop.plugins import Plugins
from chat_loop.providers.recorded import Offer
from chat_loop.sessions.chain import read_chain
from chat_loop.sessions.manager import LoadedSession, SessionManager
from chat_loop.sessions.reach import Found
from chat_loop.sessions.records import Answering, Session, SessionRow

if TYPE_CHECKING:
    from chat_loop.agent.approval import ProjectApprovals
    from chat_loop.agent.known_agents import AgentRegistry
    from chat_loop.agent.mcp_servers import McpServers
    from chat_loop.conversation.conversation import Conversation
    from chat_loop.display.display_manager import DisplayManager
    from chat_loop.input.lines import EntryReader
    from chat_loop.library.semantic import SemanticIndex
    from chat_loop.memory import ProjectMemory
    from chat_loop.providers.choose import Models

T = TypeVar("T")


class Listed(Struct, frozen=True):
    """What a number of the last list names: a conversation, by one of its sessions. If it
    `is_exact`, the number names this session alone; after a search, `query` is the hit.
    """

    id: str
    query: int | None = None
    is_exact: bool = False


class Chat(Struct, kw_only=True):
    """The state of a running chat that a command may use."""

    conversation: Conversation
    sessions: SessionManager
    display: DisplayManager
    library: Library
    models: Models
    approvals: ProjectApprovals
    reader: EntryReader
    can_ask: bool = True  # true when a user can answer questions
    secrets: SecretGate = field(default_factory=SecretGate)  # asks before secrets are sent
    facts: tuple[tuple[str, str], ...] = ()  # lines of /info that are known at the start
    memory: ProjectMemory | None = None
    semantic: SemanticIndex | None = None
    servers: McpServers | None = None
    agents: AgentRegistry | None = None
    templates: Templates = field(default_factory=Templates)
    plugins: Plugins = field(default_factory=lambda: Plugins({}, load=False))
    config: Config = field(default_factory=Config)
    offer: Callable[[Answering], Offer] = lambda recorded: Offer()
    """Returns what can be had now of a model that a session records."""
    model_is_chosen: bool = False  # the user has chosen a model in this run
    model_is_open: bool = False  # the session that goes on decides about the model
    changed: set[str] = field(default_factory=set)
    """The names of the settings that were changed in this run."""
    listed: list[Listed] = field(default_factory=list)
    """What the numbers of the last list name, from 1 on."""
    quotes: list[str] = field(default_factory=list)  # texts that go with the next message
    last_output: str = ""  # what the last command of the user printed
    asides: set[asyncio.Task[None]] = field(default_factory=set)
    """The commands that answer now while the chat does something else."""
    replacing: Found | None = None  # the message that the next entry replaces

    async def ask(self, question: Question) -> str:
        """Ask a question, and return the user's choice; empty if there is none."""
        try:
            return await ask(self.display, self.reader, question)
        except (EOFError, KeyboardInterrupt):
            return ""

    async def confirm(self, sentence: str, refusal: str = "", *, act: Sequence[str] = ()) -> bool:
        """Ask whether an act may be done. Anything except yes means no, and shows `refusal`."""
        choices = ("yes", "no", "view") if act else ("yes", "no")
        agrees = await self.ask(Question(sentence, choices, tuple(act))) == "yes"
        if refusal and not agrees:
            self.display.line(refusal, "dim")
        return agrees

    @property
    def own_id(self) -> str:
        """The id of the session that is open; empty while it has no file."""
        live = self.conversation.live
        return "" if live.is_empty else live.header.id

    @property
    def here_id(self) -> str:
        """The id of the newest saved session of the conversation: the open one or its parent."""
        return self.own_id or self.conversation.live.header.parent

    def number_rows(self, rows: Iterable[SessionRow], *, exact: bool = False) -> None:
        """Let the numbers that the user types refer to the conversations of `rows`, or if `exact`
        to these sessions. The open session has no number.
        """
        self.listed = [Listed(row.id, is_exact=exact) for row in rows if not row.current]

    def numbered(self, library: Library) -> Answer[list[str]]:
        """Return the ids that the numbers mean now: a conversation's newest session. Raises
        SessionError.
        """
        problem = ""
        if not self.listed:
            listed, problem = library.listed()
            self.listed = [Listed(one) for one in listed if one != self.here_id]
        newest, warning = library.newest([item.id for item in self.listed])
        pairs = zip(self.listed, newest, strict=True)
        ids = [item.id if item.is_exact else identity for item, identity in pairs]
        return Answer(ids, problem or warning)

    async def path(self, reference: str, *, stored: bool = False) -> Path:
        """Return the file of a session; `.` is the open one. If several match, list them. With
        `stored`, it may exist only in a team's library. Raises SessionNotFound, UsageError.
        """
        if reference == ".":
            if not self.here_id:
                hint = "Send a message first, or name a session."
                raise UsageError("This conversation has no messages yet.", hint)
            return self.sessions.session_file(self.here_id)

        def find(library: Library) -> Answer[Path]:
            numbered = partial(self.numbered, library)
            path, warning = find_session(self.sessions, library, reference, numbered, self.here_id)
            if not stored:
                path, problem = require_file(path, library)
                warning = warning or problem
            return Answer(path, warning)

        try:
            if self.library.shared is None:
                return find(self.library).value
            path, warning = await self.look(find)  # a database may take a while
            if warning:
                self.display.warn(warning)
            return path
        except AmbiguousSession as error:
            self.number_rows(error.rows)
            rows = self.sessions.pointers.named(error.rows)
            show_sessions(self.display, rows, error.more, self.sessions.now())
            raise

    async def load(self, reference: str, *, stored: bool = False) -> LoadedSession:
        """Load a session by its reference; the open one in its current state. With `stored`, load a
        session that only a team's library has from there. Raises SessionError.
        """
        path = await self.path(reference, stored=stored)
        live = self.conversation.live
        if path == live.path and not live.is_empty:
            return LoadedSession(self.conversation.session, path, is_open=True)
        if stored and not path.is_file():
            session, _ = await self.look(lambda library: library.session(path.stem))
            if session is not None:
                return LoadedSession(session, path, is_open=True)
        return self.sessions.load(path)

    def chain(self) -> tuple[list[Session], str]:
        """Return the conversation's sessions, oldest first, and the reason if some are missing."""
        session = self.conversation.session
        chain = read_chain(self.sessions, session)
        return [*(loaded.session for loaded in reversed(chain.ancestors)), session], chain.problem

    async def look(self, look: Callable[[Library], Answer[T]]) -> Answer[T]:
        """Return what `look` returns; run it in a thread, and show its progress."""
        is_waited_for = True  # the thread goes on after Ctrl-C

        def progress(done: float, of: int) -> None:
            if is_waited_for:
                self.display.progress(done, of)

        def work() -> Answer[T]:
            with contextlib.closing(self.library.beside(progress)) as library:
                return look(library)

        try:
            return await asyncio.to_thread(work)
        finally:
            is_waited_for = False
            self.display.stop_waiting()
