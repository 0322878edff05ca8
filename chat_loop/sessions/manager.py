"""SessionManager begins, reads, seals and trashes the transcripts of a folder."""

from __future__ import annotations

import errno
import os
import re
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, closing, suppress
from datetime import datetime
from itertools import islice
from pathlib import Path

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
from chat_loop.sessions import ends, legacy, marker, pointers, records, rows
from chat_loop.sessions.escape import encode_line
from chat_loop.sessions.files import (
    TRASH,
    Files,
    Lock,
    is_locked,
    lock_session,
    open_folder,
    read_part,
    take_lock,
)
from chat_loop.sessions.git import git_head
from chat_loop.sessions.images import ImageStore
from chat_loop.sessions.live import (
    LiveSession,
    append_seal,
    change_content,
    change_metadata,
    save_error,
)
from chat_loop.sessions.naming import first_words, validate_name, validate_tag
from chat_loop.sessions.parser import Parsed, parse
from chat_loop.sessions.writer import render

SETTLED_SECONDS = 5  # a file that changed later than that may not be whole yet
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
        self._files = files or Files()
        self.saves = saves
        self._is_theirs = is_theirs
        self.images = ImageStore(directory, self._files if saves else None, locks=saves)
        self.pointers = pointers.ProjectPointers(directory, project, self._files if saves else None)

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
        created = self.now()
        # another machine may begin one in the same second
        end = f"-{os.urandom(2).hex()}" if self._is_theirs else ""
        ids = records.free_ids(f"{slug(agent)}_{created:%Y%m%d_%H%M%S}{end}")
        identity = next(ids)
        # a parent's file may be gone, but the chain still names it
        chain = (parent, after.header.parent if after else "")
        # a child's id is used before its file exists
        while parent and (identity in chain or self.session_file(identity).exists()):
            identity = next(ids)
        branch, commit = git_head(Path(self.project)) if self.project else ("", "")
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
            name=after.name if after else "",
            title=(after.header.title or first_words(after)) if after else "",
            tags=after.tags if after else (),
            project=self.project,
            git_branch=branch,
            git_commit=commit[:SHORT_COMMIT],
            settings=after.present_header.settings if after else "",
            # A chat continued with -p stays a chat, and a -p run continued in a chat becomes one.
            mode=self.mode if after is None or after.header.mode else "",
        )
        return LiveSession(
            header, self.directory, files=self._files, monotonic=self._monotonic, saves=self.saves
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
            reason = "it is a symbolic link" if error.errno == errno.ELOOP else os_reason(error)
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
        with suppress(OSError):  # `load` reports why
            if session := ends.read_ends(path, last):
                return LoadedSession(_with_file_id(session, path), path, is_partial=True)
        return None

    def load_from(self, path: Path, number: int) -> LoadedSession:
        """Read a session without its queries before `number`; ALL leaves out each of them. Raises
        SessionError.
        """
        with suppress(OSError):  # `load` reports why
            if session := ends.read_from(path, number):
                return LoadedSession(_with_file_id(session, path), path, is_partial=True)
        return self.load(path)

    def load_head(self, path: Path) -> LoadedSession:
        """Read a session without what was said in it. Raises SessionError."""
        return self.load_from(path, records.ALL)

    def load_queries(self, path: Path) -> LoadedSession:
        """Read a session without what was said to its queries. Raises SessionError."""
        with suppress(OSError):  # `load` reports why
            if session := ends.read_queries(path):
                return LoadedSession(_with_file_id(session, path), path, is_partial=True)
        return self.load(path)

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

        def change(data: bytes, parsed: Parsed) -> bytes:
            if parsed.session is not None and parsed.session.seal != loaded.session.seal:
                raise SaveError(f"{loaded.path.name} got another summary: that one stays.")
            return append_seal(data, parsed, seal)

        self._change(loaded, change)

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

    def describe(
        self, loaded: LoadedSession, *, name: str | None = None, tags: Sequence[str] | None = None
    ) -> None:
        """Name or tag a stored session; None changes nothing. Raises UsageError, SessionError."""
        name = None if name is None else validate_name(name)
        tags = None if tags is None else tuple(dict.fromkeys(map(validate_tag, tags)))
        now = self.now()
        self._change(loaded, lambda data, parsed: change_metadata(data, parsed, now, name, tags))

    def _change(self, loaded: LoadedSession, change: Callable[[bytes, Parsed], bytes]) -> None:
        """Replace the file of a session that has ended."""
        loaded.check_sealable()
        path = loaded.path
        if not self.saves:
            return
        try:
            with closing(lock_session(path.parent, path.stem)):
                data, _ = read_part(path)
                parsed = parse(data)
                if parsed.session is None:
                    raise SaveError(f"{path} changed and has no header any more.")
                self._files.replace(path, change(data, parsed))
        except OSError as error:
            raise save_error(path, error) from error

    def insert(self, session: records.Session, changed: float) -> bool | None:
        """Write a whole session from elsewhere as a new file with the time `changed`. Return False
        when it is there already, and None when another session has its id. Raises OSError.
        """
        path = self.session_file(session.header.id)
        self._files.make_directory(self.directory)
        if os.path.lexists(path):
            with suppress(SessionError):
                return False if self.load(path).session == session else None
            return None
        self._files.replace(path, render(session))
        os.utime(path, (changed, changed), follow_symlinks=False)
        return True

    def erase(self, changes: Mapping[Path, bytes | None]) -> None:
        """Replace files, or delete those with None, one after the other. Raises SaveError."""
        for path, data in changes.items():
            try:
                if data is None:
                    self._files.remove(path)
                    self._files.sync_directory(path.parent)
                else:
                    self._files.replace(path, data)
            except OSError as error:
                hint = "Run the command again: it goes on where it stopped."
                raise SaveError(f"{path} stays as it is: {os_reason(error)}.", hint) from error

    def move_to_trash(self, path: Path) -> str:
        """Move a file to the trash; return a sentence that says so. Raises SessionError."""
        try:
            with closing(lock_session(path.parent, path.stem)):
                gone = self._free_in_trash(path.stem)
                self._files.move(path, gone)
        except FileNotFoundError as error:
            raise SessionNotFound(f"Session {path.stem} is gone.") from error
        except OSError as error:
            raise SaveError(f"{path} cannot be moved: {os_reason(error)}.") from error
        restore = f"chat-loop sessions restore {gone.stem} restores it"
        return f"{path.stem} is in the trash; {restore}."

    def _free_in_trash(self, identity: str) -> Path:
        """Return a free path in the trash, and create that folder. Raises OSError."""
        folder = self.directory / TRASH
        self._files.make_directory(folder)
        targets = (folder / f"{name}.md" for name in records.free_ids(identity))
        return next(file for file in targets if not os.path.lexists(file))

    def restore(self, identity: str) -> Path:
        """Move a session out of the trash. Raises SessionNotFound and SaveError."""
        source = self.directory / TRASH / f"{identity}.md"
        target = self.session_file(identity)
        is_id = records.ID_PATTERN.fullmatch(identity)
        if not (is_id and (source.is_file() or source.is_symlink())):
            message = f"No session named {identity[:80]} in the trash."
            raise SessionNotFound(message, "chat-loop sessions trash lists what is.")
        if os.path.lexists(target):
            raise SaveError(f"Session {identity} exists already.", "Rename one of the files.")
        try:
            self._files.move(source, target)
        except OSError as error:
            raise SaveError(f"{source} cannot be moved: {os_reason(error)}.") from error
        return target

    def trash(self) -> list[records.SessionRow]:
        """Return the sessions in the trash, most recently used first. Raises SessionError."""
        folder = self.directory / TRASH
        try:
            with suppress(FileNotFoundError):
                os.close(open_folder(folder))
            return rows.read_rows(folder)
        except OSError as error:
            raise SessionError(f"The trash {folder} cannot be read: {os_reason(error)}.") from error

    def remove_leftovers(self) -> None:
        """Remove temporary copies that killed processes left, and move their empty files to the
        trash; those of open sessions stay.
        """
        if self.saves:
            self._move_empty_files()
        patterns = (
            ".*.md.*.tmp",
            f"{TRASH}/.*.md.*.tmp",
            f".{pointers.FILE}.*.tmp",
            f"{records.IMAGE_FOLDER}/.*.tmp",
        )
        for pattern in patterns if self.saves else ():
            for path in self.directory.glob(pattern):
                name = path.name.lstrip(".").partition(".")[0]
                name = records.IMAGE_FOLDER if path.parent.name == records.IMAGE_FOLDER else name
                with suppress(OSError, Locked), closing(take_lock(self.directory, name)):
                    self._files.remove(path)

    def _move_empty_files(self) -> None:
        """Move the session files without a byte to the trash.

        They are not removed: a tool that is about to fill one has it open, and fills it there.
        """
        with suppress(OSError):  # only a convenience
            for changed, identity, size in rows.stamps(self.directory):
                age = abs(self.now().timestamp() - changed / 1e9)
                if size or age < SETTLED_SECONDS:
                    continue
                path = self.session_file(identity)
                with suppress(SessionLocked), closing(lock_session(path.parent, identity)):
                    if path.lstat().st_size == 0:  # nobody else has written to it meanwhile
                        self._files.move(path, self._free_in_trash(identity))

    def take_in_copies(self) -> list[str]:
        """Rename the copies that sync tools left, so that they become branches. Return a sentence
        for each. A copy without anything new stays as it is.
        """
        sentences = []
        for name in rows.misnamed_files(self.directory) if self.saves else ():
            with suppress(OSError):  # it stays, and lists mention it
                if identity := self._take_in(self.directory / name):
                    text = f"Took in a copy that a sync tool left: {encode_line(name)[:100]}"
                    sentences.append(f"{text} is session {identity} now.")
        return sentences

    def _take_in(self, path: Path) -> str:
        """Rename a copy; return its id, or an empty string when it stays. Raises OSError."""
        head, status = read_part(path, 100)
        age = abs(self.now().timestamp() - status.st_mtime)
        if age < SETTLED_SECONDS or not rows.is_transcript(head):
            return ""
        data, _ = read_part(path)
        copy = parse(data).session
        if copy is None or not copy.header.id:
            return ""
        ids = records.free_ids(copy.header.id)
        while True:
            target = self.session_file(identity := next(ids))
            with suppress(SessionLocked), closing(lock_session(self.directory, identity)):
                if not os.path.lexists(target):
                    self._files.move(path, target)
                    return identity
            with suppress(OSError):  # a folder or a link has none of its words
                if _body(read_part(target)[0]).startswith(_body(data)):
                    return ""  # it is an older state

    def receive(
        self, identity: str, before: bytes | None, data: bytes, *, keeps: bool = False
    ) -> os.stat_result:
        """Replace `before` (None: no file) with a session from another machine. With `keeps`, save
        `before` in the trash first. Raises SessionLocked, also when the file is not as `before`,
        and OSError.
        """
        path = self.session_file(identity)
        self._files.make_directory(self.directory)
        with closing(lock_session(self.directory, identity)):
            if (read_part(path)[0] if os.path.lexists(path) else None) != before:
                raise SessionLocked(f"Session {identity} is being changed.")
            if before is not None and keeps:
                self._files.replace(self._free_in_trash(identity), before)
            self._files.replace(path, data)
            return path.lstat()

    def branch_off(self, identity: str, children: Sequence[str]) -> str:
        """Copy a session to a free id, make the copy the parent of `children`, and return the id.
        Raises SessionLocked and OSError.
        """

        def go_on_from_branch(child: records.Session) -> records.Session:
            return replace(child, header=replace(child.header, parent=branch))

        with ExitStack() as locks:
            for each in (identity, *children):
                locks.enter_context(closing(lock_session(self.directory, each)))
            data, _ = read_part(self.session_file(identity))
            for branch in islice(records.free_ids(identity), 1, None):
                path = self.session_file(branch)
                if not os.path.lexists(path):
                    self._files.replace(path, data)
                elif read_part(path)[0] != data:  # if equal, an earlier call was interrupted
                    continue
                break
            for file in map(self.session_file, children):
                if changed := change_content(read_part(file)[0], go_on_from_branch):
                    self._files.replace(file, changed)
            return branch


def holds_all(whole: bytes, part: bytes) -> bool:
    """Return True when `whole` has all records of `part`, and a seal if `part` has one. Names and
    tags in the header do not count.
    """
    first = parse(whole)
    second = parse(part)
    if first.session is None or second.session is None:
        return whole.startswith(part)
    if first.session.header.created != second.session.header.created:
        return False
    if _body(whole).startswith(_body(part)):
        return True
    rest = iter(first.session.entries)
    return (
        len(second.damage) <= second.torn_records
        and (second.session.seal is None or first.session.seal is not None)
        and all(entry in rest for entry in second.session.entries)
    )


def _body(data: bytes) -> bytes:
    """Return a transcript without its header, which changes when the session ends."""
    return data.partition(b"\n" + marker.PREFIX + b"end")[2].partition(b"\n")[2]


def _with_file_id(session: records.Session, path: Path) -> records.Session:
    """Return a session with the name of its file as its id."""
    return replace(session, header=replace(session.header, id=path.stem))
