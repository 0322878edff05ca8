"""What a check found, and what the checks have to go by."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Literal

from msgspec import Struct

from chat_loop.config import Config, Paths
from chat_loop.providers.choose import World

State = Literal["ok", "warning", "problem"]


class Finding(Struct, frozen=True):
    """One line of the report. `hint` is what to do; no key is in any of it."""

    name: str
    state: State
    text: str
    hint: str = ""


def good(name: str, text: str, hint: str = "") -> Finding:
    return Finding(name, "ok", text, hint)


def doubtful(name: str, text: str, hint: str = "") -> Finding:
    """Something to know: the program works with it."""
    return Finding(name, "warning", text, hint)


def bad(name: str, text: str, hint: str = "") -> Finding:
    """Something that does not work as it is."""
    return Finding(name, "problem", text, hint)


class Here(Struct, frozen=True, kw_only=True):
    """A run of the checks. `sessions` is the folder; `model` and `base_url` are the command
    line's.
    """

    config: Config
    config_file: Path
    paths: Paths
    sessions: Path
    world: World
    model: str
    base_url: str
    agent: str

    @property
    def environment(self) -> Mapping[str, str]:
        return self.world.environment
