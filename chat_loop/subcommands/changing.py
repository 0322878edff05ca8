"""`chat-loop sessions tag|rename|delete-summary|export|import`: what changes files and makes
them.
"""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from msgspec.structs import replace

from chat_loop.display.plain import err, out, out_bytes
from chat_loop.display.text import one_line
from chat_loop.errors import SessionError, UsageError
from chat_loop.sessions import naming
from chat_loop.subcommands.shelf import Shelf
from chat_loop.wording import counted

if TYPE_CHECKING:
    from chat_loop.export.importing import Imported


def tag(shelf: Shelf, options: argparse.Namespace) -> int:
    """Tag a stored session, or take tags off it."""
    loaded = shelf.load(options.reference)
    standing = loaded.session.tags
    tags = [naming.validate_tag(one) for one in options.tags]
    wanted = [one for one in standing if one not in tags] if options.remove else [*standing, *tags]
    shelf.sessions.describe(loaded, tags=tuple(dict.fromkeys(wanted)))
    out(
        f"{loaded.session.header.id}: "
        f"{' '.join(f'#{one}' for one in dict.fromkeys(wanted)) or 'no tags'}\n"
    )
    return 0


def rename(shelf: Shelf, options: argparse.Namespace) -> int:
    """Name a stored session."""
    loaded = shelf.load(options.reference)
    name = " ".join(" ".join(options.name).split())
    if len(name) > naming.LONGEST:
        raise UsageError(
            f"A name has at most {naming.LONGEST} characters; this one has {len(name)}."
        )
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
        raise SessionError(
            f"{loaded.path.name} is another program’s file or damaged: it stays as it is."
        )
    empty = replace(seal, summary=None, source="none", usage=None, seconds=None, covers=None)
    shelf.sessions.seal_later(loaded, empty)
    out(
        f"The summary of {session.header.id} is deleted; it is made anew when the session is "
        "resumed.\n"
    )
    return 0


def reference_of(options: argparse.Namespace) -> str:
    """The session that is meant, given with or without the option. Raises UsageError."""
    found = [
        given
        for given in (options.reference, options.session, getattr(options, "summary_id", ""))
        if given
    ]
    if not found:
        raise UsageError(
            "Which session?", "For example: --session 3. chat-loop sessions list shows the numbers."
        )
    if len(found) > 1:
        raise UsageError(
            f"Which session: {' or '.join(one[:80] for one in found)}?", "Name it once."
        )
    return str(found[0])


def export(shelf: Shelf, options: argparse.Namespace) -> int:
    """Write a conversation as one document: to a file, or (-) to standard output."""
    from chat_loop.export.exporting import (
        chain_of,
        exported,
        form_of,
        images_of,
        write_export,
    )

    loaded = shelf.load(options.reference)
    to_output = options.file == "-"
    form = form_of(options.form, "" if to_output else options.file)
    chain, broken = chain_of(shelf.sessions, loaded, whole=not options.one)
    if broken:
        err(broken)
    if to_output:
        images, complaints = images_of(chain)
        out_bytes(exported(chain, form, secrets=options.secrets, images=images))
        if images and form == "markdown":
            complaints.append(
                f"{counted(len(images), 'image')} cannot be in it: export to a file, or as json."
            )
    else:
        made = write_export(chain, options.file, form, secrets=options.secrets)
        complaints = made.complaints
        err(made.report)
    for complaint in complaints:
        err(one_line(complaint, 300))
    return 0


def import_(shelf: Shelf, options: argparse.Namespace) -> int:
    """Take in what was exported, or a folder of basic-agent-chat-loop; sessions of several files
    belong together.
    """
    from chat_loop.export.importing import keep_images, united
    from chat_loop.export.storing import store
    from chat_loop.sessions.files import Files

    parts = [_read(name) for name in options.files]
    found = united(parts)
    stored = store(shelf.sessions.directory, found.sessions, Files(), now=shelf.sessions.now)
    for complaint in (*found.complaints, *keep_images(shelf.sessions.images, found)):
        err(one_line(complaint, 300))
    for one in stored:
        what = "imported" if one.written else "there already"
        out(f"{one.was}  {what}{f' as {one.id}' if one.id != one.was else ''}\n")
    return 0 if all(part.sessions for part in parts) else 1


def _read(name: str) -> Imported:
    """What a file, a folder, or (-) standard input holds; that it cannot be read is a complaint."""
    from chat_loop.export.importing import LARGEST, Imported, file_path, imported, read_import

    if name == "-":
        return imported(sys.stdin.buffer.read(LARGEST + 1), "standard input")
    try:
        return read_import(file_path(name))
    except SessionError as error:
        return Imported(complaints=(error.message,))
