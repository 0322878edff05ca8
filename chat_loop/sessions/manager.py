"""SessionManager, which writes the transcripts of a folder: it begins, finds, reads, seals, names
and tags them. A session that it begins is a `LiveSession`, which appends to its file.
"""

from __future__ import annotations

import errno
import os
import re
import time
from collections.abc import Callable, Sequence
from contextlib import nullcontext, suppress
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from chat_loop.errors import SaveError, SessionError, SessionLocked, SessionNotFound, os_reason
from chat_loop.sessions import legacy, marker, partial, records
from chat_loop.sessions.escape import encode_line
from chat_loop.sessions.files import Files, locked, read_part
from chat_loop.sessions.live import TORN, LiveSession, append_seal, save_error
from chat_loop.sessions.naming import first_words, validate_name, validate_tag
from chat_loop.sessions.parser import BOM, Parsed, parse
from chat_loop.sessions.writer import entry_text, render

if TYPE_CHECKING:
    from chat_loop.sessions.images import ImageStore

_CURRENT = ".current"


class Loaded(Struct, frozen=True):
    """A session as read from disk."""

    session: records.Session
    path: Path
    damage: tuple[str, ...] = ()  # a sentence for each fault
    plain: bool = False  # it is another program's file
    tears: int = 0  # the number of faults that are records which a crash broke off
    open: bool = False  # it is the session that goes on here: only its writer adds to it
    ends: bool = False  # only its beginning and its end were read

    @property
    def sealable(self) -> bool:
        """True when the file may be written to: it is ours, not open here, and only torn."""
        return not (self.plain or self.open) and len(self.damage) <= self.tears


def slug(name: str) -> str:
    """Return an agent's name as the first part of an id."""
    return re.sub(r"[^0-9a-z]+", "_", name.lower()).strip("_")[:40].rstrip("_") or "agent"


