"""Folders inside the sessions folder that are links, or no folders: nothing goes through them."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import closing
from hashlib import sha256
from pathlib import Path

import pytest

from chat_loop.errors import FolderError, SaveError
from chat_loop.sessions.copies import add_session
from chat_loop.sessions.files import Files, lock_session
from chat_loop.sessions.images import ImageStore, ImageUnavailable
from chat_loop.sessions.manager import SessionManager
from chat_loop.sessions.organizing import move_to_trash, remove_leftovers, restore, trashed
from tests.support.headless import ECHO, run, saved
from tests.support.images import png
from tests.support.saved_sessions import simple
from tests.support.scripted_chat import START

ID = "assistant_1"


def put(folder: Path) -> Path:
    """Write a session, and return its file."""
    manager = SessionManager(folder)
    add_session(manager, simple(ID, START, "hello", "Hi."), START.timestamp())
    return manager.session_file(ID)


def link(folder: Path, name: str) -> Path:
    """Put a link in the place of a folder inside `folder`; return the folder that it names."""
    elsewhere = folder.with_name("elsewhere")
    elsewhere.mkdir()
    (folder / name).symlink_to(elsewhere)
    return elsewhere


def test_a_linked_trash_gets_nothing_and_gives_nothing(tmp_path: Path) -> None:
    folder = tmp_path / "sessions"
    path = put(folder)
    elsewhere = link(folder, ".trash")
    before = path.read_bytes()
    problem = f"{folder}/.trash is a symbolic link."
    moved = run(tmp_path, "sessions", "trash", ID)
    assert moved.returncode == 1
    assert problem in moved.stderr.decode()
    assert path.read_bytes() == before
    assert not any(elsewhere.iterdir())

    other = elsewhere / "assistant_2.md"
    other.write_bytes(before)
    listed = run(tmp_path, "sessions", "trash")
    assert (listed.returncode, listed.stdout) == (1, b"")
    assert problem in listed.stderr.decode()
    restored = run(tmp_path, "sessions", "restore", "assistant_2")
    assert restored.returncode == 1
    assert problem in restored.stderr.decode()
    assert other.exists()


@pytest.mark.parametrize(
    ("make", "problem"),
    [
        (lambda folder: link(folder, ".locks"), "is a symbolic link"),
        (lambda folder: (folder / ".locks").symlink_to(folder / "gone"), "is a symbolic link"),
        (lambda folder: (folder / ".locks").write_text("in the way"), "is not a folder"),
    ],
    ids=["a link", "a dangling link", "a file"],
)
def test_a_folder_of_locks_that_is_none_is_named(
    tmp_path: Path, make: Callable[[Path], object], problem: str
) -> None:
    folder = tmp_path / "sessions"
    folder.mkdir()
    make(folder)
    result = run(tmp_path, *ECHO, "-p", "hi")
    assert (result.returncode, result.stdout) == (1, b"You said: hi\n")
    told = result.stderr.decode()
    assert told.count("Not saved: ") == 1
    assert f"{folder}/.locks {problem}. Check that folder." in told
    assert [path.name for path in tmp_path.rglob("*.lock")] == []
    assert [path.name for path in tmp_path.rglob("*.md")] == []


def test_a_linked_folder_of_images(tmp_path: Path) -> None:
    folder = tmp_path / "sessions"
    folder.mkdir()
    elsewhere = link(folder, "attachments")
    image = png(1, 1)
    file = f"attachments/{sha256(image).hexdigest()}.png"
    store = ImageStore(folder, Files(), locks=True)
    with pytest.raises(FolderError, match="is a symbolic link") as caught:
        store.keep(file, image)
    assert caught.value.filename == f"{folder}/attachments"
    assert not any(elsewhere.iterdir())
    (elsewhere / Path(file).name).write_bytes(image)
    with pytest.raises(ImageUnavailable, match=r"attachments is a symbolic link"):
        ImageStore(folder, Files()).data(file)


def test_the_sessions_folder_itself_may_be_a_link(tmp_path: Path) -> None:
    target = tmp_path / "target"
    target.mkdir()
    (tmp_path / "sessions").symlink_to(target)
    assert run(tmp_path, *ECHO, "-p", "hi").returncode == 0
    [session] = saved(tmp_path)
    assert run(tmp_path, "sessions", "trash", session.header.id).returncode == 0
    assert (target / ".trash" / f"{session.header.id}.md").exists()


class Swapped(Files):
    """Files for which somebody puts a link in the place of a folder once it was checked."""

    def __init__(self, folder: Path, elsewhere: Path) -> None:
        self._folder = folder
        self._elsewhere = elsewhere

    def make_directory(self, path: Path) -> None:
        super().make_directory(path)
        if path == self._folder:
            path.rmdir()
            path.symlink_to(self._elsewhere)


def test_a_folder_that_becomes_a_link_after_the_check(tmp_path: Path) -> None:
    folder = tmp_path / "sessions"
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    path = put(folder)
    manager = SessionManager(folder, files=Swapped(folder / ".trash", elsewhere))
    with pytest.raises(SaveError, match=r"\.trash is a symbolic link"):
        move_to_trash(manager, path)
    store = ImageStore(folder, Swapped(folder / "attachments", elsewhere))
    with pytest.raises(FolderError):
        store.keep(f"attachments/{'0' * 64}.png", b"data")
    assert path.exists()
    assert not any(elsewhere.iterdir())


def test_an_empty_file_of_a_killed_process_goes_to_the_trash(tmp_path: Path) -> None:
    manager = SessionManager(tmp_path)
    names = ("killed_1", "open_1", "now_1", "full_1")
    for name in names:
        path = manager.session_file(name)
        path.write_bytes(b"words" if name == "full_1" else b"")
        if name != "now_1":
            os.utime(path, (1_000_000, 1_000_000))
    with closing(lock_session(tmp_path, "open_1")):
        remove_leftovers(manager)
    assert [path.stem for path in sorted(tmp_path.glob("*.md"))] == sorted(names[1:])
    assert [row.id for row in trashed(manager.directory)] == ["killed_1"]
    assert restore(manager, "killed_1") == manager.session_file("killed_1")


def test_a_lock_in_a_folder_that_is_missing_makes_private_folders(tmp_path: Path) -> None:
    with closing(lock_session(tmp_path / "above" / "sessions", ID)):
        made = [path for path in tmp_path.rglob("*") if path.is_dir()]
        assert [path.stat().st_mode & 0o777 for path in made] == [0o700] * 3
