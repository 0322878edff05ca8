"""Automatic compaction: when it happens, what the model gets after it, and what is never sent."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from benchmarks.support.loopback import Reply, failing
from tests.support.chats import ONE_WIRE_QUICK, SUMMARY, Asked, Chats, Step, Wire, call, echoed

LONG = "word " * 400
"""In a window of 8,000 tokens, the 9th such query starts the summary and the 13th the compaction."""
COMPACTED = r"📦 Compacted [\d.]+K → [\d.]+K tokens"


def long(first: int, last: int) -> list[Step]:
    return [f"{number} {LONG}" for number in range(first, last + 1)]


def asked(chats: Chats) -> list[int]:
    """Return the numbers that the queries on disk begin with, along all sessions."""
    texts = "".join(chats.transcripts().values())
    return [int(number) for number in re.findall(r"^\*\*You:\*\*\s+(\d+)", texts, re.MULTILINE)]


def sent(request: Asked) -> list[int]:
    """Return the numbers of the queries that a request holds word for word."""
    words = "\n\n".join(line.removeprefix("user: ") for line in request.messages)
    return [int(number) for number in re.findall(r"^(\d+) word", words, re.MULTILINE)]


@pytest.mark.parametrize("wire", ONE_WIRE_QUICK)
def test_message_38_of_50_triggers_at_a_threshold_of_075(tmp_path: Path, wire: Wire) -> None:
    with Chats(tmp_path, wire, window=64_000) as chats:
        chats.configure(
            context={"max_history_messages": 50},
            auto_compact={"trigger_threshold": 0.75, "show_summary_markers": True},
        )
        played = chats.play(*long(1, 20), "exit")
        parent, child = chats.transcripts().values()
        assert asked(chats) == list(range(1, 21))
    *before, last = played.requests
    assert [len(request.messages) for request in before] == list(range(1, 39, 2))
    # the summary was made behind the user's back, from a part of the words, and asked for once
    [summary, at_exit] = played.summaries
    assert played.asked.index(summary) < 19
    assert "[1.1] User: 1 word" in summary.text
    assert "[2.1] User: 20 word" in at_exit.text

    shown = " ".join(played.after(f"20 {LONG}").split())
    assert re.match(COMPACTED, shown)
    assert "The context was 76% full (38/50 messages)." in shown
    assert "[SUMMARY: 1.1 to 1." in shown
    assert played.acknowledgments == ()
    assert sum("Compacted" in line for line in played.shown.splitlines()) == 1

    kept = sent(last)[:-1]
    assert kept == list(range(8, 20))
    assert last.roles == ("user", "assistant") * len(kept) + ("user",)
    assert last.messages[0].startswith("user: CONTEXT RESTORATION")
    assert last.messages[-1] == f"user: 20 {LONG}"
    assert "- The test was talked about [1.1]\n" in last.block
    assert "<!-- chat:compaction first=1.1 last=1.7 before=" in parent
    assert "<!-- chat:sealed at=DATE reason=compact summary=model queries=19 " in parent
    assert "since=1.8 " in child
    assert "**You:** 19 " not in child


@pytest.mark.parametrize(
    "meanwhile", ["nothing", "edited", pytest.param("deleted", marks=pytest.mark.slow)]
)
def test_nobody_waits_for_a_summary_and_a_late_one_goes_into_its_session(
    tmp_path: Path, meanwhile: str
) -> None:
    with Chats(tmp_path, window=8_000) as chats:
        chats.summary = Reply(chunks=(SUMMARY,), stall_after=0)
        before = ""

        def change() -> None:
            nonlocal before
            before = chats.transcripts()["session-1"]
            path = chats.path("session-1")
            text = path.read_text()
            if meanwhile == "edited":
                path.write_text(
                    text.replace("**Decisions Made:**\n", "**Decisions Made:**\n- Mine.\n")
                )
            elif meanwhile == "deleted":
                path.unlink()
            chats.summary = SUMMARY
            chats.server.release()

        played = chats.play(*long(1, 13), change, *long(14, 19), "20 and now?", "exit")
        transcripts = chats.transcripts()
    assert "summary=extracted" in before
    assert re.match(COMPACTED + r" · .*without a\s+model\.", played.after(f"13 {LONG}"))
    assert sent(played.requests[12])[-1] == 13
    assert "Initial session." in played.requests[12].block
    assert "The test was talked about" not in played.requests[12].block
    first = transcripts.get("session-1", "")
    assert ("- The test was talked about [1.1]" in first) == (meanwhile == "nothing")
    assert ("- Mine." in first) == (meanwhile == "edited")
    gone = "⚠️  Session session-1 is not in HOME/sessions."
    assert (gone in played.shown) == (first == "") == (meanwhile == "deleted")
    restored = transcripts["session-2"].partition("chat:query")[0].partition("Restored")[2]
    assert "The test was talked about" not in restored


def test_without_a_model_for_summaries_code_compacts(tmp_path: Path) -> None:
    with Chats(tmp_path, window=8_000) as chats:
        chats.configure(auto_compact={"use_ai_summary": False})
        played = chats.play("The port is 5544.", *long(2, 14), "exit")
        parent, _ = chats.transcripts().values()
    assert {request.kind for request in played.asked} == {"reply"}
    assert "- The port is 5544." in played.requests[-1].block
    assert "summary=extracted" in parent
    assert "without a model" in " ".join(played.shown.split())
    assert "Generating session summary" not in played.shown


@pytest.mark.slow
def test_three_failures_in_a_row_end_the_attempts_until_compact(tmp_path: Path) -> None:
    with Chats(tmp_path, window=8_000) as chats:
        chats.summary = failing(401, "authentication_error")
        played = chats.play(*long(1, 30), "/context", "/compact", "exit")
    assert len(played.summaries) == 4
    assert "refused the key" in played.after("/compact")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("wire", "window"),
    [
        pytest.param("openai", 8_000, marks=pytest.mark.slow),
        ("openai", 1_024),
        pytest.param("anthropic", 8_000, marks=pytest.mark.slow),
    ],
)
def test_a_long_conversation_stays_in_its_window(tmp_path: Path, wire: Wire, window: int) -> None:
    """The server counts more tokens than the program expects, and a small window has no room for
    the tools of the archive.
    """
    with Chats(tmp_path, wire, window=window) as chats:
        chats.characters_per_token = 3
        chats.served_window = window
        played = chats.play(
            *[f"{number} " + "word " * (10 + 37 * number % 300) for number in range(1, 46)], "exit"
        )
        assert asked(chats) == list(range(1, 46))
        assert len(chats.transcripts()) > 2
    assert max(request.usage.input for request in played.asked) <= window
    assert "too long" not in played.shown
    assert "Not sent" not in played.shown
    assert bool(played.requests[-1].tools) == (window == 8_000)
    for number, request in enumerate(played.requests, start=1):
        numbers = sent(request)
        assert numbers == list(range(numbers[0], number + 1))
        assert request.roles == ("user", "assistant") * (len(numbers) - 1) + ("user",)
    assert [request.wire for request in played.summaries] == [wire] * len(played.summaries)


def test_a_turn_that_fills_the_window_with_results_goes_on(tmp_path: Path) -> None:
    with Chats(tmp_path, window=16_000) as chats:
        _let_read(chats, "".join(f"Line {number} tells of the harbor.\n" for number in range(300)))
        chats.served_window = 16_000
        chats.replies["read all"] = [call("read_file", path="notes.txt")] * 4 + ["I read all."]
        words = [f"{number} {LONG}{LONG}" for number in range(1, 10)]
        played = chats.play(*words, "read all", "What did it say?", "exit")
    assert "Assistant: I read all." in played.after("read all")
    assert "tells of the harbor." in played.requests[-1].text


@pytest.mark.parametrize(
    ("characters_per_token", "named"), [(400, True), (1, True), (3, False), (7, False)]
)
def test_a_report_that_cannot_be_is_named_and_bounded(
    tmp_path: Path, characters_per_token: int, named: bool
) -> None:
    with Chats(tmp_path) as chats:
        chats.characters_per_token = characters_per_token
        played = chats.play(*long(1, 3), "/context", "exit")
    context = played.after("/context")
    doubt = re.findall(
        r"The server reports ([\d,]+) tokens for a request of about ([\d,]+):", context
    )
    assert len(doubt) == named
    for _, ours in doubt:
        shown = re.search(r"^Context: ~?([\d,]+) of", context, re.MULTILINE)
        assert shown
        share = float(shown[1].replace(",", "")) / float(ours.replace(",", ""))
        assert 1 <= share <= 2.5  # of the request before, without its reply


def test_a_message_too_large_for_the_window_is_sent_without_its_middle(tmp_path: Path) -> None:
    giant = "begin " + "word " * 8_000 + "end"
    with Chats(tmp_path, window=4_000) as chats:
        played = chats.play("Hello", giant, "And now?", "exit")
        [transcript] = chats.transcripts().values()
    assert "the middle of your message was shortened." in played.after(giant)
    assert played.requests[1].messages[:2] == played.requests[2].messages[:2] == echoed("Hello")
    cut = played.requests[1].messages[2]
    assert cut.startswith("user: begin word")
    assert cut.endswith("word end")
    assert "of 40,009 characters left out" in cut
    assert played.requests[2].messages[2] == cut
    assert giant in transcript
    assert "📦" not in played.shown


def test_switched_off_the_limits_leave_out_the_oldest_words_and_say_so(tmp_path: Path) -> None:
    with Chats(tmp_path) as chats:
        chats.configure(auto_compact={"enabled": False}, context={"max_history_messages": 5})
        played = chats.play(*[f"{number} word" for number in range(1, 9)], "/context", "exit")
        assert asked(chats) == list(range(1, 9))
    assert [len(request.messages) for request in played.requests] == [1, 3, 5, 5, 5, 5, 5, 5]
    assert sent(played.requests[-1]) == [6, 7, 8]
    shown = " ".join(played.shown.split())
    left_out = "The model no longer gets the oldest 1 message: automatic compaction is off"
    assert shown.count("The model no longer gets") == shown.count(left_out) == 1
    assert "The oldest 6 messages are not sent: context.max_history_messages" in shown
    assert len(played.summaries) == 1  # at the exit


def test_switched_off_and_full_nothing_is_sent_and_nothing_lost(tmp_path: Path) -> None:
    with Chats(tmp_path, window=4_000) as chats:
        chats.configure(auto_compact={"enabled": False})
        chats.served_window = 4_000
        played = chats.play(*long(1, 9), "exit")
        assert asked(chats) == list(range(1, 10))
    assert len(played.requests) < 9
    shown = " ".join(played.after(f"9 {LONG}").split())
    assert "tokens, and the window of 4K takes 3,200" in shown
    assert "/context shows what fills it" in shown


def test_what_gains_nothing_does_not_happen_and_asks_no_model(tmp_path: Path) -> None:
    """The memory alone fills the limit, so no compaction could help."""
    with Chats(tmp_path, window=40_000) as chats:
        (chats.home / "MEMORY.md").write_text(
            "".join(f"- Fact {n} of the boats.\n" for n in range(150))
        )
        chats.configure(
            auto_compact={"preserve_recent": 2},
            context={"max_history_tokens": 1_100},
            on_exit="later",
        )
        played = chats.play(*[f"Short {number}" for number in range(12)], "exit")
    assert "Fact 90 of the boats." in played.requests[0].system
    assert len(played.asked) - len(played.requests) <= 1
    assert "📦" not in played.shown


@pytest.mark.parametrize("wire", ONE_WIRE_QUICK)
def test_the_window_that_a_server_names_is_the_one_that_holds(tmp_path: Path, wire: Wire) -> None:
    """The config says 128,000, and the server was started with 4,000."""
    with Chats(tmp_path, wire, window=128_000) as chats:
        chats.configure(auto_compact={"use_ai_summary": False}, on_exit="later")
        chats.served_window = 4_000
        played = chats.play("The port is 8443.", *long(2, 16), "/context", "exit")
        said = asked(chats)
        first = chats.transcripts()["session-1"]
    assert played.shown.count("The conversation is too long for the model") == 1
    assert played.shown.count("The conversation was compacted, and the message is sent again.") == 1
    assert played.shown.count("📦 Compacted") >= 2
    assert "Auto-compacts at 3,200 tokens." in played.shown
    assert played.shown.count("Assistant: You said") == 16
    refused = next(request for request in played.requests if not request.usage.input)
    again = played.requests[played.requests.index(refused) + 1]
    assert again.messages[-1].endswith(refused.messages[-1].removeprefix("user: "))
    assert "The port is 8443." in again.block
    # the refused one stands in both files, and in the first as undone
    [twice] = [number for number in range(2, 17) if said.count(number) == 2]
    assert said == [*range(2, twice + 1), *range(twice, 17)]
    assert f"<!-- chat:undo n={twice} " in first


def test_a_conversation_that_is_refused_as_too_long_is_sent_once_more(tmp_path: Path) -> None:
    with Chats(tmp_path) as chats:
        chats.configure(auto_compact={"use_ai_summary": False}, resume={"acknowledge": False})
        refusal = failing(
            400, "invalid_request_error", "prompt is too long", code="context_length_exceeded"
        )
        played = chats.play(
            lambda: chats.server.enqueue(refusal),
            "First.",
            "The port is 8443.",
            lambda: chats.server.enqueue(refusal, refusal),
            "And the host?",
            "Which port?",
            lambda: chats.server.enqueue(
                Reply(chunks=("Half",), error_after=1, error=refusal.error)
            ),
            "Tell me more.",
            "exit",
        )
        transcripts = chats.transcripts()
    alone, first, refused, again, third, broken = (request.messages for request in played.requests)
    # with nothing to compact, it is only kept
    assert alone == ("user: First.",)
    assert "Type compact to shorten the conversation." in played.after("First.")
    assert first == ("user: The port is 8443.",)
    assert refused == (*first, "assistant: You said: The port is 8443.", "user: And the host?")
    assert again[-1].endswith("\n\nAnd the host?")
    assert "The port is 8443." in again[0]
    assert "CONTEXT RESTORATION" in again[0]
    # it failed twice, is saved, and is not sent with the next message
    assert third[-1].endswith("\n\nWhich port?")
    assert "And the host?" not in third[-1]
    assert broken[-1] == "user: Tell me more."
    assert list(transcripts) == ["session-1", "session-2"]
    assert "**You:** And the host?" in transcripts["session-2"]


def test_a_smaller_model_gets_what_fits_before_the_next_message(tmp_path: Path) -> None:
    with Chats(tmp_path) as chats:
        chats.configure(models={"test-model": {"window": 32_000}, "small-model": {"window": 4_000}})
        played = chats.play(*long(1, 10), "/model openai:small-model", "11 and now?", "exit")
    last = played.requests[-1]
    assert "it is compacted before your next message" in " ".join(played.shown.split())
    assert last.body["model"] == "small-model"
    assert last.usage.input <= 3_200
    assert "CONTEXT RESTORATION" in last.messages[0]
    assert [request.body["model"] for request in played.requests[:-1]] == ["test-model"] * 10


@pytest.mark.slow
def test_a_resumed_block_is_shortened_for_a_window_that_turns_out_smaller(tmp_path: Path) -> None:
    ports = [f"Server {number} of the harbor has port {7000 + number}." for number in range(150)]
    with Chats(tmp_path) as chats:
        lines = [" ".join(ports[first : first + 25]) for first in range(0, 150, 25)]
        chats.play(*lines, "/pin Oak.", "exit")
        chats.served_window = 2_000
        played = chats.play(
            "/resume session-1 --summary --quick", "Which ports?", "And now?", "exit"
        )
        child = list(chats.transcripts().values())[-1]
    refused, again = (request.block for request in played.requests)
    assert "Type compact to shorten the conversation." in played.after("Which ports?")
    assert "Assistant: You said: And now?" in played.after("And now?")
    assert refused in child, "the file keeps the whole block"
    fact = re.compile(r"^[-+] (Server .*)$", re.MULTILINE)
    old, new = fact.findall(refused), fact.findall(again)
    assert 0 < len(new) < len(old)
    assert new == old[-len(new) :], "the oldest facts go first"
    assert "**Pinned:**\n- Oak.\n" in again


def _let_read(chats: Chats, text: str) -> None:
    """Let the model read a file when the user says so."""
    chats.configure(agent={"tools": ["read_file"]})
    (chats.project / "notes.txt").write_text(text)
    chats.replies["read the notes"] = [call("read_file", path="notes.txt"), "I read them."]
