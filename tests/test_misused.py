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
        (("--modle", "x"), "Unknown option --modle. Did you mean --model?"),
        (("--modle=x", "hello"), "Unknown option --modle. Did you mean --model?"),
        (
            ("--new-session", "--sesions-dir", "x"),
            "Unknown option --sesions-dir. Did you mean --sessions-dir?",
        ),
        (("hello", "--zzz", "x"), "Unknown option --zzz.\n"),
        (("-m",), "-m/--model needs a value."),
        (("sesions",), "Unknown command “sesions”. Did you mean sessions?\nchat-loop -- sesions "),
        (("sessions", "lsit"), "Unknown action “lsit”. Did you mean list?\nchat-loop sessions --h"),
        (("sessions", "list", "--unfld"), "Unknown option --unfld. Did you mean --unfold?\n"),
        (("sessions", "show"), "Missing: SESSION.\n"),
        (("models", "list", "all"), "“all” is one word too many."),
        (("-p", "one", "two"), "-p takes one question: put quotes around it."),
        (("--resume", "x", "--name", "y", "models"), "do not go with a command."),
    ],
)
def test_what_is_no_option_is_named(tmp_path: Path, arguments: tuple[str, ...], said: str) -> None:
    result = run(tmp_path, *arguments)
    assert (result.returncode, result.stdout) == (2, b"")
    assert said in result.stderr.decode()
    assert len(result.stderr.splitlines()) <= 2
    assert list(tmp_path.iterdir()) == []


def test_sessions_and_models_alone_list(tmp_path: Path) -> None:
    for words in (("sessions",), ("sessions", "--json"), ("models",)):
        alone, listed = run(tmp_path, *words), run(tmp_path, words[0], "list", *words[1:])
        assert (alone.returncode, alone.stdout) == (0, listed.stdout)


def test_without_a_terminal_a_message_is_answered_once(tmp_path: Path) -> None:
    result = run(tmp_path, *ECHO, "say", "hello", stdin=b"and this")
    assert (result.returncode, result.stdout) == (0, b"You said: say hello\n\nand this\n")


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
        assert chat.text().rstrip().endswith("--help shows how.")
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
