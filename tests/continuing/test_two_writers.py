"""Two programs with one conversation: the second one branches, waits or only reads, and the words of
both stay in every list.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from benchmarks.support.loopback import Reply
from tests.support.chats import Chats, Played, echoed, field

OPEN = "session-1 is open in another process"


def test_whatever_the_way_a_session_that_is_open_is_branched(tmp_path: Path) -> None:
    inner: list[Played] = []
    with Chats(tmp_path) as chats:

        def go_on() -> None:
            folder = chats.home / "sessions"
            own = {*folder.glob("*.md")}
            branches: dict[Path, bytes] = {}

            def take_branch_away() -> None:
                for path in {*folder.glob("*.md")} - own - {*branches}:
                    branches[path] = path.read_bytes()
                    path.write_bytes(b"")  # its id stays taken

            for options, lines in (
                (("-c",), ()),
                (("-r", "session-1"), ()),
                ((), ("/resume session-1 --quick",)),
            ):
                inner.append(chats.play(*lines, "And?", "exit", options=options))
                take_branch_away()  # else it is the newest session of this project
            inner.append(chats.run("-m", chats.model, "-c", "-p", "And?"))
            for path, data in branches.items():
                path.write_bytes(data)

        played = chats.play("Our port is 8443.", go_on, "Our lock is 77.", "exit")
        listed = chats.run("sessions", "list", "--all")
        tree = chats.run("sessions", "tree", "session-1")
        found = chats.run("sessions", "search", "lock")
        children = [text for name, text in chats.transcripts().items() if name != "session-1"]
        shown = chats.run("sessions", "show", "session-1")
    told = "Continuing in a branch of it, after 1.1."
    for way in inner:
        assert f"{OPEN}. {told}" in " ".join((way.shown + way.errors).split())
        assert way.requests[-1].messages[-3:] == (*echoed("Our port is 8443."), "user: And?")
    assert played.code == 0
    assert len(children) == 4
    for child in children:
        assert field(child, "Resumed From") == "session-1"
        assert "; forked at 1.1)\n" in child
        assert "Our lock" not in child
    assert len(listed.shown.splitlines()) == 5
    assert re.search(r"Our port is 8443\..* 2 (queries|messages)", listed.shown)
    assert tree.shown.count("─● ") == 4
    assert "Our lock is 77." in found.shown
    assert "Our lock is 77." in shown.shown


def test_a_reply_that_is_still_being_written_belongs_to_the_first_writer(tmp_path: Path) -> None:
    inner: list[Played] = []
    with Chats(tmp_path) as chats, chats.terminal() as first:
        chats.replies["Long"] = Reply(chunks=("Half a", " sentence"), stall_after=2)
        first.wait_for("You:")
        first.line("Long, at once.")
        first.wait_for("Half a sentence")
        inner.append(chats.play("Who?", "exit", options=("-r", "session-1")))
        first.send("\x1b")
        first.wait_for("Interrupted")
        first.line("One.")
        first.wait_for("You said: One.")
        first.line("Long, again.")
        first.wait_for(re.compile("Half a sentence.*Half a sentence", re.DOTALL))
        inner.append(chats.play("Who?", "exit", options=("-r", "session-1")))
        first.send("\x1b")
        first.wait_for(re.compile("Interrupted.*Interrupted", re.DOTALL))
        first.line("exit")
        assert first.exit_code() == 0
    refused, branched = inner
    assert f"{OPEN}, and no reply has ended there yet." in refused.shown.replace("Session ", "")
    assert not any("at once" in asked.text for asked in refused.requests)
    sent = branched.requests[0].messages
    assert sent[-3:] == (*echoed("One."), "user: Who?")
    assert not any("again" in line for line in sent)
    assert "has no end" not in branched.shown


@pytest.mark.slow
def test_a_child_without_a_reply_yet_is_branched_as_it_began(tmp_path: Path) -> None:
    inner: list[Played] = []
    with Chats(tmp_path) as chats:
        chats.replies["Long"] = Reply(chunks=("Half a", " sentence"), stall_after=2)
        chats.play("One.", "exit")

        def go_on() -> None:
            inner.append(chats.play("Who?", "exit", options=("-r", "session-2")))

        with chats.terminal("-c") as first:
            first.wait_for("You: One.")
            first.line("Long, at once.")
            first.wait_for("Half a sentence")
            go_on()
            first.send("\x1b")
            first.wait_for("Interrupted")
            first.line("exit")
            assert first.exit_code() == 0
        _, _, branch = chats.transcripts().values()
        listed = chats.run("sessions", "list")
    [second] = inner
    told = "session-2 is open in another process. Continuing in a branch beside it, as it began."
    assert told in " ".join(second.shown.split())
    assert second.requests[0].messages == (*echoed("One."), "user: Who?")
    assert field(branch, "Resumed From") == "session-1"
    assert "; forked at 1.1)\n" in branch
    assert len(listed.shown.splitlines()) == 2


@pytest.mark.slow
def test_a_person_waits_reads_or_branches(tmp_path: Path) -> None:
    with Chats(tmp_path) as chats, chats.terminal() as first:
        first.wait_for("You:")
        first.line("Our port is 8443.")
        first.wait_for("You said: Our port")
        with chats.terminal("-c") as second:
            second.wait_for("[b]ranch")
            second.line("r")
            second.wait_for("Shown, not resumed.")
            assert "You said: Our port is 8443." in second.text()
            second.line("/resume session-1".replace("session-1", chats.path("session-1").stem))
            second.wait_for(re.compile(r"(\[b\]ranch.*){2}", re.DOTALL))
            second.line("")
            second.wait_for("Not resumed.")
            second.line(f"/resume {chats.path('session-1').stem} --quick")
            second.wait_for(re.compile(r"(\[b\]ranch.*){3}", re.DOTALL))
            second.line("w")
            second.wait_for("Waiting until it is closed there")
            first.line("Our lock is 77.")
            first.wait_for("You said: Our lock")
            first.line("exit")
            assert first.exit_code() == 0
            second.wait_for("Found:")
            second.line("Which lock?")
            second.wait_for("You said: Which lock?")
            second.line("exit")
            assert second.exit_code() == 0
        _, child = chats.transcripts().values()
    assert "forked at" not in child
    assert "Our lock is 77." in str(chats.server.requests[-2].body)


def test_a_session_that_is_open_elsewhere_stays_readable_in_the_middle_of_a_chain(
    tmp_path: Path,
) -> None:
    inner: list[Played] = []
    with Chats(tmp_path) as chats:

        def branch() -> None:
            inner.append(chats.play("And?", "exit", options=("-r", "session-1")))

        def go_on() -> None:
            inner.append(chats.play("Which?", "/show 1.2", "exit", options=("-r", "session-2")))

        chats.play("Our port is 8443.", branch, "Our lock is 77.", go_on, "exit")
    again = inner[1]
    words = echoed("Our port is 8443.", "And?")
    assert again.requests[0].messages == (*words, "user: Which?")
    assert again.after("/show 1.2").startswith("✗ 1.2 is not part of this conversation:")
