"""The trash: files move there and back whole, nothing is overwritten, and each failure is one
sentence.
"""

from __future__ import annotations

import stat
from contextlib import closing
from pathlib import Path

import pytest

from chat_loop.errors import SaveError, SessionError, SessionLocked, SessionNotFound
from chat_loop.sessions.files import take_lock
from chat_loop.sessions.manager import SessionManager
from chat_loop.sessions.organizing import move_to_trash, remove_leftovers, restore, trashed
from tests.support.nobody import as_nobody
from tests.support.saved_sessions import OLD, OPEN, put


def test_there_and_back(tmp_path: Path) -> None:
    [path] = put(tmp_path, OLD)
    before, status = path.read_bytes(), path.stat()
    gone = tmp_path / ".trash" / path.name
    image = tmp_path / "attachments" / "photo.png"
    image.parent.mkdir()
    image.write_bytes(b"image")
    move_to_trash(SessionManager(tmp_path), path)
    assert (gone.exists(), path.exists()) == (True, False)
    assert stat.S_IMODE(gone.parent.stat().st_mode) == 0o700
    [row] = trashed(SessionManager(tmp_path).directory)
    assert (row.id, row.name, row.path) == (OLD.header.id, "What is a monad?", gone)
    assert restore(SessionManager(tmp_path), OLD.header.id) == path
    assert path.read_bytes() == before
    assert (path.stat().st_mtime_ns, path.stat().st_mode) == (status.st_mtime_ns, status.st_mode)
    assert trashed(SessionManager(tmp_path).directory) == []
    assert image.read_bytes() == b"image", "other sessions may have it, too"


def test_of_a_conversation_nothing_is_moved_while_a_part_of_it_is_open(tmp_path: Path) -> None:
    paths = put(tmp_path, OLD, OPEN)
    with closing(take_lock(tmp_path, OPEN.header.id)), pytest.raises(SessionLocked):
        move_to_trash(SessionManager(tmp_path), *paths)
    assert [path.exists() for path in paths] == [True, True]


def test_nothing_in_the_trash_is_overwritten(tmp_path: Path) -> None:
    long = tmp_path / f"{'x' * 64}.md"
    for content in ("one", "two", "three"):
        long.write_text(content)
        move_to_trash(SessionManager(tmp_path), long)
    names = sorted(path.name for path in (tmp_path / ".trash").iterdir())
    assert names == [f"{'x' * 62}_2.md", f"{'x' * 62}_3.md", f"{'x' * 64}.md"]
    assert {path.read_text() for path in (tmp_path / ".trash").iterdir()} == {"one", "two", "three"}
    restore(SessionManager(tmp_path), f"{'x' * 62}_3")


def test_what_stands_there_is_not_overwritten_not_even_a_link_to_nowhere(tmp_path: Path) -> None:
    [path] = put(tmp_path, OLD)
    move_to_trash(SessionManager(tmp_path), path)
    path.symlink_to("nowhere")
    with pytest.raises(SaveError, match="exists already"):
        restore(SessionManager(tmp_path), OLD.header.id)
    assert path.is_symlink()
    (tmp_path / ".trash" / f"{OLD.header.id}_2.md").symlink_to("nowhere")
    told = move_to_trash(SessionManager(tmp_path), path)
    assert told == (
        f"{OLD.header.id} is in the trash; chat-loop sessions restore {OLD.header.id}_3 restores it."
    )
    assert restore(SessionManager(tmp_path), f"{OLD.header.id}_3").readlink() == Path("nowhere")


def test_an_open_session_stays(tmp_path: Path) -> None:
    [path] = put(tmp_path, OPEN)
    held = take_lock(tmp_path, OPEN.header.id)
    with pytest.raises(SessionLocked):
        move_to_trash(SessionManager(tmp_path), path)
    assert path.exists()
    held.close()
    move_to_trash(SessionManager(tmp_path), path)


@pytest.mark.parametrize(
    "identity", ["nope", "", "../x", ".trash", "a/b", "x\0", "é", "x" * 65, "folder"]
)
def test_what_is_not_there(tmp_path: Path, identity: str) -> None:
    (tmp_path / ".trash" / "folder.md").mkdir(parents=True)
    with pytest.raises(SessionNotFound, match="in the trash"):
        restore(SessionManager(tmp_path), identity)


def test_a_session_that_went_away_meanwhile(tmp_path: Path) -> None:
    with pytest.raises(SessionNotFound, match="gone is gone"):
        move_to_trash(SessionManager(tmp_path), tmp_path / "gone.md")


def test_a_trash_that_is_none(tmp_path: Path) -> None:
    [path] = put(tmp_path, OLD)
    (tmp_path / ".trash").write_text("in the way")
    before = path.read_bytes()
    with pytest.raises(SaveError, match=r"cannot be moved: \S*/\.trash is not a folder\.$"):
        move_to_trash(SessionManager(tmp_path), path)
    assert path.read_bytes() == before
    with pytest.raises(SessionError, match="cannot be read"):
        trashed(SessionManager(tmp_path).directory)


def test_a_folder_that_cannot_be_written_to() -> None:
    with as_nobody() as folder:
        [path] = put(folder, OLD)
        folder.chmod(0o500)
        with pytest.raises(SaveError, match=r"cannot be moved: permission denied\.$"):
            move_to_trash(SessionManager(folder), path)
        assert path.exists()


def test_a_chat_that_saves_nothing_removes_nothing(tmp_path: Path) -> None:
    left = tmp_path / ".killed.md.1.tmp"
    left.touch()
    remove_leftovers(SessionManager(tmp_path, saves=False))
    assert left.exists()
    remove_leftovers(SessionManager(tmp_path))
    assert not left.exists()
