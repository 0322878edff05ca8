"""The chain of a session: its ancestors as their files tell them, nearest first."""

from __future__ import annotations

from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from chat_loop.errors import SessionError
from chat_loop.sessions.manager import Loaded, SessionManager
from chat_loop.sessions.records import ID_PATTERN, Exchange, Restoration, Session


class Chain(Struct, frozen=True):
    """The ancestors of a session, its parent first. `broken` says in a sentence why there are no
    more; empty: these are all.
    """

    loaded: tuple[Loaded, ...] = ()
    broken: str = ""


class ChainReader:
    """A reader of chains of at most `longest` ancestors. It keeps the last one, and reads only
    files that changed.
    """

    def __init__(self, sessions: SessionManager, longest: int = 10_000) -> None:
        self._sessions = sessions
        self._longest = longest
        self._kept: dict[Path, tuple[tuple[int, int], Loaded]] = {}
        self._read: dict[Path, tuple[tuple[int, int], Loaded]] = {}
        self._seen: set[str] = set()
        self._broken = ""

    def read(self, session: Session) -> Chain:
        """Follow the parents of `session` as far as it goes. Nothing outside the sessions folder is
        looked at.

        Of a session that was forked from, what was said after the fork is left out. Of two that
        were merged, the second one's own sessions come nearer than the first one's.
        """
        self._read, self._seen, self._broken = {}, {session.header.id}, ""
        oldest_first: list[Loaded] = []
        waiting = self._line(session, main=True)
        while waiting:
            one = waiting.pop()
            if isinstance(one, Loaded):
                oldest_first.append(one)
            elif one not in self._seen and (second := self._follow(one, main=False)) is not None:
                waiting += [second, *self._line(second.session, main=False)]
        self._kept = self._read
        return Chain(tuple(oldest_first[::-1]), self._broken)

    def _line(self, session: Session, *, main: bool) -> list[Loaded | str]:
        """Return the first parents, nearest first; before that of a merge stands the id of its
        second parent.
        """
        line: list[Loaded | str] = []
        while True:
            given = session.restoration
            if given is not None and given.merged:
                line.append(given.merged)
            parent = session.header.parent
            loaded = self._follow(parent, main=main) if parent else None
            if loaded is None:
                return line
            line.append(replace(loaded, session=known_to(loaded.session, given)))
            session = loaded.session

    def _follow(self, parent: str, *, main: bool) -> Loaded | None:
        """Load a parent. Return None when the line ends before it: that of a second parent may,
        where both lines meet.
        """
        problem = ""
        if not ID_PATTERN.fullmatch(parent):
            problem = "The chain ends at a parent whose id is none."
        elif parent in self._seen:
            problem = f"The chain ends at {parent}: it would begin again there." if main else ""
        elif len(self._seen) > self._longest:
            problem = (
                f"The chain is longer than {self._longest:,} sessions; what is older is left out."
            )
        else:
            self._seen.add(parent)
            try:
                return self._load(self._sessions.session_file(parent))
            except SessionError as error:
                problem = f"The chain ends before {parent}: {error.message}"
        self._broken = self._broken or problem
        return None

    def _load(self, path: Path) -> Loaded:
        stamp = _stamp(path)
        known = self._kept.get(path)
        if known is None or known[0] != stamp:
            known = stamp, self._sessions.load(path)
        self._read[path] = known
        return known[1]


def known_to(parent: Session, given: Restoration | None) -> Session:
    """Return a parent as the child knows it that was `given` this: a fork leaves out what was said
    after it.
    """
    number = given.until.partition(".")[2] if given is not None else ""
    return parent.until(int(number)) if number else parent


def placed(chain: Chain, depth: int) -> tuple[tuple[Exchange, ...], ...]:
    """Return the exchanges of every ancestor, the oldest first, under their references.

    `depth` is that of the live session, whose parent is one less: a chain whose oldest files are
    gone does not begin at 1. A depth that the chain is too long for is not believed.
    """
    depth = max(depth, len(chain.loaded) + 1)
    return tuple(
        tuple(replace(exchange, depth=depth - back) for exchange in loaded.session.exchanges)
        for back, loaded in reversed([*enumerate(chain.loaded, 1)])
    )


def _stamp(path: Path) -> tuple[int, int]:
    """Return what changes when a file does. `load` says why a file cannot be looked at."""
    try:
        status = path.lstat()
    except OSError:
        return -1, -1
    return status.st_size, status.st_mtime_ns
