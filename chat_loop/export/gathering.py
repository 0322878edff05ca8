"""Reading what is to be imported: one file, or a folder of transcripts such as
basic-agent-chat-loop's.
"""

from __future__ import annotations

import contextlib
import os
import re
from pathlib import Path
from urllib.parse import unquote

from msgspec.structs import replace

from chat_loop.errors import SessionError
from chat_loop.export.importing import LARGEST, Imported, imported, united
from chat_loop.sessions.escape import encode_line
from chat_loop.sessions.files import Files, read_part
from chat_loop.sessions.images import ImageGone, ImageStore
from chat_loop.sessions.records import Attachment

_LINK = re.compile(
    rb"^!\[\d{1,9}\xc3\x97\d{1,9}\]\(([^()/\\\n]{1,300})/[0-9a-f]{64}\.[a-z]{3,4}\)\r?$",
    re.MULTILINE,
)
"""A link to an image, as a transcript has it: the folder."""


def gathered(path: Path) -> Imported:
    """Read a file, or every `*.md` that stands directly in a folder (no symbolic links). Nothing is
    changed.

    Raises SessionError when the path itself cannot be read; what is wrong with one file of a folder
    is a complaint.
    """
    try:
        if path.is_dir():
            return _folder(path)
        data, _, _ = read_part(path.resolve(), LARGEST + 1)
    except OSError as error:
        raise SessionError(f"{path} cannot be read: {error.strerror or error}.") from error
    return _with_images(imported(data, path.name), data, path.parent)


def _with_images(found: Imported, data: bytes, directory: Path) -> Imported:
    """The sessions of a document with the images that stand in the folders beside it which it links
    to.
    """
    names = {unquote(name.decode("utf-8", "replace")) for name in _LINK.findall(data)}
    stores = [
        ImageStore(directory, Files(), name)
        for name in sorted(names)
        if name not in (".", "..") and "/" not in name
    ]
    images = dict(found.images)
    attached = {
        entry.file
        for one in found.sessions
        for entry in one.entries
        if isinstance(entry, Attachment)
    }
    for file in attached - {""}:
        for store in stores:
            with contextlib.suppress(ImageGone, ValueError):
                images[file] = store.data(file)
    return replace(found, images=images)


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
            parts.append(
                Imported(
                    complaints=(f"{shown}: It is a link, a folder or a device, and is left out.",)
                )
            )
            continue
        try:
            data, _, _ = read_part(path / name, LARGEST + 1)
        except OSError as error:
            parts.append(
                Imported(complaints=(f"{shown}: It cannot be read: {error.strerror or error}.",))
            )
            continue
        parts.append(_with_images(imported(data, name), data, path))
    if not found:
        return Imported(
            complaints=(f"{encode_line(path.name)[:100]}: No file in the folder ends in .md.",)
        )
    return united(parts)
