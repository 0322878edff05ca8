"""`/uncompact`: the words before a compaction are back in the context."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.chats import ONE_WIRE_QUICK, Chats, Wire

LONG = "word " * 700


@pytest.mark.parametrize("wire", ONE_WIRE_QUICK)
def test_the_words_come_back_in_their_order(tmp_path: Path, wire: Wire) -> None:
    with Chats(tmp_path, wire) as chats:
        chats.configure(resume={"acknowledge": False})
        played = chats.play(
            "Our port is 8443.", LONG, "compact", "/uncompact", "Which port?", "/context",
            "compact", "Which host?", "/uncompact", "And now?", "exit",
        )  # fmt: skip
        transcripts = chats.transcripts()
    first, second, back, block, all_back = played.requests
    assert first.messages == second.messages[:1]
    assert second.messages == back.messages[:3]
    assert back.messages[3].startswith("assistant: You said: word")
    assert back.messages[4:] == ("user: Which port?",)
    assert back.roles == ("user", "assistant", "user", "assistant", "user")
    assert len(block.messages) == 1
    # a second time, the words that were said meanwhile stay
    assert all_back.messages == (
        *back.messages,
        "assistant: You said: Which port?",
        "user: Which host?",
        "assistant: You said: Which host?",
        "user: And now?",
    )
    shown = played.after("/uncompact")
    assert shown.startswith("🔄 Restoring context...\nCompaction undone: ")
    assert shown.endswith(" tokens in the context.")
    assert played.acknowledgments == ()
    # a child in which nothing was said leaves no file
    assert list(transcripts) == ["session-1", "session-2", "session-3", "session-4"]
    assert "summary=model" in transcripts["session-1"]
    assert "**Resumed From:** [session-1](session-1.md)" in transcripts["session-2"]
    assert "**You:** Our port" not in transcripts["session-2"]


def test_what_was_not_compacted_has_nothing_to_bring_back(tmp_path: Path) -> None:
    with Chats(tmp_path) as chats:
        chats.configure(on_exit="later")
        played = chats.play("/uncompact", "Hi", "/uncompact", "So?", "exit")
        assert list(chats.transcripts()) == ["session-1"]
    assert played.shown.count("✗ This session was not compacted.") == 2
    assert played.requests[1].messages == ("user: Hi", "assistant: You said: Hi", "user: So?")


def test_an_automatic_compaction_is_undone_too(tmp_path: Path) -> None:
    with Chats(tmp_path, window=8_000) as chats:
        chats.configure(auto_compact={"use_ai_summary": False}, on_exit="later")
        lines = [f"{number} " + "word " * 400 for number in range(1, 14)]
        played = chats.play(*lines, "/uncompact", "And now?", "exit")
        transcripts = chats.transcripts()
    assert "📦 Compacted" not in played.after("And now?")
    assert played.requests[-1].messages[-3:-1] == (
        f"user: {lines[-1]}",
        "assistant: You said: 13 word word word word word word word word word word word wo",
    )
    assert not any("queries=0 " in text for text in transcripts.values())


def test_a_resume_in_which_nothing_was_said_yet_is_undone_to_the_words(tmp_path: Path) -> None:
    """It has no file: the child continues the session before it."""
    with Chats(tmp_path) as chats:
        chats.configure(on_exit="later", resume={"acknowledge": False})
        said = ("Our port is 8443.", LONG, "compact", "Which port?", "exit")
        chats.play(*said)
        played = chats.play("/uncompact", "And now?", "exit", options=("-r", "session-2"))
        transcripts = chats.transcripts()
    [request] = played.requests
    queries = [line for line in request.messages if line.startswith("user: ")]
    words = ("Our port is 8443.", LONG, "Which port?", "And now?")
    assert queries == [f"user: {query}" for query in words]
    assert list(transcripts) == ["session-1", "session-2", "session-3"]
    assert "**Resumed From:** [session-2](session-2.md)" in transcripts["session-3"]
