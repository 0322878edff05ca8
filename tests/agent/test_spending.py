"""Spending limits: the program asks before it passes one, and stops if nobody can answer."""

from __future__ import annotations

import os
import re
import time
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from benchmarks.support.loopback import Loopback, Reply
from benchmarks.support.loopback_wires import Received
from chat_loop.values import Usage
from tests.support.headless import keys, run, said, saved
from tests.support.pty_chat import PtyChat
from tests.support.terminal_chat import chat
from tests.support.tool_chat import calling

ONE_DOLLAR = Usage(input=10, output=1_000)
"""The usage of each reply. At the price of these tests it costs one dollar, as expected."""
PRICED = "models: {test-model: {input_price: 0, output_price: 1000}}\nlimits: "
MODEL = ("--model", "openai:test-model")


def fine(request: Received) -> Reply:
    return Reply(chunks=("Fine.",), usage=ONE_DOLLAR)


def limited(home: Path, limits: str, priced: str = PRICED) -> None:
    (home / "config.yaml").write_text(
        f"{priced}{limits}\nauto_compact: {{summary_on_exit: wait}}\n"
    )


def at_prompt(home: Path, server: Loopback) -> AbstractContextManager[PtyChat]:
    """A chat in a terminal with the model of these tests."""
    url = f"{server.url}/v1"
    return chat(home, *MODEL, OPENAI_API_KEY="k", OPENAI_BASE_URL=url)


def ask(home: Path, server: Loopback, zone: str = "UTC") -> tuple[int, str]:
    """Ask one question, and return the exit code and the standard error."""
    result = run(home, *MODEL, "-p", "How?", keys=keys(server) | {"TZ": zone})
    return result.returncode, result.stderr.decode()


@pytest.mark.slow
def test_one_question_that_would_pass_the_limit_is_not_sent(tmp_path: Path) -> None:
    limited(tmp_path, "{session_cost: 0.5}")
    with Loopback(fine) as server:
        code, told = ask(tmp_path, server)
        assert server.requests == []
    assert code == 1
    assert told == (
        "The next request, about $1.00, would pass the limit of $0.5000 for this session (nothing "
        "so far).\nlimits: in the config sets it.\n"
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    ("limit", "sent"),
    [
        pytest.param("0", 3, marks=pytest.mark.slow),
        ("2.5", 2),
        pytest.param(".inf", 3, marks=pytest.mark.slow),
    ],
)
def test_a_pipe_stops_at_the_limit(tmp_path: Path, limit: str, sent: int) -> None:
    limited(tmp_path, f"{{session_cost: {limit}}}")
    with Loopback(fine) as server:
        result = run(tmp_path, *MODEL, stdin=b"a\nb\nc\n/info\n", keys=keys(server))
        questions = [request.query for request in server.requests if len(request.query) == 1]
    shown = result.stdout.decode()
    assert questions == ["a", "b", "c"][:sent]
    assert result.returncode == (0 if sent == 3 else 1)
    assert shown.count("would pass the limit of") == (0 if sent == 3 else 1)
    assert ("Config:" in shown) == (sent == 3)
    [session] = saved(tmp_path)
    assert said(session)[:4] == ["a", "Fine.", "b", "Fine."]
    assert session.seal is not None


@pytest.mark.slow
def test_the_user_is_asked_once_for_each_step(tmp_path: Path) -> None:
    limited(tmp_path, "{session_cost: 2.0}")
    with Loopback(fine) as server:
        with at_prompt(tmp_path, server) as terminal:
            for number, answer in enumerate(["", "", "n", "y", "", "y"]):
                terminal.mark()
                terminal.line(f"Question {number}")
                if answer:
                    up_to = "$4.00" if number < 5 else "$6.00"
                    terminal.wait_for(f"Go on, up to {up_to}? [y]es [n]o", output=True)
                    terminal.line(answer)
                ended = "/retry resends it" if answer == "n" else "Time: "
                terminal.wait_for(ended, output=True)
                terminal.wait_for(re.compile(r"You: .*test-model", re.DOTALL), output=True)
                assert ("would pass" in terminal.output()) == bool(answer)
            terminal.line("exit")
            terminal.exit_code(timeout=60)
        asked = [request.query[-1] for request in server.requests if "Question" in request.query]
    assert asked[:5] == ["0", "1", "3", "4", "5"]


