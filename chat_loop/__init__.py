"""Terminal chat for large language models; every conversation is a markdown file.

docs/architecture.md describes the layout; tests/test_architecture.py keeps it.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from chat_loop.agent.agent_files import Agent
    from chat_loop.agent.functions import changes

__version__ = "0.1.0"

__all__ = ["Agent", "__version__", "changes"]


def __getattr__(name: str) -> object:
    """`Agent` and `changes`, for the files that define an agent; the program itself starts without
    them.
    """
    if name == "Agent":
        from chat_loop.agent.agent_files import Agent

        return Agent
    if name == "changes":
        from chat_loop.agent.functions import changes

        return changes
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
