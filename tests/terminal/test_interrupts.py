"""Ctrl-C in every phase of a chat: partial replies are kept, and the prompt returns."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import sqlite3
import sys
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import pytest

from benchmarks.support.loopback import Loopback, Reply, failing
from chat_loop.sessions.manager import SessionManager
from chat_loop.sessions.rows import read_rows
from tests.support.headless import WAITS
from tests.support.mcp_descriptions import gone, until
from tests.support.pty_chat import PtyChat
from tests.support.saved_sessions import ALL, SECOND, put
from tests.support.tool_chat import ASKED, calling, chatting

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform == "win32", reason="pseudo-terminals and shells of POSIX"),
]

PATIENCE = 60
EMPTY = re.compile(r"^You:( Type a message.*)?$", re.MULTILINE)
LIVES = "Press Ctrl-C again to quit."


@dataclass(frozen=True)
class At:
    """A chat, its server, and their home."""

    chat: PtyChat
    server: Loopback
    home: Path

    def asks(self, *replies: Reply, shown: str = "", line: str = "go") -> None:
        """Send a line that gets `replies` as answers, the last of which stalls; wait until `shown`
        appears.
        """
        before = len(self.server.requests)
        self.server.enqueue(*replies)
        self.chat.line(line)
        if replies[-1].stall_after is not None:
            self.server.stalled(before + len(replies) - 1)
        if shown:
            self.chat.wait_for(shown, PATIENCE)

    def said(self, line: str = "hello") -> None:
        """Have a complete exchange."""
        self.chat.mark()
        self.chat.line(line)
        self.chat.wait_for(re.compile(r"Time:.*You:", re.DOTALL), PATIENCE, output=True)


def at_an_empty_line(at: At) -> None:
    """Do nothing: the program waits."""


def in_a_typed_line(at: At) -> None:
    at.chat.send("never mind")
    at.chat.wait_for("You: never mind", PATIENCE)


def in_several_lines(at: At) -> None:
    at.chat.line("\\\\")
    at.chat.wait_for("multi-line", PATIENCE)
    at.chat.send("never\r")
    at.chat.send("mind")
    at.chat.wait_for("     mind", PATIENCE)


def in_a_folded_paste(at: At) -> None:
    at.chat.send("\x1b[200~" + "never mind\n" * 50 + "\x1b[201~")
    at.chat.wait_for(re.compile(r"\[paste [12]: "), PATIENCE)


def in_the_search_of_the_history(at: At) -> None:
    at.said("a needle")
    at.chat.ctrl("r")
    at.chat.send("need")
    at.chat.wait_for("(reverse-i-search)`need': a needle", PATIENCE)


def in_the_menu(at: At) -> None:
    at.chat.send("/un\t")
    at.chat.wait_for("/undo", PATIENCE)
    at.chat.send("\t")
    at.chat.wait_for("You: /undo", PATIENCE)


def before_the_first_token(at: At) -> None:
    at.asks(Reply(chunks=("never",), stall_after=0), shown="Sally … ")


def in_the_text(at: At) -> None:
    at.asks(Reply(chunks=("Some **bo", "ld**"), stall_after=1), shown="Sally: Some")


def in_a_table(at: At) -> None:
    rows = "| a | b |\n|---|---|\n| 1 | 2 |\n| 3"
    at.asks(Reply(chunks=(rows, " | 4 |"), stall_after=1), shown="1 │ 2")


def in_code(at: At) -> None:
    at.asks(Reply(chunks=("```python\nx = 1\ny =", " 2"), stall_after=1), shown="x = 1")


def in_the_thinking(at: At) -> None:
    at.asks(
        Reply(thinking=("Let me see", " now"), chunks=("no",), stall_after=1), shown="Let me see"
    )


def in_a_tool(at: At) -> None:
    command = {"command": "echo $$ > pid; mv pid begun; exec sleep 1000", "seconds": 500}
    at.asks(calling(("run_command", command)), shown=ASKED)
    at.chat.line("y")
    asyncio.run(until((at.home / "project" / "begun").exists))


def at_the_question_about_a_tool(at: At) -> None:
    at.asks(calling(("run_command", {"command": "touch begun"}), text="I run it."), shown=ASKED)
    at.chat.send("y")  # without Enter this is not an answer
    at.chat.wait_for(re.compile(re.escape(ASKED) + r"[^)]*\) y", re.DOTALL), PATIENCE)


def at_a_question_of_the_program(at: At) -> None:
    (at.home / "project" / "secret.txt").write_text("password = hunter2-Xk93mm1-aB3dE5fG7h\n")
    at.chat.line("look at @secret.txt")
    at.chat.wait_for("Send it as it is?", PATIENCE)


def between_two_attempts(at: At) -> None:
    at.asks(failing(529, "overloaded_error", "Overloaded", retry_after="50"), shown="(2/5)")


def in_a_compaction(at: At) -> None:
    at.said()
    at.asks(Reply(chunks=("**Background", " Context:**"), stall_after=1), line="/compact")


def in_an_acknowledgment(at: At) -> None:
    at.asks(
        Reply(chunks=("I know", " it all"), stall_after=1),
        shown="I know",
        line=f"/resume {SECOND.header.id}",
    )


@contextmanager
def chatted(home: Path) -> Iterator[At]:
    """Yield a chat with Sally, who has talked before."""
    put(home / "own" / "sessions", *ALL)
    (home / "own" / "config.yaml").write_text(f"agent: {{name: Sally}}\n{WAITS}")
    with Loopback() as server, chatting(home, server) as chat:
        yield At(chat, server, home)


Said = tuple[tuple[str, str], ...]
Phase = tuple[Callable[[At], None], str, Said]
"""A phase, the words that announce its end, and the exchanges that are kept from it."""
CHATS: tuple[tuple[Phase, ...], ...] = (
    (
        (in_a_typed_line, "", ()),
        (in_a_folded_paste, "", ()),
        (in_the_search_of_the_history, "", (("a needle", "You said: a needle"),)),
        (in_the_menu, "", ()),
        (in_several_lines, "", ()),
    ),
    ((at_an_empty_line, LIVES, ()),),
    (
        (in_a_table, "Interrupted", (("go", "interrupted: | a | b |\n|---|---|\n| 1 | 2 |\n| 3"),)),
        (in_code, "Interrupted", (("go", "interrupted: ```python\nx = 1\ny ="),)),
        (in_the_thinking, "Interrupted", (("go", "interrupted: "),)),
        (in_the_text, "Interrupted", (("go", "interrupted: Some **bo"),)),
    ),
    (
        (between_two_attempts, "Interrupted", (("go", "interrupted: "),)),
        (before_the_first_token, "Interrupted", (("go", "interrupted: "),)),
    ),
    ((in_a_tool, "Interrupted", (("go", "interrupted: "),)),),
    ((at_the_question_about_a_tool, "Interrupted", (("go", "interrupted: I run it."),)),),
    ((at_a_question_of_the_program, "Not sent", ()),),
    ((in_a_compaction, "Stopped", (("hello", "You said: hello"),)),),
    ((in_an_acknowledgment, "Interrupted", ()),),
)
"""The phases of each chat. In the last phase of a chat, the terminal closes."""


def kept(home: Path) -> list[tuple[str, str]]:
    """Return the queries and replies of the last session; every file must be undamaged."""
    sessions = SessionManager(home / "own" / "sessions")
    loaded = [sessions.load(row.path) for row in read_rows(sessions.directory)]
    assert [one.damage for one in loaded] == [()] * len(loaded)
    return [
        (
            exchange.query.text,
            f"{f'{reply.stop}: ' if reply.stop != 'end' else ''}{reply.text}" if reply else "none",
        )
        for exchange in loaded[0].session.exchanges
        for reply in [exchange.reply]
    ]


def commands_ended(home: Path) -> bool:
    """Return True if the command that a tool began, if any, has ended."""
    begun = home / "project" / "begun"
    return not begun.exists() or gone(int(begun.read_text()))


def interrupt(at: At, phase: Phase) -> None:
    """Press Ctrl-C in a phase; check that the prompt returns and works."""
    begin, told, _ = phase
    chat, begun = at.chat, at.home / "project" / "begun"
    begin(at)
    chat.mark()
    chat.ctrl("c")
    if told:
        chat.wait_for(told, PATIENCE, output=True)
    if begin is at_a_question_of_the_program:  # the unsent text is in the line
        chat.wait_for(re.compile(r"Not sent\.\n+You: look at @secret.txt\n"), PATIENCE)
        chat.ctrl("c")
    chat.wait_for(EMPTY, PATIENCE)
    at.said("are you there?")
    assert "Traceback" not in chat.text()
    assert commands_ended(at.home)
    assert not re.search(r"Sally … [0-9]", chat.text()), "what was waited for is still shown"
    begun.unlink(missing_ok=True)
    chat.ctrl("l")
    chat.wait_for(re.compile(r"\AYou:\n"), PATIENCE)


@pytest.mark.parametrize("phases", CHATS, ids=[phases[-1][0].__name__ for phases in CHATS])
def test_ctrl_c_in_each_phase_and_a_terminal_that_goes_away(
    tmp_path: Path, phases: tuple[Phase, ...]
) -> None:
    before: list[tuple[str, str]] = []
    with chatted(tmp_path) as at:
        for phase in phases:
            begin, _, expected = phase
            interrupt(at, phase)
            if begin is in_an_acknowledgment:  # the resume began a new session
                before = []
            after = kept(tmp_path)
            *added, last = after[len(before) :]
            assert after[: len(before)] == before
            assert added == [*expected]
            assert last in [
                ("are you there?", f"You said: {said}are you there?") for said in ("", "go\n\n")
            ]
            before = after
        begin(at)
        process = at.chat._child.pid
        at.chat.hang_up()
        assert at.chat.ended(PATIENCE) == 128 + signal.SIGHUP
        assert process
        with pytest.raises(ProcessLookupError):
            os.killpg(process, 0)
        assert commands_ended(tmp_path)
    assert begin is in_an_acknowledgment or kept(tmp_path) == [*before, *expected]


@pytest.mark.parametrize(
    "phase", [phases[-1] for phases in CHATS[1:]], ids=lambda phase: phase[0].__name__
)
def test_ctrl_c_pressed_twice_leaves_from_each_phase(tmp_path: Path, phase: Phase) -> None:
    begin, _, expected = phase
    with chatted(tmp_path) as at:
        at.said()
        begin(at)
        at.chat.send("\x03\x03")
        assert at.chat.exit_code(PATIENCE) == 0
        shown = at.chat.text()
        assert "Traceback" not in shown
        assert "Goodbye!" in shown
        assert commands_ended(tmp_path)
    before = [] if begin is in_an_acknowledgment else [("hello", "You said: hello")]
    assert kept(tmp_path) == [*before, *expected]


@pytest.mark.parametrize("times", [1, 2], ids=["once", "twice"])
def test_ctrl_c_during_the_summary_at_the_exit(tmp_path: Path, times: int) -> None:
    with chatted(tmp_path) as at:
        chat = at.chat
        at.said()
        at.asks(
            Reply(chunks=("**Background", " Context:**"), stall_after=1),
            line="exit",
            shown="Generating",
        )
        chat.send("\x03" * times)
        assert chat.exit_code(PATIENCE) == 0
        shown = chat.text().partition("You: exit\n")[2]
        assert "Generating" not in shown
        assert "Summary skipped. A resume brings back all words." in " ".join(shown.split())
        assert "✓ Conversation saved successfully!\n" in shown
    assert kept(tmp_path) == [("hello", "You said: hello")]


def test_what_was_typed_before_ctrl_c_waits_at_the_next_prompt(tmp_path: Path) -> None:
    with chatted(tmp_path) as at:
        chat = at.chat
        in_the_text(at)
        chat.mark()
        chat.line("and now")
        chat.wait_for("→ and now", PATIENCE)
        chat.send("half a li")
        chat.wait_for("You… half a li", PATIENCE)
        chat.ctrl("c")
        chat.wait_for(
            re.compile(r"Interrupted.*You said: and now.*You: half a li", re.DOTALL), PATIENCE
        )
        chat.send("ne")
        at.said("")
        chat.ctrl("d")
        assert chat.exit_code(PATIENCE) == 0
    assert [query for query, _ in kept(tmp_path)] == ["go", "and now", "half a line"]


def test_escape_during_a_search_of_all_sessions(tmp_path: Path) -> None:
    with chatted(tmp_path) as at:
        chat = at.chat
        at.said()
        path = tmp_path / "own" / "sessions" / ".index.sqlite"
        asyncio.run(until(path.exists))
        with closing(sqlite3.connect(path, PATIENCE, isolation_level=None)) as database:
            database.execute("BEGIN EXCLUSIVE")  # so that the search must wait
            chat.mark()
            chat.line("/search rate")
            while True:  # nothing reports when the search has begun
                chat.send("\x1b")
                with suppress(AssertionError):
                    chat.wait_for("Stopped.", 0.5, output=True)
                    break
                assert "index" not in chat.output(), "it was given up before it was stopped"
        chat.wait_for(EMPTY, PATIENCE)
        # An Escape too many and the next character would be a key with Alt, so a harmless one is next.
        at.said("\x15are you there?")
        chat.ctrl("d")
        assert chat.exit_code(PATIENCE) == 0
    assert [query for query, _ in kept(tmp_path)] == ["hello", "are you there?"]
