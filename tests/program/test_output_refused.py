"""Standard output that accepts nothing: one sentence, an exit code, and a saved session."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.support.loopback import Loopback
from tests.support.environments import environment
from tests.support.headless import ECHO
from tests.support.terminal_chat import asked, compatible, saved

pytestmark = pytest.mark.skipif(
    not Path("/dev/full").exists(), reason="a device that is always full"
)

FULL = "Standard output cannot be written: no space left on device."
CLOSED = "Standard output cannot be written: bad file descriptor."
WAYS = {"> /dev/full": FULL, ">&-": CLOSED}


def shell(
    home: Path, arguments: tuple[str, ...], redirected: str, stdin: str = ""
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["bash", "-c", f'"$@" {redirected}', "bash", sys.executable, "-m", "chat_loop", *arguments],
        env=environment(home, PATH=os.environ["PATH"]),
        capture_output=True,
        input=stdin,
        text=True,
        timeout=60,
        check=False,
    )


@pytest.mark.parametrize(("way", "form"), [("> /dev/full", ()), (">&-", ("--json",))])
def test_a_reply_that_cannot_be_written_is_saved(
    tmp_path: Path, way: str, form: tuple[str, ...]
) -> None:
    done = shell(tmp_path, (*ECHO, "-p", "hello there", *form), way)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == f"{WAYS[way]}\nThe reply is saved: chat-loop sessions show last.\n"
    [exchange] = saved(tmp_path).exchanges
    assert exchange.reply
    assert (exchange.reply.text, exchange.reply.stop) == ("You said: hello there", "end")
    assert (
        shell(tmp_path, ("sessions", "show", "last"), "").stdout.count("You said: hello there") == 1
    )


def test_nothing_is_said_to_be_saved_that_was_not(tmp_path: Path) -> None:
    done = shell(tmp_path, (*ECHO, "-p", "hello", "--no-save"), "> /dev/full")
    assert (done.returncode, done.stderr) == (1, f"{FULL}\n")


COMMANDS = [
    ("sessions", "list"),
    ("sessions", "list", "--json"),
    ("sessions", "show", "last"),
    ("sessions", "export", "last", "-"),
    ("sessions", "stats"),
    ("models", "list"),
    ("providers",),
    ("agents",),
    ("doctor",),
    ("completion", "bash"),
    ("--version",),
    ("--help",),
    ("sessions", "--help"),
]


@pytest.mark.slow
@pytest.mark.parametrize("way", WAYS)
def test_commands(tmp_path: Path, way: str) -> None:
    assert (
        shell(tmp_path, ECHO, "", "hello\nexit\n").returncode == 0
    )  # a run with -p would not be listed
    for command in COMMANDS:
        done = shell(tmp_path, command, way)
        assert (command, done.returncode, done.stderr) == (command, 1, f"{WAYS[way]}\n")


def test_a_chat_from_a_pipe(tmp_path: Path) -> None:
    for line in ("hello", "x" * 100_000):
        done = shell(tmp_path, ECHO, "> /dev/full", f"{line}\nexit\n")
        assert (done.returncode, done.stderr) == (1, f"{FULL}\n")


@pytest.mark.slow
@pytest.mark.parametrize(
    "command", [("-p", "hello"), ("--json", "-p", "hello"), ("sessions", "list")]
)
def test_a_reader_that_leaves_is_no_failure(tmp_path: Path, command: tuple[str, ...]) -> None:
    assert (
        shell(tmp_path, ECHO, "", "hello\nexit\n").returncode == 0
    )  # a run with -p would not be listed
    with Loopback() as server:
        options = compatible(server) if "-p" in command else ()
        done = shell(tmp_path, (*options, *command), "| head -c 1; exit ${PIPESTATUS[0]}")
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.slow
def test_standard_error_that_takes_nothing_ends_no_reply(tmp_path: Path) -> None:
    for way in ("2> /dev/full", "2>&-"):
        done = shell(tmp_path, (*ECHO, "-p", "hello"), way)
        assert (done.returncode, done.stdout) == (0, "You said: hello\n")
    assert asked(tmp_path) == ["hello"]
