"""Whole runs of the chat loop: typed lines and the screen."""

from __future__ import annotations

import errno
import re
from pathlib import Path

import pytest

from chat_loop.commands.registry import registry
from chat_loop.errors import AuthenticationFailed, Overloaded
from chat_loop.sessions.parser import parse
from chat_loop.values import Window
from tests.support.failing_files import FailingFiles
from tests.support.screens import Screen, Terminal
from tests.support.scripted_chat import SUMMARY, Says, Talk, names

ID = "sally_20261121_223015"


@pytest.fixture(autouse=True)
def _size(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    for name in ("FORCE_COLOR", "NO_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE"):
        monkeypatch.delenv(name, raising=False)


def test_clear_empties_the_screen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    assert Screen(tmp_path, ["/clear"], out=Terminal()).text.count("\x1b[H\x1b[2J\x1b[3J") == 1


def test_help_is_one_screen_of_what_one_needs_and_of_families(tmp_path: Path) -> None:
    screen = Screen(tmp_path, ["help"], out=Terminal())
    shown = re.sub(r"\x1b\[[0-9;]*m", "", screen.text).partition("You: help\n")[2].split("\n")
    assert len(shown) <= 23
    assert max(map(len, shown)) <= 80
    assert shown[0].startswith("  /help [COMMAND]       Show the commands")
    assert "Conversation     /btw /copy /edit /retry" in shown
    told = " ".join(shown).split()
    missing = [command for command in registry.commands if f"/{command.name}" not in told]
    assert [command.name for command in missing if not command.now] == []


def test_help_all_explains_every_command(tmp_path: Path) -> None:
    lines = Screen(tmp_path, ["/help all"]).text.split("\n")
    assert len([*registry.commands]) > 40
    for command in registry.commands:
        if command.now:
            continue
        usage = f"  {command.usage}"
        assert f"{usage:<30}{command.help}" in lines or (
            lines[lines.index(usage) + 1] == f"    {command.help}"
        )


def test_help_explains_one_command(tmp_path: Path) -> None:
    assert Screen(tmp_path, ["/help /pin", "/help nothing"]).text == (
        """\
You: /help /pin
/pin [--remove] TEXT
  Keep text verbatim through every compaction and resume. Alone, list the pins.
  --remove N              remove a pin, by its number in the list or its text
You: /help nothing
✗ Unknown command /nothing.
  /help lists the commands.
Goodbye!
"""
    )


def test_help_all_on_a_terminal_is_a_line_for_a_command_where_that_says_it(tmp_path: Path) -> None:
    screen = Screen(tmp_path, ["/help all", "/help compact"], out=Terminal())
    shown = re.sub(r"\x1b\[[0-9;]*m", "", screen.text)
    listed, _, told = shown.partition("/help compact\n")
    assert "  /compact [FOCUS]            Summarize and continue in a new session.\n" in listed
    assert (
        "  /exit                       Save the conversation with a summary and quit.\n" in listed
    )
    assert "  /tag [TAG …]                Tag this conversation" in listed
    assert "/untag" not in listed
    assert max(map(len, listed.split("\n"))) <= 80
    assert "--preview asks first." in told
    assert "\n  /compact --preview         see and edit the summary first\n" in told


def test_info(tmp_path: Path) -> None:
    screen = Screen(
        tmp_path,
        ["/info", "Hi", "/pin x", "/info"],
        "Hello.",
        SUMMARY,
        window=Window(128_000, guessed=True),
    )
    assert screen.text.startswith(
        """\
You: /info
Session ID:     none yet: it begins with your first message
Agent:          Sally
Model:          scripted:test
Context:        ~2 of 128,000 (guessed) tokens (~0%)
Total Queries:  0
Session Tokens: 0 (in: 0, out: 0)
You: Hi
"""
    )
    assert screen.text.partition("You: /pin x\n")[2].startswith(
        f"""\
Pinned (1 pin).
You: /info
Session ID:     {ID}
File:           {tmp_path}/{ID}.md
Saved:          yes
Agent:          Sally
Model:          scripted:test
Context:        110 of 128,000 (guessed) tokens (0%)
Total Queries:  1
Session Tokens: 110 (in: 100, out: 10)
Pins:           1
"""
    )


def test_a_session_of_another_name_is_not_asked_about(tmp_path: Path) -> None:
    """Its file names no agent, as with imported conversations."""
    Screen(tmp_path, ["Hi"], "Hello.", SUMMARY, agent="Harry")
    screen = Screen(tmp_path, ["resume 1"], "Ready.", hours=1)
    found = "✓ Found: Harry - Nov 21, 22:30 (1 query, 99 tokens) · Greetings · "
    assert screen.text.startswith(f"You: resume 1\n📋 Loading session...\n{found}")
    assert len(screen.talk.sent) == 1


def test_a_failure_is_shown_with_its_hint_and_the_chat_goes_on(tmp_path: Path) -> None:
    wrong = AuthenticationFailed("The key is not valid.", "Set ANTHROPIC_API_KEY.")
    broken = Says(("I will",), then=Overloaded("It is down.", "Try later."))
    screen = Screen(tmp_path, ["Hi", "Tell me", "And now?"], wrong, broken, "Yes.", SUMMARY)
    assert screen.text.partition("📝")[0] == (
        """\
You: Hi
Time: 2.0s | Failed

✗ The key is not valid.
  Set ANTHROPIC_API_KEY.
The model will not see this message again; /retry resends it.
You: Tell me
Sally: I will
Time: 2.0s | Tokens: ~10 (in: 8, out: 2) | Failed

✗ It is down.
  Try later.
You: And now?
Sally: Yes.
Time: 2.0s | Tokens: 110 (in: 100, out: 10)

"""
    )


def test_an_unsaved_conversation_is_said_and_gets_no_command_to_resume_it(tmp_path: Path) -> None:
    files = FailingFiles()
    files.room = 0
    screen = Screen(tmp_path, ["Hi"], "Hello.", SUMMARY, files=files)
    assert screen.code == 1
    warning = (
        f"⚠️  Not saved: {tmp_path}/{ID}.md: no space left on device. "
        "Free some space or fix the permissions: it is tried again with every message. The "
        "conversation is in memory.\n"
    )
    at_the_end = warning.replace(
        ": it is tried again with every message. The conversation is in memory", ""
    )
    assert screen.text == (
        f"You: Hi\n{warning}"
        "Sally: Hello.\nTime: 2.0s | Tokens: 110 (in: 100, out: 10)\n\n"
        f"📝 Generating session summary... ✓\n{at_the_end}"
        f"Goodbye!\n✗ The conversation is NOT saved: {tmp_path}/{ID}.md\n"
        "Type a path on another disk to write it there, or Enter to try once more.\n"
    )


class NoAppending(FailingFiles):
    """A disk that refuses, from `refuse` on, to append to a file that has its final name."""

    def __init__(self) -> None:
        super().__init__()
        self._refuses = False
        self._final: set[int] = set()

    def refuse(self, _: Talk) -> None:
        self._refuses = True

    def create(self, path: Path) -> int:
        descriptor = super().create(path)
        self._final.discard(descriptor)
        if not path.name.startswith("."):
            self._final.add(descriptor)
        return descriptor

    def append_to(self, path: Path) -> int:
        descriptor = super().append_to(path)
        self._final.add(descriptor)
        return descriptor

    def write(self, descriptor: int, data: bytes) -> int:
        if self._refuses and descriptor in self._final:
            self.failures += 1
            raise OSError(errno.EIO, "Input/output error")
        return super().write(descriptor, data)


class FullFolder(FailingFiles):
    """A full disk, and another disk with room for new files."""

    def write_new(self, path: Path, data: bytes) -> None:
        self.room = None if path.parent.name == "elsewhere" else 0
        try:
            super().write_new(path, data)
        finally:
            self.room = 0


def test_an_exit_on_a_full_disk_offers_another_place(tmp_path: Path) -> None:
    """When the typed place cannot be written either, the program asks again."""
    files, place = FullFolder(), tmp_path / "elsewhere" / "talk.md"
    files.room = 0
    place.parent.mkdir()
    lines = ["Hi", "exit", str(tmp_path / "missing" / "talk.md"), str(place)]
    screen = Screen(tmp_path, lines, "Hello.", SUMMARY, files=files)
    assert screen.code == 0, "its words are on a disk"
    assert "✗ The conversation is NOT saved" in screen.text
    assert "talk.md cannot be written: no such file or directory." in screen.text
    assert screen.text.count("Type a path on another disk") == 2
    session = parse(place.read_bytes()).session
    assert session is not None
    assert [(one.query.text, one.reply and one.reply.text) for one in session.exchanges] == [
        ("Hi", "Hello.")
    ]


def test_a_disk_that_works_again_while_the_exit_asks(tmp_path: Path) -> None:
    files = FailingFiles()
    files.room = 0

    def free(talk: Talk) -> None:
        files.room = None

    screen = Screen(tmp_path, ["Hi", "exit", free, ""], "Hello.", SUMMARY, files=files)
    assert screen.code == 0
    refused, _, end = screen.text.partition("✗ The conversation is NOT saved")
    assert "Saving works again" not in refused
    assert end.endswith("Saving works again: everything said so far is on disk.\n")
    assert screen.talk.path.read_text().count("Hello.") == 1


def test_a_disk_that_takes_new_files_and_refuses_to_append(tmp_path: Path) -> None:
    """Each message is saved in a new file in the place of the old one, and nobody is warned."""
    files = NoAppending()
    screen = Screen(
        tmp_path, ["Hi", files.refuse, "And now?"], "Hello.", "Yes.", SUMMARY, files=files
    )
    assert screen.code == 0
    assert files.failures
    assert "Conversation saved successfully!" in screen.text
    assert "aved: " not in screen.text
    session = parse(screen.talk.path.read_bytes()).session
    assert session is not None
    assert session.seal is not None
    assert [(one.query.text, one.reply and one.reply.text) for one in session.exchanges] == [
        ("Hi", "Hello."),
        ("And now?", "Yes."),
    ]


def test_ctrl_c_at_the_prompt_says_how_to_leave(tmp_path: Path) -> None:
    screen = Screen(tmp_path, [KeyboardInterrupt, "help", KeyboardInterrupt])
    assert screen.text.startswith("Press Ctrl-C again to quit.\nYou: help\n")
    assert screen.text.endswith("Press Ctrl-C again to quit.\nGoodbye!\n")


def test_ctrl_c_skips_the_summary_at_exit(tmp_path: Path) -> None:
    screen = Screen(tmp_path, ["Hi", "exit"], "Hello.", Says(("**Back",), then="silence"))
    assert screen.text.partition("You: exit\n")[2] == (
        """\
📝 Generating session summary...
⚠️  Summary skipped. A resume brings back all words.
Goodbye!
✓ Conversation saved successfully!
  Session ID: sally_20261121_223015
  Queries: 1
  Tokens: 110 (in: 100, out: 10)
  Resume with: chat-loop --resume sally_20261121_223015
"""
    )
    assert screen.code == 0


def test_ctrl_c_stops_a_compaction_and_changes_nothing(tmp_path: Path) -> None:
    screen = Screen(
        tmp_path,
        ["Hi", "compact", "So?"],
        "Hello.",
        Says(("**Back",), then="silence"),
        "Yes.",
        SUMMARY,
    )
    assert "Generating session summary...\nStopped.\nYou: So?\nSally: Yes.\n" in screen.text
    assert names(tmp_path) == [f"{ID}.md"]


def test_on_a_terminal_the_program_colors_its_own_words_and_never_the_models(
    tmp_path: Path,
) -> None:
    reply = "[red]no[/] \x1b[31mred\x1b[0m"
    screen = Screen(tmp_path, ["Hi"], reply, SUMMARY, out=Terminal())
    assert "\x1b[1;36mSally:\x1b[0m [red]no[/] ␛[31mred␛[0m\n\x1b[2mTime: " in screen.text
