"""What is around the program: MCP servers, agents, the terminal."""

from __future__ import annotations

import asyncio
import json
import locale
import os
import shutil
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

from chat_loop.agent import mcp_servers
from chat_loop.agent.agent_path import PYTHON, file_of
from chat_loop.agent.named_agents import Places
from chat_loop.agent.trust import FOLDER, Trust, snapshot_of
from chat_loop.config import McpServer, completed
from chat_loop.display.text import one_line
from chat_loop.errors import ChatLoopError, ConfigError, os_reason
from chat_loop.subcommands.checks.finding import Finding, Here, bad, doubtful, good
from chat_loop.wording import counted, install_hint

NARROW = 40
"""Columns."""


def described(here: Here) -> Iterator[Finding]:
    """Yield whether the MCP servers of the config could be started, without starting one."""
    there = {name: server for name, server in here.config.mcp.items() if server.enabled}
    if there and any(find_spec(name) is None for name in ("mcp", "jsonschema")):
        yield bad("MCP", mcp_servers.MISSING, install_hint("mcp"))
    for name, server in there.items():
        yield _described(here, f"MCP {name}", server)
    off = len(here.config.mcp) - len(there)
    if off or not there:
        yield good(
            "MCP",
            f"{counted(off, 'server')} switched off" if off else "the config describes no server",
        )


def _described(here: Here, name: str, server: McpServer) -> Finding:
    try:
        environment = completed(server.env, here.environment)
        completed(server.headers, here.environment)
    except ConfigError as error:
        return bad(name, error.message, error.hint)
    if server.url:
        return good(name, "described; --connect tries it")
    folder = Path(server.cwd).expanduser() if server.cwd else Path()
    if server.cwd and not folder.is_dir():
        return bad(
            name,
            f"Its folder {server.cwd} is not there.",
            f"mcp.{name.removeprefix('MCP ')}.cwd names it.",
        )
    path = environment.get("PATH") or here.environment.get("PATH")
    command = str(folder / server.command) if "/" in server.command else server.command
    if shutil.which(command, path=path) is None:
        return bad(
            name,
            f"Its command {one_line(server.command)} is not found.",
            "Install it, or name its whole path.",
        )
    return good(name, f"described, {one_line(server.command)} is there; --connect tries it")


def connected(here: Here) -> Iterator[Finding]:
    """Connect to the MCP servers, and yield what became of each."""
    servers = mcp_servers.servers_of(here.config.mcp)
    if servers is None:
        return
    for state in asyncio.run(_settled(servers)):
        name = f"MCP {state.name}"
        if state.state == "connected":
            yield good(name, f"connected, {counted(len(state.tools), 'tool')}")
        else:
            yield bad(name, one_line(state.problem, 500), "chat-loop mcp shows more.")


async def _settled(servers: mcp_servers.Servers) -> tuple[mcp_servers.ServerState, ...]:
    try:
        await servers.settled()
        return servers.states()
    finally:
        await servers.close()


def agents(here: Here) -> Iterator[Finding]:
    """Yield the agents that cannot be used, the one that the config or the command line names, and
    the approvals.
    """
    places, trust = Places(here.paths), Trust(here.paths.config.parent)
    named = places.all()
    broken = 0
    for place in named:
        try:
            file_of(place.path)
        except ChatLoopError as error:
            broken += 1
            yield doubtful(
                "Agents", f"{place.name}: {error.message}", f"chat-loop agents remove {place.name}"
            )
    yield good(
        "Agents",
        f"{counted(len(named), 'agent')} with a "
        f"name{f', {broken} of them broken' if broken else ''}",
    )
    if here.agent:
        snapshot = snapshot_of(places.find(here.agent))
        asks = snapshot.path.suffix.lower() == PYTHON and trust.question(snapshot) is not None
        hint = f"chat-loop agents approve {here.agent}"
        yield (
            doubtful("Agent", f"{snapshot.path} is not approved.", hint)
            if asks
            else good("Agent", str(snapshot.path))
        )
    yield from _approvals(here.paths.config.parent / FOLDER)


def _approvals(folder: Path) -> Iterator[Finding]:
    try:
        files = sorted(folder.iterdir())
    except FileNotFoundError:
        return
    except OSError as error:
        yield bad(
            "Approvals",
            f"{folder} cannot be read: {os_reason(error)}.",
            "Move it away: agents ask again.",
        )
        return
    broken = [file for file in files if file.suffix == ".json" and not _readable(file)]
    for file in broken[:3]:
        yield doubtful("Approvals", f"{file} is damaged: its agent asks again.", "Delete it.")
    yield good("Approvals", f"{len(files) - len(broken):,}")


def _readable(file: Path) -> bool:
    try:
        return isinstance(json.loads(file.read_bytes()), dict)
    except (OSError, ValueError, RecursionError):
        return False


def terminal(here: Here) -> Iterator[Finding]:
    """Yield the terminal's kind and size, its colours, and whether it takes UTF-8."""
    environment = here.environment
    kind = environment.get("TERM", "")
    encoding = locale.getpreferredencoding(False)
    if encoding.replace("-", "").lower() != "utf8":
        yield doubtful(
            "Locale",
            f"Text is {encoding}, not UTF-8: what it lacks is shown as codes.",
            "export LANG=C.UTF-8",
        )
    else:
        yield good("Locale", encoding)
    if not (os.isatty(0) and os.isatty(1)):
        yield good("Terminal", "input or output is none: plain text, no line editor")
        return
    columns, lines = os.get_terminal_size(1)
    text = f"{one_line(kind) or 'no TERM'}, {columns}×{lines}, {_colours(here)}"
    if kind in ("", "dumb", "unknown"):
        yield doubtful(
            "Terminal", f"{text}: no line editor, no bracketed paste.", "export TERM=xterm-256color"
        )
    elif columns < NARROW:
        yield doubtful(
            "Terminal", f"{text}: less than {NARROW} columns are narrow.", "Make it wider."
        )
    else:
        yield good("Terminal", text)


def _colours(here: Here) -> str:
    environment = here.environment
    if environment.get("NO_COLOR"):
        return "no colours (NO_COLOR)"
    if environment.get("COLORTERM", "").lower() in ("truecolor", "24bit"):
        return "16 million colours"
    return "256 colours" if "256" in environment.get("TERM", "") else "16 colours"
