"""The keys of the line in a real terminal: several lines, history, editor, vi, and pastes."""

from __future__ import annotations

import re
import stat
import sys
import threading
from pathlib import Path

import pytest

from benchmarks.support.loopback import Loopback, Reply
from chat_loop.values import plural
from tests.support.pty_chat import PtyChat
from tests.support.terminal_chat import asked, chat, compatible, entered, leave, told_of_pastes

UP = "\x1b[A"


def script(path: Path, body: str) -> str:
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o755)
    return str(path)


NEWLINES = ["\x1b\r", "\n", "\x1b[13;2u", "\x1b[27;2;13~", "\\\r"]
"""Alt-Enter, Ctrl-J, Shift-Enter as two kinds of terminals send it, and a final backslash."""


def test_several_lines(tmp_path: Path) -> None:
    with chat(tmp_path) as terminal:
        terminal.send("0")
        terminal.wait_for("You: 0")
        for number, newline in enumerate(NEWLINES, 1):
            terminal.send(f"{newline}{number}")
            terminal.wait_for(f"     {number}")
        assert "You: 0\n     1\n     2\n     3\n     4\n     5\n" in terminal.text()
        entered(terminal, "\r")
        entered(terminal, "C:\\\\\r")  # two backslashes stay two
        leave(terminal)
    assert asked(tmp_path) == ["0\n1\n2\n3\n4\n5", "C:\\\\"]


@pytest.mark.slow
def test_two_backslashes_open_several_lines_and_an_empty_one_ends_them(tmp_path: Path) -> None:
    with chat(tmp_path) as terminal:
        terminal.line("\\\\")
        terminal.wait_for("multi-line: empty line sends")
        terminal.line("first")
        terminal.line("second \\")
        terminal.wait_for(re.compile(r"You: first\n +second \\\n"))
        entered(terminal, "\r")
        terminal.line("\\\\")
        terminal.wait_for("multi-line: empty line sends")
        terminal.send("given up\r")
        terminal.wait_for("You: given up\n")
        terminal.ctrl("c")
        terminal.wait_for("context")
        entered(terminal, "one\r")
        terminal.line("\\\\")
        terminal.wait_for("multi-line: empty line sends")
        terminal.ctrl("d")  # gives up too, and does not leave the chat
        terminal.wait_for("context")
        entered(terminal, "two\r")
        leave(terminal)
    assert asked(tmp_path) == ["first\nsecond \\", "one", "two"]


def test_the_history_lasts_over_sessions_and_is_searched(tmp_path: Path) -> None:
    history = tmp_path / "history"
    key = "sk-ant-api03-" + "aB3dE5fG7h" * 9 + "-AA"
    with chat(tmp_path) as terminal:
        entered(terminal, "the first needle\nwith a second line\r")
        terminal.send(f"my key is {key}")
        terminal.wait_for("fG7h-AA")  # with Enter in the same burst it would be a paste
        entered(terminal, "\r")
        entered(terminal, "hay\r")
        terminal.send(UP + UP)
        terminal.wait_for("You: my key is sk-ant")  # this run still knows the secret
        terminal.ctrl("c")
        leave(terminal)
    assert stat.S_IMODE(history.stat().st_mode) == 0o600
    text = history.read_text()
    assert "+the first needle\n+with a second line\n" in text
    assert "sk-ant" not in text
    with chat(tmp_path) as terminal:
        terminal.ctrl("r")
        terminal.send("needle")
        terminal.wait_for("(reverse-i-search)`needle': the first needle")
        terminal.send("\r")  # puts it into the line
        terminal.wait_for("You: the first needle\n     with a second line")
        terminal.ctrl("c")
        terminal.wait_for(re.compile("^You:$", re.MULTILINE))
        terminal.ctrl("r")
        terminal.send("second")
        terminal.wait_for("(reverse-i-search)`second': with a second line")
        terminal.ctrl("c")  # leaves the search
        terminal.wait_for(re.compile("^You:$", re.MULTILINE))
        terminal.ctrl("r")
        terminal.send("needle\r")
        terminal.wait_for("You: the first needle\n     with a second line")
        entered(terminal, "\r")
        leave(terminal)
    assert asked(tmp_path) == ["the first needle\nwith a second line"]


