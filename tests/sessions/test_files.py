"""Files are written completely or not at all, even if Ctrl-C interrupts the write."""

from __future__ import annotations

from pathlib import Path

import pytest

from chat_loop.sessions.files import Files


class StoppedFiles(Files):
    """Files that are interrupted by Ctrl-C just before a file gets its name."""

    def rename(self, source: Path, target: Path) -> None:
        assert source.read_bytes() == b"new", "it is written"
        raise KeyboardInterrupt


def test_ctrl_c_before_the_rename_leaves_the_old_file_and_no_other(tmp_path: Path) -> None:
    path = tmp_path / "a.md"
    path.write_bytes(b"old")
    with pytest.raises(KeyboardInterrupt):
        StoppedFiles().replace(path, b"new")
    assert {file.name: file.read_bytes() for file in tmp_path.iterdir()} == {"a.md": b"old"}
