"""What an `agent.py` imports: `from chat_loop import Agent`."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Any


@dataclasses.dataclass(frozen=True, kw_only=True)
class Agent:
    """An agent in Python; what is left out is the config's. A file `agent.py` gives it the name
    `agent`.

    `tools` holds functions with type hints and a docstring, which the model is told of, and names
    of built-in tools. `mcp` names servers of the config, or of `servers`, which describes some in
    the form of the config. `config` takes the place of the config's settings, by section and key:
    `{"memory": {"enabled": False}}`.
    """

    name: str = ""
    system_prompt: str = ""
    model: str = ""
    description: str = ""
    tools: Sequence[Callable[..., object] | str] = ()
    mcp: Sequence[str] = ()
    servers: Mapping[str, Mapping[str, Any]] = dataclasses.field(default_factory=dict)
    summary_instructions: str = ""
    config: Mapping[str, Any] = dataclasses.field(default_factory=dict)
