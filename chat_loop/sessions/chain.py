"""The chain of a session: its ancestors as their files tell them, nearest first."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from chat_loop.errors import SessionError
from chat_loop.sessions.manager import Loaded, SessionManager
from chat_loop.sessions.records import ID_PATTERN, Exchange, Header


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

    def read(self, header: Header) -> Chain:
        """Follow the parents of `header` as far as it goes. Nothing outside the sessions folder is looked at."""
        kept: dict[Path, tuple[tuple[int, int], Loaded]] = {}
        seen = {header.id}
        parent, broken = header.parent, ""
        while parent and not broken:
            if not ID_PATTERN.fullmatch(parent):
                broken = "The chain ends at a parent whose id is none."
            elif parent in seen:
                broken = f"The chain ends at {parent}: it would begin again there."
            elif len(kept) == self._longest:
                broken = f"The chain is longer than {self._longest:,} sessions; what is older is left out."
            else:
                seen.add(parent)
                path = self._sessions.directory / f"{parent}.md"
                try:
                    kept[path] = self._load(path)
                    parent = kept[path][1].session.header.parent
                except SessionError as error:
                    broken = f"The chain ends before {parent}: {error.message}"
        self._kept = kept
        return Chain(tuple(loaded for _, loaded in kept.values()), broken)

    def _load(self, path: Path) -> tuple[tuple[int, int], Loaded]:
        stamp = _stamp(path)
        known = self._kept.get(path)
        if known is not None and known[0] == stamp:
            return known
        return stamp, self._sessions.load(path)


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
