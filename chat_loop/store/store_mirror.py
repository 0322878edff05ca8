"""A mirror of a folder of sessions on an object store.

What needs the store is imported when it is first used: a start only asks whose a session is.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from chat_loop.errors import Locked, SessionLocked, StoreUnavailable
from chat_loop.sessions.files import Files, take_lock
from chat_loop.sessions.manager import SessionManager
from chat_loop.sessions.mirror import SyncReport, Tell
from chat_loop.sessions.records import IMAGE_FOLDER
from chat_loop.store import state
from chat_loop.values import Finding, plural

if TYPE_CHECKING:
    from chat_loop.store.client import ObjectStore
    from chat_loop.store.syncer import BackgroundSync

LOCK = "sync"
REMOVAL_SECONDS = 30.0  # the wait for another process that synchronizes


class StoreMirror:
    """The sessions of a folder under a URL such as s3://bucket/prefix."""

    def __init__(self, directory: Path, url: str, files: Files | None = None) -> None:
        self._folder = directory
        self._url = url
        self._files = files
        self._background: BackgroundSync | None = None

    def is_theirs(self, identity: str) -> bool:
        """Return True when another machine writes a session."""
        return state.is_theirs(self._folder, self._url, identity)

    def start(self, tell: Tell) -> None:
        """Synchronize in a thread from now on."""
        from chat_loop.store.syncer import BackgroundSync  # a list of sessions needs no thread

        import_module("chat_loop.store.reconcile")  # the thread would load it beside others

        self._background = BackgroundSync(self.sync, tell)
        self._background.start()

    def changed(self) -> None:
        """Upload soon."""
        if self._background is not None:
            self._background.wake()

    @property
    def is_behind(self) -> bool:
        """True when the thread could not upload something."""
        return self._background is not None and self._background.is_behind

    def sync(self, *, both_ways: bool, seconds: float = 0) -> SyncReport:
        """Bring the folder and the store to the same state."""
        with self._locked(seconds):
            return self._reconcile(both_ways=both_ways)

    @contextmanager
    def removal(self, paths: Sequence[Path]) -> Iterator[None]:
        """Remove files from the store, too. Meanwhile nobody else synchronizes, since that could
        upload them again. Raises SessionLocked, too.
        """
        with self._locked(REMOVAL_SECONDS):
            with state.opened(self._folder, self._url) as known:
                for path in paths:
                    if path.parent in (self._folder, self._folder / IMAGE_FOLDER):
                        key = str(path.relative_to(self._folder))
                        known.note(key, state.SyncEntry(removed=True))
            yield
            try:
                self._reconcile(both_ways=False)
            except StoreUnavailable as error:
                hint = "chat-loop sync removes it there as soon as that works."
                raise StoreUnavailable(f"The store still has it: {error.message}", hint) from error

    def check(self) -> Iterator[Finding]:
        """Yield whether the store can be read, and the names in it that hide sessions."""
        try:
            objects, warnings = self._store.list()
        except StoreUnavailable as error:
            yield Finding("problem", "Store", error.message, error.hint)
            return
        yield Finding("ok", "Store", f"{self._url} answers, with {plural(len(objects), 'object')}")
        for text in warnings:
            yield Finding("warning", "Store", text)

    def close(self) -> None:
        """End the thread."""
        if self._background is not None:
            self._background.close()

    @cached_property
    def _store(self) -> ObjectStore:
        from chat_loop.store.client import ObjectStore

        return ObjectStore(self._url)

    @contextmanager
    def _locked(self, seconds: float) -> Iterator[None]:
        """Keep other processes from synchronizing. Raises SessionLocked and OSError."""
        try:
            lock = take_lock(self._folder, LOCK, seconds=seconds)
        except Locked as error:
            text = "Another process synchronizes these sessions."
            raise SessionLocked(text, "Try again in a moment.") from error
        with closing(lock):
            yield

    def _reconcile(self, *, both_ways: bool) -> SyncReport:
        """Remove, upload and download. A step that fails keeps no other one from being tried: a
        store may be read-only, or keep what is deleted. Raises StoreUnavailable and OSError.
        """
        from chat_loop.store.reconcile import Reconciliation

        with state.opened(self._folder, self._url) as known:
            sessions = SessionManager(self._folder, files=self._files)
            run = Reconciliation(sessions, self._store, known)
            steps = [run.remove, run.upload]
            if both_ways:
                steps.append(run.download)
            failure: StoreUnavailable | OSError | None = None
            for step in steps:
                try:
                    step()
                except (StoreUnavailable, OSError) as error:
                    failure = error
            if failure is not None:
                raise failure
            return run.report
