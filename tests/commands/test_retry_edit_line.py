"""/edit with a line editor: it puts the last query into the line, and only sending replaces it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from chat_loop.sessions.records import Undo
from tests.support.screens import Line, Screen
from tests.support.scripted_chat import QUIET, Step, said
from tests.support.terminal_chat import answered, chat, leave, saved

OFFER = "Enter resends the edited message; Ctrl-C cancels.\n"
KEPT = "Edit canceled.\n"


def run(folder: Path, lines: list[Line], *steps: Step, answers: tuple[str, ...] = ()) -> Screen:
    return Screen(folder, lines, *steps, options=QUIET, answers=answers, line_editor=True)


def undone(screen: Screen) -> int:
    return [isinstance(one, Undo) for one in screen.talk.conversation.session.entries].count(True)


def test_what_is_sent_takes_the_place_of_the_last_query(tmp_path: Path) -> None:
    screen = run(
        tmp_path,
        ["Hi", "Which\n  wood?", "/edit", "Which\n  stone?", "And now?"],
        "H.",
        "Oak.",
        "Slate.",
        "So.",
    )
    assert screen.reader.offered == ["Which\n  wood?"]
    assert (
        f"You: /edit\n{OFFER}You: Which\n  stone?\nEdited “Which wood?”: “Which stone?”\n"
        in screen.text
    )
    assert screen.talk.sent[2:] == [
        said("Hi", "H.", "Which\n  stone?"),
        said("Hi", "H.", "Which\n  stone?", "Slate.", "And now?"),
    ]
    assert undone(screen) == 1


def test_the_same_is_asked_again(tmp_path: Path) -> None:
    screen = run(tmp_path, ["Which wood?", "/edit", "Which wood?"], "Oak.", "Ash.")
    assert "You: Which wood?\nAgain: “Which wood?”\nSally: Ash.\n" in screen.text
    assert screen.talk.sent == [said("Which wood?")] * 2


@pytest.mark.parametrize(
    "given_up",
    [[""], ["  \n "], [KeyboardInterrupt], ["/info"], ["/nothing"], ["help"], ["/edit", ""]],
)
def test_what_is_given_up_leaves_everything_as_it_was(tmp_path: Path, given_up: list[Line]) -> None:
    screen = run(tmp_path, ["Which wood?", "/edit", *given_up, "And now?"], "Oak.", "So.")
    assert KEPT in screen.text
    assert "Press Ctrl-C again to quit." not in screen.text
    assert screen.talk.sent[-1] == said("Which wood?", "Oak.", "And now?")
    assert undone(screen) == 0


def test_leaving_gives_up_too(tmp_path: Path) -> None:
    screen = run(tmp_path, ["Which wood?", "/edit"], "Oak.")
    assert undone(screen) == 0
    assert screen.text.count("Goodbye!") == 1


def test_text_that_would_be_a_command_stays_text(tmp_path: Path) -> None:
    screen = run(tmp_path, ["Hi", "/edit /info", "/edit", " /info please"], "H.", "So.", "Well.")
    assert screen.reader.offered == [" /info"]
    assert screen.talk.sent[1:] == [said("/info"), said(" /info please")]


def test_on_a_terminal_ctrl_c_gives_up_at_once_and_the_next_entry_is_a_new_one(
    tmp_path: Path,
) -> None:
    with chat(tmp_path) as terminal:
        answered(terminal, "which wood?")
        terminal.line("/edit")
        terminal.wait_for("your last message")
        terminal.mark()
        terminal.ctrl("c")
        terminal.wait_for(re.compile(r"Edit canceled\..*You:", re.DOTALL), output=True)
        terminal.wait_for("context")
        answered(terminal, "and now?")
        terminal.send("never mind")
        terminal.wait_for("never mind")
        terminal.ctrl("c")  # clears an ordinary line, and the chat goes on
        assert "You said: the last" in answered(terminal, "the last")
        leave(terminal)
    assert [one.query.text for one in saved(tmp_path).exchanges] == [
        "which wood?",
        "and now?",
        "the last",
    ]


def test_on_a_terminal_the_editor_opens_from_there(tmp_path: Path) -> None:
    with chat(tmp_path, EDITOR="sed -i s/hard/soft/") as terminal:
        answered(terminal, "which wood is hard?")
        terminal.line("/edit")
        terminal.wait_for("your last message")
        terminal.ctrl("x")
        terminal.ctrl("e")
        terminal.wait_for("You: which wood is soft?")
        assert "You said: which wood is soft?" in answered(terminal, "")
        leave(terminal)
    assert [one.query.text for one in saved(tmp_path).exchanges] == ["which wood is soft?"]


@pytest.mark.slow
def test_on_a_terminal_a_very_long_one_is_folded_and_sent_whole(tmp_path: Path) -> None:
    text = "".join(f"line {number} of what is pasted\n" for number in range(1_000))
    with chat(tmp_path) as terminal:
        answered(terminal, f"\x1b[200~{text}\x1b[201~ so?")
        terminal.line("/edit")
        terminal.wait_for(re.compile(r"You: \[paste \d: [\d,]+ characters, 1,001 lines\]"))
        answered(terminal, " well?")
        leave(terminal)
    assert [one.query.text for one in saved(tmp_path).exchanges] == [f"{text} so? well?"]


def test_what_names_a_missing_file_stands_in_the_line_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.txt").write_text("this is a\n")
    lines: list[Line] = ["Hi", "/edit", "see @b.txt", "see @a.txt", "see @a.txt"]
    screen = run(tmp_path / "s", lines, "H.", "So.", answers=("n", "y"))
    assert screen.reader.offered == ["Hi", "see @b.txt", "see @a.txt"]
    assert "✗ No file named b.txt.\n" in screen.text
    assert "Send a.txt, 10 bytes along? [y]es [n]o n\nNot sent.\n" in screen.text
    assert len(screen.talk.sent) == 2
    assert "this is a\n" in screen.talk.sent[-1][-1].text
    assert undone(screen) == 1
