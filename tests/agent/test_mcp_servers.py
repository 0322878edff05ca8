"""MCP servers as real processes: connecting, calling, losing and reconnecting."""

from __future__ import annotations

import asyncio
import os
import sys
import tracemalloc
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from chat_loop.agent.ask import CallLimits
from chat_loop.agent.mcp_servers import McpServers
from chat_loop.agent.mcp_state import ServerState
from chat_loop.agent.tools import Tool, Toolbox
from chat_loop.config import McpServer
from chat_loop.errors import UsageError
from chat_loop.values import ToolCall
from tests.support.mcp_descriptions import (
    Offered,
    connected,
    gone,
    listing,
    processes,
    raw,
    recorded,
    runs,
    sdk,
    text,
    until,
    until_recorded,
)

pytestmark = pytest.mark.skipif(
    sys.platform == "win32", reason="process groups and signals of POSIX"
)

ECHO = {"pages": [listing("echo", "quit")], "results": {"echo": text("hello")}}
NEXT = "The next call connects it again."


def with_servers(act: Callable[[Offered], Awaitable[None]], **servers: McpServer) -> None:
    async def run() -> None:
        async with connected(servers) as offered:
            await act(offered)

    asyncio.run(run())


def test_a_tool_without_a_name_or_a_schema_costs_itself_and_no_other(tmp_path: Path) -> None:
    bad: list[object] = [
        {"name": "", "inputSchema": {}},
        {"name": "bare"},
        {"inputSchema": {}},
        {"name": "odd", "inputSchema": 5},
        {"name": "x" * 300, "inputSchema": {}},
        {"name": "a\x1b[31m\nb", "inputSchema": {}},
        {"name": "deep", "inputSchema": [[[]]]},
        *listing("echo"),
        7,
    ]
    script = {"pages": [bad + listing("echo")], "results": {"echo": text("hello")}}
    named = (
        f"Tools of the MCP server test cannot be used: “”, “bare”, “”, “odd”, “{'x' * 39}…”, "
        "“a [31m b”, “deep”, “”, “echo”"
    )

    async def act(offered: Offered) -> None:
        assert list(offered.tools) == ["test_echo"]
        assert offered.servers.notices() == (
            (named, "They have no usable name or no schema, or are listed twice."),
        )
        assert offered.servers.notices() == ()
        assert await offered.tools["test_echo"].run({}) == "hello"

    with_servers(act, test=raw(tmp_path, script))


def test_the_tools_of_a_server_are_offered_and_called() -> None:
    async def act(offered: Offered) -> None:
        names: tuple[str, ...] = ("echo", "add", "fail", "hang", "escapes", "large", "leave")
        names += ("picture", "environment", "value", "learn")
        assert list(offered.tools) == [f"test_{name}" for name in names]
        spec = offered.tools["test_add"].spec
        assert spec.description == "Add two numbers."
        assert spec.parameters["properties"] == {
            "a": {"title": "A", "type": "integer"},
            "b": {"title": "B", "type": "integer"},
        }
        assert spec.parameters["required"] == ["a", "b"]
        assert await offered.call("test_echo", text="Grüße\n2") == "Grüße\n2"
        assert await offered.call("test_add", a=1, b=2) == "3"
        assert await offered.call("test_fail", why="No.") == "FAILED Error executing tool fail"
        assert await offered.call("test_picture") == "Here it is:\n[image image/png: not shown]"
        assert await offered.call("test_escapes") == "\x1b[31mred\x1b[0m \x1b]0;title\x07 \u202egnp"
        [state] = offered.servers.states()
        assert (state.name, state.state, len(state.tools), state.problem) == (
            "test",
            "connected",
            11,
            "",
        )
        assert offered.waited == [("test",)]
        assert offered.servers.notices() == ()

    with_servers(act, test=sdk())


def test_the_config_says_which_tools_there_are_and_which_run_unasked(tmp_path: Path) -> None:
    async def act(offered: Offered) -> None:
        assert {name: tool.prepare is not None for name, tool in offered.tools.items()} == {
            "some_echo": False,
            "some_add": True,
            "free_fail": False,
        }
        assert not offered.servers.needs_approval("free", "fail")
        origins = [tool.origin for tool in offered.tools.values()]
        names = [(origin["server"], origin["name at the server"]) for origin in origins]
        assert names == [("some", "echo"), ("some", "add"), ("free", "fail")]
        assert all(str(tmp_path) in origin["command"] for origin in origins)

    script = {"pages": [listing("echo", "add", "fail")]}
    with_servers(
        act,
        some=raw(tmp_path, script, tools=("echo", "add", "nothing"), unasked=("echo",)),
        free=raw(tmp_path, script, tools=("fail",), ask=False),
    )


