"""The parts that each run has, built from the options and the config: the only place that builds
them. `assembly` makes what only chats, replies and summaries need.
"""

from __future__ import annotations

import argparse
import os
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from chat_loop.config import Config, Paths, overlay
from chat_loop.input.start import InstantPrompt
from chat_loop.library.library import Library
from chat_loop.library.shared import SharedLibrary, open_shared
from chat_loop.log import Log
from chat_loop.sessions.files import Files, working_folder
from chat_loop.sessions.manager import SessionManager
from chat_loop.sessions.mirror import Mirror
from chat_loop.yaml_files import Source

if TYPE_CHECKING:
    from chat_loop.agent.agent_files import Definition
    from chat_loop.plugins import Plugins
    from chat_loop.providers.choose import Machine


class Parts(Struct, frozen=True, kw_only=True, dict=True):
    """What a run is made of. `instant` is the prompt, if it is already drawn."""

    options: argparse.Namespace
    config: Config
    """The settings, with those of the agent's file."""
    paths: Paths
    instant: InstantPrompt | None
    definition: Definition | None
    directory: str
    """The working folder; empty if it was removed."""
    home: Path
    mirror: Mirror | None
    shared: SharedLibrary | None
    """The library that a team shares, if the config names one."""
    sessions: SessionManager
    log: Log

    @cached_property
    def plugins(self) -> Plugins:
        from chat_loop.plugins import Plugins  # a list of sessions does not wait for it

        return Plugins(self.config.plugins, load=self.options.plugins)

    @cached_property
    def machine(self) -> Machine:
        """What models are chosen from."""
        return self.plugins.machine(self.config, self.paths)

    @property
    def folder(self) -> Path:
        """The folder of the tools."""
        return Path(self.directory or "/")

    def library(self) -> Library:
        """Return the library of the sessions, with a team's if there is one."""
        return Library(self.sessions.directory, shared=self.shared)

    @property
    def model_is_chosen(self) -> bool:
        """True if the options or the agent name a model, which a session then goes on with."""
        options = self.options
        has_own = self.definition is not None and self.definition.foreign is not None
        return bool(options.model or options.local or options.base_url or has_own)


def build(
    options: argparse.Namespace,
    config: Config,
    paths: Paths,
    instant: InstantPrompt | None = None,
    files: Files | None = None,
) -> Parts:
    """Return the parts of a run. The user may have to approve the file of its agent first, which
    only chats and stored sessions have. Raises AgentError, ConfigError, and KeyboardInterrupt on
    Ctrl-C.
    """
    chats = options.command is None or getattr(options, "action", "") == "browse"
    has_agent = options.command in (None, "sessions")
    reference = ""
    if has_agent:
        reference = options.agent_reference or (config.agent.default if chats else "")
    definition: Definition | None = None
    settings = config
    if reference:
        from chat_loop.consent import open_with_consent  # most runs use the built-in agent

        asks = options.question is None and os.isatty(0) and os.isatty(1)
        definition = open_with_consent(
            reference, paths, instant, can_ask=asks, trusted=options.trust_agent
        )
    if has_agent:
        settings = agent_config(config, definition)
    directory = str(working_folder() or "")
    folder = paths.sessions(settings, options.sessions_dir)
    # only the user's own setting: an agent's file must not send sessions anywhere
    mirror: Mirror | None = None
    if config.sessions.store and options.save:
        from chat_loop.store.store_mirror import StoreMirror  # few have a store

        mirror = StoreMirror(folder, config.sessions.store, files)
    sessions = SessionManager(
        folder,
        files=files,
        project=directory,
        mode="" if options.question is None else "print",
        saves=options.save,
        is_theirs=mirror.is_theirs if mirror is not None else None,
    )
    return Parts(
        options=options,
        config=settings,
        paths=paths,
        instant=instant,
        definition=definition,
        directory=directory,
        home=Path(os.path.expanduser("~")),  # noqa: PTH111 - Path.home raises
        mirror=mirror,
        shared=open_shared(config.library, folder) if config.library and options.save else None,
        sessions=sessions,
        log=Log(paths.log if options.save else None),
    )


def agent_config(config: Config, definition: Definition | None) -> Config:
    """Return the config, overridden by the agent file and by `agents: NAME`. Raises ConfigError."""
    if definition is not None:
        defaults = config.agent
        prompt = definition.system_prompt or ("" if definition.foreign else defaults.system_prompt)
        agent = replace(
            defaults,
            name=definition.name,
            system_prompt=prompt,
            tools=definition.tools,
            summary_instructions=definition.summary_instructions or defaults.summary_instructions,
        )
        config = replace(config, agent=agent, model=definition.model or config.model)
        config = overlay(config, definition.config, Source(definition.path), "config.")
        if definition.servers:
            config = overlay(config, {"mcp": definition.servers}, Source(definition.path))
    name = config.agent.name
    own = {key.lower(): settings for key, settings in config.agents.items()}.get(name.lower())
    if own:
        return overlay(config, own, Source("The config"), f"agents.{name}.")
    return config
