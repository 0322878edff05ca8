"""`compact`: what the model gets after it, what both files contain, and what is shown and paid."""

from __future__ import annotations

import re
from functools import partial
from pathlib import Path

import pytest

from benchmarks.support.loopback import Reply, failing
from tests.support.chats import (
    ACKNOWLEDGED,
    ONE_WIRE_QUICK,
    SUMMARY,
    WIRES,
    Chats,
    Step,
    Wire,
    call,
)

LONG = "word " * 700

BLOCK = """\
**Background Context:** Initial session.

**Current Session Summary:**
**Topics Discussed:**
- The test was talked about [1.1]

**Decisions Made:**
*none*

**Pending:**
*none*

**Pinned:**
- \\<!-- chat:end -->

**Key Facts:**
- Our port is 8443. [1 user]
"""

RESTORATION = f"""\
user: CONTEXT RESTORATION: You are continuing a previous conversation from DATE.

Previous session summary (Session ID: session-1, 2 queries, 1K tokens):

Previous session file: HOME/sessions/session-1.md

<!-- SESSION_SUMMARY_START -->
{BLOCK}<!-- SESSION_SUMMARY_END -->

The summary is for orientation. What is pinned, marked [2 user] or [2 reply], or below \
*User, session 2:* or *Model, session 2:* is word for word what \
the user or you said in the chain's second session; [2.14] is its query 14. If the summary does not \
contain the answer to a later question, search the archive when you have a tool for that; otherwise \
say that it does not.

Task: Review the above and provide a brief acknowledgment (2-6 sentences or bullets) that includes:
1. Main topics discussed
2. Key decisions made
3. Confirmation you're ready to continue

Keep your response concise."""


@pytest.mark.parametrize("wire", WIRES)
def test_the_words_give_way_to_a_block_that_the_model_confirms(tmp_path: Path, wire: Wire) -> None:
    with Chats(tmp_path, wire) as chats:
        played = chats.play(
            "Our port is 8443.",
            "/pin <!-- chat:end -->",
            LONG,
            "/compact",
            "Which port?",
            "And the host?",
            "exit",
        )
        parent, child = chats.transcripts().values()
    first, second, summary, acknowledgment, third, fourth, last_summary = played.asked

    assert first.messages == ("user: Our port is 8443.",)
    assert second.messages[:2] == (*first.messages, "assistant: You said: Our port is 8443.")
    assert acknowledgment.messages == (RESTORATION,)
    restored = (RESTORATION, f"assistant: {ACKNOWLEDGED}", "user: Which port?")
    assert third.messages == restored
    # each request begins with the one before it, so that a provider can cache it
    assert fourth.messages == (*restored, "assistant: You said: Which port?", "user: And the host?")
    assert fourth.roles == ("user", "assistant", "user", "assistant", "user")
    assert len({asked.system for asked in (first, second, acknowledgment, third, fourth)}) == 1
    assert second.tools == (), "nothing is missing in the context yet"
    reading = ("session_archive_read", "archive_search")
    assert acknowledgment.tools == third.tools == fourth.tools == reading

    # no words pass through a model twice
    assert [asked.kind for asked in (summary, last_summary)] == ["summary", "summary"]
    assert "[1.1] User: Our port is 8443.\n[1.1] Assistant: You said: Our" in summary.text
    assert "[2.1] User: Which port?" in last_summary.text
    assert "Our port is 8443." not in last_summary.text
    assert "<!-- chat:end -->" not in last_summary.text

    shown = played.after("/compact")
    assert shown.startswith(
        "📝 Generating session summary... ✓\n"
        "💾 Saved session: session-1 (2 queries, 1K tokens)\n"
        "📦 Compacted "
    )
    assert shown.endswith(
        " tokens · 1 pin, 1 fact kept.\n"
        "🔄 Starting new session with summary...\n"
        f"Assistant: {ACKNOWLEDGED}\n"
        f"{acknowledgment.cost}\n"
    )
    restoration, session = acknowledgment.usage.total, third.usage.total + fourth.usage.total
    left = played.after("exit")
    assert "  Session ID: session-2\n  Queries: 2\n" in left
    assert f"  Tokens: {session:,} (in: " in left
    assert f"  Restoration: {restoration:,} (in: {acknowledgment.usage.input}, out: 6)\n" in left
    assert f"  Combined Total: {restoration + session:,}\n" in left
    assert f"--model {chats.model} --resume session-2\n" in left

    assert "**Total Queries:** 2" in parent
    assert f"**Session Tokens:** {first.usage.total + second.usage.total:,} (in: " in parent
    assert BLOCK.partition("\n**Topics")[2] + "<!-- SESSION_SUMMARY_END -->" in parent
    assert "<!-- chat:compaction first=1.1 last=1.2 before=" in parent
    assert f" why=asked model={chats.model} pins=1 facts=1 -->\n" in parent
    assert f"{summary.cost}*\n<!-- chat:sealed at=DATE reason=compact summary=model " in parent
    assert " id=session-2 created=DATE parent=session-1 -->" in child.partition("\n")[0]
    assert "**Resumed From:** [session-1](session-1.md)" in child
    assert "**Previous Session:** HOME/sessions/session-1.md" in child
    assert (
        f"**Restoration Tokens:** {restoration:,} (in: {acknowledgment.usage.input}, out: 6)"
        in child
    )
    assert f"**Combined Total:** {restoration + session:,}" in child
    assert f"<details><summary>Restored context</summary>\n\n{BLOCK}\n</details>" in child
    assert f"<!-- chat:acknowledgment at=DATE -->\n**Assistant:** {ACKNOWLEDGED}\n" in child
    assert "**You:** Our port" not in child
    assert "**Pinned:**\n- \\<!-- chat:end -->\n" in child.rpartition("SUMMARY_START")[2]
    assert "reason=exit summary=model queries=2 " in child


