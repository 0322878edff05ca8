"""Rewind, undo, retry and edit: what the model no longer sees, and where the words stay."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from benchmarks.support.loopback import Reply, failing
from tests.support.chats import Chats, call, echoed, field

NOTHING = "✗ This session has no messages yet."


def files_of(chats: Chats) -> list[str]:
    """Return the transcripts without the messages, where undone words stay."""
    records = re.compile(r"<!-- chat:(query|reply|call|result) .*?<!-- chat:end", re.DOTALL)
    return [records.sub("", text) for text in chats.transcripts().values()]


def test_the_model_no_longer_sees_what_was_undone(tmp_path: Path) -> None:
    with Chats(tmp_path) as chats:
        (chats.project / "notes.txt").write_text("the vault is in Tromsø\n")
        chats.replies["vault"] = [call("read_file", path="notes.txt"), "In Tromsø."]
        played = chats.play(
            *("/undo", "Oak.", "/context", "Where is the vault?", "/undo", "/context"),
            *("Ash.", "/undo", "/undo", "/undo", "/undo 3", "Elm.", "exit"),
            options=("--tools", "read_file"),
        )
        [transcript] = chats.transcripts().values()
        found = chats.run("sessions", "search", "Tromsø")
        kept = chats.run("sessions", "search", "Elm")
    assert played.after("/undo") == NOTHING
    before, after = re.findall(r"You: /context\nContext: (\d+) of", played.shown)
    assert abs(int(before) - int(after)) < 20, "they are counted anew once the encoding is loaded"
    undone = re.findall(r"You: /undo\n(.*)\n", played.shown)
    assert undone == [
        NOTHING,
        "Undone: “Where is the vault?” (/redo brings it back)",
        "Undone: “Ash.” (/redo brings it back)",
        "Undone: “Oak.” (/redo brings it back)",
        "✗ Every message was undone.",
    ]
    assert played.after("/undo 3").startswith(
        "✗ 1.3 is not part of this conversation: it was undone, or left behind.\n"
        "  /fork 1.3 goes on from it."
    )
    _, _, with_result, ash, elm = played.requests
    assert with_result.messages[-1] == "result: the vault is in Tromsø\n"
    assert ash.messages == (*echoed("Oak."), "user: Ash.")
    assert elm.messages == ("user: Elm.",)

    assert "**You:** Where is the vault?\n" in transcript
    assert "*Undone: what was said with query 2.*\n" in transcript
    assert "## Query 4 (TIME)\n**You:** Elm.\n" in transcript, "numbers are not used again"
    assert (found.code, found.shown) == (1, "")
    assert "Elm." in kept.shown


@pytest.mark.slow
def test_what_was_undone_is_nowhere_after_a_compaction_and_a_resume(tmp_path: Path) -> None:
    with Chats(tmp_path) as chats:
        chats.replies["Search"] = [call("archive_search", query="opens with"), "Seen."]
        chats.replies["Read"] = [call("session_archive_read", queries="1-9"), "Seen."]
        played = chats.play(
            *("Which wood?", "The vault in Tromsø opens with 77-19-03.", "/undo"),
            *("The fence is 12 metres long.", "/compact", "What now?", "exit"),
        )
        resumed = chats.play("/resume session-2", "Search.", "Read.", "exit")
        files = files_of(chats)
        empty = chats.play("Oops.", "/undo", "exit")
        left = chats.play("/resume session-4", "exit")
    for asked in (*played.asked[2:], *resumed.asked):
        for word in ("Tromsø", "77-19-03", "vault"):
            assert word not in asked.text
    assert "- The fence is 12 metres long. [1 user]\n" in played.acknowledgments[0].block
    assert not any("Tromsø" in text for text in files)
    assert empty.code == 0
    assert "✗ Session session-4 has no messages: it can't be resumed." in left.shown


@pytest.mark.slow
def test_the_archive_does_not_return_what_was_taken_back(tmp_path: Path) -> None:
    with Chats(tmp_path) as chats:
        chats.replies["Read"] = [call("session_archive_read", queries="1.1-9"), "Seen."]
        chats.play("The fence is green.", "The vault opens with 77-19-03.", "exit")
        again = chats.play("/retry", "exit", options=("-c",))
        replaced = chats.play(
            *("/resume session-1 --quick", "/undo", "Elm.", "/compact", "Read.", "exit"),
            options=("--tools", "read_file"),
        )
    vault = "The vault opens with 77-19-03."
    assert again.requests[0].messages == (*echoed("The fence is green."), f"user: {vault}")
    read = replaced.requests[-1].text
    assert "fence is green" in read
    assert "77-19-03" not in read


def test_the_last_message_is_sent_again_or_replaced(tmp_path: Path) -> None:
    with Chats(tmp_path) as chats:
        chats.replies["Fail"] = failing(400)
        (chats.project / "notes.txt").write_text("port is 5432\n")
        (chats.project / "new.txt").write_text("port is 1\n")

        def change() -> None:
            (chats.project / "notes.txt").write_text("port is 9\n")

        played = chats.play(
            *("/retry", "/edit x", "Oak.", "Ash.", "/retry", "/edit Elm.", "/edit", "/retry now"),
            *(
                "Fail.",
                "/retry",
                "/edit Fir.\nAnd?",
                "Look at @notes.txt please.",
                change,
                "/retry",
            ),
            *("/edit Now @notes.txt and @new.txt.", "n", "/edit See @nothing.txt", "exit"),
        )
        [transcript] = chats.transcripts().values()
    assert played.after("/retry") == played.after("/edit x") == NOTHING
    asked = [request.messages for request in played.requests]
    oak = echoed("Oak.")
    assert asked[1] == asked[2] == (*oak, "user: Ash.")
    assert asked[3] == (*oak, "user: Elm.")
    assert asked[4] == asked[5] == (*echoed("Oak.", "Elm."), "user: Fail.")
    assert asked[6] == (*echoed("Oak.", "Elm."), "user: Fir.\nAnd?")
    assert "port is 5432\n" in asked[7][-1]
    assert asked[7] == asked[8], "files go along as they were"
    assert len(asked) == 9
    shown = played.shown
    assert "You: /retry\nAgain: “Ash.”\nAssistant: You said: Ash.\n" in shown
    assert "You: /edit Elm.\nEdited “Ash.”: “Elm.”\nAssistant: You said: Elm.\n" in shown
    assert played.after("/edit").startswith("✗ There is no line to edit here.\n")
    assert "✗ “now” names no message.\n" in shown
    assert shown.count("📎 notes.txt, 13 bytes\n") == 2
    assert "Send new.txt, 10 bytes along? [y]es [n]o n\nNot sent." in shown
    assert "✗ No file named nothing.txt.\n" in shown
    for words in ("You said: Ash.", "You said: Elm.", "*Undone: what was said with query 2.*"):
        assert words in transcript
    assert transcript.count("**You:** Ash.\n") == 2


def test_a_reply_that_was_interrupted_is_undone_or_asked_for_again(tmp_path: Path) -> None:
    with Chats(tmp_path) as chats:
        broken = Reply(chunks=("Noted", ": Tromsø"), stall_after=2)
        chats.replies["vault"] = broken
        played = chats.play(
            *(chats.interrupt_at("Noted: Tromsø"), "Where is the vault?", "/undo", "Oak."),
            *(chats.interrupt_at("Noted: Tromsø"), "The vault?"),
            *(chats.replies.clear, "/retry", "exit"),
        )
    sent = [asked.messages for asked in played.requests]
    assert sent[1] == ("user: Oak.",)
    assert sent[2] == sent[3] == (*echoed("Oak."), "user: The vault?")
    assert played.after("/retry").startswith(
        "Again: “The vault?”\nAssistant: You said: The vault?\n"
    )


def test_after_tools_that_changed_something_the_user_is_asked_first(tmp_path: Path) -> None:
    with Chats(tmp_path) as chats:
        chats.replies["Write"] = [call("write_file", path="a.txt", text="new\n"), "Done."]
        file = chats.project / "a.txt"
        file.write_text("old\n")
        played = chats.play(
            *("Write it.", "y", "/retry", "n", "/retry", "y", "And?", "exit"),
            options=("--tools", "write_file"),
        )
        assert file.read_text() == "new\n"
        assert "**Changed:**" in chats.transcripts()["session-1"]
    warned = "⚠️  write_file ran for the first answer.\nSend again anyway? [y]es [n]o "
    refused, sent = played.shown.split("You: /retry\n")[1:]
    assert refused.startswith(f"{warned}n\nNot sent.\n")
    assert sent.startswith(
        f"{warned}y\n  a.txt (changed)\nNothing is restored.\nAgain: “Write it.”"
    )
    last = played.requests[-1].messages
    assert last[-1] == "user: And?"
    assert sum(line == "user: Write it." for line in last) == 1


def test_rewind_goes_back_to_before_a_message(tmp_path: Path) -> None:
    with Chats(tmp_path) as chats:
        chats.configure(resume={"acknowledge": False})
        played = chats.play(
            *("/rewind", "One.", "/rewind", "Two.", "Three.", "/rewind 9", "/rewind 2", "/rewind"),
            *("Four.", "Five.", "/rewind", "Six.", "exit"),
        )
        parent, child, last = chats.transcripts().values()
        went_on = chats.play("/resume session-1 --full", "Seven.", "exit")
    first = "✗ That is the first message of this conversation.\n"
    told = re.findall(r"You: /rewind( \d)?\n((?:.|\n)*?)\n(?=You: |$)", played.shown)
    assert [argument for argument, _ in told] == ["", "", " 9", " 2", "", ""]
    texts = [text for _, text in told]
    assert texts[0] == NOTHING
    assert texts[1].startswith(first)
    assert texts[2].startswith("✗ No message 1.9: that session has 1.1 to 1.3.\n")
    assert texts[3].endswith(
        "Rewound to before 1.2: 1 message in the context. Go back: /resume session-1"
    )
    assert texts[4].startswith(first)
    assert "Rewound to before 2.2: 2 messages in the context." in texts[5]
    assert played.requests[3].messages == (*echoed("One."), "user: Four.")
    assert played.requests[5].messages == (*echoed("One.", "Four."), "user: Six.")
    assert went_on.requests[0].messages == (*echoed("One.", "Two.", "Three."), "user: Seven.")
    assert field(parent, "Total Queries") == "3"
    assert "; the words from 1.1 on; forked at 1.1)\n" in child
    assert "; the words from 1.1 on; forked at 2.1)\n" in last


@pytest.mark.parametrize(
    ("steps", "before"),
    [(("/fork", "/undo"), ("One.",)), (("/fork 2", "Four.", "/rewind 1.2"), ("One.",))],
)
def test_words_that_were_carried_can_be_taken_back(
    tmp_path: Path, steps: tuple[str, ...], before: tuple[str, ...]
) -> None:
    with Chats(tmp_path) as chats:
        played = chats.play("One.", "Two.", *steps, "Three.", "exit")
    sent = [asked.messages for asked in played.requests]
    assert (*echoed(*before), "user: Three.") in sent


def test_the_last_message_before_a_compaction_is_sent_again(tmp_path: Path) -> None:
    with Chats(tmp_path) as chats:
        played = chats.play("One.", "Two.", "/compact", "/undo 1.1", "/retry", "exit")
    assert played.after("/undo 1.1") == (
        "✗ 1.1 is only in a summary now.\n  /rewind 1.1 goes back to before it."
    )
    assert "Again: “Two.”" in played.after("/retry")


def test_the_exit_counts_the_messages_that_stand(tmp_path: Path) -> None:
    with Chats(tmp_path) as chats:
        played = chats.play("One.", "/retry", "Two.", "/edit Three.", "exit")
    assert "\n  Queries: 2\n" in played.shown
