"""The scripts of `chat-loop completion`, in the shells that are installed."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pexpect
import pytest

from chat_loop.options import parser
from chat_loop.providers.models.store import CATALOGUE
from tests.support.headless import ECHO, run
from tests.support.levels import levels

pytestmark = pytest.mark.slow

LEVELS = {level.at: level for level in levels(parser())}
TREE = Path(__file__).parents[2]

needs_bash = pytest.mark.usefixtures("bash")
needs_zsh = pytest.mark.usefixtures("zsh")
needs_fish = pytest.mark.usefixtures("fish")


def required(name: str) -> None:
    """Skip the test without the shell; fail instead when CI_REQUIRE_SHELLS is 1."""
    if shutil.which(name):
        return
    if os.environ.get("CI_REQUIRE_SHELLS") == "1":
        pytest.fail(f"{name} is not installed")
    pytest.skip(f"{name} is not installed")


@pytest.fixture
def bash() -> None:
    required("bash")


@pytest.fixture
def zsh() -> None:
    required("zsh")


@pytest.fixture
def fish() -> None:
    required("fish")


@pytest.fixture(name="shell")
def _shell(tmp_path: Path) -> dict[str, str]:
    """An environment with the program as chat-loop on the PATH, and a new home with two agents."""
    program = tmp_path / "bin" / "chat-loop"
    program.parent.mkdir()
    program.write_text(
        f'#!/bin/sh\nPYTHONPATH="{TREE}" exec "{sys.executable}" -m chat_loop "$@"\n'
    )
    program.chmod(0o755)
    home = tmp_path / "home"
    (home / "agents").mkdir(parents=True)
    (home / "agents" / "sally.md").write_text("You are Sally.")
    (home / "agents" / "$(touch oops).md").write_text("You are not nice.")
    path = os.pathsep.join((str(program.parent), os.environ["PATH"]))
    return {
        "CHAT_LOOP_HOME": str(home),
        "HOME": str(home),
        "PATH": path,
        "LANG": "C.UTF-8",
        "TERM": "xterm",
    }


def script_of(name: str, shell: dict[str, str]) -> str:
    result = run(Path(shell["CHAT_LOOP_HOME"]), "completion", name)
    assert (result.returncode, result.stderr) == (0, b"")
    return result.stdout.decode()


def offered(shell: dict[str, str], folder: Path, line: str) -> list[str]:
    """The completions that the program gives a shell for the end of `line`."""
    answer = folder / ".answer"
    result = subprocess.run(
        ["chat-loop"],
        env=shell
        | {
            "_ARGCOMPLETE": "1",
            "_ARGCOMPLETE_IFS": "\n",
            "_ARGCOMPLETE_SUPPRESS_SPACE": "1",
            "_ARGCOMPLETE_STDOUT_FILENAME": str(answer),
            "COMP_LINE": f"chat-loop {line}",
            "COMP_POINT": str(len(f"chat-loop {line}")),
        },
        cwd=folder,
        capture_output=True,
        timeout=60,
        check=True,
    )
    assert (result.stdout, result.stderr) == (b"", b"")
    text = answer.read_text()
    answer.unlink()
    return [part for part in text.split("\n") if part]


def test_the_program_offers_what_the_parser_takes(shell: dict[str, str], tmp_path: Path) -> None:
    def words(line: str) -> set[str]:
        return set(offered(shell, tmp_path, line))

    assert words("") == {*LEVELS["/"].commands}
    assert words("se") == {"sessions"}
    assert words("--mod") == {"--model"}
    assert words("sessions ") == {*LEVELS["/sessions"].commands}
    assert words("sessions list --") == {
        one for one in LEVELS["/sessions/list"].names if one.startswith("--")
    }
    assert words("--model anthropic:x sessions tr") == {"tree", "trash"}
    assert words("--model=x agents a") == {"add", "approve"}
    assert words("--json doctor --o") == {"--online"}
    assert words("completion ") == {"bash", "zsh", "fish"}
    assert words("models install sm") == {
        model.name for model in CATALOGUE if model.name.startswith("sm")
    }
    assert words("models remove ") == set()


def test_it_offers_sessions_agents_and_files(shell: dict[str, str], tmp_path: Path) -> None:
    home = Path(shell["CHAT_LOOP_HOME"])
    run(home, *ECHO, "-p", "hello")
    unlisted = {path.stem for path in (home / "sessions").glob("*.md")}
    assert len(unlisted) == 1
    run(home, *ECHO, stdin=b"hello\nexit\n")
    [identity] = {path.stem for path in (home / "sessions").glob("*.md")} - unlisted
    folder = tmp_path / "here"
    (folder / "afolder").mkdir(parents=True)
    (folder / "afile.md").touch()
    assert offered(shell, folder, "sessions show ") == ["last", identity]
    assert offered(shell, folder, "--resume ass") == [identity]
    assert offered(shell, folder, "--agent s") == ["sally"]
    assert offered(shell, folder, "--agent a") == ["afile.md", "afolder/"]
    assert offered(shell, folder, "--sessions-dir a") == ["afolder/"]
    (home / "config.yaml").write_text("broken: [")
    assert offered(shell, folder, "sessions show ") == []
    assert list(tmp_path.rglob("oops")) == []


@contextmanager
def ended(terminal: pexpect.spawn[str]) -> Iterator[None]:
    """Kill the terminal's program after the block. `close` gives up after half a second."""
    try:
        yield
    finally:
        terminal.kill(signal.SIGKILL)
        terminal.wait()
        terminal.close()


