"""Forks: a new session goes on from an earlier message, and later words stay with the parent."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.support.chats import Chats, Played, call, echoed, field

SHELVES = tuple(f"Shelf {number} holds {number}00 files." for number in range(1, 9))


def told(played: Played) -> tuple[str, tuple[str, ...]]:
    """Return the block of the first request, which has the pins, and the words that follow it."""
    request = played.requests[0]
    first, *others = request.messages
    words = first.rpartition("\n\n")[2]
    return request.block, (f"user: {words}", *others)


def test_a_fork_has_the_words_up_to_its_query(tmp_path: Path) -> None:
    with Chats(tmp_path) as chats:
        played = chats.play(
            *("One.", "Two.", "/pin Keep 1.", "Three.", "/pin Keep 2.", "/pin --remove 1"),
            *("/fork 2", "Four.", "/fork 9", "/fork 1.x", "/fork --at 1", "Five.", "/pin", "exit"),
        )
        parent, fork, second = chats.transcripts().values()
        went_on = chats.play("/resume session-1 --full --quick", "Six.", "/pin", "/fork", "exit")
        assert len(chats.transcripts()) == 4, "a fork without a word leaves no file"
        tree = chats.run("sessions", "tree", "session-1")
    *_, four, five = played.requests
    assert four.messages == (*echoed("One.", "Two."), "user: Four.")
    assert five.messages == (*echoed("One.", "Two.", "Four."), "user: Five.")
    block, six = told(went_on)
    assert "**Pinned:**\n- Keep 2.\n" in block
    assert six == (*echoed("One.", "Two.", "Three."), "user: Six.")
    assert played.acknowledgments == went_on.acknowledgments == ()

    saved, forked = played.after("/fork 2").splitlines()
    assert saved.startswith("💾 Saved session: session-1 (3 queries, ")
    assert forked == ("Forked after 1.2: 2 messages in the context. Go back: /resume session-1")
    assert "✗ No message 2.9: that session has 2.1.\n" in played.after("/fork 9")
    assert "✗ “1.x” names no message.\n" in played.after("/fork 1.x")
    assert played.after("/pin") == "1  Keep 1.", "the pins are those that held at that query"
    assert went_on.after("/pin") == "1  Keep 2."

    assert field(parent, "Total Queries") == "3"
    assert "<!-- chat:sealed at=DATE reason=resume summary=none queries=3 " in parent
    assert field(fork, "Resumed From") == "session-1"
    assert "; the words from 1.1 on; forked at 1.2)\n" in fork
    assert "**You:** One.\n" not in fork, "the parent has the words"
    assert field(second, "Resumed From") == "session-2"
    assert "; the words from 1.1 on; forked at 2.1)\n" in second
    assert [re.findall(r"session-\d", line) for line in tree.shown.splitlines()] == [
        [f"session-{number}"] for number in (1, 4, 2, 3)
    ]


def test_a_fork_without_a_chat(tmp_path: Path) -> None:
    with Chats(tmp_path) as chats:
        chats.play("One.", "/pin Keep 1.", "Two.", "/rename Shelves", "Three.", "exit")
        parent = chats.transcripts()["session-1"]
        forked = chats.run("sessions", "fork", "session-1", "--at", "2")
        files = chats.transcripts()
        went_on = chats.play("Four.", "/pin", "exit", options=("--resume", "session-2"))
        wrong = chats.run("sessions", "fork", "session-1", "--at", "9")
    assert (forked.code, forked.shown) == (0, "session-2\n")
    assert forked.errors.startswith("Forked after message 2 of session-1.")
    assert files["session-1"] == parent
    assert field(files["session-2"], "Name") == "Shelves"
    block, four = told(went_on)
    assert "**Pinned:**\n- Keep 1.\n" in block
    assert four == (*echoed("One.", "Two."), "user: Four.")
    assert went_on.after("/pin") == "1  Keep 1."
    assert (wrong.code, wrong.shown) == (2, "")
    assert "No message 1.9: that session has 1.1 to 1.3." in wrong.errors


def test_a_fork_of_a_compacted_session_has_its_block_and_the_words_behind_it(
    tmp_path: Path,
) -> None:
    with Chats(tmp_path) as chats:
        played = chats.play(
            *(*SHELVES, "/compact", "Nine.", "Ten.", "/fork 1", "Eleven."),
            *("/uncompact", "Twelve.", "exit"),
        )
    eleven, twelve = played.requests[-2:]
    assert "- Shelf 1 holds 100 files.\n" in eleven.block
    assert eleven.messages[0].endswith(f" from [1.7] on.\n\n{SHELVES[6]}")
    assert eleven.messages[1:] == (*echoed(*SHELVES[6:], "Nine.")[1:], "user: Eleven.")
    assert twelve.messages == (*echoed(*SHELVES, "Nine.", "Eleven."), "user: Twelve.")


@pytest.mark.slow
def test_a_fork_is_compacted_resumed_and_searched_without_the_words_after_it(
    tmp_path: Path,
) -> None:
    with Chats(tmp_path) as chats:
        chats.replies["Look."] = [call("session_archive_read", queries="1.1-1.9"), "Seen."]
        chats.replies["Search."] = [call("archive_search", query="lock 77"), "Seen."]
        played = chats.play(
            *("Our port is 8443.", "Our mast is 12 m.", "Our lock is 77.", "/fork 2", "Yes?"),
            *("/compact", "Look.", "Search.", "exit"),
        )
        chats.play("/resume session-1 --full", "Our key is 12.", "exit")
        resumed = chats.play("/resume session-3", "Search.", "exit")
    results = [line for asked in played.requests for line in asked.messages if "result: " in line]
    assert "[1.2] DATE\nUser: Our mast is 12 m.\n" in results[0]
    assert "Nothing in the archive matches that." in results[-1]
    for asked in (*played.asked[3:], *resumed.asked):
        assert "Our lock" not in asked.text
        assert "Our key" not in asked.text
    assert (
        "*User, session 1:*\n- Our port is 8443.\n- Our mast is 12 m.\n"
        in resumed.acknowledgments[0].block
    )
