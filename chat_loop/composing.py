"""Composing: who answers, with which tools, and who writes the summaries; by command line, config
and agent file.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from chat_loop.agent.agent import Agent
from chat_loop.display.text import printable
from chat_loop.providers import Provider
from chat_loop.providers.choose import World, choose, create, real_world

if TYPE_CHECKING:
    import argparse

    from chat_loop.agent.definition import Definition
    from chat_loop.agent.mcp_servers import Servers
    from chat_loop.agent.tools import Tool
    from chat_loop.config import Config, Paths
    from chat_loop.headless import Asked
    from chat_loop.memory import Place
    from chat_loop.providers.choose import Models
    from chat_loop.sessions.manager import SessionManager
    from chat_loop.start import InstantPrompt

PROMPT_SECONDS = 10.0
"""How long the first prompt of a chat waits for a server that loads its model."""


def configured(config: Config, definition: Definition | None) -> Config:
    """The config as it holds for the agent. Raises ConfigError."""
    if definition is None and not config.agents:
        return config
    from chat_loop.agent.equip import (
        configured as with_its_own,
    )  # most runs have the built-in agent

    return with_its_own(config, definition)


class Composing(Struct, frozen=True, kw_only=True):
    """What a run is made from. `config` holds for the agent; `definition` is its file's, None for
    the built-in one.

    `instant` is the prompt that was drawn, if one was: it gives way to what is said before the chat
    begins.
    """

    options: argparse.Namespace
    config: Config
    paths: Paths
    definition: Definition | None
    instant: InstantPrompt | None = None

    @property
    def directory(self) -> str:
        """The working directory; empty when it was removed."""
        try:
            return str(Path.cwd())
        except OSError:
            return ""

    @property
    def world(self) -> World:
        world = real_world(self.paths.models, discover=self.config.discover_servers)
        return (
            world
            if self.options.question is not None
            else replace(world, loading_seconds=PROMPT_SECONDS)
        )

    def _tell(self, sentence: str) -> None:
        """Say something before the chat begins, or beside the reply."""
        if self.instant is None:
            from chat_loop.display.plain import err

            err(sentence)
        else:
            self.instant.say(printable(sentence))

    def agent(self) -> Agent:
        """Who answers. Raises UsageError, NoProvider, ModelError, ConfigError."""
        from chat_loop.agent.ask import Patience

        config = self.config
        agent = Agent(
            name=config.agent.name,
            system_prompt=config.agent.system_prompt,
            provider=self._provider(),
            tools=self._tools(),
            patience=Patience(tool=config.tools.timeout),
            steps=config.tools.max_steps,
            max_tokens=self.options.max_tokens,
        )
        if self.definition is None:
            return agent
        from chat_loop.agent.equip import equipped

        return equipped(agent, self.definition)

    def summarizer(self, agent: Agent) -> Provider | None:
        """Who writes the summaries, when the config names somebody. Raises UsageError and
        ConfigError.
        """
        auto = self.config.auto_compact
        if not (auto.summary_provider or auto.summary_model):
            return None
        from chat_loop.errors import ConfigError
        from chat_loop.providers.choose import default_model

        if agent.own_tools and not auto.summary_provider:
            raise ConfigError(
                "auto_compact.summary_provider is missing: whose model is "
                "auto_compact.summary_model?"
            )
        provider = auto.summary_provider or agent.provider.name
        same = provider == agent.provider.name
        model = auto.summary_model or (
            agent.provider.model if same else default_model(provider, self.config, self.world)
        )
        if not model:
            raise ConfigError(f"auto_compact.summary_model is missing: which model of {provider}?")
        return create(f"{provider}:{model}", self.config, self.world)

    def models(self) -> tuple[Agent, Provider | None]:
        """Who answers and who writes the summaries. A model that the command line names does
        both.
        """
        agent = self.agent()
        return agent, None if self.options.model or self.options.local else self.summarizer(agent)

    def others(self) -> Models:
        """Where another model comes from while a conversation goes on."""
        from chat_loop.providers.catalogue import entries
        from chat_loop.providers.choose import Models, offered

        config, world = self.config, self.world
        return Models(
            providers=tuple(entries(config.providers)),
            provide=lambda reference: create(reference, config, world),
            offered=lambda: offered(config, world),
        )

    def servers(self) -> Servers | None:
        """The MCP servers whose tools the agent has, if any; they are connected later. Raises
        ConfigError.
        """
        servers = self.config.mcp
        if not servers and (self.definition is None or not self.definition.mcp):
            return None
        from chat_loop.agent.mcp_servers import servers_of
        from chat_loop.config import chosen_servers

        if self.definition is not None:
            folder = Path(self.definition.path).parent
            servers = chosen_servers(servers, self.definition.mcp, folder, self.definition.servers)
        return servers_of(servers)

    def memory(self, agent: Agent) -> Place | None:
        """Where the project's memory is looked for."""
        from chat_loop.memory import find_place

        return find_place(self.config, self.paths, agent.provider.window.tokens)

    def asked(self, question: str, sessions: SessionManager) -> Asked:
        """One question without a terminal. Raises as `agent` does, and UsageError for a file that
        cannot be written.
        """
        from chat_loop.errors import UsageError
        from chat_loop.headless import STDIN, Asked, target_of

        options = self.options
        target = target_of(options.output, force=options.force)
        agent = self.agent()
        if options.system is not None:
            if agent.own_tools:
                raise UsageError(
                    f"The agent {agent.name} has instructions of its own: --system does not "
                    "go with it."
                )
            agent = replace(agent, system_prompt=options.system)
        return Asked(
            agent=agent,
            sessions=sessions,
            question=question,
            typed="" if options.question == STDIN else options.question,
            config=self.config,
            place=self.memory(agent),
            as_json=options.json,
            allow=options.allow,
            servers=self.servers(),
            reference=options.resume,
            target=target,
            saves=options.save,
        )

    def _provider(self) -> Provider:
        options, definition, instant = self.options, self.definition, self.instant
        if definition is not None and definition.foreign is not None:
            from chat_loop.agent.adapter import ForeignProvider
            from chat_loop.errors import UsageError

            if options.model or options.local or options.base_url:
                raise UsageError(
                    f"The agent {definition.name} has a model of its own: --model does not go "
                    "with it."
                )
            if options.max_tokens:
                raise UsageError(
                    f"The agent {definition.name} has a model of its own: say there how long "
                    "a reply may be."
                )
            return ForeignProvider(definition, self.config.windows)
        reference = options.model
        if options.local and not reference:
            from chat_loop.subcommands import models

            asks = instant is not None and not models.any_installed(self.paths.models)
            if instant is not None and asks:
                instant.erase()
                instant.terminal.forget()  # what was typed before the question is no answer to it
                instant.terminal.restore()
            reference = f"local:{models.ensure_installed(self.paths.models)}"
            if instant is not None and asks:
                instant.terminal.silence(signals=False)
        return choose(
            reference, self.config, self.world, base_url=options.base_url, tell=self._tell
        )

    def _tools(self) -> tuple[Tool, ...]:
        """The built-in tools that the command line names, else the config and the agent's file
        do.
        """
        names = (
            tuple(filter(None, map(str.strip, self.options.tools.split(","))))
            or self.config.agent.tools
        )
        if not names:
            return ()
        from chat_loop.agent.builtin import builtin_tools

        own = [
            self.paths.config.parent,
            self.paths.data,
            self.paths.sessions(self.config, self.options.sessions_dir),
        ]
        own += [Path(self.options.config).expanduser()] if self.options.config else []
        return builtin_tools(
            names, Path(self.directory or "/"), protected=own, seconds=self.config.tools.timeout
        )
