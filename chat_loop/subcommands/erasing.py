"""`chat-loop sessions redact|purge`: delete words, or a whole session, for good."""

from __future__ import annotations

import argparse
import sys
from collections.abc import (
    Callable,
    Collection,
    Container,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
)
from contextlib import ExitStack, closing, suppress
from functools import partial
from pathlib import Path

from chat_loop.characters import one_line
from chat_loop.commands.references import AmbiguousSession
from chat_loop.display.plain import ask, err, out
from chat_loop.display.questions import CONFIRMING, Question
from chat_loop.errors import SessionError, SessionNotFound, UsageError
from chat_loop.input.history import without_entries
from chat_loop.library import archive_tools, lineage
from chat_loop.library.index import BUSY_SECONDS, discard
from chat_loop.memory import NAME, find_outer, locate
from chat_loop.sessions import erasure
from chat_loop.sessions.chain import Link, last_queries
from chat_loop.sessions.edits import change_content, rewrite_files
from chat_loop.sessions.files import TRASH, lock_session, read_part
from chat_loop.sessions.organizing import remove_leftovers
from chat_loop.sessions.parser import parse
from chat_loop.sessions.records import (
    IMAGE_FOLDER,
    Attachment,
    Change,
    Covered,
    Query,
    Session,
    place_of_ref,
)
from chat_loop.subcommands.stored import Action, StoredSessions
from chat_loop.values import plural

Changes = dict[Path, tuple[bytes | None, str]]
"""The new content of each file (None deletes it), and the words that describe the change."""


def redact(stored: StoredSessions, options: argparse.Namespace) -> int:
    """Delete a text from a conversation: its sessions and their branches, even in the trash."""
    if options.text == "-" and not options.yes:
        raise UsageError("The text comes from standard input: nobody can be asked.", "Add --yes.")
    text = options.text
    if options.text == "-":
        text = sys.stdin.read()
    erase = erasure.Eraser(text)

    def has_text(path: Path) -> bool:
        content = _read(path).decode("utf-8", "replace")
        return erase(content) != content

    identity = stored.path(options.reference).stem
    links = stored.told(stored.own.links())
    family = {node.id for node in lineage.tree(identity, links)}
    first = Changes()
    changes = Changes()
    with ExitStack() as locks:
        files = [*_files(stored, family, links, locks)]
        # what only a service can read may repeat the text in each session of the conversation
        is_found = any(has_text(path) for path, _, _ in files)
        without_text = partial(erasure.without_text, erase=erase, keeps_opaque=not is_found)
        find = erasure.Eraser(text)
        sessions = [session for _, _, session in files if session is not None]
        erased = {each.header.id: erasure.queries_with(each, find) for each in sessions}
        is_covered = partial(_covers, erased=erased, links=links)
        without_covered = partial(erasure.without_covered, is_covered=is_covered)
        for path, data, session in files:
            changed = _redacted(data, erase, without_text, without_covered)
            if changed is None and has_text(path):
                why = f"{path.name} has the text, but is damaged or another program’s"
                hint = "Remove the text from that file in an editor first."
                raise SessionError(f"Nothing was removed: {why}.", hint)
            if changed is not None and changed[0] != data:
                changes[path] = changed
            for copy in filter(has_text, _copies(stored, session)):
                first[copy] = None, "deleted: /undo cannot restore that text"
        first |= _history(stored, lambda entry: erase(entry) != entry)
        first |= _log(stored, has_text)
        code = _carry_out(stored, first | changes, yes=options.yes)
    paths = stored.parts.paths
    memory, root = locate(Path(stored.parts.directory), stored.parts.home)
    others = [*sorted(_all_files(stored) - changes.keys()), paths.config]
    others += [paths.config.parent / "approvals.json"]
    others += {paths.data / NAME, memory or root / NAME, *find_outer(memory, root)}
    if names := [path.name for path in others if has_text(path)]:
        listed = one_line(", ".join(names), 300)
        err(f"The text is also in {listed}: redact those conversations, or edit these files.")
    return code


