"""Files named in a query: which of them are read, and which are refused."""

from __future__ import annotations

import os
import socket
from contextlib import closing
from hashlib import sha256
from pathlib import Path

import pytest

from chat_loop.conversation.reading import MAX_TEXT, QueryFile, read, read_files
from chat_loop.errors import UsageError
from chat_loop.sessions.records import EPOCH, Attachment
from chat_loop.values import size_text
from tests.support.images import gif, jpeg, png, webp
from tests.support.nobody import as_nobody


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a new working directory, which is also the home directory."""
    folder = tmp_path / "here"
    folder.mkdir()
    monkeypatch.chdir(folder)
    monkeypatch.setenv("HOME", str(folder))
    return folder


def file_of(here: Path, data: bytes, name: str = "x.txt") -> QueryFile:
    (here / name).write_bytes(data)
    return read(name, here / name, here)


def refused(here: Path, data: bytes, name: str = "x.txt") -> str:
    with pytest.raises(UsageError) as error:
        file_of(here, data, name)
    assert error.value.hint
    return error.value.message


def test_a_text_file(here: Path) -> None:
    data = "\ufeffGrüße\r\n<!-- chat:end -->\rend\n".encode()
    assert file_of(here, data).attachment == Attachment(
        number=0,
        at=EPOCH,
        name="x.txt",
        media="text/plain",
        size=len(data),
        sha256=sha256(data).hexdigest(),
        text="Grüße\n<!-- chat:end -->\rend\n",
    )
    assert file_of(here, data).description == "x.txt, 34 bytes"
    assert file_of(here, "Grüße".encode("utf-16")).attachment.text == "Grüße"
    assert file_of(
        here, b"<svg xmlns='http://www.w3.org/2000/svg'/>", "x.svg"
    ).attachment.text.startswith("<svg")
    assert file_of(here, b"x" * MAX_TEXT).attachment.size == MAX_TEXT


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "x.txt is empty."),
        (b" \n", "x.txt is empty."),
        (
            b"\xff\xfenope"[:3],
            "x.txt is neither UTF-8 text nor a PDF, nor an image that models accept (PNG, JPEG, GIF, WebP).",
        ),
        (b"a\0b", "x.txt is neither UTF-8 text nor a PDF, nor an image that models accept (PNG, JPEG, GIF, WebP)."),
        (b"caf\xe9", "x.txt is neither UTF-8 text nor a PDF, nor an image that models accept (PNG, JPEG, GIF, WebP)."),
        (b"x" * (MAX_TEXT + 1), "x.txt is too large: 4.2 MB. The limit is 4.2 MB."),
        (png()[:-5], "x.txt is damaged: the image is cut off."),
        (png(0, 3), "x.txt is damaged: the image is cut off."),
    ],
)  # fmt: skip
def test_what_is_refused(here: Path, data: bytes, message: str) -> None:
    assert refused(here, data) == message


def test_a_huge_file_is_not_read_to_its_end(here: Path) -> None:
    (here / "x.txt").write_text("x")
    os.truncate(here / "x.txt", 1 << 40)
    with pytest.raises(
        UsageError, match=r"x\.txt is too large: 1,099\.51 GB\. The limit is 4\.2 MB\."
    ):
        read("x.txt", here / "x.txt", here)


@pytest.mark.parametrize(
    ("size", "text"),
    [
        (0, "0 bytes"),
        (1, "1 byte"),
        (999, "999 bytes"),
        (1_000, "1.0 KB"),
        (2_149, "2.1 KB"),
        (9_949, "9.9 KB"),
        (9_950, "10 KB"),
        (999_499, "999 KB"),
        (999_500, "1.0 MB"),
        (999_500_000, "1.00 GB"),
    ],
)
def test_sizes_of_files(size: int, text: str) -> None:
    assert size_text(size) == text


@pytest.mark.parametrize(
    ("data", "media"),
    [
        (png(640, 480), "image/png"),
        (jpeg(640, 480), "image/jpeg"),
        (gif(640, 480), "image/gif"),
        (gif(640, 480) + b"\0\0", "image/gif"),
        (webp(640, 480, b"VP8X"), "image/webp"),
        (webp(640, 480, b"VP8L"), "image/webp"),
        (webp(640, 480, b"VP8 "), "image/webp"),
    ],
)
def test_an_image_is_known_by_its_bytes(here: Path, data: bytes, media: str) -> None:
    found = file_of(here, data, "notes.txt")
    assert found.data == data
    assert found.attachment == Attachment(
        number=0,
        at=EPOCH,
        name="notes.txt",
        media=media,
        size=len(data),
        sha256=sha256(data).hexdigest(),
        width=640,
        height=480,
    )
    assert found.description == "notes.txt, 640×480"


def test_what_is_no_file_is_not_waited_for(here: Path) -> None:
    os.mkfifo(here / "pipe")
    with closing(socket.socket(socket.AF_UNIX)) as listening:
        listening.bind("socket")
        found = {}
        for name in ("/dev/zero", "pipe", "socket"):
            with pytest.raises(UsageError) as error:
                read(name, here / name, here)
            found[name] = error.value.message
    assert found == {
        "/dev/zero": "/dev/zero cannot be read: it is not a regular file.",
        "pipe": "pipe cannot be read: it is not a regular file.",
        "socket": "socket cannot be read: no such device or address.",
    }


def test_links(here: Path) -> None:
    (here / "real.txt").write_text("real")
    (here / "inside").symlink_to("real.txt")
    (here.parent / "outside.txt").write_text("outside")
    (here / "leak.txt").symlink_to(here.parent / "outside.txt")
    (here / "broken").symlink_to("nothing")
    (here / "round").symlink_to("round")
    assert read("inside", here / "inside", here).attachment.text == "real"
    assert read("../outside.txt", here.parent / "outside.txt", here).attachment.text == "outside"
    with pytest.raises(UsageError) as error:
        read("leak.txt", here / "leak.txt", here)
    assert error.value.message == f"leak.txt is a link to {here.parent / 'outside.txt'}."
    for name, reason in (
        ("broken", "no such file or directory"),
        ("round", "too many levels of symbolic links"),
    ):
        with pytest.raises(UsageError, match=f"{name} cannot be read: {reason}."):
            read_files(f"@{name}")


def test_a_file_without_permission() -> None:
    with as_nobody() as folder:
        (folder / "x.txt").write_text("x")
        (folder / "x.txt").chmod(0)
        with pytest.raises(UsageError, match=r"x\.txt cannot be read: permission denied."):
            read("x.txt", folder / "x.txt", folder)


@pytest.mark.skipif(not Path("/proc/self/mem").exists(), reason="only Linux has it")
def test_a_file_that_fails_while_it_is_read(here: Path) -> None:
    with pytest.raises(UsageError, match=r"/proc/self/mem cannot be read: input/output error\."):
        read("/proc/self/mem", Path("/proc/self/mem"), here)


def test_secrets_and_places_of_keys_are_noticed(here: Path) -> None:
    found = file_of(here, b"DB_PASSWORD=hunter2hunter2\nport = 5432\n").outgoing
    assert found is not None
    assert found.marked == "DB_PASSWORD=[REDACTED:password:1]\nport = 5432\n"
    plain = file_of(here, b"port = 5432\n").outgoing
    assert plain is not None
    assert plain.is_free
    (here / "link").symlink_to(here / ".env")
    for file in (file_of(here, b"port = 5432\n", ".env"), read("link", here / "link", here)):
        assert file.outgoing is not None
        assert file.outgoing.place == ".env"
