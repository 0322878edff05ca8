"""The chain of a session: its ancestors as their files tell them, nearest first."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from chat_loop.errors import SessionError
from chat_loop.sessions.entries import OF_QUERY, Restoration
from chat_loop.sessions.manager import Loaded, SessionManager
from chat_loop.sessions.records import ID_PATTERN, Exchange, Session


@dataclass(frozen=True, slots=True)
class Chain:
    """The ancestors of a session, its parent first. `broken` says in a sentence why there are no more; empty: all."""

    loaded: tuple[Loaded, ...] = ()
    broken: str = ""


class ChainReader:
    """Reads chains of at most `longest` ancestors, keeps the last, and reads only files that changed."""

    def __init__(self, sessions: SessionManager, longest: int = 10_000) -> None:
        self._sessions = sessions
        self._longest = longest
        self._kept: dict[Path, tuple[tuple[int, int], Loaded]] = {}

    def read(self, session: Session) -> Chain:
        """Follow the parents of `session` as far as it goes. Nothing outside the sessions folder is looked at.

        Of a session that was forked from, what was said after the fork is left out. Of two that were merged, the second
        one's own sessions come nearer than the first one's.
        """
        kept: dict[Path, tuple[tuple[int, int], Loaded]] = {}
        walk = _Walk(self._longest, lambda path: kept.setdefault(path, self._load(path))[1], self._sessions.directory)
        loaded = walk.up(session, {session.header.id})
        self._kept = kept
        return Chain(tuple(loaded), walk.broken)

    def _load(self, path: Path) -> tuple[tuple[int, int], Loaded]:
        stamp = _stamp(path)
        known = self._kept.get(path)
        if known is not None and known[0] == stamp:
            return known
        return stamp, self._sessions.load(path)


@dataclass(slots=True)
class _Walk:
    """One reading of a chain. `broken` is why it ended before its beginning."""

    longest: int
    load: Callable[[Path], Loaded]
    directory: Path
    broken: str = ""
    count: int = 0

    def up(self, session: Session, seen: set[str]) -> list[Loaded]:
        """The ancestors of a session, nearest first."""
        found: list[Loaded] = []
        while True:
            given = session.restoration
            parent = session.header.parent
            if given is not None and given.merged:
                first = self.up(replace(session, entries=()), seen)
                return [*found, *self._second(given.merged, seen), *first]
            if not parent or not self._may_follow(parent, seen):
                return found
            loaded = self._next(parent)
            if loaded is None:
                return found
            seen.add(parent)
            found.append(_forked(loaded, given))
            session = loaded.session

    def _second(self, identity: str, seen: set[str]) -> list[Loaded]:
        """The second parent of a merge and its ancestors, up to those that both have in common."""
        if identity in seen or not self._may_follow(identity, seen):
            return []
        loaded = self._next(identity)
        if loaded is None:
            return []
        seen.add(identity)
        common = self.broken
        found = [loaded, *self.up(loaded.session, seen)]
        self.broken = common if "begin again" in self.broken else self.broken
        return found

    def _may_follow(self, parent: str, seen: set[str]) -> bool:
        if not ID_PATTERN.fullmatch(parent):
            self.broken = "The chain ends at a parent whose id is none."
        elif parent in seen:
            self.broken = f"The chain ends at {parent}: it would begin again there."
        elif self.count == self.longest:
            self.broken = f"The chain is longer than {self.longest:,} sessions; what is older is left out."
        else:
            return True
        return False

    def _next(self, parent: str) -> Loaded | None:
        self.count += 1
        try:
            return self.load(self.directory / f"{parent}.md")
        except SessionError as error:
            self.broken = f"The chain ends before {parent}: {error.message}"
            return None


def _forked(loaded: Loaded, given: Restoration | None) -> Loaded:
    """A parent as its child knows it: a fork leaves out what was said after it."""
    _, _, number = given.until.partition(".") if given is not None else ("", "", "")
    if not number:
        return loaded
    entries = tuple(
        entry for entry in loaded.session.entries if not isinstance(entry, OF_QUERY) or entry.number <= int(number)
    )
    return replace(loaded, session=replace(loaded.session, entries=entries))


def placed(chain: Chain, depth: int) -> tuple[tuple[Exchange, ...], ...]:
    """The exchanges of every ancestor, the oldest first, under their references.

    `depth` is that of the live session, whose parent is one less; a chain whose oldest files are gone does not begin at
    1. A depth that the chain is too long for is not believed.
    """
    depth = max(depth, len(chain.loaded) + 1)
    return tuple(
        tuple(replace(exchange, depth=depth - back) for exchange in loaded.session.exchanges)
        for back, loaded in reversed([*enumerate(chain.loaded, 1)])
    )


def _stamp(path: Path) -> tuple[int, int]:
    """What changes when a file does; nothing of a file that cannot be looked at, which `load` then says."""
    try:
        status = path.lstat()
    except OSError:
        return -1, -1
    return status.st_size, status.st_mtime_ns
