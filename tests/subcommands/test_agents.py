"""Agents in the program: questions before Python code runs, and resuming with an agent."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.environments import environment
from tests.support.headless import ECHO, run, said, saved
from tests.support.mcp_descriptions import until
from tests.support.pty_chat import PtyChat

ECHOES = '"""Repeats."""\nWORD = "heard"\n\n\ndef agent(text):\n    return f"{WORD}: {text}"\n'


def python_agent(folder: Path, word: str = "heard") -> Path:
    folder.mkdir(exist_ok=True)
    (folder / "agent.py").write_text(ECHOES.replace("heard", word))
    return folder / "agent.py"


def told(result: subprocess.CompletedProcess[bytes]) -> tuple[int, str, str]:
    return result.returncode, result.stdout.decode(), result.stderr.decode()


def terminal(home: Path, *arguments: str, cwd: Path | None = None) -> PtyChat:
    command = [sys.executable, "-m", "chat_loop", *arguments]
    return PtyChat(command, environment(home, TZ="UTC"), rows=40, cols=120, cwd=cwd, forked=True)


def test_an_agent_answers_by_its_path_by_its_name_and_as_the_default(tmp_path: Path) -> None:
    home, file = tmp_path / "home", tmp_path / "sally.md"
    file.write_text(
        "---\nname: Sally\nmodel: scripted:echo\nsummary_instructions: Short.\n---\nBe kind.\n"
    )
    assert told(run(home, "--agent", str(file), "-p", "hi")) == (0, "You said: hi\n", "")
    [session] = saved(home)
    header = session.header
    assert (header.agent, header.agent_path, header.model) == ("Sally", str(file), "scripted:echo")
    assert header.id.startswith("sally_")
    assert told(run(home, "agents", "add", "sal", str(file))) == (
        0, f"sal is {file}. Talk to it with: chat-loop --agent sal\n", "",
    )  # fmt: skip
    assert run(home, "--agent", "sal", "-p", "hi").stdout == b"You said: hi\n"
    (home / "config.yaml").write_text(
        "agent: {default: sal}\nagents: {sally: {auto_compact: {summary_on_exit: false}}}\n"
    )
    text = run(home, stdin=b"hi\n/info\n").stdout.decode()
    assert f"Agent:          Sally\nAgent Path:     {file}\n" in text
    assert "Generating session summary" not in text
    assert run(home, *ECHO, "sessions", "list").returncode == 0  # listing needs no agent
    file.unlink()
    code, _, error = told(run(home, "-p", "hi"))
    assert (code, error.partition("\n")[0]) == (
        2,
        f"The agent {file} cannot be read: no such file or directory.",
    )


def test_where_nobody_can_be_asked_unapproved_python_is_refused(tmp_path: Path) -> None:
    home, path = tmp_path / "home", python_agent(tmp_path / "dice")
    hint = f"Look at it, then: chat-loop agents approve {path}; --trust-agent runs it this once.\n"
    refused = (2, "", f"The agent {path} is not approved.\n{hint}")
    assert told(run(home, "--agent", str(path.parent), "-p", "hi")) == refused
    assert told(run(home, "--agent", str(path.parent), stdin=b"hi\n")) == refused
    once = run(home, "--agent", str(path), "--trust-agent", "-p", "hi")
    assert told(once) == (0, "heard: hi\n", "")
    assert told(run(home, "--agent", str(path), "-p", "hi")) == refused
    approved = run(home, "agents", "approve", str(path.parent)).stdout.decode()
    assert approved == f"Approved {path} as it is now. Any change asks again.\n"
    assert told(run(home, "--agent", str(path), "-p", "hi")) == (0, "heard: hi\n", "")
    python_agent(path.parent, "evil")
    assert told(run(home, "--agent", str(path), "-p", "hi")) == (
        2, "", f"The agent {path} has changed since you approved it.\n{hint}",
    )  # fmt: skip
    assert not list(path.parent.rglob("__pycache__"))


@pytest.mark.slow
def test_processes_and_addresses_that_a_file_describes_are_asked_about_as_well(
    tmp_path: Path,
) -> None:
    home, path = tmp_path / "home", tmp_path / "project.yaml"
    url = '"https://evil.example\\nRun it? (y/N) y\\e[2J"'
    text = f"model: scripted:echo\nconfig: {{providers: {{anthropic: {{base_url: {url}}}}}}}\n"
    path.write_text(text)
    code, _, error = told(run(home, "--agent", str(path), "-p", "hi"))
    assert (code, error.partition("\n")[0]) == (2, f"The agent {path} is not approved.")
    with terminal(home, "--agent", str(path)) as screen:
        screen.wait_for("as it is? [y]es [n]o")
        assert (
            "asks for:\n  providers.anthropic.base_url: https://evil.example␊Run it? (y/N) y␛[2J\n"
            in screen.text()
        )
        screen.line("")
        assert screen.exit_code() == 2
    own = home / "agents"
    own.mkdir(parents=True)
    (own / "mine.yaml").write_text(text)  # agents in the user's own folder need no approval
    assert run(home, "--agent", "mine", "-p", "hi").stdout == b"You said: hi\n"


def test_the_user_is_asked_once_and_again_when_something_has_changed(tmp_path: Path) -> None:
    home, path = tmp_path / "home", python_agent(tmp_path / "dice")
    with terminal(home, "--agent", str(path)) as screen:
        screen.wait_for("Trust this agent, now and as long as it stays as it is? [y]es [n]o")
        assert "Python code" in screen.text()
        assert ECHOES.rstrip("\n") in screen.text(), "the code is what is approved"
        screen.line("no")
        screen.wait_for(f"The agent {path} was not run.")
        assert screen.exit_code() == 2
    with terminal(home, "--agent", str(path)) as screen:
        screen.wait_for("[y]es [n]o")
        screen.send("y\rtyped ahead\r")
        screen.wait_for("dice: heard: typed ahead")
        before, _, _ = screen.text().partition("heard:")
        assert f"Agent: dice ({path})" in " ".join(before.split())
        screen.line("hi")
        screen.wait_for("Answer what the user says now:\n\nhi\n")
        assert screen.text().count("chat-loop 0.1.0") == 1
        screen.line("/info")
        screen.wait_for("Description:    Repeats.")
        screen.ctrl("d")
        assert screen.exit_code() == 0
        assert f"chat-loop--agent{path}--resumedice_" in "".join(screen.text().split())
    python_agent(path.parent, "changed")
    with terminal(home, "--agent", str(path), "--continue") as screen:
        screen.wait_for("[y]es [n]o")
        assert "It has changed since you approved it:\n" in screen.text()
        assert '  -WORD = "heard"\n  +WORD = "changed"\n' in screen.text()
        screen.line("y")
        screen.wait_for("Restoring context")
        screen.wait_for("python:dice")
        assert "Different agent" not in screen.text()
        screen.ctrl("d")
        assert screen.exit_code() == 0


@pytest.mark.slow
def test_a_file_that_never_ends_is_interrupted_in_one_line(tmp_path: Path) -> None:
    path = tmp_path / "agent.py"
    path.write_text(f"open({str(tmp_path / 'begun')!r}, 'w').close()\nwhile True: pass\n")
    with terminal(tmp_path / "home", "--trust-agent", "--agent", str(path)) as screen:
        screen.wait_for("You: ")
        asyncio.run(until((tmp_path / "begun").exists))
        screen.ctrl("c")
        assert screen.exit_code() == 130
        assert (
            screen.text().rstrip().split("\n")[-1] == f"Loading the agent {path} was interrupted."
        )


@pytest.mark.slow
def test_going_on_with_another_agent_than_the_one_that_made_the_session(tmp_path: Path) -> None:
    home, sally, harry = tmp_path / "home", tmp_path / "sally.md", tmp_path / "harry.md"
    for file in (sally, harry):
        file.write_text("---\nmodel: scripted:echo\n---\nBe kind.\n")
    run(home, "--agent", str(sally), stdin=b"hi\n")
    [session] = saved(home)
    text = run(home, "--agent", str(harry), stdin=b"resume 1\nn\n").stdout.decode()
    back = f"With that one: chat-loop --agent {sally} --resume {session.header.id}"
    assert (
        f"⚠️  Session created with {sally}, using {harry}. "
        f"{back}\n"
        "Different agent detected. Continue? [y]es [n]o n\nNot resumed. Starting fresh.\n"
    ) in text
    again = run(
        home,
        "--agent",
        f"{sally.parent}/./sally.md",
        stdin=f"resume {session.header.id}\n".encode(),
    )
    assert "Different agent" not in again.stdout.decode()
    assert "Restoring context" in again.stdout.decode()

    text = run(home, *ECHO, stdin=f"resume {session.header.id}\ny\n".encode()).stdout.decode()
    assert f"Session created with {sally}, using Assistant." in text
    assert "Restoring context" in text


def test_input_that_ends_at_the_question_resumes_nothing_and_leaves(tmp_path: Path) -> None:
    (tmp_path / "sally.md").write_text("---\nmodel: scripted:echo\n---\nHi")
    run(tmp_path, "--agent", str(tmp_path / "sally.md"), stdin=b"hi\n")
    result = run(tmp_path, *ECHO, stdin=b"resume 1\n")
    assert result.returncode == 0
    assert result.stdout.decode().endswith(
        "Continue? [y]es [n]o \nNot resumed. Starting fresh.\nYou: \nGoodbye!\n"
    )


def test_a_model_does_not_go_with_an_agent_that_has_its_own(tmp_path: Path) -> None:
    path = python_agent(tmp_path / "dice")
    for more in (("--model", "scripted:echo"), ("--local",)):
        code, _, error = told(
            run(tmp_path, "--agent", str(path), "--trust-agent", *more, "-p", "hi")
        )
        assert code == 2
        assert error.startswith("The agent dice has a model of its own: --model, --local, ")


def test_what_an_agent_with_its_own_model_does_not_send_is_said(tmp_path: Path) -> None:
    home, path = tmp_path / "home", python_agent(tmp_path / "dice")
    home.mkdir()
    (home / "config.yaml").write_text("models: {dice: {temperature: 0.2, top_p: 0.5}}\n")
    text = "The agent dice asks its model as its own code says, without temperature 0.2, top_p 0.5."
    code, said, error = told(run(home, "--agent", str(path), "--trust-agent", "-p", "hi"))
    assert (code, said) == (0, "heard: hi\n")
    assert error.count(text) == 1
    chat = run(home, "--agent", str(path), "--trust-agent", stdin=b"hi\n").stdout.decode()
    assert " ".join(chat.split()).count(text) == 1


def test_the_command_line_wins_over_the_file(tmp_path: Path) -> None:
    file = tmp_path / "sally.md"
    file.write_text("---\nmodel: anthropic:x\n---\nHi")
    assert told(run(tmp_path, "--agent", str(file), *ECHO, "-p", "hi")) == (0, "You said: hi\n", "")


def test_agents_are_listed_and_shown(tmp_path: Path) -> None:
    home, path = tmp_path / "home", python_agent(tmp_path / "dice")
    assert told(run(home, "agents"))[1].startswith(
        "There are no named agents yet. Add one: chat-loop agents add NAME PATH"
    )
    (home / "agents").mkdir(parents=True)
    poet = home / "agents" / "poet.md"
    poet.write_text('---\ndescription: "Rhymes\\e[2J"\ntools: [read_file]\n---\nRhyme.\n')
    broken = home / "agents" / "broken.yaml"
    broken.write_text("nmae: x")
    run(home, "agents", "add", "dice", str(path))
    assert told(run(home, "agents", "list")) == (
        0,
        f"""\
