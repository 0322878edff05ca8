"""--continue, --resume and automatic resuming: no request and no file before the first message."""

from __future__ import annotations

import re
import threading
from pathlib import Path

import pytest

from benchmarks.support.loopback import (
    PATIENCE_SECONDS,
    Loopback,
    Received,
    Reply,
    failing,
    talk,
)
from chat_loop.sessions.manager import SessionManager
from tests.support.headless import run
from tests.support.piped_chat import QUESTION, begun, chat, files, keys, session
from tests.support.started_chat import started


def current(home: Path) -> str:
    return SessionManager(home / "sessions").current()


@pytest.mark.parametrize("how", ["continue", "resume", "auto"])
def test_going_on_and_leaving_adds_nothing(tmp_path: Path, how: str) -> None:
    with Loopback() as server:
        identity = begun(tmp_path, server)
        before = files(tmp_path)
        options = {"continue": ("-c",), "resume": ("--resume", identity), "auto": ()}[how]
        if how == "auto":
            (tmp_path / "config.yaml").write_text("sessions: {auto_resume: true}\n")
        for _ in range(2):
            shown = chat(tmp_path, server, "exit", options=options)
            assert "✓ Found: Assistant" in shown
            assert "Restoring context..." in shown
            assert "Topics Discussed" in shown
            assert "- Our port is 8443." in shown
            assert "Conversation saved" not in shown
            assert "Goodbye!" in shown
            assert f"--resume {identity}" in shown
        assert server.requests == []
        assert files(tmp_path) == before
        assert current(tmp_path) == identity


def test_a_child_begins_with_its_first_query(tmp_path: Path) -> None:
    with Loopback() as server:
        parent = begun(tmp_path, server)
        chat(tmp_path, server, "Which port?", "exit", options=("-c",))
        [child] = set(files(tmp_path)) - {parent}
        assert len(server.requests) == 2  # the query, and the summary at the exit
        assert server.requests[0].texts[0].startswith("CONTEXT RESTORATION: ")
        assert server.requests[0].query.endswith("Which port?")
    made = session(tmp_path, child)
    assert (made.header.parent, made.depth, made.totals.queries) == (parent, 2, 1)
    assert made.totals.restoration.total == 0  # it cost no tokens, and none are counted
    assert current(tmp_path) == child


def test_one_question_that_goes_on_is_one_call(tmp_path: Path) -> None:
    with Loopback() as server:
        begun(tmp_path, server)
        result = run(
            tmp_path, "--model", "openai:test-model", "-c", "-p", "Which port?", keys=keys(server)
        )
        assert result.returncode == 0
        assert [request.query for request in server.requests] == ["Which port?"]
        assert "CONTEXT RESTORATION" not in server.requests[0].texts[0]  # the original messages fit


def test_a_typed_resume_asks_for_an_acknowledgment(tmp_path: Path) -> None:
    with Loopback() as server:
        parent = begun(tmp_path, server)
        shown = chat(tmp_path, server, "resume 1", "exit")
        [child] = set(files(tmp_path)) - {parent}
        assert len(server.requests) == 1
        assert "You said: CONTEXT RESTORATION" in shown
    assert session(tmp_path, child).totals.restoration.total > 0
    assert current(tmp_path) == child


def test_a_resume_whose_acknowledgment_fails_leaves_no_file(tmp_path: Path) -> None:
    with Loopback() as server:
        begun(tmp_path, server)
        before = files(tmp_path)
        server.handler = lambda request: failing(401)
        shown = chat(tmp_path, server, "resume 1", "exit")
        assert "The acknowledgment failed" in shown
        assert files(tmp_path) == before


def test_leaving_after_compact_names_the_session_that_was_saved(tmp_path: Path) -> None:
    (tmp_path / "config.yaml").write_text("restoration: {acknowledge: false}\n")
    with Loopback() as server:
        shown = chat(tmp_path, server, QUESTION, "/compact --force", "exit")
        [identity] = files(tmp_path)
        assert f"Saved session: {identity}" in shown
        assert shown.rstrip().endswith(f"--resume {identity}")
        assert current(tmp_path) == identity
        assert "- Our port is 8443." in chat(tmp_path, server, "exit", options=("-c",))


def test_uncompact_leaves_no_empty_children(tmp_path: Path) -> None:
    with Loopback() as server:
        chat(
            tmp_path,
            server,
            QUESTION,
            "Thanks.",
            "/compact --force",
            "/uncompact",
            "/uncompact",
            "exit",
        )
        sessions = [session(tmp_path, identity) for identity in files(tmp_path)]
        empty = [one for one in sessions if not one.exchanges]
        assert len(empty) == 1  # the child that contains the acknowledgment
        assert empty[0].totals.restoration.total > 0


