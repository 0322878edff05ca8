"""What a paste that names files puts into the line."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from chat_loop.commands.pasted_files import files_of
from chat_loop.values import Picture
from tests.support.images import huge_png, png

PHOTO = png(640, 480)


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a new working directory below the home directory."""
    folder = tmp_path / "here"
    folder.mkdir()
    monkeypatch.chdir(folder)
    monkeypatch.setenv("HOME", str(tmp_path))
    return folder


def test_an_image_gets_its_size_and_another_file_its_name(here: Path, tmp_path: Path) -> None:
    (here / "a.png").write_bytes(PHOTO)
    (tmp_path / "b.png").write_bytes(huge_png(9_000, 30))
    (tmp_path / "notes.txt").write_text("x")
    found = files_of([[f"{here}/a.png", "~/b.png", f"{tmp_path}/notes.txt"]])
    size = len(huge_png(9_000, 30))
    assert found == (
        Picture(640, 480, len(PHOTO), "@a.png"),
        Picture(9_000, 30, size, f"@{tmp_path}/b.png"),
        f"@{tmp_path}/notes.txt",
    )


def test_a_link_is_followed_and_what_is_damaged_or_closed_keeps_its_name(here: Path) -> None:
    (here / "a.png").write_bytes(PHOTO)
    (here / "link.png").symlink_to("a.png")
    (here / "cut.png").write_bytes(PHOTO[:-8])
    paths = [f"{here}/link.png", f"{here}/cut.png"]
    assert files_of([paths]) == (Picture(640, 480, len(PHOTO), "@link.png"), "@cut.png")


def test_the_first_meaning_that_only_names_files_is_taken(here: Path) -> None:
    (here / "a b.png").write_bytes(PHOTO)
    (here / "pipe").parent.mkdir(exist_ok=True)
    os.mkfifo(here / "pipe")
    (here / "loop").symlink_to("loop")
    whole = [f"{here}/a b.png"]
    assert files_of([whole, ["/a", "b.png"]])[0] == Picture(640, 480, len(PHOTO), '@"a b.png"')
    for path in (
        f"{here}/pipe",
        f"{here}/loop",
        str(here),
        f"{here}/none",
        "/dev/zero",
        "/\0",
        "/" + "a" * 5_000,
    ):
        assert files_of([[path]]) == ()
        assert files_of([[*whole, path]]) == ()
    assert files_of([]) == ()
