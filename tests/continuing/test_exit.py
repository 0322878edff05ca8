"""The end of a chat: its summary, what it costs, and what the file and the next run get of it.

A summary that is prepared while nobody types, and Ctrl-C, need a terminal or a minute: they are in
tests/conversation/test_leaving.py and tests/terminal/test_interrupts.py.
"""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from benchmarks.support.loopback import Received, Reply, failing
from tests.support.chats import ONE_WIRE_QUICK, SUMMARY, WIRES, Chats, Played, Wire

LONG = "word " * 5_000
SUMMED = """\
<!-- SESSION_SUMMARY_START -->
**Background Context:** Initial session.

**Current Session Summary:**

**Topics Discussed:**
- The test was talked about [1.1]

**Decisions Made:**
*none*

**Pending:**
*none*

**Key Facts:**
- Our port is 8443. [1 user]
<!-- SESSION_SUMMARY_END -->

*Summary | {cost}*
<!-- chat:sealed at=DATE reason=exit summary=model queries=2 tokens={tokens} block=DIGEST time=TIME in={read} out=45 -->
"""


@pytest.mark.parametrize("wire", WIRES)
def test_an_exit_adds_a_summary(tmp_path: Path, wire: Wire) -> None:
    with Chats(tmp_path, wire) as chats:
        played = chats.play("Our port is 8443.", "And the host?", "exit")
        [transcript] = chats.transcripts().values()
    first, second, summary = played.asked
    assert (played.code, played.errors, summary.kind) == (0, "", "summary")
    assert summary.roles == ("user",)
    assert summary.tools == ()
    assert "[1.1] User: Our port is 8443.\n[1.1] Assistant: You said: Our" in summary.text
    assert summary.text.endswith("**Decisions Made:**\n- ...\n\n**Pending:**\n- ...")
    tokens = first.usage.total + second.usage.total
    assert played.after("exit") == (
        "📝 Generating session summary... ✓\n"
        "Goodbye!\n"
        "✓ Conversation saved successfully!\n"
        "  Session ID: session-1\n"
        "  Queries: 2\n"
        f"  Tokens: {tokens} (in: {first.usage.input + second.usage.input}, out: 13)\n"
        f"  Resume with: chat-loop --model {chats.model} --resume session-1\n"
    )
    assert transcript.endswith(
        SUMMED.format(cost=summary.cost, tokens=tokens, read=summary.usage.input)
    )
    assert "\n# The test was talked about\n" in transcript


def test_an_exit_asks_for_no_summary_of_carried_words_alone(tmp_path: Path) -> None:
    with Chats(tmp_path) as chats:
        chats.configure(on_exit="later")
        chats.play("Our port is 8443.", "exit")
        chats.configure(on_exit="wait")
        looked = chats.play("resume 1", "exit")
        went_on = chats.play("resume 1", "And the host?", "exit")
    assert looked.summaries == ()
    [summary] = went_on.summaries
    assert "Our port is 8443." in summary.text


def test_what_leaves_no_file_and_what_is_left_without_a_request(tmp_path: Path) -> None:
    with Chats(tmp_path) as chats:
        played = chats.play("exit")
        assert chats.transcripts() == {}
        assert "saved" not in played.shown
        played = chats.play("/pin Bob is 41", "exit")
        assert played.asked == ()
        assert (
            "**Pinned:**\n- Bob is 41\n<!-- SESSION_SUMMARY_END -->"
            in chats.transcripts()["session-1"]
        )
        # a session that is left for a fresh one gets no summary, and nothing is carried over
        played = chats.play("I am Al.", "/pin Al is 42", "/new", "Who am I?", "/pin", "exit")
        [_, last] = played.requests
        assert last.messages == ("user: Who am I?",)
        assert "[1.1] User: Who am I?" in played.summaries[0].text
        assert "Al is 42" not in played.after("/pin")
        assert "reason=clear summary=none queries=1" in chats.transcripts()["session-2"]
        chats.configure(on_exit="later")
        played = chats.play("Our port is 8443.", "exit")
        assert [asked.kind for asked in played.asked] == ["reply"]
        [*_, transcript] = chats.transcripts().values()
        assert transcript.endswith(
            "\n---\n\n*No summary*\n"
            "<!-- chat:sealed at=DATE reason=exit summary=none queries=1 tokens=53 -->\n"
        )


