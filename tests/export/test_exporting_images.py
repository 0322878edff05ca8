"""Exports include the images of a conversation, in a folder next to markdown or as base64 in JSON,
and an import restores them.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path

import pytest

from chat_loop.sessions.files import Files
from chat_loop.sessions.images import ImageStore
from chat_loop.sessions.manager import SessionManager
from chat_loop.sessions.records import Attachment, Header, Query, Reply, Session
from tests.support import fork_server
from tests.support.images import png
from tests.support.imported_chain import store

AT = datetime(2026, 11, 21, 14, 30, tzinfo=UTC)
PHOTO, CHART = png(64, 48), png(32, 32)
NAMED = {"my photo.png": PHOTO, "chart.png": CHART}


def attachment(name: str, data: bytes) -> Attachment:
    return Attachment(
        number=1,
        at=AT,
        name=name,
        media="image/png",
        size=len(data),
        sha256=sha256(data).hexdigest(),
        width=1,
        height=1,
    )


SAID = "What is on @photo?\n![1×1](attachments/x.png)"
TALK = Session(
    header=Header(id="a_20261121_143000", created=AT, agent="A", model="scripted:echo"),
    entries=(
        Query(number=1, at=AT, text=SAID),
        *(attachment(name, data) for name, data in NAMED.items()),
        Reply(number=1, at=AT, text="A heron."),
    ),
)


def home(folder: Path) -> Path:
    """Make a home with the conversation and its images."""
    sessions = folder / "sessions"
    store(SessionManager(sessions, now=lambda: AT), TALK)
    images = ImageStore(sessions, Files())
    for entry in TALK.entries:
        if isinstance(entry, Attachment):
            images.keep(entry.file, NAMED[entry.name])
    return folder


def sessions(
    folder: Path, *arguments: str, cwd: Path, stdin: bytes = b""
) -> subprocess.CompletedProcess[bytes]:
    environment = {"CHAT_LOOP_HOME": str(folder), "PATH": "/usr/bin:/bin", "LANG": "C.UTF-8"}
    return fork_server.run(["sessions", *arguments], environment, stdin, cwd)


def images_in(folder: Path) -> set[bytes]:
    return {path.read_bytes() for path in (folder / "sessions" / "attachments").glob("*.png")}


@pytest.mark.parametrize("name", ["talk.md", "a talk (old).md", "talk.json"])
def test_what_is_exported_is_imported_with_its_images(name: str, tmp_path: Path) -> None:
    there, desk, here = home(tmp_path / "there"), tmp_path / "desk", tmp_path / "here"
    desk.mkdir()
    made = sessions(there, "export", "1", name, cwd=desk)
    assert made.returncode == 0, made.stderr
    shutil.rmtree(there)
    taken = sessions(here, "import", str(desk / name), cwd=desk)
    assert (taken.returncode, taken.stderr) == (0, b""), taken.stderr
    assert images_in(here) == set(NAMED.values())
    again = json.loads(sessions(here, "export", "1", "-", "--as", "json", cwd=desk).stdout)
    assert again["sessions"][0]["entries"][0]["text"] == SAID
    assert len(again["images"]) == 2


def test_markdown_shows_the_images_that_stand_beside_it(tmp_path: Path) -> None:
    there = home(tmp_path / "there")
    made = sessions(there, "export", "1", "talk.md", cwd=tmp_path)
    assert made.stderr.decode().rstrip().endswith(", with 2 images in attachments.")
    text = (tmp_path / "talk.md").read_text("utf-8")
    links = re.findall(r"!\[1×1\]\((attachments/[^)x]*)\)", text)
    assert {(tmp_path / link).read_bytes() for link in links} == set(NAMED.values())
    assert "![1×1](attachments/x.png)" in text, "what the user said is not changed"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["attachments", "talk.md", "there"]


def test_an_image_that_is_not_what_its_name_says_is_left_out(tmp_path: Path) -> None:
    there = home(tmp_path / "there")
    document = json.loads(sessions(there, "export", "1", "-", "--as", "json", cwd=tmp_path).stdout)
    first, second = document["images"]
    document["images"] = {
        first: document["images"][second],
        f"../{second}": document["images"][second],
        "attachments/x.png": 7,
    }
    taken = sessions(
        tmp_path / "here", "import", "-", cwd=tmp_path, stdin=json.dumps(document).encode()
    )
    assert taken.stderr.decode().count("An image is not what its name says; it is left out.") == 3
    assert taken.stderr.decode().count("is missing: its copy is gone.") == 2
    assert not images_in(tmp_path / "here")
    assert taken.stdout.decode().startswith(TALK.header.id)


@pytest.mark.parametrize("form", ["markdown", "json", "html"])
def test_an_image_that_is_gone_is_said(form: str, tmp_path: Path) -> None:
    there = home(tmp_path / "there")
    (there / "sessions" / "attachments" / f"{sha256(CHART).hexdigest()}.png").unlink()
    made = sessions(there, "export", "1", "talk", "--as", form, cwd=tmp_path)
    assert made.returncode == 0
    assert "chart.png is not in the export: its copy is gone." in made.stderr.decode().splitlines()
    if form != "html":
        taken = sessions(tmp_path / "here", "import", "talk", cwd=tmp_path)
        assert taken.stderr.decode() == "The image chart.png is missing: its copy is gone.\n"
        assert images_in(tmp_path / "here") == {PHOTO}


def test_markdown_on_standard_output_says_that_the_images_are_missing(tmp_path: Path) -> None:
    made = sessions(home(tmp_path / "there"), "export", "1", "-", cwd=tmp_path)
    assert made.stderr.decode() == "2 images cannot be in it: export to a file, or as json.\n"


def test_a_folder_of_sessions_is_imported_with_its_images(tmp_path: Path) -> None:
    there = home(tmp_path / "there")
    taken = sessions(tmp_path / "here", "import", str(there / "sessions"), cwd=tmp_path)
    assert taken.stderr == b""
    assert images_in(tmp_path / "here") == set(NAMED.values())
