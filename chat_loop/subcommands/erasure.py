"""`chat-loop sessions redact|purge`: take words, or a whole session, out for good."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Collection, Iterator
from contextlib import ExitStack, closing, suppress
from functools import partial
from pathlib import Path

from chat_loop.display.plain import err, out
from chat_loop.display.text import one_line
from chat_loop.errors import SessionError, SessionNotFound, UsageError
from chat_loop.input.history import without_entries
from chat_loop.library import archive_tools, lineage
from chat_loop.memory import NAME, locate
from chat_loop.sessions import erasure
from chat_loop.sessions.files import read_part, take_lock
from chat_loop.sessions.manager import CURRENT, TRASH
from chat_loop.sessions.parser import parse
from chat_loop.sessions.records import ID_PATTERN, IMAGE_FOLDER, Attachment, Change, Query, Session
from chat_loop.subcommands.sessions import SessionActions, confirm
from chat_loop.values import plural

COPIES = "Exports, backups and other copies are not touched."


def redact(actions: SessionActions, options: argparse.Namespace) -> int:
    """Take a text out of a conversation: its sessions with their branches, also in the trash."""
    if options.text == "-" and not options.yes:
        raise UsageError("The text comes from standard input: nobody can be asked.", "Add --yes.")
    erase = erasure.Eraser(sys.stdin.read() if options.text == "-" else options.text)
    without_text = partial(erasure.without_text, erase=erase)
    identity = actions.path(options.reference).stem
    nodes = lineage.tree(identity, actions.library.links())
    with Erasing(actions, {node.id for node in nodes}) as erasing:
        for path, data, session in erasing.files():
            before = erase.count
            changed = erasure.change_content(data, without_text, erase)
            places = plural(erase.count - before, "place")
            if changed is None and _has(path, erase):
                why = f"{path.name} has the text, but is damaged or another program’s"
                hint = "Remove the text from that file in an editor first."
                raise SessionError(f"Nothing was removed: {why}.", hint)
            if changed is not None and changed != data:
                erasing.change(path, changed, places)
            for copy in erasing.copies(session):
                if _has(copy, erase):
                    erasing.change(copy, None, "deleted: /undo cannot restore that text")
        erasing.change_history(lambda entry: erase(entry) != entry)
        code = erasing.carry_out(yes=options.yes)
        if others := [path.name for path in erasing.others() if _has(path, erase)]:
            names = one_line(", ".join(others), 300)
            err(f"The text is also in {names}: redact those conversations, or edit these files.")
    return code


def purge(actions: SessionActions, options: argparse.Namespace) -> int:
    """Take a session out for good, with what the sessions after it got from it."""
    try:
        identity = actions.path(options.reference).stem
    except SessionNotFound:  # it may be in the trash, or a purge was interrupted
        identity = options.reference
        if not ID_PATTERN.fullmatch(identity):
            raise
    tools = archive_tools.READ, archive_tools.SEARCH
    without_parent = partial(erasure.without_parent, archive_tools=tools)
    links = actions.library.links()
    later = {key for key in links if identity in lineage.ancestry([key], links)}
    purged: dict[Path, Session | None] = {}
    with Erasing(actions, {identity, *later}) as erasing:
        for path, data, session in erasing.files():
            if identity in (path.stem, session.header.id if session else ""):
                erasing.change(path, None, "deleted")
                purged[path] = session
            elif (changed := erasure.change_content(data, without_parent)) is None:
                err(f"{path.name} stays as it is: it is damaged, or another program’s.")
            elif changed != data:
                erasing.change(path, changed, "without what it got from that session")
        sessions = [*filter(None, purged.values())]
        others = b"".join(map(_read, erasing.sessions() - purged.keys()))
        for copy in (copy for session in sessions for copy in erasing.copies(session)):
            if copy.stem.encode() not in others:
                erasing.change(copy, None, "deleted")
        entries = [entry for session in sessions for entry in session.entries]
        texts = {entry.text for entry in entries if isinstance(entry, Query)}
        erasing.change_history(texts.__contains__)
        erasing.change_current(identity)
        for path in purged:  # last: nobody could name it any more
            erasing.change(path, None, "deleted")
        return erasing.carry_out(yes=options.yes)


class Erasing:
    """The files that an erasure changes. It holds the locks of their sessions."""

    def __init__(self, actions: SessionActions, family: Collection[str]) -> None:
        self._actions, self._family = actions, family
        self._directory = actions.sessions.directory
        self._changes: dict[Path, bytes | None] = {}
        self._lines: dict[Path, str] = {}
        self._locks = ExitStack()

    def __enter__(self) -> Erasing:
        return self

    def __exit__(self, *_: object) -> None:
        self._locks.close()

    def change(self, path: Path, data: bytes | None, how: str) -> None:
        """Note a file's new content (None: it is deleted), to be written after all others."""
        self._changes.pop(path, None)
        self._changes[path], self._lines[path] = data, how

    def sessions(self) -> set[Path]:
        """Return the files of all sessions, with those in the trash."""
        folders = self._directory, self._directory / TRASH
        return {path for folder in folders for path in folder.glob("*.md")}

    def files(self) -> Iterator[tuple[Path, bytes, Session | None]]:
        """Yield the family's files, also from the trash, with their content and sessions. Raises
        SessionLocked when one is open.
        """
        for path in sorted(self.sessions(), reverse=True):
            is_listed = path.parent == self._directory
            if is_listed and path.stem not in self._family:
                continue
            with ExitStack() as locks:
                for name in (path.stem, f"{path.stem}.summary") if is_listed else ():
                    locks.enter_context(closing(take_lock(self._directory, name)))
                data = _read(path)
                session = parse(data).session
                header = session.header if session else None
                names = {path.stem, *((header.id, header.parent) if header else ())}
                if names.isdisjoint(self._family):
                    continue
                yield path, data, session
                leftovers = [*path.parent.glob(f".{path.name}.*.tmp")]
                for leftover in leftovers:
                    self.change(leftover, None, "deleted: a write was interrupted")
                if leftovers or path in self._changes:
                    self._locks.push(locks.pop_all())

    def copies(self, session: Session | None) -> list[Path]:
        """Return a session's images, and the old texts of files that its tools changed."""
        names: set[str] = set()
        for entry in session.entries if session else ():
            if isinstance(entry, Attachment):
                names.add(entry.sha256)
            elif isinstance(entry, Change):
                names |= {entry.written, entry.replaced}
        folder, digests = (
            self._directory / IMAGE_FOLDER,
            [name for name in names if len(name) == 64],
        )
        return [path for digest in sorted(digests) for path in folder.glob(f"*{digest}*")]

    def change_history(self, is_removed: Callable[[str], bool]) -> None:
        """Take entries out of the history of what was typed."""
        history = self._actions.app.paths.history
        for path in (history, history.with_name(f"{history.name}.old")):
            data, count = without_entries(_read(path), is_removed)
            if count:
                self.change(path, data, plural(count, "entry"))

    def change_current(self, identity: str) -> None:
        """Take an id out of the note of the current session."""
        path = self._directory / CURRENT
        if identity.encode() in (ids := _read(path).split()):
            kept = (name + b"\n" for name in ids if name != identity.encode())
            self.change(path, b"".join(kept), "without its id")

    def others(self) -> Iterator[Path]:
        """Yield the files that are not changed and could have the same words."""
        app = self._actions.app
        yield from sorted(self.sessions() - self._changes.keys())
        yield app.paths.config.parent / "approvals.json"
        yield app.paths.config
        memory, root = locate(Path(app.directory), app.home)
        yield from {app.paths.data / NAME, memory or root / NAME}

    def carry_out(self, *, yes: bool) -> int:
        """Show what goes, ask, and write it; return the exit code. Raises SaveError."""
        for path, how in self._lines.items():
            out(f"{path}: {how}\n")
        if not self._lines:
            err("No file has it.")
        elif not yes:
            if not sys.stdin.isatty():
                raise UsageError("Confirmation needs a terminal.", "--yes skips the question.")
            if not confirm(f"Remove this from {plural(len(self._lines), 'file')} for good? (y/n)"):
                err("Nothing was removed.")
                return 1
        self._actions.sessions.erase(self._changes)
        self._actions.library.vacuum()  # also when an erasure was interrupted behind the files
        if self._lines:
            err(f"Removed. {COPIES}")
        return int(not self._lines)


def _read(path: Path) -> bytes:
    """Return a file's content, nothing if it cannot be read."""
    with suppress(OSError):
        return read_part(path)[0]
    return b""


def _has(path: Path, erase: erasure.Eraser) -> bool:
    before = erase.count
    erase(_read(path).decode("utf-8", "replace"))
    return erase.count > before
