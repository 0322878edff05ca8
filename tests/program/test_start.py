"""The start of a chat: the offer of the last session, and the options that resume one."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest
from wcwidth import width

from chat_loop.display.status import greeting, offer
from chat_loop.sessions.manager import SessionManager
from chat_loop.sessions.records import Session
from chat_loop.sessions.rows import read_rows
from tests.support.headless import ECHO, run
from tests.support.pty_chat import PtyChat
from tests.support.saved_sessions import ALL, OLD, OPEN, SECOND, of_this_project, put, simple, used
from tests.support.terminal_chat import started

NOW = datetime.now(UTC)
AGENT = "agent: {name: Sally}\n"
FOUND = "✓ Found: Sally"


def last(home: Path, session: Session, when: datetime | None = None) -> Path:
    """Make `session` the one that was used last, in the project of the test."""
    [path] = put(home / "sessions", of_this_project(session))
    used(path, when or NOW)
    sessions = SessionManager(home / "sessions", project=str(Path.cwd()))
    sessions.pointers.note(session.header.id)
    (home / "config.yaml").write_text(AGENT)
    return path


def leave(terminal: PtyChat) -> str:
    terminal.line("exit")
    assert terminal.exit_code() == 0
    assert "Traceback" not in terminal.text()
    return terminal.text()


def say_and_leave(terminal: PtyChat) -> str:
    """Say something, since a session without a message leaves no file, and leave."""
    terminal.line("hello")
    terminal.wait_for("Time: ")
    return leave(terminal)


def lines(terminal: PtyChat) -> list[str]:
    """Return the lines above the prompt."""
    return [line for line in terminal.text().partition("You:")[0].split("\n") if line]


def newest(home: Path) -> Session:
    sessions = SessionManager(home / "sessions")
    return sessions.load(read_rows(sessions.directory)[0].path).session


# The offer


@pytest.mark.parametrize(
    ("name", "columns", "expected"),
    [
        (
            "Rate limiter",
            100,
            'Last time: Rate limiter (today 14:30) · type "resume last" to continue',
        ),
        (
            "Rate limiter",
            80,
            'Last time: Rate limiter (today 14:30) · type "resume last" to continue',
        ),
        (
            "word " * 20,
            80,
            'Last time: word word word word… (today 14:30) · type "resume last" to continue',
        ),
        ("漢字" * 20, 80, "Last time: 漢字漢字漢字漢字漢字… (today 14:30)"),
        ("\x1b]0;x\x07\x1b[2J\nred\u202e", 100, "Last time: ␛]0;x␇␛[2J red<U+202E> (today 14:30)"),
    ],
)
def test_the_offer_fits_into_one_line(name: str, columns: int, expected: str) -> None:
    made = offer(name, "today 14:30", columns)
    assert made.startswith(expected)
    assert width(made) < columns
    assert offer(name, "today 14:30", 20).endswith('· type "resume last" to continue')


def test_the_last_session_is_offered_and_resume_last_goes_on_with_it(tmp_path: Path) -> None:
    put(tmp_path / "sessions", *ALL)
    last(tmp_path, SECOND)
    with started(tmp_path) as terminal:
        above = lines(terminal)
        assert above[0].startswith("chat-loop ")
        assert re.fullmatch(
            r'Last time: Rate limiter \(today \d\d:\d\d\) · type "resume last" to continue',
            above[1],
        ) or re.fullmatch(
            r'Last time: Rate limiter \(\w+ \d+, \d\d:\d\d\) · type "resume last" to continue',
            above[1],
        )
        assert len(above) == 2
        terminal.line("resume last")
        terminal.wait_for(FOUND)
        terminal.line("hello again")
        terminal.wait_for("You said: hello again")
        leave(terminal)
    assert newest(tmp_path).header.parent == SECOND.header.id


@pytest.mark.slow
def test_no_offer_without_a_session_that_can_be_gone_on_with(tmp_path: Path) -> None:
    folder = tmp_path / "sessions"
    path = last(tmp_path, OLD)
    for damage in ("gone", "empty", "foreign", "link", "folder"):
        path.unlink(missing_ok=True)
        if damage == "empty":
            path.write_bytes(b"")
        elif damage == "foreign":
            path.write_text("# Notes\n")
        elif damage == "link":
            path.symlink_to("/etc/hostname")
        elif damage == "folder":
            path.mkdir()
        with started(tmp_path) as terminal:
            assert len(lines(terminal)) == 1, damage
            terminal.ctrl("d")
            assert terminal.exit_code() == 0
    for pointer in (b"../../etc/passwd\n", b"\xff\xfe\n", b"x" * 5_000_000):
        (folder / ".current").write_bytes(pointer)
        with started(tmp_path) as terminal:
            assert len(lines(terminal)) == 1
            terminal.ctrl("d")
            assert terminal.exit_code() == 0


@pytest.mark.slow
def test_a_crashed_session_is_offered_whatever_its_first_query_is(tmp_path: Path) -> None:
    torn = last(tmp_path, OPEN)
    torn.write_bytes(torn.read_bytes()[:-40])
    with started(tmp_path) as terminal:
        assert lines(terminal)[1].startswith("Last time: Which port does the database listen on? (")
        leave(terminal)
    last(
        tmp_path, simple("long_20261101_100000", NOW, f"A very long paste\n{'x' * 100_000}", "So.")
    )
    with started(tmp_path) as terminal:
        assert lines(terminal)[1].startswith("Last time: A very long paste (")
        leave(terminal)


def test_keys_typed_ahead_are_not_lost_when_the_offer_is_drawn(tmp_path: Path) -> None:
    last(tmp_path, OLD)
    with started(tmp_path, typed="typed ahead\r", until="You said: typed ahead") as terminal:
        assert "Last time: What is a monad?" in terminal.text()
        assert terminal.text().count("You: typed ahead") == 1
        leave(terminal)


@pytest.mark.slow
def test_there_is_no_offer_in_a_pipe_nor_for_a_new_session(tmp_path: Path) -> None:
    last(tmp_path, OLD)
    assert b"Last time" not in run(tmp_path, *ECHO, stdin=b"hi\n").stdout
    last(tmp_path, OLD)
    with started(tmp_path, "--new-session") as terminal:
        assert len(lines(terminal)) == 1
        leave(terminal)


# Going on


@pytest.mark.parametrize(
    "options",
    [
        ("--continue",),
        pytest.param(("--resume", "last"), marks=pytest.mark.slow),
        pytest.param(("--resume", "monad"), marks=pytest.mark.slow),
    ],
)
def test_going_on_at_once(tmp_path: Path, options: tuple[str, ...]) -> None:
    put(tmp_path / "sessions", *ALL)
    last(tmp_path, OLD)
    with started(tmp_path, *options, until=FOUND) as terminal:
        terminal.wait_for("context")
        assert "Last time" not in terminal.text()
        say_and_leave(terminal)
    assert newest(tmp_path).header.parent == OLD.header.id


@pytest.mark.slow
def test_continue_without_any_session_begins_one(tmp_path: Path) -> None:
    with started(tmp_path, "--continue", until="There is no session to continue.") as terminal:
        terminal.line("hello")
        terminal.wait_for("You said: hello")
        leave(terminal)
    assert [len(newest(tmp_path).exchanges)] == [1]


@pytest.mark.slow
def test_resume_without_a_value_opens_the_browser(tmp_path: Path) -> None:
    put(tmp_path / "sessions", *ALL)
    (tmp_path / "config.yaml").write_text(AGENT)
    with started(tmp_path, "--resume", until="Enter resume") as terminal:
        terminal.send("\x1b[B\r")
        terminal.wait_for(FOUND)
        terminal.wait_for("context")
        say_and_leave(terminal)
    assert newest(tmp_path).header.parent == SECOND.header.id


@pytest.mark.slow
@pytest.mark.parametrize("key", ["q", "\x1b"])
def test_leaving_the_browser_of_resume_quits(tmp_path: Path, key: str) -> None:
    put(tmp_path / "sessions", *ALL)
    with started(tmp_path, "-r", until="Enter resume") as terminal:
        terminal.send(key)
        terminal.wait_for("Goodbye!")
        assert terminal.exit_code() == 0


def test_a_message_on_the_command_line_begins_the_chat(tmp_path: Path) -> None:
    notes = tmp_path / "notes.txt"
    notes.write_text("Buy milk.\n")
    words = ("What is in", f"@{notes}", "--name", "Notes")
    with started(tmp_path, *words, cols=200, until="Buy milk.") as terminal:
        assert f"You: What is in @{notes}" in terminal.text()
        say_and_leave(terminal)
    session = newest(tmp_path)
    assert (len(session.exchanges), session.name) == (2, "Notes")
    assert [file.name for file in session.exchanges[0].attached] == [str(notes)]


@pytest.mark.slow
@pytest.mark.parametrize(("options", "term"), [(("--plain",), "xterm"), ((), "dumb")])
def test_a_message_is_sent_without_an_editor(
    tmp_path: Path, options: tuple[str, ...], term: str
) -> None:
    words = (*options, "Two", "words")
    with started(tmp_path, *words, until="You said: Two words", TERM=term) as chat:
        assert "You: Two words" in chat.text()
        leave(chat)


@pytest.mark.slow
def test_a_message_that_looks_like_a_command_is_text(tmp_path: Path) -> None:
    with started(tmp_path, "--", "/help", until="You said:  /help") as terminal:
        leave(terminal)


@pytest.mark.slow
def test_a_message_goes_to_the_continued_session(tmp_path: Path) -> None:
    last(tmp_path, OLD)
    with started(tmp_path, "-c", "And in one word?", until="You said: And in one") as terminal:
        leave(terminal)
    assert newest(tmp_path).header.parent == OLD.header.id


@pytest.mark.slow
def test_a_message_waits_in_the_line_where_its_session_cannot_be_resumed(tmp_path: Path) -> None:
    with started(tmp_path, "-r", "99", "hello", until="No session 99") as terminal:
        terminal.wait_for("You: hello")
        assert not list((tmp_path / "sessions").glob("*.md"))
        terminal.send("\r")
        terminal.wait_for("You said: hello")
        leave(terminal)


@pytest.mark.slow
@pytest.mark.parametrize("how", ["fine", "missing", "damaged", "empty", "none", "new"])
def test_auto_resume(tmp_path: Path, how: str) -> None:
    path = last(tmp_path, OLD)
    (tmp_path / "config.yaml").write_text(f"{AGENT}sessions: {{auto_resume: true}}\n")
    if how == "missing":
        path.unlink()
    elif how == "damaged":
        path.write_bytes(os.urandom(3000))
    elif how == "empty":
        path.write_bytes(b"")
    elif how == "none":
        path.unlink()
        (path.parent / ".current").unlink()
    told = {
        "fine": FOUND,
        "damaged": f"There is no session to continue. {OLD.header.id} cannot be read.",
    }
    options = ("--new-session",) if how == "new" else ()
    with started(tmp_path, *options, cols=200, until=told.get(how, "You:")) as terminal:
        if how not in told:
            assert len(lines(terminal)) == 1
        terminal.line("hello")
        terminal.wait_for("You said: hello")
        text = leave(terminal)
        assert "Last time" not in text
        assert "You: ✗" not in text
        assert "You: 📋" not in text
    assert newest(tmp_path).header.parent == (OLD.header.id if how == "fine" else "")


APART: list[tuple[tuple[str, ...], str]] = [
    (("--continue", "--new-session"), "cannot be used with -c/--continue"),
    (("--resume", "1", "-c"), "cannot be used with -r/--resume"),
    (("--new-session", "--resume"), "cannot be used with --new-session"),
    (("--continue", "providers"), "--resume cannot be used with a command"),
    (("--resume", "-p", "x"), "With -p, --resume needs a session."),
]


def test_what_does_not_go_together(tmp_path: Path) -> None:
    put(tmp_path / "sessions", OLD)
    for options, message in APART:
        result = run(tmp_path, *ECHO, *options)
        assert (result.returncode, result.stdout) == (2, b""), options
        assert message in result.stderr.decode()
    assert run(tmp_path, *ECHO, "--new-session", "-p", "x").returncode == 0


def test_the_browser_needs_a_terminal(tmp_path: Path) -> None:
    put(tmp_path / "sessions", OLD)
    result = run(tmp_path, *ECHO, "--resume", stdin=b"hello\n")
    assert (result.returncode, result.stdout) == (2, b"")
    assert "The browser needs a terminal." in result.stderr.decode()


def test_the_greeting_names_the_folder_and_the_home_by_its_sign(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("HOME", "/home/kim")
    assert greeting("/home/kim/x/sessions") == "Conversations are markdown files in ~/x/sessions"
    assert greeting("/home/kimberly/x").endswith(" in /home/kimberly/x")


def test_windows_gets_one_sentence() -> None:
    code = "import os; os.name = 'nt'; import chat_loop.cli"
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr == "chat-loop runs on Linux and macOS; on Windows, run it in WSL.\n"
