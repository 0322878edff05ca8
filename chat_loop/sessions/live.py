"""LiveSession: the one writer of a session while it lives. The file is only appended to.

The order of acts is the contract: a query is on disk before the request leaves, a reply before the next prompt shows. A
refused write costs nothing but time: the records stay in memory and are written again with the next one.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Protocol

from chat_loop.errors import SaveError, SessionLocked
from chat_loop.sessions import transcript
from chat_loop.sessions.entries import Entry, Query, Reply
from chat_loop.sessions.escape import StreamEncoder
from chat_loop.sessions.files import Files, read_part
from chat_loop.sessions.parse import parse
from chat_loop.sessions.records import Header, Seal, Session
from chat_loop.sessions.sealing import TORN, sealed

SYNC_SECONDS = 2.0
"""While a reply streams it is synced to disk at most this far apart."""


class Lock(Protocol):
    """What keeps other processes from writing to a session."""

    def release(self) -> None: ...


class LiveSession:
    """An open session: its entries in memory and, as far as the disk allows, in its file.

    `take_lock(id)` returns the lock that is held until `close`. No file exists before the first entry.
    """

    def __init__(
        self,
        header: Header,
        directory: Path,
        *,
        take_lock: Callable[[str], Lock],
        files: Files,
        monotonic: Callable[[], float],
    ) -> None:
        self.header = header
        self.problem: OSError | None = None
        """Why the file is behind the memory; None while everything is saved."""
        self._directory = directory
        self._take_lock = take_lock
        self._files = files
        self._monotonic = monotonic
        self._entries: list[Entry] = []
        self._headed = False
        self._written = 0
        self._descriptor: int | None = None
        self._lock: Lock | None = None
        self._torn = False
        self._distrusted = False
        self._generation = 0

    @property
    def path(self) -> Path:
        return self._directory / f"{self.header.id}.md"

    @property
    def session(self) -> Session:
        return Session(header=self.header, entries=tuple(self._entries))

    @property
    def next_number(self) -> int:
        return 1 + sum(isinstance(entry, Query) for entry in self._entries)

    @property
    def empty(self) -> bool:
        return not self._entries

    @property
    def saved(self) -> bool:
        """Whether every entry is known to be on disk."""
        return not self.empty and self.problem is None

    def add(self, entry: Entry) -> None:
        """Append a whole entry and sync it. A failure is left in `problem`."""
        self._entries.append(entry)
        self._save()

    def ensure_saved(self) -> None:
        """Raise SaveError unless every entry is on disk."""
        if self.problem is not None:
            raise save_error(self.path, self.problem) from self.problem

    def begin_reply(self, number: int, at: datetime) -> ReplyWriter:
        """Start the reply to query `number` (0: the acknowledgment); it is written as it arrives."""
        return ReplyWriter(self, number, at)

    def seal(self, seal: Seal) -> None:
        """Write the totals and the summary block; the session ends. Raises SaveError; the entries stay as they are."""
        if self.empty:
            return
        try:
            self._flush()
            data, _, _ = read_part(self.path)
            parsed = parse(data)
            if parsed.session is not None:
                self._files.replace(self.path, sealed(data, parsed, seal))
        except OSError as error:
            self.problem = error
            raise save_error(self.path, error) from error

    def close(self) -> None:
        """Give back the descriptor and the lock."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None
        if self._lock is not None:
            self._lock.release()
            self._lock = None

    def _save(self) -> None:
        try:
            self._flush()
        except OSError as error:
            self.problem = error

    def _flush(self) -> None:
        """Write the entries that are not in the file, and sync. Raises OSError."""
        if self._distrusted or (self._torn and not self._headed):
            self._rewrite()
        self._open()
        if not self._headed:
            self._write(transcript.head(self.header))
            self._headed = True
        while self._written < len(self._entries):
            self._write(transcript.entry_text(self._entries[self._written], self.header))
            self._written += 1
        self._sync()
        self.problem = None

    def _sync(self) -> None:
        assert self._descriptor is not None
        try:
            self._files.sync(self._descriptor)
        except OSError:
            self._distrusted = True  # the system may have dropped what it could not write: a second sync proves nothing
            raise

    def _rewrite(self) -> None:
        """Put a new file, whole and synced, in the place of one whose content is in doubt."""
        self._files.replace(self.path, transcript.render(self.session))
        self._headed, self._written = True, len(self._entries)
        self._distrusted = self._torn = False

    def _open(self) -> None:
        """Have a descriptor on the file that stands at `path` now: an editor may have put another in its place."""
        try:
            if self._descriptor is not None:
                if os.path.samestat(os.fstat(self._descriptor), self.path.lstat()):
                    return
                self._let_go()
            if self._headed:
                self._descriptor = self._files.append_to(self.path)
                return
        except FileNotFoundError:
            self._let_go()
            self._headed, self._written = False, 0
        self._files.make_directory(self._directory)
        self._descriptor = self._create()
        self._files.sync_directory(self._directory)

    def _let_go(self) -> None:
        if self._descriptor is not None:
            os.close(self._descriptor)
        self._descriptor = None
        self._torn = False
        self._generation += 1

    def _create(self) -> int:
        """Create the file, under the next free id when this one is taken."""
        base, count = self.header.id, 1
        while True:
            try:
                if self._lock is None:
                    self._lock = self._take_lock(self.header.id)
                return self._files.create(self.path)
            except (FileExistsError, SessionLocked):
                count += 1
                suffix = f"_{count}"
                self.header = replace(self.header, id=base[: 64 - len(suffix)] + suffix)
                if self._lock is not None:
                    self._lock.release()
                    self._lock = None

    def _write(self, text: str) -> None:
        if self._torn:
            self._write_all(TORN)
            self._torn = False
        self._write_all(text.encode())

    def _write_all(self, data: bytes) -> None:
        assert self._descriptor is not None
        rest = data
        while rest:
            try:
                rest = rest[self._files.write(self._descriptor, rest) :]
            except OSError:
                self._torn = self._torn or len(rest) < len(data)
                raise


