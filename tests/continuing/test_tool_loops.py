"""Turns that call tools: they stay in the window, and what the tools returned is not lost."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.support.chats import ONE_WIRE_QUICK, Answer, Asked, Chats, Wire, call

STEPS = 10
LONG = "We talk about the harbor, its cranes and its tides at some length. " * 25


def harbor(chats: Chats, lines: int = 190) -> None:
    """Let the model read files of about `lines` times nine tokens, one in each of ten steps."""
    tools = {"tools": ["read_file"]}
    chats.configure(agent=tools, resume={"acknowledge": False}, tools={"max_steps": STEPS + 2})
    steps: list[Answer] = []
    for number in range(STEPS):
        name = f"log{number}.txt"
        text = "".join(f"Log {number}, line {line}: a ship came.\n" for line in range(lines))
        (chats.project / name).write_text(text)
        steps.append(call("read_file", path=name))
    chats.replies["read all"] = [*steps, "I read all ten."]


def results(request: Asked) -> list[str]:
    return [line for line in request.messages if line.startswith("result: ")]


@pytest.mark.parametrize("wire", ONE_WIRE_QUICK)
def test_a_loop_that_reads_more_than_the_window_holds_comes_to_its_end(
    tmp_path: Path, wire: Wire
) -> None:
    with Chats(tmp_path, wire, window=16_000) as chats:
        harbor(chats)
        chats.served_window = 16_000
        chats.replies["Which ship?"] = [
            call("session_archive_read", queries="1.1"),
            "The one of line 7.",
        ]
        played = chats.play("read all", "Which ship?", "exit")
        transcript = "".join(chats.transcripts().values())
    assert "Assistant: I read all ten." in played.shown
    assert "too long" not in played.shown
    assert max(request.usage.input for request in played.requests) <= 16_000
    loop = played.requests[: STEPS + 1]
    assert [len(results(request)) for request in loop] == list(range(STEPS + 1))
    for number, request in enumerate(loop[1:]):
        newest = results(request)[-1]
        assert f"Log {number}, line 189" in newest
        assert "left out" not in newest, "the model has not seen the newest result yet"
    first = results(loop[-1])[0]
    assert re.search(r'characters left out: session_archive_read reads them, as "1\.1" …\]', first)
    assert "Log 0, line 1:" in first
    assert "Log 0, line 120:" not in first

    # the file has all of it, each call ran once, and the model can read what was left out
    assert transcript.count("<!-- chat:call ") == STEPS + 1
    assert "Log 0, line 120:" in transcript
    assert "<!-- chat:shortened " in transcript
    assert "session_archive_read" in loop[-1].tools
    assert "session_archive_read" not in loop[0].tools
    assert "Log 0, line " in results(played.requests[-1])[-1]


@pytest.mark.parametrize("wire", ONE_WIRE_QUICK)
def test_after_a_refusal_in_a_loop_nothing_runs_twice(tmp_path: Path, wire: Wire) -> None:
    """The server's window is smaller than the program thinks."""
    with Chats(tmp_path, wire, window=64_000) as chats:
        harbor(chats)
        chats.served_window = 16_000
        played = chats.play("read all", "exit")
        transcript = "".join(chats.transcripts().values())
    assert "Assistant: I read all ten." in played.shown
    assert transcript.count("<!-- chat:call ") == STEPS
    assert all(f"Log {number}, line 189" in transcript for number in range(STEPS))


@pytest.mark.slow
@pytest.mark.parametrize("wire", ONE_WIRE_QUICK)
def test_older_messages_give_way_to_a_loop_and_the_turn_is_carried_whole(
    tmp_path: Path, wire: Wire
) -> None:
    with Chats(tmp_path, wire, window=16_000) as chats:
        harbor(chats, lines=700)
        chats.served_window = 16_000
        chats.replies["read all"] = [*chats.replies["read all"][:2], "I read two."]  # type: ignore[index]
        talk = [f"{number} {LONG}" for number in range(1, 27)]
        played = chats.play(*talk, "read all", "And now?", "exit")
        parent, child = list(chats.transcripts().values())[-2:]
    assert "Assistant: I read two." in played.shown
    assert "too long" not in played.shown
    *_, step, after = played.requests
    assert "user: read all" in step.messages
    assert step.text.startswith("user: CONTEXT RESTORATION")
    assert len(results(after)) == 2
    assert "I read two." in after.text
    assert "📦 Compacted" in played.after("read all")
    assert "<!-- chat:sealed at=DATE reason=compact" in parent
    assert "read all" not in child.partition("**You:**")[2]


@pytest.mark.slow
@pytest.mark.parametrize("way", ["/fork", "/resume session-1 --full", "/resume session-1 --last 1"])
def test_results_are_shortened_before_an_exchange_is_left_out(tmp_path: Path, way: str) -> None:
    with Chats(tmp_path, window=32_000) as chats:
        harbor(chats, lines=150)
        chats.play("read all", "exit")
        chats.configure(
            models={"test-model": {"window": 9_000}},
            agent={"tools": ["read_file"]},
            resume={"acknowledge": False},
        )
        lines = ["/resume session-1 --full", way] if way == "/fork" else [way]
        played = chats.play(*lines, "And now?", "exit")
    assert played.requests, played.shown + played.errors
    assert played.requests, played.shown
    request = played.requests[-1]
    assert len(results(request)) == STEPS
    assert "characters left out: session_archive_read reads them" in request.text
    assert "assistant: I read all ten." in request.messages
    assert request.usage.input <= 9_000
