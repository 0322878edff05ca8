"""Progress of long work: one line on a terminal, nothing in a pipe."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import termios
from collections.abc import Iterator
from pathlib import Path

import pytest

from chat_loop.display.plain import err
from tests.support.environments import environment
from tests.support.model_server import ModelServer, fake_model, open_model_server
from tests.support.pty_chat import PtyChat
from tests.support.saved_sessions import FIRST, put
from tests.support.terminal_chat import chat, leave

ROOT = Path(__file__).parents[2]
MANY = 1_500
FETCH = """\
import sys
import termios
from pathlib import Path
from chat_loop.consent import fetch
from tests.support.model_server import ModelServer, fake_model

fetch(fake_model(ModelServer(sys.argv[1]).wheels()), Path(sys.argv[2]))
"""

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="pseudo-terminals of POSIX")


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A home without an index, and with so many sessions that reading them takes a while."""
    home = tmp_path_factory.mktemp("home")
    folder = home / "sessions"
    [first] = put(folder, FIRST)
    data = first.read_bytes()
    for number in range(MANY):
        (folder / f"s{number:04}.md").write_bytes(data)
    yield home
    shutil.rmtree(home)


@pytest.fixture
def without_index(home: Path) -> Path:
    for path in (home / "sessions").glob(".index*"):
        path.unlink()
    return home


@pytest.mark.slow
@pytest.mark.parametrize(("action", "cols"), [("list", 24), ("reindex", 80)])
def test_sessions_that_are_read_are_counted_on_a_line_that_goes(
    without_index: Path, action: str, cols: int
) -> None:
    command = [
        sys.executable,
        "-m",
        "chat_loop",
        "sessions",
        action,
        *(["--limit", "1"] if action == "list" else []),
    ]
    env = environment(without_index)
    with PtyChat(command, env=env, rows=24, cols=cols, cwd=ROOT) as terminal:
        terminal.wait_for(re.compile(r"^ *\d+%  [\d,]+ of 1,5", re.MULTILINE))
        counted = [line for line in terminal.screen() if "%" in line]
        assert len(counted) == 1
        assert len(counted[0]) < cols
        assert terminal.exit_code(60) == 0
        assert "%" not in terminal.text()


@pytest.mark.slow
def test_in_a_pipe_nothing_is_counted(without_index: Path) -> None:
    command = [sys.executable, "-m", "chat_loop", "sessions", "list", "--limit", "1"]
    done = subprocess.run(
        command, env=environment(without_index), cwd=ROOT, capture_output=True, check=True
    )
    assert done.stderr.decode() == f"… and {MANY:,} older\n"


@pytest.mark.slow
def test_in_a_chat_the_reading_of_sessions_shows_itself(without_index: Path) -> None:
    with chat(without_index, "--model", "scripted:echo", "--new-session") as terminal:
        terminal.mark()
        terminal.line("/search bucket --since 2020-01-01")
        terminal.wait_for(re.compile(r"^Reading sessions: [\d,]+ of [\d,]+ .", re.MULTILINE), 60)
        terminal.wait_for(re.compile(r"older: |take these numbers", re.MULTILINE), 60, output=True)
        terminal.wait_for("context")
        assert "Reading" not in terminal.text()
        leave(terminal)


def fetching(shop: ModelServer, directory: Path) -> list[str]:
    return [sys.executable, "-c", FETCH, shop.address, str(directory)]


@pytest.mark.slow
def test_a_download_shows_how_far_it_is(tmp_path: Path) -> None:
    cols = 30
    with open_model_server() as shop:
        fake_model(shop.wheels())
        shop.held = "part2"
        env = environment(tmp_path, PIP_INDEX_URL=shop.index)
        with PtyChat(
            fetching(shop, tmp_path / "m"), env=env, rows=24, cols=cols, cwd=ROOT
        ) as terminal:
            terminal.wait_for(re.compile(r"^ 42%  250 KB of 600 KB", re.MULTILINE))
            [line] = [line for line in terminal.screen() if "%" in line]
            assert len(line) < cols
            shop.go.set()
            terminal.wait_for(re.compile(r"^100%  600 KB of 600 KB", re.MULTILINE))
            assert terminal.exit_code() == 0
            assert terminal.text().count("%") == 1
            assert "Installed in" in terminal.text()
    assert (tmp_path / "m" / "fake.gguf").exists()


def test_a_download_in_a_pipe_shows_nothing_of_it(tmp_path: Path) -> None:
    with open_model_server() as shop:
        fake_model(shop.wheels())
        env = environment(tmp_path, PIP_INDEX_URL=shop.index) | {
            "PYTHONPATH": os.environ.get("PYTHONPATH", "")
        }
        command = fetching(shop, tmp_path / "m")
        done = subprocess.run(command, env=env, cwd=ROOT, capture_output=True, check=True)
    assert done.stderr == b""
    assert done.stdout.decode().split("\n")[0].startswith("Fake model, 600 KB")
    assert b"%" not in done.stdout


def test_an_error_breaks_between_words_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    reading, writing = os.openpty()
    try:
        termios.tcsetwinsize(writing, (24, 20))
        with os.fdopen(writing, "w") as terminal:
            monkeypatch.setattr(sys, "stderr", terminal)
            err("The tools are: read_file, list_files.\nNext.")
            terminal.flush()
            told, shown = b"The tools are:\r\nread_file,\r\nlist_files.\r\nNext.\r\n", b""
            while len(shown) < len(told):  # a terminal may hand over one line at a time
                shown += os.read(reading, 999)
            assert shown == told
    finally:
        os.close(reading)
