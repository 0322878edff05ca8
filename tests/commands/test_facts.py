"""The memory commands, and the request that carries the memory."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from msgspec.structs import replace

from chat_loop.context.budget import Limits
from chat_loop.memory import INTRO
from chat_loop.values import Window
from tests.support.memory_program import environment, place, run
from tests.support.screens import Screen
from tests.support.scripted_chat import QUIET, SUMMARY, said

BLOCK = f"Be kind.\n\n{INTRO}\n- "


def written(folder: Path, text: str) -> Path:
    """Write the project's memory and return its file."""
    path = place(folder).directory / "MEMORY.md"
    path.write_text(text, "utf-8")
    return path


def noted(folder: Path) -> str:
    return (folder / "project" / "MEMORY.md").read_text("utf-8")


def test_a_whole_screen(tmp_path: Path) -> None:
    """Facts are noted in the files of the user and of the project, shown, and forgotten."""
    (tmp_path / "project" / ".git").mkdir(parents=True)
    lines = [
        "/memory",
        "/remember The tests need Postgres 16.",
        "/remember --project Deploys happen on Tuesdays,\n  never on Fridays.",
        "/remember  deploys HAPPEN on Tuesdays, never on fridays.",
        "/remember",
        "/memory",
        "/forget 3",
        "/forget 1",
        "/memory",
    ]
    screen = Screen(tmp_path / "sessions", lines, options=QUIET, memory=place(tmp_path))
    expected = (Path(__file__).parents[1] / "golden" / "memory" / "screen.txt").read_text("utf-8")
    assert screen.text == expected


def test_where_the_memory_stands_in_a_request(tmp_path: Path) -> None:
    """It comes right after the system prompt, and only a command or a new session changes its
    bytes.
    """
    written(
        tmp_path, "# Ours\n\nProse is not sent.\n\n- Oak, not pine.\n\n- Port 5544\n  on pluto\n"
    )
    lines = ["One", "Two", "/remember Three.", "Four", "/forget oak,  not pine.", "Five"]
    steps = ["1", "2", "4", "5"]
    screen = Screen(tmp_path / "sessions", lines, *steps, options=QUIET, memory=place(tmp_path))
    first = f"{BLOCK}Oak, not pine.\n- Port 5544\n  on pluto"
    requests = screen.talk.model.requests
    assert [request.system for request in requests[:2]] == [first, first]
    assert requests[0].messages == said("One")
    assert requests[1].messages == said("One", "1", "Two")
    assert requests[2].system == f"{first}\n- Three."
    assert requests[3].system == f"{BLOCK}Port 5544\n  on pluto\n- Three."
    assert requests[3].messages == said("One", "1", "Two", "2", "Four", "4", "Five")


def test_an_edit_by_hand_counts_from_the_next_session_of_the_chain_on(tmp_path: Path) -> None:
    path = written(tmp_path, "- one\n")

    def edit(text: str) -> str:
        path.write_text("- one\n- two\n", "utf-8")
        return text

    lines = ["A", "/compact --preview", "B", "compact", "C"]
    steps = ["1", SUMMARY, "2", SUMMARY, "Ready.", "3"]
    options = replace(QUIET, acknowledge=True)
    screen = Screen(
        tmp_path / "s",
        lines,
        *steps,
        answers=["e", "n"],
        edit=edit,
        options=options,
        memory=place(tmp_path),
    )
    systems = [request.system.removeprefix(BLOCK) for request in screen.talk.model.requests]
    assert [system for system in systems if not system.startswith("Task:")] == [
        "one",
        "one",
        "one\n- two",
        "one\n- two",
    ]
    assert screen.text.count("⚠️  The memory has changed. Memory: 2 facts from ./MEMORY.md.\n") == 1
    assert systems[1].startswith("Task: session summary")  # a summary needs no memory
    assert "- one" not in systems[1]


def test_memory_puts_an_edit_into_effect_and_says_so(tmp_path: Path) -> None:
    path = written(tmp_path, "- one\n")
    talk_lines = ["A", "/compact --preview", "/memory", "/memory", "B"]

    def edit(text: str) -> str:
        path.write_text("- two\n", "utf-8")
        return text

    screen = Screen(
        tmp_path / "s", talk_lines, "1", SUMMARY, "2", answers=["e", "n"], edit=edit, options=QUIET,
        memory=place(tmp_path),
    )  # fmt: skip
    size = 55
    shown = "You: /memory\nMemory: 1 fact from ./MEMORY.md\n1  two\n"
    shown += f"~{size} tokens of each request; facts take at most 1,500.\n"
    shown = re.sub("~55", r"~\\d+", re.escape(shown))
    changed = re.escape("The file was changed: the model gets it with your next message.\n")
    assert re.search(shown + changed + shown + "You: B\n", screen.text)
    assert screen.talk.model.requests[-1].system == f"{BLOCK}two"


def test_a_secret_is_written_only_without_itself(tmp_path: Path) -> None:
    written(tmp_path, "- one\n")
    line = "/remember The key is sk-ant-api03-AbCdEf0123456789AbCdEf0123456789AbCd"
    screen = Screen(
        tmp_path / "s", [line, line], answers=["n", "y"], options=QUIET, memory=place(tmp_path)
    )
    asked = (
        f"You: {line}\n"
        "⚠️  Secrets are not saved in memory. Without it:\n"
        "   The key is [REDACTED:anthropic:1]\n"
    )
    assert screen.text == (
        f"{asked}Save it like this? [y]es [n]o n\nNot saved.\n"
        f"{asked}Save it like this? [y]es [n]o y\nSaved in ./MEMORY.md (2 facts).\nGoodbye!\n"
    )
    assert noted(tmp_path) == "- one\n- The key is [REDACTED:anthropic:1]\n"


