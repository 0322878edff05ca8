"""A server that fails at exit, compaction or resume: one more attempt, and one line of output."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.support.loopback import Loopback, Reply, failing
from benchmarks.support.loopback_wires import Received
from tests.support.headless import QUESTION, WAITS, chat, run
from tests.support.ports import closed_port
from tests.support.terminal_chat import started

BOOM = failing(500, message="summary boom")


@pytest.fixture(autouse=True)
def _waits(tmp_path: Path) -> None:
    (tmp_path / "config.yaml").write_text(WAITS)


def is_summary(request: Received) -> bool:
    return request.system.startswith("Task: session summary")


@pytest.mark.slow
def test_a_server_that_fails_and_then_hangs_does_not_keep_the_session_open(tmp_path: Path) -> None:
    (tmp_path / "config.yaml").write_text(
        "auto_compact: {summary_on_exit: wait, summary_timeout: 1}\n"
    )
    with Loopback() as server:
        server.enqueue(Reply(chunks=("Noted.",)), BOOM, Reply(chunks=("never",), stall_after=0))
        shown = chat(tmp_path, server, QUESTION, "exit")
        assert sum(map(is_summary, server.requests)) == 2
        assert "It took more than 1 seconds." in shown
        assert "Conversation saved successfully!" in shown


def test_a_server_that_asks_for_a_long_pause_is_not_waited_for(tmp_path: Path) -> None:
    with Loopback() as server:
        server.enqueue(
            Reply(chunks=("Noted.",)), failing(429, message="Slow down", retry_after="30")
        )
        shown = chat(tmp_path, server, QUESTION, "exit")
        assert sum(map(is_summary, server.requests)) == 1
        assert "Slow down. A resume brings back all words." in shown


@pytest.mark.slow
def test_nothing_more_is_asked_of_a_server_that_failed_at_a_summary(tmp_path: Path) -> None:
    with Loopback() as server:
        server.enqueue(Reply(chunks=("Noted.",)), *[BOOM] * 9)
        shown = chat(tmp_path, server, QUESTION, "/compact", "/exit")
        assert (
            len(server.requests) == 3
        )  # the query, the summary and its second attempt: no acknowledgment
        assert shown.count("Trying again") == 1


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
def test_a_server_of_this_machine_that_is_not_there_fails_at_once(
    tmp_path: Path, host: str
) -> None:
    address = ("--model", "compatible:m", "--base-url", f"http://{host}:{closed_port()}/v1")
    result = run(tmp_path, *address, stdin=b"hello\nexit\n")
    shown = result.stdout.decode()
    assert "Trying again" not in shown
    assert "Cannot reach" in shown
    assert "Conversation saved successfully!" in shown
    asked = run(tmp_path, *address, "-p", "hello")
    assert asked.returncode == 1
    assert "Trying again" not in asked.stderr.decode()


def test_a_server_that_loads_is_waited_for(tmp_path: Path) -> None:
    with Loopback() as server:
        server.enqueue(failing(503, message="Loading model"))
        result = run(
            tmp_path, "--model", "compatible:m", "--base-url", f"{server.url}/v1", "-p", "hello"
        )
        assert result.stdout.decode() == "You said: hello\n"
        assert "Loading model. Trying again (2/5)." in result.stderr.decode()


@pytest.mark.slow
def test_a_pipe_gets_one_line_however_often_it_is_tried(tmp_path: Path) -> None:
    with Loopback() as server:
        server.enqueue(BOOM, BOOM)
        shown = chat(tmp_path, server, "hello")
        assert "You said: hello" in shown
        assert shown.count("Trying again") == 1


@pytest.mark.slow
def test_a_terminal_gets_one_line_that_is_taken_back(tmp_path: Path) -> None:
    with Loopback() as server:
        server.enqueue(BOOM, BOOM)
        address = f"{server.url}/v1"
        with started(
            tmp_path, "--model", "openai:m", OPENAI_API_KEY="k", OPENAI_BASE_URL=address
        ) as terminal:
            terminal.line("hello")
            # Each stands on the screen for a second or two only.
            terminal.wait_for("Trying again in 1 s (2/5)", output=True)
            terminal.wait_for("(3/5)", output=True)
            terminal.wait_for("You said: hello")
            terminal.wait_for("Time: ")
            assert "Trying again" not in terminal.text()
