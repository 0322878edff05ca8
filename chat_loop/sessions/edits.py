"""Edits of closed files: a seal, a name or tags, or content that is removed.

What an editor, or a later version, has added to a file stays where it is.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from datetime import datetime
from pathlib import Path

from msgspec.structs import replace

from chat_loop.errors import SaveError, os_reason, save_error
from chat_loop.sessions import marker, records, writer
from chat_loop.sessions.files import Files, lock_session, read_part
from chat_loop.sessions.naming import title
from chat_loop.sessions.parser import BOM, Parsed, parse

TORN_FENCE = f"\n{marker.write('torn')}\n".encode()
"""Ends a record that a crash cut off."""


def edit_file(files: Files, path: Path, edit: Callable[[bytes, Parsed], bytes]) -> None:
    """Replace the file of a session that has ended. Raises SaveError and SessionLocked."""
    try:
        with closing(lock_session(path.parent, path.stem)):
            data, _ = read_part(path)
            parsed = parse(data)
            if parsed.session is None:
                raise SaveError(f"{path} changed and has no header any more.")
            files.replace(path, edit(data, parsed))
    except OSError as error:
        raise save_error(path, error) from error


def rewrite_files(files: Files, changes: Mapping[Path, bytes | None]) -> None:
    """Replace files, or delete those with None, one after the other. Raises SaveError."""
    for path, data in changes.items():
        try:
            if data is None:
                files.remove(path)
                files.sync_directory(path.parent)
            else:
                files.replace(path, data)
        except OSError as error:
            hint = "Run the command again: it goes on where it stopped."
            raise SaveError(f"{path} stays as it is: {os_reason(error)}.", hint) from error


def append_seal(data: bytes, parsed: Parsed, seal: records.Seal) -> bytes:
    """Return a transcript with its title, totals and this seal, otherwise unchanged."""
    session = parsed.session
    assert session is not None
    header = replace(session.present_header, title=title(session, seal))
    seal = writer.with_digest(seal, header.minor)
    end = writer.tail(seal, session.totals, header.minor).encode()
    if parsed.torn and session.seal is None:
        end = TORN_FENCE + end
    return _with_header(data, header, session.totals, end=parsed.tail, then=end)


def change_metadata(
    data: bytes, parsed: Parsed, at: datetime, name: str | None, tags: Sequence[str] | None
) -> bytes:
    """Return a transcript with another name or other tags, otherwise unchanged."""
    session = parsed.session
    assert session is not None
    if session.seal is not None:
        if name is None:
            name = session.name
        if tags is None:
            tags = session.tags
        header = replace(session.header, name=name, tags=tuple(tags))
        return _with_header(data, header, session.totals)
    notes = session.metadata_notes(at, name, tags)
    texts = "".join(writer.entry_text(note, session.header) for note in notes)
    if parsed.torn:
        data += TORN_FENCE
    return data + texts.encode()


def change_content(
    data: bytes,
    change: Callable[[records.Session], records.Session],
    erase: Callable[[str], str] = str,
) -> bytes | None:
    """Return a transcript after applying `change` to its session, and `erase` to the lines that
    others added to its header. Return None if it is damaged, or is another program's file.
    """
    parsed = parse(data)
    if parsed.session is None or len(parsed.damage) > parsed.torn_records:
        return None
    others = _added_lines(data)
    session = change(parsed.session)
    kept = [*map(erase, others)]
    if session == parsed.session and kept == others:
        return data
    return writer.render(session, kept)


def _with_header(
    data: bytes,
    header: records.Header,
    totals: records.Totals,
    *,
    end: int | None = None,
    then: bytes = b"",
) -> bytes:
    """Return a transcript up to the byte `end` (None: all) with another header, or with its own if
    that is broken, and then `then`. The rest, which may be long, is copied once.
    """
    start = 0
    if data.startswith(BOM):
        start = len(BOM)
    closing = data.find(b"\n" + marker.PREFIX + b"end", start, end)
    head = b""
    if closing >= 0 and data.startswith(marker.PREFIX + b"session", start):
        head = writer.head(header, totals, _added_lines(data[start:closing])).encode()
        newline = data.find(b"\n", closing + 1, end)
        start = len(data)
        if newline >= 0:
            start = newline + 1
    return b"".join((head, memoryview(data)[start:end], then))


def _added_lines(data: bytes) -> list[str]:
    """Return the lines that others added to a transcript's header."""
    head = data.partition(b"\n" + marker.PREFIX + b"end")[0]
    added = []
    for line in head.decode("utf-8", "replace").split("\n")[2:]:
        label = line.removeprefix("**").partition(":**")[0]
        if line.strip() and label not in writer.LABELS:
            added.append(line)
    return added
