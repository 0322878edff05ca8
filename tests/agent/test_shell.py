"""The tool that runs commands, with real processes: output, time limits, and the end of each."""

from __future__ import annotations

import asyncio
import os
import select
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from chat_loop.agent.builtin import builtin_tools
from chat_loop.agent.shell import MAX_BYTES, clean_environment
from chat_loop.agent.tools import COMMAND_PREFIX, Tool
from chat_loop.errors import ChatLoopError
from tests.support.approvals import SENDING as QUESTION
from tests.support.screens import Screen, Script
from tests.support.scripted_chat import SUMMARY

PATIENCE = 60


@pytest.fixture
def tool(tmp_path: Path) -> Tool:
    [made] = builtin_tools(["run_command"], tmp_path, seconds=PATIENCE)
    return made


@pytest.mark.parametrize(
    ("command", "names_one"),
    [
        ("cat .envrc", True), ("echo x >>~/.bashrc", True), ("echo x > .g'i't/config", True),
        ("cp a $HOME/.ssh/authorized_keys", True), ('x="${HOME}/.profile";cat $x', True), ("dd of=.git/config", True),
        ("cat <<E >src/AGENTS.md\nx\nE", True), ("tee Jenkinsfile <a", True), ("echo 'MEM'ORY.MD", True),
        ("ls -la . ..", False), (".venv/bin/pytest -q --cov=.", False), ("make test", False),
        ("cd ../x && grep -rn foo .", False), ("git -C ../x status", False), ("find . -name '*.py'", False),
    ],
)  # fmt: skip
def test_a_command_that_names_a_file_that_runs_code_is_said(
    tool: Tool, command: str, names_one: bool
) -> None:
    assert tool.prepare is not None
    question = tool.prepare({"command": command})
    assert isinstance(question, str)
    assert question.startswith(COMMAND_PREFIX) == names_one
    assert command.partition("\n")[0] in question


def run(tool: Tool, command: str, **given: object) -> str:
    return asyncio.run(_run(tool, command, **given))


async def _run(tool: Tool, command: str, **given: object) -> str:
    try:
        return await tool.run({"command": command, **given})
    except ChatLoopError as error:
        return f"!{error.message}"