@needs_bash
def test_tab_in_a_real_bash(shell: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "script").write_text(script_of("bash", shell))
    terminal = pexpect.spawn(
        "bash",
        ["--norc", "--noprofile", "-i"],
        env=shell | {"PS1": "ready> "},
        cwd=str(tmp_path),
        timeout=120,
        encoding="utf-8",
    )
    with ended(terminal):
        terminal.expect_exact("ready> ")
        terminal.sendline(f"source {tmp_path / 'script'}")
        terminal.expect_exact("ready> ")
        terminal.send("chat-loop doc\t--onl\t--he\t")
        terminal.expect_exact("chat-loop doctor --online --help ")
        terminal.sendline("")
        terminal.expect_exact("usage: chat-loop doctor")


@needs_zsh
def test_tab_in_a_real_zsh(shell: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "script").write_text(script_of("zsh", shell))
    terminal = pexpect.spawn(
        "zsh",
        ["-f", "-i"],
        env=shell | {"PS1": "ready> "},
        cwd=str(tmp_path),
        timeout=120,
        encoding="utf-8",
    )
    with ended(terminal):
        terminal.expect_exact("ready> ")
        terminal.sendline(
            f"autoload -U compinit; compinit -u -d {tmp_path / 'dump'}; source "
            f"{tmp_path / 'script'}; echo so''urced"
        )
        terminal.expect_exact("sourced")
        terminal.send("chat-loop doc\t--onl\t--he\t\n")
        terminal.expect_exact("usage: chat-loop doctor")
        terminal.send("chat-loop --agent sal\tagents sh\tsal\t\n")
        terminal.expect_exact("You are Sally.")
    assert list(tmp_path.rglob("oops")) == []


@needs_fish
def test_fish_offers_what_the_parser_takes(shell: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "script").write_text(script_of("fish", shell))

    def offered(line: str) -> set[str]:
        result = subprocess.run(
            ["fish", "--no-config", "-c", f"source {tmp_path / 'script'}; complete -C '{line}'"],
            env=shell,
            cwd=tmp_path / "home",
            capture_output=True,
            timeout=60,
            check=True,
        )
        assert result.stderr == b""
        return {part.partition("\t")[0] for part in result.stdout.decode().split("\n") if part}

    assert offered("chat-loop ") == {*LEVELS["/"].commands}
    assert offered("chat-loop sessions tr") == {"tree", "trash"}
    assert offered("chat-loop --model x sessions li") == {"list"}
    assert offered("chat-loop doctor --") == LEVELS["/doctor"].names - {"-h"}
    assert offered("chat-loop agents show sa") == {"sally"}
    assert list(tmp_path.rglob("oops")) == []


def test_help_fits_eighty_columns_at_every_level(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    for at in LEVELS:
        words = [word for word in at.split("/") if word]
        with pytest.raises(SystemExit) as ended:
            parser().parse_args([*words, "--help"])
        text = capsys.readouterr().out
        assert ended.value.code == 0
        assert text.startswith("usage: chat-loop"), at
        assert max(map(len, text.split("\n"))) <= 80, at


def test_which_shell(tmp_path: Path) -> None:
    for arguments in (("completion",), ("completion", "tcsh")):
        result = run(tmp_path, *arguments)
        assert (result.returncode, result.stdout) == (2, b"")
    (tmp_path / "config.yaml").write_text("broken: [")
    assert run(tmp_path, "completion", "bash").returncode == 0
