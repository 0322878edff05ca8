"""The session browser in a real terminal: keys, sizes, and the terminal's state afterwards."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from tests.support.pty_chat import PtyChat

UP, DOWN = "\x1b[A", "\x1b[B"
HOME, END, PAGE_UP, PAGE_DOWN = "\x1b[H", "\x1b[F", "\x1b[5~", "\x1b[6~"
ENTERED, LEFT_AGAIN = "\x1b[?1049h", "\x1b[?1049l"
OWN_SEQUENCES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\x1b[=>78]|\x1b\[[0-9] q")


@contextmanager
def browsing(
    count: int, *words: str, rows: int = 24, cols: int = 80, **env: str
) -> Iterator[PtyChat]:
    """Run the browser on its screen. The terminal's settings are printed before and after it."""
    command = 'stty -g; "$0" -m tests.support.browser_program "$@"; code=$?; stty -g; exit $code'
    environment = {
        key: value for key, value in os.environ.items() if key not in ("NO_COLOR", "EDITOR")
    } | env
    argv = ["/bin/sh", "-c", command, sys.executable, str(count), *words]
    with PtyChat(argv, env=environment, rows=rows, cols=cols) as terminal:
        terminal.wait_for(ENTERED, output=True)
        yield terminal


def left(terminal: PtyChat, code: int = 0) -> str:
    """Wait for the end and check that the terminal is as it was. Return the output after the
    browser's screen was left.
    """
    assert terminal.exit_code() == code
    printed = terminal.raw.decode()
    settings = re.findall(r"^[0-9a-f]+(?::[0-9a-f]+){20,}\r$", printed, re.MULTILINE)
    assert len(settings) == 2
    assert settings[0] == settings[1]
    screen, _, told = printed.rpartition(LEFT_AGAIN)
    assert screen.count(ENTERED) == screen.count(LEFT_AGAIN) + 1
    for on, off in (
        ("\x1b[?2004h", "\x1b[?2004l"),
        ("\x1b[?25l", "\x1b[?25h"),
        ("\x1b[?7l", "\x1b[?7h"),
    ):
        assert printed.rfind(on) < printed.rfind(off), f"{on!r} stays"
    return OWN_SEQUENCES.sub("", told).replace("\r\n", "\n").replace("\r", "")


def told(terminal: PtyChat) -> list[str]:
    return left(terminal).strip().split("\n")[:-1]


@pytest.mark.slow
@pytest.mark.parametrize("before", ["/dep", "d", "p"])
def test_ctrl_c_leaves_from_everywhere(before: str) -> None:
    with browsing(50) as terminal:
        terminal.send(before)
        terminal.wait_for(re.compile(r"Enter list|y/n|Enter resume"))
        terminal.ctrl("c")
        assert told(terminal) == ["chosen: none", "done: nothing", "settings: as before"]


def test_the_filter_narrows_while_it_is_typed() -> None:
    with browsing(50) as terminal:
        terminal.send("/")
        terminal.wait_for(re.compile("^/ +Enter list  Esc clear", re.MULTILINE))
        for typed, count in (("d", 28), ("ep", 7), ("loy 漢", 7), ("字 000041", 1)):
            terminal.send(typed)
            terminal.wait_for(f"{count} of 50 match")
        terminal.send("\x7f" * 7)
        terminal.wait_for("7 of 50 match “deploy")
        terminal.send("\r" + DOWN)
        terminal.wait_for(re.compile(r"^> +12 ", re.MULTILINE))
        terminal.send("\x1b")
        terminal.wait_for("Sessions: 50")
        terminal.send("\r")
        assert told(terminal)[0] == "chosen: sally_000011"


@pytest.mark.slow
def test_the_preview_follows_the_selection_and_can_be_hidden() -> None:
    with browsing(50) as terminal:
        terminal.wait_for("You: Question 11 of sally_000000")
        terminal.send(DOWN)
        terminal.wait_for("You: Question 11 of sally_000001")
        assert "Decisions: The database sorts, not Python [1]" in terminal.screen()
        terminal.send("\t")
        terminal.wait_for(re.compile(r"^ +22 ", re.MULTILINE))
        assert "Decisions" not in "\n".join(terminal.screen())
        terminal.send("pq")
        left(terminal)


@pytest.mark.slow
@pytest.mark.parametrize(("what", "keys"), [("edit", "e")])
def test_a_failure_leaves_the_terminal_in_order(what: str, keys: str) -> None:
    with browsing(5, SHELF_FAILS=what) as terminal:
        terminal.wait_for("Enter resume")
        terminal.send(keys)
        assert told(terminal) == [f"broke: {what} broke", "done: nothing", "settings: as before"]


def test_a_resize_redraws_from_wide_to_tiny_and_back() -> None:
    with browsing(50, rows=50, cols=200) as terminal:
        terminal.wait_for("Question 11 of sally_000000")
        for rows, cols in ((5, 20), (12, 40), (2, 9), (1, 1), (24, 80), (60, 210)):
            terminal.mark()
            terminal.resize(rows, cols)
            terminal.wait_for(re.compile(r".", re.DOTALL), output=True)
            if cols > 1:
                terminal.wait_for(re.compile(r"^> ", re.MULTILINE))
        terminal.wait_for("Question 11 of sally_000000")
        terminal.send("\r")
        assert told(terminal)[0] == "chosen: sally_000000"


@pytest.mark.slow
def test_twenty_columns_and_five_lines() -> None:
    with browsing(50, rows=5, cols=20) as terminal:
        terminal.wait_for("Enter resume  e edit")
        assert terminal.screen() == [
            ">  1  Ses… #p…  now",
            "   2  漢字の…    7h",
            "   3  ␛]0;own…  14h",
            "   4  very lo…  21h",
            "Enter resume  e edit",
        ]
        terminal.send("d")
        terminal.wait_for("Trash “Sessio…”? y/n")
        terminal.send("n/漢\r\t")
        terminal.wait_for("て教えてください、で")
        terminal.send("\r")
        assert told(terminal)[0] == "chosen: sally_000001"


def test_a_screen_of_80_columns() -> None:
    with browsing(8) as terminal:
        terminal.send(DOWN)
        terminal.wait_for("Question 11 of sally_000001")
        assert terminal.screen()[:8] == [
            "  Sessions: 8",
            "  1  Session 0 of all #python #wo␛[rk             now    1 message   500 tokens",
            "> 2  漢字の並べ替えについて教えてください、でき…   7h   4 messages  1.7K tokens",
            "  3  ␛]0;owned␇␛[2J␛[31mred <U+202E>right to le…  14h   7 messages  2.9K tokens",
            "  4  very long very long very long very long ve…  21h  10 messages  4.2K tokens",
            "  5  👩👩👧👦 family ❤ and 👍 t… #python #wo␛[rk   1d  13 messages  5.4K tokens",
            "  6  Deploy the blue cluster to eu-west-1          1d  16 messages  6.6K tokens",
            "  7  How do I sort a list of dicts by two keys?    1d  19 messages  7.9K tokens",
        ]
        terminal.send("q")
        left(terminal)


@pytest.mark.slow
def test_ctrl_z_leaves_the_screen_until_the_program_goes_on() -> None:
    with browsing(8) as terminal:
        terminal.wait_for("Enter resume")
        terminal.mark()
        terminal.ctrl("z")
        terminal.wait_for(LEFT_AGAIN, output=True)
        terminal.wait_for(
            re.compile(re.escape(LEFT_AGAIN) + ".*" + re.escape(ENTERED), re.DOTALL), output=True
        )
        terminal.send(DOWN + "\r")
        assert told(terminal)[0] == "chosen: sally_000001"
