"""Tools in the real program: questions on a terminal, Ctrl-C, and -p."""

from __future__ import annotations

import json
import os
import re
import select
import sys
from pathlib import Path

import pytest

from benchmarks.support.loopback import Loopback, Reply
from chat_loop.agent.builtin import SPECS
from chat_loop.sessions.manager import SessionManager
from chat_loop.sessions.records import Call, Result
from chat_loop.sessions.rows import read_rows
from tests.support import fork_server
from tests.support.headless import run
from tests.support.tool_chat import ASKED, PATIENCE, TOOLS, at_prompt, calling, chatting

pytestmark = pytest.mark.skipif(
    sys.platform == "win32", reason="pseudo-terminals and shells of POSIX"
)


SUMMED = """\
**Topics Discussed:**
- Files that are touched

**Decisions Made:**
- none

**Pending:**
- none"""


def results(home: Path) -> list[tuple[str, str, bool]]:
    """Return the tool calls of the only session: the tool, the result's text, and whether the call
    failed.
    """
    sessions = SessionManager(home / "own" / "sessions")
    (row,) = read_rows(sessions.directory)
    entries = sessions.load(row.path).session.entries
    names = {entry.id: entry.name for entry in entries if isinstance(entry, Call)}
    return [
        (names[entry.id], entry.text, entry.failed)
        for entry in entries
        if isinstance(entry, Result)
    ]


def test_yes_no_and_always(tmp_path: Path, server: Loopback) -> None:
    def edit(number: int) -> tuple[str, dict[str, object]]:
        return "edit_file", {
            "path": "a.txt",
            "old": f"line {number}",
            "new": f"LINE {number}\x1b[2J\u202e",
        }

    server.enqueue(
        calling(edit(1), text="I change it."), Reply(chunks=("One.",)),
        calling(edit(2)), Reply(chunks=("Two.",)),
        calling(edit(3), edit(4)), Reply(chunks=("Three and four.",)),
        calling(edit(5)), Reply(chunks=("Five.",)),
    )  # fmt: skip
    (tmp_path / "project").mkdir()
    file = tmp_path / "project" / "a.txt"
    file.write_text("".join(f"line {number}\n" for number in range(1, 6)))
    with chatting(tmp_path, server) as chat:
        chat.line("one")
        chat.wait_for(f"{ASKED}edit_file)", PATIENCE)
        shown = "\n".join(chat.screen())
        assert b"\x1b[31m-line 1" in chat.raw
        assert b"\x1b[32m+LINE 1" in chat.raw
        assert "-line 1\n+LINE 1␛[2J<U+202E>\n line 2\n line 3\n line 4\n" in shown
        assert file.read_text().startswith("line 1\n"), "nothing is done before the answer"
        assert "\x1b[2J\u202e" not in chat.output()
        chat.mark()
        chat.line("y")
        at_prompt(chat)
        assert "edit_file: Edited a.txt at line 1." in "\n".join(chat.screen())
        chat.mark()
        chat.line("two")
        chat.wait_for(ASKED, PATIENCE, output=True)
        chat.line("n")
        at_prompt(chat)
        assert "  edit_file denied\n" in "\n".join(chat.screen())
        chat.mark()
        chat.line("three")
        chat.wait_for(ASKED, PATIENCE, output=True)
        chat.line("a")
        chat.wait_for("Three and four.", PATIENCE, output=True)
        at_prompt(chat)
        chat.mark()
        chat.line("five")
        chat.wait_for("Five.", PATIENCE, output=True)
        at_prompt(chat)
        assert ASKED not in chat.output()
        chat.ctrl("d")
        assert chat.exit_code(PATIENCE) == 0
    changed = [line.removesuffix("\x1b[2J\u202e") for line in file.read_text().split("\n")]
    assert changed == ["LINE 1", "line 2", "LINE 3", "LINE 4", "LINE 5", ""]
    given = [text for _, text, _ in results(tmp_path)]
    assert sorted(given) == [
        "Not run: the user did not allow it.",
        *(f"[allowed by the user]\nEdited a.txt at line {number}." for number in (1, 3, 4, 5)),
    ]


def test_keys_typed_before_the_question_are_no_answer(tmp_path: Path, server: Loopback) -> None:
    command = ("run_command", {"command": "touch done"})
    stalling = Reply(chunks=("I ", "run it."), calls=calling(command).calls, stall_after=2)
    server.enqueue(stalling, Reply(chunks=("Ran.",)))
    with chatting(tmp_path, server) as chat:
        chat.line("go")
        server.stalled()
        chat.line("n")
        chat.line("no")
        server.release()
        chat.wait_for(f"{ASKED}this exact call)", PATIENCE)
        assert not (tmp_path / "project" / "done").exists()
        assert "  $ touch done" in "\n".join(chat.screen())
        chat.line("y")
        chat.wait_for("Ran.", PATIENCE)
        assert (tmp_path / "project" / "done").exists()
        chat.mark()
        chat.ctrl("d")
        assert chat.exit_code(PATIENCE) == 0
    assert results(tmp_path) == [
        ("run_command", "[allowed by the user]\nExit code 0. It printed nothing.", False)
    ]


