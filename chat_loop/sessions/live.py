"""LiveSession: the one writer of a session while it lives. The file is only appended to.

The order of acts is the contract: a query is on disk before the request leaves, a reply before the
next prompt shows. A refused write costs nothing but time: the records stay in memory and are
written again with the next one.

Other programs may change the file meanwhile. When its size, its time or its inode is not what the
last write left, and always before it is sealed, it is read and compared with the memory. A file
that lacks anything is left as it is, and everything goes into a new file; one that only has more is
gone on with.
"""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Callable, Sequence
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

from msgspec.structs import replace

from chat_loop.errors import SaveError, SessionLocked, os_reason
from chat_loop.sessions import writer
from chat_loop.sessions.edits import TORN, append_seal
from chat_loop.sessions.escape import StreamEncoder
from chat_loop.sessions.files import Files, Lock, read_part, release_lock
from chat_loop.sessions.parser import Parsed, parse
from chat_loop.sessions.records import Entry, Header, Query, QueryEntry, Reply, Seal, Session
from chat_loop.wording import counted

SYNC_SECONDS = 2.0
"""While a reply streams it is synced to disk at most this far apart."""
_COMPARISONS = 3
"""A file that is not what was just written so many times in a row is not sealed."""


class _Stamp(NamedTuple):
    """A file as its last write left it: which one it is, its size in bytes, and when it was
    changed.
    """

    device: int
    inode: int
    size: int
    changed: int

    @classmethod
    def of(cls, status: os.stat_result) -> _Stamp:
        return cls(status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns)


