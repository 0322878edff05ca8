"""Nothing is written through a link that appears between the question and the write."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest

from chat_loop.agent.builtin import builtin_tools, changed_files
from chat_loop.agent.tools import Tool, Toolbox
from chat_loop.sessions.images import ImageStore
from chat_loop.sessions.records import Change
from chat_loop.values import FileChange, ToolCall


class Turning(ImageStore):
    """Copies of replaced texts. Keeping one, the last act before a write, also runs `turn`."""

    def __init__(self, folder: Path, turn: Callable[[], None]) -> None:
        super().__init__(folder, None)
        self.turn = turn

    def keep(self, file: str, data: bytes) -> None:
        super().keep(file, data)
        self.turn()


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "project"
    (root / "inner").mkdir(parents=True)
    (root / "inner" / "a.txt").write_text("old")
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "a.txt").write_text("old")
    return root


def turn(root: Path) -> None:
    """Replace the folder by a link to another one."""
    (root / "inner").rename(root / "before")
    (root / "inner").symlink_to(root.parent / "elsewhere")


def write(
    root: Path,
    path: str,
    on_question: Callable[[], object] = bool,
    copies: ImageStore | None = None,
) -> tuple[str, tuple[FileChange, ...]]:
    """Return the result of writing "new" after the user allowed it, and the changes."""

    async def approve(tool: Tool, text: str) -> bool:
        on_question()
        return True

    async def call() -> tuple[str, tuple[FileChange, ...]]:
        [tool] = builtin_tools(["write_file"], root, copies=copies)
        box = Toolbox({"write_file": tool}, 10_000, approve)
        call = ToolCall("c", "write_file", json.dumps({"path": path, "text": "new"}))
        [returned] = [event async for event in box.run([call])]
        return returned.text.partition("\n")[2], returned.changes

    return asyncio.run(call())


def test_a_folder_that_becomes_a_link_in_the_last_moment_is_not_followed(root: Path) -> None:
    text, changes = write(root, "inner/a.txt", copies=Turning(root.parent, lambda: turn(root)))
    assert text == "inner/a.txt: not a directory."
    assert changes == ()
    assert (root.parent / "elsewhere" / "a.txt").read_text() == "old"
    assert (root / "before" / "a.txt").read_text() == "old"


@pytest.mark.parametrize("target", ["../../elsewhere/a.txt", "../../elsewhere/new.txt"])
@pytest.mark.parametrize("path", ["inner/a.txt", "inner/new.txt"])
def test_a_file_that_becomes_a_link_after_the_question_is_not_followed(
    root: Path, path: str, target: str
) -> None:
    def link() -> None:
        (root / path).unlink(missing_ok=True)
        (root / path).symlink_to(target)

    text, changes = write(root, path, link)
    assert text.startswith(f"{path} ")
    assert text.endswith("Call the tool again.")
    assert changes == ()
    assert (root.parent / "elsewhere" / "a.txt").read_text() == "old"
    assert not (root.parent / "elsewhere" / "new.txt").exists()


def test_a_file_that_becomes_a_link_in_the_last_moment_is_not_followed(root: Path) -> None:
    def link() -> None:
        (root / "inner" / "a.txt").unlink()
        (root / "inner" / "a.txt").symlink_to("../../elsewhere/a.txt")

    text, _ = write(root, "inner/a.txt", copies=Turning(root.parent, link))
    assert text == "inner/a.txt: it is not a regular file."
    assert (root.parent / "elsewhere" / "a.txt").read_text() == "old"
    assert sorted(path.name for path in (root / "inner").iterdir()) == ["a.txt"]


def test_a_restore_follows_no_link(root: Path) -> None:
    copies = ImageStore(root.parent / "own", None)
    _, [change] = write(root, "inner/a.txt", copies=copies)
    when = datetime(2026, 11, 28, tzinfo=UTC)
    written, replaced = change.written, change.replaced
    record = Change(at=when, number=1, text=change.text, written=written, replaced=replaced)
    turn(root)
    (root.parent / "elsewhere" / "a.txt").write_text("new")
    [file] = changed_files([record], root, copies)
    with pytest.raises(Exception, match=r"inner/a\.txt: not a directory\."):
        file.restore()
    assert (root.parent / "elsewhere" / "a.txt").read_text() == "new"
    (root / "inner").unlink()
    (root / "before").rename(root / "inner")
    file.restore()
    assert (root / "inner" / "a.txt").read_text() == "old"
