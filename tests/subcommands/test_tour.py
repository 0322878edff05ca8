"""`chat-loop tour`, in a pipe and on a terminal."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from chat_loop.subcommands import tour
from tests.support.environments import environment
from tests.support.headless import run
from tests.support.pty_chat import PtyChat

FIRST = "Remind me: which boats may lie at berth 17?"


@pytest.fixture
def temporary(tmp_path: Path) -> Path:
    folder = tmp_path / "temporary"
    folder.mkdir()
    return folder


@contextmanager
def walking(home: Path, temporary: Path, *options: str, cols: int = 80) -> Iterator[PtyChat]:
    env = environment(home, TMPDIR=str(temporary))
    command = [sys.executable, "-m", "chat_loop", *options, "tour"]
    with PtyChat(command, env=env, rows=40, cols=cols) as terminal:
        terminal.wait_for(re.compile(r"1/\d+ · .*(You|Enter runs):", re.DOTALL))
        yield terminal


@pytest.fixture(scope="module")
def walk(tmp_path_factory: pytest.TempPathFactory) -> str:
    """What a pipe gets of the tour."""
    home = tmp_path_factory.mktemp("walk")
    done = run(home, "tour", stdin=b"not read\n")
    assert (done.returncode, done.stderr) == (0, b"")
    return done.stdout.decode()


def test_a_pipe_gets_the_whole_walk(walk: str) -> None:
    text = walk
    steps = re.findall(r"^(\d+)/(\d+) · ", text, re.MULTILINE)
    assert [int(number) for number, _ in steps] == [*range(1, int(steps[0][1]) + 1)]
    entered = re.findall(r"^You: (.*)$", text, re.MULTILINE)
    assert len(entered) == len(steps)
    assert entered.count("exit") == 3
    assert "not in my script" not in text
    [(before, after)] = re.findall(r"^📦 Compacted ([\d.]+)K → ([\d.]+)K tokens · ", text, re.M)
    assert float(before) > 60
    assert float(after) < 3
    assert "(in: 61," in text.partition("You: compact\n")[0]


def test_what_was_said_before_the_compaction_is_known_after_each_return(walk: str) -> None:
    compacting, returning, choosing = walk.split("✓ Conversation saved successfully!\n")[:3]
    port = "“The API moves to port 8443, since the old proxy keeps 8080 until the spring.”"
    assert (
        f"You: Which port does the API move to?\nAssistant: My context says: {port}" in compacting
    )
    # the exchange at which the conversation was left is on the screen, before anything is asked
    shown, _, asked = returning.partition("\n5/10 · ")
    assert f"  Assistant: My context says: {port}\n" in shown
    assert "\n  Decisions: We take the token bucket" in shown
    assert "“The harbor office is called before the pumps are stopped”" in asked
    assert "You: Ines said that berth 17 must never be given to boats of more than 11" in asked
    # and the model acknowledges the summary alone
    assert "\nAssistant: I have read the summary and can continue.\n" in choosing
    assert "My context says: “Backups are kept for 30 days.”" in choosing


def test_the_program_reports_no_mistake(walk: str) -> None:
    assert not re.search("Traceback|[Ee]rror|[Ff]ailed|No command|NOT SAVED", walk)


def test_nothing_is_left_behind(tmp_path: Path, temporary: Path) -> None:
    home = tmp_path / "home"
    assert run(home, "tour", keys={"TMPDIR": str(temporary)}).returncode == 0
    assert [*temporary.iterdir()] == []
    assert not home.exists()


def test_a_broken_config_and_an_unreachable_model_do_not_matter(tmp_path: Path) -> None:
    (tmp_path / "config.yaml").write_text("model: [\n")
    assert run(tmp_path, "tour").returncode == 0


@pytest.mark.slow
def test_enter_walks_through_a_narrow_terminal(tmp_path: Path, temporary: Path) -> None:
    with walking(tmp_path, temporary, cols=40) as terminal:
        for number in range(1, 11):
            terminal.wait_for(f"{number}/10 · ", output=True)
            terminal.wait_for(tour.HINT[:20])
            terminal.send("\r")
        assert terminal.exit_code() == 0
        text = terminal.text()
    assert "Traceback" not in text
    assert "That was the tour" in text
    assert [*temporary.iterdir()] == []


@pytest.mark.slow
def test_own_words_keep_the_step(tmp_path: Path, temporary: Path) -> None:
    with walking(tmp_path, temporary) as terminal:
        terminal.wait_for(FIRST)
        terminal.ctrl("u")
        terminal.mark()
        terminal.line("Is there a moon?")
        terminal.wait_for("This is not in my script.", output=True)
        terminal.wait_for(re.compile(r"1/10 · .*1/10 · ", re.DOTALL))
        terminal.wait_for(re.compile(rf"You: {re.escape(FIRST)}\s+Enter runs", re.DOTALL))


def test_ctrl_c_ends_it(tmp_path: Path, temporary: Path) -> None:
    with walking(tmp_path, temporary) as terminal:
        terminal.wait_for(FIRST)
        terminal.ctrl("c")
        assert terminal.exit_code() == 130
        assert "You left the tour" in terminal.text()
        assert "Traceback" not in terminal.text()
    assert [*temporary.iterdir()] == []


@pytest.mark.slow
def test_a_screen_reader_is_asked_for_enter(tmp_path: Path, temporary: Path) -> None:
    with walking(tmp_path, temporary, "--plain") as terminal:
        assert "\x1b[1;36m" not in terminal.output()
        terminal.wait_for(f"Enter runs: {FIRST}")
        terminal.line("")
        terminal.wait_for("Enter runs: compact")
        terminal.line("")
        terminal.wait_for("📦 Compacted")
        terminal.ctrl("c")
        assert terminal.exit_code() == 130
        assert "3/10" not in terminal.text()
    assert [*temporary.iterdir()] == []
