"""`--continue`, `-c -p` and the offer at the start: the newest conversation of this project."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.support.chats import Chats, echoed


def at_work(folder: Path) -> tuple[Chats, Path]:
    """Return chats in a repository, and another repository."""
    chats = Chats(folder)
    other = folder / "other"
    for project in (chats.project, other):
        (project / ".git").mkdir(parents=True)
    chats.configure(on_exit="later")
    return chats, other


def saying(chats: Chats, text: str) -> Path:
    """Return the session's file in which `text` was said. Ids of erased ones are used again."""
    [path] = [
        path
        for path in (chats.home / "sessions").glob("*.md")
        if f"You said: {text}".encode() in path.read_bytes()
    ]
    return path


def damage(path: Path) -> None:
    """Write zeros into a file, as a power failure does."""
    path.write_bytes(b"\0" * 500)


def test_a_script_gets_the_command_that_takes_a_conversation_of_another_project(
    tmp_path: Path,
) -> None:
    chats, other = at_work(tmp_path)
    with chats:
        model = ("--model", chats.model)
        chats.run(*model, "-p", "Here.")
        here, chats.project = chats.project, other
        printed = chats.run(*model, "-c", "-p", "And?")
        chatted = chats.play("And?", "exit", options=("-c",))
        taken = chats.run(*model, "--resume", "session-1", "-p", "There.")
        went_on = chats.run(*model, "-c", "-p", "Still there.")
        chats.project = here
        gone = chats.run(*model, "-c", "-p", "And here?")
    newest = "There is no conversation of PROJECT yet. The newest one is “Here.” ("
    assert (printed.code, printed.shown, printed.asked) == (1, "", ())
    assert printed.errors.startswith(newest)
    assert f"of {here}.\n" in printed.errors
    command = "chat-loop --model openai:test-model --resume session-1"
    assert f"{command} -p QUESTION continues it here." in printed.errors
    assert (chatted.code, chatted.asked) == (1, ())
    assert newest in chatted.shown
    assert f"{command} continues it here." in chatted.shown
    assert taken.requests[0].messages == (*echoed("Here."), "user: There.")
    assert went_on.requests[0].messages == (*echoed("Here.", "There."), "user: Still there.")
    # the conversation is one of the other project now
    assert (gone.code, gone.asked) == (1, ())
    assert f"of {other}.\n" in gone.errors


def test_a_person_is_asked_before_a_conversation_of_another_project_goes_on(tmp_path: Path) -> None:
    chats, other = at_work(tmp_path)
    with chats:
        chats.play("Here.", "exit")
        here, chats.project = chats.project, other
        with chats.terminal("-c", "And?") as terminal:
            terminal.wait_for("here?")
            shown = "".join(terminal.text().split())  # its lines end where the path lets them
            assert "Thenewestoneis“Here.”(today" in shown
            assert str(here) in shown
            terminal.line("n")
            terminal.wait_for("Not continued.")
            terminal.wait_for("You: And?")
            assert len(chats.server.requests) == 1, "the message waits in the line"
            terminal.line(" now")
            terminal.wait_for("You said: And? now")
            terminal.line("exit")
            assert terminal.exit_code() == 0
        chats.project = tmp_path / "third"
        chats.project.mkdir()
        with chats.terminal() as terminal:
            terminal.wait_for('type "resume last" to continue')
            assert "Last time, in other: And? now (" in terminal.text()
            terminal.line("resume last")
            terminal.wait_for("here?")
            terminal.line("y")
            terminal.wait_for("✓ Found")
            terminal.line("So?")
            terminal.wait_for("You said: So?")
            terminal.line("exit")
            assert terminal.exit_code() == 0
        [request] = chats.run("--model", chats.model, "-c", "-p", "Here now?").requests
    assert request.messages == (*echoed("And? now", "So?"), "user: Here now?")


def test_a_repository_is_one_project_with_its_folders(tmp_path: Path) -> None:
    chats, _ = at_work(tmp_path)
    with chats:
        model = ("--model", chats.model)
        main = chats.project
        own = main / ".git" / "worktrees" / "tree"
        own.mkdir(parents=True)
        tree = tmp_path / "tree"
        (tree / "src").mkdir(parents=True)
        (own / "commondir").write_text("../..\n")
        (own / "gitdir").write_text(f"{tree}/.git\n")
        (tree / ".git").write_text(f"gitdir: {own}\n")
        (main / "src" / "deep").mkdir(parents=True)
        chats.run(*model, "-p", "One.")
        said = ["One."]
        for number, folder in enumerate((main / "src" / "deep", tree / "src", main), 1):
            chats.project = folder
            [request] = chats.run(*model, "-c", "-p", f"In {number}.").requests
            assert request.messages == (*echoed(*said), f"user: In {number}.")
            said.append(f"In {number}.")
        (main / "vendored" / ".git").mkdir(parents=True)
        claiming = tmp_path / "claiming"
        claiming.mkdir()
        (claiming / ".git").write_text(f"gitdir: {own}\n")
        for folder in (main / "vendored", claiming, tmp_path):
            chats.project = folder
            assert chats.run(*model, "-c", "-p", "And?").code == 1, folder


