"""What is waited for: one calm line that turns, counts seconds, never wraps and goes wholly; and
nothing in a pipe.
"""

from __future__ import annotations

import io
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from wcwidth import width

from benchmarks.support.loopback import Loopback, Reply
from chat_loop.display.manager import DisplayManager
from chat_loop.display.text import one_line
from chat_loop.display.waiting import CALM_SECONDS, SIGNS, SOON_SECONDS, TURN_SECONDS, waiting_line
from chat_loop.events import ReplyEnded, SummaryStarted, TextDelta
from tests.screens import Screen, Terminal
from tests.talking import Says
from tests.test_asking_again import QUIET
from tests.test_terminal import chat, compatible, leave, saved

ENDED = ReplyEnded(number=1, stop="end", usage=None, seconds=1.0)


@pytest.fixture(autouse=True)
def _plain_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("COLUMNS", "80")


@given(st.text().map(one_line), st.floats(0, 1e6), st.integers(12, 120), st.booleans())
def test_the_line_never_fills_the_terminal(
    text: str, seconds: float, columns: int, symbols: bool
) -> None:
    line = waiting_line(text, seconds, columns, symbols=symbols)
    assert width(line) < columns
    assert "\n" not in line or "\n" in text
    assert line.endswith(f" {int(seconds)} s" if seconds >= 1 else (*SIGNS, "") if symbols else "")
    assert symbols or line.isascii()


def test_the_sign_turns_and_the_seconds_come_with_the_first() -> None:
    seconds = [number * TURN_SECONDS for number in range(len(SIGNS) + 1)]
    lines = [waiting_line("Sally …", one + 0.01, 80, symbols=True) for one in seconds]
    assert lines[:2] == [f"Sally … {SIGNS[0]}", f"Sally … {SIGNS[1]}"]
    assert lines[-1] == f"Sally … {SIGNS[0]} 1 s"
    assert waiting_line("Sally …", 0.9, 80, symbols=False) == "Sally ..."
    assert waiting_line("Sally …", 61.9, 80, symbols=False) == "Sally ... 61 s"


def waited(out: io.StringIO, seconds: float) -> str:
    """What is written of a reply that begins after so long."""
    display = DisplayManager(out, agent="Sal\x1bly")
    display.begin_waiting()
    display.tick()
    display.waiting.since -= seconds
    display.tick()
    display.tick()
    display.show(TextDelta("Hi"))
    display.show(ENDED)
    display.tick()
    return out.getvalue()


def test_a_reply_that_comes_soon_shows_nothing_of_it() -> None:
    assert waited(Terminal(), SOON_SECONDS / 2).count("Sal␛ly") == 1


def test_the_line_is_drawn_once_for_what_it_shows_and_taken_back_before_the_reply() -> None:
    drawn, erased, reply = waited(Terminal(), 75.05).partition("\r\x1b[K")
    assert re.fullmatch(f"Sal␛ly … [{SIGNS}] 75 s", drawn)
    assert erased
    assert "75 s" not in reply


def test_a_pipe_and_a_dumb_terminal_show_nothing_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    assert waited(io.StringIO(), 75) == "Sal␛ly: Hi\nTime: 1.0s\n\n"
    monkeypatch.setenv("TERM", "dumb")
    assert waited(Terminal(), 75) == "Sal␛ly: Hi\nTime: 1.0s\n\n"
    out = Terminal()
    DisplayManager(out).show(SummaryStarted(parts=1))
    assert out.getvalue() == "📝 Generating session summary..."


def test_only_while_something_is_waited_for_it_is_looked_at_often() -> None:
    display = DisplayManager(Terminal(), agent="Sally")
    found = [display.tick_seconds]
    display.begin_waiting()
    found.append(display.tick_seconds)
    display.show(TextDelta("Hi"))
    found.append(display.tick_seconds)
    display.show(ENDED)
    found.append(display.tick_seconds)
    display.progress(1, 2)
    found.append(display.tick_seconds)
    assert found == [CALM_SECONDS, TURN_SECONDS, CALM_SECONDS, CALM_SECONDS, TURN_SECONDS]
    piped = DisplayManager(io.StringIO())
    piped.begin_waiting()
    assert piped.tick_seconds == CALM_SECONDS


def test_after_a_command_nothing_is_waited_for(tmp_path: Path) -> None:
    broken = Says(("no summary",))
    screen = Screen(
        tmp_path, ["Hi", "/compact"], "Hello.", broken, broken, options=QUIET, out=Terminal()
    )
    assert screen.chat.display.tick_seconds == CALM_SECONDS


@pytest.mark.parametrize("cols", [20, 80])
def test_in_a_terminal_it_turns_and_leaves_nothing(tmp_path: Path, cols: int) -> None:
    with Loopback() as server, chat(tmp_path, *compatible(server), cols=cols, ready="") as terminal:
        server.enqueue(Reply(chunks=("Hi.",), stall_after=0))
        terminal.mark()
        terminal.line("go")
        server.stalled()
        signs = [
            terminal.wait_for(re.compile(f"^Assistant … [{sign}]( . s)?$", re.MULTILINE))
            for sign in SIGNS[:3]
        ]
        assert len(signs) == 3
        terminal.wait_for(re.compile(f"^Assistant … [{SIGNS}] [1-9] s$", re.MULTILINE))
        assert terminal.text().count("Assistant") == 1
        server.release()
        terminal.wait_for(re.compile(r"Time: \d.*You:", re.DOTALL), output=True)
        text = terminal.text()
        assert not set(SIGNS) & {*text}
        assert text.count("Assistant") == 1
        assert text.count("\nYou: go\nAssistant: Hi.\nTime: ") == 1
        leave(terminal)
    reply = saved(tmp_path).exchanges[0].reply
    assert reply is not None
    assert reply.text == "Hi."


def test_in_a_terminal_without_symbols_it_is_plain(tmp_path: Path) -> None:
    with (
        Loopback() as server,
        chat(tmp_path, *compatible(server), ready="", PYTHONIOENCODING="ascii") as terminal,
    ):
        server.enqueue(Reply(chunks=("Hi.",), stall_after=0))
        terminal.mark()
        terminal.line("go")
        server.stalled()
        terminal.wait_for(re.compile(r"^Assistant \.\.\. [1-9] s$", re.MULTILINE))
        server.release()
        terminal.wait_for(re.compile(r"Time: \d.*You:", re.DOTALL), output=True)
        assert "..." not in terminal.text().partition("You: go")[2]
        leave(terminal)


def test_ctrl_c_before_the_first_word_takes_the_line_back(tmp_path: Path) -> None:
    with Loopback() as server, chat(tmp_path, *compatible(server)) as terminal:
        server.enqueue(Reply(chunks=("one", " two"), stall_after=0))
        terminal.mark()
        terminal.line("go")
        terminal.wait_for(re.compile(f"^Assistant … [{SIGNS}]", re.MULTILINE))
        terminal.ctrl("c")
        terminal.wait_for(re.compile(r"Interrupted.*You:", re.DOTALL), output=True)
        assert not set(SIGNS) & {*terminal.text()}
        leave(terminal)
