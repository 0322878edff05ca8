"""Reading the files that a query names (act). What is not taken is refused with a sentence, before
anything is sent.

A file is read once: what was read is what is sent and kept, however the file changes. Only regular
files are read, so that a pipe or a device is never waited for.
"""

from __future__ import annotations

import os
import stat
from hashlib import sha256
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from chat_loop.attach import pictures
from chat_loop.attach.mentions import Mention, mentions
from chat_loop.errors import UsageError, os_reason
from chat_loop.redact import redacted
from chat_loop.sessions.images import LARGEST_IMAGE
from chat_loop.wording import attached_text, file_size_text

MOST_FILES = 20
"""Files of a query. Anthropic's wire takes larger images as long as a request holds no more than 20
(https://docs.anthropic.com/en/docs/build-with-claude/vision)."""
LARGEST_TEXT = 4 << 20
"""Bytes; the window sets a limit of its own."""
LARGEST_SIDE = 8_000
"""Pixels of an image in either direction, as Anthropic's wire takes them; the others scale it
down.
"""
AS_TEXT = "A backslash before the @ sends it as text."
_HEAD = 1 << 12
MOST_COMPARED = 1_000
"""Names of a folder that a missing one is compared with."""


class Given(Struct, frozen=True, kw_only=True):
    """A file as it was read. `text` is what a text file holds; `data` are the bytes of an image.

    `secret`: it holds what looks like a key or a password.
    """

    name: str
    media: str
    size: int
    sha256: str
    text: str = ""
    data: bytes = b""
    width: int = 0
    height: int = 0
    secret: bool = False

    @property
    def told(self) -> str:
        """The file in a few words: `notes.txt, 2.1 KB` or `photo.png, 640×480`."""
        return attached_text(self.name, self.size, self.width, self.height)


class Named(Struct, frozen=True):
    """The files that a query names, as (name as typed, path), each once; and words that may have
    been meant so.
    """

    files: tuple[tuple[str, Path], ...]
    doubtful: tuple[str, ...] = ()


def named_files(text: str, directory: Path) -> Named:
    """What a query names; paths begin in `directory`.

    Raises UsageError for a name that can only be meant as a path, or is nearly a file's, when there
    is nothing; and for too many files.
    """
    found: dict[Path, str] = {}
    doubtful: list[str] = []
    for mention in mentions(text):
        for name in mention.names:
            path = _path(name, directory)
            if path is not None and os.path.lexists(path):
                found.setdefault(path, name)
                break
        else:
            _refuse_missing(mention, directory)
            if mention.is_doubtful:
                doubtful.append(mention.names[-1])
    if len(found) > MOST_FILES:
        raise UsageError(
            f"A message takes {MOST_FILES} files, and this one names {len(found)}.",
            "Nothing was sent.",
        )
    return Named(tuple((name, path) for path, name in found.items()), tuple(doubtful))


def read(name: str, path: Path, directory: Path) -> Given:
    """Read one file. Raises UsageError for what is no text and no image that models take, and for
    what is too large.
    """
    try:
        _refuse_strays(name, path, directory)
        data, size = _content(name, path)
    except OSError as error:
        raise UsageError(f"{name} cannot be read: {os_reason(error)}.", AS_TEXT) from error
    digest = sha256(data).hexdigest()
    try:
        picture = pictures.picture(data)
    except pictures.Damaged:
        raise UsageError(
            f"{name} is damaged: it begins as an image, and is cut off.", AS_TEXT
        ) from None
    if picture is None:
        text = _text(name, data)
        secret = redacted(text) != text
        return Given(
            name=name, media="text/plain", size=size, sha256=digest, text=text, secret=secret
        )
    if max(picture.width, picture.height) > LARGEST_SIDE:
        raise UsageError(
            f"{name} has {picture.width:,} × {picture.height:,} pixels: models take up to "
            f"{LARGEST_SIDE:,} each way.",
            "Scale it down.",
        )
    return Given(
        name=name,
        media=picture.media,
        size=size,
        sha256=digest,
        data=data,
        width=picture.width,
        height=picture.height,
    )


