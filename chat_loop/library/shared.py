"""What a shared library of many owners must do, and how its answers are joined with a folder's."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence, Set
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Generic, NamedTuple, Protocol, TypeVar

from msgspec import Struct

from chat_loop.library import listing
from chat_loop.library.indexed import IndexedSession, VectorRow
from chat_loop.library.listing import Known, Which
from chat_loop.sessions.chain import Link
from chat_loop.sessions.records import RunningTotals, Session, SessionRow
from chat_loop.sessions.rows import Stale, Stamps

if TYPE_CHECKING:
    from chat_loop.library.filters import SessionFilter
    from chat_loop.library.hits import Hit
    from chat_loop.library.semantic import SemanticIndex

EXAMINED = 200
MOST_EXAMINED = 50_000
"""The sessions of the first page, and those after which a list of a few conversations stops."""
ALL_AT_ONCE = 5_000  # sessions of a page if all of them are wanted

T = TypeVar("T")


class Answer(NamedTuple, Generic[T]):
    """An answer, and a sentence that says why it is empty or not whole, if it is not."""

    value: T
    warning: str = ""


class Cursor(NamedTuple):
    """The session after which a page begins: when it was last used, in seconds, and its id."""

    used: float | None
    id: str


class SharedPage(Struct, frozen=True, kw_only=True):
    """Sessions of a shared library. `wanted` are those of them one of which a conversation must
    have, and `newest` those one of which must be its newest session.
    """

    wanted: Set[str] = frozenset()
    newest: Set[str] = frozenset()
    links: Mapping[str, Link] = {}  # of these and of all their relatives
    used: Mapping[str, float] = {}  # when each was last used, in seconds; 0 if it is not known
    beginnings: int = 0  # the listed sessions of the library that begin a conversation
    next: Cursor | None = None


class SharedRows(NamedTuple):
    """Rows of sessions, in which `owner` marks those of others, and running totals."""

    rows: Mapping[str, SessionRow]
    running: Mapping[str, Sequence[RunningTotals]]


class SharedLibrary(Protocol):
    """A library of many owners, for any thread. A failure is told with one answer; then answers are
    empty for a while. Methods that write raise IndexUnavailable.
    """

    def page(
        self, wanted: SessionFilter, limit: int, after: Cursor | None = None
    ) -> Answer[SharedPage]:
        """Return the next `limit` wanted sessions, last used first, and their relatives."""

    def family(self, ids: Sequence[str]) -> Answer[SharedPage]:
        """Return sessions with their relatives."""

    def rows(self, ids: Sequence[str], forked: Sequence[str] = ()) -> Answer[SharedRows]:
        """Return the rows of sessions, and the running totals of those that others fork."""

    def search(
        self, text: str, wanted: SessionFilter, limit: int, semantic: SemanticIndex | None
    ) -> Answer[list[Hit]]:
        """Return at most `limit` exchanges that fit, best first."""

    def session(self, identity: str) -> Answer[Session | None]:
        """Return a session with queries and replies only and without secrets, or None."""

    def stale(self, files: Stamps) -> Stale:
        """Compare the folder's files with the stored ones."""

    def push(self, sessions: Sequence[IndexedSession], gone: Collection[str]) -> None:
        """Store sessions of the folder, and drop those whose files are gone from it."""

    def lacking(self, limit: int) -> list[bytes]:
        """Return the digests of this owner's exchanges without vectors, last changed first."""

    def keep_vectors(self, rows: Sequence[VectorRow]) -> None:
        """Store vectors of exchanges."""

    def erase(self, ids: Sequence[str]) -> None:
        """Delete this owner's sessions, whichever folders they are in. Raises SessionError."""

    def check(self) -> str:
        """Return a sentence that the library answers."""

    def close(self) -> None:
        """Close all connections."""


def open_shared(url: str, folder: Path) -> SharedLibrary:
    """Return the library at a URL for the sessions of a folder, without connecting to it."""
    module = import_module("chat_loop.team.team_library")  # only those who configure it load it
    library: SharedLibrary = module.TeamLibrary(url, folder)
    return library


def read_page(
    shared: SharedLibrary, wanted: SessionFilter, limit: int | None, which: Which
) -> Answer[SharedPage]:
    """Return so many of the wanted sessions that a list has `limit` rows of them, or all."""
    size = ALL_AT_ONCE
    if limit is not None:
        size = max(EXAMINED, 4 * limit)
    page, warning = shared.page(wanted, size)
    while page.next is not None:
        enough = limit is not None and len(page.wanted) >= MOST_EXAMINED
        if enough or (limit is not None and len(_listed(page, which)) >= limit):
            break
        size = min(8 * size, MOST_EXAMINED)
        following, warning = shared.page(wanted, size, page.next)
        page = SharedPage(
            wanted=page.wanted | following.wanted,
            newest=page.newest | following.newest,
            links={**following.links, **page.links},
            used={**following.used, **page.used},
            beginnings=max(page.beginnings, following.beginnings),
            next=following.next,
        )
    return Answer(page, warning)


def _listed(page: SharedPage, which: Which) -> list[str]:
    """Return the newest sessions of a page's conversations, in any order."""
    known = Known(links=page.links, any=page.wanted, newest=page.newest)
    return listing.listed(known, listing.conversations(page.links, which), which)


def joined(own: Known, uses: Mapping[str, float], page: SharedPage) -> Known:
    """Return the sessions of a folder, which were last used at `uses`, together with those of a
    page. Of a session that both have, the folder knows better.
    """
    links = {**page.links, **own.links}
    used = {**page.used, **uses}
    others = links.keys() - own.links.keys()
    some = own.any
    if some is not None:
        some = some | (page.wanted & others)
    newest = own.newest
    if newest is None:
        newest = own.links.keys()
    order = sorted(links, key=lambda identity: (used[identity], identity), reverse=True)
    return Known(
        links={identity: links[identity] for identity in order},
        any=some,
        newest=newest | (page.newest & others),
    )
