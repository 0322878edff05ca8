"""The numbers of a list: each names a conversation, wherever that has gone meanwhile."""

from __future__ import annotations

from pathlib import Path

from tests.support.chats import Chats, echoed


def test_a_number_goes_on_with_its_conversation_and_a_branch_has_one_of_its_own(
    tmp_path: Path,
) -> None:
    with Chats(tmp_path) as chats:
        chats.configure(on_exit="later")
        chats.play("Alpha.", "/new", "Beta.", "exit")
        played = chats.play(
            *("sessions", "/resume 2 --full --quick", "The mast is 12 m."),
            *("/fork", "On a branch.", "/resume 1 --full --quick", "More."),
            *("/show 2", "/resume 2 --full --quick", "Which mast?", "/resume 2"),
            *("/sessions  ", "/resume 2 --full --quick", "And here?", "exit"),
        )
    shown = played.after("/show 2")
    assert "The mast is 12 m." in shown
    assert "On a branch." not in shown
    *_, mast, branch = played.requests
    assert mast.messages == (*echoed("Alpha.", "The mast is 12 m."), "user: Which mast?")
    assert "That session is already open." in played.after("/resume 2")
    rows = played.after("/sessions  ").splitlines()
    assert [row[:12].split()[0] for row in rows] == ["*", "1", "2"]
    assert [("⑂" in row, "Beta." in row) for row in rows] == [
        *((True, False), (False, True), (True, False))
    ]
    assert branch.messages == (
        *echoed("Alpha.", "The mast is 12 m.", "On a branch."),
        "user: And here?",
    )


def test_a_hit_of_a_search_is_shown_as_it_was_and_goes_on_as_it_is(tmp_path: Path) -> None:
    with Chats(tmp_path) as chats:
        chats.configure(on_exit="later")
        chats.play("Which heron is it?", "exit")
        chats.play("/resume last --full --quick", "It was gray.", "exit")
        played = chats.play(
            *("/search heron", "/show 1", "/resume 1 --full --quick", "Gray, then?"),
            *("/tree", "/resume 1 --full --quick", "Which one?", "exit"),
        )
    assert "Which heron is it?" in played.after("/show 1")
    later, earlier = played.requests
    assert later.messages == (*echoed("Which heron is it?", "It was gray."), "user: Gray, then?")
    # the numbers of a tree are those of its sessions
    assert earlier.messages == (*echoed("Which heron is it?"), "user: Which one?")
