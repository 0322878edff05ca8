"""What the program asks of a mirror: a copy of a folder of sessions that several machines share.

`store/` has the only one, on an object store. It is imported when the config names a store.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Protocol

from msgspec import Struct, field

from chat_loop.values import Finding

Tell = Callable[[str, str], None]
"""Gets a sentence for the user and its hint, in any thread."""


class SyncReport(Struct):
    """The result of a synchronization: the numbers of uploads and downloads, sentences for the
    user, and the ids that are not uploaded yet although the mirror can be reached.
    """

    sent: int = 0
    received: int = 0
    sentences: list[str] = field(default_factory=list)
    waiting: set[str] = field(default_factory=set)


class Mirror(Protocol):
    """A copy of a folder of sessions."""

    def is_theirs(self, identity: str) -> bool:
        """Return True when another machine writes a session. Reads one row."""

    def start(self, tell: Tell) -> None:
        """Download what is new in the mirror, and from now on upload each change, in a thread."""

    def changed(self) -> None:
        """Upload soon, since a session has changed; return at once."""

    @property
    def is_behind(self) -> bool:
        """True when the thread could not upload something."""

    def sync(self, *, both_ways: bool, seconds: float = 0) -> SyncReport:
        """Upload what changed here and, if `both_ways`, download what changed in the mirror. Wait
        up to `seconds` for another process that does. Raises SessionLocked, StoreUnavailable and
        OSError.
        """

    def removal(self, paths: Sequence[Path]) -> AbstractContextManager[None]:
        """Return a context in which files are removed here. They are marked before, and deleted
        from the mirror after it, or at the next synchronization. Raises StoreUnavailable.
        """

    def check(self) -> Iterator[Finding]:
        """Yield what is right and wrong with the mirror, and change nothing."""

    def close(self) -> None:
        """End the thread, after a moment for the current upload."""