def test_what_is_changed_by_hand_begins_the_child(tmp_path: Path) -> None:
    with Loopback() as server:
        parent = begun(tmp_path, server)
        chat(tmp_path, server, "/pin Never on Fridays.", "/rename Ports", "exit", options=("-c",))
        [child] = set(files(tmp_path)) - {parent}
        made = session(tmp_path, child)
        assert (made.pins, made.name, made.header.parent) == (
            ("Never on Fridays.",),
            "Ports",
            parent,
        )
        chat(tmp_path, server, "/rename Harbor", "exit", options=("--resume", parent))
        [renamed] = set(files(tmp_path)) - {parent, child}
        assert session(tmp_path, renamed).name == "Harbor"


def test_a_session_without_a_summary_is_gone_on_with_without_a_model(tmp_path: Path) -> None:
    with Loopback() as server:
        with started(
            tmp_path,
            "--model",
            "openai:test-model",
            OPENAI_API_KEY="k",
            OPENAI_BASE_URL=f"{server.url}/v1",
        ) as terminal:
            terminal.line(QUESTION)
            terminal.wait_for("Time: ")
            terminal.wait_for("context")
            terminal.close()  # killed
        [crashed] = files(tmp_path)
        before = files(tmp_path)
        server.requests.clear()
        shown = chat(tmp_path, server, "exit", options=("-c",))
        assert re.search(r"  \d+ tokens: 1 exchange\n", shown)  # no extract repeats it
        assert "  Last message: Our port is 8443.\n" in shown
        assert server.requests == []
        assert files(tmp_path) == before
        chat(tmp_path, server, "Which port?", options=("-c",))
        asked = server.requests[0]
        assert asked.texts[0] == QUESTION
        assert asked.query == "Which port?"
        server.requests.clear()
        chat(tmp_path, server, f"resume {crashed}", "exit")
        assert server.requests == []  # there is nothing to summarize or acknowledge


@pytest.mark.parametrize("how", ["-c", "resume 1"])
def test_a_resume_takes_keys_at_once_and_gets_its_summary_behind(tmp_path: Path, how: str) -> None:
    released = threading.Event()

    def answer(request: Received) -> Reply:
        if request.system.startswith("Task: session summary"):
            assert released.wait(PATIENCE_SECONDS)
        return talk(request)

    (tmp_path / "config.yaml").write_text("summary: {on_exit: later}\n")
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
            assert session(tmp_path, parent).seal.summary is None  # type: ignore[union-attr]
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
    seal = session(tmp_path, parent).seal
    assert seal is not None
    assert seal.source == "model"
    [child] = set(files(tmp_path)) - {parent}
    restoration = session(tmp_path, child).restoration
    assert restoration is not None
    assert restoration.block in sent


def test_the_block_is_shown_as_it_reads(tmp_path: Path) -> None:
    with Loopback() as server:
        begun(tmp_path, server)
        options = ("--model", "openai:test-model", "-c")
        with started(
            tmp_path,
            *options,
            until="Restoring context...",
            OPENAI_API_KEY="k",
            OPENAI_BASE_URL=f"{server.url}/v1",
        ) as terminal:
            terminal.wait_for("Our port is 8443.")
            terminal.wait_for("You: ")
            shown = terminal.text()
            assert "Topics Discussed:" in shown
            assert "• Our port is 8443." in shown or "- Our port is 8443." in shown
            assert "**" not in shown
            assert "<!--" not in shown
            terminal.line("exit")
            assert terminal.exit_code() == 0
        assert server.requests == []


def test_the_tree_of_a_child_that_has_not_begun_is_its_parents(tmp_path: Path) -> None:
    with Loopback() as server:
        begun(tmp_path, server)
        shown = chat(tmp_path, server, "/tree", "/fork 1", "Which port?", "exit", options=("-c",))
        assert "1 session, " in shown
        assert "Forked after query 1" in shown
        assert len(files(tmp_path)) == 2
        assert server.requests[0].texts[:1] == (QUESTION,)


def test_a_fork_without_a_word_leaves_no_file(tmp_path: Path) -> None:
    with Loopback() as server:
        chat(tmp_path, server, QUESTION, "Thanks.", "/fork 1", "exit")
        assert len(files(tmp_path)) == 1


def test_a_session_that_is_not_there_is_a_failure_where_nobody_can_choose_another(
    tmp_path: Path,
) -> None:
    result = run(tmp_path, "--model", "scripted:echo", "-r", "zzz")
    assert "No session named zzz." in result.stdout.decode()
    assert result.returncode == 1


def test_a_failed_question_is_not_what_is_gone_on_with(tmp_path: Path) -> None:
    with Loopback() as server:
        identity = begun(tmp_path, server)
        server.enqueue(failing(400))
        failed = run(tmp_path, "--model", "openai:test-model", "-p", "Why?", keys=keys(server))
        assert failed.returncode == 1
        assert f"--resume {identity}" in chat(tmp_path, server, "exit", options=("-c",))
