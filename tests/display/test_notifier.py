"""The bell or notification after a long reply; none when nobody asked for it."""

from __future__ import annotations

import io
import re
import sys
from pathlib import Path

import pytest
from msgspec.structs import replace

from benchmarks.support.loopback import Loopback, Reply
from chat_loop.config import Config, NotifyConfig
from chat_loop.errors import Overloaded
from tests.support.quiet_options import QUIET
from tests.support.screens import Line, Screen, Terminal
from tests.support.scripted_chat import CALL_SECONDS, SUMMARY, Says, Step
from tests.support.terminal_chat import answered, chat, compatible, leave

BROKEN = Says(("I",), then=Overloaded("It is down.", "Try later."))
STOPPED = Says(("I",), then="silence")


def shown(folder: Path, step: Step, notify: NotifyConfig, out: io.StringIO | None = None) -> str:
    return Screen(
        folder,
        ["Hi"],
        step,
        options=QUIET,
        config=Config(notify=notify),
        out=out or Terminal(),
        agent="S\x07y",
    ).text


@pytest.mark.parametrize(
    ("step", "what"), [("Hello.", "S␇y has answered"), (BROKEN, "It is down.")]
)
def test_a_reply_that_took_long_is_told_and_so_is_a_failure(
    tmp_path: Path, step: Step, what: str
) -> None:
    assert shown(tmp_path / "a", step, NotifyConfig(after=CALL_SECONDS)).count("\x07") == 1
    told = shown(tmp_path / "b", step, NotifyConfig(after=1.0, how="osc9"))
    assert told.count(f"\x1b]9;chat-loop: {what}\x07") == told.count("\x07") == 1


def notices(screen: Screen) -> list[str]:
    return re.findall("\x1b]9;chat-loop: ([^\x07]*)\x07", screen.text)


def test_a_summary_that_took_long_is_told_and_what_is_asked_in_the_midst(tmp_path: Path) -> None:
    lines: list[Line] = ["Hi", "/info", "/compact --force", "more", "/compact --preview", "/pins"]
    steps: list[Step] = ["Hello.", SUMMARY, "Thanks.", "So.", SUMMARY, "Thanks."]
    config = Config(notify=NotifyConfig(after=1.0, how="osc9"))
    options = replace(QUIET, acknowledge=True)
    screen = Screen(
        tmp_path, lines, *steps, options=options, config=config, out=Terminal(), answers=["y"]
    )
    asked = ["a question waits", "compact is done"]
    assert notices(screen) == [
        "Sally has answered",
        "compact is done",
        "Sally has answered",
        *asked,
    ]


def test_a_command_that_was_stopped_is_not_told(tmp_path: Path) -> None:
    config = Config(notify=NotifyConfig(after=1.0, how="osc9"))
    stopped = Screen(
        tmp_path / "a",
        ["Hi", "/compact"],
        "Hello.",
        STOPPED,
        options=QUIET,
        config=config,
        out=Terminal(),
    )
    assert notices(stopped) == ["Sally has answered"]


@pytest.mark.skipif(sys.platform == "win32", reason="pseudo-terminals of POSIX")
@pytest.mark.parametrize(
    ("how", "told"), [("bell", "\x07"), ("osc9", "\x1b]9;chat-loop: Assistant has answered\x07")]
)
def test_in_a_terminal_only_what_took_long_is_told_and_nothing_of_it_is_kept(
    tmp_path: Path, how: str, told: str
) -> None:
    (tmp_path / "config.yaml").write_text(f"notify: {{after: 5, how: {how}}}\n")
    with Loopback() as server, chat(tmp_path, *compatible(server)) as terminal:
        assert "\x07" not in answered(terminal, "soon")
        server.enqueue(Reply(chunks=("Later.",), stall_after=0))
        terminal.mark()
        terminal.line("later")
        terminal.wait_for(re.compile(r"^Assistant … . [5-9] s · Esc to stop$", re.MULTILINE))
        assert "\x07" not in terminal.output()
        server.release()
        terminal.wait_for(re.compile(r"Time: \d.*\x07.*You:", re.DOTALL), output=True)
        assert terminal.output().count(told) == terminal.output().count("\x07") == 1
        server.enqueue(Reply(chunks=(SUMMARY,), stall_after=0))
        terminal.mark()
        terminal.line("/compact --force")
        terminal.wait_for(
            re.compile(r"Generating session summary\.\.\. . [5-9] s · Esc to stop$", re.MULTILINE)
        )
        server.release()
        terminal.wait_for(re.compile(r"\x07.*You:", re.DOTALL), output=True)
        assert (
            terminal.output().count(told.replace("Assistant has answered", "compact is done")) == 1
        )
        assert terminal.output().count("\x07") == 1
        leave(terminal)
    for path in (tmp_path / "sessions").glob("*.md"):
        kept = path.read_bytes()
        assert b"\x07" not in kept
        assert b"chat-loop: " not in kept


@pytest.mark.parametrize(
    ("step", "notify"),
    [
        ("Hello.", NotifyConfig()),
        ("Hello.", NotifyConfig(after=CALL_SECONDS + 1)),
        ("Hello.", NotifyConfig(after=1.0, how="off")),
        (STOPPED, NotifyConfig(after=-1.0)),
    ],
)
def test_nothing_is_told_otherwise(tmp_path: Path, step: Step, notify: NotifyConfig) -> None:
    text = shown(tmp_path, step, notify)
    assert "\x07" not in text
    assert "\x1b]" not in text


@pytest.mark.parametrize(
    "notify", [NotifyConfig(after=1.0, how="bell"), NotifyConfig(after=1.0, how="osc9")]
)
def test_a_pipe_hears_nothing(tmp_path: Path, notify: NotifyConfig) -> None:
    text = shown(tmp_path, "Hello.", notify, io.StringIO())
    assert "\x07" not in text
    assert "\x1b" not in text