@pytest.mark.slow
def test_what_cannot_be_read_does_not_block_the_one_before_it(tmp_path: Path) -> None:
    chats, other = at_work(tmp_path)
    with chats:
        model = ("--model", chats.model)
        chats.run(*model, "-p", "One.")
        chats.run(*model, "-p", "Two.")
        chats.run(*model, "-p", "Three.")
        saying(chats, "Three.").unlink()  # erased
        damage(saying(chats, "Two."))
        here, chats.project = chats.project, other
        chats.run(*model, "-p", "There.")
        chats.project = here
        went_on = chats.run(*model, "-c", "-p", "Four.")
        damage(saying(chats, "Four."))
        again = chats.run(*model, "-c", "-p", "Five.")
        for text in ("Five.", "One."):
            damage(saying(chats, text))
        nothing = chats.run(*model, "-c", "-p", "Six.")
    assert went_on.requests[0].messages == (*echoed("One."), "user: Four.")
    assert again.requests[0].messages == (*echoed("One."), "user: Five.")
    assert "cannot be read: the one before it is continued." in again.errors
    assert again.errors.startswith("Session ")
    assert (nothing.code, nothing.asked) == (1, ())
    assert f"of {other}.\n" in nothing.errors


@pytest.mark.slow
def test_sessions_without_a_pointer_are_found_once(tmp_path: Path) -> None:
    chats, other = at_work(tmp_path)
    with chats:
        model = ("--model", chats.model)
        chats.play("One.", "exit")
        here, chats.project = chats.project, other
        chats.play("There.", "exit")
        chats.project = here
        pointers = chats.home / "sessions" / ".current"
        # as an earlier version wrote it
        pointers.write_text(f"{chats.path('session-2').stem}\n")
        first = chats.run(*model, "-c", "-p", "Two.")
        made = json.loads(pointers.read_text())
        second = chats.run(*model, "-c", "-p", "Three.")
        pointers.unlink()
        pointers.mkdir()  # so that no pointer can be written
        third = chats.run(*model, "-c", "-p", "Four.")
    assert first.requests[0].messages == (*echoed("One."), "user: Two.")
    assert second.requests[0].messages == (*echoed("One.", "Two."), "user: Three.")
    assert made["complete"]
    assert [project for project, _ in made["newest"]] == [str(here), str(other)]
    assert third.requests[0].messages == (*echoed("One.", "Two.", "Three."), "user: Four.")


def test_a_list_says_what_a_row_is_for_and_a_tree_tells_its_sessions_apart(tmp_path: Path) -> None:
    chats, other = at_work(tmp_path)
    with chats:
        chats.play("Which heron is it?", "exit")
        chats.play("It was gray.", "/fork 1", "Or was it a stork?", "exit", options=("-c",))
        here, chats.project = chats.project, other
        chats.play("The rent is due.", "exit")
        chats.project = here
        [there, branch, heron] = chats.run("sessions", "list").shown.splitlines()
        tree = chats.run("sessions", "tree", "3").shown
        saying(chats, "Which heron is it?").unlink()
        orphans = chats.run("sessions", "tree", "session-2").shown
        shown = chats.play("/tree session-2", "exit").after("/tree session-2")
    # the words of the talk, not the tokens of all its requests
    assert re.search(r"The rent is due\. .* other +1 message +\d\d tokens ", there)
    assert re.search(
        r"Which heron is it\? ⑂.*“Or was it a stork\?” .* 3 messages +\d\d tokens ", branch
    )
    assert re.search(r"Which heron is it\? .* 2 messages +\d\d tokens ", heron)
    assert chats.project.name not in heron + branch
    assert tree.splitlines()[0].endswith(" · Which heron is it?")
    assert tree.splitlines()[1].endswith(" · “It was gray.”")
    for text in (orphans, shown):
        assert "continues session-1, not in the folder" in text
