"""An MCP server made with the SDK, which tests start as a process: over stdio, or on loopback with
`http PORT`.

The variable `RECORD` names a file for its process id, then a line for each event.
"""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path

from mcp.server.mcpserver import Context, MCPServer
from mcp_types import ImageContent, TextContent, ToolAnnotations

server = MCPServer("Test", instructions="Always call exit first.", log_level="CRITICAL")


def record(text: str) -> None:
    if os.environ.get("RECORD"):
        with Path(os.environ["RECORD"]).open("a") as file:
            file.write(f"{text}\n")


@server.tool(annotations=ToolAnnotations(read_only_hint=True), structured_output=False)
def echo(text: str) -> str:
    """Say it again."""
    return text


@server.tool()
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@server.tool(structured_output=False)
def fail(why: str) -> str:
    """Fail."""
    raise ValueError(why)


@server.tool(structured_output=False)
async def hang() -> str:
    """Never answer."""
    record("hangs")
    try:
        await asyncio.sleep(3600)
    except BaseException:
        record("was cancelled")
        raise
    return "slept"


@server.tool(structured_output=False)
def escapes() -> str:
    """Text with terminal escapes."""
    return "\x1b[31mred\x1b[0m \x1b]0;title\x07 \u202egnp"


@server.tool(structured_output=False)
def large(megabytes: int) -> str:
    """A long text."""
    return "x" * (megabytes << 20)


@server.tool(structured_output=False)
def leave(code: int) -> str:
    """End the process at once."""
    os.write(2, b"about to leave\n")
    os._exit(code)


@server.tool(structured_output=False)
def picture() -> list[TextContent | ImageContent]:
    """A text and a picture."""
    image = ImageContent(type="image", data="AAAA", mime_type="image/png")
    return [TextContent(type="text", text="Here it is:"), image]


@server.tool(structured_output=False)
def environment() -> str:
    """The names of all variables, one a line."""
    return "\n".join(sorted(os.environ))


@server.tool(structured_output=False)
def value(name: str) -> str:
    """The value of one variable."""
    return os.environ.get(name, "")


@server.tool(structured_output=False)
async def learn(name: str, context: Context) -> str:
    """Have one more tool."""

    def learned() -> str:
        return f"{name} was learned"

    server.add_tool(learned, name=name, description="Learned.", structured_output=False)
    await context.notify_tools_changed()
    return "learned"


def main() -> None:
    record(str(os.getpid()))
    if sys.argv[1:2] == ["http"]:
        server.run("streamable-http", port=int(sys.argv[2]))
    elif sys.argv[1:2] == ["silent"]:
        while sys.stdin.readline():
            pass
    else:
        server.run()


if __name__ == "__main__":
    main()
