"""SessionManager begins, reads and seals the transcripts of a folder."""

from __future__ import annotations

import errno
import os
import re
import time
from collections.abc import Callable
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from chat_loop.errors import (
    Locked,
    SaveError,
    SessionError,
    SessionLocked,
    SessionNotFound,
    os_reason,
)
from chat_loop.sessions import ends, legacy, pointers, records
from chat_loop.sessions.edits import append_seal, edit_file
from chat_loop.sessions.files import (
    Files,
    Lock,
    is_locked,
    lock_session,
    read_part,
    take_lock,
)
from chat_loop.sessions.git import git_head
from chat_loop.sessions.images import ImageStore
from chat_loop.sessions.naming import first_words
from chat_loop.sessions.parser import Parsed, parse

if TYPE_CHECKING:
    from chat_loop.sessions.live import LiveSession

SHORT_COMMIT = 12  # digits of a commit that name it in a repository of any size


class LoadedSession(Struct, frozen=True):
    """A session as read from disk."""

    session: records.Session
    path: Path
    damage: tuple[str, ...] = ()  # a sentence for each fault
    is_foreign: bool = False  # it is another program's file
    torn_records: int = 0  # the number of faults that are records cut off by a crash
    is_open: bool = False  # only its writer adds to it: this chat, or another machine
    is_partial: bool = False  # only its beginning and its end were read

    @property
    def is_sealable(self) -> bool:
        """True when the file may be written to: it is ours, not open, and at most torn."""
        return not (self.is_foreign or self.is_open) and len(self.damage) <= self.torn_records

    def check_sealable(self) -> None:
        """Raise SessionError when the file must not be written to."""
        if not self.is_sealable:
            reason = "it is damaged, open or another program’s"
            raise SessionError(f"{self.path.name} stays as it is: {reason}.")


def slug(name: str) -> str:
    """Return an agent's name as the first part of an id."""
    return re.sub(r"[^0-9a-z]+", "_", name.lower()).strip("_")[:40].rstrip("_") or "agent"


