"""Plots in plain text, the plots of /stats, and summary blocks."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from chat_loop.commands.view import sizes_of_replies
from chat_loop.display.display_manager import DisplayManager
from chat_loop.display.panels import show_block, sparkline
from chat_loop.sessions.chain import read_chain
from chat_loop.sessions.records import Header, Query, Reply, Session, Summary, Undo
from chat_loop.values import Usage
from tests.support.screens import Line, Screen, Terminal
from tests.support.scripted_chat import QUIET, START, SUMMARY, Says, Step

DRAWN = "\nTokens and context: 6 messages, at most 610 tokens\n  ▂▃▄▅▆█\n"


def test_a_sparkline_of_a_few_values() -> None:
    assert sparkline([0, 1, 50, 100], 40) == "▁▁▄█"
    assert sparkline([0, 0], 40) == "▁▁"


def test_more_values_than_cells_are_shown_by_their_largest() -> None:
    assert sparkline([1, 1, 8, 1, 1, 1, 4, 1], 4) == "▁█▁▄"


@pytest.mark.parametrize("columns", ["20", "80"])
def test_stats_plots_the_chain_with_the_numbers_of_context(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, columns: str
) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    given = [Usage(input=number * 100, output=10) for number in range(1, 7)]
    steps: list[Step] = [Says(("So.",), usage=usage) for usage in given]
    lines: list[Line] = [*"1234", "/compact", "5", "6", "/stats", "/context", "/compact", "/stats"]
    screen = Screen(tmp_path, lines, *steps[:4], SUMMARY, *steps[4:], SUMMARY, options=QUIET)
    conversation = screen.talk.conversation
    loaded = read_chain(screen.talk.sessions, conversation.session).ancestors
    sessions = [*(one.session for one in reversed(loaded)), conversation.session]
    totals = [usage.total for usage in given]
    assert sizes_of_replies(sessions) == [(total, total) for total in totals]
    assert sum(totals) == sum(session.totals.session.total for session in sessions)
    first, second = (part.partition("You: ")[0] for part in screen.text.split("You: /stats\n")[1:])
    if columns != "20":
        assert DRAWN in first
        assert DRAWN in second
    assert "\nContext: 610 of 100,000 tokens (1% of 100K)\n" in screen.text
    for text in (first, second):
        drawn = [line for line in text.split("\n") if set(line) & set("▁▂▃▄▅▆▇█")]
        assert drawn
        assert all(len(line) <= int(columns) for line in drawn)


def test_one_exchange_is_no_plot(tmp_path: Path) -> None:
    one = Screen(tmp_path / "a", ["1", "/stats"], "So.", options=QUIET)
    assert "1 message" not in one.text
    two = Screen(tmp_path / "b", ["1", "2", "/stats"], "So.", "So.", options=QUIET)
    assert "at most 110 tokens\n  ██\n" in two.text


def test_a_reply_of_several_steps_is_one_exchange() -> None:
    header = Header(id="a", created=START, agent="Sally")
    entries = (
        Query(number=1, at=START, text="Hi"),
        Reply(number=0, at=START, text="Ready.", usage=Usage(input=5, output=5)),
        Reply(number=1, at=START, text="I look.", usage=Usage(input=10, output=2)),
        Reply(number=1, at=START, text="So.", usage=Usage(input=20, output=9, reasoning=4)),
        Undo(number=1, at=START),
        Query(number=2, at=START, text="Hi"),
        Reply(number=2, at=START, text="Nobody counted."),
    )
    assert sizes_of_replies([Session(header=header, entries=entries)]) == [(41, 25)]


def test_a_summary_is_rendered_but_not_what_the_user_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    monkeypatch.setenv("TERM", "xterm")
    out = Terminal()
    summary = Summary(
        topics=(f"**Boats** and `__init__`{' in a sentence' * 5} [1.2]",),
        key_facts=("It is __init__.py. [1 user]", "It is `5150`. [1 reply]"),
        pinned=("Decision: *Oak*", "Use __main__"),
    )
    show_block(DisplayManager(out), summary)
    shown = re.sub(r"\x1b\[[0-9;]*m", "", out.getvalue())
    assert shown == (
        "Background Context\n  Initial session.\n\nTopics Discussed\n"
        f"  • Boats and __init__{' in a sentence' * 3} in a\n    sentence in a sentence [1.2]\n\n"
        "Decisions Made\n  • Decision: *Oak*\n\nPending\n  • none\n\nPinned\n  • Use __main__\n\n"
        "Key Facts\n  • It is __init__.py. [1 user]\n  • It is 5150. [1 reply]\n"
    )