class Alive:
    """A named pipe that processes open for writing; `gone` returns when none has it open."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "alive"
        os.mkfifo(self.path)
        self._end = os.open(self.path, os.O_RDONLY | os.O_NONBLOCK)
        os.set_blocking(self._end, True)

    def read(self) -> None:
        """Wait until a process has written its line."""
        assert select.select([self._end], [], [], PATIENCE)[0]
        assert os.read(self._end, 100) == b"on\n"

    @contextmanager
    def limit(self) -> Iterator[None]:
        """Let the time limit of a command be over when a process has written its line, however long
        that takes.
        """

        def timeout(seconds: float) -> asyncio.Timeout:
            loop, limit = asyncio.get_running_loop(), asyncio.Timeout(None)

            def expire() -> None:
                loop.remove_reader(self._end)
                self.read()
                limit.reschedule(loop.time())

            loop.add_reader(self._end, expire)
            return limit

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(asyncio, "timeout", timeout)
            yield

    def gone(self) -> None:
        try:
            assert select.select([self._end], [], [], PATIENCE)[0]
            assert os.read(self._end, 1) == b""
        finally:
            os.close(self._end)


def test_exit_code_and_output(tool: Tool, tmp_path: Path) -> None:
    (tmp_path / "a.txt").touch()
    assert run(tool, "ls; echo to the other >&2") == "Exit code 0.\na.txt\nto the other"
    assert run(tool, "exit 3") == "Exit code 3. It printed nothing."
    assert run(tool, "kill -9 $$") == "Ended by signal 9. It printed nothing."
    assert (
        run(tool, "cat; tty; printf 'a\\377b\\033[2J'")
        == "Exit code 0.\nnot a tty\na\ufffdb\x1b[2J"
    )
    assert run(tool, "no_such_command_here").startswith("Exit code 127.\n")
    assert run(tool, "echo 'first\nsecond'").endswith("first\nsecond")
    assert run(tool, "a\0b") == "!The command cannot be run: embedded null byte."
    tmp_path.joinpath("a.txt").unlink()


def test_a_folder_that_is_gone_is_told(tmp_path: Path) -> None:
    (tmp_path / "gone").mkdir()
    [tool] = builtin_tools(["run_command"], tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    assert run(tool, "ls") == "!The command cannot be run: No such file or directory."


def test_what_is_shown_before_it_runs(tool: Tool, tmp_path: Path) -> None:
    assert tool.prepare is not None
    command = "cd /tmp &&\n  rm -rf x\r; echo " + "y" * 5000
    assert (
        tool.prepare({"command": command})
        == f"In {tmp_path}:\n  $ cd /tmp &&\n  >   rm -rf x\r; echo {'y' * 5000}"
    )


def test_much_output_keeps_its_beginning_and_its_end(tool: Tool) -> None:
    text = run(tool, "echo begin; head -c 50000000 /dev/zero | tr '\\0' x; echo; echo end")
    assert text.startswith("Exit code 0.\nbegin\nxxx")
    assert text.endswith("xxx\nend")
    left_out = 50_000_000 + len("begin\n\nend\n") - 2 * MAX_BYTES
    assert f"x\n[… {left_out:,} bytes left out …]\nx" in text
    assert len(text) < 2 * MAX_BYTES + 100


def test_a_command_that_takes_too_long_is_stopped_with_its_children(
    tool: Tool, tmp_path: Path
) -> None:
    alive = Alive(tmp_path)
    command = (
        f"echo so far; (sh -c 'echo on; exec sleep 1000' > {alive.path} &) ; sleep 1000 > "
        f"{alive.path}"
    )
    with alive.limit():
        text = run(tool, command, seconds=1)
    assert text == "!It took longer than 1 seconds and was stopped. Its output until then:\nso far"
    alive.gone()


def test_a_process_that_does_not_want_to_leave_is_killed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tool: Tool
) -> None:
    monkeypatch.setattr("chat_loop.agent.shell.TERM_SECONDS", 0.1)
    alive = Alive(tmp_path)
    stubborn = f"trap '' TERM; exec 3> {alive.path}; echo on >&3; while :; do sleep 1; done"
    with alive.limit():
        assert run(tool, stubborn, seconds=1).startswith("!It took longer")
    alive.gone()


def test_what_is_left_in_the_background_is_ended(tool: Tool, tmp_path: Path) -> None:
    alive = Alive(tmp_path)
    assert run(tool, f"exec 3> {alive.path}; sleep 1000 & echo begun") == (
        "Exit code 0. What it left running in the background was ended.\nbegun"
    )
    alive.gone()


@pytest.mark.parametrize(
    ("command", "shown"),
    [
        (r"printf '1%%\r2%%\r100%%\ndone'", "Exit code 0.\n100%\ndone"),
        (r"printf 'longer\rab\r\nx\r\n'", "Exit code 0.\nabnger\r\nx\r"),
        (
            "sleep 60 & echo on",
            "Exit code 0. What it left running in the background was ended.\non",
        ),
        ("sleep 60 & kill $!; wait; echo on", "Exit code 0.\non"),
    ],
)
def test_the_last_state_of_a_line_and_what_became_of_the_rest(
    tool: Tool, command: str, shown: str
) -> None:
    assert run(tool, command) == shown


def test_somebody_who_left_the_group_is_not_waited_for(tool: Tool, tmp_path: Path) -> None:
    done, ready = tmp_path / "done", tmp_path / "ready"
    os.mkfifo(done)
    os.mkfifo(ready)
    apart = f"setsid sh -c 'echo apart; echo > {ready}; read x < {done}' & read y < {ready}"
    assert run(tool, apart) == "Exit code 0.\napart"
    done.write_text("go\n")


@pytest.mark.parametrize("again", [False, True])
async def test_a_command_that_is_cancelled_leaves_nothing(
    tool: Tool, tmp_path: Path, again: bool
) -> None:
    alive = Alive(tmp_path)
    polite = "" if not again else "trap '' TERM; "

    command = f"{polite}exec 3> {alive.path}; echo on >&3; sleep 1000 & sleep 1000"
    task = asyncio.ensure_future(_run(tool, command))
    await asyncio.to_thread(alive.read)
    task.cancel()
    if again:
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    alive.gone()


SECRETS = (
    "ANTHROPIC_API_KEY", "OPENAI_APIKEY", "GITHUB_TOKEN", "AWS_PROFILE", "DB_PASSWORD", "my_secret", "PGPASSWORD",
    "GOOGLE_APPLICATION_CREDENTIALS", "MYSQL_PWD", "GH_PAT", "NPM_TOKEN", "SESSION_COOKIE", "SENTRY_DSN",
    "npm_config__auth", "SSHPASS_PASSPHRASE",
)  # fmt: skip
HARMLESS = (
    "PATH", "HOME", "KEYBOARD", "MONKEY", "TOKENIZERS", "PWD", "OLDPWD", "SSH_AUTH_SOCK", "XAUTHORITY",
    "TOKENIZERS_PARALLELISM", "COMPASS",
)  # fmt: skip


def test_the_environment_has_no_keys() -> None:
    environment = dict.fromkeys((*SECRETS, *HARMLESS), "/a")
    environment |= {"INNOCENT": "ghp_" + "a1B2c3D4e5" * 4, "PAGER": "less"}
    clean = clean_environment(environment)
    added = {"TERM", "NO_COLOR", "PAGER", "GIT_PAGER", "GIT_TERMINAL_PROMPT"}
    assert set(clean) == {*HARMLESS, *added}
    assert clean["PAGER"] == "cat"


def test_variables_that_repeat_a_secret_do_not_reach_commands(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    environment = {
        "DB_PASSWORD": "winter-in-oslo", "PIN_PASS": "1", "ONE": "1", "NAME": "Bob",
        "DATABASE": "db://bob:winter-in-oslo@db/x", "ANTHROPIC_API_KEY": "sk-1",
    }  # fmt: skip
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    [tool] = builtin_tools(["run_command"], tmp_path)
    text = run(tool, "env")
    assert "winter-in-oslo" not in text
    assert "sk-1" not in text
    assert "ONE=1" in text
    assert "NAME=Bob" in text


def test_the_model_says_how_long_and_gets_no_more_than_the_most(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("chat_loop.agent.shell.MAX_SECONDS", 0.2)
    [tool] = builtin_tools(["run_command"], tmp_path, seconds=0.1)
    late = "!It took longer than 0 seconds"
    assert run(tool, "sleep 100", seconds=50).startswith(late)
    assert run(tool, "sleep 100").startswith(late)


def test_a_command_of_the_user_goes_with_the_next_message(tmp_path: Path) -> None:
    key = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    lines = [f"!printf '\\033[2Jhi {key}'", "!!echo only shown", "What is it?"]
    lines += ["!exit 3", "/run echo b", "!!!", "! this is text", "!a\nb", "/run"]
    replies = ("A greeting.", "Surprised.", "Text.", "Two lines.")
    screen = Screen(tmp_path / "sessions", lines, *replies, SUMMARY, answers=["m"])
    exchanges = screen.talk.conversation.session.exchanges
    first, second, *others = (exchange.query.text for exchange in exchanges)
    assert first.endswith("\n\nWhat is it?")
    assert "Exit code 0.\n\x1b[2Jhi [REDACTED:" in first
    assert "only shown" not in first
    assert [line for line in second.split("\n") if "code" in line] == [
        "Exit code 3. It printed nothing.",
        "Exit code 0.",
    ]
    assert second.endswith("\n\n!!!")
    assert others == ["! this is text", "!a\nb"]
    assert f"    ␛[2Jhi {key}\nThis would go to the model:\n  the output of `printf" in screen.text
    assert f"{QUESTION}m\nIt goes with your next message" in screen.text
    assert "\nonly shown\nYou: What is it?" in screen.text


def test_the_end_of_a_long_output_is_shown_and_all_of_it_on_demand(tmp_path: Path) -> None:
    lines = ["/run", "!seq 11 18; exit 3", "/run"]
    screen = Screen(tmp_path / "sessions", lines, SUMMARY)
    assert "Usage: /run [COMMAND]" in screen.text
    end = "    … 3 lines before; /run shows all\n    14\n    15\n    16\n    17\n    18\n"
    all_lines = "\n".join(map(str, range(11, 19)))
    assert f"Exit code 3.\n{end}It goes with" in screen.text
    assert f"You: /run\nExit code 3.\n{all_lines}\n" in screen.text


def test_a_line_of_a_pipe_is_text_and_runs_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(Script, "has_editor", False)
    screen = Screen(tmp_path / "sessions", ["!touch here", "/run touch here"], "Fine.", SUMMARY)
    [exchange] = screen.talk.conversation.session.exchanges
    assert exchange.query.text == "!touch here"
    assert "✗ /run needs a terminal" in screen.text
    assert not (tmp_path / "here").exists()
