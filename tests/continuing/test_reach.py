"""Messages that are named by a reference: of the open session, and of those before it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.support.chats import Chats, Played, echoed


def sent(played: Played, query: str) -> tuple[str, ...]:
    """Return the messages of the request with a query."""
    [request] = [asked for asked in played.requests if asked.messages[-1] == f"user: {query}"]
    return request.messages


def test_what_was_undone_comes_back_until_something_new_is_said(tmp_path: Path) -> None:
    with Chats(tmp_path) as chats:
        played = chats.play(
            *("/redo", "One.", "Two.", "Three.", "/undo", "/undo", "/redo", "/redo", "/redo"),
            *("Four.", "/undo", "/undo", "Five.", "/redo", "/fork 4", "Six.", "exit"),
        )
        resumed = chats.play("Seven.", "exit", options=("--resume", "session-2", "-c")[:2])
        whole = chats.run("-m", chats.model, "--resume", "session-2", "-p", "Eight.")
    assert "✗ Nothing was undone." in played.shown
    told = re.findall(r"You: /redo\n(.*)", played.shown)
    assert told[1:4] == ["Back again: “Two.”", "Back again: “Three.”", "✗ Nothing was undone."]
    assert sent(played, "Four.") == (*echoed("One.", "Two.", "Three."), "user: Four.")
    assert sent(played, "Five.") == (*echoed("One.", "Two."), "user: Five.")
    assert told[4] == "✗ Something new was said since 1.3 was undone."
    assert "  /fork 1.3 goes on from it." in played.shown
    assert "Forked after 1.4: 3 messages in the context." in played.shown
    assert sent(played, "Six.") == (*echoed("One.", "Two.", "Four."), "user: Six.")
    assert resumed.code == whole.code == 0
    assert whole.requests[0].messages == (*echoed("One.", "Two.", "Four.", "Six."), "user: Eight.")


@pytest.mark.slow
def test_words_that_came_back_with_a_resume_are_undone_and_redone(tmp_path: Path) -> None:
    with Chats(tmp_path) as chats:
        chats.play("One.", "Two.", "Three.", "exit")
        chats.play("/resume session-1 --full --quick", "/undo", "/undo 1.2", "exit")
        again = chats.play("/resume 1 --full --quick", "/redo", "Four.", "exit")
        seen = chats.play("/resume last --full --quick", "Five.", "/history", "/redo", "exit")
        script = chats.run("-m", chats.model, "-c", "-p", "Six.")
        parent = chats.transcripts()["session-1"]
    assert sent(again, "Four.") == (*echoed("One.", "Two."), "user: Four.")
    assert "Back again: “Two.”" in again.shown
    assert sent(seen, "Five.") == (*echoed("One.", "Two.", "Four."), "user: Five.")
    assert "Three." not in seen.after("/history")
    assert seen.after("/redo").startswith("✗ Something new was said since 1.3 was undone.")
    assert script.requests[0].messages == (*echoed("One.", "Two.", "Four.", "Five."), "user: Six.")
    assert "Undone" not in parent


@pytest.mark.slow
def test_after_a_compaction_the_last_message_is_undone_and_comes_back(tmp_path: Path) -> None:
    with Chats(tmp_path) as chats:
        played = chats.play(*("One.", "Two.", "/compact", "/undo", "Three.", "exit"))
        other = chats.play(*("Ash.", "Oak.", "/compact", "/undo", "/redo", "Elm.", "exit"))
        script = chats.run("-m", chats.model, "-c", "-p", "Fir.")
    assert "Undone: “Two.” (/redo brings it back)" in played.shown
    assert sent(played, "Three.") == (*echoed("One."), "user: Three.")
    assert sent(other, "Elm.") == (*echoed("Ash.", "Oak."), "user: Elm.")
    assert script.requests[0].messages == (*echoed("Ash.", "Oak.", "Elm."), "user: Fir.")


def test_any_message_of_the_chain_is_reached_by_its_reference(tmp_path: Path) -> None:
    with Chats(tmp_path) as chats:
        chats.play("One.", "Two.", "Three.", "/compact", "Four.", "Five.", "exit")
        played = chats.play(
            *("/resume session-2", "/show 1.2", "/quote 1.3", "Six.", "/undo 1.2", "/fork 9.1"),
            *("/fork 2.7", "/rewind 1.x", "/rewind 2.1", "Seven.", "/retry 1.2", "/edit 1.1"),
            "exit",
        )
    assert "You said: Two." in played.after("/show 1.2")
    assert "1.3" in played.after("/quote 1.3")
    assert "> You: Three." in played.requests[0].text
    assert played.after("/undo 1.2").startswith("✗ 1.2 is only in a summary now.\n")
    assert played.after("/fork 9.1").startswith("✗ No message 9.1. The chain has 3 sessions.")
    assert played.after("/fork 2.7").startswith("✗ No message 2.7: that session has 2.1 to 2.2.")
    assert "✗ “1.x” names no message." in played.after("/rewind 1.x")
    [seven] = [asked for asked in played.requests if asked.messages[-1].endswith("Seven.")]
    assert seven.block, "before 2.1 there was the summary"
    assert "You said: Four." not in seven.text
    assert sent(played, "Two.") == (*echoed("One."), "user: Two.")
    assert "✗ There is no line to edit here." in played.after("/edit 1.1")


@pytest.mark.slow
def test_a_reference_after_a_merge_names_one_message(tmp_path: Path) -> None:
    with Chats(tmp_path) as chats:
        played = chats.play(
            *("One.", "Two.", "/fork 1", "Three.", "/merge session-1", "/show 1.2", "/show 2.1"),
            *("/show 3.1", "/show 4.1", "exit"),
        )
    shown = [played.after(f"/show {ref}") for ref in ("1.2", "2.1", "3.1", "4.1")]
    words = re.findall(r"You:\n(.*)", "\n".join(shown))
    assert sorted(words) == ["Three.", "Two."]
