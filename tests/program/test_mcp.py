"""MCP servers in the whole program: in a chat, with -p, and on the command line."""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from benchmarks.support.loopback import Loopback, Reply
from chat_loop.agent.agent import ModelAgent
from chat_loop.agent.mcp_servers import MISSING, McpServers
from chat_loop.agent.tools import Tool
from chat_loop.config import McpServer
from chat_loop.conversation.conversation import Conversation
from chat_loop.conversation.conversation_options import Options
from chat_loop.errors import install_hint
from chat_loop.events import Connecting, Event, ToolReturned, Warned
from chat_loop.library.archive_tools import TOOLS
from chat_loop.sessions.manager import SessionManager
from chat_loop.sessions.records import Call, Result
from chat_loop.sessions.rows import read_rows
from chat_loop.values import Message, ToolCall, ToolSpec
from tests.support import fork_server
from tests.support.environments import environment
from tests.support.mcp_descriptions import (
    RAW,
    SERVER,
    gone,
    listing,
    processes,
    raw,
    recorded,
    runs,
    text,
    until,
    until_recorded,
)
from tests.support.pty_chat import PtyChat
from tests.support.scripted import ScriptedProvider, Step
from tests.support.scripted_chat import words

pytestmark = pytest.mark.skipif(
    sys.platform == "win32", reason="signals and pseudo-terminals of POSIX"
)

PATIENCE = 60
"""Seconds; reached only when something is broken."""
PROMPT = re.compile(r"You:.*context ", re.DOTALL)
SCRIPT = {
    "pages": [listing("echo", "hang")],
    "results": {"echo": text("a \x1b[31mred\x1b[0m hello")},
}


def configured(home: Path, *, script: Mapping[str, Any] = SCRIPT, **more: Any) -> None:
    """Write a config with the server that follows `script`, for a model on loopback that can call
    tools.
    """
    (home / "script.json").write_text(json.dumps(script))
    server = {"command": sys.executable, "args": [RAW, str(home / "script.json")], "ask": False}
    server |= {"env": {"RECORD": str(home / "record")}, **more}
    config = {"mcp": {"raw": server}, "providers": {"compatible": {"tools": True}}}
    (home / "config.yaml").write_text(json.dumps(config))


def command(server: Loopback | None, *arguments: str) -> list[str]:
    model = (
        ["--model", "compatible:m", "--base-url", f"{server.url}/v1"] if server is not None else []
    )
    return [sys.executable, "-m", "chat_loop", *model, *arguments]


def started(home: Path, server: Loopback, *arguments: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        command(server, *arguments),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment(home),
    )


def ended(process: subprocess.Popen[bytes]) -> tuple[int, str, str]:
    out, err = process.communicate(timeout=PATIENCE)
    return process.returncode, out.decode(), err.decode()


def outcome(home: Path, *arguments: str) -> tuple[int, str, str]:
    """Return the exit code, the output and the errors of a run that ends by itself."""
    done = fork_server.run(arguments, environment(home))
    return done.returncode, done.stdout.decode(), done.stderr.decode()


def answer(home: Path, server: Loopback, *arguments: str) -> tuple[int, str, str]:
    return outcome(home, *command(server, *arguments)[3:])


def calling(name: str, arguments: str = "{}") -> Reply:
    return Reply(calls=(ToolCall("call_1", name, arguments),))


@contextmanager
def chatting(home: Path, server: Loopback, cols: int = 100) -> Iterator[PtyChat]:
    with PtyChat(command(server), env=environment(home), cols=cols, forked=True) as chat:
        chat.wait_for(PROMPT, PATIENCE)
        yield chat


def say(chat: PtyChat, line: str, answer: str | re.Pattern[str]) -> str:
    """Send a line, and wait for its answer and the next prompt; return the output."""
    chat.mark()
    chat.line(line)
    chat.wait_for(answer, PATIENCE, output=True)
    chat.wait_for("You:", PATIENCE, output=True)
    return chat.output()


def test_one_question_with_a_tool(tmp_path: Path) -> None:
    configured(tmp_path)
    with Loopback() as server:
        server.enqueue(calling("raw_echo"), Reply(chunks=("It says hello.",)))
        assert answer(tmp_path, server, "-p", "What does it say?") == (0, "It says hello.\n", "")
        offered = [tool["function"]["name"] for tool in server.request(0).body["tools"]]
        assert offered == ["raw_echo", "raw_hang"]
        assert server.request(1).body["messages"][-1]["content"] == "a \x1b[31mred\x1b[0m hello"
    sessions = SessionManager(tmp_path / "sessions")
    [row] = read_rows(sessions.directory)
    entries = sessions.load(row.path).session.entries
    assert [(entry.name, entry.arguments) for entry in entries if isinstance(entry, Call)] == [
        ("raw_echo", "{}")
    ]
    assert [entry.failed for entry in entries if isinstance(entry, Result)] == [False]
    [process] = processes(tmp_path)
    assert not runs(process)
    assert recorded(tmp_path)[-1] == "end", "it could come to its own end"


