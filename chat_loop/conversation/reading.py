"""Read the files and folders that a query names; unusable ones are rejected before it is sent."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence
from hashlib import sha256
from importlib import util
from itertools import islice
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from chat_loop.agent.secret_gate import Released
from chat_loop.conversation import confined
from chat_loop.conversation.image_headers import MAX_PIXELS, image_size, media_type
from chat_loop.conversation.mentions import mentions
from chat_loop.errors import UsageError, install_hint, os_reason
from chat_loop.redact.outgoing import Outgoing, TextSource, judge
from chat_loop.sessions.escape import encode_line
from chat_loop.sessions.files import read_part, walk_files, working_folder
from chat_loop.sessions.images import MAX_IMAGE
from chat_loop.sessions.records import EPOCH, Attachment
from chat_loop.values import Picture, attached_text, size_text

MAX_FILES = 20  # per query
MAX_TEXT = 4 << 20  # bytes; the window sets another limit
MAX_FILE = 32 << 20  # of a PDF, and of an image that is scaled down
PDF = "application/pdf"
PDF_SECONDS = 30.0  # pdf_child stops after half of it; this stops a single endless page
MAX_LISTED = 1_000  # files per folder
MAX_SIDE = 8_000  # pixels of an image in either direction, which is Anthropic's limit
SCALING_SECONDS = 30.0
AS_TEXT = "To send it as text, put a backslash before the @."
DAMAGED_HINT = "Open it in a viewer, and save it again."


class QueryFile(Struct, frozen=True):
    """A file of a query. Only an image has `data`. `outgoing` is the file as it is judged before it
    is sent; None if it was sent before. `left_out` is the reason why it is not sent. `scaled_from`
    is the size in pixels that an image had before it was scaled down.
    """

    attachment: Attachment
    data: bytes = b""
    outgoing: Outgoing | None = None
    left_out: str = ""
    scaled_from: tuple[int, int] | None = None

    @property
    def description(self) -> str:
        """The file in a few words: `notes.txt, 2.1 KB` or `photo.png, 640×480`."""
        file = self.attachment
        text = attached_text(file.name, file.size, file.width, file.height)
        if self.scaled_from is not None:
            width, height = self.scaled_from
            text += f" (scaled down from {width}×{height})"
        return text

    def released(self, sent: Released) -> QueryFile:
        """Return the file as it is sent."""
        if self.data:
            return replace(self, left_out=sent.left_out)
        attachment = replace(self.attachment, text=sent.text)
        return replace(self, attachment=attachment, left_out=sent.left_out)


def read_files(text: str, pictures: Sequence[Picture] = ()) -> tuple[QueryFile, ...]:
    """Return the files that a query names, each once, and the `pictures` that have no file. Raises
    UsageError for an unusable one.
    """
    directory = working_folder() or Path("/")
    paths: dict[Path, str] = {}
    for mention in mentions(text):
        names = [name for name in mention.names if "\0" not in name]
        for name in names:  # Path.expanduser fails without a home
            path = Path(os.path.normpath(directory / os.path.expanduser(name)))  # noqa: PTH111 - Path raises without a home
            if os.path.lexists(path):
                paths.setdefault(path, name)
                break
        else:
            if names and mention.is_path:
                raise UsageError(f"No file named {names[-1]}.", AS_TEXT)
    count = len(paths) + len(pictures)
    if count > MAX_FILES:
        problem = f"A message can have {MAX_FILES} files; this one names {count}."
        raise UsageError(problem, "Nothing was sent.")
    files = [read(name, path, directory) for path, name in paths.items()]
    files += [picture(each.name, each.data, each.size) for each in pictures]
    return tuple(sorted(files, key=lambda file: _position(text, file.attachment.name)))


def _position(text: str, name: str) -> int:
    """Return where a text names a file or a pasted image."""
    positions = [text.find(form) for form in (f"@{name}", f'@"{name}"', f"[{name}: ")]
    return min((position for position in positions if position >= 0), default=len(text))


def read(name: str, path: Path, directory: Path) -> QueryFile:
    """Read one file. Raises UsageError if it is unusable, or a link that leaves `directory`."""
    real = Path(os.path.realpath(path))
    if path.is_relative_to(directory) and not real.is_relative_to(os.path.realpath(directory)):
        hint = f"To send that file, name it: @{real}"
        raise UsageError(f"{name} is a link to {real}.", hint)
    try:
        if real.is_dir():
            data = _listing(name, real).encode()
            size = len(data)
        else:
            data, status = read_part(real, MAX_FILE + 1)
            size = max(status.st_size, len(data))
    except OSError as error:
        raise UsageError(f"{name} cannot be read: {os_reason(error)}.", AS_TEXT) from error
    source = TextSource(name, (str(path), str(real)), str(real))
    if media_type(data):
        # an image has no text to judge: its name stands for it
        return replace(picture(name, data, size), outgoing=judge(name, source))
    is_pdf = data.startswith(b"%PDF-")
    limit = MAX_FILE if is_pdf else MAX_TEXT
    if len(data) > limit:
        raise _too_large(name, size, limit, "Send a part of it.")
    text = _pdf_text(name, data) if is_pdf else _decode(name, data)
    file = Attachment(
        number=0,
        at=EPOCH,
        name=name,
        media=PDF if is_pdf else "text/plain",
        size=len(data),
        sha256=sha256(data).hexdigest(),
        text=text,
    )
    return QueryFile(file, outgoing=judge(text, source))


def picture(name: str, data: bytes, size: int) -> QueryFile:
    """Return an image, scaled down if models would refuse it. `size` is that of its whole file.
    Raises UsageError.
    """
    pixels = image_size(data)
    is_heavy = size > MAX_IMAGE
    if is_heavy and not _can_scale():
        hint = f"Scale it down, or let chat-loop do it: {install_hint('images')}"
        raise _too_large(name, size, MAX_IMAGE, hint)
    if size > MAX_FILE:
        raise _too_large(name, size, MAX_FILE, "Scale it down.")
    if not all(pixels):
        raise UsageError(f"{name} is damaged: the image is cut off.", DAMAGED_HINT)
    scaled_from = None
    if is_heavy or max(pixels) > MAX_SIDE:
        data = _scaled(name, data, pixels)
        scaled_from = pixels
        pixels = image_size(data)
    file = Attachment(
        number=0,
        at=EPOCH,
        name=name,
        media=media_type(data),
        size=len(data),
        sha256=sha256(data).hexdigest(),
        width=pixels[0],
        height=pixels[1],
    )
    return QueryFile(file, data, scaled_from=scaled_from)


def _too_large(name: str, size: int, limit: int, hint: str) -> UsageError:
    text = f"{name} is too large: {size_text(size)}. The limit is {size_text(limit)}."
    return UsageError(text, hint)


def _can_scale() -> bool:
    return util.find_spec("PIL") is not None


def _scaled(name: str, data: bytes, pixels: tuple[int, int]) -> bytes:
    """Return an image that models accept, made in a separate process. Raises UsageError."""
    width, height = pixels
    text = f"{name} is too large: {width:,} × {height:,} pixels. "
    if width * height > MAX_PIXELS:
        text += f"The limit is {MAX_PIXELS // 1_000_000} megapixels."
        raise UsageError(text, "Scale it down.")
    if not _can_scale():
        text += f"Models accept up to {MAX_SIDE:,} each way."
        raise UsageError(text, f"Scale it down, or let chat-loop do it: {install_hint('images')}")
    try:
        return confined.run("chat_loop.conversation.image_child", data, SCALING_SECONDS)
    except subprocess.SubprocessError as error:
        text += "It cannot be scaled down: it is damaged."
        raise UsageError(text, DAMAGED_HINT) from error


def _listing(name: str, folder: Path) -> str:
    """Return the paths of the files in a folder and its subfolders, relative to the folder."""
    files = (encode_line(path.relative_to(folder).as_posix()) for path in walk_files(folder))
    paths = list(islice(files, MAX_LISTED + 1)) or ["(none)"]
    paths[MAX_LISTED:] = [f"[cut: the first {MAX_LISTED:,}]"] if paths[MAX_LISTED:] else []
    return "\n".join([f"Files in the folder {encode_line(name)}:", *paths])


def _pdf_text(name: str, data: bytes) -> str:
    """Return the text of a PDF, read in a separate process. Raises UsageError."""
    if util.find_spec("pypdf") is None:
        raise UsageError(f"{name} is a PDF: reading it needs pypdf.", install_hint("pdf"))
    try:
        text = confined.run("chat_loop.conversation.pdf_child", data, PDF_SECONDS)
    except subprocess.SubprocessError as error:
        reasons = "it is damaged, encrypted, too complex, or has only pictures"
        raise UsageError(f"{name} has no text that can be read: {reasons}.", AS_TEXT) from error
    return text.decode()


def _decode(name: str, data: bytes) -> str:
    """Decode a text file. Raises UsageError if it is empty or not text."""
    if not data.strip():
        raise UsageError(f"{name} is empty.", AS_TEXT)
    wide = data.startswith((b"\xff\xfe", b"\xfe\xff"))
    try:
        text = data.decode("utf-16" if wide else "utf-8-sig")
    except UnicodeDecodeError:
        text = "\0"
    if "\0" in text:
        kinds = "UTF-8 text nor a PDF, nor an image that models accept (PNG, JPEG, GIF, WebP)"
        raise UsageError(f"{name} is neither {kinds}.", AS_TEXT)
    return text.replace("\r\n", "\n")
