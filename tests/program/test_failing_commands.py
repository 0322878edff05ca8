"""An error of the system is the failure of one command; the chat goes on."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from chat_loop.sessions.records import Seal
from tests.support.environments import environment
from tests.support.headless import ECHO, saved
from tests.support.injected_bugs import bug


def chat(
    home: Path, folder: Path, *, first: str, then: str, **variables: str
) -> tuple[int, str, str]:
    """Chat through a pipe in `folder`, and remove that folder after the reply to `first`. Return
    the exit code and both outputs.
    """
    with subprocess.Popen(
        [sys.executable, "-m", "chat_loop", *ECHO],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment(home) | variables,
        cwd=folder,
        text=True,
    ) as process:
        assert process.stdin
        assert process.stdout
        process.stdin.write(f"{first}\n")
        process.stdin.flush()
        for line in process.stdout:
            if line.startswith("Time: "):
                break
        folder.rmdir()
        out, err = process.communicate(then)
    return process.returncode, out, err


def test_a_removed_working_folder_ends_no_chat(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    home = tmp_path / "home"
    code, out, err = chat(home, folder, first="hello", then="/import x\nstill there?\n")
    assert "The working folder no longer exists." in out
    assert "You said: still there?" in out
    assert (code, err) == (0, "")
    [session] = saved(home)
    assert isinstance(session.seal, Seal)


def test_an_error_of_the_system_in_a_command_or_a_message_ends_no_chat(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    home = tmp_path / "home"
    broken = bug(
        tmp_path / "code",
        "chat_loop.commands.view:accounting",
        "chat_loop.conversation.attachments:check",
        error="PermissionError(13, 'Permission denied', '/a/file')",
    )
    (tmp_path / "notes.txt").write_text("notes")
    lines = f"/info\n@{tmp_path / 'notes.txt'}\nstill there?\n"
    code, out, err = chat(home, folder, first="hello", then=lines, **broken)
    assert out.count("/a/file cannot be used: permission denied.") == 2
    assert (code, err) == (0, "")
    [session] = saved(home)
    assert session.seal is not None
    last = session.exchanges[-1]
    assert last.query.text == "still there?"
    assert last.reply is not None
    assert "still there?" in last.reply.text
