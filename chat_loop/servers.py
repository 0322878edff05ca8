"""What a config says of MCP servers: checked, and chosen by agents (pure)."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path

from msgspec.structs import replace

from chat_loop.config import McpServer
from chat_loop.errors import ConfigError

LONGEST_NAME = 32
LONGEST_WAIT = 600.0


def fault_of(name: str, server: McpServer) -> str:
    """What is wrong with the description of a server; empty when nothing is."""
    known = name.isascii() and name.replace("-", "").replace("_", "").isalnum()
    faults = {
        f"a name is 1 to {LONGEST_NAME} letters, digits, - and _": not known
        or len(name) > LONGEST_NAME,
        "it needs a command or a url, and only one of them": bool(server.command)
        == bool(server.url),
        "args, env and cwd go with a command": bool(
            server.url and (server.args or server.env or server.cwd)
        ),
        "headers go with a url": bool(server.command and server.headers),
        "a url begins with http:// or https://": bool(server.url)
        and not server.url.startswith(("http://", "https://")),
        f"the timeout is from 1 to {LONGEST_WAIT:.0f} seconds": not 1
        <= server.timeout
        <= LONGEST_WAIT,
    }
    return next((sentence for sentence, wrong in faults.items() if wrong), "")


def chosen(
    servers: Mapping[str, McpServer], names: Collection[str], folder: Path, own: Collection[str]
) -> dict[str, McpServer]:
    """The servers that an agent names. Those it describes itself, `own`, find `cwd` from its
    `folder`.

    Raises ConfigError for a name that no server has.
    """
    for name in names:
        if name not in servers:
            known = ", ".join(servers) or "none"
            raise ConfigError(
                f"There is no MCP server {name[:LONGEST_NAME]}.", f"The config has: {known}."
            )
    return {
        name: replace(servers[name], cwd=str(folder / Path(servers[name].cwd).expanduser()))
        if name in own and servers[name].cwd
        else servers[name]
        for name in names
    }
