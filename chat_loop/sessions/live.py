"""LiveSession, the only writer of an open session. A query is on disk before the request is sent,
and a reply before the next prompt. Text that cannot be appended is written in a new file, or else
with the next record. A file that others changed is compared with the session in memory.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import datetime
from hashlib import blake2b
from pathlib import Path

from msgspec.structs import replace

from chat_loop.errors import SaveError, SealError, SessionLocked, os_reason, remedy, save_error
from chat_loop.sessions import records, writer
from chat_loop.sessions.edits import TORN_FENCE, append_seal
from chat_loop.sessions.escape import StreamEncoder
from chat_loop.sessions.files import Files, Lock, lock_session, read_part
from chat_loop.sessions.parser import Parsed, parse

SYNC_SECONDS = 2.0  # while a reply streams, it is synced to disk this often


class LiveSession:
    """An open session: its value and, if it `saves`, its file, unless the disk refuses that."""

    def __init__(
        self,
        header: records.Header,
        directory: Path,
        *,
        files: Files,
        monotonic: Callable[[], float],
        saves: bool = True,
    ) -> None:
        self.session = records.Session(header=header)
        self.problem: OSError | None = None  # why words are missing on disk, whatever the seal
        self._directory = directory
        self._files = files
        self._monotonic = monotonic
        self._saves = saves
        self._held = 0  # the number of deferred first entries
        self._descriptor: int | None = None
        self._lock = Lock(-1)
        self._has_header = False
        self._written = 0  # the number of entries in the file
        self._stamp: tuple[int, ...] | None = None  # the file's state after the last write
        self._digest = blake2b()  # of all bytes that were written to it
        self._torn = False  # the file ends inside a record
        self._opening: records.Reply | None = None  # a reply whose first piece is not in the file
        self._is_shared = False  # another program added to the file
        self._streaming = False  # all pieces of a reply so far are in the file
        self._encoder = StreamEncoder()
        self._pieces: list[str] = []
        self._lossy = False  # the system may have lost data that was written
        self.is_sealed = False  # the file has its seal
        self._unsynced = False
        self._synced_at = 0.0
        self._abandoned: list[tuple[Path, str]] = []  # files that were abandoned, with their faults

    @property
    def header(self) -> records.Header:
        return self.session.header

    @property
    def path(self) -> Path:
        return self._directory / f"{self.header.id}.md" if self._saves else Path(os.devnull)

    @property
    def next_number(self) -> int:
        return self.session.totals.queries + 1

    @property
    def is_empty(self) -> bool:
        """True when nothing was added or written, so that there is no file."""
        return len(self.session.entries) == self._held and not self._has_header

    @property
    def is_saved(self) -> bool:
        """True when every entry is known to be on disk."""
        return self._saves and not self.is_empty and self.problem is None

    def change_header(self, **values: str | tuple[str, ...]) -> None:
        """Change the header before it is written."""
        self.session = replace(self.session, header=replace(self.header, **values))

    def defer(self, entry: records.Entry) -> None:
        """Queue an entry, to be written together with the first one that is added."""
        self.session = self.session.with_entry(entry)
        self._held = len(self.session.entries)

    def change_restoration(self, block: str) -> None:
        """Change the restored block before it is written."""
        entries = list(self.session.entries)
        for at, entry in enumerate(entries):
            if isinstance(entry, records.Restoration):
                entries[at] = replace(entry, block=block)
        self.session = replace(self.session, entries=tuple(entries))

    def add(self, entry: records.Entry) -> None:
        """Append a whole entry and sync it. A failure sets `problem`."""
        self.session = self.session.with_entry(entry)
        with self._noting_problem():
            self._flush()

    def begin_reply(self, number: int, at: datetime) -> None:
        """Begin the reply to query `number` (0: the acknowledgment), before its text is known."""
        self._synced_at = self._monotonic()
        self._opening = None
        if self._saves:
            self._opening = records.Reply(number=number, at=at, text="")
        self._encoder = StreamEncoder()
        self._pieces = []

    @property
    def reply_text(self) -> str:
        """The reply's text so far."""
        return "".join(self._pieces)

    def feed(self, piece: str) -> None:
        """Add the next piece of the reply, and write as much as possible."""
        self._pieces.append(piece)
        if encoded := self._encoder.feed(piece):
            self._write_piece(encoded)

    def finish(self, reply: records.Reply) -> None:
        """End the reply and sync it. A failure sets `problem`."""
        encoded = self._encoder.feed("", last=True)
        if encoded or self._opening:
            self._write_piece(encoded)
        self._pieces = []
        self.session = self.session.with_entry(reply)
        with self._noting_problem():
            if self._streaming:
                self._open()  # may abandon the file with the pieces
            if self._streaming:
                self._write(writer.reply_end(reply, self.header.minor))
                self._written += 1
                self._torn = False
        with self._noting_problem():  # if the end was not written, the whole reply is
            self._flush()
        self._streaming = False

    def _write_piece(self, encoded: str) -> None:
        """Write a piece of the reply, unless one before it failed."""
        reply = self._opening
        streaming = self._streaming
        self._opening = None
        self._streaming = False
        if reply is None and not streaming:
            return
        with self._noting_problem():
            if reply is not None:
                self._flush()
                self._open()  # the file may have been written anew
                opening = writer.reply_opening(reply, self.header.minor, self._last_written())
                text = opening + writer.labeled(writer.label(self.header.agent), encoded)
                self._write(text, begins=True)
                self._torn = True  # until its end is written
            else:
                self._write(encoded)
            if self._monotonic() - self._synced_at >= SYNC_SECONDS:
                self._sync()
                self._synced_at = self._monotonic()
            self._streaming = True

    def take_notices(self) -> list[str]:
        """Return the reason for each move of the session to another file, once, as a sentence."""
        if self.problem is not None:
            return []
        abandoned = self._abandoned
        self._abandoned = []
        return [
            f"{path.name} {fault}: the whole session is in {self.path} now."
            for path, fault in abandoned
        ]

    def seal(self, seal: records.Seal) -> None:
        """End the session by writing its totals and summary block, which takes a new file. Raises
        SaveError if words are missing on disk, and SealError if all of them are there.
        """
        if not self._saves or (self.is_empty and not self.header.parent):
            return
        try:
            data, parsed = self._settle()
        except OSError as error:
            self.problem = error
            raise save_error(self.path, error) from error
        try:
            self._files.replace(self.path, append_seal(data, parsed, seal))
            self.is_sealed = True
        except OSError as error:
            with suppress(OSError):  # if it is sealed already, more words need a new file
                self.is_sealed = not self._is_current()
                self._lossy = self.is_sealed
            message = f"{self.path} has all words, but no summary: {os_reason(error)}."
            raise SealError(message, remedy(error)) from error

    def _settle(self) -> tuple[bytes, Parsed]:
        """Write what is missing in the file, and return the file. Raises OSError."""
        for _ in range(3):
            self._flush()
            if (current := self._compare()) is not None:
                return current
        raise OSError(errno.EBUSY, "Another program changes it all the time")

    def write_to(self, path: Path) -> None:
        """Write the whole session to a new file elsewhere. Raises SaveError."""
        try:
            self._files.write_new(path, writer.render(self.session))
        except OSError as error:
            raise SaveError(f"{path} cannot be written: {os_reason(error)}.") from error

    def close(self) -> None:
        """Release the descriptor and the lock, after a last flush of an open session."""
        is_open = self._lock.descriptor >= 0
        has_rest = is_open or self.problem is not None  # else it was closed before
        if has_rest and not (self.is_empty or self.is_sealed):
            with self._noting_problem():
                self._flush()
        self._close_file()
        self._lock.close()

    @contextmanager
    def _noting_problem(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            self.problem = error

    def _flush(self) -> None:
        """Write the entries that are not in the file, and sync. Raises OSError."""
        if not self._saves:
            return
        if self._lossy or (self._torn and not self._has_header):
            self._rewrite()
        try:
            self._append_rest()
        except OSError:
            if self._is_shared or not self._has_header:
                raise
            # some disks refuse to append, and take new files
            if not self._rewrite():
                self._append_rest()
        self.problem = None

    def _append_rest(self) -> None:
        """Append the entries that are not in the file, and sync. Raises OSError."""
        self._open()
        if not self._has_header:
            self._write(writer.head(self.header))
            self._has_header = True
        for entry in self.session.entries[self._written :]:
            text = writer.entry_text(entry, self.header, self._last_written())
            self._write(text, begins=True)
            self._written += 1
        if self._unsynced:
            self._sync()

    def _last_written(self) -> records.Entry | None:
        """Return the last entry of the file, or None if another program may have added one."""
        if self._is_shared or not self._written:
            return None
        return self.session.entries[self._written - 1]

    def _write(self, text: str, *, begins: bool = False) -> None:
        """Append text, behind a fence if it `begins` a record and the file ends inside another."""
        assert self._descriptor is not None
        data = text.encode()
        if begins and self._torn:
            data = TORN_FENCE + data
        rest = data
        self._unsynced = True
        try:
            while rest:
                rest = rest[self._files.write(self._descriptor, rest) :]
            self._torn = self._torn and not begins
        except OSError:
            self._torn = self._torn or len(rest) < len(data)
            raise
        finally:
            written = len(data) - len(rest)
            self._digest.update(data[:written])
            before = self._stamp
            self._stamp = _stamp(os.fstat(self._descriptor))
            if before is None or self._stamp[2] != before[2] + written:
                self._stamp = None  # somebody else wrote, too

    def _sync(self) -> None:
        assert self._descriptor is not None
        try:
            self._files.sync(self._descriptor)
            self._unsynced = False
        except OSError:
            # the system may have dropped what it could not write: a second sync proves nothing
            self._lossy = True
            raise

    def _rewrite(self) -> bool:
        """Replace the file with a new, synced one that has every entry. Return False, and change
        nothing, if the file is no longer ours. Raises OSError.
        """
        if not self._is_current() and self._compare() is None:
            return False
        data = writer.render(self.session)
        self._files.replace(self.path, data)
        self._digest = blake2b(data)
        self._has_header = True
        self._written = len(self.session.entries)
        self._lossy = self._is_shared = self.is_sealed = False
        self._close_file()
        self._stamp = _stamp(self.path.lstat())
        return True

    def _open(self) -> None:
        """Ensure that the descriptor is that of a file with all entries counted as written."""
        is_begun = self._descriptor is not None or self._has_header
        if is_begun and not self._is_current():
            self._compare()
        if self._descriptor is None and self._has_header:
            self._reopen()
        if self._descriptor is None:
            self._files.make_directory(self._directory)
            self._descriptor = self._create()
            self._digest = blake2b()
            self._stamp = _stamp(os.fstat(self._descriptor))
            try:
                self._files.sync_directory(self._directory)
            except OSError:
                self._lossy = True  # its name may be lost: a new file will replace it
                raise

    def _is_current(self) -> bool:
        """Return True when the file's status is the same as after the last write."""
        try:
            return _stamp(self.path.lstat()) == self._stamp
        except FileNotFoundError:
            return False

    def _compare(self) -> tuple[bytes, Parsed] | None:
        """Read the file. Return None if it lacks entries: a new file then gets all of them."""
        session = None
        fault = "was changed"
        try:
            data, status = read_part(self.path)
            if _stamp(status) == self._stamp and self._is_as_written(data):
                return data, Parsed(self.session)
            parsed = parse(data)
            session = parsed.session
            if parsed.torn and not self._torn:  # the last record may lack its end
                session = parse(data + TORN_FENCE).session
        except FileNotFoundError:
            fault = "was deleted"
        except OSError:
            session = None
        if session is None or not self._is_in(session):
            self._abandoned.append((self.path, fault))
            self._close_file()
            self._lock.close()  # its file may be gone, too, and another process may take the lock
            self._has_header = False
            self._written = 0
            self._lossy = self._is_shared = False
            return None
        if self._stamp is None or _stamp(status)[:3] != self._stamp[:3]:
            self._reopen()
            self._torn = parsed.torn
            self._is_shared = True
        else:
            self._stamp = _stamp(status)
        return data, parsed

    def _is_in(self, session: records.Session) -> bool:
        """Return True if a session, as read, has all entries that were written here."""
        rest = iter(session.entries)  # it may have more, also in between
        is_ours = session.header.parent == self.header.parent
        return is_ours and all(entry in rest for entry in self.session.entries[: self._written])

    def _is_as_written(self, data: bytes) -> bool:
        """Return True if the file has the bytes that were written here, and no other records."""
        if self._is_shared or self._torn:
            return False
        return blake2b(data).digest() == self._digest.digest()

    def _close_file(self) -> None:
        if self._descriptor is not None:
            os.close(self._descriptor)
        self._descriptor = self._stamp = None
        self._torn = self._streaming = False

    def _reopen(self) -> None:
        """Open the file that is at `path` now."""
        self._close_file()
        self._descriptor = self._files.append_to(self.path)
        self._unsynced = True
        self._stamp = _stamp(os.fstat(self._descriptor))

    def _create(self) -> int:
        """Create the file, under the next free id if this one is taken."""
        ids = records.free_ids(self.header.id)
        while True:
            self.change_header(id=next(ids))
            with suppress(SessionLocked):
                if self._lock.descriptor < 0:
                    self._lock = lock_session(self._directory, self.header.id)
                with suppress(FileExistsError):
                    return self._files.create(self.path)
                self._lock.close()


def _stamp(status: os.stat_result) -> tuple[int, ...]:
    """Return a file's device, inode, size in bytes, and time of change in nanoseconds."""
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns
