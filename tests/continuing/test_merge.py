"""Merging: one child of two branches, with the lines of both and their places."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from benchmarks.support.loopback import Received, Reply
from tests.support.chats import Chats, Played, field

GOES_ON = "Continuing in a new session with what is saved so far."
FACTS = {
    1: ("The budget is 8,400 euros.", "The gateway listens on port 5432."),
    2: ("Correction: the gateway listens on port 5544.", "Tom has shoe size 43."),
    3: ("Ida ordered 12 handles for 96 euros.", "Decision: we take oak fronts."),
}


def branched(chats: Chats, *, sealed: bool = False) -> None:
    """Make session-1, and session-2 and session-3, which both go on from it. Code writes all
    summaries: at an exit if `sealed`, else when they are needed.
    """
    chats.configure(auto_compact={"use_ai_summary": False}, resume={"acknowledge": False})
    parts = [(*FACTS[1], "/rename Kitchen", "/tag home")]
    for number in (2, 3):
        parts.append(("/resume session-1 --quick", *FACTS[number], f"/tag branch{number}"))
    if sealed:
        for part in parts:
            chats.play(*part, "exit")
    else:
        chats.play(*(line for part in parts for line in (*part, "/new")))


def facts(played: Played) -> list[str]:
    """Return the lines under Key Facts in the block of the last request, each with its place."""
    text = played.requests[-1].block.partition("**Key Facts:**\n")[2].partition("\n\n")[0]
    place = ""
    lines = []
    for line in text.splitlines():
        if group := re.fullmatch(r"\*(User|Model), session (\d+):\*", line):
            place = f" [{group[2]} {'user' if group[1] == 'User' else 'reply'}]"
        else:
            lines.append(line.removeprefix("- ") + place)
    return lines


def test_two_branches_become_one(tmp_path: Path) -> None:
    with Chats(tmp_path) as chats:
        branched(chats, sealed=True)
        before = chats.transcripts()
        played = chats.play(
            *("/merge session-2 session-3", "/tree", "/history", "And the lamp?", "/uncompact"),
            "exit",
        )
        files = chats.transcripts()
    assert played.after("/merge session-2 session-3").endswith(
        " tokens. The two stay as they are.\n🔄 Restoring context..."
    )
    assert {name: files[name] for name in before} == before
    merged = files["session-4"]
    assert field(merged, "Resumed From") == "session-2"
    assert field(merged, "Name") == "Kitchen"
    assert field(merged, "Tags") == "home, branch2, branch3"
    assert ", merged with [session-3](session-3.md)\n" in merged
    [request] = played.requests
    assert request.messages[0].endswith("\n\nAnd the lamp?")
    assert facts(played) == [
        "The budget is 8,400 euros. [1 user]",
        "Correction: the gateway listens on port 5544. [2 user]",
        "Tom has shoe size 43. [2 user]",
        "Ida ordered 12 handles for 96 euros. [3 user]",
    ]
    assert "- Decision: we take oak fronts. [3 user]\n" in request.block
    assert "- Tom has shoe size 43. [2.2]\n" in request.block
    assert "- Ida ordered 12 handles for 96 euros. [3.1]\n" in request.block
    assert "● session-4 #home #branch2 #branch3  ← you are here\n" in played.after("/tree")
    assert "merged with number " in played.after("/tree")
    history = re.findall(r"\[Summary \d\] .* \((.*)\):", played.after("/history"))
    assert history == ["session-1", "session-2", "session-3"]
    assert "✗ This session was not compacted.\n" in played.after("/uncompact")


@pytest.mark.slow
def test_what_is_not_merged(tmp_path: Path) -> None:
    with Chats(tmp_path) as chats:
        branched(chats)
        chats.play("The unrelated lamp has 40 watts.", "exit")
        played = chats.play(
            *("/merge session-1", "/merge", "/merge session-2 session-2"),
            *("/merge session-2 session-9x", "/merge session-1 session-2"),
            *("/merge session-2 session-1", "/merge session-2 session-4", "n"),
        )
        assert len(chats.transcripts()) == 4
        anyway = chats.play("/merge session-2 session-4", "y", "So?", "exit")
    assert facts(anyway)[-1] == "The unrelated lamp has 40 watts. [3 user]"
    assert played.after("/merge session-1").startswith("✗ This conversation has no messages yet.")
    assert played.after("/merge").startswith("✗ Usage: /merge A [B]")
    assert played.after("/merge session-2 session-2").startswith("✗ Both are session-2.")
    nothing = "✗ session-2 continues session-1: there is nothing to merge.\n"
    assert played.after("/merge session-1 session-2").startswith(nothing)
    assert played.after("/merge session-2 session-1").startswith(nothing)
    assert played.after("/merge session-2 session-4") == (
        "These sessions are unrelated. Merge anyway? [y]es [n]o n\nNot merged."
    )


@pytest.mark.slow
def test_a_merge_is_merged_and_compacted(tmp_path: Path) -> None:
    with Chats(tmp_path) as chats:
        branched(chats)
        chats.play("/resume session-3 --quick", "The lamp has 40 watts.", "exit")
        merged = chats.run("--model", chats.model, "sessions", "merge", "session-2", "session-3")
        played = chats.play(
            *("/resume session-5 --quick", "The door is 2 m high.", "/merge session-4"),
            *("The fence is 12 m long.", "/compact", "And now?", "exit"),
        )
        unsealed = chats.play(
            *(
                "/resume session-2 --quick",
                "The roof is 9 m wide.",
                "/merge session-3",
                "So?",
                "exit",
            )
        )
    assert (merged.code, merged.shown) == (0, "session-5\n")
    assert merged.errors.startswith("Merged. Resume with: ")
    assert [fact.partition(" [")[0] for fact in facts(played)[:4]] == [
        "The budget is 8,400 euros.",
        "Correction: the gateway listens on port 5544.",
        "Tom has shoe size 43.",
        "Ida ordered 12 handles for 96 euros.",
    ]
    assert facts(played)[4:] == [
        "The door is 2 m high. [5 user]",
        "The lamp has 40 watts. [6 user]",
        "The fence is 12 m long. [7 user]",
    ]
    assert "The roof is 9 m wide. [3 user]" in facts(unsealed)
    assert "Ida ordered 12 handles for 96 euros. [4 user]" in facts(unsealed)


@pytest.mark.slow
@pytest.mark.parametrize("swap", [pytest.param(False, marks=pytest.mark.slow), True])
def test_a_fork_is_merged_with_what_its_parent_said_afterwards(
    tmp_path: Path, *, swap: bool
) -> None:
    with Chats(tmp_path) as chats:
        chats.configure(auto_compact={"use_ai_summary": False})
        chats.play(
            *("Tom has shoe size 43.", "The lamp has 40 watts.", "The gate is 77 cm."),
            *("/fork 1", "Room 1 is 11 m².", "/new"),
        )
        chats.play("/resume session-1 --full --quick", "/fork 2", "Room 2 is 21 m².", "exit")
        order = ("session-2", "session-1") if swap else ("session-1", "session-2")
        whole = chats.play(f"/merge {' '.join(order)}", "So?", "exit")
        merged = chats.transcripts()["session-4"]
        forks = chats.play("/merge session-2 session-3", "So?", "exit")
        later = chats.play("/show 2.1", "/show 3.1", "/fork 3.1", "And?", "exit", options=("-c",))
    assert facts(whole) == [
        "Tom has shoe size 43. [1 user]",
        "The lamp has 40 watts. [1 user]",
        "The gate is 77 cm. [1 user]",
        "Room 1 is 11 m². [2 user]",
    ]
    assert field(merged, "Resumed From") == "session-1", "the one that has more of what both have"
    assert "The gate is 77 cm." not in forks.requests[-1].block, "neither fork has it"
    assert "The lamp has 40 watts. [1 user]" in facts(forks)
    both = ("Room 1 is 11 m².", "Room 2 is 21 m².")
    shown = later.after("/show 2.1") + later.after("/show 3.1")
    assert all(words in shown for words in both), "the merge is the middle of this chain"
    assert later.requests[0].messages[-1] == "user: And?"


@pytest.mark.slow
@pytest.mark.parametrize("swap", [False, True])
def test_a_fork_does_not_bring_back_what_the_other_branch_corrected(
    tmp_path: Path, *, swap: bool
) -> None:
    with Chats(tmp_path) as chats:
        branched(chats)
        chats.play("/resume session-1 --full --quick", "/fork 2", "The lamp has 40 watts.", "exit")
        order = ("session-4", "session-2") if swap else ("session-2", "session-4")
        played = chats.play(f"/merge {' '.join(order)}", "So?", "exit")
    assert not any("5432" in fact for fact in facts(played))
    assert any("port 5544" in fact for fact in facts(played))
    assert any("40 watts" in fact for fact in facts(played))


def test_the_question_about_unrelated_sessions_comes_first(tmp_path: Path) -> None:
    with Chats(tmp_path) as chats:
        chats.configure(on_exit="later")
        chats.play("Oak.", "/new", "Ash.", "exit")
        played = chats.play("/merge session-1 session-2", "n", "exit")
    assert played.asked == ()


def test_a_summary_that_the_user_skips_is_made_without_the_model(tmp_path: Path) -> None:
    """The file stays as it is: a resume has its summary made."""
    with Chats(tmp_path) as chats:
        chats.play(*FACTS[3], "exit")
        chats.configure(on_exit="later", resume={"acknowledge": False})
        chats.play(*FACTS[1], "exit")
        before = chats.transcripts()
        chats.summary = Reply(chunks=("**Background", " Context:**"), stall_after=1)
        skip = chats.interrupt_at("Generating session summary")
        played = chats.play(skip, "/merge session-1 session-2", "y", "So?", "exit")
        after = chats.transcripts()
    assert "Summary skipped." in played.shown
    assert facts(played) == [
        "Ida ordered 12 handles for 96 euros. [1 user]",
        "The budget is 8,400 euros. [2 user]",
        "The gateway listens on port 5432. [2 user]",
    ]
    assert {name: after[name] for name in before} == before


def test_a_branch_that_is_deleted_while_its_summary_is_made_stays_deleted(tmp_path: Path) -> None:
    """What was read of it is merged all the same."""
    with Chats(tmp_path) as chats:
        chats.play(*FACTS[3], "exit")
        chats.configure(on_exit="later", resume={"acknowledge": False})
        chats.play(*FACTS[1], "exit")
        path = chats.path("session-2")
        answer = chats.server.handler

        def delete(request: Received) -> Reply:
            if path.exists():
                chats.lose("session-2")
            return answer(request)

        chats.server.handler = delete
        played = chats.play("/merge session-1 session-2", "y", "So?", "exit")
    told = f"Not saved: HOME/sessions/session-2.md: no such file or directory. {GOES_ON}"
    assert told in " ".join(played.shown.split())
    assert facts(played)[1] == "The budget is 8,400 euros. [2 user]"
    assert not path.exists()


@pytest.mark.slow
def test_words_go_to_no_other_model_unasked(tmp_path: Path) -> None:
    with Chats(tmp_path) as chats:
        branched(chats, sealed=True)  # with OpenAI's; the default model is Anthropic's
        chats.configure(resume={"acknowledge": False})
        same = chats.run(stdin="/merge session-2 session-3\nSo?\nexit\n")
        stored = chats.run("sessions", "merge", "session-2", "session-3")
        went_on = chats.run("--resume", "session-5", "-p", "So?")
        other = ("-m", "anthropic:other")
        chats.run(*other, stdin="The lamp has 40 watts.\nexit\n")
        mixed = "/merge session-2 session-7\nSo?\nexit\n"
        piped = chats.run(stdin=mixed)
        refused = chats.run("sessions", "merge", "session-2", "session-7")
        decided = chats.run(*other, "sessions", "merge", "session-2", "session-7")
        chosen = chats.run(*other, stdin=mixed.replace("So?", "y\nSo?"))
        with chats.terminal(model=False) as screen:
            screen.wait_for("You:")
            screen.line(f"/merge {chats.path('session-2').stem} {chats.path('session-7').stem}")
            screen.wait_for("Continue with openai:test-model at http")
            asked = len(chats.server.requests)
            screen.line("n")
            screen.wait_for("Not merged. Starting fresh.")
            screen.ctrl("d")
            assert screen.exit_code() == 0
        assert len(chats.server.requests) == asked
    assert [each.wire for each in (*same.requests, *went_on.asked)] == ["openai"] * 2
    assert (stored.code, stored.shown, stored.asked) == (0, "session-5\n", ())
    said = "One branch was recorded with openai:test-model, the other one with anthropic:other."
    assert (piped.code, piped.asked) == (1, ())
    assert said in piped.shown
    assert (refused.code, refused.asked) == (1, ())
    assert refused.errors == f"Not merged. {said}\n-m MODEL says with which model to go on.\n"
    assert decided.code == 0
    assert {each.wire for each in chosen.requests} == {"anthropic"}
    assert "Recorded with openai:test-model; continuing with anthropic:other.\n" in chosen.shown


@pytest.mark.slow
@pytest.mark.parametrize("is_first", [pytest.param(True, marks=pytest.mark.slow), False])
def test_a_branch_that_is_open_elsewhere_is_left_where_it_is(
    tmp_path: Path, *, is_first: bool
) -> None:
    with Chats(tmp_path) as chats:
        chats.configure(auto_compact={"use_ai_summary": False})
        chats.play("Tom has shoe size 43.", "exit")

        def merge() -> None:
            order = ("session-3", "session-2") if is_first else ("session-2", "session-3")
            assert "So?" in chats.play(f"/merge {' '.join(order)}", "So?", "exit").shown

        chats.play("/resume session-1 --quick", "The lamp has 40 watts.", "exit")
        chats.play(
            "/resume session-1 --quick",
            "The gate is 77 cm.",
            merge,
            "The roof is 9 m wide.",
            "exit",
        )
        merged = chats.transcripts()["session-4"]
        listed = chats.run("sessions", "list", "--all")
        shown = chats.run("--resume", "session-4", "-p", "So?").requests[-1].text
    parent = "until" if is_first else "merged_until"
    assert re.search(rf" {parent}=2\.1[ >]", merged)
    assert "40 watts" in shown
    assert "77 cm" in shown
    assert "9 m wide" not in shown
    assert len(listed.shown.splitlines()) == 2, "what goes on elsewhere stays a conversation"


def test_nothing_that_was_undone_before_a_merge_comes_back(tmp_path: Path) -> None:
    """Its reference could name another message since, and no words are carried."""
    with Chats(tmp_path) as chats:
        branched(chats)
        chats.play("/resume session-3 --quick", "Oops.", "/undo", "exit")
        played = chats.play("/merge session-2 session-4", "/redo", "/show 4.1", "exit")
    assert played.after("/redo").startswith("✗ Nothing was undone.")
    undone = "✗ 4.1 is not part of this conversation: it was undone, or left behind."
    assert played.after("/show 4.1").startswith(undone)


def test_a_branch_without_a_reply_yet_that_is_open_elsewhere_is_merged_as_it_began(
    tmp_path: Path,
) -> None:
    with Chats(tmp_path) as chats:
        chats.configure(auto_compact={"use_ai_summary": False})
        chats.play("Tom has shoe size 43.", "The lamp has 40 watts.", "exit")
        chats.play("/resume session-1 --quick", "/fork 1.1", "The gate is 77 cm.", "exit")
        merged: list[Played] = []

        def merge() -> None:
            merged.append(chats.play("/merge session-2 session-3", "So?", "exit"))

        chats.play("/resume session-1 --quick", "/pin The roof is 9 m wide.", merge, "exit")
    [played] = merged
    told = "session-3 is open in another process. Continuing in a branch beside it, as it began."
    assert told in played.shown
    sent = played.requests[-1].text
    assert "40 watts" in sent
    assert "77 cm" in sent
    assert "The roof" not in sent
