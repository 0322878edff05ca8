"""`/sessions browse` in a chat: filter, preview, resume, trash, edit, and folding."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from chat_loop.sessions.files import take_lock
from chat_loop.sessions.manager import SessionManager
from chat_loop.sessions.rows import read_rows
from tests.support.environments import environment
from tests.support.headless import ECHO
from tests.support.pty_chat import PtyChat
from tests.support.saved_sessions import ALL, FIRST, OLD, OPEN, SECOND, put

ENTERED, LEFT = "\x1b[?1049h", "\x1b[?1049l"


@pytest.fixture(name="home")
def _home(tmp_path: Path) -> Path:
    put(tmp_path / "sessions", *ALL)
    (tmp_path / "config.yaml").write_text("agent: {name: Sally}\n")
    editor = tmp_path / "editor.sh"
    editor.write_text(
        '#!/bin/sh\nstty -a > "$0.modes"\nsed -i "s/What is a monad/What is a functor/" "$1"\n'
    )
    editor.chmod(0o755)
    return tmp_path


@contextmanager
def chat(home: Path, *first: str, cols: int = 120, editor: str = "editor.sh") -> Iterator[PtyChat]:
    """Run the program with the arguments `first`, up to its prompt or the browser. The terminal's
    modes are printed before and after it.
    """
    env = environment(home, EDITOR=str(home / editor))
    command = 'stty -g; "$0" -m chat_loop "$@"; code=$?; stty -g; exit $code'
    argv = ["/bin/sh", "-c", command, sys.executable, *ECHO, *first]
    with PtyChat(argv, env=env, rows=30, cols=cols) as terminal:
        terminal.wait_for("Enter resume" if first else "context")
        yield terminal


def leave(terminal: PtyChat) -> None:
    """Leave the chat, and check that the terminal's modes are those of the beginning."""
    terminal.line("exit")
    assert terminal.exit_code() == 0
    printed = terminal.raw.decode()
    told = re.sub(r"\x1b\[[0-?]*[ -/]*[@-~]", "", printed)
    modes = re.findall(r"(?<![0-9a-f:])[0-9a-f]+(?::[0-9a-f]+){20,}\r", told)
    assert len(modes) == 2
    assert modes[0] == modes[1]
    assert printed.count(ENTERED) == printed.count(LEFT)
    assert "Traceback" not in printed


def open_browser(terminal: PtyChat, words: str = "") -> None:
    terminal.line(f"/sessions browse {words}".rstrip())
    terminal.wait_for("Enter resume")


def chatting(terminal: PtyChat, text: str) -> None:
    """Check that the prompt works, with its editing keys and its status line."""
    terminal.send(f"{text}xx\x7f\x7f\r")
    terminal.wait_for(
        re.compile(rf"^(.*You said: )?{text}\n\s*Time: \d.*You:", re.DOTALL | re.MULTILINE)
    )


def newest(home: Path) -> str:
    sessions = SessionManager(home / "sessions")
    return sessions.load(read_rows(sessions.directory)[0].path).session.header.parent


def test_filter_preview_and_enter_resumes(home: Path) -> None:
    with chat(home) as terminal:
        open_browser(terminal)
        terminal.wait_for("Port 5544.")  # the preview of the first session
        terminal.send("/")
        terminal.send("rate")
        terminal.wait_for("1 of 3 match “rate")
        terminal.wait_for("Bursts of requests")
        terminal.send("\r")
        terminal.wait_for("Enter resume")
        terminal.send("\r")
        terminal.wait_for("✓ Found: Sally")
        chatting(terminal, "on we go")
        leave(terminal)
    assert newest(home) == SECOND.header.id


@pytest.mark.slow
@pytest.mark.parametrize("key", ["q", "\x1b", "\x03"])
def test_leaving_gives_the_prompt_back(home: Path, key: str) -> None:
    with chat(home) as terminal:
        chatting(terminal, "before")
        open_browser(terminal)
        terminal.mark()
        terminal.send(key)
        terminal.wait_for(re.compile(re.escape(LEFT) + r".*You:", re.DOTALL), output=True)
        chatting(terminal, "after")
        leave(terminal)
    assert newest(home) == ""


def test_d_and_y_trashes_and_any_other_key_does_not(home: Path) -> None:
    folder = home / "sessions"
    with chat(home) as terminal:
        open_browser(terminal)
        terminal.send("dn")
        terminal.wait_for("Nothing was moved.")
        assert (folder / f"{OPEN.header.id}.md").exists()
        terminal.send("dy")
        terminal.wait_for(f"{OPEN.header.id} is in the trash")
        terminal.wait_for("Sessions: 2")
        held = take_lock(folder, SECOND.header.id)
        terminal.send("dy")
        terminal.wait_for("is open in another process")
        held.close()
        terminal.send("q")
        terminal.wait_for("context")
        terminal.line("/sessions")
        terminal.wait_for("What is a monad?")
        leave(terminal)
    assert sorted(path.stem for path in folder.glob("*.md")) == sorted(
        session.header.id for session in (FIRST, SECOND, OLD)
    )
    assert [path.stem for path in (folder / ".trash").iterdir()] == [OPEN.header.id]


@pytest.mark.slow
def test_e_opens_the_editor_on_the_file_with_the_terminal_as_it_was(home: Path) -> None:
    with chat(home) as terminal:
        open_browser(terminal, "monad")
        terminal.send("e")
        terminal.wait_for("No sessions match")  # the editor changed its text to functors
        terminal.send("\x1b")
        terminal.wait_for("What is a functor?")
        terminal.send("q")
        terminal.wait_for("context")
        chatting(terminal, "hello")
        leave(terminal)
    modes = (home / "editor.sh.modes").read_text()
    for mode in ("icanon", "echo", "icrnl", "isig"):
        assert f" {mode} " in modes.replace("\n", " ")
    assert b"What is a functor?" in (home / "sessions" / f"{OLD.header.id}.md").read_bytes()


@pytest.mark.slow
@pytest.mark.parametrize("editor", ["nowhere", "fails.sh"])
def test_an_editor_that_fails_is_told_in_the_browser(home: Path, editor: str) -> None:
    (home / "fails.sh").write_text("#!/bin/sh\nexit 3\n")
    (home / "fails.sh").chmod(0o755)
    with chat(home, editor=editor) as terminal:
        open_browser(terminal)
        terminal.send("e")
        terminal.wait_for("Cannot start" if editor == "nowhere" else "exited with code 3")
        terminal.send("q")
        terminal.wait_for("context")
        chatting(terminal, "hello")
        leave(terminal)


@pytest.mark.slow
def test_the_open_session_has_no_number_and_is_not_selected(home: Path) -> None:
    with chat(home) as terminal:
        chatting(terminal, "I am here")
        open_browser(terminal)
        shown = "\n".join(terminal.screen())
        assert re.search(r"^  \* .* I am here", shown, re.MULTILINE)
        assert re.search("^> 1 .* Which port does the database", shown, re.MULTILINE)
        terminal.send("q")
        terminal.wait_for("context")
        leave(terminal)


@pytest.mark.slow
def test_what_is_open_elsewhere_is_not_edited(home: Path) -> None:
    held = take_lock(home / "sessions", OPEN.header.id)
    with chat(home) as terminal:
        open_browser(terminal)
        terminal.send("e")
        terminal.wait_for("is open in another process")
        terminal.send("q")
        terminal.wait_for("context")
        leave(terminal)
    held.close()
    assert not (home / "editor.sh.modes").exists()