@pytest.mark.parametrize("wire", ONE_WIRE_QUICK)
def test_the_newest_short_exchanges_stay_with_their_words(tmp_path: Path, wire: Wire) -> None:
    with Chats(tmp_path, wire) as chats:
        chats.configure(resume={"acknowledge": False})
        chats.replies["What is new"] = "Nothing, but the tide of 14:20."
        played = chats.play(
            LONG, "The hull is oak.", "The paint is red.", "What is new?", "/compact --focus the colors",
            "And then?", "/compact", "So?", "exit",
        )  # fmt: skip
        transcripts = chats.transcripts()
    after, again = played.requests[4:]
    assert after.messages[0].startswith("user: CONTEXT RESTORATION")
    assert after.messages[0].endswith("\n\nWhat is new?")
    assert after.messages[1:] == ("assistant: Nothing, but the tide of 14:20.", "user: And then?")
    assert "*User, session 1:*\n- The hull is oak.\n- The paint is red.\n" in after.block
    assert "14:20" not in after.block
    summary, next_summary, _ = played.summaries
    assert summary.text.endswith("The user asks to keep above all: the colors")
    assert "[1.3] User: The paint is red." in summary.text
    assert "What is new?" not in summary.text
    # what was carried is summarized when it leaves the context, and not before
    assert "[1.4] User: What is new?" in next_summary.text
    assert "The paint is red." not in next_summary.text
    assert len(again.messages) == 1
    assert "*Model, session 1:*\n- Nothing, but the tide of 14:20.\n" in again.block
    assert played.acknowledgments == ()
    assert list(transcripts) == ["session-1", "session-2", "session-3"]
    assert " covers=3 " in transcripts["session-1"]
    assert "since=1.4 fresh=1.4" in transcripts["session-2"]


@pytest.mark.parametrize("wire", ONE_WIRE_QUICK)
def test_an_exchange_that_stays_keeps_its_calls_and_results(tmp_path: Path, wire: Wire) -> None:
    with Chats(tmp_path, wire) as chats:
        _look_it_up(chats)
        played = chats.play(LONG, "Two.", "Three.", "read the notes", "/compact", "So?", "exit")
    last = played.requests[-1]
    assert last.messages[0].endswith("read the notes")
    assert last.messages[1:] == (
        'call: read_file {"path": "notes.txt"}',
        "result: The port is 5150.\n",
        "assistant: I read them.",
        "user: So?",
    )