class SessionManager:
    """The sessions in one folder. `now`, `monotonic` and `files` are the world; `project` and
    `mode` stand in the headers of new sessions. Without `saves` nothing is written: no session,
    lock, image or note.
    """

    def __init__(
        self,
        directory: Path,
        *,
        now: Callable[[], datetime] = lambda: datetime.now().astimezone().replace(microsecond=0),
        monotonic: Callable[[], float] = time.monotonic,
        files: Files | None = None,
        project: str = "",
        mode: str = "",
        saves: bool = True,
    ) -> None:
        self.directory = directory
        self.project = project
        self.mode = mode
        self.now = now
        self._monotonic = monotonic
        self._files = files or Files()
        self._saves = saves

    @cached_property
    def images(self) -> ImageStore:
        from chat_loop.sessions.images import ImageStore  # not before there is one

        return ImageStore(self.directory, self._files if self._saves else None)

    def begin(
        self,
        *,
        agent: str,
        agent_path: str = "",
        model: str = "",
        parent: str = "",
        parent_path: str = "",
        after: records.Session | None = None,
    ) -> LiveSession:
        """Make a session, called and tagged as the one that it comes `after`. Its file is created
        with its first entry; a taken id gets a number then.
        """
        created = self.now()
        identity = base = f"{slug(agent)}_{created:%Y%m%d_%H%M%S}"
        number = 1
        # the id of a child is used before it has a file
        while parent and self.session_file(identity).exists():
            number += 1
            identity = f"{base}_{number}"
        header = records.Header(
            id=identity,
            created=created,
            agent=agent,
            agent_path=agent_path,
            model=model,
            parent=parent,
            parent_path=parent_path,
            name=after.name if after else "",
            title=(after.header.title or first_words(after)) if after else "",
            tags=after.tags if after else (),
            project=self.project,
            # A chat that goes on with -p stays a chat, and one that began with -p becomes one.
            mode=self.mode if after is None or after.header.mode else "",
        )
        return LiveSession(
            header,
            self.directory,
            files=self._files,
            monotonic=self._monotonic,
            saves=self._saves,
        )

    def rows(self, limit: int | None = None) -> list[records.SessionRow]:
        """Return the sessions, last used first. Raises SessionError."""
        try:
            return partial.rows(self.directory)[:limit]
        except OSError as error:
            message = f"The sessions folder {self.directory} cannot be read: {os_reason(error)}."
            raise SessionError(message) from error

    def find(self, reference: str, shown: Sequence[str]) -> Path:
        """Return the file of a session given by its number in the listing `shown` (ids), its id, or
        the id's unique beginning. Raises SessionNotFound.
        """
        hint = "sessions shows them."
        if reference.isascii() and reference.isdigit():
            number = int(reference[:10])
            if 1 <= number <= len(shown):
                return self.session_file(shown[number - 1])
            there = f"the numbers go from 1 to {len(shown)}"
            if not shown and partial.newest_first(self.directory):
                there = "the list is empty; --all lists runs of -p and failed ones"
            elif not shown:
                there = "there are no sessions yet"
            raise SessionNotFound(f"There is no session {reference[:20]}: {there}.", hint)
        if not records.ID_PATTERN.fullmatch(reference):
            message = "That is not a session id: ids are letters, digits, _ and -."
            raise SessionNotFound(message, "sessions shows numbers and ids.")
        ids = [stamp.id for stamp in partial.newest_first(self.directory)]
        matching = [identity for identity in ids if identity.startswith(reference)]
        if reference in ids:
            return self.session_file(reference)
        if len(matching) == 1:
            return self.session_file(matching[0])
        if matching:
            message = f"{len(matching)} sessions begin with {reference}."
            error = SessionNotFound(message, "Type more of the id.")
            error.several = True
            raise error
        there = f"there are {len(ids):,}" if ids else "there are no sessions yet"
        raise SessionNotFound(f"There is no session {reference}: {there}.", hint)

    def session_file(self, identity: str) -> Path:
        """Return the file of a session, whether or not it is there."""
        return self.directory / f"{identity}.md"

    def load(self, path: Path) -> Loaded:
        """Read a session whole. Raises SessionError when nothing in the file can be used."""
        try:
            data, _ = read_part(path)
        except FileNotFoundError as error:
            message = f"Session {path.stem} is not in {path.parent}."
            raise SessionNotFound(message, "sessions shows what is.") from error
        except OSError as error:
            reason = "it is a symbolic link" if error.errno == errno.ELOOP else os_reason(error)
            raise SessionError(f"{path} cannot be read: {reason}.") from error
        parsed = parse(data)
        if parsed.session is not None:
            return Loaded(_named(parsed.session, path), path, parsed.damage, tears=parsed.tears)
        session, damage = legacy.read(data, path)
        if session is None:
            what = "is empty" if not data.strip(b"\x00 \r\n\t") else "is not a transcript"
            raise SessionError(f"{path} {what}.")
        return Loaded(session, path, damage, plain=True)

    def load_ends(self, path: Path, last: int = 1) -> Loaded | None:
        """Read what a child needs of a sealed session: its beginning, its `last` exchanges and all
        that the summary block does not cover, its end and its totals. None: the whole file is
        needed.
        """
        try:
            found = partial.read_ends(path, last)
        except OSError:
            return None  # `load` says it
        return Loaded(_named(found, path), path, ends=True) if found is not None else None

    def seal_later(self, loaded: Loaded, seal: records.Seal) -> None:
        """Seal a session that ended without a summary. Raises SaveError, SessionLocked."""
        self._change(loaded.path, lambda data, parsed: append_seal(data, parsed, seal))

    def describe(
        self, loaded: Loaded, *, name: str | None = None, tags: Sequence[str] | None = None
    ) -> None:
        """Name or tag a stored session; None leaves it as it is. Raises UsageError for what is no
        name or tag, SessionError when the file is not to be written to, SaveError, SessionLocked.
        """
        called = None if name is None else validate_name(name)
        tagged = None if tags is None else tuple(dict.fromkeys(map(validate_tag, tags)))
        if loaded.open:
            message = f"{loaded.path.stem} is the session you are in."
            raise SessionError(message, "/rename, /tag and /untag change it.")
        if not loaded.sealable:
            kind, hint = "damaged", "What can be read of it can be resumed."
            if loaded.plain:
                kind, hint = "another program’s file", "sessions import makes a session of it."
            raise SessionError(f"{loaded.path.name} is {kind}: it stays as it is.", hint)
        now = self.now()
        self._change(
            loaded.path, lambda data, parsed: update_metadata(data, parsed, now, called, tagged)
        )

    def _change(self, path: Path, change: Callable[[bytes, Parsed], bytes]) -> None:
        """Replace the file of a session that has ended."""
        if not self._saves:
            return
        try:
            with locked(path.parent, path.stem):
                data, _ = read_part(path)
                parsed = parse(data)
                if parsed.session is None:
                    raise SaveError(f"{path} changed and has no header any more.")
                self._files.replace(path, change(data, parsed))
        except OSError as error:
            raise save_error(path, error) from error

    def insert(self, session: records.Session, changed: float) -> bool | None:
        """Write a whole session from elsewhere as a new file that was last changed then. Return
        False when it is there already, and None when another session has its id.

        A crash leaves the file whole, or empty. Raises OSError.
        """
        path = self.session_file(session.header.id)
        self._files.make_directory(self.directory)
        try:
            os.close(self._files.create(path))
        except FileExistsError:
            with suppress(SessionError):
                return False if self.load(path).session == session else None
            return None
        try:
            self._files.replace(path, render(session))  # in the place of the empty file
            os.utime(path, (changed, changed))
        except OSError:
            path.unlink(missing_ok=True)
            raise
        return True

    def remove_leftovers(self) -> None:
        """Remove temporary copies that killed processes left; those of open sessions stay."""
        for path in self.directory.glob(".*.tmp") if self._saves else ():
            identity, _, rest = path.name[1:].partition(".md.")
            if not rest and not path.name.startswith(f".{_CURRENT}."):
                continue
            # A name of no session, as that of the note, needs no lock.
            free = nullcontext() if not records.ID_PATTERN.fullmatch(identity) else None
            with suppress(OSError, SessionLocked), free or locked(self.directory, identity):
                path.unlink()

    def point_to(self, identity: str) -> None:
        """Note the current session, and the last one to offer: this one may come to nothing."""
        ids = dict.fromkeys(filter(None, (identity, self.last_offered()[0])))
        if self._saves:
            with suppress(OSError):  # a convenience, not worth a word
                note = "".join(f"{one}\n" for one in ids)
                self._files.replace(self.directory / _CURRENT, note.encode())

    def current(self) -> str:
        """Return the id of the session that was used last, or an empty string."""
        return next(iter(self._pointed()), "")

    def last_offered(self) -> tuple[str, records.SessionRow | None]:
        """Return the last session that a start may offer: no run of `-p`, none without a reply."""
        for identity in self._pointed():
            row = partial.row(self.session_file(identity), quick=True)
            ours = row.state in ("sealed", "unsealed") and not row.mode
            if ours and (row.answered or row.parent):
                return identity, row
        return "", None

    def _pointed(self) -> list[str]:
        try:
            data, _ = read_part(self.directory / _CURRENT, 200)
        except OSError:
            return []
        return list(filter(records.ID_PATTERN.fullmatch, data.decode("ascii", "replace").split()))