def test_what_does_not_fit_is_said(tmp_path: Path) -> None:
    written(tmp_path, "- one\n- " + "many words " * 40 + "\n")
    lines = ["/remember " + "a lot " * 80, "/memory", "Hi"]
    screen = Screen(tmp_path / "s", lines, "Hello.", options=QUIET, memory=place(tmp_path, 100))
    assert (
        "Saved in ./MEMORY.md (3 facts). It does not fit: the memory holds 100 tokens (/memory).\n"
    ) in screen.text
    shown = screen.text.partition("You: /memory\n")[2]
    assert shown.startswith(
        "Memory: 3 facts from ./MEMORY.md. 2 facts left out: it is full (/memory).\n1  one\n2  many words"
    )
    assert shown.count(" (left out)\n") == 2
    assert ("/forget makes room; memory.max_tokens in the config allows more.\n") in shown
    assert screen.talk.model.requests[0].system == f"{BLOCK}one"


def test_a_file_that_cannot_be_used_is_said_by_every_command(tmp_path: Path) -> None:
    path = place(tmp_path).directory / "MEMORY.md"
    path.mkdir()
    lines = ["/remember x", "/memory", "/forget 1", "Hi"]
    screen = Screen(tmp_path / "s", lines, "Hello.", options=QUIET, memory=place(tmp_path))
    assert screen.text.count(f"✗ {path} is not used as memory: it is not a regular file.\n") == 2
    assert (
        f"You: /memory\nMemory: none. {path} is not used as memory: it is not a regular file.\n"
        in screen.text
    )
    assert screen.talk.model.requests[0].system == "Be kind."


def test_switched_off_the_commands_say_so(tmp_path: Path) -> None:
    screen = Screen(
        tmp_path / "s", ["/remember x", "/memory", "/forget 1", "Hi"], "Hello.", options=QUIET
    )
    off = "✗ Memory is off.\n  memory.enabled: true in the config turns it on.\n"
    assert screen.text.startswith(
        f"You: /remember x\n{off}You: /memory\n{off}You: /forget 1\n{off}You: Hi\n"
    )
    assert screen.talk.model.requests[0].system == "Be kind."


# Counting the memory.


def test_the_context_shows_the_memory_as_a_part(tmp_path: Path) -> None:
    written(tmp_path, "- " + "word " * 100 + "\n")
    screen = Screen(
        tmp_path / "s", ["/context"], options=QUIET, memory=place(tmp_path), window=Window(8000)
    )
    tokens = len(INTRO.split()) + 101
    assert re.search(rf"^  System prompt  +2  .*\n  Memory  +{tokens}  ", screen.text, re.MULTILINE)
    assert f"Context: ~{tokens + 2} of 8,000 tokens" in screen.text


def test_a_request_that_is_too_large_because_of_the_memory_is_not_sent(tmp_path: Path) -> None:
    written(tmp_path, "- " + "word " * 1200 + "\n")
    options = replace(QUIET, limits=replace(Limits(), enabled=False))
    query = "long " * 200
    for memory, sent in ((None, 1), (place(tmp_path), 0)):
        folder = tmp_path / f"s{sent}"
        steps = ["Hello."] * sent
        screen = Screen(
            folder, [query], *steps, options=options, memory=memory, window=Window(1000)
        )
        assert len(screen.talk.model.requests) == sent
        assert ("✗ Not sent: the request would hold" in screen.text) == (not sent)


# The program.


def test_one_question_has_the_memory_too(tmp_path: Path) -> None:
    plain = run(tmp_path, "--trust-project", "-p", "Hello")
    written(tmp_path, "- one two three\n")
    noted_ = run(tmp_path, "--trust-project", "-p", "Hello")
    assert (noted_.returncode, noted_.stdout, noted_.stderr) == (0, b"You said: Hello\n", b"")
    sessions = sorted(
        (tmp_path / "data" / "sessions").glob("*.md"), key=lambda path: path.stat().st_mtime_ns
    )
    counts = [int(re.findall(r"in: (\d+)", path.read_text("utf-8"))[0]) for path in sessions]
    assert counts[1] - counts[0] == len(INTRO.split()) + 4
    assert plain.stderr == b""
    (tmp_path / "data" / "config.yaml").write_text("memory: {max_tokens: 100}\n")
    written(tmp_path, "- one\n- " + "many words " * 99 + "\n")
    crowded = run(tmp_path, "--trust-project", "-p", "Hello")
    assert crowded.stdout == b"You said: Hello\n"
    left_out = "Memory: 2 facts from ./MEMORY.md. 1 fact left out: it is full (/memory)."
    assert left_out in crowded.stderr.decode()
    (tmp_path / "data" / "config.yaml").write_text("memory: {enabled: false}\n")
    assert run(tmp_path, "--trust-project", "-p", "Hello").stderr == b""


def test_a_working_directory_that_is_gone_leaves_the_users_own(tmp_path: Path) -> None:
    here = place(tmp_path).directory / "gone"
    here.mkdir()
    (tmp_path / "data").mkdir(exist_ok=True)
    (tmp_path / "data" / "MEMORY.md").write_text(f"- {'many words ' * 999}\n", "utf-8")
    program = f"{sys.executable} -m chat_loop --model scripted:echo -p Hello"
    command = ["/bin/sh", "-c", f"rmdir {here} && exec {program}"]
    ran = subprocess.run(
        command, check=True, cwd=here, env=environment(tmp_path), capture_output=True
    )
    assert ran.stdout == b"You said: Hello\n"
    assert b"1 fact left out: it is full" in ran.stderr
