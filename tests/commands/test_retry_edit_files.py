"""/undo, /rewind, /retry and /edit restore files that tools changed and nobody else did."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from benchmarks.support.loopback import Loopback, Reply
from tests.support.pty_chat import PtyChat
from tests.support.tool_chat import PATIENCE, at_prompt, calling, chatting

QUESTION = re.compile(r"Restore (\d files?)\? \[y\]es \[n\]o")
Tool = tuple[str, dict[str, object]]


def write(path: str, text: str) -> Tool:
    return "write_file", {"path": path, "text": text}


def edit(path: str, old: str, new: str) -> Tool:
    return "edit_file", {"path": path, "old": old, "new": new}


def ask(chat: PtyChat, server: Loopback, *calls: Tool) -> None:
    """Send a query whose reply makes `calls`, one after the other, and allow each."""
    server.enqueue(*map(calling, calls), Reply(chunks=("Done.",)))
    chat.mark()
    chat.line("go")
    for number in range(len(calls)):
        before = "(Edited|Wrote).*" if number else ""
        chat.wait_for(re.compile(before + r"Apply\? ", re.DOTALL), PATIENCE, output=True)
        chat.mark()
        chat.line("y")
    at_prompt(chat)


def undo(chat: PtyChat, answer: str, command: str = "/undo") -> str:
    """Type a command and give `answer` to its question. Return the output up to the question."""
    chat.mark()
    chat.line(command)
    chat.wait_for(QUESTION, PATIENCE, output=True)
    told = chat.output()
    chat.mark()
    chat.line(answer)
    chat.wait_for(
        re.compile(r"is restored\.|(Restored|Removed) .*You:", re.DOTALL), PATIENCE, output=True
    )
    return told


def test_undo_puts_files_back_after_a_yes(tmp_path: Path, server: Loopback) -> None:
    project = tmp_path / "project"
    project.mkdir()
    script = project / "a.sh"
    script.write_bytes(b"one\r\ntwo\r\n")
    script.chmod(0o755)
    with chatting(tmp_path, server) as chat:
        ask(
            chat, server,
            edit("a.sh", "one", "ONE"), edit("a.sh", "two", "TWO"), write("new/b.txt", "b\n"),
        )  # fmt: skip
        assert script.read_bytes() == b"ONE\r\nTWO\r\n"
        told = undo(chat, "y")
        assert "a.sh (changed)" in told
        assert "new/b.txt (new: it would be removed)" in told
        assert "Restore 2 files?" in told
        assert "Restored a.sh." in chat.output()
        assert "Removed new/b.txt." in chat.output()
        assert script.read_bytes() == b"one\r\ntwo\r\n"
        assert script.stat().st_mode & 0o777 == 0o755
        assert not (project / "new" / "b.txt").exists()


@pytest.mark.slow
@pytest.mark.parametrize("command", ["/retry", "/edit Write it better"])
def test_a_message_that_is_sent_again_finds_the_files_as_they_were(
    tmp_path: Path, server: Loopback, command: str
) -> None:
    (tmp_path / "project").mkdir()
    file = tmp_path / "project" / "a.txt"
    file.write_text("old\n")
    with chatting(tmp_path, server) as chat:
        ask(chat, server, write("a.txt", "new\n"))
        server.enqueue(Reply(chunks=("Once more.",)))
        chat.line(command)
        chat.wait_for("Send again anyway? [y]es [n]o", PATIENCE, output=True)
        undo(chat, "y", "y")
        chat.wait_for("Once more.", PATIENCE)
        assert file.read_text() == "old\n"


@pytest.mark.slow
@pytest.mark.parametrize("answer", ["", "n", "yess", "\x03"])
def test_without_a_yes_nothing_is_restored(tmp_path: Path, server: Loopback, answer: str) -> None:
    (tmp_path / "project").mkdir()
    file = tmp_path / "project" / "a.txt"
    file.write_text("old\n")
    with chatting(tmp_path, server) as chat:
        ask(chat, server, write("a.txt", "new\n"))
        undo(chat, answer)
        assert "Nothing is restored." in chat.output()
        assert file.read_text() == "new\n"
        if answer == "yess":  # it is in the line again
            chat.ctrl("c")
        chat.ctrl("d")
        assert chat.exit_code(PATIENCE) == 0


@pytest.mark.slow
def test_a_file_that_changed_since_stays(tmp_path: Path, server: Loopback) -> None:
    project = tmp_path / "project"
    project.mkdir()
    for name in ("a.txt", "b.txt", "c.txt", "d.txt"):
        (project / name).write_text(f"{name}\n")
    with chatting(tmp_path, server) as chat:
        calls = [write(name, "new\n") for name in ("a.txt", "b.txt", "c.txt", "d.txt", "e.txt")]
        ask(chat, server, *calls)
        (project / "a.txt").write_text("mine\n")
        (project / "b.txt").write_text("b.txt\n")
        (project / "d.txt").unlink()
        (project / "e.txt").write_text("mine\n")
        told = undo(chat, "y")
    for name in ("a.txt", "d.txt", "e.txt"):
        assert f"{name} (stays: it has changed since)" in told
    assert "b.txt" not in told.partition("Undone")[2]
    assert "Restore 1 file?" in told
    assert (project / "a.txt").read_text() == "mine\n"
    assert (project / "c.txt").read_text() == "c.txt\n"
    assert (project / "e.txt").read_text() == "mine\n"
    assert not (project / "d.txt").exists()


def test_somebody_elses_words_between_two_changes_are_kept(
    tmp_path: Path, server: Loopback
) -> None:
    project = tmp_path / "project"
    project.mkdir()
    file = project / "a.txt"
    file.write_text("1\n")
    with chatting(tmp_path, server) as chat:
        ask(chat, server, edit("a.txt", "1", "2"))
        file.write_text("2\nmine\n")
        ask(chat, server, edit("a.txt", "2", "3"))
        ask(chat, server, edit("a.txt", "3", "4"))
        chat.mark()
        chat.line("/rewind 2")
        chat.wait_for("Restore 1 file?", PATIENCE, output=True)
        chat.line("y")
        chat.wait_for("Restored a.txt.", PATIENCE, output=True)
        assert file.read_text() == "2\nmine\n"


@pytest.mark.slow
@pytest.mark.parametrize(
    "damage",
    [lambda copy: copy.unlink(), lambda copy: copy.write_text("evil"), lambda copy: copy.chmod(0)],
    ids=["gone", "changed", "unreadable"],
)
def test_a_copy_that_is_not_what_was_replaced_is_not_used(
    tmp_path: Path, server: Loopback, damage: Callable[[Path], object]
) -> None:
    project = tmp_path / "project"
    project.mkdir()
    file = project / "a.txt"
    file.write_text("old\n")
    with chatting(tmp_path, server) as chat:
        ask(chat, server, write("a.txt", "new\n"))
        (copy,) = (tmp_path / "own" / "sessions" / "attachments").iterdir()
        assert copy.read_text() == "old\n"
        assert copy.stat().st_mode & 0o777 == 0o600
        damage(copy)
        chat.mark()
        chat.line("/undo")
        if copy.exists() and copy.read_bytes() == b"old\n":  # root can read anything
            chat.wait_for("Restore 1 file?", PATIENCE, output=True)
            return
        chat.wait_for("a.txt (stays: there is no copy of its old text)", PATIENCE, output=True)
        assert file.read_text() == "new\n"


@pytest.mark.slow
def test_what_a_command_did_is_not_undone_and_that_is_said(
    tmp_path: Path, server: Loopback
) -> None:
    with chatting(tmp_path, server) as chat:
        server.enqueue(calling(("run_command", {"command": "touch x"})), Reply(chunks=("Done.",)))
        chat.line("go")
        chat.wait_for("Run? ", PATIENCE)
        chat.mark()
        chat.line("y")
        at_prompt(chat)
        chat.line("/undo")
        chat.wait_for("Changes made by run_command were not undone.", PATIENCE)
        assert "Restore" not in chat.text()
