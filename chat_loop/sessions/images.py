"""The images of a sessions folder: stored under the digests of their bytes, never deleted."""

from __future__ import annotations

import re
from contextlib import ExitStack, closing, suppress
from pathlib import Path, PurePosixPath

from chat_loop.errors import ChatLoopError, os_reason
from chat_loop.sessions.files import Files, read_part, take_lock
from chat_loop.sessions.records import IMAGE_FOLDER, IMAGES
from chat_loop.values import sha256

MAX_IMAGE = (5 << 20) * 3 // 4
"""The most bytes of an image. In base64 they are 5 MiB, the limit of Anthropic's service, which is
the lowest of all services (https://docs.anthropic.com/en/docs/build-with-claude/vision).
"""
IMAGE_PATH = re.compile(rf"{IMAGE_FOLDER}/([0-9a-f]{{64}})\.(?:{'|'.join(IMAGES.values())})")


class ImageUnavailable(ChatLoopError):
    """An image cannot be read again; the message says why, as the rest of a sentence."""


def is_image(file: str, data: bytes) -> bool:
    """Return True when these are the bytes of the image that an `Attachment.file` names."""
    match = IMAGE_PATH.fullmatch(file)
    return match is not None and len(data) <= MAX_IMAGE and sha256(data) == match[1]


class ImageStore:
    """The images of a folder. Without `files`, or while writing fails, they stay in memory."""

    def __init__(self, directory: Path, files: Files | None, *, locks: bool = False) -> None:
        self._folder = directory / IMAGE_FOLDER
        self._files = files
        self._locks = locks
        self._unsaved: dict[str, bytes] = {}

    def keep(self, file: str, data: bytes) -> None:
        """Store an image under its `Attachment.file`, unless it exists. Raises OSError, and Locked
        when another process keeps the folder of images for a second.
        """
        path = self._folder / PurePosixPath(file).name
        with suppress(OSError):  # it is not there
            if read_part(path, MAX_IMAGE + 1)[0] == data:
                return
        self._unsaved[file] = data
        if self._files is not None:
            self._files.make_directory(path.parent)
            with ExitStack() as locks:
                if self._locks:  # otherwise a clean-up takes the new file for a leftover
                    lock = take_lock(path.parent.parent, IMAGE_FOLDER, seconds=1)
                    locks.enter_context(closing(lock))
                self._files.replace(path, data)
            del self._unsaved[file]

    def data(self, file: str) -> bytes:
        """Return the bytes of the image `file`. Raises ImageUnavailable when it is lost."""
        if not file:
            raise ImageUnavailable("its record is damaged")
        if file in self._unsaved:
            return self._unsaved[file]
        try:
            data, _ = read_part(self._folder / PurePosixPath(file).name, MAX_IMAGE + 1)
        except FileNotFoundError:
            raise ImageUnavailable("its copy is gone") from None
        except OSError as error:
            raise ImageUnavailable(f"its copy cannot be read: {os_reason(error)}") from error
        if sha256(data) != PurePosixPath(file).stem:  # of an image or an old text
            raise ImageUnavailable("its copy was changed")
        return data
