"""Continuing on a terminal, and children that begin without a message."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from benchmarks.support.loopback import PATIENCE_SECONDS, Loopback, Received, Reply, talk
from tests.support.headless import QUESTION, begun, chat, files, load
from tests.support.saved_sessions import last_id
from tests.support.terminal_chat import started


def test_leaving_after_compact_names_the_session_that_was_saved(tmp_path: Path) -> None:
    (tmp_path / "config.yaml").write_text("resume: {acknowledge: false}\n")
    with Loopback() as server:
        shown = chat(tmp_path, server, QUESTION, "/compact", "exit")
        [identity] = files(tmp_path)
        assert f"Saved session: {identity}" in shown
        assert shown.rstrip().endswith(f"--resume {identity}")
        assert last_id(tmp_path / "sessions") == identity
        assert "  You: Our port is 8443." in chat(tmp_path, server, "exit", options=("-c",))


@pytest.mark.slow
def test_what_is_changed_by_hand_begins_the_child(tmp_path: Path) -> None:
    with Loopback() as server:
        parent = begun(tmp_path, server)
        chat(tmp_path, server, "/pin Never on Fridays.", "/rename Ports", "exit", options=("-c",))
        [child] = set(files(tmp_path)) - {parent}
        made = load(tmp_path, child)
        assert (made.pins, made.name, made.header.parent) == (
            ("Never on Fridays.",),
            "Ports",
            parent,
        )
        chat(tmp_path, server, "/rename Harbor", "exit", options=("--resume", parent))
        [renamed] = set(files(tmp_path)) - {parent, child}
        assert load(tmp_path, renamed).name == "Harbor"


@pytest.mark.parametrize("how", ["-c", "resume 1"])
def test_a_resume_takes_keys_at_once_and_gets_its_summary_behind(tmp_path: Path, how: str) -> None:
    released = threading.Event()

    def answer(request: Received) -> Reply:
        if request.system.startswith("Task: session summary"):
            assert released.wait(PATIENCE_SECONDS)
        return talk(request)

    (tmp_path / "config.yaml").write_text(
        "auto_compact: {summary_on_exit: later}\nresume: {mode: summary}\n"
    )
    with Loopback(answer) as server:
        chat(tmp_path, server, QUESTION, *[f"Number {number}?" for number in range(5)], "exit")
        [parent] = files(tmp_path)
        server.requests.clear()
        options = ("--model", "openai:test-model", *([how] if how == "-c" else []))
        with started(
            tmp_path, *options, OPENAI_API_KEY="k", OPENAI_BASE_URL=f"{server.url}/v1"
        ) as terminal:
            if how != "-c":
                terminal.line(how)
            terminal.wait_for("The model writes the summary in the background.")
            terminal.wait_for("summary in progress")
            assert not released.is_set()
            terminal.send("Which port?")
            terminal.wait_for("Which port?")
            assert load(tmp_path, parent).seal.summary is None  # type: ignore[union-attr]
            released.set()
            terminal.wait_for("It replaces the extract.")
            terminal.send("\r")
            terminal.wait_for("You said: ")
            terminal.line("exit")
            terminal.wait_for("Conversation saved successfully!")
            assert terminal.exit_code() == 0
    assert [request.query[-11:] for request in server.requests[1:]] == ["Which port?"]
    sent = server.requests[1].texts[0]
    assert "- Our port is 8443." in sent
    seal = load(tmp_path, parent).seal
    assert seal is not None
    assert seal.source == "model"
    [child] = set(files(tmp_path)) - {parent}
    restoration = load(tmp_path, child).restoration
    assert restoration is not None
    assert restoration.block in sent
