"""Sessions that come from elsewhere: from an import, a sync tool, or another machine."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import ExitStack, closing, suppress
from itertools import islice
from pathlib import Path

from msgspec.structs import replace

from chat_loop.errors import SessionError, SessionLocked
from chat_loop.sessions import marker, records
from chat_loop.sessions.edits import change_content
from chat_loop.sessions.escape import encode_line
from chat_loop.sessions.files import lock_session, read_part
from chat_loop.sessions.manager import SessionManager
from chat_loop.sessions.organizing import SETTLED_SECONDS, free_in_trash
from chat_loop.sessions.parser import parse
from chat_loop.sessions.rows import is_transcript, misnamed_files
from chat_loop.sessions.writer import render


def add_session(sessions: SessionManager, session: records.Session, changed: float) -> bool | None:
    """Write a whole session from elsewhere as a new file with the time `changed`. Return False
    when it is there already, and None when another session has its id. Raises OSError.
    """
    path = sessions.session_file(session.id)
    sessions.files.make_directory(sessions.directory)
    if os.path.lexists(path):
        with suppress(SessionError):
            if sessions.load(path).session == session:
                return False
        return None
    sessions.files.replace(path, render(session))
    os.utime(path, (changed, changed), follow_symlinks=False)
    return True


def adopt_conflict_copies(sessions: SessionManager) -> list[str]:
    """Rename the copies that sync tools left, so that they become branches. Return a sentence
    for each. A copy without anything new stays as it is.
    """
    sentences: list[str] = []
    if not sessions.saves:
        return sentences
    for name in misnamed_files(sessions.directory):
        with suppress(OSError):  # it stays, and lists mention it
            if identity := _adopt(sessions, sessions.directory / name):
                text = f"Added a copy that a sync tool left: {encode_line(name)[:100]}"
                sentences.append(f"{text} is session {identity} now.")
    return sentences


def _adopt(sessions: SessionManager, path: Path) -> str:
    """Rename a copy; return its id, or an empty string when it stays. Raises OSError."""
    head, status = read_part(path, 100)
    age = abs(sessions.now().timestamp() - status.st_mtime)
    if age < SETTLED_SECONDS or not is_transcript(head):
        return ""
    data, _ = read_part(path)
    copy = parse(data).session
    if copy is None or not copy.header.id:
        return ""
    for identity in records.free_ids(copy.header.id):
        target = sessions.session_file(identity)
        with suppress(SessionLocked), closing(lock_session(sessions.directory, identity)):
            if not os.path.lexists(target):
                sessions.files.move(path, target)
                return identity
        with suppress(OSError):  # a folder or a link has none of its words
            if _body(read_part(target)[0]).startswith(_body(data)):
                break  # it is an older state
    return ""


def replace_session(
    sessions: SessionManager,
    identity: str,
    before: bytes | None,
    data: bytes,
    *,
    keeps: bool = False,
) -> os.stat_result:
    """Replace `before` (None: no file) with a session from another machine. With `keeps`, save
    `before` in the trash first. Raises SessionLocked, also when the file is not as `before`,
    and OSError.
    """
    path = sessions.session_file(identity)
    sessions.files.make_directory(sessions.directory)
    with closing(lock_session(sessions.directory, identity)):
        present = None
        if os.path.lexists(path):
            present, _ = read_part(path)
        if present != before:
            raise SessionLocked(f"Session {identity} is being changed.")
        if before is not None and keeps:
            sessions.files.replace(free_in_trash(sessions, identity), before)
        sessions.files.replace(path, data)
        return path.lstat()


def branch_off(sessions: SessionManager, identity: str, children: Sequence[str]) -> str:
    """Copy a session to a free id, make the copy the parent of `children`, and return the id.
    Raises SessionLocked and OSError.
    """

    def go_on_from_branch(child: records.Session) -> records.Session:
        return replace(child, header=replace(child.header, parent=branch))

    with ExitStack() as locks:
        for each in (identity, *children):
            locks.enter_context(closing(lock_session(sessions.directory, each)))
        data, _ = read_part(sessions.session_file(identity))
        for branch in islice(records.free_ids(identity), 1, None):
            path = sessions.session_file(branch)
            if not os.path.lexists(path):
                sessions.files.replace(path, data)
            elif read_part(path)[0] != data:  # if equal, an earlier call was interrupted
                continue
            break
        for file in map(sessions.session_file, children):
            if changed := change_content(read_part(file)[0], go_on_from_branch):
                sessions.files.replace(file, changed)
        return branch


def contains_records_of(whole: bytes, part: bytes) -> bool:
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