def _redacted(
    data: bytes,
    erase: erasure.Eraser,
    without_text: Callable[[Session], Session],
    without_covered: Callable[[Session], Session],
) -> tuple[bytes, str] | None:
    """Return a transcript without a text, and the words that describe the change. Return None if it
    is damaged, or is another program's file.
    """
    before = erase.count
    changed = change_content(data, without_text, erase)
    if changed is None:
        return None
    how = []
    count = erase.count - before
    if count:
        how.append(plural(count, "place"))
    elif changed != data:
        how.append("what only a service can read")
    kept = change_content(changed, without_covered)
    if kept is None:
        return None
    if kept != changed:
        how.append("a summary of those words")
    return kept, " and ".join(how)


def _covers(
    entry: Covered, *, erased: Mapping[str, Collection[int]], links: Mapping[str, Link]
) -> bool:
    """Return True if a covered block was made of one of these queries, by the ids of sessions."""
    if entry.session not in links:
        return False
    _, last = place_of_ref(entry.last_ref)
    for identity, continued in last_queries(entry.session, links).items():
        end = last if identity == entry.session else continued
        if any(number <= end for number in erased.get(identity, ())):
            return True
    return False


def purge(stored: StoredSessions, options: argparse.Namespace) -> int:
    """Delete a session for good, with everything that later sessions got from it."""
    identity = options.reference
    if not options.yes:  # unasked, take only an id: later, a number or prefix may fit another
        try:
            identity = stored.path(identity).stem
        except AmbiguousSession:
            raise
        except SessionNotFound:  # it may be in the trash, or a purge was interrupted
            pass
    tools = archive_tools.READ, archive_tools.SEARCH
    without_parent = partial(erasure.without_parent, archive_tools=tools)
    links = stored.told(stored.own.links())
    later = {key for key in links if identity in lineage.ancestry([key], links)}
    changes = Changes()
    purged = dict[Path, Session | None]()
    with ExitStack() as locks:
        for path, data, session in _files(stored, {identity, *later}, links, locks):
            if identity in (path.stem, session.id if session else ""):
                purged[path] = session
            elif (changed := change_content(data, without_parent)) is None:
                err(f"{path.name} stays as it is: it is damaged, or another program’s.")
            elif changed != data:
                changes[path] = changed, "without what it got from that session"
        if not purged:  # it is deleted last, so the others were already changed
            changes.clear()
        copies = set[Path]()
        texts = set[str]()
        for session in filter(None, purged.values()):
            copies.update(_copies(stored, session))
            texts.update(entry.text for entry in session.entries if isinstance(entry, Query))
        copies = _unused(copies, _all_files(stored) - purged.keys())
        changes |= _history(stored, texts.__contains__)
        changes |= _log(stored, lambda path: bool(purged) and path.exists())
        changes |= dict.fromkeys((*sorted(copies), *purged), (None, "deleted"))
        gone = [stored.sessions.session_file(identity)]  # the store has it even if the trash does
        return _carry_out(stored, changes, yes=options.yes, gone=gone)


