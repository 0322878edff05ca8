"""Takes text or an image from the clipboard, with the programs that desktops have for that."""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import shutil
import signal
import sys
from base64 import b64decode, b64encode
from collections.abc import Callable, Mapping, Sequence

from msgspec import Struct

from chat_loop.errors import UsageError
from chat_loop.values import size_text

SECONDS = 5.0
"""How long a program may take: the one that owns the clipboard must answer it, and may hang."""
LARGEST = 72 << 20  # bytes that a program may write
TEXTS = ("text/plain;charset=utf-8", "UTF8_STRING", "text/plain", "STRING")
IMAGES = ("image/png", "image/jpeg", "image/webp", "image/gif")
FILES = "text/uri-list"
PASTE_KEY = "The terminal's own key for pasting, such as Ctrl-Shift-V or Cmd-V, pastes text."
AT_PATH = "Name an image file with @, or drop it on the terminal."
_WINDOWS = """
Add-Type -AssemblyName System.Windows.Forms
$text = [Windows.Forms.Clipboard]::GetText()
$files = [Windows.Forms.Clipboard]::GetFileDropList()
$image = [Windows.Forms.Clipboard]::GetImage()
if ($files.Count) { $text = $files -join [char]10 }
if ($text) { 'text ' + [Convert]::ToBase64String([Text.Encoding]::UTF8.GetBytes($text)) }
elseif ($image) {
  $out = New-Object IO.MemoryStream
  $image.Save($out, [Drawing.Imaging.ImageFormat]::Png)
  'image ' + [Convert]::ToBase64String($out.ToArray())
}
"""
_MAC_DATA = re.compile(rb"PNGf([0-9A-Fa-f]*)")


class Clip(Struct, frozen=True):
    """What the clipboard has: text, or else an image."""

    text: str = ""
    image: bytes = b""


def program(
    environment: Mapping[str, str], which: Callable[[str], str | None], platform: str
) -> str:
    """Return the program that reads the clipboard. Raises UsageError if there is none.

    Over SSH the clipboard is that of another machine, which no program here reaches.
    """
    if environment.get("SSH_CONNECTION") or environment.get("SSH_TTY"):
        text = "Over SSH, the clipboard of your own machine cannot be read."
        raise UsageError(text, f"Copy the image here, for example with scp. {AT_PATH} {PASTE_KEY}")
    if platform == "darwin":
        return "osascript"
    if which("powershell.exe"):  # WSL: its own clipboard gets no images from Windows
        return "powershell.exe"
    wanted = []
    if environment.get("WAYLAND_DISPLAY"):
        wanted.append("wl-paste")
    if environment.get("DISPLAY"):
        wanted.append("xclip")
    for name in wanted:
        if which(name):
            return name
    if not wanted:
        raise UsageError("There is no display here, and so no clipboard.", f"{AT_PATH} {PASTE_KEY}")
    package = "wl-clipboard" if wanted[0] == "wl-paste" else "xclip"
    hint = f"Install {package} with the package manager of your system. {AT_PATH} {PASTE_KEY}"
    raise UsageError(f"Reading the clipboard needs {wanted[0]}.", hint)


async def take(environment: Mapping[str, str] = os.environ, platform: str = sys.platform) -> Clip:
    """Return what the clipboard has. Raises UsageError if that is nothing, or cannot be read."""
    match program(environment, shutil.which, platform):
        case "osascript":
            clip = await _from_mac()
        case "powershell.exe":
            clip = await _from_windows()
        case "wl-paste":
            clip = await _of_kinds(
                ("wl-paste", "--no-newline", "--type"), "wl-paste", "--list-types"
            )
        case _:
            x11 = ("xclip", "-selection", "clipboard", "-out", "-target")
            clip = await _of_kinds(x11, *x11, "TARGETS")
    if clip.text or clip.image:
        return clip
    hint = f"Copy an image, and press Ctrl-V again. {AT_PATH}"
    raise UsageError("The clipboard has neither an image nor text.", hint)


async def _of_kinds(getting: Sequence[str], *listing: str) -> Clip:
    """Return the clipboard by the kinds of contents that `listing` names. Text comes first: a table
    of numbers, too, is offered as an image. `getting` is the program that takes a kind.
    """
    kinds = (await _output(*listing)).decode("utf-8", "replace").split("\n")
    offered = [kind.strip() for kind in kinds]
    chosen = next((kind for kind in (*TEXTS, *IMAGES, FILES) if kind in offered), "")
    if not chosen:
        images = [kind for kind in offered if kind.startswith("image/")]
        if images:
            text = f"The image in the clipboard is {images[0]}, which models do not accept."
            raise UsageError(text, "Save it as PNG or JPEG, and name the file with @.")
        return Clip()
    data = await _output(*getting, chosen)
    if chosen in IMAGES:
        return Clip(image=data)
    return Clip(text=data.decode("utf-8", "replace").rstrip("\0"))


async def _from_mac() -> Clip:
    kinds = (await _output("osascript", "-e", "clipboard info")).decode("utf-8", "replace")
    if "furl" in kinds:
        script = "POSIX path of (the clipboard as «class furl»)"
        path = await _output("osascript", "-e", script)
        return Clip(text=path.decode("utf-8", "replace").strip())
    if "string" in kinds or "text" in kinds:
        return Clip(text=(await _output("pbpaste")).decode("utf-8", "replace"))
    data = await _output("osascript", "-e", "the clipboard as «class PNGf»")
    found = _MAC_DATA.search(data)
    return Clip(image=bytes.fromhex(found[1].decode()) if found else b"")


async def _from_windows() -> Clip:
    script = b64encode(_WINDOWS.encode("utf-16-le")).decode()  # it needs no quoting
    options = ("-NoProfile", "-NonInteractive", "-STA", "-EncodedCommand", script)
    kind, _, encoded = (await _output("powershell.exe", *options)).strip().partition(b" ")
    try:
        data = b64decode(encoded)
    except ValueError:
        return Clip()
    if kind == b"image":
        return Clip(image=data)
    return Clip(text=data.decode("utf-8", "replace"))


async def _output(*command: str) -> bytes:
    """Return what a program writes; nothing if it fails. Raises UsageError if it takes too long or
    writes too much.
    """
    quiet = asyncio.subprocess.DEVNULL
    pipe = asyncio.subprocess.PIPE
    try:
        process = await asyncio.create_subprocess_exec(
            *command, stdin=quiet, stdout=pipe, stderr=quiet, start_new_session=True
        )
    except OSError:
        return b""
    assert process.stdout is not None
    data = bytearray()
    try:
        async with asyncio.timeout(SECONDS):
            while piece := await process.stdout.read(1 << 20):
                data += piece
                if len(data) > LARGEST:
                    text = f"The clipboard has more than {size_text(LARGEST)}."
                    raise UsageError(text, "Save it as a file, and name that with @.")
            code = await process.wait()
    except TimeoutError:
        text = f"The clipboard did not answer within {SECONDS:.0f} seconds ({command[0]})."
        raise UsageError(
            text, "Copy it again, or close the program that you copied from."
        ) from None
    finally:
        if process.returncode is None:
            with contextlib.suppress(ProcessLookupError):  # it has just ended
                os.killpg(process.pid, signal.SIGKILL)
            await process.wait()
    return b"" if code else bytes(data)
