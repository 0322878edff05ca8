"""Terminal chat for large language models; every conversation is a markdown file.

docs/architecture.md describes the layout; tests/test_architecture.py enforces it.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from chat_loop.agent.agent_files import Agent
    from chat_loop.agent.functions import changes

__version__ = "0.1.0"

__all__ = ["Agent", "__version__", "changes"]


_MODULES = {"Agent": "chat_loop.agent.agent_files", "changes": "chat_loop.agent.functions"}
"""Names for files that define an agent. The program itself starts without these modules."""


def __getattr__(name: str) -> object:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_MODULES[name]), name)
