"""The program in a real terminal: narrow, plain, hostile text, and interruptions."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from benchmarks.support.loopback import Loopback, Reply
from tests.support.terminal_chat import answered, chat, compatible, leave, saved

pytestmark = pytest.mark.slow


def test_escape_sequences_of_a_model_are_shown_not_obeyed(tmp_path: Path) -> None:
    hostile = "\x1b]0;owned\x07\x1b[2J\x1b]52;c;aGk=\x07\x9b31m\u202eabc [red]not markup[/red]"
    with Loopback() as server, chat(tmp_path, *compatible(server)) as terminal:
        server.enqueue(Reply(chunks=(hostile[:9], hostile[9:])))
        printed = answered(terminal, "hello")
        for sequence in ("\x1b]0;", "\x1b[2J", "\x1b]52", "\x9b", "\u202e"):
            assert sequence not in printed
        assert "␛]0;owned␇␛[2J␛]52;c;aGk=␇<U+009B>31m<U+202E>abc [red]not markup[/red]" in " ".join(
            printed.split()
        )
        leave(terminal)
    reply = saved(tmp_path).exchanges[0].reply
    assert reply is not None
    assert reply.text == hostile


GREETING = (
    r"^Conversations are markdown files in\s\S*/sessions\n"
    r"You: Type a message, or \? for shortcuts\n .*context "
)


@pytest.mark.parametrize("cols", [80, 40])
def test_the_first_start_greets_and_no_other(tmp_path: Path, cols: int) -> None:
    with chat(tmp_path, cols=cols) as terminal:
        terminal.wait_for(re.compile(GREETING, re.MULTILINE), timeout=60)
        terminal.line("?")
        terminal.wait_for("Ctrl-C")
        assert "for shortcuts" not in "\n".join(terminal.screen())
        answered(terminal, "hello")
        leave(terminal)
        printed = terminal.raw.decode()
        assert "\x1b[2mchat-loop " in printed, "the banner is dim"
        message = "\x1b[38;5;255;48;5;240mhello\x1b[0m"
        assert f"\x1b[1;32mYou: \x1b[0m{message}" in printed, "it stands out in the scrollback"
    with chat(tmp_path, cols=cols) as terminal:
        assert "Conversations are" not in terminal.text()
        leave(terminal)
