"""The commands about the context, as a user sees them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from msgspec.structs import replace

from chat_loop.context.budget import Limits
from chat_loop.context.request import message_list
from chat_loop.errors import UsageError
from chat_loop.values import Usage, Window
from tests.support.screens import Line, Screen, Terminal
from tests.support.scripted_chat import QUIET, SUMMARY, Says, Step, Talk

ANSWER: Step = Says(("because",), usage=None)
SUMMED: Step = Says((SUMMARY,), usage=Usage(input=900, output=40))
MADE_KEY = f"sk-proj-{'Ab3dE5fG7h' * 5}"
QUERIES = [f"Question {number}, about boats." for number in range(1, 9)]


def shown(screen: Screen, line: str) -> str:
    """Return the output after a line was typed, up to the next line."""
    after = screen.text.partition(f"You: {line}\n")[2]
    return after.partition("\nYou: ")[0].partition("\nGoodbye!")[0]


def priced(model: str, usage: Usage) -> float | None:
    return usage.input * 3e-6 + usage.output * 15e-6


def test_a_preview_is_shown_and_cancelled_or_taken(tmp_path: Path) -> None:
    lines = [*QUERIES, "/compact --preview", "/compact --preview", "/info"]
    steps = [*[ANSWER] * 8, SUMMED, SUMMED]
    screen = Screen(tmp_path, lines, *steps, answers=["n", "y"], options=QUIET)
    first = shown(screen, "/compact --preview")
    assert re.search(r"Compacting would shrink \d+ tokens to about \d+\.", first)
    assert (
        "2 messages would stay word for word:\n  [1.7] Question 7, about boats.\n  "
        "[1.8] Question 8" in first
    )
    assert "\nDecisions Made\n  • Stay polite [1]\n\nPending\n" in first
    assert first.endswith("Compact? [y]es [n]o [e]dit n\nNot compacted.")
    assert "📦 Compacted" in screen.text.rpartition("or e to edit) y\n")[2]
    assert "Resumed From:" in shown(screen, "/info")


def test_a_summary_that_is_edited_in_the_preview_is_the_one_that_counts(tmp_path: Path) -> None:
    def edit(text: str) -> str:
        return text.replace("- Stay polite [1]", "- Be rude on Fridays [1.2]")

    steps = [*[ANSWER] * 8, SUMMED]
    screen = Screen(
        tmp_path,
        [*QUERIES, "/compact --preview"],
        *steps,
        answers=["e", "y"],
        edit=edit,
        options=QUIET,
    )
    restoration = screen.talk.conversation.session.restoration
    assert restoration is not None
    assert "Be rude on Fridays" in restoration.block
    assert "Stay polite" not in restoration.block


def test_an_editor_that_fails_or_an_emptied_summary_changes_nothing(tmp_path: Path) -> None:
    def none(text: str) -> str:
        raise UsageError("No editor found.", "Set EDITOR, for example: export EDITOR=nano.")

    steps = [*[ANSWER] * 8, SUMMED]
    screen = Screen(
        tmp_path, [*QUERIES, "/compact --preview"], *steps, answers=["e"], edit=none, options=QUIET
    )
    assert "✗ No editor found." in screen.text
    assert screen.talk.conversation.session.restoration is None
    again = Screen(
        tmp_path / "b",
        [*QUERIES, "/compact --preview"],
        *steps,
        answers=["e"],
        edit=lambda text: "",
        options=QUIET,
    )
    assert "✗ The edited summary is empty: not compacted." in again.text


def test_summarize_shows_the_panel(tmp_path: Path) -> None:
    screen = Screen(tmp_path, [*QUERIES, "/summarize"], *[ANSWER] * 8, SUMMED, options=QUIET)
    panel = shown(screen, "/summarize")
    assert panel.startswith(
        "Summarizing conversation history...\n📝 Generating session summary... ✓\n"
    )
    assert "─ Session Summary ─" in panel
    for line in (
        "Messages: 16 → 5 (69% reduction)",
        "Key Topics:",
        "• Greetings [1]",
        "Files Modified: 0",
        "Commands Run: 0",
    ):
        assert line in panel
    assert re.search(r"Tokens saved: ~\d+", panel)


def test_the_context_part_by_part(tmp_path: Path) -> None:
    options = replace(QUIET, cost=priced)
    lines = [*QUERIES, "compact", "And then?", "/context"]
    screen = Screen(
        tmp_path, lines, *[ANSWER] * 8, SUMMED, ANSWER, options=options, window=Window(8_000)
    )
    text = shown(screen, "/context")
    assert re.match(r"Context: ~\d+ of 8,000 tokens \(~\d+% of 8K\)\n", text)
    names = re.findall(r"^  (\S.*?)  +[\d,]+  +\d+%", text, re.MULTILINE)
    assert names == [
        "System prompt",
        "Restored block",
        "Carried words",
        "This session (1)",
        "Kept for the reply",
        "Free",
    ]
    assert "Auto-compacts at 6,400 tokens." in text
    assert re.search(r"The next request costs about \$0\.00\d\d plus the reply\.", text)


def test_the_heading_of_the_context_breaks_between_its_phrases(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    screen = Screen(tmp_path, ["/context"], window=Window(128_000), out=Terminal(), options=QUIET)
    text = re.sub(r"\x1b\[[0-9;]*m", "", shown(screen, "/context"))
    assert re.match(r"Context: ~\d+ of 128,000 tokens\n  \(~0% of 128K\)\n", text)


def test_warnings_at_80_90_and_95_percent_when_nothing_is_compacted_by_itself(
    tmp_path: Path,
) -> None:
    options = replace(QUIET, limits=replace(Limits(), enabled=False))
    steps = [
        Says(("because",), usage=Usage(input=size, output=1))
        for size in (700, 801, 850, 905, 955, 960)
    ]
    screen = Screen(
        tmp_path, ["a", "b", "c", "d", "e", "f"], *steps, options=options, window=Window(1_000)
    )
    assert re.findall(r"The context is (\d+)% full", screen.text) == ["80", "91", "96"]
    assert screen.text.count("compact makes room.") == 3


def test_the_history_of_a_chain(tmp_path: Path) -> None:
    lines = [*QUERIES, "compact", "And then?", "/history", "/history --full", "/history now"]
    screen = Screen(tmp_path, lines, *[ANSWER] * 8, SUMMED, ANSWER, options=QUIET)
    assert shown(screen, "/history").startswith(
        """\
Session history (18 messages total):

[Summary 1] 1.1 to 1.6 (sally_20261121_223015):
  Greetings [1]
"""
    )
    assert shown(screen, "/history").endswith(
        """\
[Recent] 1.7 to 2.1:
  1.7  You: Question 7, about boats.
       Sally: because
  1.8  You: Question 8, about boats.
       Sally: because
  2.1  You: And then?
       Sally: because"""
    )
    assert "Decisions: Stay polite [1]" in shown(screen, "/history --full")
    assert "✗ Usage: /history [--full]" in shown(screen, "/history now")


def test_the_history_after_a_fork_tells_each_message_once(tmp_path: Path) -> None:
    screen = Screen(
        tmp_path, [*QUERIES[:4], "/fork 3", "And then?", "/history"], *[ANSWER] * 5, options=QUIET
    )
    assert shown(screen, "/history") == (
        "Session history (8 messages total):\n\n[Recent] 1.1 to 2.1:\n"
        "  1.1  You: Question 1, about boats.\n       Sally: because\n"
        "  1.2  You: Question 2, about boats.\n       Sally: because\n"
        "  1.3  You: Question 3, about boats.\n       Sally: because\n"
        "  2.1  You: And then?\n       Sally: because"
    )


def test_the_statistics_of_a_chain(tmp_path: Path) -> None:
    options = replace(QUIET, cost=priced)
    screen = Screen(
        tmp_path,
        [*QUERIES, "compact", "And then?", "/stats"],
        *[ANSWER] * 8,
        SUMMED,
        ANSWER,
        options=options,
    )
    text = shown(screen, "/stats")
    assert re.search(r"^Queries in the chain: +9$", text, re.MULTILINE)
    assert re.search(r"^Summaries: +940 \(in: 900, out: 40\)$", text, re.MULTILINE)
    assert re.search(r"^Cost of the session: +\$0\.\d{4}$", text, re.MULTILINE)
    assert "\n1 compaction:\n  Nov 21, 22:30 · 1.1 to 1.6 · " in text
    assert "· scripted:test · 2.0s · $0.0033" in text


def test_pins_are_listed_and_taken_off(tmp_path: Path) -> None:
    lines = [
        "/pin",
        "/pin Boats are blue.",
        "/pin Bob is 41.",
        "/pin",
        "/pin --remove 3",
        "/pin --remove 1",
        "/pin",
        "/unpin 1",
        "/pins",
        "/pin Cod.",
        "/unpin 1",
    ]
    screen = Screen(tmp_path, lines, options=QUIET)
    assert "✗ There are no pins." in screen.text
    assert "1  Boats are blue.\n2  Bob is 41.\n" in screen.text
    assert "✗ /pin --remove takes a number from 1 to 2.\n  /help pin has more." in screen.text
    assert "Unpinned; 1 left.\nYou: /pin\n1  Bob is 41.\n" in screen.text
    now = "Unpinned; 0 left.\n/unpin is /pin --remove N now; /unpin works until 1.0.\nYou: /pins\n"
    assert now in screen.text
    assert screen.text.count("works until") == 1, "an old word is named once, and only if it worked"


@pytest.mark.slow
def test_pins_that_fill_the_window_all_stay_and_are_named(tmp_path: Path) -> None:
    pins = [f"Server {number} has the port {7000 + number}." for number in range(600)]

    def pin(talk: Talk) -> None:
        for text in pins:
            talk.conversation.pin(text)

    lines: list[Line] = ["Hello", pin, "compact", "Again?"]
    screen = Screen(tmp_path, lines, ANSWER, SUMMED, window=Window(4_000), options=QUIET)
    assert "Not sent: the request would hold" in screen.text
    assert re.search(r"Its pins take 3,\d{3} tokens: /pins lists them, and /unpin N", screen.text)
    assert screen.talk.conversation.context.pins == tuple(pins)


def test_resume_says_what_it_will_cost(tmp_path: Path) -> None:
    Screen(tmp_path, QUERIES, *[ANSWER] * 8, options=QUIET)
    options = replace(QUIET, cost=priced)
    lines = ["/resume 1 --last 3", "/resume 1 --last x", "/resume 1 2"]
    screen = Screen(tmp_path, lines, hours=1, options=options)
    assert re.search(r" tokens\) · .* · with key points and 5 messages · \$0\.\d{4}\n", screen.text)
    assert "✗ Usage: /resume [N|ID|WORDS]" in screen.text
    assert "✗ No session named 1 2." in screen.text


def test_the_summary_block_is_shown_where_it_takes_the_words_place(tmp_path: Path) -> None:
    screen = Screen(
        tmp_path, [*QUERIES, "compact"], *[ANSWER] * 8, SUMMED, options=QUIET, show_blocks=True
    )
    text = shown(screen, "compact")
    assert "[SUMMARY: 1.1 to 1.6]\n**Background Context:** Initial session.\n" in text
    assert text.endswith("[END SUMMARY]\n🔄 Starting new session with summary...")


EDITED = f"We use port 4711. Its key is {MADE_KEY}\n* Be *rude*"


@pytest.mark.parametrize("after", [(), ("And now?",)])
def test_the_summary_in_the_context_is_edited(tmp_path: Path, after: tuple[str, ...]) -> None:
    """Also before anything was said after it, when the session has no file yet."""
    lines = [*QUERIES, "compact", "/pin Use __init__", *after, "/summary edit", "/summary", "So?"]
    if not after:
        lines.remove("/pin Use __init__")
    screen = Screen(
        tmp_path,
        lines,
        *[ANSWER] * 8,
        SUMMED,
        *[ANSWER] * (len(after) + 1),
        edit=lambda text: text.replace("- Stay polite [1]", EDITED),
        options=QUIET,
    )
    assert "The model gets the edited summary with your next message." in screen.text
    edited = shown(screen, "/summary")
    assert "\nDecisions Made\n  • Be *rude*\n" in edited
    assert ("  • Use __init__" in edited) == bool(after)
    conversation = screen.talk.conversation
    (first, *_) = message_list(conversation.frame, conversation.context)
    assert "Stay polite" not in first.text
    assert "- Be *rude*\n" in first.text
    assert "We use port 4711." in first.text
    assert "Secrets are left out of a summary." in screen.text
    assert MADE_KEY not in first.text + edited
    words = [exchange.query.text for exchange in conversation.context.exchanges]
    assert words == ["Question 7, about boats.", "Question 8, about boats.", *after, "So?"]
    assert len(conversation.context.unsummarized) == len(words)  # as before: the block has none


def test_a_summary_that_is_left_as_it_was_or_emptied_changes_nothing(tmp_path: Path) -> None:
    lines = [*QUERIES, "/summary edit", "compact", "/summary edit", "/summary"]
    steps = [*[ANSWER] * 8, SUMMED]
    same = Screen(tmp_path, lines, *steps, options=QUIET)
    assert "✗ This session does not begin with a summary." in same.text
    assert "Not changed." in same.text
    emptied = Screen(tmp_path / "b", lines, *steps, edit=lambda text: "", options=QUIET)
    assert "✗ The edited summary is empty: not changed." in emptied.text
    for screen in (same, emptied):
        assert "  • Stay polite [1]" in shown(screen, "/summary")


def test_an_automatic_compaction_says_what_it_was_about(tmp_path: Path) -> None:
    options = replace(
        QUIET, limits=replace(Limits(), max_messages=10, preserve_recent=2), use_ai_summary=False
    )
    queries = [query + " They float." * 120 for query in QUERIES[:6]]
    screen = Screen(tmp_path, queries, *[ANSWER] * 6, options=options)
    text = shown(screen, queries[4])
    assert re.fullmatch(
        r"📦 Compacted \S+ → \S+ tokens.* · without a model\. The context was 80% full \(8/10 "
        r"messages\)\.\n"
        r"   About: Question 1, about boats\. \[1\.1\]\n"
        r"Sally: because\nTime: 2\.0s \| Tokens: ~[\d,]+ \(in: [\d,]+, out: 1\)\n",
        text,
    )