@pytest.mark.slow
def test_escape_at_the_question_sends_nothing(tmp_path: Path) -> None:
    limited(tmp_path, "{session_cost: 0.5}")
    with Loopback(fine) as server:
        with at_prompt(tmp_path, server) as terminal:
            for key in ("\x1b", "\x03"):
                terminal.mark()
                terminal.line("How?")
                terminal.wait_for("Go on, up to ", output=True)
                terminal.send(key)
                terminal.wait_for("/retry resends it", output=True)
                terminal.wait_for(re.compile(r"You: .*test-model", re.DOTALL), output=True)
            terminal.line("exit")
            assert terminal.exit_code(timeout=60) == 0
        assert server.requests == []


def test_another_session_counts_from_zero(tmp_path: Path) -> None:
    limited(tmp_path, "{session_cost: 1.5}")
    with Loopback(fine) as server:
        result = run(tmp_path, *MODEL, stdin=b"a\n/clear\nb\n", keys=keys(server))
        assert [request.query for request in server.requests] == ["a", "b"]
    assert result.returncode == 0


def test_the_day_counts_the_sessions_of_today(tmp_path: Path) -> None:
    zone = f"NOON{time.gmtime().tm_hour - 12:+d}"  # the test does not reach midnight
    limited(tmp_path, "{day_cost: 2.5}")
    with Loopback(fine) as server:
        assert [ask(tmp_path, server, zone)[0] for _ in range(3)] == [0, 0, 1]
        for path in (tmp_path / "sessions").glob("*.md"):
            yesterday = time.time() - 86_400
            os.utime(path, (yesterday, yesterday))
        assert ask(tmp_path, server, zone)[0] == 0
        for path in (tmp_path / "sessions").glob("*.md"):
            text = path.read_text()
            path.write_text(re.sub(r"at=20\d\d-", "at=2001-", text))
        assert ask(tmp_path, server, zone)[0] == 0
        (tmp_path / "sessions" / "broken.md").write_bytes(b"<!-- chat:session \xff\n")
        code, told = ask(tmp_path, server, zone)
    assert code == 0, told


@pytest.mark.parametrize(("limit", "sent", "spent"), [(2.15, 3, "2.10"), (2.25, 4, "2.20")])
def test_what_a_running_chat_spends_counts_for_the_day_at_the_price_of_each_model(
    tmp_path: Path, limit: float, sent: int, spent: str
) -> None:
    """The chat counts its own requests; the next program counts the replies that were saved."""
    zone = {"TZ": f"NOON{time.gmtime().tm_hour - 12:+d}"}  # the test does not reach midnight
    cheap = "small-model: {input_price: 0, output_price: 100}"
    limited(tmp_path, f"{{day_cost: {limit}}}", PRICED.replace("}}", f"}}, {cheap}}}"))
    lines = b"a\nb\n/model openai:small-model\nc\nd\ne\n"
    with Loopback(fine) as server:
        first = run(tmp_path, *MODEL, stdin=lines, keys=keys(server) | zone)
        asked = [request.query for request in server.requests if len(request.query) == 1]
        server.requests.clear()
        small = ("--model", "openai:small-model", "-p", "How?")
        second = run(tmp_path, *small, keys=keys(server) | zone)
        assert server.requests == []
    assert asked == ["a", "b", "c", "d"][:sent]
    told = f"would pass the limit of ${limit} for today (${spent} so far)."
    assert (first.returncode, second.returncode) == (1, 1)
    assert told in first.stdout.decode()
    assert told in second.stderr.decode()


def test_each_request_of_a_reply_with_tools_counts(tmp_path: Path) -> None:
    limited(tmp_path, "{session_cost: 1.5}")
    (tmp_path / "note.txt").write_text("a note")
    called = calling(("read_file", {"path": str(tmp_path / "note.txt")}))
    with Loopback(lambda request: Reply(calls=called.calls, usage=ONE_DOLLAR)) as server:
        tools = ("--tools", "read_file", "--yes", "-p", "Read it.")
        result = run(tmp_path, *MODEL, *tools, keys=keys(server))
        assert len(server.requests) == 1
    assert result.returncode == 1
    assert "($1.00 so far)" in result.stderr.decode()


def test_an_unknown_price_is_said_once_and_stops_nothing(tmp_path: Path) -> None:
    limited(tmp_path, "{session_cost: 0.5, day_cost: 0.5}", "limits: ")
    with Loopback(fine) as server:
        result = run(tmp_path, *MODEL, stdin=b"a\nb\n", keys=keys(server))
        assert [request.query for request in server.requests][:2] == ["a", "b"]
    told = result.stdout.decode()
    assert told.count("The price of openai:test-model is unknown") == 1
    assert result.returncode == 0
