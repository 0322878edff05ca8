"""Images in the line: pasted with Ctrl-V or dropped on the terminal, shown, sent, taken out."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.support.clipboards import XCLIP, Clipboard
from tests.support.images import jpeg, png
from tests.support.pty_chat import PtyChat
from tests.support.terminal_chat import answered, chat, leave, saved

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform == "win32", reason="pseudo-terminals of POSIX"),
]

PHOTO = png(640, 480)
NAME = "[image 1: 640×480, 1.9 KB]"
CTRL_V = "\x16"
NO_MORE: Mapping[str, str] = {}
UNDO = "\x1f"
EMPTY = re.compile(r"^You:$", re.MULTILINE)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    home = tmp_path / "home"
    home.mkdir()
    (home / "config.yaml").write_text("models: {echo: {images: true}}\n")
    return home


@pytest.fixture
def clipboard(tmp_path: Path) -> Clipboard:
    clipboard = Clipboard(tmp_path)
    clipboard.put({"image/png": PHOTO})
    return clipboard


@contextmanager
def at_home(
    home: Path,
    clipboard: Clipboard,
    *options: str,
    cols: int = 80,
    more: Mapping[str, str] = NO_MORE,
) -> Iterator[PtyChat]:
    environment = {**clipboard.environment, **more}
    with chat(home, *options, cols=cols, size=None, ready="", **environment) as terminal:
        terminal.wait_for("You:")
        yield terminal


def pasted(terminal: PtyChat, text: str) -> None:
    terminal.send(f"\x1b[200~{text}\x1b[201~")


@pytest.mark.parametrize("cols", [80, 40])
def test_an_image_of_the_clipboard_goes_along_and_comes_back_with_up(
    home: Path, clipboard: Clipboard, cols: int
) -> None:
    with at_home(home, clipboard, cols=cols) as terminal:
        terminal.send(f"see{CTRL_V}")
        terminal.wait_for(f"You: see {NAME}")
        shown = answered(terminal, "what is it?")
        assert "📎 image 1, 640×480" in shown
        assert "Attached image: image 1, 640×480 pixels." in " ".join(shown.split())
        terminal.send("\x1b[A")
        terminal.wait_for(re.compile(r"You: see \[image 1: 640×480, 1.9 KB\] what[^$]*\Z"))
        assert "📎 image 1, 640×480" in answered(terminal, "")
        leave(terminal)
    first, second = saved(home).exchanges
    assert first.query.text == second.query.text == f"see {NAME} what is it?"
    assert [file.name for file in first.attached] == ["image 1"]
    [stored] = (home / "sessions" / "attachments").iterdir()
    assert stored.read_bytes() == PHOTO
    assert stored.stat().st_mode & 0o777 == 0o600
    assert "image 1" not in (home / "history").read_text()


def test_one_backspace_takes_an_image_out_and_undo_brings_it_back(
    home: Path, clipboard: Clipboard
) -> None:
    with at_home(home, clipboard) as terminal:
        terminal.send(f"see {CTRL_V}")
        terminal.wait_for(f"You: see {NAME}")
        terminal.send("\x7f")
        terminal.wait_for(re.compile(r"^You: see$", re.MULTILINE))
        terminal.send(UNDO)
        terminal.wait_for(f"You: see {NAME}")
        terminal.send("\x01\x1b[C\x1b[C\x1b[C\x1b[C\x1b[3~")
        terminal.wait_for(re.compile(r"^You: see$", re.MULTILINE))
        assert "📎" not in answered(terminal, "nothing")
        leave(terminal)
    assert saved(home).exchanges[0].attached == ()


def test_enter_waits_for_the_clipboard(home: Path, clipboard: Clipboard, tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    clipboard.install("xclip", f"until [ -e {gate} ]; do sleep 0.01; done{XCLIP}")
    with at_home(home, clipboard) as terminal:
        terminal.send(f"{CTRL_V}what is it?")
        terminal.wait_for("You: [clipboard …]what is it?")
        terminal.send("\r")
        gate.touch()
        terminal.wait_for("📎 image 1, 640×480")
        terminal.wait_for(EMPTY)
        leave(terminal)
    [exchange] = saved(home).exchanges
    assert exchange.query.text == f"{NAME} what is it?"


def test_text_of_the_clipboard_is_pasted_and_a_path_becomes_an_image(
    home: Path, clipboard: Clipboard, tmp_path: Path
) -> None:
    (tmp_path / "my photo.png").write_bytes(PHOTO)
    address = f"file://{tmp_path}/my%20photo.png"
    clipboard.put({"UTF8_STRING": b"a table\n1 2", "image/png": PHOTO})
    with at_home(home, clipboard, cols=200) as terminal:
        terminal.send(CTRL_V)
        terminal.wait_for(re.compile("You: a table\n +1 2"))
        terminal.ctrl("c")
        clipboard.put({"text/uri-list": f"{address}\r\n".encode()})
        terminal.send(CTRL_V)
        terminal.wait_for(f"You: {NAME}")
        assert f"📎 {tmp_path}/my photo.png, 640×480" in answered(terminal, "")
        leave(terminal)
    [exchange] = saved(home).exchanges
    assert exchange.query.text.strip() == f'@"{tmp_path}/my photo.png"'


def test_dropped_files_become_images_and_names(
    home: Path, clipboard: Clipboard, tmp_path: Path
) -> None:
    (tmp_path / "my photo.png").write_bytes(PHOTO)
    (tmp_path / "b.jpg").write_bytes(jpeg(30, 20))
    (tmp_path / "notes.txt").write_text("port is 5432\n")
    with at_home(home, clipboard, cols=200) as terminal:
        pasted(terminal, f"'{tmp_path}/my photo.png' {tmp_path}/b.jpg {tmp_path}/notes.txt")
        second = f"[image 2: 30×20, {len(jpeg())} bytes]"
        terminal.wait_for(f"You: {NAME} {second}")
        terminal.send(UNDO)
        terminal.wait_for(f"You: '{tmp_path}/my photo.png'"[:60])
        terminal.ctrl("c")
        pasted(terminal, rf"{tmp_path}/my\ photo.png")
        terminal.wait_for("[image 3: 640×480, 1.9 KB]")
        terminal.send(CTRL_V)
        terminal.wait_for("[image 4: 640×480, 1.9 KB]")
        pasted(terminal, f"{tmp_path}/notes.txt")
        terminal.wait_for("notes.txt")
        answered(terminal, "what is this?")
        leave(terminal)
    [exchange] = saved(home).exchanges
    image = "[image 4: 640×480, 1.9 KB]"
    text = f'@"{tmp_path}/my photo.png" {image} @{tmp_path}/notes.txt what is this?'
    assert exchange.query.text == text
    assert [file.name for file in exchange.attached] == [
        f"{tmp_path}/my photo.png",
        "image 4",
        f"{tmp_path}/notes.txt",
    ]


def test_a_hung_clipboard_hangs_neither_the_line_nor_the_exit(
    home: Path, clipboard: Clipboard
) -> None:
    clipboard.install("xclip", "exec sleep 1000")
    with at_home(home, clipboard) as terminal:
        terminal.send(f"{CTRL_V}words")
        terminal.wait_for("You: [clipboard …]words")
        terminal.ctrl("c")
        terminal.wait_for(EMPTY)
        leave(terminal)


def test_an_edited_and_a_rewound_message_keep_their_image(home: Path, clipboard: Clipboard) -> None:
    with at_home(home, clipboard) as terminal:
        answered(terminal, "hello")
        terminal.send(CTRL_V)
        terminal.wait_for(NAME)
        answered(terminal, "what is it?")
        terminal.line("/edit")
        terminal.wait_for("your last message: Enter resends it")
        clipboard.put({"image/jpeg": jpeg(30, 20)})
        terminal.send(f" {CTRL_V}")
        terminal.wait_for("[image 2: 30×20")
        assert "📎 image 1, 640×480 · image 2, 30×20" in answered(terminal, "")
        leave(terminal)
    with at_home(home, clipboard, "--model", "scripted:echo", "--continue", cols=200) as terminal:
        terminal.line("/rewind")
        terminal.wait_for("Enter go back")
        terminal.send("\r")
        terminal.wait_for(re.compile(r"^You: \[image 1: ", re.MULTILINE))
        terminal.send(f"\x05{CTRL_V}")
        terminal.wait_for("[image 3: 30×20")
        shown = " ".join(answered(terminal, "").split())
        assert "📎 image 1, 640×480 · image 2, 30×20 · image 3, 30×20" in shown
        leave(terminal)
