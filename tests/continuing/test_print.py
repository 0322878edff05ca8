"""`-c -p` and `-p --resume`: a script goes on with a conversation, one question at a time."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from benchmarks.support.loopback import failing
from tests.support.chats import ONE_WIRE_QUICK, Chats, Wire, echoed, field
from tests.support.index_tables import SEALED
from tests.support.session_folders import session, write


@pytest.mark.parametrize("wire", ONE_WIRE_QUICK)
def test_each_question_goes_on_in_a_session_of_its_own(tmp_path: Path, wire: Wire) -> None:
    with Chats(tmp_path, wire) as chats:
        model = ("--model", chats.model)
        first = chats.run(*model, "-p", "One.")
        parent = chats.transcripts()["session-1"]
        second = chats.run(*model, "-c", "-p", "Two.")
        third = chats.run(*model, "--resume", "session-2", "-p", "Three.")
        events = chats.run(*model, "--json", "--resume", "session-1", "-p", "Four.")
        files = chats.transcripts()
    for played, query in ((first, "One."), (second, "Two."), (third, "Three.")):
        assert (played.code, played.shown, played.errors) == (0, f"You said: {query}\n", "")
    assert [
        asked.messages for played in (first, second, third, events) for asked in played.asked
    ] == [
        ("user: One.",),
        (*echoed("One."), "user: Two."),
        (*echoed("One.", "Two."), "user: Three."),
        (*echoed("One."), "user: Four."),
    ]
    assert third.asked[0].roles == ("user", "assistant", "user", "assistant", "user")
    assert files["session-1"] == parent
    for name, before in (("session-2", "session-1"), ("session-3", "session-2")):
        assert field(files[name], "Resumed From") == before
        assert "\n*No summary*\n" in files[name]
    found, restoring, begun, *_, sealed = map(json.loads, events.shown.splitlines())
    assert (found["event"], found["id"], found["queries"]) == ("session_found", "session-1", 1)
    assert (found["model"], found["brought"], found["left_out"]) == (chats.model, "1 message", 0)
    assert restoring == {"event": "restoring", "parent": "session-1", "reason": "resume"}
    assert (begun["id"], begun["parent"]) == ("session-4", "session-1")
    assert (sealed["event"], sealed["summary"], sealed["saved"]) == ("session_sealed", "none", True)


def test_a_chat_and_a_question_go_on_from_each_other(tmp_path: Path) -> None:
    with Chats(tmp_path) as chats:
        model = ("--model", chats.model)
        chats.play("Our port is 8443.", "/compact", "Two.", "exit")
        asked = chats.run(*model, "-c", "-p", "Three.")
        chatted = chats.play("/resume last --full --quick", "Four.", "exit")
        listed = chats.run("sessions", "list")
    [request] = asked.requests
    assert "- Our port is 8443. [1 user]\n" in request.block
    assert request.messages[0].endswith(" from [2.1] on.\n\nTwo.")
    assert request.messages[1:] == ("assistant: You said: Two.", "user: Three.")
    assert chatted.requests[0].block == request.block
    assert chatted.requests[0].messages[1:] == (*echoed("Two.", "Three.")[1:], "user: Four.")
    assert len(listed.shown.splitlines()) == 1


def test_of_a_very_long_session_the_newest_words_come_back(tmp_path: Path) -> None:
    with Chats(tmp_path) as chats:
        text = "Shelf" + " word" * 50
        write(chats.home / "sessions", session("long", 2_500, text=text, seal=SEALED), 1)
        chats.window = 3_200
        chats.configure()
        played = chats.run("--model", chats.model, "--resume", "long", "-p", "Go on.")
    [request] = played.requests
    carried = [int(number) for number in re.findall(r"word \((\d+)\)", request.text)]
    assert carried == [*range(2_501 - len(carried), 2_501)]
    assert len(carried) > 5
    assert f"{2_500 - len(carried):,} exchanges would not fit" in played.errors
    assert "- Monads [1]" in request.block


def test_a_question_that_failed_is_not_gone_on_with(tmp_path: Path) -> None:
    with Chats(tmp_path) as chats:
        model = ("--model", chats.model)
        nothing = chats.run(*model, "-c", "-p", "And?")
        chats.play("One.", "exit")
        chats.server.enqueue(failing(400))
        failed = chats.run(*model, "-p", "Why?")
        went_on = chats.run(*model, "-c", "-p", "Two.")
        unknown = chats.run(*model, "--resume", "nope", "-p", "And?")
    assert (nothing.code, nothing.shown, nothing.asked) == (1, "", ())
    assert nothing.errors.startswith("There is no session to continue.")
    assert (failed.code, failed.shown) == (1, "")
    assert field(chats.transcripts()["session-3"], "Resumed From") == "session-1"
    assert went_on.requests[0].messages == (*echoed("One."), "user: Two.")
    assert (unknown.code, unknown.shown, unknown.asked) == (1, "", ())
    assert unknown.errors.startswith("No session named nope.")


def test_a_session_that_is_not_there_ends_the_chat_with_a_failure(tmp_path: Path) -> None:
    with Chats(tmp_path) as chats:
        played = chats.run("--model", chats.model, "-r", "zzz")
    assert "No session named zzz." in played.shown
    assert (played.code, played.asked) == (1, ())