def test_the_line_is_edited_in_an_editor(tmp_path: Path) -> None:
    seen = tmp_path / "seen"
    editor = script(
        tmp_path / "editor",
        f'cp "$1" {seen}; stty -a | grep -o " -*icanon" >> {seen}; printf "new\\nwords\\n" > "$1"',
    )
    paste = "".join(f"row {number}\n" for number in range(30))
    with chat(tmp_path, EDITOR=editor) as terminal:
        terminal.send(f"\x1b[200~{paste}\x1b[201~ please")
        terminal.wait_for("30 lines] please" if paste.count("\n") == 29 else "31 lines] please")
        terminal.send("\x18\x05")
        terminal.wait_for("You: new\n     words")
        assert seen.read_text() == f"{paste} please\n icanon\n"
        entered(terminal, "!\r")
        leave(terminal)
    assert asked(tmp_path) == ["new\nwords!"]


@pytest.mark.slow
def test_ctrl_c_is_the_editors_as_long_as_it_runs(tmp_path: Path) -> None:
    editor = script(
        tmp_path / "editor", """trap '' INT; kill -INT 0; printf 'still here' > "$1\""""
    )
    with chat(tmp_path, EDITOR=editor) as terminal:
        terminal.send("words\x18\x05")
        terminal.wait_for("You: still here")
        entered(terminal, "\r")
        leave(terminal)
    assert asked(tmp_path) == ["still here"]


def test_vi_keys(tmp_path: Path) -> None:
    (tmp_path / "config.yaml").write_text("input: {keys: vi}\n")
    editor = script(tmp_path / "editor", 'printf "from vi" >> "$1"')
    with chat(tmp_path, EDITOR=editor) as terminal:
        terminal.send("one two")
        terminal.wait_for("You: one two")
        terminal.send("\x1b")
        terminal.wait_for("\x1b[2 q", output=True)  # the block cursor of the command mode
        terminal.send("bcw")
        terminal.send("three\x1b\rfour")  # Alt-Enter
        terminal.wait_for("You: one three\n     four")
        terminal.mark()
        terminal.send("\x1b")
        terminal.wait_for("\x1b[2 q", output=True)
        terminal.send("v")
        terminal.wait_for("from vi")
        entered(terminal, "\r")
        leave(terminal)
    assert asked(tmp_path) == ["one three\nfour\nfrom vi"]


def test_a_terminal_that_pastes_without_saying_so(tmp_path: Path) -> None:
    with chat(tmp_path) as terminal:
        terminal.send("def one():\r    return 1\r\rprint(one()) #")
        terminal.wait_for(re.compile(r"You: def one\(\):\n +return 1\n+ +print\(one\(\)\) #\n"))
        entered(terminal, "what is it?\r")
        leave(terminal)
    assert asked(tmp_path) == ["def one():\n    return 1\n\nprint(one()) #what is it?"]


UNTOLD = {
    "rows": "\r".join(f"{number} {'漢x' * 30}\t." for number in range(3_000)),
    "one line": "words and 漢字 " * 8_000,
}
"""Pastes of about 0.3 MB and 0.15 MB, more than is stored on the way to the program, as sent by a
terminal that does not mark pastes.
"""


@pytest.mark.slow
@pytest.mark.parametrize("text", UNTOLD.values(), ids=UNTOLD)
def test_a_long_paste_that_the_terminal_does_not_tell(tmp_path: Path, text: str) -> None:
    (tmp_path / "config.yaml").write_text("models: {echo: {window: 10000000}}\n")
    with chat(tmp_path) as terminal:
        typing = threading.Thread(target=terminal.send, args=(text,))
        typing.start()
        shown = f": {len(text):,} characters, {plural(text.count(chr(13)) + 1, 'line')}]"
        terminal.wait_for(re.compile(r"You: \[paste [0-9]+" + re.escape(shown)), timeout=240)
        typing.join()
        terminal.send("the end")
        terminal.wait_for("the end")
        entered(terminal, "\r")
        leave(terminal)
    assert asked(tmp_path) == [text.replace("\r", "\n") + "the end"]


