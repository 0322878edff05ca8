"""The program in a real terminal: narrow, plain, hostile text, and interruptions."""

from __future__ import annotations

import re
import threading
from pathlib import Path

import pytest

from benchmarks.support.loopback import Loopback, Reply, failing
from tests.support.piped_chat import WAITS
from tests.support.terminal_chat import COLOR, answered, chat, compatible, leave, saved

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("cols", [20, 200])
def test_any_width_works(tmp_path: Path, cols: int) -> None:
    with chat(tmp_path, cols=cols, ready="" if cols == 20 else "context") as terminal:
        answered(terminal, "hello there, narrow terminal")
        terminal.mark()
        terminal.line("sessions")
        terminal.wait_for(re.compile(r"\*  hello ther.*  now"), 60, output=True)
        terminal.line("help")
        terminal.wait_for("spaces.", timeout=60, output=True)
        leave(terminal)
    assert saved(tmp_path).exchanges[0].query.text == "hello there, narrow terminal"


def test_no_color_prints_no_colors(tmp_path: Path) -> None:
    with chat(tmp_path) as terminal:
        assert COLOR.search(answered(terminal, "hello"))
        leave(terminal)
    with chat(tmp_path, NO_COLOR="1") as terminal:
        assert not COLOR.search(answered(terminal, "hello"))
        leave(terminal)


def test_a_dumb_terminal_works(tmp_path: Path) -> None:
    with chat(tmp_path, ready="", TERM="dumb") as terminal:
        answered(terminal, "hello")
        leave(terminal)


def test_a_large_paste_is_one_message(tmp_path: Path) -> None:
    (tmp_path / "config.yaml").write_text("models: {echo: {window: 1000000}}\n")
    text = "".join(f"line {number} of what is pasted\n" for number in range(20_000))
    with chat(tmp_path) as terminal:
        typing = threading.Thread(target=terminal.send, args=(f"\x1b[200~{text}\x1b[201~",))
        typing.start()
        terminal.wait_for(f"[paste 1: {len(text):,} characters, 20,001 lines]", timeout=60)
        typing.join()
        terminal.mark()
        terminal.line(" what is this?")
        terminal.wait_for(re.compile(r"Time: \d"), timeout=60, output=True)
        terminal.wait_for(re.compile(r"Time: \d.*You:", re.DOTALL), timeout=60, output=True)
        leave(terminal)
    assert saved(tmp_path).exchanges[0].query.text == f"{text} what is this?"


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


def test_ctrl_c_stops_a_reply_and_keeps_what_came(tmp_path: Path) -> None:
    with Loopback() as server, chat(tmp_path, *compatible(server)) as terminal:
        server.enqueue(Reply(chunks=("The first half", " and the second"), stall_after=1))
        terminal.mark()
        terminal.line("tell me")
        terminal.wait_for("The first half", timeout=60, output=True)
        terminal.ctrl("c")
        terminal.wait_for("Interrupted", timeout=60, output=True)
        server.left(0)
        terminal.wait_for(re.compile(r"Interrupted.*You:", re.DOTALL), timeout=60, output=True)
        assert "You said: go on" in answered(terminal, "go on")
        assert server.requests[1].texts == ("tell me", "The first half", "go on")
        leave(terminal)
    first = saved(tmp_path).exchanges[0].reply
    assert first is not None
    assert (first.text, first.stop) == ("The first half", "interrupted")


def test_ctrl_c_stops_a_retry(tmp_path: Path) -> None:
    with Loopback() as server, chat(tmp_path, *compatible(server), cols=120) as terminal:
        server.enqueue(failing(529, "overloaded_error", "Overloaded", retry_after="50"))
        terminal.mark()
        terminal.line("hello")
        terminal.wait_for("again in 50 s (2/5)", timeout=60, output=True)
        terminal.ctrl("c")
        terminal.wait_for(re.compile(r"Interrupted.*You:", re.DOTALL), timeout=60, output=True)
        leave(terminal)
    assert saved(tmp_path).exchanges[0].query.text == "hello"