@pytest.mark.slow
def test_what_cannot_be_connected_is_said_and_the_others_are_there(tmp_path: Path) -> None:
    async def act(offered: Offered) -> None:
        assert list(offered.tools) == ["good_echo", "good_quit"]
        again = "Its tools are unavailable; /mcp restart {} tries again."
        assert offered.servers.notices() == (
            (
                "The MCP server none cannot be connected: No such file or directory: /does/not/exist.",
                again.format("none"),
            ),
            ("The MCP server bad ended. It said: “no key, no luck”", again.format("bad")),
            ("The MCP server shut did not answer within 1 seconds.", again.format("shut")),
            (
                (
                    "The MCP server poor: The environment variable MISSING is not set. export "
                    "MISSING=… sets it."
                ),
                again.format("poor"),
            ),
            ("The MCP server odd ended.", again.format("odd")),
        )
        assert offered.servers.notices() == (), "once"
        await offered.again()
        assert offered.servers.notices() == (), "once"

    # more than a pipe holds, and more than the program keeps
    complains = "import sys; sys.stderr.write('warning\\n' * 100_000)\n"
    complains += "sys.stderr.write('no \\x1bkey, no luck\\n'); sys.exit(1)"
    with_servers(
        act,
        good=raw(tmp_path, ECHO),
        none=McpServer(command="/does/not/exist"),
        bad=McpServer(command=sys.executable, args=("-c", complains)),
        shut=sdk("silent", timeout=1.0),
        poor=McpServer(command="true", env={"KEY": "${MISSING}"}),
        odd=McpServer(command="true"),
        off=McpServer(command="/does/not/exist", enabled=False),
    )


