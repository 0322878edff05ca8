"""The composer: typing, queueing and stopping while a reply streams, in a real terminal."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path

import pytest

from benchmarks.support.loopback import Loopback, Reply, failing
from chat_loop.sessions.records import Aside, AsideReply
from tests.support.pty_chat import PtyChat
from tests.support.terminal_chat import chat, compatible, leave, saved

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="pseudo-terminals of POSIX")

UP = "\x1b[A"
DOWN = "\x1b[B"
IDLE = re.compile(r"^You:$", re.MULTILINE)


def begun(terminal: PtyChat, server: Loopback, *chunks: str, stall_after: int = 1) -> None:
    """Send a query, and wait until the reply stalls after `stall_after` of its chunks."""
    server.enqueue(Reply(chunks=chunks, stall_after=stall_after))
    terminal.line("first")
    server.stalled()
    terminal.wait_for("Assistant:")  # a narrow terminal shows a word only when it is complete


def asked(home: Path) -> list[str]:
    return [exchange.query.text for exchange in saved(home).exchanges]


@pytest.mark.parametrize(
    "cols",
    [80, pytest.param(20, marks=pytest.mark.slow), pytest.param(200, marks=pytest.mark.slow)],
)
def test_what_is_typed_during_a_reply_shows_and_is_sent_after_it(tmp_path: Path, cols: int) -> None:
    with Loopback() as server, chat(tmp_path, *compatible(server), cols=cols, ready="") as terminal:
        begun(terminal, server, "Half", " a reply.")
        terminal.send("abd\x7fc")
        terminal.wait_for("You… abc")
        terminal.send("\r")
        terminal.wait_for(re.compile(r"^You…$", re.MULTILINE))
        terminal.send("a draft")
        terminal.wait_for("You… a draft")
        assert "   → abc\nYou… a draft\n" in terminal.text()
        server.release()
        terminal.wait_for(re.compile(r"You: a draft"))
        shown = " ".join(terminal.text().split())
        assert shown.index("Half a reply.") < shown.index("You: abc") < shown.index("You said: abc")
        assert shown.count("a draft") == 1
        terminal.ctrl("c")
        terminal.wait_for(IDLE)
        leave(terminal)
    assert asked(tmp_path) == ["first", "abc"]


def test_queued_messages_stand_above_the_line_and_each_can_be_edited(tmp_path: Path) -> None:
    with Loopback() as server, chat(tmp_path, *compatible(server)) as terminal:
        begun(terminal, server, "Half", " a reply.")
        for text in ("one", "two", "three"):
            terminal.line(text)
            terminal.wait_for(f"→ {text}")
        terminal.wait_for("   → one\n   → two\n   → three\nYou…\n")
        terminal.send(UP)
        terminal.wait_for("   → one\n   → two\nYou… three\n")
        terminal.send(" lines\x1b\rof it")
        terminal.wait_for("You… three lines\n     of it\n")
        terminal.send(UP + UP)
        terminal.wait_for("   → one\n   → three lines of it\nYou… two\n")
        terminal.send(f"{DOWN} at all{UP}{UP}{UP}{UP}")
        terminal.wait_for("   → two\n   → three lines of it at all\nYou… one\n")
        server.release()  # those behind it wait for the one that is edited
        terminal.wait_for("   → two\n   → three lines of it at all\nYou: one\n")
        terminal.send(" and a half\r")
        terminal.wait_for("You said: three lines\nof it at all")
        terminal.wait_for(IDLE)
        leave(terminal)
    assert asked(tmp_path) == ["first", "one and a half", "two", "three lines\nof it at all"]


def test_a_command_that_only_shows_something_answers_during_a_reply(tmp_path: Path) -> None:
    first = "One.\n\n```\ntwo\n\nthree\n```\n\nHalf"
    with Loopback() as server, chat(tmp_path, *compatible(server)) as terminal:
        begun(terminal, server, first, " a block.\n\nThe end.")
        terminal.line("/pin the port is 8443")
        terminal.wait_for("→ /pin")
        terminal.line("/pins")
        answer = "You: /pins\n✗ There are no pins."
        terminal.wait_for(f"Half\n\n{answer}")
        terminal.line("/context")
        terminal.wait_for(re.compile(rf"Half\n\n{answer}.*\n\nYou: /context\nContext: ", re.DOTALL))
        server.release()
        rest = r"Half a block\.\n\nYou: /pins\n.*You: /context\n.*\n\nThe end\.\nTime: .*Pinned"
        terminal.wait_for(re.compile(rest, re.DOTALL))
        assert re.search(r"two\n\n *three\n", terminal.text()), terminal.text()
        terminal.wait_for(IDLE)
        assert terminal.text().count("You: /pins") == 1
        terminal.line("/pins")
        terminal.wait_for("1  the port is 8443")
        leave(terminal)
    assert asked(tmp_path) == ["first"]


@pytest.mark.slow
def test_a_question_beside_the_conversation_is_answered_during_a_reply(tmp_path: Path) -> None:
    with Loopback() as server, chat(tmp_path, *compatible(server)) as terminal:
        begun(terminal, server, "Half", " a reply.\n\nThe end.")
        server.enqueue(Reply(chunks=("It is 8443.",)))
        terminal.line("/btw which port?")
        answer = (
            "You: /btw which port?\nBeside the conversation: “which port?”\nIt is 8443.\nTime: "
        )
        terminal.wait_for(f"Half\n\n{answer}")
        server.release()
        terminal.wait_for("The end.")
        terminal.wait_for(IDLE)
        leave(terminal)
    assert asked(tmp_path) == ["first"]
    said = [
        entry.text for entry in saved(tmp_path).entries if isinstance(entry, Aside | AsideReply)
    ]
    assert said == ["which port?", "It is 8443."]


@pytest.mark.parametrize("keys", ["emacs", pytest.param("vi", marks=pytest.mark.slow)])
def test_escape_stops_the_reply_and_sends_what_is_queued(tmp_path: Path, keys: str) -> None:
    (tmp_path / "config.yaml").write_text(f"input: {{keys: {keys}}}\n")
    with Loopback() as server, chat(tmp_path, *compatible(server)) as terminal:
        begun(terminal, server, "Half", " a reply.")
        terminal.line("go on like this")
        terminal.wait_for("→ go on like this")
        if keys == "vi":
            terminal.send("\x1b")  # to the command mode
            terminal.wait_for("\x1b[2 q", output=True)
        terminal.send("\x1b")
        terminal.wait_for(re.compile(r"Interrupted.*You said: go on like this", re.DOTALL))
        terminal.wait_for(IDLE)
        leave(terminal)
    assert asked(tmp_path) == ["first", "go on like this"]
    reply = saved(tmp_path).exchanges[0].reply
    assert reply is not None
    assert (reply.text, reply.stop) == ("Half", "interrupted")


@pytest.mark.slow
@pytest.mark.parametrize("draft", ["", "a draft"])
def test_after_a_reply_that_failed_queued_messages_wait_for_the_user(
    tmp_path: Path, draft: str
) -> None:
    with Loopback() as server, chat(tmp_path, *compatible(server)) as terminal:
        server.enqueue(Reply(chunks=("never",), stall_after=0))
        terminal.line("first")
        server.stalled()
        server.enqueue(failing(400, "invalid_request_error", "No."))
        for text in ("second", "third", "fourth"):
            terminal.line(text)
            terminal.wait_for(f"→ {text}")
        terminal.send(draft)
        server.release()
        if draft:
            terminal.wait_for(
                re.compile(r"✗.*→ third\n   → fourth\nYou: a draft\n not sent", re.DOTALL)
            )
            terminal.send("\r")
            terminal.wait_for(
                re.compile("You said: a draft.*→ third\n   → fourth\nYou:\n", re.DOTALL)
            )
        else:
            terminal.wait_for(re.compile(r"✗.*→ fourth\nYou: third\n not sent", re.DOTALL))
            terminal.ctrl("c")
            terminal.wait_for(re.compile(r"→ fourth\nYou:\n not sent"))
        terminal.send("\r")
        terminal.wait_for("You said: fourth")
        terminal.wait_for(IDLE)
        leave(terminal)
    assert asked(tmp_path) == ["first", "second", *([draft, "third"] if draft else []), "fourth"]


def test_ctrl_d_during_a_reply_leaves_after_it(tmp_path: Path) -> None:
    with Loopback() as server, chat(tmp_path, *compatible(server)) as terminal:
        begun(terminal, server, "Half", " a reply.")
        terminal.ctrl("d")
        server.release()
        assert terminal.exit_code() == 0
        assert "Half a reply." in terminal.text()
        assert "Goodbye!" in terminal.text()
    assert asked(tmp_path) == ["first"]


def test_a_plain_terminal_is_sent_nothing_but_lines(tmp_path: Path) -> None:
    options = ("--model", "scripted:echo", "--plain")
    with chat(tmp_path, *options, ready="") as terminal:
        terminal.line("hello **you**")
        terminal.wait_for("Assistant: You said: hello **you**")
        terminal.wait_for(re.compile(r"Time: .*^You:$", re.DOTALL | re.MULTILINE))
        terminal.line("/sessions browse")
        terminal.wait_for("The browser needs a terminal.")
        terminal.line("exit")
        assert terminal.exit_code() == 0
        assert b"\x1b" not in terminal.raw
        assert "Resume with: chat-loop --plain --model scripted:echo --resume" in terminal.text()
    assert asked(tmp_path) == ["hello **you**"]


def test_ctrl_c_twice_at_the_prompt_leaves_and_once_clears_a_draft_that_up_brings_back(
    tmp_path: Path,
) -> None:
    with chat(tmp_path, "--model", "scripted:echo") as terminal:
        terminal.send("a draft")
        terminal.wait_for("You: a draft")
        terminal.ctrl("c")
        terminal.wait_for(IDLE)
        assert "again to quit" not in terminal.text()
        terminal.send(UP)
        terminal.wait_for("You: a draft")
        terminal.ctrl("c")
        terminal.wait_for(IDLE)
        terminal.ctrl("c")
        terminal.wait_for("Press Ctrl-C again to quit.")
        terminal.send("\x03\x03")  # on a busy machine, one could come too late to be the second
        assert terminal.exit_code() == 0


@pytest.mark.parametrize(
    ("typed", "shown"),
    [
        ("/con", r"^You: /con\n +/config +Show .*\n +/context +Show "),
        ("/", r"^You: /\n +/help +Show .*\n( +/\w+ .*\n){6} +\(1/\d\d\)$"),
        pytest.param("see @READ", r"^You: see @READ\n +README\.md", marks=pytest.mark.slow),
        pytest.param("resume la", r"^You: resume la\n +last ", marks=pytest.mark.slow),
    ],
)
def test_the_menu_opens_as_one_types_and_escape_closes_it(
    tmp_path: Path, typed: str, shown: str
) -> None:
    with chat(tmp_path, "--model", "scripted:echo") as terminal:
        for key in typed:
            terminal.send(key)
            terminal.wait_for(re.compile(r"^You: .*" + re.escape(key), re.MULTILINE))
        terminal.wait_for(re.compile(shown, re.MULTILINE))
        background = re.compile(rb"\x1b\[(\d+;)*(4[0-8]|10[0-7]|7)(;\d+)*m")
        assert not background.search(terminal.raw)
        assert re.search(rb"\x1b\[0;2m  \S", terminal.raw), "dim"
        terminal.send("\x1b")
        terminal.wait_for(re.compile(rf"^You: {re.escape(typed)}\n(?! +[/Rl])", re.MULTILINE))
        terminal.ctrl("c")
        terminal.wait_for(IDLE)
        leave(terminal)


def test_a_tab_that_comes_before_the_choices_takes_the_first_of_them(tmp_path: Path) -> None:
    programs = tmp_path / "programs"
    programs.mkdir()
    gate = tmp_path / "gate"
    os.mkfifo(gate)
    git = programs / "git"
    git.write_text(f"#!/bin/sh\nread name <{gate}\nprintf '%s\\0' \"$name\"\n")
    git.chmod(0o755)
    with chat(tmp_path, PATH=f"{programs}:/usr/bin:/bin") as terminal:
        terminal.send("see @not")
        with gate.open("w") as names:  # open when git runs
            terminal.send("\t")
            terminal.wait_for(re.compile("You: see @not$", re.MULTILINE))
            names.write("my notes.txt\n")
        terminal.wait_for('You: see @"my notes.txt"')
        terminal.ctrl("c")
        terminal.wait_for(IDLE)
        leave(terminal)
