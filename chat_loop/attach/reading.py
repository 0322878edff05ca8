"""Reading the files that a query names. Unusable ones are rejected with a sentence, before
anything is sent.

A file is read once: the same bytes are sent and stored, even if the file changes. Only regular
files are read, so that a pipe or a device never blocks.
"""

from __future__ import annotations

import os
import stat
from difflib import get_close_matches
from hashlib import sha256
from itertools import islice
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from chat_loop.attach import image_headers
from chat_loop.attach.mentions import mentions
from chat_loop.errors import UsageError, os_reason
from chat_loop.redact import redact_text
from chat_loop.sessions.images import MAX_IMAGE
from chat_loop.sessions.records import EPOCH, Attachment
from chat_loop.wording import attached_text, size_text

MAX_FILES = 20
"""Files of a query. Anthropic's wire takes larger images as long as a request holds no more than 20
(https://docs.anthropic.com/en/docs/build-with-claude/vision)."""
MAX_TEXT = 4 << 20
"""Bytes; the window sets a limit of its own."""
MAX_SIDE = 8_000
"""Pixels of an image in either direction, as Anthropic's wire takes them; the others scale it
down.
"""
AS_TEXT = "A backslash before the @ sends it as text."


class QueryFile(Struct, frozen=True):
    """A file that goes with a query, as it was read. `data` are the bytes of an image, empty when
    it is stored already. `secret`: it contains what looks like a key or a password.
    """

    attachment: Attachment
    data: bytes = b""
    secret: bool = False

    @property
    def description(self) -> str:
        """The file in a few words: `notes.txt, 2.1 KB` or `photo.png, 640×480`."""
        file = self.attachment
        return attached_text(file.name, file.size, file.width, file.height)

    def without_secrets(self) -> QueryFile:
        """Return the file with its keys and passwords redacted."""
        if not self.secret:
            return self
        return QueryFile(replace(self.attachment, text=redact_text(self.attachment.text)))


def read_files(typed: str) -> tuple[tuple[QueryFile, ...], tuple[str, ...]]:
    """Return the files that a query names, and doubtful words. Raises UsageError."""
    try:
        directory = Path.cwd()
    except OSError:  # it was removed
        directory = Path("/")
    named, doubtful = named_files(typed, directory)
    return tuple(read(name, path, directory) for name, path in named), doubtful


def named_files(text: str, directory: Path) -> tuple[tuple[tuple[str, Path], ...], tuple[str, ...]]:
    """Return the files that a query names, as (name as typed, path), each once, and doubtful
    words; paths are relative to `directory`.

    Raises UsageError for a missing file that can only be meant as a path, and for too many files.
    """
    paths: dict[Path, str] = {}
    doubtful: list[str] = []
    for mention in mentions(text):
        for name in mention.names:
            path = _path(name, directory)
            if path is not None and os.path.lexists(path):
                paths.setdefault(path, name)
                break
        else:
            name = mention.names[-1]
            path = _path(name, directory)
            if path is not None and (mention.is_path or mention.is_doubtful):
                near = _nearest(path)
                if mention.is_path or near or ("/" in name and path.parent.is_dir()):
                    folder = name[: name.rfind("/") + 1]
                    meant = f"Did you mean {folder}{near}? " if near else ""
                    raise UsageError(f"There is no file {name}.", f"{meant}{AS_TEXT}")
            if mention.is_doubtful:
                doubtful.append(name)
    if len(paths) > MAX_FILES:
        text = f"A message takes {MAX_FILES} files, and this one names {len(paths)}."
        raise UsageError(text, "Nothing was sent.")
    return tuple((name, path) for path, name in paths.items()), tuple(doubtful)


def _path(name: str, directory: Path) -> Path | None:
    if "\0" in name:
        return None
    return Path(os.path.normpath(directory / os.path.expanduser(name)))  # noqa: PTH111 - Path's own fails without a home


def _nearest(path: Path) -> str:
    """Return the name in the same folder that is nearly that of `path`; empty without one."""
    try:
        with os.scandir(path.parent) as entries:
            names = {entry.name.lower(): entry.name for entry in islice(entries, 1_000)}
    except OSError:
        return ""
    return "".join(names[name] for name in get_close_matches(path.name.lower(), names, 1, 0.8))


def read(name: str, path: Path, directory: Path) -> QueryFile:
    """Read one file. Raises UsageError if it is neither text nor image, or too large."""
    try:
        data = _content(name, path, directory)
        picture = image_headers.read_header(data)
    except OSError as error:
        raise UsageError(f"{name} cannot be read: {os_reason(error)}.", AS_TEXT) from error
    except image_headers.DamagedImage:
        problem = f"{name} is damaged: it begins as an image, and is cut off."
        raise UsageError(problem, AS_TEXT) from None
    media = picture.media if picture is not None else "text/plain"
    digest = sha256(data).hexdigest()
    file = Attachment(number=0, at=EPOCH, name=name, media=media, size=len(data), sha256=digest)
    if picture is None:
        text = _text(name, data)
        return QueryFile(replace(file, text=text), secret=redact_text(text) != text)
    if max(picture.width, picture.height) > MAX_SIDE:
        size = f"{picture.width:,} × {picture.height:,} pixels"
        text = f"{name} has {size}: models take up to {MAX_SIDE:,} each way."
        raise UsageError(text, "Scale it down.")
    return QueryFile(replace(file, width=picture.width, height=picture.height), data)


def _content(name: str, path: Path, directory: Path) -> bytes:
    """Return the bytes of a regular file. Raises UsageError when it is something else or too large,
    and for a link out of the working directory, which somebody else may have planted.
    """
    status = path.stat()
    if stat.S_ISDIR(status.st_mode):
        raise UsageError(f"{name} is a folder: only files can be attached.", AS_TEXT)
    if not stat.S_ISREG(status.st_mode):
        raise UsageError(f"{name} is not a regular file.", AS_TEXT)
    real = path.resolve()
    if path.is_relative_to(directory) and not real.is_relative_to(directory.resolve()):
        hint = f"Name that file itself if it is meant: @{real}"
        raise UsageError(f"{name} is a link to {real}.", hint)
    flags = os.O_RDONLY
    for flag in ("O_NONBLOCK", "O_CLOEXEC", "O_BINARY"):  # not every system has all of them
        flags |= getattr(os, flag, 0)
    with os.fdopen(os.open(path, flags), "rb") as file:
        data = file.read(4096)
        limit, what, hint = MAX_TEXT, "text files", "Take a part of it."
        if image_headers.media_type(data):
            limit, what, hint = MAX_IMAGE, "images", "Scale it down."
        data += file.read(limit + 1 - len(data))
    if len(data) > limit:
        size = size_text(max(status.st_size, len(data)))
        raise UsageError(f"{name} has {size}: {what} can have up to {size_text(limit)}.", hint)
    return data


def _text(name: str, data: bytes) -> str:
    """Decode a text file. Raises UsageError when it is no text."""
    if not data.strip():
        raise UsageError(f"{name} is empty.", AS_TEXT)
    wide = data.startswith((b"\xff\xfe", b"\xfe\xff"))
    try:
        text = data.decode("utf-16" if wide else "utf-8-sig")
    except UnicodeDecodeError:
        text = "\0"
    if "\0" in text or text.startswith("%PDF-"):
        kinds = "a text in UTF-8 nor an image that models take (PNG, JPEG, GIF, WebP)"
        raise UsageError(f"{name} is neither {kinds}.", AS_TEXT)
    return text.replace("\r\n", "\n")
