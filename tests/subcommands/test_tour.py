"""`chat-loop tour`, in a pipe and on a terminal."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from chat_loop.subcommands import tour
from chat_loop.values import Message, Request
from tests.support.environments import environment
from tests.support.headless import run
from tests.support.pty_chat import PtyChat


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


def test_a_pipe_gets_the_whole_walk(tmp_path: Path, temporary: Path) -> None:
    done = run(tmp_path / "home", "tour", stdin=b"not read\n", keys={"TMPDIR": str(temporary)})
    text = done.stdout.decode()
    assert (done.returncode, done.stderr) == (0, b"")
    steps = re.findall(r"^(\d+)/(\d+) · ", text, re.MULTILINE)
    assert [int(number) for number, _ in steps] == [*range(1, int(steps[0][1]) + 1)]
    entered = re.findall(r"^You: (.*)$", text, re.MULTILINE)
    assert len(entered) == len(steps)
    assert entered.count("exit") == 2
    # signs that the program really compacted, exited, listed and resumed
    for sign in ("📦 Compacted ", "✓ Conversation saved successfully!", "1  What can", "✓ Found: "):
        assert sign in text
    assert "not in my script" not in text
    answer = "“Decision: the API listens on port 8443.”"
    before, _, resumed = text.partition("You: resume 1\n")
    assert before.count(answer) == 1
    assert resumed.count(answer) == 1  # the exchange at which the conversation was left
    last = text.partition("You: How long")[2]
    assert "My context says: “Decision: backups are kept for 30 days.”" in last


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
        terminal.wait_for("What can you do?")
        terminal.ctrl("u")
        terminal.mark()
        terminal.line("Is there a moon?")
        terminal.wait_for("This is not in my script.", output=True)
        terminal.wait_for(re.compile(r"1/10 · .*1/10 · ", re.DOTALL))
        terminal.wait_for(re.compile(r"You: What can you do\?\s+Enter runs", re.DOTALL))


def test_ctrl_c_ends_it(tmp_path: Path, temporary: Path) -> None:
    with walking(tmp_path, temporary) as terminal:
        terminal.wait_for("What can you do?")
        terminal.ctrl("c")
        assert terminal.exit_code() == 130
        assert "You left the tour" in terminal.text()
        assert "Traceback" not in terminal.text()
    assert [*temporary.iterdir()] == []


@pytest.mark.slow
def test_a_screen_reader_is_asked_for_enter(tmp_path: Path, temporary: Path) -> None:
    with walking(tmp_path, temporary, "--plain") as terminal:
        assert "\x1b[1;36m" not in terminal.output()
        terminal.wait_for("Enter runs: What can you do?")
        terminal.line("")
        terminal.wait_for("Enter runs: Decision")
        terminal.line("")
        terminal.wait_for("Noted.")
        terminal.ctrl("c")
        assert terminal.exit_code() == 130
        assert "3/10" not in terminal.text()
    assert [*temporary.iterdir()] == []


@pytest.mark.slow
def test_ctrl_c_in_a_reply_stops_it_and_the_next_one_ends_the_tour(
    tmp_path: Path, temporary: Path
) -> None:
    with walking(tmp_path, temporary) as terminal:
        terminal.send("\r")
        terminal.wait_for("I only follow")
        terminal.ctrl("c")
        terminal.wait_for("2/10 · ")
        terminal.wait_for("You: Decision")
        terminal.ctrl("c")
        assert terminal.exit_code() == 130
    assert [*temporary.iterdir()] == []


@pytest.mark.slow
def test_leaving_early_does_not_start_the_second_run(tmp_path: Path, temporary: Path) -> None:
    with walking(tmp_path, temporary) as terminal:
        terminal.ctrl("u")
        terminal.line("exit")
        assert terminal.exit_code() == 0
        assert "You left the tour" in terminal.text()
        assert "Last time" not in terminal.text()


def test_the_model_answers_from_its_context_only() -> None:
    model = tour.ScriptedModel([])
    question = Message("user", "How long are backups kept?")
    context = Message("user", "Read this.\n- Backups are kept for 30 days. [1 user]\n+ More")
    read = Message("assistant", "Read.")
    answer = model.reply(Request(system="", messages=(context, read, question)))
    assert answer.text == "My context says: “Backups are kept for 30 days.”"
    assert "not in my script" in model.reply(Request(system="", messages=(question,))).text
