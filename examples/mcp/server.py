"""A tiny MCP server: a shopping list that lasts as long as the server runs.

pip install mcp
python server.py        # speaks the protocol on standard input and output
"""

from mcp.server.mcpserver import MCPServer
from mcp_types import ToolAnnotations

server = MCPServer("shopping", log_level="ERROR")
wanted: dict[str, int] = {}


@server.tool(annotations=ToolAnnotations(read_only_hint=True))
def list_items() -> dict[str, int]:
    """Return the items on the shopping list, with the number of each."""
    return wanted


@server.tool()
def add_item(name: str, number: int = 1) -> str:
    """Add `number` of an item to the shopping list."""
    if number < 1:
        raise ValueError("The number must be at least 1.")
    wanted[name] = wanted.get(name, 0) + number
    return f"{wanted[name]} of {name} on the list."


@server.tool()
def remove_item(name: str) -> str:
    """Take an item off the shopping list."""
    if wanted.pop(name, None) is None:
        raise ValueError(f"There is no {name} on the list.")
    return f"{name} is off the list."


if __name__ == "__main__":
    server.run()
