"""The command lines that start the program again, with the options of this run."""

from __future__ import annotations

import argparse
import shlex
from contextlib import suppress
from pathlib import Path

from chat_loop.agent.agent import ModelAgent
from chat_loop.parts import Parts
from chat_loop.process import start_process
from chat_loop.providers import choose
from chat_loop.providers.catalogue import entries

ALL = ("config", "sessions-dir", "model", "base-url", "tools", "max-tokens")
"""The options that a conversation goes on with."""


def resume_command(parts: Parts, agent: ModelAgent, model: str = "") -> list[str]:
    """Return the arguments of the command that continues a session with the same options, or with
    another `model`.
    """
    options = parts.options
    command = ["chat-loop"]
    if options.plain:
        command += ["--plain"]
    if options.local and not model:
        command += ["--local"]
    # the user switched from an agent that has its own model to another model
    is_left = bool(parts.definition and parts.definition.foreign) and not agent.own_tools
    if (reference := options.agent_reference) and not is_left:
        command += ["--agent", agent.path if Path(reference).exists() else reference]
    others = {"model": model or options.model}
    if model and not _is_of_base_url(parts, model):
        others["base_url"] = ""
    return command + _option_arguments(options, *ALL, **others)


def _is_of_base_url(parts: Parts, model: str) -> bool:
    """Return True if a model belongs to the provider that --base-url is about."""
    names = entries(parts.config.providers)
    reference = choose.full_reference(parts.options.model, names, "compatible")
    return model.partition(":")[0] == reference.partition(":")[0]


def command_with(options: argparse.Namespace, *arguments: str) -> str:
    """Return the command line with the options of this one, and with other `arguments`."""
    reference = options.agent_reference
    agent = ["--agent", reference] if reference else []
    return shlex.join(["chat-loop", *agent, *_option_arguments(options, *ALL), *arguments])


def spawn_sync(parts: Parts) -> None:
    """Start a process that uploads the latest messages, if they have a mirror."""
    if parts.mirror is not None:
        with suppress(OSError):  # the next start uploads it
            arguments = _option_arguments(parts.options, "config", "sessions-dir")
            start_process([*arguments, "sync", "--late"])


def _option_arguments(options: argparse.Namespace, *names: str, **others: str) -> list[str]:
    """Return those of the options `names` that are set in `options` or in `others`."""
    values = {**vars(options), **others}
    given = [(f"--{name}", values[name.replace("-", "_")]) for name in names]
    return [word for name, value in given if value for word in (name, str(value))]
