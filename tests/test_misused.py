"""A command line that cannot be understood: the unknown option is named, and nothing is printed
over the prompt.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from tests.pty_chat import PtyChat
from tests.test_headless import ECHO, run
from tests.test_signals import PATIENCE, environment, settings


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--modle", "x"), "unknown option --modle; did you mean --model?"),
        (("--modle=x", "hello"), "unknown option --modle; did you mean --model?"),
        (
            ("--new-session", "--sesions-dir", "x"),
            "unknown option --sesions-dir; did you mean --sessions-dir?",
        ),
        (("-m", "x"), "unknown option -m; did you mean --model?"),
        (("--zzz", "x"), "unknown option --zzz\n"),
        (("frobnicate",), "argument COMMAND: invalid choice: 'frobnicate'"),
        (("sessions", "lsit"), "argument ACTION: invalid choice: 'lsit'"),
    ],
)
def test_what_is_no_option_is_named(tmp_path: Path, arguments: tuple[str, ...], said: str) -> None:
    result = run(tmp_path, *arguments)
    assert (result.returncode, result.stdout) == (2, b"")
    assert said in result.stderr.decode()
    assert result.stderr.startswith(b"usage: chat-loop")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(sys.platform == "win32", reason="pseudo-terminals of POSIX")
@pytest.mark.parametrize(
    "arguments", [("--max-tokens", "many"), ("--model",), ("--resume=1", "--new-session")]
)
def test_nothing_is_printed_over_the_prompt(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    with PtyChat(
        [sys.executable, "-m", "chat_loop", *arguments], env=environment(tmp_path)
    ) as chat:
        before = settings(chat)
        assert chat.exit_code(PATIENCE) == 2
        assert "You:" not in chat.text()
        assert "\nusage: chat-loop" in f"\n{chat.text()}"
        assert settings(chat) == before


@pytest.mark.skipif(not hasattr(os, "link"), reason="hard links")
def test_a_reply_is_written_where_no_file_can_be_linked(tmp_path: Path) -> None:
    """As on FAT: a process that the system refuses every link, and every rename of another name."""
    (tmp_path / "sitecustomize.py").write_text(
        "import os\ndef no(*_, **__):\n    raise PermissionError(1, 'no')\nos.link = no\n"
    )
    reply = tmp_path / "reply.md"
    result = run(
        tmp_path, *ECHO, "-p", "hello", "--output", str(reply), keys={"PYTHONPATH": str(tmp_path)}
    )
    assert (result.returncode, result.stdout, result.stderr) == (0, b"", b"")
    assert (reply.read_text(), reply.stat().st_mode & 0o777) == ("You said: hello\n", 0o600)
    again = run(tmp_path, *ECHO, "-p", "hello", "--output", str(reply))
    assert again.returncode == 2


@pytest.mark.skipif(not Path("/bin/bash").exists(), reason="a limit of a file's size")
def test_a_part_of_a_reply_is_not_left_in_its_file(tmp_path: Path) -> None:
    reply = tmp_path / "reply.md"
    question = "x" * 300_000
    limited = ("/bin/bash", "-c", 'trap "" XFSZ; ulimit -f 200; "$@"', "bash")
    result = run(
        tmp_path,
        *ECHO,
        "--no-save",
        "-p",
        "-",
        "--output",
        str(reply),
        stdin=question.encode(),
        prefix=limited,
    )
    assert result.returncode == 1
    assert b"cannot be written: file too large." in result.stderr
    assert not reply.exists()
