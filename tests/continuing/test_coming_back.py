"""How much of a conversation comes back, and that no word is summarized twice."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from benchmarks.support.loopback import Reply
from tests.support.chats import Chats, echoed

END = "<!-- SESSION_SUMMARY_END -->\n"
MADE_KEY = f"sk-proj-{'Ab3dE5fG7h' * 5}"
SEA = "It is a calm day by the sea. " * 160
DAYS = tuple(f"On day {day}, we counted {day}{day}7 gulls." for day in range(1, 6))


def said_in(text: str, query: str) -> bool:
    """Return True if a request for a summary has the words of a query to summarize."""
    return f"User: {query}" in text


def with_text(transcript: Path, text: str) -> None:
    """Replace the summary in a transcript by a text, as in an editor."""
    before, _, rest = transcript.read_text().partition("**Background Context:**")
    _, end, after = rest.partition(END.strip())
    transcript.write_text(f"{before}{text}{end}{after}")


@pytest.mark.slow
def test_no_word_is_summarized_twice_in_days_of_resuming(tmp_path: Path) -> None:
    """Each exit summarizes what is new, and the context stays that of all words."""
    with Chats(tmp_path) as chats:
        first = chats.play(DAYS[0], "exit")
        days = [first, *(chats.play(query, "exit", options=("-c",)) for query in DAYS[1:])]
        compacted = chats.play("compact", "So?", "exit", options=("-c",))
        last = chats.transcripts()["session-5"]
    for day, played in enumerate(days):
        assert played.requests[0].messages == (*echoed(*DAYS[:day]), f"user: {DAYS[day]}")
        [summary] = played.summaries
        assert [said_in(summary.text, query) for query in DAYS] == [at == day for at in range(5)]
    assert f"- {DAYS[0]} [1 user]\n" in last.rpartition("SUMMARY_START")[2]
    assert "<!-- chat:covered " in last
    assert [asked.kind for asked in compacted.asked] == ["acknowledgment", "reply", "summary"]
    assert "📦 Compacted " in compacted.after("compact")
    [request] = compacted.requests
    for query in DAYS:
        assert query in request.block
    assert not any(said_in(compacted.summaries[0].text, query) for query in DAYS)


@pytest.mark.slow
def test_words_without_a_summary_are_summarized_once_they_have_to_be(tmp_path: Path) -> None:
    with Chats(tmp_path) as chats:
        chats.configure(on_exit="later")
        chats.play(DAYS[0], "exit")
        chats.play(DAYS[1], "exit", options=("-c",))
        chats.configure()
        [summary] = chats.play(DAYS[2], "exit", options=("-c",)).summaries
        [later] = chats.play(DAYS[3], "exit", options=("-c",)).summaries
    assert [said_in(summary.text, query) for query in DAYS[:3]] == [True] * 3
    assert [said_in(later.text, query) for query in DAYS[:4]] == [False] * 3 + [True]


def test_a_summary_of_words_that_were_redacted_is_made_again(tmp_path: Path) -> None:
    """It may say in other words what was removed. One of earlier words stays."""
    with Chats(tmp_path) as chats:
        chats.play(DAYS[0], "exit")
        chats.play(DAYS[1], "exit", options=("-c",))
        chats.configure(on_exit="later")
        chats.play(DAYS[2], "exit", options=("-c",))
        done = chats.run("sessions", "redact", "session-3", DAYS[1].removesuffix("."), "--yes")
        chats.configure()
        [summary] = chats.play("So?", "exit", options=("-r", "session-3")).summaries
        files = chats.transcripts()
    assert "session-3.md: 1 place and a summary of those words\n" in done.shown
    assert [said_in(summary.text, query) for query in DAYS[:3]] == [True, False, True]
    assert "User: [removed by the user].\n" in summary.text
    assert "<!-- chat:covered " in files["session-2"]


def test_what_a_person_did_to_a_summary_makes_it_count(tmp_path: Path) -> None:
    """An edited one, one that was made again, and one that was judged: short words or not."""
    with Chats(tmp_path) as chats:
        chats.play("Our port is 8443.", "/compact", "/summary bad no ports", "And?", "exit")
        path = chats.path("session-1")
        plain = path.read_text()
        words = chats.play("/resume session-1 --quick", "Which?", "exit")
        path.write_text(plain.replace("The test was talked about", "Boats were talked about"))
        edited = chats.play("/resume session-1 --quick", "Which?", "exit")
        path.write_text(plain)
        chats.run("--model", chats.model, "sessions", "compact", "session-1")
        remade = chats.play("/resume session-1 --quick", "Which?", "exit")
        judged = chats.play("/resume session-2 --quick", "Which?", "exit")
    assert words.requests[0].messages == (*echoed("Our port is 8443."), "user: Which?")
    assert "- Boats were talked about" in edited.requests[0].block
    assert "- The test was talked about" in remade.requests[0].block
    assert remade.requests[0].messages[0].endswith("\n\nOur port is 8443.")
    assert judged.requests[0].messages[0].endswith(" from [2.1] on.\n\nAnd?")


@pytest.mark.parametrize(
    ("way", "decisions"),
    [
        ("/resume session-1 --quick", ""),
        ("--continue", "## Decisions\n* Oak it is.\n"),
        ("/resume session-1", "## Decisions\n* Oak it is.\n"),
    ],
)
def test_free_text_in_the_place_of_a_summary_is_used_on_each_way(
    tmp_path: Path, way: str, decisions: str
) -> None:
    with Chats(tmp_path) as chats:
        chats.play("Our port is 8443.", "exit")
        with_text(chats.path("session-1"), f"we use port 4711\n{decisions}")
        if way.startswith("--"):
            played = chats.play("Which?", "exit", options=(way,))
        else:
            played = chats.play(way, "Which?", "exit")
    block = played.requests[-1].block
    assert "**Background Context:** we use port 4711" in block
    assert ("**Decisions Made:**\n- Oak it is.\n" in block) == bool(decisions)


@pytest.mark.parametrize(
    ("edited", "shown"),
    [
        (f"port 4711\n{END}## Decisions\n* Oak\n{END}", "4 lines outside the records, skipped."),
        (f"port 4711\n## Decisions\n* The key is {MADE_KEY}\n", "Decisions: The key is [REDACTED:"),
    ],
    ids=["three ends", "a secret"],
)
def test_what_is_not_used_of_an_edited_summary_is_named(
    tmp_path: Path, edited: str, shown: str
) -> None:
    with Chats(tmp_path) as chats:
        chats.play("Our port is 8443.", "exit")
        with_text(chats.path("session-1"), edited)
        played = chats.play("/resume session-1 --quick", "Which?", "exit")
    assert "**Background Context:** port 4711" in played.requests[-1].block
    assert shown in played.shown
    assert MADE_KEY not in str(played.requests)


def test_an_exit_says_what_a_resume_will_bring(tmp_path: Path) -> None:
    with Chats(tmp_path, window=4_000) as chats:
        chats.summary = "I cannot do that."
        chats.replies["long"] = SEA
        short = chats.play("Our port is 8443.", "exit").after("exit")
        long = chats.play("A long reply.", "exit").after("exit")
    assert "A resume brings back all words." in " ".join(short.split())
    assert "It will be made when you resume the session." in " ".join(long.split())


@pytest.mark.slow
def test_a_chain_whose_middle_is_missing_brings_what_is_there(tmp_path: Path) -> None:
    """The summary stands in for the words that are gone, and references into the gap say so."""
    gap = "The chain ends before session-2: Session session-2 is not in HOME/sessions."
    references = ("/show 1.1", "/undo 2.1", "/rewind 2.1", "/fork 1.1")
    with Chats(tmp_path) as chats:
        chats.play(DAYS[0], "exit")
        chats.play(DAYS[1], "exit", options=("-c",))
        chats.play(DAYS[2], "exit", options=("-c",))
        chats.lose("session-2")
        resumed = chats.play("So?", "/history", *references, "exit", options=("-r", "session-3"))
    [request] = resumed.requests
    assert request.messages[1:] == (*echoed(DAYS[2])[1:], "user: So?")
    for query in DAYS[:3]:
        assert query in request.block
    assert resumed.after("/history").startswith(f"⚠️  {gap}\n")
    for reference in references:
        number = reference.partition(" ")[2]
        assert f"✗ No message {number}. {gap}\n" in resumed.after(reference)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("damage", "said"),
    [
        ("cut", "session-2 had 1 message; its file ends after 0."),
        ("open record", "session-2 is damaged. Line"),
        ("no parent", "session-3 names no parent."),
    ],
)
def test_a_chain_whose_middle_is_damaged_says_so(tmp_path: Path, damage: str, said: str) -> None:
    with Chats(tmp_path) as chats:
        chats.play(DAYS[0], "exit")
        chats.play(DAYS[1], "exit", options=("-c",))
        chats.play(DAYS[2], "exit", options=("-c",))
        path = chats.path("session-3" if damage == "no parent" else "session-2")
        text = path.read_text()
        end = "<!-- chat:end -->\n"
        header, _, rest = text.partition(end)
        before, query, after = rest.partition("<!-- chat:query ")
        damaged = {
            "cut": header + end,
            "open record": header + end + before + query + after.replace(end, "", 1),
            "no parent": re.sub(r" parent=\S+", "", text, count=1),
        }
        path.write_text(damaged[damage])
        resumed = chats.play("So?", "exit", options=("-r", "session-3"))
    shown = " ".join(resumed.shown.split())
    assert f"The words from 1.1 on are incomplete: {said}" in shown
    [request] = resumed.requests
    for query in DAYS[:3]:
        assert query in request.text


def test_a_reply_that_was_stopped_comes_back_as_one(tmp_path: Path) -> None:
    with Chats(tmp_path) as chats:
        chats.replies["Count"] = Reply(chunks=("One", " two"), stall_after=2)
        chats.play(chats.interrupt_at("One two"), "Count to ten.", "exit")
        back = chats.play("/show", "exit", options=("-c",))
    assert "Assistant: One two\n  (interrupted)\n" in back.shown
    assert back.after("/show").endswith("One two\n(interrupted)")