def _named(session: records.Session, path: Path) -> records.Session:
    """Return a session under its file's name, by which listings and children know it."""
    return replace(session, header=replace(session.header, id=path.stem))


def update_metadata(
    data: bytes, parsed: Parsed, at: datetime, name: str | None, tags: Sequence[str] | None
) -> bytes:
    """Return `data` with another name or other tags, in its header or as records."""
    session, data = parsed.session, data.removeprefix(BOM)
    assert session is not None
    if session.seal is None:
        notes: list[records.Note] = [] if name is None else [records.Name(at=at, text=name)]
        if tags is not None:
            notes += [records.Tag(at=at, text=tag) for tag in tags if tag not in session.tags]
            notes += [records.Untag(at=at, text=tag) for tag in session.tags if tag not in tags]
        texts = "".join(entry_text(one, session.header) for one in notes)
        return data + (TORN if parsed.torn else b"") + texts.encode()
    head, end, rest = data.partition(b"\n" + marker.PREFIX + b"end")
    gap = "\n\n" if session.header.minor else "\n"
    for field, value, following in (
        ("Name", None if name is None else encode_line(name), "Title|Tags|Total Queries"),
        ("Tags", None if tags is None else ", ".join(tags), "Total Queries"),
    ):
        if value is not None:
            head = re.sub(rf"\n+\*\*{field}:\*\*[^\n]*".encode(), b"", head)
            found = re.search(rf"\n+\*\*({following}):\*\*".encode(), head)
            start = found.start() if found else len(head)
            line = f"{gap}**{field}:** {value}".encode() if value else b""
            head = head[:start] + line + head[start:]
    return head + end + rest