class ReplyWriter:
    """One reply while it streams: the opening at once, the text as it arrives, the end with its numbers."""

    def __init__(self, live: LiveSession, number: int, at: datetime) -> None:
        self._live = live
        self._number = number
        self._at = at
        self._encoder = StreamEncoder()
        self._text: list[str] = []
        self._labelled = False
        self._begun = False
        self._broken = False
        self._generation = live._generation
        self._synced = live._monotonic()

    @property
    def text(self) -> str:
        return "".join(self._text)

    def feed(self, piece: str) -> None:
        """Take the next piece of the text and write what can be written."""
        self._text.append(piece)
        self._append(self._encoder.feed(piece))

    def finish(self, reply: Reply) -> None:
        """End the reply and sync it. `reply` holds the whole text; a failure is left in the session's `problem`."""
        live = self._live
        self._append(self._encoder.finish())
        if not self._labelled:
            self._append(transcript.reply_label(live.header.agent, ""), label=False)
        live._entries.append(reply)
        ended = False
        try:
            if self._broken:
                live._torn = live._torn or (self._begun and self._generation == live._generation)
                live._flush()
                return
            live._open()
            if self._generation == live._generation:
                live._write_all(transcript.reply_end(reply, transcript.open_fence(reply.text)).encode())
                live._written += 1
            ended = True
            live._flush()
        except OSError as error:
            live.problem = error
            # What stands in the file may be a record without its end; the whole one is written next.
            live._torn = live._torn or (self._begun and not ended and self._generation == live._generation)

    def _append(self, encoded: str, label: bool = True) -> None:
        live = self._live
        if self._broken or (label and not encoded):
            return
        if label and not self._labelled:
            encoded = transcript.reply_label(live.header.agent, encoded) + encoded
        self._labelled = True
        try:
            if not self._begun:
                live._flush()
                self._generation = live._generation
                live._write_all(transcript.reply_opening(self._number, self._at).encode())
                self._begun = True
            assert live._descriptor is not None
            live._write_all(encoded.encode())
            if live._monotonic() - self._synced >= SYNC_SECONDS:
                live._sync()
                self._synced = live._monotonic()
        except OSError as error:
            live.problem = error
            self._broken = True


def save_error(path: Path, error: OSError) -> SaveError:
    """Say what the disk said, and what helps."""
    reason = (error.strerror or str(error)).lower()
    return SaveError(
        f"Not saved: {path}: {reason}.",
        "Free some space or fix the permissions: it is tried again with every message. The conversation is in memory.",
    )
