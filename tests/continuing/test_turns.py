"""One message after another: what a failed, stopped or unreported one leaves for the next."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.support.loopback import Received, Reply, failing
from tests.support.chats import ONE_WIRE_QUICK, WIRES, Chats, Wire, call

REJECTED = failing(400, "invalid_request_error", "No.")
NOTE = "The model will not see this message again; /retry resends it.\n"


@pytest.mark.parametrize("wire", WIRES)
def test_a_message_that_failed_is_kept_with_a_mark_and_not_sent_again(
    tmp_path: Path, wire: Wire
) -> None:
    with Chats(tmp_path, wire) as chats:
        (chats.project / "notes.txt").write_text("poison")
        chats.configure(agent={"tools": ["read_file"]}, resume={"acknowledge": False})

        def next_replies(*replies: Reply) -> None:
            chats.server.enqueue(*replies)

        played = chats.play(
            "Hi",
            lambda: next_replies(REJECTED),
            "Bad one",
            "Good one",
            lambda: next_replies(failing(400, "content_filter", "No.", code="content_filter")),
            "Bad two",
            lambda: next_replies(Reply(chunks=("I can",), stop="refusal")),
            "Bad three",
            lambda: next_replies(Reply(stop="refusal")),
            "Bad four",
            lambda: next_replies(call("read_file", path="notes.txt"), REJECTED),
            "Bad five",
            "Good two",
            "/history",
            lambda: next_replies(REJECTED),
            "Bad six",
            "/retry",
            "/compact",
            "So?",
            "/uncompact",
            "And now?",
            "exit",
        )  # fmt: skip
        transcript = chats.transcripts()["session-1"]
    assert all(
        played.after(f"Bad {number}").endswith(NOTE.rstrip("\n")) for number in ("one", "five")
    )
    assert played.shown.count(NOTE.rstrip("\n")) == 6
    assert "You: Bad one (not sent again)\n" in played.after("/history")
    kept = [
        *("user: Hi", "assistant: You said: Hi", "user: Good one", "assistant: You said: Good one"),
        *("user: Good two", "assistant: You said: Good two"),
    ]
    by_query = {request.messages[-1]: request for request in played.requests}
    assert list(by_query["user: Good one"].messages) == kept[:3]
    assert list(by_query["user: Bad four"].messages) == [*kept[:4], "user: Bad four"]
    assert list(by_query["user: Good two"].messages) == kept[:5]
    assert [request.messages[-1] for request in played.requests].count("user: Bad six") == 2
    kept += ["user: Bad six", "assistant: You said: Bad six"]
    assert list(by_query["user: And now?"].messages[:8]) == kept
    [summary, *_] = played.summaries
    assert "Good two" in summary.text
    assert not any(f"Bad {number}" in summary.text for number in ("one", "two", "four", "five"))
    assert "poison" not in by_query["user: Good two"].text
    assert "**You:** Bad one\n" in transcript
    assert transcript.count(" failed=yes -->") == 6
    assert "Failed | Not sent again*\n" in transcript
    assert "I can" in transcript


@pytest.mark.parametrize("wire", ONE_WIRE_QUICK)
def test_a_reply_that_broke_off_goes_on_as_it_is(tmp_path: Path, wire: Wire) -> None:
    with Chats(tmp_path, wire) as chats:
        broken = Reply(chunks=("I will ", "tell"), cut_after=2)
        unreported = Reply(chunks=("one two three",), usage=None)
        thinking = Reply(thinking=("two and two",), chunks=("Four.",))
        played = chats.play(
            lambda: chats.server.enqueue(broken),
            "Tell me",
            lambda: chats.server.enqueue(failing(429, "rate_limit_error", retry_after="0")),
            "Go on",
            lambda: chats.server.enqueue(unreported),
            "Count",
            lambda: chats.server.enqueue(thinking),
            "2 + 2?",
            "Sure?",
            "exit",
        )  # fmt: skip
        transcript = chats.transcripts()["session-1"]
    assert played.requests[-1].messages == (
        "user: Tell me",
        "assistant: I will tell",
        "user: Go on",
        "assistant: You said: Go on",
        "user: Count",
        "assistant: one two three",
        "user: 2 + 2?",
        "assistant: Four.",
        "user: Sure?",
    )
    assert "| Failed*\n" in transcript
    assert "| Failed | Not sent" not in transcript
    assert "Trying again" in played.after("Go on")
    assert len(played.requests) == 6
    assert transcript.count("**Assistant:** You said: Go on") == 1
    assert "| Tokens: ~" in played.after("Count")
    assert " | Tokens: ~" in transcript
    assert "two and two" not in transcript


def test_a_reply_that_is_stopped_goes_on_as_it_is(tmp_path: Path) -> None:
    with Chats(tmp_path) as chats:
        chats.replies["Count"] = Reply(chunks=("One, ", "two"), stall_after=2)
        played = chats.play(chats.interrupt_at("One, two"), "Count", "Go on", "exit")
        [transcript] = chats.transcripts().values()
    assert "Interrupted" in played.after("Count")
    assert played.requests[1].messages == ("user: Count", "assistant: One, two", "user: Go on")
    assert "**Assistant:** One, two\n" in transcript
    assert "stop=interrupted" in transcript
    assert ") | Interrupted*\n" in transcript


def test_a_message_is_on_disk_before_its_request_leaves(tmp_path: Path) -> None:
    seen: list[str] = []
    with Chats(tmp_path) as chats:
        answer = chats.server.handler

        def served(request: Received) -> Reply:
            seen.append("".join(chats.transcripts().values()))
            return answer(request)

        chats.server.handler = served
        chats.configure(on_exit="later")
        chats.play("Our port is 8443.", "And the host?", "exit")
    first, second = seen
    assert "**You:** Our port is 8443.\n" in first
    assert "You said: Our port is 8443.\n" in second
    assert "**You:** And the host?\n" in second


def test_a_conversation_of_failed_messages_cannot_be_resumed(tmp_path: Path) -> None:
    with Chats(tmp_path) as chats:
        played = chats.play(lambda: chats.server.enqueue(REJECTED), "Bad one", "exit")
        assert [request.kind for request in played.asked] == ["reply"]
        played = chats.play("/resume session-1", "exit")
        assert "has no messages: it can't be resumed." in played.after("/resume session-1")