def without_secrets(file: Given) -> Given:
    """The file with marks in the place of what looks like a key or a password."""
    return replace(file, text=redacted(file.text), secret=False) if file.secret else file


def _path(name: str, directory: Path) -> Path | None:
    if "\0" in name:
        return None
    return Path(os.path.normpath(directory / os.path.expanduser(name)))  # noqa: PTH111 - Path's own fails without a home


def _refuse_missing(mention: Mention, directory: Path) -> None:
    """What looks like a path is not sent as if it were none: the file would be missed."""
    name = mention.names[-1]
    path = _path(name, directory)
    if path is None or not (mention.is_path or mention.is_doubtful):
        return
    near = _near(path)
    if mention.is_path or near or ("/" in name and path.parent.is_dir()):
        folder, slash, _ = name.rpartition("/")
        meant = f"Did you mean {folder}{slash}{near}? " if near else ""
        raise UsageError(f"There is no file {name}.", f"{meant}{AS_TEXT}")


def _near(path: Path) -> str:
    """The name in the same folder that is most like a path's, if one is."""
    from difflib import get_close_matches

    names: dict[str, str] = {}
    try:
        with os.scandir(path.parent) as entries:
            for entry in entries:
                if len(names) == MOST_COMPARED:
                    break
                names[entry.name.lower()] = entry.name
    except OSError:
        return ""
    return next((names[near] for near in get_close_matches(path.name.lower(), names, 1, 0.8)), "")


def _refuse_strays(name: str, path: Path, directory: Path) -> None:
    """A link in the working directory that leads out of it may be somebody else's doing. Raises
    OSError as well.
    """
    status = path.stat()
    if stat.S_ISDIR(status.st_mode):
        raise UsageError(f"{name} is a folder: only files can be attached.", AS_TEXT)
    if not stat.S_ISREG(status.st_mode):
        raise UsageError(f"{name} is not a regular file.", AS_TEXT)
    real = path.resolve()
    if path.is_relative_to(directory) and not real.is_relative_to(directory.resolve()):
        raise UsageError(
            f"{name} is a link to {real}.", f"Name that file itself if it is meant: @{real}"
        )


def _content(name: str, path: Path) -> tuple[bytes, int]:
    """The whole file and its size in bytes. Raises UsageError when it is too large, and OSError."""
    flags = (
        os.O_RDONLY
        | getattr(os, "O_NONBLOCK", 0)
        | getattr(os, "O_CLOEXEC", 0)
        | getattr(os, "O_BINARY", 0)
    )
    with os.fdopen(os.open(path, flags), "rb") as file:
        status = os.fstat(file.fileno())
        if not stat.S_ISREG(status.st_mode):  # another one since it was looked at
            raise UsageError(f"{name} is not a regular file.", AS_TEXT)
        data = file.read(_HEAD)
        image = bool(pictures.kind(data))
        most = LARGEST_IMAGE if image else LARGEST_TEXT
        data += file.read(most + 1 - len(data))
    size = max(status.st_size, len(data))
    if len(data) > most:
        what = "images" if image else "text files"
        raise UsageError(
            f"{name} has {file_size_text(size)}: {what} can have up to {file_size_text(most)}.",
            "Scale it down." if image else "Take a part of it.",
        )
    return data, len(data)


def _text(name: str, data: bytes) -> str:
    """What a text file holds. Raises UsageError when it is none."""
    if not data.strip():
        raise UsageError(f"{name} is empty.", AS_TEXT)
    if data.startswith(b"%PDF-"):
        raise UsageError(f"{name} is a PDF, which is not taken.", "pdftotext makes a text of it.")
    wide = data.startswith((b"\xff\xfe", b"\xfe\xff"))
    try:
        text = data.decode("utf-16" if wide else "utf-8-sig")
    except UnicodeDecodeError:
        text = "\0"
    if "\0" in text:
        raise UsageError(
            f"{name} is neither a text in UTF-8 nor an image that models take (PNG, JPEG, "
            "GIF, WebP).",
            AS_TEXT,
        )
    return text.replace("\r\n", "\n")