@pytest.mark.slow
@pytest.mark.parametrize("key", ["\x03", "\x1b"], ids=["Ctrl-C", "Esc"])
def test_a_key_at_the_question_stops_the_reply(tmp_path: Path, server: Loopback, key: str) -> None:
    server.enqueue(calling(("run_command", {"command": "touch done"}), text="I run it."))
    with chatting(tmp_path, server) as chat:
        chat.line("go")
        chat.wait_for(ASKED, PATIENCE)
        chat.mark()
        chat.send(key)
        chat.wait_for(re.compile(r"Interrupted.*You:", re.DOTALL), PATIENCE, output=True)
        chat.mark()
        chat.line("are you there?")
        chat.wait_for("You said: are you there?", PATIENCE, output=True)
        at_prompt(chat)
        chat.ctrl("d")
        assert chat.exit_code(PATIENCE) == 0
    assert not (tmp_path / "project" / "done").exists()
    assert results(tmp_path) == [("run_command", "interrupted", True)]
    second = server.requests[1].body["messages"]
    assert [told["content"] for told in second if told["role"] == "tool"] == ["interrupted"]


def test_ctrl_c_ends_a_command_and_its_children(tmp_path: Path, server: Loopback) -> None:
    alive = tmp_path / "alive"
    os.mkfifo(alive)
    end = os.open(alive, os.O_RDONLY | os.O_NONBLOCK)
    command = f"exec 3> {alive}; echo on >&3; sleep 1000 & sh -c 'sleep 1000; true'"
    server.enqueue(calling(("run_command", {"command": command, "seconds": 500})))
    try:
        with chatting(tmp_path, server) as chat:
            chat.line("go")
            chat.wait_for(ASKED, PATIENCE)
            chat.line("y")
            assert select.select([end], [], [], PATIENCE)[0]
            os.set_blocking(end, True)
            assert os.read(end, 10) == b"on\n"
            chat.wait_for("Assistant … ", PATIENCE)  # the program counts the seconds
            chat.mark()
            chat.ctrl("c")
            chat.wait_for(re.compile(r"Interrupted.*You:", re.DOTALL), PATIENCE, output=True)
            assert select.select([end], [], [], PATIENCE)[0]
            assert os.read(end, 1) == b"", "nobody is left who could write"
            chat.ctrl("d")
            assert chat.exit_code(PATIENCE) == 0
    finally:
        os.close(end)
    assert results(tmp_path) == [("run_command", "interrupted", True)]


def test_answers_are_taken_from_a_pipe_and_its_end_is_no(tmp_path: Path, server: Loopback) -> None:
    first, second, third = (tmp_path / name for name in ("first", "second", "third"))
    server.enqueue(
        calling(("run_command", {"command": f"touch {first}"})), Reply(chunks=("One.",)),
        calling(("run_command", {"command": f"touch {second}"})), Reply(chunks=("Two.",)),
        Reply(chunks=("Calm.",)), Reply(chunks=("Still calm.",)),
        calling(("run_command", {"command": f"touch {third}"})), Reply(chunks=("Kept.",)),
        Reply(chunks=(SUMMED,)),
        calling(("run_command", {"command": f"touch {second}"})), Reply(chunks=("Three.",)),
    )  # fmt: skip
    keys = {"OPENAI_API_KEY": "sk-test", "OPENAI_BASE_URL": f"{server.url}/v1"}
    arguments = ("--model", "openai:gpt-test", "--tools", TOOLS)
    questions = b"go\ny\nagain\nn\nCalm?\nCalm?\nlast\ny\n/summarize\n/summary\nonce more\n"
    ended = run(tmp_path, *arguments, stdin=questions, keys=keys)
    out = ended.stdout.decode()
    assert (ended.returncode, first.exists(), second.exists()) == (0, True, False)
    assert out.count(ASKED) == 4
    assert "  run_command denied\nAssistant: Three.\n" in out
    assert "  run_command: Exit code 0. It printed nothing.\n" in out
    assert "  run_command denied\nAssistant: Two.\n" in out
    assert "Commands Run: 2" in out  # one of them is in the exchange that stays word for word
    assert "Tools denied, failed or stopped: 1" in out
    told = r"run_command: 1 use \(touch [^)]*\), 1 denied \(touch "
    assert re.search(told, " ".join(out.split()))


