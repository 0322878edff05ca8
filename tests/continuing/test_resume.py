"""Resuming: what the model gets back, what is shown and asked, and what the files say."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from benchmarks.support.loopback import Reply, failing
from tests.support.chats import (
    ACKNOWLEDGED,
    ONE_WIRE_QUICK,
    WIRES,
    Answer,
    Chats,
    Wire,
    echoed,
    field,
)

GOLDEN = Path(__file__).parents[1] / "golden" / "plain"
SEA = "It is a calm day by the sea. " * 160
RESTORED = "user: CONTEXT RESTORATION: You are continuing a previous conversation from DATE.\n"
SHELVES = tuple(f"Shelf {number} holds {number}00 files." for number in range(1, 8))
START, END = "<!-- SESSION_SUMMARY_START -->\n", "<!-- SESSION_SUMMARY_END -->"


def small(folder: Path, wire: Wire = "openai") -> Chats:
    """Return chats with a window of which a long reply takes more than a quarter."""
    return Chats(folder, wire, window=4_000)


def tell(chats: Chats, *lines: str) -> None:
    """Make a session that is resumed from its summary, because its words are too long."""
    chats.replies["Our port"] = SEA
    chats.play("Our port is 8443.", *lines, "exit")
    chats.replies.clear()


def found(text: str) -> list[str]:
    """Return what is shown while a session is resumed, up to the restored context."""
    lines = text.splitlines()
    assert lines[0] == "📋 Loading session..."
    return lines[1 : lines.index("🔄 Restoring context...")]


def with_block(transcript: Path, block: str) -> None:
    """Replace the summary in a transcript, as in an editor."""
    before, _, rest = transcript.read_text().partition(START)
    transcript.write_text(before + START + block + END + rest.partition(END)[2])


@pytest.mark.parametrize("wire", WIRES)
def test_a_typed_resume_restores_the_summary_and_has_it_acknowledged(
    tmp_path: Path, wire: Wire
) -> None:
    with small(tmp_path, wire) as chats:
        tell(chats)
        parent = chats.transcripts()["session-1"]
        resumed = chats.play("resume 1", "Which port?", "exit")
        files = chats.transcripts()
    shown = resumed.after("resume 1")
    [title] = found(shown)
    assert title.startswith("✓ Found: Assistant - DATE (1 query, ")
    assert title.endswith(
        f" tokens) · The test was talked about · {chats.model} · with a summary and 1 message"
    )
    _, _, restored = shown.partition("🔄 Restoring context...\n")
    assert restored.startswith(
        "  You: Our port is 8443.\n  Assistant: It is a calm day by the sea."
    )
    assert "\n  [… 2,640 characters …]\n" in restored
    assert f"  /summary shows the rest.\nAssistant: {ACKNOWLEDGED}\nTime: TIME | Tok" in restored

    assert [asked.kind for asked in resumed.asked] == ["acknowledgment", "reply", "summary"]
    [asked], [request] = resumed.acknowledgments, resumed.requests
    assert asked.messages[0].startswith(
        f"{RESTORED}\nPrevious session summary (Session ID: session-1, 1 query, "
    )
    assert "- The test was talked about [1.1]\n" in asked.block
    assert "- Our port is 8443. [1 user]\n" in asked.block
    assert "Task: Review the above and provide a brief acknowledgment" in asked.text
    reply = asked.messages[1]
    assert "It is a calm day by the sea." in reply
    assert re.search(r"tokens left out: session_archive_read|left out|…", reply)
    assert len(reply) < 2_000, "the middle of the last exchange is cut"
    acknowledged = (*asked.messages, f"assistant: {ACKNOWLEDGED}")
    assert request.messages == (*acknowledged, "user: Which port?")
    assert request.roles == ("user", "assistant", "user", "assistant", "user")

    assert files["session-1"] == parent
    child = files["session-2"]
    assert field(child, "Resumed From") == "session-1"
    assert field(child, "Total Queries") == "1"
    assert asked.block in child.partition("## Session Restored")[2]
    assert f"**Assistant:** {ACKNOWLEDGED}\n" in child
    restoration = field(child, "Restoration Tokens")
    assert "\n  Queries: 1\n  Tokens: " in resumed.shown
    assert f"\n  Restoration: {restoration}\n  Combined Total: " in resumed.shown
    assert resumed.shown.endswith(f"chat-loop --model {chats.model} --resume session-2\n")
    assert resumed.code == 0


def test_going_on_at_once_asks_nothing_and_leaves_no_file(tmp_path: Path) -> None:
    with small(tmp_path) as chats:
        tell(chats)
        parent = chats.transcripts()
        for options in (("-c",), ("--resume", "session-1")):
            left = chats.play("exit", options=options)
            assert "✓ Found: Assistant - DATE" in left.shown
            assert left.shown.count("  You: Our port is 8443.\n") == 1
            assert (
                "  Topics: The test was talked about [1.1]\n"
                "  Key facts: Our port is 8443. [1 user]\n"
                "  /summary shows the rest.\n"
            ) in left.shown
            assert "Goodbye!\n  You added nothing, so no new session was saved.\n" in left.shown
            assert left.shown.endswith("--resume session-1\n")
            assert left.asked == ()
        assert chats.transcripts() == parent
        chats.configure(resume={"acknowledge": False})
        assert chats.play("resume 1", "exit").asked == ()
        chats.configure(sessions={"auto_resume": True})
        assert "✓ Found: " not in chats.play("exit", options=("--new-session",)).shown
        went_on = chats.play("Which lock?", "exit")
        child = chats.transcripts()["session-2"]
    assert "✓ Found: Assistant - DATE" in went_on.shown
    [request] = went_on.requests
    first, reply, query = request.messages
    assert first.startswith(RESTORED)
    assert "- Our port is 8443. [1 user]\n" in request.block
    assert first.endswith(" from [1.1] on.\n\nOur port is 8443.")
    assert reply.startswith("assistant: It is a calm day by the sea.")
    assert query == "user: Which lock?"
    assert field(child, "Resumed From") == "session-1"
    assert field(child, "Restoration Tokens") == "", "it cost no tokens of its own"


def test_a_session_is_named_by_its_number_id_words_or_last(tmp_path: Path) -> None:
    wrong = ("resume 99", "resume nope", "/resume my CV", "resume ../../etc/passwd")
    misused = ("/resume 1 --last", "/resume 1 --last 2 --full", "/resume 1 --nope")
    right = {"last": "Ash.", "2": "Oak.", "session-2": "Ash.", "kitchen": "Oak.", "garden": "Ash."}
    with Chats(tmp_path) as chats:
        chats.configure(resume={"acknowledge": False})
        chats.play("Oak.", "/rename Kitchen", "/new", "Ash.", "/rename Garden", "exit")
        named = chats.play(
            *("sessions", "/resume e"),
            *(f"/resume {name} --full" for name in right),
            "resume",
            *wrong,
            *misused,
        )
        empty = chats.play("resume", "resume 1", options=("--sessions-dir", str(tmp_path / "none")))
    for name, words in right.items():
        assert named.after(f"/resume {name} --full").endswith(
            f"\n  You: {words}\n  Assistant: You said: {words}"
        ), name
    assert named.after("resume").endswith("Type resume and a number, or resume last.")
    assert "✗ No session 99: the numbers go from 1 to 1.\n" in named.after("resume 99")
    for line in wrong[1:]:
        name = line.partition(" ")[2]
        assert named.after(line) == f"✗ No session named {name}.\n  sessions lists them."
    assert "✗ --last of /resume needs a value." in named.after(misused[0])
    assert "✗ Usage: /resume [N|ID|WORDS]" in named.after(misused[1])
    assert "✗ /resume has no option --nope." in named.after(misused[2])
    assert "✗ 2 sessions match “e”.\n  Choose one by number." in named.after("/resume e")
    assert named.asked == empty.asked == ()
    assert empty.after("resume").startswith("No conversations yet;")
    assert empty.after("resume 1") == "✗ No session 1.\n  sessions lists them."


@pytest.mark.parametrize("wire", ONE_WIRE_QUICK)
def test_words_come_back_in_part_or_whole(tmp_path: Path, wire: Wire) -> None:
    with Chats(tmp_path, wire) as chats:
        chats.play("One.", "Two.", "Three.", "exit")
        played = chats.play(
            *("/resume session-1 --last 2", "Four.", "/resume session-1 --full", "Five."),
            *("/resume session-1 --last 1 --quick", "Six.", "exit"),
        )
        chats.configure(resume={"mode": "full"})
        always = chats.play("/resume session-1", "Seven.", "exit")
        parent, part, whole, *_ = chats.transcripts().values()
    [title] = found(played.after("/resume session-1 --last 2"))
    assert title.endswith(" · with a summary and 2 messages")
    shown = played.after("/resume session-1 --full")
    assert found(shown)[0].endswith(" · with 3 messages")
    assert (
        "🔄 Restoring context...\n  You: Three.\n  Assistant: You said: Three.\n"
        f"Assistant: {ACKNOWLEDGED}\n"
    ) in shown
    asked, asked_of_all = played.acknowledgments
    [four, five, six], [seven] = played.requests, always.requests
    assert "What follows are the words of the conversation itself, from [1.2] on.\n" in asked.text
    assert asked.messages[1:3] == ("assistant: You said: Two.", "user: Three.")
    acknowledged = f"assistant: {ACKNOWLEDGED}"
    assert four.messages == (*asked.messages, acknowledged, "user: Four.")
    assert asked_of_all.messages[:-1] == echoed("One.", "Two.", "Three.")
    assert asked_of_all.messages[-1].startswith("user: Task: Review the above and provide a brief")
    assert five.messages == (*asked_of_all.messages, acknowledged, "user: Five.")
    assert six.messages[0].startswith(RESTORED)
    assert six.messages[0].endswith(" from [1.3] on.\n\nThree.")
    assert six.messages[1:] == ("assistant: You said: Three.", "user: Six.")
    assert seven.messages[:6] == echoed("One.", "Two.", "Three.")
    assert seven.messages[-1] == "user: Seven."
    assert "; the words from 1.2 on)\n" in part
    assert "; the words from 1.1 on)\n" in whole
    for query in ("Two.", "Three."):
        assert f"**You:** {query}\n" in parent
        assert f"**You:** {query}\n" not in part, "the parent has the words"


def test_no_text_passes_through_a_model_twice(tmp_path: Path) -> None:
    with Chats(tmp_path) as chats:
        chats.play("One.", "Two.", "Three.", "exit")
        [summary] = chats.play("/resume session-1 --last 2", "Four.", "exit").summaries
    assert "[2.1] User: Four.\n" in summary.text
    assert "[1.3]" not in summary.text.partition("==== MARK ====")[2].partition("Create a")[0]


def test_a_compacted_session_comes_back_with_the_words_that_its_block_does_not_cover(
    tmp_path: Path,
) -> None:
    with Chats(tmp_path) as chats:
        chats.play(*SHELVES, "/compact", "Nine.", "exit")
        played = chats.play(
            *("/resume session-1 --summary --quick", "Ten?"),
            *("/resume session-2 --full --quick", "Eleven?"),
            *("/resume session-1 --summary --quick", "/rename Shelves"),
            "/resume session-5 --full --quick",
            *("Twelve?", "exit"),
        )
        chats.configure(auto_compact={"compact_on_resume": True})
        covering = chats.play("/resume session-1 --summary", "Thirteen?", "exit")
    uncovered, whole, passed_on = played.requests
    assert uncovered.block == whole.block == passed_on.block
    covered = uncovered.block.count("Shelf ")
    rest = SHELVES[covered:]
    assert 0 < covered < len(SHELVES)
    assert uncovered.messages[0].endswith(f" from [1.{covered + 1}] on.\n\n{rest[0]}")
    assert uncovered.messages[1:] == (*echoed(*rest)[1:], "user: Ten?")
    assert whole.messages[1:] == (*echoed(*rest, "Nine.")[1:], "user: Eleven?")
    assert passed_on.messages[1:] == (*echoed(*rest)[1:], "user: Twelve?")
    assert covering.summaries[0].text.count("] User: Shelf ") == len(SHELVES)
    assert covering.requests[0].messages[-1] == "user: Thirteen?"
    assert covering.requests[0].text.count("You said: Shelf") == 1, "only the last one"


@pytest.mark.slow
def test_words_that_do_not_fit_stay_summarized(tmp_path: Path) -> None:
    with Chats(tmp_path) as chats:
        chats.play(*(f"{shelf} {'word ' * 300}" for shelf in SHELVES), "exit")
        chats.window = 3_200
        chats.configure()
        resumed = chats.play("/resume session-1 --full", "Go on.", "exit")
    title, left_out = found(resumed.after("/resume session-1 --full"))
    [request] = resumed.requests
    carried = [shelf for shelf in SHELVES if f"{shelf} word" in request.text]
    assert carried == list(SHELVES[-len(carried) :])
    assert 0 < len(carried) < len(SHELVES)
    assert title.endswith(f" · with a summary and {len(carried)} messages")
    number = len(SHELVES) - len(carried)
    assert left_out == f"  {number} messages would not fit and stay summarized."
    assert "- Shelf 1 holds 100 files.\n" in request.block
    assert len(json.dumps(request.body)) // 4 < chats.window


def test_a_session_without_a_summary(tmp_path: Path) -> None:
    """A short one comes back word for word, a longer one as an extract and its last exchanges."""
    with Chats(tmp_path) as chats:
        chats.configure(on_exit="later", resume={"acknowledge": False})
        chats.play("Our port is 8443.", "/new", *SHELVES, "exit")
        before = chats.transcripts()
        played = chats.play(
            "/resume session-1", "One?", "/resume session-2 --summary", "Two?", "exit"
        )
        files = chats.transcripts()
        chats.run("--model", chats.model, "sessions", "compact", "session-2")
        summarized = chats.transcripts()["session-2"]
    assert [asked.kind for asked in played.asked] == ["reply", "reply"]
    short, long = played.requests
    assert found(played.after("/resume session-1"))[0].endswith(" · with 1 message")
    assert short.messages == (*echoed("Our port is 8443."), "user: One?")
    shown = played.after("/resume session-2 --summary")
    assert found(shown)[0].endswith(" · with key points and 5 messages")
    assert "\n  Topics: Shelf 1 holds 100 files. [1.1]; " in shown
    assert (
        "*User, session 1:*\n- Shelf 1 holds 100 files.\n- Shelf 2 holds 200 files.\n" in long.block
    )
    assert long.messages[0].endswith(f" from [1.3] on.\n\n{SHELVES[2]}")
    assert long.messages[1:] == (*echoed(*SHELVES[2:])[1:], "user: Two?")
    assert {name: files[name] for name in before} == before, "a pipe pays for no summary"
    assert "\n<!-- chat:sealed at=DATE reason=exit summary=model " in summarized


@pytest.mark.slow
def test_a_session_torn_by_a_crash_goes_on_from_what_is_left(tmp_path: Path) -> None:
    with Chats(tmp_path) as chats:
        chats.configure(on_exit="later", resume={"acknowledge": False})
        chats.play(*SHELVES, "exit")
        path = chats.path("session-1")
        kept = path.read_text()[: path.read_text().rindex("holds 700")]
        path.write_text(kept)
        resumed = chats.play("resume 1", "And then?", "exit")
        assert path.read_text() == kept
        made = chats.run("--model", chats.model, "sessions", "compact", "session-1")
        fenced = path.read_text()
    assert re.fullmatch(
        r"  Line \d+: the reply record has no end.", found(resumed.after("resume 1"))[1]
    )
    assert resumed.requests[0].messages[-2:] == ("assistant: You said: Shelf 7 ", "user: And then?")
    [summary] = made.summaries
    assert (
        f"[1.7] User: {SHELVES[6]}\n[1.7] Assistant (interrupted): You said: Shelf 7 \n"
        in summary.text
    )
    body = kept.partition("\n---\n")[2]
    assert f"{body}\n<!-- chat:torn -->\n" in fenced, "what is left stays as it is"
    assert "- The test was talked about [1.1]\n" in fenced


@pytest.mark.slow
def test_files_that_this_program_did_not_write_are_resumed_and_never_changed(
    tmp_path: Path,
) -> None:
    with Chats(tmp_path) as chats:
        folder = chats.home / "sessions"
        folder.mkdir()
        (folder / "bare.md").write_text(document("bare", "", "").partition("\n---\n")[0])
        (folder / "note.md").write_text("# A note\n")
        shutil.copy(GOLDEN / "resumed.md", folder / "quay.md")
        shutil.copy(GOLDEN / "before-1.8.md", folder / "tide.md")
        bare, note, quay, tide = (f"/resume session-{number}" for number in range(1, 5))
        quay += " --summary"
        chats.play("Oak.", "exit")
        path = chats.path("session-5")
        broken = b"\xff\n<!-- chat:odd -->"
        path.write_bytes(path.read_bytes().replace(b"<!-- chat:end n=1 -->", broken, 1))
        before = {each: each.read_bytes() for each in folder.glob("*.md")}
        resumed = chats.play(
            *(quay, "n", "/resume quay", "y", "What?", tide, "When?"),
            *("/resume session-5", "Which?", bare, note, "Still here?", "exit"),
        )
        refused = chats.run("--model", chats.model, "sessions", "compact", "tide")
        assert {each: each.read_bytes() for each in before} == before
        children = [each.read_bytes() for each in folder.glob("assistant_*.md")]
    assert refused.code != 0
    what, when, which, still = resumed.requests
    assert "- Ask the harbour master\n" in what.block
    assert "\nThis session was resumed from: harbor_pilot_20260202_170000\n" in what.messages[0]
    assert when.messages[0] == "user: When is high water?"
    assert which.messages[-1].endswith("Which?")
    assert still.messages[-2:] == ("assistant: You said: Which?", "user: Still here?")
    shown = resumed.after(quay)
    assert "⚠️  Session created with /srv/agents/harbor_pilot/agent.py, using Assistant. " in shown
    assert "[y]es [n]o n\nNot resumed. Starting fresh." in shown
    agreed = "Different agent detected. Continue? [y]es [n]o y\n✓ Found: Harbor Pilot - DATE"
    assert agreed in resumed.shown
    assert "Different agent" not in resumed.after(tide)  # its file names none
    assert "✗ Session session-1 has no messages: it can't be resumed." in resumed.after(bare)
    assert "✗ Session can't be resumed: " in resumed.after(note)
    assert " is not a transcript.\n" in resumed.after(note)
    assert sum(b" parent=quay " in text or b" parent=quay -->" in text for text in children) == 1


@pytest.mark.slow
def test_whatever_becomes_of_the_acknowledgment_the_context_is_restored(tmp_path: Path) -> None:
    steps: dict[str, tuple[Answer, str, str]] = {
        "One?": (failing(400), "", "Time: TIME | Failed\n"),
        "Two?": (Reply(stop="refusal"), "", " | Refused"),
        "Three?": (Reply(), "", "Time: TIME | Tokens: "),
        "Four?": (Reply(chunks=("Rea", "dy"), cut_after=1), "Rea", " | Failed\n"),
        "Five?": (Reply(chunks=("Rea",), stop="length"), "Rea", " | Cut off at the token limit"),
    }
    with small(tmp_path) as chats:

        def acknowledge(answer: Answer) -> Callable[[], None]:
            def act() -> None:
                chats.acknowledgment = answer

            return act

        tell(chats)
        before = chats.transcripts()
        left = chats.play(acknowledge(failing(401)), "resume 1", "exit")
        assert chats.transcripts() == before, "it leaves no file"
        lines = [
            step
            for query, (answer, _, _) in steps.items()
            for step in (acknowledge(answer), "resume session-1", query)
        ]
        played = chats.play(*lines, "exit")
    anyway = re.compile("⚠️  The acknowledgment failed: .* The context is restored anyway.")
    assert anyway.search(left.after("resume 1"))
    shown = played.shown.split("You: resume session-1\n")[1:]
    for request, text, (query, (_answer, words, told)) in zip(
        played.requests, shown, steps.items(), strict=True
    ):
        assert request.messages[0].startswith(RESTORED)
        assert request.messages[-1].endswith(query)
        replies = [line for line in request.messages if line.startswith("assistant:")]
        assert replies[0].startswith("assistant: It is a calm day")
        assert replies[1:] == ([f"assistant: {words}"] if words else [])
        assert told in text
        assert bool(anyway.search(text)) == (" | Failed" in text), query


@pytest.mark.slow
def test_ctrl_c_in_the_acknowledgment_leaves_a_restored_session(tmp_path: Path) -> None:
    with small(tmp_path) as chats:
        tell(chats)
        chats.acknowledgment = Reply(chunks=("We", " spoke"), stall_after=2)
        played = chats.play(chats.interrupt_at("We spoke"), "resume 1", "Which?", "exit")
        child = chats.transcripts()["session-2"]
    [request] = played.requests
    assert request.messages[0].startswith(RESTORED)
    assert request.messages[-2:] == ("assistant: We spoke", "user: Which?")
    assert "<!-- chat:end stop=interrupted" in child


@pytest.mark.slow
def test_each_resume_reads_only_the_parent(tmp_path: Path) -> None:
    with small(tmp_path) as chats:
        chats.replies["Our"] = SEA
        chats.play("Our port is 8443.", "/pin Bob is 41.", "exit")
        chats.play("resume 1", "Our lock is 77.", "exit")
        chats.lose("session-1")
        chats.play("resume 1", "Our key is 12.", "exit")
        chats.lose("session-2")
        chats.replies.clear()
        passed_on = chats.play("resume 1", "/history", "/pin Ann is 42.", "exit")
        last = chats.play("/resume session-4", "Go.", "exit")
        chats.lose("session-4")
        gone = chats.play("/resume session-3 --full", "exit")
    for played, pins in ((passed_on, "Bob is 41."), (last, "Bob is 41.\n- Ann is 42.")):
        [asked] = played.acknowledgments
        assert f"**Pinned:**\n- {pins}\n" in asked.block
        for fact in ("port is 8443. [1 user]", "lock is 77. [2 user]", "key is 12. [3 user]"):
            assert f"- Our {fact}\n" in asked.block
    assert "(Session ID: session-3, 1 query, " in passed_on.acknowledgments[0].text
    assert "\nThis session was resumed from: session-2\n" in passed_on.acknowledgments[0].text
    assert "session-1" not in passed_on.acknowledgments[0].text
    assert passed_on.summaries == (), "nothing new was said"
    assert "⚠️  The chain ends before session-2: Session session-2 is not in HOME/sessions.\n" in (
        passed_on.after("/history")
    )
    assert "✓ Found: Assistant" in gone.shown


@pytest.mark.slow
def test_resuming_ends_the_session_one_was_in(tmp_path: Path) -> None:
    with Chats(tmp_path) as chats:
        chats.play("Oak.", "exit")
        resumed = chats.play("And the weather?", "resume last", "/resume session-2", "exit")
        left = chats.transcripts()["session-2"]
    assert "💾 Saved session: session-2 (1 query, " in resumed.after("resume last")
    assert "weather" not in resumed.acknowledgments[0].text
    assert "\n*No summary*\n<!-- chat:sealed at=DATE reason=resume summary=none " in left


@pytest.mark.slow
def test_an_edited_summary_is_used_as_it_is(tmp_path: Path) -> None:
    with small(tmp_path) as chats:
        tell(chats)
        path = chats.path("session-1")
        path.write_text(path.read_text().replace("8443", "4711"))
        edited = chats.play("/resume session-1", "exit")
        blocks = ("", "**Topics Discussed:**\n*none*\n")
        broken = chats.play(
            *(
                step
                for block in blocks
                for step in (
                    lambda block=block: with_block(path, block),
                    "/resume session-1",
                    "What?",
                )
            ),
            "exit",
        )
    assert "- Our port is 4711. [1 user]\n" in edited.acknowledgments[0].block
    warning = "⚠️  The session's summary has an invalid format; making a new one.\n"
    assert broken.shown.count(warning) == len(broken.requests) == len(blocks)
    for request in broken.requests:
        assert request.messages[-2:] == (f"assistant: {SEA}", "user: What?")


def test_a_session_of_pins_alone_hands_them_on(tmp_path: Path) -> None:
    with Chats(tmp_path) as chats:
        chats.play("/pin Bob is 41.", "exit")
        resumed = chats.play("/resume session-1 --quick", "/pin", "exit")
    assert resumed.after("/pin") == "1  Bob is 41."


def test_a_session_without_words_has_nothing_to_summarize(tmp_path: Path) -> None:
    with Chats(tmp_path) as chats:
        chats.play("/pin Bob is 41.", "exit")
        before = chats.transcripts()
        made = chats.run("--model", chats.model, "sessions", "compact", "session-1")
        assert chats.transcripts() == before
    assert "Session session-1 has nothing to summarize." in made.errors
    assert made.code == 1
    assert made.asked == ()


def document(identity: str, parent: str, at: str) -> str:
    """Return a transcript whose chain or dates somebody edited."""
    time, created = (f" {key}={at}" if at else "" for key in ("at", "created"))
    restoration = f"""
