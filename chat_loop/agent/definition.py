"""What an agent's file says about it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from msgspec import Struct, field


class Definition(Struct, frozen=True, kw_only=True):
    """An agent as its file defines it; what it leaves out is empty, and the config's then holds.

    `path` is the file's, absolute. `tools` names built-in ones, `mcp` servers of the config (or of
    `servers`, which the file itself describes, in the form of the config). `functions` are Python
    functions that become tools. `foreign` is an agent of another library that answers instead of a
    model. `config` holds settings that take the place of the config's, by section and key.
    """

    name: str
    path: str
    description: str = ""
    model: str = ""
    system_prompt: str = ""
    summary_instructions: str = ""
    tools: tuple[str, ...] = ()
    mcp: tuple[str, ...] = ()
    servers: Mapping[str, Any] = field(default_factory=dict)
    functions: tuple[Callable[..., object], ...] = ()
    foreign: object = None
    config: Mapping[str, Any] = field(default_factory=dict)