broken
        {broken} ({broken}, line 1: unknown key nmae.)
dice
        {path} (not approved)
poet    Rhymes [2J
        {poet}
""",
        "",
    )
    rows = json.loads(run(home, "agents", "--json").stdout)
    assert rows == json.loads(run(home, "agents", "list", "--json").stdout)
    assert rows[1] == {
        "name": "dice",
        "path": str(path),
        "alias": True,
        "kind": "python",
        "description": "",
        "approved": False,
        "problem": "",
    }
    shown = run(home, "agents", "show", "dice").stdout.decode()
    assert shown == f"Path:     {path}\nApproved: no\nAsks for: to run\n\n{ECHOES}"
    assert run(home, "agents", "show", "poet").stdout.decode() == (
        f"Path:     {poet}\n\n{poet.read_text().rstrip()}\n"
    )
    assert told(run(home, "agents", "approve", "poet")) == (
        0,
        f"{poet} runs nothing: it needs no approval.\n",
        "",
    )
    assert told(run(home, "agents", "remove", "dice"))[0] == 0
    assert told(run(home, "agents", "show", "dice"))[0] == 2


def test_another_model_takes_over_from_an_agent_that_had_its_own(tmp_path: Path) -> None:
    home, path = tmp_path / "home", python_agent(tmp_path / "dice")
    script = b"hi\n/model scripted:echo\nagain\n"
    text = run(home, "--trust-agent", "--agent", str(path), stdin=script).stdout.decode()
    assert "dice: heard: hi" in text
    assert "Switched to scripted:echo" in text
    assert "dice: You said: again" in text
    assert said(saved(home)[0]) == ["hi", "heard: hi", "again", "You said: again"]


def test_who_summarises_for_an_agent_that_has_its_own_model_has_to_be_said_whole(
    tmp_path: Path,
) -> None:
    home, path = tmp_path / "home", python_agent(tmp_path / "dice")
    home.mkdir()
    (home / "config.yaml").write_text("auto_compact: {summary_model: m}\n")
    result = told(run(home, "--trust-agent", "--agent", str(path), stdin=b"hi\n"))
    message = "Set auto_compact.summary_provider.\n"
    message += "chat-loop providers says which models can be used now.\n"
    assert result == (2, "", message)