@pytest.mark.slow
def test_a_folded_paste_comes_back_with_its_entry(tmp_path: Path) -> None:
    paste = "".join(f"row {number}\n" for number in range(30))
    with chat(tmp_path) as terminal:
        terminal.send(f"\x1b[200~{paste}\x1b[201~")
        terminal.wait_for("[paste 1")
        entered(terminal, "\r")
        terminal.send(UP)
        terminal.wait_for(re.compile(r"You: \[paste 1[^\n]*\n(?!.*You said)", re.DOTALL))
        entered(terminal, " again\r")
        leave(terminal)
    assert asked(tmp_path) == [paste, f"{paste} again"]


@pytest.mark.parametrize(
    "cols",
    [20, pytest.param(80, marks=pytest.mark.slow), pytest.param(200, marks=pytest.mark.slow)],
)
def test_wide_characters_are_edited_at_any_width(tmp_path: Path, cols: int) -> None:
    with chat(tmp_path, cols=cols, ready="" if cols == 20 else "context") as terminal:
        terminal.send("漢字かな交じり文👍🏽 end" * 2)
        terminal.send(
            "\x01" + "\x1b[C" * 2 + "\x7f" + "字"
        )  # go to the beginning and two right, delete one, type one
        terminal.send("\x05" + "\x7f" * 4)
        entered(terminal, "\r")
        leave(terminal)
    assert asked(tmp_path) == [
        "漢字かな交じり文👍🏽 end漢字かな交じり文👍🏽".replace("漢字", "漢字", 1)
    ]


@pytest.mark.slow
@pytest.mark.parametrize("cols", [20, 80, 200])
def test_joined_and_combining_characters_are_sent_as_they_were_typed(
    tmp_path: Path, cols: int
) -> None:
    family, accent, flag = "👩\u200d👩\u200d👧", "e\u0301", "🇯🇵"
    with chat(tmp_path, cols=cols, ready="" if cols == 20 else "context") as terminal:
        terminal.send(f"ab{family}{accent}漢z")
        terminal.send("\x1b[D" * 2 + "\x1b[3~" + "字")  # go two left, delete one, type one
        terminal.send("\x1b[D" * 3 + "1" + "\x1b[C" + "2")  # before and after the family
        entered(terminal, "\r")
        terminal.send(family + "." + accent + flag + "\x7f" * 2 + "\x02" * 2 + "\x1b[3~")
        entered(terminal, "?\r")
        leave(terminal)
    assert asked(tmp_path) == [f"ab1{family}2{accent}字z", "?."]


@pytest.mark.slow
def test_a_paste_during_a_reply_waits_as_one(tmp_path: Path) -> None:
    with Loopback() as server, chat(tmp_path, *compatible(server)) as terminal:
        server.enqueue(Reply(chunks=("one", " two"), stall_after=1))
        terminal.mark()
        terminal.line("first")
        terminal.wait_for("one", timeout=60, output=True)
        assert told_of_pastes(bytes(terminal.raw))
        terminal.send("\x1b[200~some\rpasted\rlines\r\x1b[201~")
        server.stalled()
        server.release()
        terminal.wait_for(re.compile("You: some\n     pasted\n     lines\n"), timeout=60)
        terminal.wait_for(re.compile("Time: .*You: some", re.DOTALL), timeout=60)
        entered(terminal, "and more\r")
        leave(terminal)
        assert not told_of_pastes(bytes(terminal.raw))
    assert asked(tmp_path) == ["first", "some\npasted\nlines\nand more"]


def test_ctrl_d_leaves_from_an_empty_line_only(tmp_path: Path) -> None:
    with chat(tmp_path) as terminal:
        terminal.send("xy\x01")
        terminal.ctrl("d")  # deletes a character
        entered(terminal, "\r")
        terminal.ctrl("d")
        assert terminal.exit_code() == 0
    assert asked(tmp_path) == ["y"]


@pytest.mark.slow
def test_what_was_typed_with_enter_as_a_newline_before_the_program_had_the_terminal(
    tmp_path: Path,
) -> None:
    env = {
        "CHAT_LOOP_HOME": str(tmp_path),
        "PATH": "/usr/bin:/bin",
        "HOME": str(tmp_path),
        "LANG": "C.UTF-8",
    }
    with PtyChat(
        [sys.executable, "-m", "chat_loop", "--model", "scripted:echo"], env=env
    ) as terminal:
        terminal.send("typed at once\r")
        terminal.wait_for("You said: typed at once")
        entered(terminal, "and more\r")
        leave(terminal)
    assert asked(tmp_path) == ["typed at once", "and more"]
