"""The screen prints settled text once, and draws lines that change below it."""

from __future__ import annotations

import io
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chat_loop.characters import one_line
from chat_loop.display.display_manager import DisplayManager
from chat_loop.display.sanitizer import cells
from chat_loop.display.screen import (
    PAUSE_SECONDS,
    SOON_SECONDS,
    SPINNER,
    TURN_SECONDS,
    Screen,
    Waiting,
)
from chat_loop.events import (
    Retrying,
    SummaryProgress,
    SummaryStarted,
)
from tests.support.screens import Terminal

STYLED = st.lists(
    st.sampled_from(["word ", "\n", "\x1b[1m", "\x1b[0m", "漢字", "x" * 100]), max_size=30
)


@pytest.fixture(autouse=True)
def _plain_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("COLUMNS", "80")


class Clock:
    def __init__(self) -> None:
        self.seconds = 0.0

    def __call__(self) -> float:
        return self.seconds


def waited(seconds: float, text: str = "", *, columns: int = 80) -> str:
    """The waiting line after `seconds`."""
    clock = Clock()
    waiting = Waiting(clock)
    waiting.begin(text or "Sally …")
    clock.seconds = seconds
    return waiting.line(columns)


@given(st.text(min_size=1).map(one_line), st.floats(1, 999_999), st.integers(12, 120))
def test_the_waiting_line_never_fills_the_terminal(text: str, seconds: float, columns: int) -> None:
    line = waited(seconds, text, columns=columns)
    assert cells(line) < columns
    assert re.search(r" \d+ s( · Esc to stop)?$", line)
    assert not line.endswith("stop") or text in line


def test_the_sign_turns_and_the_seconds_come_with_the_first() -> None:
    assert waited(SOON_SECONDS / 2) == ""
    lines = [waited(number * TURN_SECONDS + 0.01) for number in (3, 4, len(SPINNER))]
    turns = [f"Sally … {SPINNER[3]}", f"Sally … {SPINNER[4]}", f"Sally … {SPINNER[0]} 1 s"]
    assert lines == [f"{turn} · Esc to stop" for turn in turns]
    assert waited(61.9, columns=20) == f"Sally … {SPINNER[int(61.9 / TURN_SECONDS) % 10]} 61 s"


def test_a_reply_that_pauses_shows_that_it_is_waited_for() -> None:
    clock = Clock()
    waiting = Waiting(clock)
    assert waiting.next_turn() is None
    waiting.begin("Sally …")
    clock.seconds = 5.0
    waiting.postpone()
    clock.seconds += PAUSE_SECONDS - 0.5
    assert waiting.line(80) == ""
    assert waiting.next_turn() == pytest.approx(0.5)
    clock.seconds += 0.5
    assert waiting.line(80).endswith(" 2 s · Esc to stop")
    assert waiting.next_turn() == TURN_SECONDS


def test_another_attempt_is_named_until_the_reply_begins() -> None:
    display = DisplayManager(Terminal(), agent="Sally")
    display.out.attach(lambda: None)
    display.begin_waiting()
    display.waiting.begin("Sally …", at_once=True)
    display.show(Retrying(reason="It is overloaded.", seconds=4.0, attempt=2, attempts=5))
    line = display.out.live(120, 8)
    assert line.startswith("Sally … Trying again in 4 s (2/5): It is overloaded. ")
    display.waiting.postpone()
    assert "overloaded" not in display.waiting.line(120)


@given(STYLED, st.integers(1, 100), st.integers(1, 8))
def test_everything_is_printed_once_and_in_order(
    pieces: list[str], columns: int, rows: int
) -> None:
    out = io.StringIO()
    waiting = Waiting(Clock())
    waiting.begin("waiting", hint="", at_once=True)
    screen = Screen(out, waiting)
    screen.write("before\n")
    screen.attach(lambda: None)
    printed = ""
    for piece in pieces:
        screen.write(piece)
        screen.show_unsettled("the rest")
        printed += screen.take()
        assert printed == "" or printed.endswith("\n")
        height = 0
        for line in screen.live(columns, rows).split("\n"):
            height += max(1, -(-cells(re.sub(r"\x1b\[[0-9;]*m", "", line)) // columns))
        assert height <= max(rows, -(-cells(waiting.line(columns)) // columns))
    screen.detach()
    assert out.getvalue() == "before\n" + "".join(pieces)[len(printed) :]
    assert "".join(pieces).startswith(printed)


def test_a_million_characters_on_one_line_cost_little_to_draw() -> None:
    screen = Screen(io.StringIO(), Waiting())
    screen.attach(lambda: None)
    screen.write("x" * 1_000_000)
    assert len(screen.live(80, 8)) <= 640
    screen.write("\n")
    assert screen.take() == "x" * 1_000_000 + "\n"


def test_a_summary_shows_at_once_how_far_it_is() -> None:
    display = DisplayManager(Terminal(), agent="Sally")
    display.out.attach(lambda: None)
    display.show(SummaryStarted(parts=2))
    assert "📝 Generating session summary (2 parts)..." in display.out.live(80, 8)
    display.show(SummaryProgress(part=1, parts=2, characters=123_456))
    assert "part 1 of 2, 123456 characters" in display.out.live(120, 8)
    assert cells(display.out.live(40, 8)) < 40
