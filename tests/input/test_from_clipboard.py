"""What the programs of desktops say of the clipboard, with programs that answer like them."""

from __future__ import annotations

import os
from base64 import b64encode
from collections.abc import Mapping
from pathlib import Path

import pytest

from chat_loop.errors import UsageError
from chat_loop.input import from_clipboard
from chat_loop.input.from_clipboard import Clip, program, take
from tests.support.clipboards import Clipboard
from tests.support.images import png

PHOTO = png(640, 480)
X11 = {"DISPLAY": ":0"}
WAYLAND = {"WAYLAND_DISPLAY": "wayland-0", "DISPLAY": ":0"}
NOTHING = "The clipboard has neither an image nor text."


@pytest.fixture
def clipboard(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Clipboard:
    clipboard = Clipboard(tmp_path)
    for name, value in clipboard.environment.items():
        monkeypatch.setenv(name, value)
    return clipboard


async def refused(environment: Mapping[str, str], platform: str = "linux") -> str:
    with pytest.raises(UsageError) as error:
        await take(environment, platform)
    assert error.value.hint
    return error.value.message


@pytest.mark.parametrize(
    ("contents", "clip"),
    [
        ({"image/png": PHOTO}, Clip(image=PHOTO)),
        ({"image/bmp": b"BM", "image/jpeg": b"\xff\xd8\xff"}, Clip(image=b"\xff\xd8\xff")),
        ({"UTF8_STRING": "Grüße\n".encode()}, Clip("Grüße\n")),
        ({"STRING": b"a", "image/png": PHOTO}, Clip("a")),
        ({"text/plain;charset=utf-8": b"\xff!"}, Clip("\ufffd!")),
        ({"text/uri-list": b"file:///a%20b.png\r\n"}, Clip("file:///a%20b.png\r\n")),
        ({"text/uri-list": b"https://a.example/b.png", "image/png": PHOTO}, Clip(image=PHOTO)),
    ],
)
async def test_text_comes_before_an_image_and_an_image_before_addresses(
    clipboard: Clipboard, contents: Mapping[str, bytes], clip: Clip
) -> None:
    clipboard.put(contents)
    assert await take(X11, "linux") == clip


async def test_a_clipboard_without_anything_usable(clipboard: Clipboard) -> None:
    clipboard.put({})
    assert await refused(X11) == NOTHING
    clipboard.put({"text/html": b"<p>", "image/png": b""})
    assert await refused(X11) == NOTHING
    clipboard.put({"image/heic": PHOTO})
    message = "The image in the clipboard is image/heic, which models do not accept."
    assert await refused(X11) == message
    clipboard.install("xclip", "echo image/png; exit 1")
    assert await refused(X11) == NOTHING


async def test_wayland_is_asked_before_x11(clipboard: Clipboard, tmp_path: Path) -> None:
    clipboard.put({"STRING": b"old"})
    (tmp_path / "photo").write_bytes(PHOTO)
    clipboard.install(
        "wl-paste",
        f"""case "$*" in
--list-types) echo image/png;;
"--no-newline --type image/png") cat {tmp_path}/photo;;
esac""",
    )
    assert await take(WAYLAND, "linux") == Clip(image=PHOTO)


@pytest.mark.parametrize(
    ("answer", "clip"),
    [
        (b"image " + b64encode(PHOTO) + b"\r\n", Clip(image=PHOTO)),
        (b"text " + b64encode(b"C:\\a b.png"), Clip("C:\\a b.png")),
    ],
)
async def test_the_clipboard_of_windows_is_asked_in_wsl(
    clipboard: Clipboard, tmp_path: Path, answer: bytes, clip: Clip
) -> None:
    (tmp_path / "answer").write_bytes(answer)
    clipboard.install("powershell.exe", f"cat {tmp_path}/answer")
    assert await take(WAYLAND, "linux") == clip
    (tmp_path / "answer").write_bytes(b"image !!!!!")
    assert await refused(WAYLAND) == NOTHING


@pytest.mark.parametrize(
    ("info", "clip"),
    [
        ("«class PNGf», 99, TIFF picture, 999", Clip(image=PHOTO)),
        ("«class utf8», 5, string, 5, Unicode text, 10", Clip("words")),
        ("«class furl», 30, «class utf8», 5, «class PNGf», 99", Clip("/a b.png")),
    ],
)
async def test_the_clipboard_of_a_mac(clipboard: Clipboard, info: str, clip: Clip) -> None:
    clipboard.install("pbpaste", "printf words")
    clipboard.install(
        "osascript",
        f"""case "$2" in
"clipboard info") echo '{info}';;
*PNGf*) echo '«data PNGf{PHOTO.hex().upper()}»';;
*furl*) echo '/a b.png';;
esac""",
    )
    assert await take({}, "darwin") == clip


async def test_a_hung_owner_of_the_clipboard_is_given_up(
    clipboard: Clipboard, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(from_clipboard, "SECONDS", 0.2)
    clipboard.install("xclip", f"echo $$ > {tmp_path}/pid; exec sleep 1000")
    message = await refused(X11)
    assert message == "The clipboard did not answer within 0 seconds (xclip)."
    if (tmp_path / "pid").exists():  # it had begun
        with pytest.raises(ProcessLookupError):
            os.killpg(int((tmp_path / "pid").read_text()), 0)


async def test_a_clipboard_of_80_mb_is_not_read_to_its_end(clipboard: Clipboard) -> None:
    clipboard.install("xclip", "echo image/png; head -c 80000000 /dev/zero")
    assert await refused(X11) == "The clipboard has more than 75 MB."


@pytest.mark.parametrize(
    ("environment", "message"),
    [
        ({"SSH_CONNECTION": "1", **WAYLAND}, "Over SSH, the clipboard of your own machine cannot be read."),
        ({"SSH_TTY": "/dev/pts/1"}, "Over SSH, the clipboard of your own machine cannot be read."),
        ({}, "There is no display here, and so no clipboard."),
        (X11, "Reading the clipboard needs xclip."),
        (WAYLAND, "Reading the clipboard needs wl-paste."),
    ],
)  # fmt: skip
def test_without_a_program_a_sentence_says_what_to_do(
    environment: Mapping[str, str], message: str
) -> None:
    with pytest.raises(UsageError) as error:
        program(environment, lambda name: None, "linux")
    assert error.value.message == message
    assert "Name an image file with @" in error.value.hint


def test_the_program_that_is_there_is_taken() -> None:
    assert program(WAYLAND, {"xclip": "/usr/bin/xclip"}.get, "linux") == "xclip"
    assert program(WAYLAND, lambda name: name, "linux") == "powershell.exe"
    assert program({}, lambda name: None, "darwin") == "osascript"
