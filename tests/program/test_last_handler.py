"""A bug ends in one sentence: where the words are, where the traceback is, and exit code 1."""

from __future__ import annotations

import json
import os
import stat
import sys
from pathlib import Path

import pytest

from chat_loop.sessions.manager import SessionManager
from chat_loop.sessions.records import Session
from chat_loop.sessions.rows import read_rows
from tests.support.environments import environment
from tests.support.headless import ECHO, run
from tests.support.injected_bugs import KEY, MESSAGE, bug
from tests.support.pty_chat import PtyChat
from tests.support.terminal_chat import settings

IN_A_REPLY = "chat_loop.providers.scripted:EchoProvider.reply"
IN_A_COMMAND = "chat_loop.commands.view:accounting"
IN_A_LIST = "chat_loop.library.library:Library.rows"
WENT_WRONG = f"Something went wrong in chat-loop: TypeError: {MESSAGE}, in chat_loop."


def only_session(home: Path) -> tuple[Path, Session]:
    """Return the only session on disk, which must be undamaged."""
    sessions = SessionManager(home / "sessions")
    [row] = read_rows(sessions.directory)
    loaded = sessions.load(row.path)
    assert loaded.damage == ()
    return row.path, loaded.session


def log(home: Path) -> str:
    """Return the log, which only the user may read."""
    path = home / "chat-loop.log"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    return path.read_text()


@pytest.mark.parametrize("form", [(), ("--json",)], ids=["text", "json"])
def test_a_bug_in_a_reply_of_a_script(tmp_path: Path, form: tuple[str, ...]) -> None:
    home = tmp_path / "home"
    done = run(home, *ECHO, *form, "-p", "hello", keys=bug(tmp_path / "code", IN_A_REPLY))
    path, session = only_session(home)
    assert done.returncode == 1
    lines = done.stderr.decode().splitlines()
    assert lines[0].startswith(WENT_WRONG)
    assert lines[1:] == [
        f"What was said is saved in {path}. The traceback is in {home / 'chat-loop.log'}."
    ]
    assert [exchange.query.text for exchange in session.exchanges] == ["hello"]
    assert session.seal is not None
    assert "in reply\n" not in done.stderr.decode()
    assert f"TypeError: {MESSAGE}" in log(home)
    assert "sitecustomize.py" in log(home)
    assert KEY not in log(home)
    if form:
        events = [json.loads(line) for line in done.stdout.splitlines()]
        [error] = [event for event in events if event["event"] == "error"]
        assert error["message"].startswith(WENT_WRONG)


def test_a_bug_in_a_command_of_a_chat_in_a_pipe(tmp_path: Path) -> None:
    home = tmp_path / "home"
    lines = b"remember the harbor\n/info\nnever read\n"
    done = run(home, *ECHO, stdin=lines, keys=bug(tmp_path / "code", IN_A_COMMAND))
    path, session = only_session(home)
    assert done.returncode == 1
    assert done.stderr.decode().startswith(WENT_WRONG)
    assert f"What was said is saved in {path}. The traceback is in " in done.stderr.decode()
    assert "Traceback" not in done.stdout.decode() + done.stderr.decode()
    [exchange] = session.exchanges
    assert exchange.reply
    assert exchange.reply.text == "You said: remember the harbor"
    assert "Traceback (most recent call last)" in log(home)


def test_a_bug_before_the_first_word_of_a_resume_names_the_session_before(tmp_path: Path) -> None:
    home = tmp_path / "home"
    run(home, *ECHO, stdin=b"remember the harbor\nexit\n")
    keys = bug(tmp_path / "code", IN_A_COMMAND)
    done = run(home, *ECHO, "-c", stdin=b"/info\nnever read\n", keys=keys)
    path, _ = only_session(home)
    assert done.returncode == 1
    assert done.stderr.decode().startswith(WENT_WRONG)
    assert f"What was said is saved in {path}. The traceback is in " in done.stderr.decode()


def test_a_bug_while_nothing_can_be_saved_does_not_say_that_all_is(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    (home / "sessions").write_text("in the way")
    keys = bug(tmp_path / "code", IN_A_COMMAND)
    done = run(home, *ECHO, stdin=b"remember the harbor\n/info\n", keys=keys)
    assert done.returncode == 1
    assert "What could be saved is in " in done.stderr.decode()
    assert "What was said is saved" not in done.stderr.decode()


@pytest.mark.parametrize(
    ("folder", "told"),
    [
        ("sessions", "The traceback is in {}."),
        ("chat-loop.log", "Its traceback is lost: {} cannot be written."),
    ],
)
def test_a_bug_in_a_subcommand(tmp_path: Path, folder: str, told: str) -> None:
    home = tmp_path / "home"
    (home / folder).mkdir(parents=True)
    done = run(home, "sessions", "list", keys=bug(tmp_path / "code", IN_A_LIST))
    assert done.returncode == 1
    said = done.stderr.decode().splitlines()
    assert said[0].startswith(WENT_WRONG)
    assert said[1:] == [told.format(home / "chat-loop.log")]


def test_without_saving_nothing_is_logged(tmp_path: Path) -> None:
    home = tmp_path / "home"
    done = run(home, *ECHO, "--no-save", "-p", "hello", keys=bug(tmp_path / "code", IN_A_REPLY))
    assert done.returncode == 1
    said = done.stderr.decode().splitlines()
    assert said[0].startswith(WENT_WRONG)
    assert said[1:] == ["Its traceback is not saved."]
    assert not home.exists()


@pytest.mark.slow
def test_a_bug_in_a_command_gives_the_terminal_back(tmp_path: Path) -> None:
    home = tmp_path / "home"
    variables = environment(home) | bug(tmp_path / "code", IN_A_COMMAND)
    command = [sys.executable, "-m", "chat_loop", *ECHO]
    with PtyChat(command, env=variables, cols=200) as chat:
        before = settings(chat)
        chat.wait_for("context")
        chat.line("remember the harbor")
        chat.wait_for("You said: remember the harbor")
        chat.line("/info")
        assert chat.exit_code() == 1
        assert settings(chat) == before
        shown = chat.text()
    path, _ = only_session(home)
    assert WENT_WRONG in shown
    assert f"What was said is saved in {path}." in shown
    assert "Traceback" not in shown
    assert os.access(home / "chat-loop.log", os.R_OK)