@pytest.mark.slow
@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_while_a_tool_runs_leaves_no_process(
    tmp_path: Path, number: signal.Signals, code: int
) -> None:
    configured(tmp_path)
    with Loopback() as server:
        server.enqueue(calling("raw_hang"))
        process = started(tmp_path, server, "-p", "Hang.")
        asyncio.run(until_recorded(tmp_path, "tools/call"))
        process.send_signal(number)
        assert ended(process) == (code, "", "")
    [child] = processes(tmp_path)
    assert not runs(child)
    assert recorded(tmp_path)[-1] == "end"
    assert "notifications/cancelled caller cancelled" in recorded(tmp_path)


def test_a_server_that_is_not_there_is_said_and_the_question_is_answered(tmp_path: Path) -> None:
    configured(tmp_path, command="/does/not/exist")
    sentence = "The MCP server raw cannot be connected: No such file or directory: /does/not/exist."
    hint = "Its tools are unavailable; /mcp restart raw tries again."
    with Loopback() as server:
        code, out, err = answer(tmp_path, server, "-p", "hello")
        assert (code, out) == (0, "You said: hello\n")
        assert err == f"{sentence} {hint}\n"
        code, out, _ = answer(tmp_path, server, "--json", "-p", "hello")
        events = [json.loads(line) for line in out.split("\n")[:-1]]
        assert [event for event in events if event["event"] in ("connecting", "warned")] == [
            {"event": "connecting", "servers": ["raw"]},
            {"event": "connecting", "servers": []},
            {"event": "warned", "message": sentence, "hint": hint},
        ]


@pytest.mark.slow
def test_a_chat_with_servers(tmp_path: Path) -> None:
    configured(tmp_path)
    with Loopback() as server, chatting(tmp_path, server) as chat:
        server.enqueue(calling("raw_echo"), Reply(chunks=("Done.",)))
        say(chat, "Say it.", "Done.")
        shown = say(chat, "/mcp", "raw: connected")
        assert f"raw: connected · 2 tools · {sys.executable} {RAW}"[:90] in shown.replace(
            "\r\n", ""
        )
        shown = say(chat, "/mcp raw", "hang")
        assert "  echo (not asked about): It is echo." in shown
        say(chat, "/mcp nothing", "No MCP server named “nothing”.")
        say(chat, "/mcp a b c", "Usage: /mcp [NAME | restart NAME]")
        say(chat, "/mcp restart raw", "raw: connected")
        first, second = processes(tmp_path)
        assert gone(first)
        assert runs(second)
        server.enqueue(calling("raw_hang"))
        chat.mark()
        chat.line("Hang.")
        asyncio.run(until_recorded(tmp_path, "tools/call"))
        chat.wait_for("raw_hang", PATIENCE, output=True)
        asyncio.run(until(lambda: recorded(tmp_path).count("tools/call") == 2))
        chat.ctrl("c")
        chat.wait_for("You:", PATIENCE, output=True)
        say(chat, "again", "You said: again")
        assert recorded(tmp_path).count("notifications/cancelled caller cancelled") == 1
        chat.ctrl("d")
        assert chat.exit_code(PATIENCE) == 0
        assert "Traceback" not in chat.text()
        assert b"\x1b[31mred" not in chat.raw
        assert not runs(second)


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGKILL])
def test_no_process_outlives_the_chat(tmp_path: Path, number: signal.Signals) -> None:
    configured(tmp_path)
    with Loopback() as server, chatting(tmp_path, server) as chat:
        say(chat, "hello", "You said: hello")
        [process] = processes(tmp_path)
        assert runs(process)
        os.kill(chat._child.pid or 0, number)
        assert chat.exit_code(PATIENCE) == (-9 if number == signal.SIGKILL else 128 + number)
        assert "Traceback" not in chat.text()
    assert gone(process)
    assert recorded(tmp_path)[-1] == "end"


@pytest.mark.slow
def test_a_chat_does_not_wait_for_its_servers_before_it_asks(tmp_path: Path) -> None:
    """The prompt appears and commands work while a server does not answer."""
    configured(tmp_path)
    silent = {"command": sys.executable, "args": [SERVER, "silent"], "timeout": 6}
    config = json.loads((tmp_path / "config.yaml").read_text())
    config["mcp"]["silent"] = silent
    (tmp_path / "config.yaml").write_text(json.dumps(config))
    with Loopback() as server, chatting(tmp_path, server) as chat:
        say(chat, "/mcp", "silent: connecting")
        shown = say(chat, "hello", "You said: hello")
        assert "The MCP server silent did not answer within 6 seconds." in re.sub(
            r"\s+", " ", shown
        )
        assert "tools" in server.request(0).body
        say(chat, "/mcp", "silent: failed")
        chat.ctrl("d")
        assert chat.exit_code(PATIENCE) == 0