class LiveSession:
    """An open session: its entries in memory and, as far as the disk allows, in its file.

    `take_lock(id)` returns the lock that is held until `close`. No file exists before the first
    entry.
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
        self._held = 0
        """The number of first entries that are not worth a file by themselves."""
        self._headed = False
        self._written = 0
        self._descriptor: int | None = None
        self._lock: Lock | None = None
        self._stamp = _Stamp(0, 0, 0, 0)
        self._doubted = False
        """The file changed between two writes."""
        self._torn = False
        self._distrusted = False
        self._ended = False
        self._generation = 0
        self._synced_at = 0.0
        self._left: list[tuple[Path, str, int]] = []
        """The files that were left for a new one, what is wrong with each, and how many exchanges
        it lacks.
        """

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
        """True when nothing was added or written: there is no file."""
        return len(self._entries) == self._held and not self._headed

    @property
    def saved(self) -> bool:
        """True when every entry is known to be on disk."""
        return not self.empty and self.problem is None

    def hold(self, entry: Entry) -> None:
        """Begin with an entry that is written together with the first one that is added."""
        self._entries.append(entry)
        self._held = len(self._entries)

    def add(self, entry: Entry) -> None:
        """Append a whole entry and sync it. A failure is left in `problem`."""
        self._entries.append(entry)
        self._save()

    def ensure_saved(self) -> None:
        """Raise SaveError unless every entry is on disk."""
        if self.problem is not None:
            raise save_error(self.path, self.problem) from self.problem

    def begin_reply(self, number: int, at: datetime) -> ReplyWriter:
        """Start the reply to query `number` (0: the acknowledgment); it is written as it
        arrives.
        """
        self._synced_at = self._monotonic()
        return ReplyWriter(self, number, at)

    def begin_record(self, opening: str) -> int | None:
        """Write the beginning of a record behind everything else. Return which of the session's
        files it is in, None when it cannot be written.
        """
        try:
            self._flush()
            self._write_all(opening.encode())
        except OSError as error:
            self.problem = error
            return None
        return self._generation

    def continue_record(self, file: int, text: str) -> bool:
        """Append to a record that was begun. Return False when its file was left meanwhile, or the
        text cannot be written.
        """
        if file != self._generation:
            return False
        try:
            self._write_all(text.encode())
            if self._monotonic() - self._synced_at >= SYNC_SECONDS:
                self._sync()
                self._synced_at = self._monotonic()
        except OSError as error:
            self.problem = error
            return False
        return True

    def end_record(self, entry: Entry, file: int | None, end: str | None) -> None:
        """Add an entry whose record was begun in `file`, and write its end; None: not all of it was
        written, and it is written once more. A failure is left in `problem`.
        """
        self._entries.append(entry)
        whole = False
        try:
            if end is not None:
                self._open()
                if file == self._generation:
                    self._write_all(end.encode())
                    self._written += 1
                whole = True
            elif file == self._generation:
                self._torn = True
            self._flush()
        except OSError as error:
            self.problem = error
            # What stands in the file may be a record without its end: the whole one comes next.
            self._torn = self._torn or (file == self._generation and not whole)

    def take_notices(self) -> list[tuple[str, str]]:
        """Return, as sentences with hints, why the words are in another file; each once, when they
        are there.
        """
        if self.problem is not None:
            return []
        left, self._left = self._left, []
        return [self._notice(*one) for one in left]

    def _notice(self, path: Path, fault: str, missing: int) -> tuple[str, str]:
        if path == self.path:
            again = counted(sum(isinstance(entry, Query) for entry in self._entries), "exchange")
            hint = f"chat-loop sessions trash {self.header.id} takes it away once it has ended."
            return f"{path.name} was gone: it was written again, with {again}.", hint
        kept = "everything that was said was kept"
        if missing:
            kept = (
                f"{counted(missing, 'exchange')} that {'is' if missing == 1 else 'are'} "
                "missing from it "
            )
            kept += f"{'was' if missing == 1 else 'were'} kept"
        return (
            f"{path.name} {fault}: {kept} in {self.path}.",
            "The conversation goes on there; the other file stays.",
        )

    def seal(self, seal: Seal) -> None:
        """Write the totals and the summary block; the session ends. Raises SaveError; the entries
        stay as they are.
        """
        if self.empty:
            return
        try:
            for _ in range(_COMPARISONS):
                self._flush()
                if (found := self._compared()) is not None:
                    self._files.replace(self.path, append_seal(*found, seal))
                    self._ended = True
                    return
            raise OSError(errno.EBUSY, "Another program changes it all the time")
        except OSError as error:
            self.problem = error
            raise save_error(self.path, error) from error

    def close(self) -> None:
        """Give back the descriptor and the lock, after a last look at the file of an open
        session.
        """
        if not (self.empty or self._ended):
            self._save()
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None
        self._release()

    def _release(self) -> None:
        lock, self._lock = self._lock, None
        release_lock(lock)

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
            self._write(writer.head(self.header))
            self._headed = True
        while self._written < len(self._entries):
            self._write(writer.entry_text(self._entries[self._written], self.header))
            self._written += 1
        self._sync()
        self.problem = None

    def _sync(self) -> None:
        assert self._descriptor is not None
        try:
            self._files.sync(self._descriptor)
        except OSError:
            # the system may have dropped what it could not write: a second sync proves nothing
            self._distrusted = True
            raise

    def _rewrite(self) -> None:
        """Put a new file, whole and synced, in the place of one whose content is in doubt."""
        if self._descriptor is not None and not self._stands() and self._compared() is None:
            return  # it is not ours any more
        self._files.replace(self.path, writer.render(self.session))
        self._headed, self._written = True, len(self._entries)
        self._distrusted = self._torn = False
        self._reopen()

    def _open(self) -> None:
        """Have a descriptor on a file that holds everything that was written."""
        if self._descriptor is not None and not self._stands():
            self._compared()
        if self._descriptor is None and self._headed:
            self._reopen()
        if self._descriptor is None:
            self._files.make_directory(self._directory)
            self._descriptor = self._create()
            self._stamp = _Stamp.of(os.fstat(self._descriptor))
            try:
                self._files.sync_directory(self._directory)
            except OSError:
                self._distrusted = True  # its name may be lost: a new file is put in its place
                raise

    def _stands(self) -> bool:
        """Return whether the file is as the last write left it, as far as its size and its time
        tell.
        """
        try:
            return not self._doubted and _Stamp.of(self.path.lstat()) == self._stamp
        except FileNotFoundError:
            return False

    def _compared(self) -> tuple[bytes, Parsed] | None:
        """Read the file. When anything that was written is not in it, leave it as it is and return
        None.
        """
        try:
            data, _, status = read_part(self.path)
        except OSError as error:
            self._leave(f"cannot be read ({os_reason(error)})")
            return None
        parsed, written = parse(data), self._entries[: self._written]
        session = parsed.session
        if session is None:
            self._leave("was changed and has no header")
            return None
        if session.header.parent != self.header.parent or not _holds(
            session.entries, written, self.header
        ):
            self._leave("was changed", _missing(session.entries, written))
            return None
        if self._doubted or _Stamp.of(status)[:3] != self._stamp[:3]:
            self._reopen()
            self._torn = parsed.torn
        else:
            self._stamp = _Stamp.of(status)
        return data, parsed

    def _leave(self, fault: str, missing: int = 0) -> None:
        """Leave the file as it is: a new one gets everything."""
        self._left.append((self.path, fault, missing))
        self._let_go()
        self._release()  # its lock file may be gone with it, and another process take the lock
        self._headed, self._written = False, 0
        self._distrusted = False

    def _let_go(self) -> None:
        if self._descriptor is not None:
            os.close(self._descriptor)
        self._descriptor = None
        self._torn = self._doubted = False
        self._generation += 1

    def _reopen(self) -> None:
        """Have a descriptor on the file that stands at `path` now."""
        self._let_go()
        self._descriptor = self._files.append_to(self.path)
        self._stamp = _Stamp.of(os.fstat(self._descriptor))

    def _create(self) -> int:
        """Create the file, under the next free id when this one is taken."""
        base, count = self.header.id, 1
        while True:
            with contextlib.suppress(SessionLocked):
                if self._lock is None:
                    self._lock = self._take_lock(self.header.id)
                with contextlib.suppress(FileExistsError):
                    return self._files.create(self.path)
                self._release()
            count += 1
            suffix = f"_{count}"
            self.header = replace(self.header, id=base[: 64 - len(suffix)] + suffix)

    def _write(self, text: str) -> None:
        if self._torn:
            self._write_all(TORN)
            self._torn = False
        self._write_all(text.encode())

    def _write_all(self, data: bytes) -> None:
        assert self._descriptor is not None
        rest = data
        try:
            while rest:
                rest = rest[self._files.write(self._descriptor, rest) :]
        except OSError:
            self._torn = self._torn or len(rest) < len(data)
            raise
        finally:
            stamp = _Stamp.of(os.fstat(self._descriptor))
            self._doubted = self._doubted or stamp.size != self._stamp.size + len(data) - len(rest)
            self._stamp = stamp


class ReplyWriter:
    """One reply while it streams: its opening at once, its text as it arrives, its end with the
    numbers.
    """

    def __init__(self, live: LiveSession, number: int, at: datetime) -> None:
        self._live = live
        self._number = number
        self._at = at
        self._encoder = StreamEncoder()
        self._text: list[str] = []
        self._labelled = False
        self._file: int | None = None
        """The file in which its record was begun; see `LiveSession.begin_record`."""
        self._broken = False

    @property
    def text(self) -> str:
        return "".join(self._text)

    def feed(self, piece: str) -> None:
        """Take the next piece of the text and write what can be written."""
        self._text.append(piece)
        self._append(self._encoder.feed(piece))

    def finish(self, reply: Reply) -> None:
        """End the reply and sync it. `reply` holds the whole text; a failure is left in the
        session's `problem`.
        """
        self._append(self._encoder.finish(), last=True)
        end = None if self._broken else writer.reply_end(reply)
        self._live.end_record(reply, self._file, end)

    def _append(self, encoded: str, *, last: bool = False) -> None:
        if self._broken or not (encoded or (last and not self._labelled)):
            return
        if not self._labelled:
            encoded = writer.reply_label(self._live.header.agent, encoded) + encoded
            self._labelled = True
        if self._file is None:
            self._file = self._live.begin_record(writer.reply_opening(self._number, self._at))
        self._broken = self._file is None or not self._live.continue_record(self._file, encoded)


def _holds(found: Sequence[Entry], written: Sequence[Entry], header: Header) -> bool:
    """Return whether what was found has everything that was written, in this order; it may have
    more.
    """
    rest = iter(found)
    return all(any(_same(other, entry, header) for other in rest) for entry in written)


def _same(found: Entry, written: Entry, header: Header) -> bool:
    """Return whether an entry is found as it reads when it was written."""
    if found == written:
        return True
    if type(found) is not type(written) or found.at != written.at:
        return False
    again = parse((writer.head(header) + writer.entry_text(written, header)).encode()).session
    return again is not None and again.entries == (found,)


def _missing(found: Sequence[Entry], written: Sequence[Entry]) -> int:
    """Count the exchanges of which anything is missing."""
    there = set(found)
    return len(
        {entry.number for entry in written if isinstance(entry, QueryEntry) and entry not in there}
        - {0}
    )


def save_error(path: Path, error: OSError) -> SaveError:
    """Say what the disk said, and what helps."""
    return SaveError(
        f"Not saved: {path}: {os_reason(error)}.",
        "Free some space or fix the permissions: it is tried again with every message. The "
        "conversation is in memory.",
    )
