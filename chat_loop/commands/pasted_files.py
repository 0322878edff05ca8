"""What comes into the line: files that are dropped on the terminal, and the clipboard."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from chat_loop.conversation.image_headers import image_size, media_type
from chat_loop.conversation.mentions import mention_of
from chat_loop.conversation.reading import MAX_FILE, picture
from chat_loop.errors import UsageError
from chat_loop.input import from_clipboard
from chat_loop.sessions.files import read_part, working_folder
from chat_loop.tasks import in_daemon_thread
from chat_loop.values import Picture

CLIPBOARD = "The image in the clipboard"


async def clipboard() -> str | Picture:
    """Return the text or the image in the clipboard. Raises UsageError."""
    clip = await from_clipboard.take()
    if clip.text:
        return clip.text
    data = clip.image
    if not media_type(data):  # some programs answer with text when they have no image
        raise UsageError(f"{CLIPBOARD} cannot be read.", "Copy it again, or save it as a file.")
    file = await in_daemon_thread(picture, CLIPBOARD, data, len(data))
    width = file.attachment.width
    return Picture(width, file.attachment.height, len(file.data), data=file.data)


def files_of(readings: Sequence[Sequence[str]]) -> tuple[str | Picture, ...]:
    """Return the files of the first of the `readings` that only names files, as `@path` or as
    images; nothing if there is none.
    """
    for paths in readings:
        named = [os.path.expanduser(path) for path in paths]  # noqa: PTH111 - Path raises without a home
        mentions = [_mention(path) for path in named]
        if all(mentions):
            return tuple(map(_as_picture, named, mentions))
    return ()


def _mention(path: str) -> str:
    """Return the `@path` of a file; empty if there is none, or no `@path` can name it."""
    if not os.path.isfile(path):  # noqa: PTH113 - Path raises for a path that is too long
        return ""
    folder = f"{working_folder()}/"
    return mention_of(path.removeprefix(folder))


def _as_picture(path: str, mention: str) -> str | Picture:
    """Return an image with its size, and any other file as its `@path`."""
    try:
        data, status = read_part(Path(os.path.realpath(path)), MAX_FILE + 1)
    except OSError:
        return mention
    if not media_type(data):
        return mention
    width, height = image_size(data)
    if not width:  # it is damaged, which Enter says
        return mention
    return Picture(width, height, status.st_size, mention=mention)