def test_the_servers_on_the_command_line(tmp_path: Path) -> None:
    nothing = "There are no MCP servers. Add servers under mcp: in config.yaml.\n"
    assert outcome(tmp_path, "mcp") == (0, "", nothing)
    configured(tmp_path, unasked=["echo"], ask=True, tools=["echo", "gone"])
    where = f"{sys.executable} {RAW} {tmp_path / 'script.json'}"
    assert outcome(tmp_path, "mcp") == (
        0,
        (f"raw: connected · 1 tool · {where}\n  echo (not asked about): It is echo.\n"),
        "",
    )
    configured(tmp_path, command="/does/not/exist")
    assert outcome(tmp_path, "mcp")[:2] == (
        1,
        (
            f"raw: failed · /does/not/exist {RAW} {tmp_path / 'script.json'}\n"
            "  The MCP server raw cannot be connected: No such file or directory: /does/not/exist.\n"
        ),
    )
    assert all(gone(process) for process in processes(tmp_path))


WITHOUT = (
    "import sys; sys.modules['mcp'] = None; from chat_loop.cli import main; "
    "sys.exit(main(sys.argv[1:]))"
)


@pytest.mark.slow
def test_without_the_package_one_sentence_says_how_to_get_it(tmp_path: Path) -> None:
    configured(tmp_path)
    with Loopback() as server:
        arguments = [*command(server, "-p", "hello")[3:]]
        process = subprocess.Popen(
            [sys.executable, "-c", WITHOUT, *arguments],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=environment(tmp_path),
        )
        assert ended(process) == (0, "You said: hello\n", f"{MISSING} {install_hint('mcp')}\n")
        assert "tools" not in server.request(0).body
    process = subprocess.Popen(
        [sys.executable, "-c", WITHOUT, "mcp"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment(tmp_path),
    )
    code, out, _ = ended(process)
    assert code == 1
    assert out.split("\n")[1] == f"  {MISSING} {install_hint('mcp')}"


class Talking:
    """A conversation with a scripted model that calls tools, and its events."""

    def __init__(
        self, folder: Path, servers: McpServers, *steps: Step, tools: tuple[Tool, ...] = ()
    ) -> None:
        self.model = ScriptedProvider(steps=steps, calls_tools=True)
        self.events: list[Event] = []
        self.conversation = Conversation(
            ModelAgent(name="Sally", system_prompt="Be kind.", provider=self.model, tools=tools),
            SessionManager(folder),
            count=words,
            show=self.events.append,
            options=Options(attach_from_archive=False, acknowledge=False, use_ai_summary=False),
            servers=servers,
        )

    def offered(self, request: int = -1) -> list[str]:
        return [tool.name for tool in self.model.requests[request].tools]


async def nothing(given: Mapping[str, object]) -> str:
    return "nothing"


@pytest.mark.slow
async def test_the_archive_and_the_agents_own_tools_keep_their_names(tmp_path: Path) -> None:
    """A server's tools come after the agent's and before the archive's, also after a compaction."""
    own = (Tool(ToolSpec("own_tool", "Mine.", {"type": "object"}), nothing),)
    archive = raw(
        tmp_path,
        {"pages": [listing("search", "other")], "results": {"other": text("found")}},
        ask=False,
    )
    (tmp_path / "b").mkdir()
    others = raw(tmp_path / "b", {"pages": [listing("tool")]})

    servers = McpServers({"archive": archive, "own": others}, {})
    call = Message("assistant", "", calls=(ToolCall("x", "archive_other", "{}"),))
    talking = Talking(tmp_path / "sessions", servers, "Hello.", call, "Found.", tools=own)
    try:
        await talking.conversation.ask("Hello")
        named = ["own_tool", "archive_other"]
        assert talking.offered() == named
        assert await talking.conversation.compact()
        await talking.conversation.ask("Search.")
        assert talking.offered() == [*named, *TOOLS]
        returned = [event for event in talking.events if isinstance(event, ToolReturned)]
        assert [(event.name, event.text) for event in returned] == [("archive_other", "found")]
        await talking.conversation.leave("clear")
        await talking.conversation.ask("Anew.")
        assert talking.offered() == named
    finally:
        await talking.conversation.leave("exit")
        talking.conversation.close()
        await servers.close()


async def test_a_model_that_cannot_call_tools_is_not_kept_waiting(tmp_path: Path) -> None:
    servers = McpServers({"none": McpServer(command="/does/not/exist")}, {})
    talking = Talking(tmp_path / "sessions", servers, "Yes.")
    talking.model.calls_tools = False
    try:
        assert (await talking.conversation.ask("Hello")).text == "Yes."
        assert not any(isinstance(event, Connecting | Warned) for event in talking.events)
        assert servers.states()[0].state == "not started"
    finally:
        await talking.conversation.leave("exit")
        talking.conversation.close()
        await servers.close()
