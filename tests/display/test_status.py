"""The status line: the numbers of /info and /context, fitted to any width."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from benchmarks.support.loopback import Loopback, Reply
from chat_loop.commands.view import status_of
from chat_loop.config import STATUS
from chat_loop.display.sanitizer import cells, cut_to
from chat_loop.display.status import NOT_SAVED, Status, status_line
from chat_loop.values import Usage, Window
from tests.support.failing_files import FailingFiles
from tests.support.screens import Line, Screen
from tests.support.scripted_chat import QUIET, SUMMARY, Talk
from tests.support.terminal_chat import answered, chat, compatible, leave

FULL = Status(
    model="anthropic:claude-sonnet-5-5",
    share=0.42,
    window=Window(200_000),
    estimated=False,
    tokens=123_456,
    cost=0.5,
    session="Rate limiter for the gateway",
    summary="ready",
)
WHOLE = (
    "███░░░ context 42% of 200K · $0.5000 · summary ready · anthropic:claude-sonnet-5-5 · "
    "123K tokens used · Rate limiter for the gateway"
)


def test_each_part_where_there_is_room_and_in_the_order_that_is_wanted() -> None:
    assert status_line(FULL, STATUS, 200) == WHOLE
    assert (
        status_line(FULL, ("tokens", "model", "tokens"), 80)
        == "123K tokens used · anthropic:claude-sonnet-5-5"
    )
    assert status_line(FULL, (), 80) == ""
    begun = Status(
        model="scripted:echo", share=0.0, window=Window(8192, guessed=True), estimated=True
    )
    assert status_line(begun, STATUS, 80) == "░░░░░░ context ~0% of 8K? · scripted:echo"


@pytest.mark.parametrize(
    ("width", "expected"),
    [
        (125, WHOLE.replace("Rate limiter for the gateway", "Rate limiter for th…")),
        (120, ("███░░░ context 42% of 200K · $0.5000 · summary ready · anthropic:claude-sonnet-5-5"
               " · Rate limiter for th…")),
        (100, ("context 42% of 200K · $0.5000 · summary ready · anthropic:claude-sonnet-5-5 · "
               "Rate limiter for th…")),
        (80, "context 42% of 200K · $0.5000 · summary ready · anthropic:claude-sonnet-5-5"),
        (70, "context 42% of 200K · $0.5000 · summary ready · claude-sonnet-5-5"),
        (40, "context 42% · $0.5000 · summary ready"),
        (25, "context 42% · $0.5000"),
        (20, "context 42%"),
        (5, "cont…"),
        (0, ""),
    ],
)  # fmt: skip
def test_what_gives_way_first(width: int, expected: str) -> None:
    assert status_line(FULL, STATUS, width) == expected


@given(
    st.text(max_size=80),
    st.text(max_size=80),
    st.integers(0, 10**12),
    st.floats(0, 100),
    st.integers(0, 200),
    st.permutations(STATUS),
)
def test_it_is_one_line_that_fits_whatever_is_in_it(
    model: str, session: str, tokens: int, share: float, width: int, parts: tuple[str, ...]
) -> None:
    status = replace(FULL, model=model, session=session, tokens=tokens, share=share, unsaved=True)
    line = status_line(status, parts, width)
    assert cells(line) <= width
    assert "\n" not in line
    assert not re.search("[\x00-\x1f\x7f-\x9f]", line)
    if width >= 40:
        assert NOT_SAVED in line
        assert "context" in line


@given(st.text(max_size=60), st.integers(0, 60))
def test_what_is_cut_fits_and_what_fits_is_not_cut_to(text: str, width: int) -> None:
    assert cells(cut_to(text, width)) <= width
    assert cells(text) > width or cut_to(text, width) == text


def test_wide_characters_take_two_columns() -> None:
    assert [cells("日本"), cells("é"), cells("e\u0301"), cells("👍")] == [4, 1, 1, 2]
    assert [cells("⚠️ x"), cells("👨‍👩‍👧‍👦")] == [4, 2]
    assert cut_to("日本語", 5) == "日本…"


def priced(model: str, usage: Usage) -> float | None:
    return usage.input * 3e-6 + usage.output * 15e-6


def test_the_numbers_are_those_of_info_and_stats(tmp_path: Path) -> None:
    options = replace(QUIET, cost=priced)
    lines = ["Hi", "/rename The gateway", "And now?", "/info", "/stats"]
    screen = Screen(tmp_path, list(lines), "Hello.", "So.", options=options, window=Window(1_000))
    status = status_of(screen.talk.conversation, priced)
    assert status.cost == pytest.approx(0.0009)
    assert replace(status, cost=None) == Status(
        model="scripted:test",
        share=0.11,
        window=Window(1_000),
        estimated=False,
        tokens=220,
        session="The gateway",
    )
    assert "Context:        110 of 1,000 tokens (11%)\n" in screen.text
    assert "Session Tokens: 220 (in: 200, out: 20)\n" in screen.text
    assert re.search(r"Cost of the session: +\$0\.0009\n", screen.text)
    assert status_line(status, STATUS, 90) == (
        "█░░░░░ context 11% of 1K · $0.0009 · scripted:test · 220 tokens used · The gateway"
    )


def test_cost_and_tokens_go_on_after_a_compaction_and_begin_anew_after_a_clear(
    tmp_path: Path,
) -> None:
    told: list[Status] = []

    def look(talk: Talk) -> None:
        told.append(status_of(talk.conversation, priced))

    lines: list[Line] = ["Hi", look, "/compact", look, "So?", look, "/clear", look]
    Screen(tmp_path, lines, "Hello.", SUMMARY, "Yes.", "So.", options=replace(QUIET, cost=priced))
    costs = [status.cost or 0.0 for status in told]
    tokens = [status.tokens for status in told]
    assert 0.0 < costs[0] <= costs[1] < costs[2]
    assert 0 < tokens[0] <= tokens[1] < tokens[2]
    assert (costs[3], tokens[3]) == (0.0, 0)


def test_before_anything_is_said_and_while_nothing_is_saved(tmp_path: Path) -> None:
    assert status_line(status_of(Talk(tmp_path).conversation, priced), STATUS, 80) == (
        "░░░░░░ context ~0% of 100K · scripted:test"
    )
    files = FailingFiles()
    files.room = 0
    screen = Screen(tmp_path, ["Hi"], "Hello.", files=files, options=QUIET)
    shown = status_line(status_of(screen.talk.conversation, priced), STATUS, 80)
    assert re.match(r"NOT SAVED · .* · Hi$", shown)


def test_on_a_terminal_it_stands_below_the_prompt_and_never_in_the_scrollback(
    tmp_path: Path,
) -> None:
    with chat(tmp_path, cols=90) as terminal:
        answered(terminal, "which wood is hard?")
        terminal.wait_for(
            re.compile(r"\n [█░]{6} context 0% of \S+ · scripted:echo · \d+ tokens used"),
            timeout=60,
        )
        assert "tokens used · which wood is hard?" in terminal.text()
        terminal.line("/pin")
        terminal.wait_for("no pins", timeout=60)
        terminal.wait_for("tokens used · which", timeout=60)
        assert terminal.text().count("context") == 1
        leave(terminal)
        assert "context" not in terminal.text().partition("Goodbye")[0]


@pytest.mark.slow
def test_the_config_says_what_it_tells(tmp_path: Path) -> None:
    (tmp_path / "config.yaml").write_text("status: [session, tokens]\n")
    with chat(tmp_path, ready="") as terminal:
        answered(terminal, "hello")
        terminal.wait_for(re.compile(r"\n hello · \d+ tokens used\s*$"), timeout=60)
        assert "context" not in terminal.text()
        leave(terminal)


@pytest.mark.slow
def test_a_summary_that_becomes_ready_is_told_without_a_key(tmp_path: Path) -> None:
    (tmp_path / "config.yaml").write_text(
        "context: {max_history_tokens: 200}\nauto_compact: {preserve_recent: 2}\n"
    )
    with Loopback() as server, chat(tmp_path, *compatible(server), cols=100) as terminal:
        full = Reply(chunks=("So.",), usage=Usage(input=130, output=10))
        server.enqueue(Reply(chunks=("Oak.",), usage=Usage(input=50, output=10)), full)
        server.enqueue(Reply(chunks=(SUMMARY[:20], SUMMARY[20:]), stall_after=1))
        answered(terminal, "which wood is hard?")
        answered(terminal, "and which is bright?")
        server.stalled(2)
        terminal.wait_for("summary in progress", timeout=60)
        terminal.send("half a li")
        terminal.wait_for("You: half a li", timeout=60)
        server.release()
        terminal.wait_for(re.compile(r"You: half a li\n.*summary ready", re.DOTALL), timeout=60)
        terminal.send("ne")  # the half-typed line can be continued
        terminal.wait_for("You: half a line", timeout=60)
        terminal.ctrl("c")
        terminal.ctrl("d")
        terminal.wait_for("Goodbye!", timeout=60)


def test_it_is_never_behind_the_conversation(tmp_path: Path) -> None:
    told: list[Status] = []

    def look(talk: Talk) -> None:
        told.append(status_of(talk.conversation, priced))

    lines: list[Line] = [
        look,
        "Hi",
        look,
        "/rename Boats",
        look,
        "/undo",
        look,
        "/clear",
        look,
        "So?",
        look,
    ]
    Screen(tmp_path, lines, "Hello.", "So.", options=QUIET)
    assert [(one.tokens, one.session, one.estimated) for one in told] == [
        (0, "", True),
        (110, "Hi", False),
        (110, "Boats", False),
        (110, "Boats", True),
        (0, "", True),
        (110, "So?", False),
    ]
