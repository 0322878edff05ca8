"""Reading what is to be imported: one file, or a folder of transcripts such as basic-agent-chat-loop's."""

from __future__ import annotations

import os
from pathlib import Path

from chat_loop.errors import SessionError
from chat_loop.export.importing import LARGEST, Imported, imported, united
from chat_loop.sessions.escape import encode_line
from chat_loop.sessions.files import read_part


def gathered(path: Path) -> Imported:
    """Read a file, or every `*.md` that stands directly in a folder (no symbolic links). Nothing is changed.

    Raises SessionError when the path itself cannot be read; what is wrong with one file of a folder is a complaint.
    """
    try:
        if path.is_dir():
            return _folder(path)
        data, _, _ = read_part(path.resolve(), LARGEST + 1)
    except OSError as error:
        raise SessionError(f"{path} cannot be read: {error.strerror or error}.") from error
    return imported(data, path.name)


def _folder(path: Path) -> Imported:
    parts: list[Imported] = []
    with os.scandir(path) as entries:
        found = sorted(
            (entry.name, entry.is_file(follow_symlinks=False))
            for entry in entries
            if entry.name.endswith(".md") and not entry.name.startswith(".")
        )
    for name, regular in found:
        shown = encode_line(name)[:100]
        if not regular:
            parts.append(Imported(complaints=(f"{shown}: It is a link, a folder or a device, and is left out.",)))
            continue
        try:
            data, _, _ = read_part(path / name, LARGEST + 1)
        except OSError as error:
            parts.append(Imported(complaints=(f"{shown}: It cannot be read: {error.strerror or error}.",)))
            continue
        parts.append(imported(data, name))
    if not found:
        return Imported(complaints=(f"{encode_line(path.name)[:100]}: No file in the folder ends in .md.",))
    return united(parts)