def test_what_is_typed_during_a_reply_waits_for_the_next_prompt(tmp_path: Path) -> None:
    with Loopback() as server, chat(tmp_path, *compatible(server)) as terminal:
        server.enqueue(Reply(chunks=("one", " two"), stall_after=1))
        terminal.mark()
        terminal.line("first")
        terminal.wait_for("one", timeout=60, output=True)
        terminal.send("typed ahead\r")
        server.stalled()
        server.release()
        terminal.wait_for("You said: typed ahead", timeout=60, output=True)
        reply = terminal.output().partition("one")[2].partition("Time:")[0]
        assert "typed" not in reply, "it is not echoed into the reply"
        terminal.wait_for(
            re.compile(r"You said: typed ahead.*You:", re.DOTALL), timeout=60, output=True
        )
        leave(terminal)
    assert [exchange.query.text for exchange in saved(tmp_path).exchanges] == [
        "first",
        "typed ahead",
    ]


def test_ctrl_c_at_the_prompt_clears_the_line_and_ctrl_c_at_exit_skips_the_summary(
    tmp_path: Path,
) -> None:
    (tmp_path / "config.yaml").write_text(WAITS)
    with Loopback() as server, chat(tmp_path, *compatible(server)) as terminal:
        terminal.send("never mind")
        terminal.wait_for("never mind", timeout=60)
        terminal.ctrl("c")
        answered(terminal, "hello")
        assert [request.query for request in server.requests] == ["hello"]
        server.enqueue(Reply(chunks=("**Background", " Context:**"), stall_after=1))
        terminal.mark()
        terminal.line("exit")
        server.stalled(1)
        terminal.ctrl("c")
        terminal.wait_for("Conversation saved successfully!", timeout=60, output=True)
        assert "Summary skipped. A resume brings back all words." in terminal.output()
        assert terminal.exit_code(timeout=60) == 0
    session = saved(tmp_path)
    assert session.seal is not None
    assert (session.seal.source, session.seal.summary) == ("none", None)


def test_a_resume_on_the_command_line(tmp_path: Path) -> None:
    with chat(tmp_path) as terminal:
        answered(terminal, "the port is 8443")
        terminal.mark()
        terminal.line("exit")
        terminal.wait_for(
            "Resume with: chat-loop --model scripted:echo --resume", timeout=60, output=True
        )
        terminal.exit_code(timeout=60)
    parent = saved(tmp_path).header.id
    with chat(tmp_path, "--model", "scripted:echo", "--resume", "1") as terminal:
        terminal.wait_for("Restoring context...", timeout=60, output=True)
        assert "the port is 8443" in terminal.text()
        answered(terminal, "which port?")
        leave(terminal)
    child = saved(tmp_path)
    assert (child.header.parent, child.exchanges[0].query.text) == (parent, "which port?")


GREETING = (
    r"^Welcome\. Using scripted:echo\. /model.*Conversations are.*/sessions\n"
    r"exit saves .*Long conversations .*\nYou:"
)


@pytest.mark.parametrize("cols", [80, 40])
def test_the_first_start_greets_and_no_other(tmp_path: Path, cols: int) -> None:
    with chat(tmp_path, cols=cols) as terminal:
        terminal.wait_for(re.compile(GREETING, re.MULTILINE | re.DOTALL), timeout=60)
        assert terminal.text().count("You:") == 1
        answered(terminal, "hello")
        leave(terminal)
        printed = terminal.raw.decode()
        assert "\x1b[2mchat-loop " in printed, "the banner is dim"
        assert "\x1b[1;32mYou: \x1b[0mhello" in printed, "the prompt stands out in the scrollback"
    with chat(tmp_path, cols=cols) as terminal:
        assert "Welcome" not in terminal.text()
        leave(terminal)


def test_retry_edit_and_copy_on_a_terminal(tmp_path: Path) -> None:
    with chat(tmp_path, SSH_TTY="/dev/pts/1") as terminal:
        answered(terminal, "which wood is hard?")
        assert "Again: “which wood is hard?”" in answered(terminal, "/retry")
        assert "You said: which wood is soft?" in answered(terminal, "/edit which wood is soft?")
        terminal.mark()
        terminal.line("/copy query")
        terminal.wait_for(
            "Copied your last message: 19 characters, 1 line", timeout=60, output=True
        )
        assert "\x1b]52;c;d2hpY2ggd29vZCBpcyBzb2Z0Pw==\x07" in terminal.output()
        leave(terminal)
    session = saved(tmp_path)
    assert [exchange.query.text for exchange in session.exchanges] == ["which wood is soft?"]
    assert session.totals.queries == 3