@pytest.mark.parametrize("wire", ONE_WIRE_QUICK)
def test_a_summary_that_fails_costs_no_word(tmp_path: Path, wire: Wire) -> None:
    with Chats(tmp_path, wire) as chats:
        chats.summary = "I cannot do that."
        played = chats.play("Our port is 8443.", "exit")
        [transcript] = chats.transcripts().values()
        shown = " ".join(played.after("exit").split())
        assert "📝 Generating session summary..." in shown
        assert "The model didn't follow the summary format. Trying again (2/2); Ctrl-C" in shown
        assert "A resume brings back all words. Goodbye! ✓ Conversation saved" in shown
        assert (played.code, len(played.summaries)) == (0, 2)
        said = played.requests[0].usage.total
        paid = sum(summary.usage.input for summary in played.summaries)
        assert f"summary=none queries=1 tokens={said} time=TIME in={paid} out=10 -->" in transcript

        played = chats.play("Which port?", "exit", options=("--resume", "session-1"))
        assert played.requests[0].messages == (
            "user: Our port is 8443.",
            "assistant: You said: Our port is 8443.",
            "user: Which port?",
        )


@pytest.mark.slow
def test_a_long_summary_is_left_to_another_process_and_a_resume_does_not_wait(
    tmp_path: Path,
) -> None:
    with Chats(tmp_path) as chats:
        chats.configure(on_exit="")
        chats.summary = Reply(chunks=(SUMMARY,), stall_after=0)
        played = chats.play(LONG, "exit")
        assert "📝 Summary continues in the background.\nGoodbye!" in played.after("exit")
        chats.server.stalled(1)
        assert "reason=exit summary=none " in chats.transcripts()["session-1"]
        chats.configure(on_exit="later")
        played = chats.play("resume 1", "So?", "exit")
        assert "⚠️  The summary of session-1 is still being made." in played.after("resume 1")
        assert played.requests[0].messages[0] == f"user: {LONG}"
        assert played.summaries == ()
        chats.server.release()
        while "summary=model " not in (text := chats.transcripts()["session-1"]):
            time.sleep(0.05)  # another process writes it
        assert "- The test was talked about [1.1]\n" in text
        assert text.count("<!-- SESSION_SUMMARY_START -->") == 1


@pytest.mark.slow
def test_the_process_that_an_exit_starts_adds_a_missing_summary_once(tmp_path: Path) -> None:
    with Chats(tmp_path) as chats:
        chats.configure(on_exit="later")
        chats.play("Our port is 8443.", "exit")
        path = chats.path("session-1")
        bare = path.read_text()

        def late() -> Played:
            return chats.run("--model", chats.model, "sessions", "compact", "session-1", "--late")

        chats.summary = failing(401, "authentication_error")
        failed = late()
        assert (failed.code, path.read_text()) == (1, bare)
        chats.summary = SUMMARY
        made, again = late(), late()
        assert [run.code for run in (made, again)] == [0, 0]
        assert [len(run.summaries) for run in (made, again)] == [1, 0]
        whole = path.read_text()
        assert "- The test was talked about [1.1]\n" in whole
        assert "- Our port is 8443. [1 user]\n" in whole
        words = bare[bare.index("<!-- chat:query") : bare.index("*No summary*")]
        assert words in whole

        # a summary that came meanwhile stays
        path.write_text(bare)
        by_hand = whole.replace("The test was talked about", "I wrote this")
        answer = chats.server.handler

        def meanwhile(request: Received) -> Reply:
            path.write_text(by_hand)
            return answer(request)

        chats.server.handler = meanwhile
        assert late().code == 1
        assert path.read_text() == by_hand