def _carry_out(
    stored: StoredSessions, changes: Changes, *, yes: bool, gone: Sequence[Path] = ()
) -> int:
    """Show the changes, ask, and write them in this order. Return the exit code. Files that are
    deleted or `gone` are deleted from the mirror, too. Raises SaveError and StoreUnavailable.
    """
    listed = "\n".join(f"{path}: {how}" for path, (_, how) in changes.items())
    if changes and not yes:
        if not sys.stdin.isatty():
            raise UsageError("Confirmation needs a terminal.", "--yes skips the question.")
        sentence = f"Remove this from {plural(len(changes), 'file')} for good?"
        if ask(Question(sentence, CONFIRMING, (listed,))) != "yes":
            err("Nothing was removed.")
            return 1
    elif changes:
        out(f"{listed}\n")
    mirror = stored.parts.mirror
    deleted = [path for path, (data, _) in changes.items() if data is None]
    with ExitStack() as removal:
        if mirror is not None and changes:
            removal.enter_context(mirror.removal([*deleted, *gone]))
        contents = {path: data for path, (data, _) in changes.items()}
        rewrite_files(stored.sessions.files, contents)
        stored.close()
        folder = stored.sessions.directory
        if not discard(folder, BUSY_SECONDS):  # even if nothing else was left to do
            text = "The index still has the words: it is in use."
            raise SessionError(text, "Run the command again.")
        stored.sessions.pointers.forget()
        if (shared := stored.parts.shared) is not None:
            erased = {path.stem for path in (*changes, *gone) if path.suffix == ".md"}
            shared.erase([*erased])
    text = "The text was not found."
    if changes:
        text = "Removed. Exports, backups and other copies are not touched."
    err(text)
    return int(not changes)


def _all_files(stored: StoredSessions) -> set[Path]:
    """Return the files of all sessions, including those in the trash."""
    folder = stored.sessions.directory
    return {*folder.glob("*.md"), *(folder / TRASH).glob("*.md")}


def _files(
    stored: StoredSessions, family: set[str], others: Container[str], locks: ExitStack
) -> Iterator[tuple[Path, bytes, Session | None]]:
    """Lock the sessions of a family, and yield its files with their content and sessions. This
    includes files with other names, and files in the trash. Raises SessionLocked if a session is
    open.
    """
    manager = stored.sessions
    remove_leftovers(manager)
    for path in sorted(_all_files(stored), reverse=True):
        if path.parent == manager.directory:
            if path.stem in others and path.stem not in family:
                continue
            locks.enter_context(closing(manager.lock_summary(path.stem)))
            locks.enter_context(closing(lock_session(path.parent, path.stem)))
        data = _read(path)
        session = parse(data).session
        header = session.header if session else None
        if not family.isdisjoint({path.stem, *((header.id, header.parent) if header else ())}):
            yield path, data, session


def _copies(stored: StoredSessions, session: Session | None) -> Iterator[Path]:
    """Yield a session's images, and the old texts of files that its tools changed."""
    digests = set[str]()
    for entry in session.entries if session else ():
        if isinstance(entry, Attachment):
            digests.add(entry.sha256)
        elif isinstance(entry, Change):
            digests |= {entry.written, entry.replaced}
    paths = sorted((stored.sessions.directory / IMAGE_FOLDER).glob("*.*"))
    yield from (path for path in paths if path.stem in digests)


def _unused(copies: set[Path], files: Iterable[Path]) -> set[Path]:
    """Return the copies that none of these files names by its digest."""
    for path in files:
        if not copies:
            break
        data = _read(path)
        copies = {copy for copy in copies if copy.stem.encode() not in data}
    return copies


def _history(stored: StoredSessions, is_removed: Callable[[str], bool]) -> Changes:
    """Return the changes that remove entries from the history of the user's input."""
    history = stored.parts.paths.history
    changes = Changes()
    for path in (history, history.with_name(f"{history.name}.old")):
        data, count = without_entries(_read(path), is_removed)
        if count:
            changes[path] = data, plural(count, "entry")
    return changes


def _log(stored: StoredSessions, is_removed: Callable[[Path], bool]) -> Changes:
    """Return the change that deletes the log: the message of an error may quote a session."""
    log = stored.parts.paths.log
    if is_removed(log):
        return {log: (None, "deleted: it may quote those words")}
    return {}


def _read(path: Path) -> bytes:
    """Return a file's content, or nothing if it cannot be read."""
    with suppress(OSError):
        return read_part(path)[0]
    return b""


ACTIONS: dict[str, Action] = {"redact": redact, "purge": purge}
