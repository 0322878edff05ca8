"""`chat-loop sessions tag|rename|delete-summary|export|import|trash|restore|clean|reindex`: what changes files."""

from __future__ import annotations

import argparse
import sys
from dataclasses import replace
from pathlib import Path

from chat_loop.commands.search import moment_of
from chat_loop.display.plain import err, out, out_bytes, out_json
from chat_loop.display.text import one_line
from chat_loop.errors import ChatLoopError, SessionError, UsageError
from chat_loop.sessions import naming, trash
from chat_loop.subcommands.listing import row_values
from chat_loop.subcommands.shelf import Progress, Shelf
from chat_loop.wording import counted, size_text


def tag(shelf: Shelf, options: argparse.Namespace) -> int:
    """Tag a stored session, or take tags off it."""
    loaded = shelf.load(options.reference)
    standing = loaded.session.tags
    tags = [naming.tag(one) for one in options.tags]
    wanted = [one for one in standing if one not in tags] if options.remove else [*standing, *tags]
    shelf.sessions.describe(loaded, tags=tuple(dict.fromkeys(wanted)))
    out(f"{loaded.session.header.id}: {' '.join(f'#{one}' for one in dict.fromkeys(wanted)) or 'no tags'}\n")
    return 0


def rename(shelf: Shelf, options: argparse.Namespace) -> int:
    """Name a stored session."""
    loaded = shelf.load(options.reference)
    name = " ".join(" ".join(options.name).split())
    if len(name) > naming.LONGEST:
        raise UsageError(f"A name has at most {naming.LONGEST} characters; this one has {len(name)}.")
    shelf.sessions.describe(loaded, name=name)
    out(f"{loaded.session.header.id}: {name or 'no name of its own'}\n")
    return 0


def delete_summary(shelf: Shelf, options: argparse.Namespace) -> int:
    """Take the summary block out of a session; its words and the audit of its compaction stay."""
    loaded = shelf.load(reference_of(options))
    session, seal = loaded.session, loaded.session.seal
    if seal is None or seal.summary is None:
        raise SessionError(f"Session {session.header.id} has no summary.")
    if not loaded.sealable:
        raise SessionError(f"{loaded.path.name} is another program’s file or damaged: it stays as it is.")
    empty = replace(seal, summary=None, source="none", usage=None, seconds=None, covers=None)
    shelf.sessions.seal_later(loaded, empty)
    out(f"The summary of {session.header.id} is deleted; it is made anew when the session is resumed.\n")
    return 0


def reference_of(options: argparse.Namespace) -> str:
    """The session that is meant, given with or without the option. Raises UsageError."""
    found = options.reference or options.session or getattr(options, "summary_id", "")
    if not found:
        raise UsageError("Which session?", "For example: --session 3. chat-loop sessions list shows the numbers.")
    return str(found)


def export(shelf: Shelf, options: argparse.Namespace) -> int:
    """Write a conversation as one document: to a file, or (-) to standard output."""
    from chat_loop.export.exporting import exported
    from chat_loop.export.sharing import chain_of, form_of, written

    loaded = shelf.load(options.reference)
    to_output = options.file == "-"
    form = form_of(options.form, "" if to_output else options.file)
    chain, broken = chain_of(shelf.sessions, loaded, whole=not options.one)
    if broken:
        err(broken)
    data = exported(chain, form, secrets=options.secrets)
    if to_output:
        out_bytes(data)
        return 0
    path = written(data, options.file, form, loaded)
    err(f"Exported {counted(len(chain), 'session')} to {path} ({size_text(len(data))}).")
    return 0


def import_(shelf: Shelf, options: argparse.Namespace) -> int:
    """Take in what was exported, or a folder of basic-agent-chat-loop."""
    from chat_loop.export.gathering import gathered
    from chat_loop.sessions.files import Files
    from chat_loop.sessions.storing import store

    failed = False
    for name in options.files:
        found = gathered(Path(name).expanduser())
        stored = store(shelf.sessions.directory, found.sessions, Files(), now=shelf.sessions.now)
        for complaint in found.complaints:
            err(one_line(complaint, 300))
        failed = failed or not stored
        for one in stored:
            what = "imported" if one.written else "there already"
            out(f"{one.was}  {what}{f' as {one.id}' if one.id != one.was else ''}\n")
    return 1 if failed else 0


def to_trash(shelf: Shelf, options: argparse.Namespace) -> int:
    """Move sessions to the trash; without any, list what is there."""
    if not options.references:
        rows = trash.trashed(shelf.sessions.directory)
        if options.as_json:
            out_json([row_values(None, row) for row in rows])
            return 0
        for row in rows:
            out(f"{row.updated:%Y-%m-%d %H:%M}  {row.id}  {one_line(row.name, 60)}\n")
        return 0
    for path in [shelf.path(reference) for reference in options.references]:
        trash.take_away(path)
        out(f"{path.stem} is in the trash; chat-loop sessions restore {path.stem} brings it back.\n")
    return 0


def restore(shelf: Shelf, options: argparse.Namespace) -> int:
    """Bring sessions back from the trash."""
    for identity in options.ids:
        trash.bring_back(shelf.sessions.directory, identity)
        out(f"{identity} is back.\n")
    return 0


def clean(shelf: Shelf, options: argparse.Namespace) -> int:
    """Move what was not used for long to the trash: whole chains, or with --originals what summaries stand for."""
    from chat_loop.library.cleaning import forgotten, originals

    before = moment_of(options.older_than, shelf.sessions.now())
    rows, _ = shelf.library.rows(fold=False)
    links = shelf.library.links()
    chosen = (originals if options.originals else forgotten)(rows, links, before)
    if options.as_json:
        out_json([row_values(None, row) for row in chosen])
    else:
        for row in chosen:
            out(f"{row.updated:%Y-%m-%d %H:%M}  {row.id}  {one_line(row.name, 60)}\n")
    if options.dry_run or not chosen:
        err(f"{counted(len(chosen), 'session')} would go to the trash." if chosen else "There is nothing to clean.")
        return 0
    if not options.yes and not _agreed(f"Move {counted(len(chosen), 'session')} to the trash? (y/n) "):
        err("Nothing is moved.")
        return 1
    moved = 0
    for row in chosen:
        try:
            trash.take_away(row.path)
            moved += 1
        except ChatLoopError as error:
            err(error.message)
    err(f"{counted(moved, 'session')} moved to the trash; chat-loop sessions restore ID brings one back.")
    return 0 if moved == len(chosen) else 1


def _agreed(question: str) -> bool:
    if not sys.stdin.isatty():
        raise UsageError("Nobody is there to agree.", "--yes does without, --dry-run only says what it would do.")
    out(question)
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def reindex(shelf: Shelf, options: argparse.Namespace) -> int:
    """Make the index anew from the files."""
    progress = Progress()
    try:
        count = shelf.library.bring_up_to_date(progress, anew=True)
    finally:
        progress.end()
    shelf.tell_trouble()
    out(f"{counted(count, 'session')} read into the index.\n")
    return 0