def test_in_the_home_folder_no_answer_is_kept_for_all_that_is_in_it(
    tmp_path: Path, server: Loopback
) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / "link").symlink_to(tmp_path)
    write = calling(("write_file", {"path": "a.txt", "text": "x"}))
    keys = {"OPENAI_API_KEY": "sk-test", "OPENAI_BASE_URL": f"{server.url}/v1"}
    places = {"CHAT_LOOP_HOME": str(tmp_path / "own"), "HOME": str(tmp_path / "link")}
    environment = {"PATH": "/usr/bin:/bin", "LANG": "C.UTF-8", **keys, **places}
    arguments = ("--model", "openai:gpt-test", "--tools", "write_file")
    server.enqueue(write, Reply(chunks=("One.",)))
    ended = fork_server.run(arguments, environment, b"go\np\n", cwd=tmp_path)
    asked = "Apply? [y]es [n]o [a]lways (write_file)"
    assert asked in ended.stdout.decode()
    assert not (tmp_path / "a.txt").exists()
    assert not (tmp_path / "own" / "approvals.json").exists()


def headless(home: Path, server: Loopback, *arguments: str) -> tuple[int, str, str]:
    keys = {"OPENAI_API_KEY": "sk-test", "OPENAI_BASE_URL": f"{server.url}/v1"}
    ended = run(home, "--model", "openai:gpt-test", *arguments, keys=keys)
    return ended.returncode, ended.stdout.decode(), ended.stderr.decode()


@pytest.mark.parametrize("allowed", [False, True])
def test_without_a_terminal_only_what_was_allowed_beforehand_runs(
    tmp_path: Path, server: Loopback, allowed: bool
) -> None:
    done = tmp_path / "done"
    server.enqueue(
        calling(("run_command", {"command": f"touch {done}"})), Reply(chunks=("That was it.",))
    )
    arguments = ("--tools", TOOLS, *(["--yes"] if allowed else []), "-p", "Do it")
    code, out, err = headless(tmp_path, server, *arguments)
    assert (code, out) == (0, "That was it.\n")
    assert done.exists() == allowed
    warning = (
        "run_command was not run: it needs approval, and no one can be asked. --yes "
        "allows all such calls.\n"
    )
    assert err == ("" if allowed else warning)
    told = json.dumps(server.requests[1].body)
    assert ("allowed by the user" in told) == allowed
    assert ("no one can be asked" in told) != allowed


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ("--tools", "read_file,fly", "-p", "x"),
            (
                "No tool named fly.\n"
                "The tools are: read_file, list_files, search_files, write_file, edit_file, "
                "run_command, remember.\n"
            ),
        ),
        (("--yes",), "--yes needs -p.\nchat-loop --help shows the options.\n"),
    ],
)
def test_mistakes_on_the_command_line(
    tmp_path: Path, server: Loopback, arguments: tuple[str, ...], message: str
) -> None:
    assert headless(tmp_path, server, *arguments) == (2, "", message)


def test_all_gives_every_tool(tmp_path: Path, server: Loopback) -> None:
    assert headless(tmp_path, server, "--tools", "all", "-p", "x")[0] == 0
    offered = json.dumps(server.requests[0].body["tools"])
    assert [name for name in SPECS if f'"{name}"' not in offered] == []


def test_the_config_gives_tools_and_their_limits(tmp_path: Path, server: Loopback) -> None:
    lines = ["agent: {tools: [run_command]}", "tools: {timeout: 0.5, max_steps: 2}"]
    (tmp_path / "config.yaml").write_text("\n".join(lines))
    slow = ("run_command", {"command": "sleep 100"})
    server.enqueue(calling(slow), calling(slow), Reply(chunks=("I give up.",)))
    stopped = (
        "The model reached the limit of tool calls for one reply (2). tools.max_steps in "
        "the config raises it.\n"
    )
    assert headless(tmp_path, server, "--yes", "-p", "Do it") == (3, "I give up.\n", stopped)
    _, second, third = (request.body for request in server.requests)
    assert "It took longer than 0 seconds and was stopped" in json.dumps(second["messages"][-1])
    assert "no more tools can be called" in json.dumps(third["messages"][-1])
    assert [tool["function"]["name"] for tool in third["tools"]] == ["run_command"]
    (tmp_path / "config.yaml").write_text("agent: {tools: [fly]}")
    code, _, err = headless(tmp_path, server, "-p", "Do it")
    assert (code, err.partition("\n")[0]) == (2, "No tool named fly.")
    (tmp_path / "config.yaml").write_text("tools: {max_steps: 0}")
    code, _, err = headless(tmp_path, server, "-p", "Do it")
    assert code == 2
    assert "config.yaml, line 1: tools.max_steps: expected a whole number >= 1." in err


def test_the_program_s_own_folder_is_protected(tmp_path: Path, server: Loopback) -> None:
    (tmp_path / "config.yaml").write_text("model: openai:gpt-test")
    read = ("read_file", {"path": str(tmp_path / "config.yaml")})
    server.enqueue(calling(read), Reply(chunks=("No.",)))
    assert headless(tmp_path, server, "--tools", "read_file", "--yes", "-p", "Do it")[0] == 0
    assert "belongs to chat-loop itself" in json.dumps(server.requests[1].body)