@pytest.mark.slow
async def test_the_environment_is_the_servers_own(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for name in ("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "COMPATIBLE_API_KEY", "NOTES"):
        monkeypatch.setenv(name, f"secret of {name}")

    server = sdk(env={"TOKEN": "a ${NOTES} b", "EMPTY": "$NOTES {x}"}, cwd=str(tmp_path))
    async with connected({"test": server}, dict(os.environ)) as offered:
        names = set((await offered.call("test_environment")).split("\n"))
        usual = {"HOME", "LOGNAME", "PATH", "SHELL", "TERM", "USER", "LC_CTYPE"}
        assert names <= usual | {"TOKEN", "EMPTY"}
        assert await offered.call("test_value", name="TOKEN") == "a secret of NOTES b"
        assert await offered.call("test_value", name="EMPTY") == "$NOTES {x}"


def test_a_server_that_dies_is_started_again_by_the_next_call(tmp_path: Path) -> None:
    died = "The MCP server raw ended."
    broken = tmp_path / "broken"
    server = raw(tmp_path, ECHO)
    code = f"test ! -e {broken} && exec {sys.executable} {' '.join(server.args)}"
    server = McpServer(command="/bin/sh", args=("-c", code), env=server.env)

    async def act(offered: Offered) -> None:
        assert await offered.call("raw_quit") == f"FAILED {died} {NEXT}"
        assert await offered.call("raw_echo") == "hello"
        assert await offered.call("raw_quit") == f"FAILED {died} {NEXT}"
        assert await offered.again() == ["raw_echo", "raw_quit"], (
            "offered, as the next call starts it"
        )
        assert offered.servers.state("raw").reconnects
        assert offered.servers.notices() == ()
        broken.touch()
        assert await offered.call("raw_echo") == f"FAILED {died}"
        assert await offered.call("raw_echo") == f"FAILED {died}"
        assert await offered.again() == []
        assert not offered.servers.state("raw").reconnects
        assert offered.servers.notices() == (
            (died, "Its tools are unavailable; /mcp restart raw tries again."),
        )
        broken.unlink()
        assert (await offered.servers.restart("raw")).state == "connected"
        assert await offered.again() == ["raw_echo", "raw_quit"]
        assert await offered.call("raw_echo") == "hello"
        assert len(processes(tmp_path)) == 3

    with_servers(act, raw=server)
    assert all(gone(process) for process in processes(tmp_path))


def test_calls_that_run_when_it_dies_all_fail(tmp_path: Path) -> None:
    async def act(offered: Offered) -> None:
        hanging = [asyncio.ensure_future(offered.call("raw_hang")) for _ in range(3)]
        await until(lambda: recorded(tmp_path).count("tools/call") == 3)
        os.kill(processes(tmp_path)[0], 9)
        assert set(await asyncio.gather(*hanging)) == {f"FAILED The MCP server raw ended. {NEXT}"}

    with_servers(act, raw=raw(tmp_path, {"pages": [listing("hang")]}))


@pytest.mark.slow
def test_a_line_of_eight_megabytes_is_one_clear_error() -> None:
    from chat_loop.agent.mcp_connection import TOO_LARGE

    async def act(offered: Offered) -> None:
        assert len(await offered.call("test_large", megabytes=3)) == 3 << 20
        tracemalloc.start()
        answer = await offered.call("test_large", megabytes=8)
        assert answer == f"FAILED The MCP server test failed: {TOO_LARGE}. {NEXT}"
        answer = await offered.call("test_large", megabytes=64)
        assert answer == f"FAILED The MCP server test failed: {TOO_LARGE}. {NEXT}"
        assert tracemalloc.get_traced_memory()[1] < 40 << 20
        tracemalloc.stop()
        assert await offered.call("test_echo", text="on") == "on"

    with_servers(act, test=sdk())


def test_a_call_that_is_cancelled_is_cancelled_at_the_server(tmp_path: Path) -> None:
    async def act(offered: Offered) -> None:
        box = Toolbox(offered.tools, 1_000, allowed, CallLimits(tool=1.0))
        [result] = [result async for result in box.run([ToolCall("c1", "raw_hang", "")])]
        assert result.text.split("\n")[-1] == "raw_hang took longer than 1 seconds and was stopped."
        await until_recorded(tmp_path, "notifications/cancelled caller cancelled")
        assert await offered.call("raw_echo") == "hello", "the connection goes on"

    async def allowed(tool: Tool, shown: str) -> bool:
        return True

    script = {"pages": [listing("hang", "echo")], "results": {"echo": text("hello")}}
    with_servers(act, raw=raw(tmp_path, script))


def test_pages_are_read_on_and_junk_is_left_out(tmp_path: Path) -> None:
    async def act(offered: Offered) -> None:
        assert list(offered.tools) == ["raw_one", "raw_two", "raw_three"]
        assert await offered.call("raw_two") == "2"

    pages = [listing("one"), [], listing("two", "three")]
    with_servers(
        act,
        raw=raw(
            tmp_path, {"pages": pages, "results": {"two": text("2")}, "junk": "Hi!\n{}\n[1]\n\n"}
        ),
    )


def test_too_many_tools_are_said(tmp_path: Path) -> None:
    async def act(offered: Offered) -> None:
        assert len(offered.tools) == 128
        notice = (
            "The model is not offered 172 tools of the MCP servers: there are too many, or other "
            "tools have their names."
        )
        assert offered.servers.notices() == (
            (notice, "mcp.NAME.tools in the config selects the ones you want."),
        )

    with_servers(
        act, raw=raw(tmp_path, {"pages": [listing(*(f"t{number}" for number in range(300)))]})
    )


@pytest.mark.slow
async def test_a_server_that_ignores_its_closed_input_and_sigterm_is_killed(tmp_path: Path) -> None:
    code = "import os,signal,sys,time; signal.signal(signal.SIGTERM, signal.SIG_IGN)"
    deaf = f"{code}; open(sys.argv[1], 'a').write(f'{{os.getpid()}}\\n'); time.sleep(600)"
    server = McpServer(command=sys.executable, args=("-c", deaf, str(tmp_path / "record")))

    hanging = McpServers({"deaf": server}, {})
    hanging.start()
    await until(lambda: bool(processes(tmp_path)))
    await hanging.close()
    [deaf_one] = processes(tmp_path)
    assert gone(deaf_one)


@pytest.mark.slow
async def test_leaving_while_it_connects_ends_the_process(tmp_path: Path) -> None:
    servers = McpServers({"s": sdk("silent", env={"RECORD": str(tmp_path / "record")})}, {})
    waiting = asyncio.ensure_future(servers.wait_ready())
    await until(lambda: bool(processes(tmp_path)))
    waiting.cancel()
    await servers.close()
    [process] = processes(tmp_path)
    assert not runs(process)


def test_names_that_no_server_has(tmp_path: Path) -> None:
    servers = McpServers({"one": raw(tmp_path, ECHO), "two": raw(tmp_path, ECHO)}, {})
    with pytest.raises(UsageError, match="No MCP server named “three”") as caught:
        servers.state("three")
    assert caught.value.hint == "The servers are: one, two."
    [state, _] = servers.states()
    where = f"{sys.executable} {' '.join(raw(tmp_path, ECHO).args)}"
    assert state == ServerState(name="one", state="not started", where=where)


def test_a_list_without_an_end_is_read_to_a_limit(tmp_path: Path) -> None:
    async def act(offered: Offered) -> None:
        assert len(offered.tools) == 50
        assert recorded(tmp_path).count("tools/list") == 50

    with_servers(act, raw=raw(tmp_path, {"pages": [listing(f"t{number}") for number in range(80)]}))
