"""What a command may touch."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct, field

from chat_loop.config import Config
from chat_loop.conversation.conversation import Conversation
from chat_loop.display.manager import DisplayManager
from chat_loop.library.filters import SessionFilter
from chat_loop.library.library import Library
from chat_loop.providers.choose import Models
from chat_loop.sessions.manager import SessionManager
from chat_loop.templates import Templates

PAGE = 20
"""Sessions that are listed at a time."""

if TYPE_CHECKING:
    from chat_loop.agent.mcp_servers import Servers
    from chat_loop.attach.reading import Given
    from chat_loop.library.semantic import SemanticIndex
    from chat_loop.memory import ProjectMemory
    from chat_loop.sessions.records import Exchange


class Place(Struct, frozen=True):
    """An exchange of a saved session: its id, and the query's number."""

    session: str
    query: int


class Listing(Struct, frozen=True):
    """What was listed last: what is wanted, how many at a time (None: all), whether chains are
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
    `models` is where another model comes from. `count(text)` estimates tokens. `listed` are the ids
    of the last listing shown, in its order; `hits` the exchanges, when that was a search. `quotes`
    go with the next message. `memory` and `semantic` are None when they are switched off, and
    `servers` when there are none. `templates` are the user's texts that can be sent by name.
    `sending` is what a command leaves to be asked now, with its files; `replacing` the exchange
    that the next entry takes the place of.
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
    count: Callable[[str], int]
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
    sending: tuple[str, tuple[Given, ...]] | None = None
    replacing: Exchange | None = None
    quotes: list[str] = field(default_factory=list)

    async def confirm(self, question: str) -> bool:
        """Ask yes or no; anything but yes is no."""
        return await self.ask(question) in ("y", "yes")