class SessionManager:
    """The sessions in one folder. `project` and `mode` go into the headers of new sessions. Without
    `saves` nothing is written: no session, lock, image or note. If several machines share the
    sessions, `is_theirs` returns True for the id of one that another machine writes.
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
        is_theirs: Callable[[str], bool] | None = None,
    ) -> None:
        self.directory = directory
        self.project = project
        self.mode = mode
        self.now = now
        self._monotonic = monotonic
        self.files = files or Files()
        self.saves = saves
        self._is_theirs = is_theirs
        self.images = ImageStore(directory, self.files if saves else None, locks=saves)
        self.pointers = pointers.ProjectPointers(directory, project, self.files if saves else None)

    def begin(
        self,
        *,
        agent: str,
        agent_path: str = "",
        model: str = "",
        endpoint: str = "",
        tools: str = "",
        parent: str = "",
        parent_path: str = "",
        after: records.Session | None = None,
    ) -> LiveSession:
        """Begin a session, named and tagged like `after`. Its first entry creates its file."""
        from chat_loop.sessions.live import LiveSession  # a list begins none

        created = self.now()
        start = f"{slug(agent)}_{created:%Y%m%d_%H%M%S}"
        if self._is_theirs:  # another machine may begin one in the same second
            start += f"-{os.urandom(2).hex()}"
        ids = records.free_ids(start)
        identity = next(ids)
        before = records.Header(id="", created=created, agent=agent, mode=self.mode)
        if after is not None:
            before = after.present_header
        # a child's id is used before its file exists; a parent's file may be gone
        chain = (parent, before.parent)
        while parent and (identity in chain or self.session_file(identity).exists()):
            identity = next(ids)
        header = records.Header(
            id=identity,
            created=created,
            agent=agent,
            agent_path=agent_path,
            model=model,
            endpoint=endpoint,
            tools=tools,
            parent=parent,
            parent_path=parent_path,
            name=before.name,
            title=before.title,
            tags=before.tags,
            project=self.project,
            settings=before.settings,
        )
        if after is not None and not before.title:
            header = replace(header, title=first_words(after))
        if before.mode:  # a chat continued with -p stays a chat; a -p run becomes one
            header = replace(header, mode=self.mode)
        if self.project:
            branch, commit = git_head(Path(self.project))
            header = replace(header, git_branch=branch, git_commit=commit[:SHORT_COMMIT])
        return LiveSession(
            header, self.directory, files=self.files, monotonic=self._monotonic, saves=self.saves
        )

    def session_file(self, identity: str) -> Path:
        """Return the path of a session's file, which need not exist."""
        return self.directory / f"{identity}.md"

    def load(self, path: Path) -> LoadedSession:
        """Read a whole session. Raises SessionError when nothing in the file can be used."""
        try:
            data, _ = read_part(path)
        except FileNotFoundError as error:
            message = f"Session {path.stem} is not in {path.parent}."
            raise SessionNotFound(message, "sessions lists them.") from error
        except OSError as error:
            reason = os_reason(error)
            if error.errno == errno.ELOOP:
                reason = "it is a symbolic link"
            raise SessionError(f"{path} cannot be read: {reason}.") from error
        parsed = parse(data)
        if parsed.session is not None:
            whole = _with_file_id(parsed.session, path)
            torn = parsed.torn_records
            theirs = self._is_theirs and whole.seal is None and self._is_theirs(path.stem)
            return LoadedSession(
                whole, path, parsed.damage, torn_records=torn, is_open=bool(theirs)
            )
        session, damage = legacy.read(data, path)
        if session is None:
            raise SessionError(f"{path} is not a transcript.")
        return LoadedSession(session, path, damage, is_foreign=True)

    def load_ends(self, path: Path, last: int = 1) -> LoadedSession | None:
        """Read the parts of a sealed session that a child needs: its beginning, end and totals, its
        `last` exchanges, and all others that the summary block does not cover. Return None when
        the whole file is needed.
        """
        return _part(ends.read_ends, path, last)

    def load_newest(self, path: Path, length: int) -> LoadedSession | None:
        """Read a long sealed session with only the newest of its queries, those in its last
        `length` bytes. Return None when the whole file is needed.
        """
        return _part(ends.read_newest, path, length)

    def load_from(self, identity: str, number: int) -> LoadedSession:
        """Read a session without its queries before `number`; ALL leaves out each of them. Raises
        SessionError.
        """
        path = self.session_file(identity)
        return _part(ends.read_from, path, number) or self.load(path)

    def load_head(self, path: Path) -> LoadedSession:
        """Read a session without what was said in it. Raises SessionError."""
        return _part(ends.read_from, path, records.ALL) or self.load(path)

    def load_queries(self, path: Path) -> LoadedSession:
        """Read a session without what was said to its queries. Raises SessionError."""
        return _part(ends.read_queries, path) or self.load(path)

    def answering(self, path: Path) -> records.Answering:
        """Return the model that answered last in a session, without reading its words. Raises
        SessionError.
        """
        try:
            return ends.read_answering(path)
        except OSError as error:
            raise SessionError(f"{path} cannot be read: {os_reason(error)}.") from error

    def seal_stored(self, loaded: LoadedSession, seal: records.Seal) -> None:
        """Replace the seal of an ended session. Raises SessionError, also if the seal changed."""

        def add_seal(data: bytes, parsed: Parsed) -> bytes:
            if parsed.session is not None and parsed.session.seal != loaded.session.seal:
                raise SaveError(f"{loaded.path.name} got another summary: that one stays.")
            return append_seal(data, parsed, seal)

        self.edit(loaded, add_seal)

    def edit(self, loaded: LoadedSession, edit: Callable[[bytes, Parsed], bytes]) -> None:
        """Replace the file of a session that has ended. Raises SessionError."""
        loaded.check_sealable()
        if self.saves:
            edit_file(self.files, loaded.path, edit)

    def is_open_elsewhere(self, loaded: LoadedSession) -> bool:
        """Return True while another process has a session open. Nobody knows on a disk without
        locks.
        """
        if loaded.session.seal is not None or loaded.is_foreign:
            return False
        with suppress(OSError):
            return is_locked(loaded.path.parent, loaded.path.stem)
        return False

    def lock_summary(self, identity: str) -> Lock:
        """Take the lock for summarizing an ended session. Raises SessionLocked and OSError."""
        lock_session(self.directory, identity).close()
        try:
            return take_lock(self.directory, f"{identity}.summary")
        except Locked as error:
            raise SessionLocked(
                f"The summary of {identity} is still being made.", "Try again in a moment."
            ) from error


def _part(
    read: Callable[..., records.Session | None], path: Path, *limit: int
) -> LoadedSession | None:
    """Return what `read` finds in a part of a file; None if it finds nothing, or on an OSError."""
    with suppress(OSError):  # `load` reports why
        if session := read(path, *limit):
            return LoadedSession(_with_file_id(session, path), path, is_partial=True)
    return None


def _with_file_id(session: records.Session, path: Path) -> records.Session:
    """Return a session with the name of its file as its id."""
    return replace(session, header=replace(session.header, id=path.stem))