@pytest.mark.slow
def test_files_and_tools_are_listed_by_what_really_happened(tmp_path: Path) -> None:
    with Chats(tmp_path) as chats:
        _look_it_up(chats)
        chats.replies["set the port"] = [
            call("write_file", path="src/a.py", text="PORT = 8443\n"),
            call("edit_file", path="src/a.py", old="8443", new="5544"),
            call("edit_file", path="none.py", old="a", new="b"),
            "It is 5544.",
        ]
        chats.run("--model", chats.model, "--yes", "-p", "Please set the port.")
        played = chats.play(
            *("read the notes", LONG, "/compact", "Go on.", "read the notes"),
            *("/compact", "And?", "exit"),
            options=("--resume", "session-1"),
        )
    first, second = played.requests[-4].block, played.requests[-1].block
    assert "**Files Touched:**\n- src/a.py\n" in first
    assert "- edit_file: 1 use (src/a.py 8443 5544), 1 failed (none.py a b)\n" in first
    assert "- read_file: 1 use (notes.txt)\n" in first
    assert "- read_file: 2 uses (notes.txt)\n" in second
    assert "**Files Touched:**\n- src/a.py\n" in second
    assert (chats.project / "src" / "a.py").read_text() == "PORT = 5544\n"


BAD = {
    "refused the key (401)": failing(401, "authentication_error"),
    "The model returned nothing.": " \n",
    "The model didn't follow the summary format.": "I cannot do that.",
    "The summary was cut off at the token limit.": Reply(chunks=(SUMMARY,), stop="length"),
    "The model refused to write it.": Reply(chunks=(SUMMARY,), stop="refusal"),
}


@pytest.mark.slow
@pytest.mark.parametrize("wire", ONE_WIRE_QUICK)
def test_a_summary_that_fails_is_made_without_the_model(tmp_path: Path, wire: Wire) -> None:
    with Chats(tmp_path, wire) as chats:
        chats.configure(resume={"acknowledge": False})
        lines: list[Step] = []
        for number, answer in enumerate(BAD.values()):
            lines += [
                f"My boat {number} is 9.{number} m long.",
                LONG,
                partial(setattr, chats, "summary", answer),
                f"/compact {number}",
                f"Still there, {number}?",
                "/new",
            ]
        played = chats.play(*lines, "exit")
    for number, problem in enumerate(BAD):
        shown = " ".join(played.after(f"/compact {number}").split())
        assert f"{problem.rstrip('.')}" in shown
        assert "It is made without the model. 💾 Saved session" in shown
        assert "1 fact kept · without a model." in shown
        [after] = [asked for asked in played.requests if f"Still there, {number}?" in asked.text]
        assert f"- My boat {number} is 9.{number} m long. [1 user]\n" in after.block


def test_what_is_typed_is_done_also_where_it_gains_nothing(tmp_path: Path) -> None:
    with Chats(tmp_path) as chats:
        chats.configure(resume={"acknowledge": False})
        played = chats.play(
            *("compact", "Hi", "compact", "compact", "/compact --what", "So?"),
            *("/compact --force boats", "Well?", "/summarize", "exit"),
        )
        transcripts = chats.transcripts()
    assert "nothing to compact" in played.after("compact")
    sizes = r"📦 Compacted \d+ → \d+ tokens\. The context became larger; /uncompact goes back\."
    assert len(re.findall(sizes, played.shown)) == 1, "the second one makes it smaller"
    assert "?" not in played.after("/compact --force boats")
    assert "--what" in played.after("/compact --what")
    assert [asked.kind for asked in played.asked] == ["reply", "summary"] * 3
    assert played.summaries[1].text.endswith("The user asks to keep above all: boats")
    assert played.requests[1].messages[0].endswith("\n\nSo?")
    assert list(transcripts) == ["session-1", "session-2", "session-3"]


def _look_it_up(chats: Chats) -> None:
    """Let the model read a file when the user says so."""
    chats.configure(
        agent={"tools": ["read_file", "write_file", "edit_file"]}, resume={"acknowledge": False}
    )
    (chats.project / "notes.txt").write_text("The port is 5150.\n")
    chats.replies["read the notes"] = [call("read_file", path="notes.txt"), "I read them."]
