"""The parts of a chat that a command may use."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from msgspec import Struct, field

from chat_loop.commands.references import PAGE, Place, SeveralSessions, find_session
from chat_loop.commands.templates import Templates
from chat_loop.config import Config
from chat_loop.conversation.conversation import Conversation
from chat_loop.display.lists import show_sessions
from chat_loop.display.manager import DisplayManager
from chat_loop.display.rows import has_number
from chat_loop.errors import UsageError
from chat_loop.library.filters import SessionFilter
from chat_loop.library.library import Library
from chat_loop.providers.choose import Models
from chat_loop.sessions.manager import Loaded, SessionManager

T = TypeVar("T")

if TYPE_CHECKING:
    from chat_loop.agent.mcp_servers import Servers
    from chat_loop.attach.reading import QueryFile
    from chat_loop.library.semantic import SemanticIndex
    from chat_loop.memory import ProjectMemory
    from chat_loop.sessions.records import Exchange, Session, SessionRow


class Listing(Struct, frozen=True):
    """The last listing: what is wanted, how many at a time (None: all), whether chains are
    folded, how many were shown.
    """

    wanted: SessionFilter = field(default_factory=SessionFilter)
    page: int | None = PAGE
    fold: bool = True
    hidden: bool = False
    """Runs of `-p` and conversations without a reply are listed as well."""
    shown: int = 0


class Chat(Struct, kw_only=True):
    """The running chat as the commands see it. `facts` are lines of `info` that the composition
    root knows.

    `ask(question)` returns the answer in small letters (`asks`: somebody is there to give it),
    `edit(text)` the text as the user leaves it in an editor, where `open_file(path)` opens a file.
    `offer(text)` lets it stand in the next line, to be changed; False where lines cannot be edited.
    `attended()` says that the user has just done something on the screen, and was not waiting.
    `models` is where another model comes from. `listed` are the ids of the last listing shown, in
    its order; `hits` the exchanges, when that was a search. `quotes` go with the next message.
    `memory` and `semantic` are None when they are switched off, `servers` when there are none.
    `templates` are the user's texts that can be sent by name. `sending` is what a command leaves
    to be asked now, with its files; `replacing` the exchange that the next entry replaces.
    """

    conversation: Conversation
    sessions: SessionManager
    display: DisplayManager
    ask: Callable[[str], Awaitable[str]]
    asks: bool = True
    edit: Callable[[str], Awaitable[str]]
    offer: Callable[[str], bool] = lambda _: False
    attended: Callable[[], None] = lambda: None
    open_file: Callable[[Path], Awaitable[None]]
    clear_screen: Callable[[], None]
    models: Models
    facts: tuple[tuple[str, str], ...] = ()
    memory: ProjectMemory | None = None
    library: Library
    semantic: SemanticIndex | None = None
    servers: Servers | None = None
    templates: Templates = field(default_factory=Templates)
    config: Config = field(default_factory=Config)
    listed: list[str] = field(default_factory=list)
    listing: Listing = field(default_factory=Listing)
    hits: list[Place] = field(default_factory=list)
    sending: tuple[str, tuple[QueryFile, ...]] | None = None
    replacing: Exchange | None = None
    quotes: list[str] = field(default_factory=list)

    async def confirm(self, question: str) -> bool:
        """Ask yes or no; anything but yes is no."""
        return await self.ask(question) in ("y", "yes")

    @property
    def own_id(self) -> str:
        """The id of the session that is open; empty while there is no file."""
        live = self.conversation.live
        return "" if live.empty else live.header.id

    @property
    def here_id(self) -> str:
        """The id of the newest saved session of the conversation: it may go on from one, and have
        no file of its own yet.
        """
        return self.own_id or self.conversation.live.header.parent

    def number(self, ids: Iterable[str], hits: Iterable[Place] = ()) -> None:
        """Have the numbers that the user types next mean these sessions, and hits of a search."""
        self.listed, self.hits = [*ids], [*hits]

    def number_rows(self, rows: Iterable[SessionRow]) -> None:
        """Number the rows of a list; the open conversation has no number."""
        self.number(row.id for row in rows if has_number(row))

    def path(self, reference: str) -> Path:
        """Return the file of the session that is meant, `.` for the one that is open.

        Words that fit several sessions list them. Raises SessionNotFound, UsageError.
        """
        if reference == ".":
            if not self.here_id:
                hint = "Send a message first, or name a session."
                raise UsageError("This conversation has not begun.", hint)
            return self.sessions.session_file(self.here_id)
        if " " in reference and all(word.isdigit() for word in reference.split()):
            raise UsageError("Which session? One number or id is wanted.", "sessions lists them.")

        def listed() -> list[str]:
            if not self.listed:
                most = max(PAGE, int(reference[:9]) + 1)
                self.number_rows(self.library.rows(most, here=self.here_id)[0])
            return self.listed

        try:
            return find_session(self.sessions, self.library, reference, listed, self.here_id)
        except SeveralSessions as error:
            self.number_rows(error.rows)
            show_sessions(self.display, error.rows, error.more, self.sessions.now())
            raise

    def load(self, reference: str) -> Loaded:
        """Read the session that is meant; the open one as it is now. Raises SessionError."""
        path, conversation = self.path(reference), self.conversation
        if path == conversation.live.path and not conversation.live.empty:
            return Loaded(conversation.session, path, open=True)
        return self.sessions.load(path)

    def chain(self) -> tuple[list[Session], str]:
        """Return the sessions of the conversation, the oldest first, and why some are missing."""
        from chat_loop.sessions.chain import ChainReader  # not before it is asked for

        live = self.conversation.session
        chain = ChainReader(self.sessions).read(live)
        return [*(loaded.session for loaded in reversed(chain.loaded)), live], chain.broken

    async def look(self, look: Callable[[Library], T]) -> tuple[T, str]:
        """Look into all sessions in a thread, with progress: Ctrl-C stops the waiting.

        Return what is found, and why the index was not used for that, if it was not. A look that
        was stopped goes on behind the prompt, and shows nothing any more.
        """
        waited = True

        def progress(done: int, of: int) -> None:
            if waited:
                self.display.progress(done, of)

        library = Library(self.sessions.directory, self.sessions.now, progress)

        def work() -> T:
            try:
                return look(library)
            finally:
                library.close()

        try:
            return await asyncio.to_thread(work), library.trouble
        finally:
            waited = False
            self.display.stop_waiting()
