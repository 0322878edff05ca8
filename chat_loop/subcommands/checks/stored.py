"""What is stored: the sessions, their locks, the index that is made from them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

from chat_loop.display.rows import unlisted_text
from chat_loop.errors import SessionError, SessionLocked, os_reason
from chat_loop.library.index_file import index_status
from chat_loop.library.library import AHEAD
from chat_loop.sessions import partial
from chat_loop.sessions.files import LOCK_FOLDER, take_lock
from chat_loop.sessions.manager import SessionManager
from chat_loop.sessions.partial import Stamp
from chat_loop.sessions.records import SessionRow
from chat_loop.subcommands.checks.finding import Finding, Here, bad, doubtful, good
from chat_loop.wording import counted, file_size_text

READ_WHOLE = 32 << 20
"""Bytes of the newest sessions that are read whole, to find damage in their middle."""
MOST_LOCKS = 2_000


def stored(here: Here) -> Iterator[Finding]:
    """Yield the sessions, the locks and the index. A folder that cannot be read is told
    elsewhere.
    """
    if not here.sessions.is_dir():
        return
    try:
        there = partial.newest_first(here.sessions)
    except OSError as error:
        yield bad("Sessions", f"{here.sessions} cannot be read: {os_reason(error)}.")
        return
    rows = partial.rows(here.sessions)
    yield from _sessions(here.sessions, there, rows)
    yield from _locks(here.sessions, there)
    yield from _index(here.sessions, there)
    yield from _clock(rows)


def _sessions(folder: Path, there: list[Stamp], rows: list[SessionRow]) -> Iterator[Finding]:
    states = Counter(row.state for row in rows)
    damaged, whole = [], 0
    left = READ_WHOLE
    sessions = SessionManager(folder)
    for stamp in there:
        left -= stamp.size
        if left < 0:
            break
        whole += 1
        try:
            loaded = sessions.load(folder / f"{stamp.id}.md")
        except SessionError as error:
            damaged.append(error.message)
            continue
        if len(loaded.damage) > loaded.tears and not loaded.plain:
            damaged.append(f"{stamp.id}: {loaded.damage[0]}")
    size = sum(stamp.size for stamp in there)
    names = {
        "unsealed": "not ended",
        "plain": "of another program",
        "foreign": "no transcript",
        "empty": "empty",
    }
    also = "".join(f", {states[state]:,} {name}" for state, name in names.items() if states[state])  # type: ignore[index]
    unread = "" if whole == len(there) else f"; the newest {whole:,} were read whole"
    if unlisted := partial.unlisted(folder):
        yield doubtful(
            "Not listed",
            unlisted_text(unlisted),
            "Sync tools leave such copies where two machines wrote.",
        )
    yield good(
        "Sessions", f"{counted(len(there), 'session')}, {file_size_text(size)}{also}{unread}"
    )
    for text in damaged[:3]:
        yield doubtful("Damaged", text, "What can be read of it can still be resumed and shown.")
    if len(damaged) > 3:
        yield doubtful("Damaged", f"{len(damaged) - 3:,} more sessions.")


def _locks(folder: Path, there: list[Stamp]) -> Iterator[Finding]:
    try:
        names = sorted(path.name for path in (folder / LOCK_FOLDER).iterdir())
    except FileNotFoundError:
        return
    except OSError as error:
        yield bad(
            "Locks",
            f"{folder / LOCK_FOLDER} cannot be read: {os_reason(error)}.",
            "Delete it: it is made anew.",
        )
        return
    known = {stamp.id for stamp in there}
    left, held = 0, []
    for name in names[:MOST_LOCKS]:
        identity = name.removesuffix(".lock")
        if identity == name:
            continue
        left += identity not in known
        try:
            take_lock(folder, identity).release()
        except SessionLocked:
            held.append(identity)
        except OSError as error:
            text = f"The lock of {identity} cannot be taken: {os_reason(error)}."
            yield bad("Locks", text, f"Delete {folder / LOCK_FOLDER / name}.")
            return
    told = (
        f"{counted(len(held), 'session')} open in other processes: {', '.join(held[:3])}"
        if held
        else "none is held"
    )
    idle = f"; {left:,} of sessions that are gone, which do no harm" if left else ""
    yield good("Locks", f"{told}{idle}")


def _index(folder: Path, there: list[Stamp]) -> Iterator[Finding]:
    found = index_status(folder, there)
    if found.trouble:
        hint = "It is made from the sessions: chat-loop sessions reindex makes it anew."
        yield doubtful("Index", found.trouble, hint)
    elif not found.size:
        yield good("Index", "none yet: it is made from the sessions when they are first listed")
    else:
        behind = (
            f", {counted(found.stale, 'session')} behind: read when it is needed"
            if found.stale
            else ", up to date"
        )
        yield good("Index", f"version {found.version}, {file_size_text(found.size)}{behind}")
    if found.left_over:
        size = file_size_text(sum(size for _, size in found.left_over))
        files = ", ".join(name for name, _ in found.left_over[:3])
        text = f"{counted(len(found.left_over), 'file')} of an earlier version, {size}: {files}"
        yield doubtful("Index", text, "They may be deleted.")


def _clock(rows: list[SessionRow]) -> Iterator[Finding]:
    now = datetime.now().astimezone()
    zone = now.tzname() or f"{now:%z}"
    if now.year < 2025:
        yield bad(
            "Clock",
            f"It is {now:%Y-%m-%d %H:%M}, by this machine's clock.",
            "Set it: sessions are named by it.",
        )
    elif rows and rows[0].updated is not None and rows[0].updated > now + AHEAD:
        text = (
            f"{now:%Y-%m-%d %H:%M} {zone}, but {rows[0].id} was used "
            f"{rows[0].updated:%Y-%m-%d %H:%M}."
        )
        yield doubtful(
            "Clock", text, "Set the clock. Lists show such sessions at the end, without a date."
        )
    else:
        yield good("Clock", f"{now:%Y-%m-%d %H:%M} {zone}")
