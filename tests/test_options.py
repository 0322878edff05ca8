"""A wrong command line: the error names the unknown option, and the prompt below it is clean."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.support.environments import environment
from tests.support.headless import ECHO, run
from tests.support.pty_chat import PtyChat
from tests.support.terminal_chat import PATIENCE, settings


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
        (("session", "list"), "Unknown command “session”. Did you mean sessions list?\n"),
        (("modles", "install", "x"), "Did you mean models install x?\n"),
        (("help", "--plain"), "Unknown command “help”. Did you mean --help?\n"),
        (("sessions", "list", "--system", "x"), "--system needs -p."),
        (("sessions", "list", "-c"), "--continue and --resume cannot be used with a command"),
        (("sessions", "lsit"), "Unknown action “lsit”. Did you mean list?\nchat-loop sessions --h"),
        (("sessions", "list", "--unfld"), "Unknown option --unfld. Did you mean --unfold?\n"),
        (("sessions", "show"), "Missing: SESSION.\n"),
        (("models", "list", "all"), "Unexpected argument “all”."),
        (("-p", "one", "two"), "-p takes one question: put quotes around it."),
        (("--resume", "x", "--name", "y", "models"), "cannot be used with a command."),
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


@pytest.mark.parametrize(
    ("words", "same"),
    [
        (("help",), ("--help",)),
        (("version",), ("--version",)),
        (("list",), ("sessions", "list")),
        (("help", "sessions"), ("sessions", "--help")),
        (("sessions", "--sessions-dir", "other"), ("--sessions-dir", "other", "sessions")),
        (("sessions", "list", "--config=none.yaml"), ("--config=none.yaml", "sessions", "list")),
        (("sessions", "-m", "x", "list", "--local"), ("-m", "x", "--local", "sessions", "list")),
        (("models", "list", "--agent", "nobody"), ("--agent", "nobody", "models")),
        (("providers", "--agent", "nobody"), ("providers",)),
        (("sync", "--agent", "nobody"), ("sync",)),
    ],
)
def test_words_and_options_mean_the_same_elsewhere(
    tmp_path: Path, words: tuple[str, ...], same: tuple[str, ...]
) -> None:
    meant = run(tmp_path, *same)
    result = run(tmp_path, *words)
    assert (result.returncode, result.stdout, result.stderr) == (
        meant.returncode,
        meant.stdout,
        meant.stderr,
    )
    assert result.stdout or b"No conversations yet" in result.stderr or result.returncode == 2


def test_without_a_terminal_a_message_is_answered_once(tmp_path: Path) -> None:
    result = run(tmp_path, *ECHO, "say", "hello", stdin=b"and this")
    assert (result.returncode, result.stdout) == (0, b"You said: say hello\n\nand this\n")


@pytest.mark.slow
@pytest.mark.parametrize(
    "arguments", [("--max-tokens", "many"), ("--model",), ("--resume=1", "--new-session")]
)
def test_nothing_is_printed_over_the_prompt(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    with PtyChat(["cat"], env=environment(tmp_path)) as other:  # cat changes no settings
        before = settings(other)
    with PtyChat(
        [sys.executable, "-m", "chat_loop", *arguments], env=environment(tmp_path)
    ) as chat:
        assert chat.exit_code(PATIENCE) == 2
        assert "You:" not in chat.text()
        assert chat.text().rstrip().endswith("--help shows how.")
        assert settings(chat) == before
