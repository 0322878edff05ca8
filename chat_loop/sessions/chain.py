"""The chain of a session: its ancestors as their files tell them, nearest first."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from chat_loop.errors import SessionError
from chat_loop.sessions.manager import Loaded, SessionManager
from chat_loop.sessions.records import ID_PATTERN, Exchange, Restoration, Session


class Chain(Struct, frozen=True):
    """The ancestors of a session, its parent first. `broken` says in a sentence why there are no
    more; empty: all.
    """

    loaded: tuple[Loaded, ...] = ()
    broken: str = ""


class ChainReader:
    """Reads chains of at most `longest` ancestors, keeps the last, and reads only files that
    changed.
    """

    def __init__(self, sessions: SessionManager, longest: int = 10_000) -> None:
        self._sessions = sessions
        self._longest = longest
        self._kept: dict[Path, tuple[tuple[int, int], Loaded]] = {}

    def read(self, session: Session) -> Chain:
        """Follow the parents of `session` as far as it goes. Nothing outside the sessions folder is
        looked at.

        Of a session that was forked from, what was said after the fork is left out. Of two that
        were merged, the second one's own sessions come nearer than the first one's.
        """
        kept: dict[Path, tuple[tuple[int, int], Loaded]] = {}
        walk = _Walk(
            self._longest,
            lambda path: kept.setdefault(path, self._load(path))[1],
            self._sessions.directory,
        )
        loaded = walk.up(session)
        self._kept = kept
        return Chain(tuple(loaded), walk.broken)

    def _load(self, path: Path) -> tuple[tuple[int, int], Loaded]:
        stamp = _stamp(path)
        known = self._kept.get(path)
        if known is not None and known[0] == stamp:
            return known
        return stamp, self._sessions.load(path)


class _Walk:
    """One reading of a chain. `broken` is why it ended before its beginning."""

    def __init__(self, longest: int, load: Callable[[Path], Loaded], directory: Path) -> None:
        self.broken = ""
        self._longest = longest
        self._load = load
        self._directory = directory
        self._seen: set[str] = set()
        self._count = 0

    def up(self, session: Session) -> list[Loaded]:
        """The ancestors of a session, nearest first."""
        self._seen.add(session.header.id)
        oldest_first: list[Loaded] = []
        waiting = self._line(session, main=True)
        while waiting:
            one = waiting.pop()
            if isinstance(one, Loaded):
                oldest_first.append(one)
            elif one not in self._seen and (second := self._follow(one, main=False)) is not None:
                waiting += [second, *self._line(second.session, main=False)]
        return oldest_first[::-1]

    def _line(self, session: Session, *, main: bool) -> list[Loaded | str]:
        """The first parents, nearest first; before the one of a merge stands the id of its
        second.
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
        """Load a parent. None when the line ends before it; that of a second parent may, where both
        lines meet.
        """
        problem = ""
        if not ID_PATTERN.fullmatch(parent):
            problem = "The chain ends at a parent whose id is none."
        elif parent in self._seen:
            problem = f"The chain ends at {parent}: it would begin again there." if main else ""
        elif self._count == self._longest:
            problem = (
                f"The chain is longer than {self._longest:,} sessions; what is older is left out."
            )
        else:
            self._count += 1
            self._seen.add(parent)
            try:
                return self._load(self._directory / f"{parent}.md")
            except SessionError as error:
                problem = f"The chain ends before {parent}: {error.message}"
        self.broken = self.broken or problem
        return None


def known_to(parent: Session, given: Restoration | None) -> Session:
    """A parent as the child knows it that was `given` this: a fork leaves out what was said after
    it.
    """
    number = given.until.partition(".")[2] if given is not None else ""
    return parent.until(int(number)) if number else parent


def placed(chain: Chain, depth: int) -> tuple[tuple[Exchange, ...], ...]:
    """The exchanges of every ancestor, the oldest first, under their references.

    `depth` is that of the live session, whose parent is one less; a chain whose oldest files are
    gone does not begin at
    1. A depth that the chain is too long for is not believed.
    """
    depth = max(depth, len(chain.loaded) + 1)
    return tuple(
        tuple(replace(exchange, depth=depth - back) for exchange in loaded.session.exchanges)
        for back, loaded in reversed([*enumerate(chain.loaded, 1)])
    )


def _stamp(path: Path) -> tuple[int, int]:
    """What changes when a file does; nothing of a file that cannot be looked at, which `load` then
    says.
    """
    try:
        status = path.lstat()
    except OSError:
        return -1, -1
    return status.st_size, status.st_mtime_ns
