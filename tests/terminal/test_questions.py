"""What stands on a real screen when a question is asked, and what runs after the answer."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec import Struct

from benchmarks.support.loopback import Loopback, Reply
from tests.support.pty_chat import PtyChat
from tests.support.tool_chat import PATIENCE, at_prompt, calling, chatting

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="pseudo-terminals of POSIX")

QUESTION = re.compile(r"\((this.{1,20}exact.{1,20}call|write_file)\)", re.DOTALL)
SURE = re.compile(r"agree:")
WORDS = " harmless words about the build" * 160


class Case(Struct, frozen=True):
    """A call, the first and the last words of its act, what is hidden in it, and the file that is
    there after it ran.
    """

    tool: str
    text: str
    head: str
    tail: str
    hidden: tuple[str, ...]
    made: str
    content: str = ""
    is_long: bool = False


CASES = (
    Case("run_command", f"touch head; true{WORDS}; touch tail", "$ touch head", "touch tail", (), "tail", is_long=True),
    Case("run_command", "touch 'a\u200bb\tc'", "$ touch", "c'", ("<U+200B>", "␉"), "a\u200bb\tc"),
    Case("run_command", "touch 'd\re\x08f'", "$ touch", "f'", ("␍", "␈"), "d\re\x08f"),
    Case("run_command", f"true{' ' * 300}; touch far", "$ true", "touch far", ("<300spaces>",), "far"),
    Case("write_file", "pin\u200b = 1\nkey = 2 \n", "-pin", "+key = 2", ("+pin<U+200B>", "<1space>"), "pins", "pin\u200b = 1\nkey = 2 \n"),
)  # fmt: skip


def call_of(case: Case) -> Reply:
    if case.tool == "run_command":
        return calling((case.tool, {"command": case.text}))
    return calling((case.tool, {"path": case.made, "text": case.text}))


def above(chat: PtyChat) -> str:
    """Return the rows above the question on the screen and the question, without any blanks."""
    rows = chat.screen()
    last = max(number for number, row in enumerate(rows) if re.match("Run\\?|Apply\\?", row))
    start = max(
        (number for number, row in enumerate(rows[:last]) if row.startswith("You: go")), default=0
    )
    return re.sub(r"\s", "", "".join(rows[start:]))


def seen(chat: PtyChat, case: Case) -> Iterator[tuple[str, bool]]:
    """Yield what the screen shows of an act when its question stands."""
    shown = above(chat)
    yield "head", re.sub(r"\s", "", case.head) in shown
    yield "tail", re.sub(r"\s", "", case.tail) in shown
    yield "hidden", all(mark in shown for mark in case.hidden)
    yield "rows between", bool(re.search(r"…[\d,]+rows…", shown)) == case.is_long


def table(home: Path, cols: int, *options: str) -> list[tuple[str, dict[str, bool]]]:
    """Ask about all cases on a screen of 24 rows. Return what was seen of each, and whether exactly
    that ran.
    """
    rows = []
    project = home / "project"
    project.mkdir(parents=True)
    (project / "pins").write_text("pin = 1\nkey = 2\n")
    with Loopback() as server, chatting(home, server, rows=24, options=options) as chat:
        chat.resize(24, cols)
        for case in CASES:
            server.enqueue(call_of(case), Reply(chunks=("Done.",)))
            chat.mark()
            chat.line("go")
            chat.wait_for(QUESTION, PATIENCE, output=True)
            result = dict(seen(chat, case))
            chat.mark()
            chat.line("y")
            if case.is_long:
                chat.wait_for(SURE, PATIENCE, output=True)
                result["waits for the word"] = not (project / case.made).exists()
                chat.line("yes")
            at_prompt(chat)
            made = project / case.made
            result["that ran"] = made.exists() and made.read_bytes().decode() == case.content
            rows.append((f"{case.tool} {case.text[:12]!r}", result))
    return rows


@pytest.mark.parametrize(
    "cols", [80, pytest.param(40, marks=pytest.mark.slow), pytest.param(20, marks=pytest.mark.slow)]
)
def test_what_is_shown_is_what_runs(tmp_path: Path, cols: int) -> None:
    for name, result in table(tmp_path, cols):
        assert all(result.values()), (name, result)


@pytest.mark.slow
@pytest.mark.parametrize("cols", [80, 40, 20])
def test_what_is_shown_is_what_runs_in_plain_mode(tmp_path: Path, cols: int) -> None:
    for name, result in table(tmp_path, cols, "--plain"):
        assert all(result.values()), (name, result)


def test_a_question_about_a_long_act_is_no_place_for_a_message(
    tmp_path: Path, server: Loopback
) -> None:
    command = ("run_command", {"command": f"touch done; true{WORDS}"})
    server.enqueue(calling(command), Reply(chunks=("Denied.",)))
    with chatting(tmp_path, server, rows=24) as chat:
        chat.line("go")
        chat.wait_for(QUESTION, PATIENCE)
        chat.resize(30, 20)  # the act is drawn again for the new width
        chat.wait_for(re.compile(r"^… 2\d\d rows …\n(.*\n){3}Run\?", re.MULTILINE), PATIENCE)
        chat.resize(24, 80)
        chat.wait_for(re.compile(r"^… \d\d rows …\n(.*\n){3}Run\?", re.MULTILINE), PATIENCE)
        chat.mark()
        chat.line("v")
        again = re.compile(f"{QUESTION.pattern}.*{QUESTION.pattern}", re.DOTALL)
        chat.wait_for(again, PATIENCE, output=True)  # the answered one, and a new one
        assert "".join(chat.text().split()).count("".join(WORDS.split())) == 1, "all of it"
        chat.mark()
        chat.line("a")
        chat.wait_for(SURE, PATIENCE, output=True)
        chat.line("Next: The rate limiter")
        chat.wait_for(re.compile(r"Denied\..*You: Next: The rate limiter", re.DOTALL), PATIENCE)
        chat.mark()
        server.enqueue(Reply(chunks=("Next it is.",)))
        chat.line("")
        chat.wait_for("Next it is.", PATIENCE, output=True)
        at_prompt(chat)
    assert not (tmp_path / "project" / "done").exists()


@pytest.mark.slow
def test_a_message_at_a_question_of_plain_mode_waits_for_enter(
    tmp_path: Path, server: Loopback
) -> None:
    server.enqueue(calling(("run_command", {"command": "true"})), Reply(chunks=("Denied.",)))
    server.enqueue(Reply(chunks=("Next it is.",)))
    with chatting(tmp_path, server, options=["--plain"]) as chat:
        chat.line("go")
        chat.wait_for(QUESTION, PATIENCE)
        chat.line("Next: the limit")
        chat.wait_for("You: (Enter sends: Next: the limit)", PATIENCE)
        chat.line("")
        chat.wait_for("Next it is.", PATIENCE)
    assert server.requests[-1].texts[-1] == "Next: the limit"


def test_a_merge_asks_before_it_pays_for_summaries(tmp_path: Path, server: Loopback) -> None:
    server.enqueue(*(Reply(chunks=(f"{wood} it is.",)) for wood in ("Oak", "Pine", "Ash")))
    with chatting(tmp_path, server) as chat:
        for line in ("We take oak.", "No, pine.", "/fork 1", "We take ash."):
            chat.mark()
            chat.line(line)
            chat.wait_for(re.compile(r"it is\.[\s\S]*Time: |Go back"), PATIENCE, output=True)
            chat.wait_for(re.compile(r"You:.*context", re.DOTALL), PATIENCE)
        chat.line("/merge 1")
        chat.wait_for("Merge? [y]es [n]o", PATIENCE)
        screen = "\n".join(chat.screen())
        assert re.search(r"openai:gpt-test writes 2 summaries first, of about \d+ tokens\.", screen)
        chat.line("n")
        chat.wait_for("Not merged.", PATIENCE)
    assert len(server.requests) == 3