---

<!-- chat:restoration queries=1 tokens=5 since=1.1{time} -->
## Session Restored (10:00:00)
**Context:** Resumed from {parent} (1 query, 5 tokens)

<details><summary>Restored context</summary>

**Background Context:** Initial session.

</details>
<!-- chat:end -->
"""
    return f"""<!-- chat:session v=1 id={identity}{created}{f" parent={parent}" if parent else ""} -->
# Assistant Conversation

**Agent:** Assistant
<!-- chat:end -->
{restoration if parent else ""}
---

<!-- chat:query n=1{time} -->
## Query 1 (10:00:00)
**You:** a heron, {identity}
<!-- chat:end n=1 -->

<!-- chat:reply n=1{time} -->
**Assistant:** a grey one
<!-- chat:end n=1 stop=end -->
"""


DATES = {
    "without_date": "",
    "last_moment": "9999-12-31T23:59:59-12:00",
    "first_moment": "0001-01-01T00:00:00+12:00",
    "without_zone": "2026-01-01T00:00:00",
    "no_date": "2026-99-99",
}
CHAINS = {
    "its_own_parent": "its_own_parent",
    "circle_1": "circle_2",
    "circle_2": "circle_1",
    "middle_gone": "not_there",
    "twin": "without_date",
}


@pytest.mark.slow
def test_chains_and_dates_that_somebody_edited(tmp_path: Path) -> None:
    with Chats(tmp_path) as chats:
        folder = chats.home / "sessions"
        folder.mkdir()
        for identity, at in DATES.items():
            (folder / f"{identity}.md").write_text(document(identity, "", at))
        for identity, parent in CHAINS.items():
            text = document(identity, parent, "2026-01-01T10:00:00+00:00")
            (folder / f"{identity}.md").write_text(text)
        listed = chats.run("sessions", "list", "--unfold", "--json")
        steps = [
            step
            for identity in (*DATES, *CHAINS)
            for step in (
                f"/resume {identity} --quick",
                "/tree",
                "/history",
                "/uncompact",
                f"Now {identity}?",
            )
        ]
        resumed = chats.play(*steps, "exit")
        files = [path.read_text() for path in folder.glob("assistant_*.md")]
        exported = [
            chats.run("sessions", "export", identity, "-", "--as", form)
            for identity, form in (("circle_1", "md"), ("twin", "json"), ("no_date", "html"))
        ]
        forked = chats.run("sessions", "fork", "circle_1", "--at", "1")
    for identity, request in zip((*DATES, *CHAINS), resumed.requests, strict=True):
        assert f"a heron, {identity}" in json.dumps(request.body)
        assert any(field(text, "Resumed From") == identity for text in files)
    assert len(json.loads(listed.shown)["sessions"]) == len(DATES) + len(CHAINS)
    assert "its sessions go on from each other" in resumed.shown
    assert [one.code for one in exported] == [0, 0, 0]
    assert all("a grey one" in one.shown for one in exported)
    assert forked.code == 0


def test_the_found_session_is_named_and_dated(tmp_path: Path) -> None:
    with Chats(tmp_path) as chats:
        chats.play("Oak.", "/rename Kitchen", "exit")
        path = chats.path("session-1")
        path.write_text(re.sub(r"\b20\d\d-", "2019-", path.read_text()))
        title = found(chats.play("/resume session-1", "exit").after("/resume session-1"))[0]
    assert "Kitchen" in title
    assert "2019" in title
