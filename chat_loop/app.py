"""The composition root: who answers, with which tools, on which sessions; then one run of it."""

from __future__ import annotations

import os
import shlex
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import replace

from chat_loop.agent.agent import Agent
from chat_loop.agent.ask import Patience
from chat_loop.display.text import printable
from chat_loop.errors import ConfigError, UsageError
from chat_loop.input.start import InstantPrompt
from chat_loop.options import BROWSE, LAST
from chat_loop.providers import Provider
from chat_loop.providers.choose import choose, create, default_model, real_world
from chat_loop.sessions.manager import SessionManager

if TYPE_CHECKING:
    import argparse

    from chat_loop.agent.mcp_servers import Servers
    from chat_loop.agent.tools import Tool
    from chat_loop.config import Config, Paths
    from chat_loop.memory import Place
    from chat_loop.providers.choose import Models

PROMPT_SECONDS = 10.0
"""How long the first prompt of a chat waits for a server that loads its model."""


class App:
    """Makes the objects of one run. `instant` is the prompt that was drawn, if one was."""

    def __init__(
        self,
        options: argparse.Namespace,
        config: Config,
        paths: Paths,
        instant: InstantPrompt | None,
    ) -> None:
        self.options, self.paths, self.instant = options, paths, instant
        self.manages = options.command == "sessions" and options.action != "browse"
        self.definition = None
        reference = options.agent_reference or ("" if self.manages else config.agent.default)
        if reference:
            from chat_loop.subcommands.agents import open_asked

            asks = options.question is None and os.isatty(0) and os.isatty(1)
            self.definition, self.instant = open_asked(
                reference, paths, instant, asked=asks, trusted=options.trust_agent
            )
        if self.definition is not None or config.agents:
            from chat_loop.agent.definition import configured  # most runs have the built-in agent

            config = configured(config, self.definition)
        self.config = config
        try:
            self.directory = str(Path.cwd())
        except OSError:  # it was removed
            self.directory = ""
        world = real_world(paths.models, discover=config.discover_servers)
        asks_once = options.question is not None
        self.world = world if asks_once else replace(world, loading_seconds=PROMPT_SECONDS)
        folder = paths.sessions(config, options.sessions_dir)
        self.sessions = SessionManager(
            folder,
            project=self.directory,
            mode="print" if asks_once else "",
            saves=options.save,
        )

    def run(self) -> int:
        """Do what the options ask for; return the exit code."""
        if self.manages:
            from chat_loop.subcommands import sessions

            return sessions.run(self.options, self.sessions, self.config, self._answering)
        if self.options.question is not None:
            from chat_loop.headless import answer

            return answer(self)
        from chat_loop.interactive import chat

        return chat(self)

    def agent(self) -> Agent:
        """Return who answers. Raises UsageError, NoProvider, ModelError, ConfigError."""
        config, definition = self.config, self.definition
        agent = Agent(
            name=config.agent.name,
            system_prompt=config.agent.system_prompt,
            provider=self._provider(),
            tools=self._tools(),
            patience=Patience(tool=config.tools.timeout),
            steps=config.tools.max_steps,
            max_tokens=self.options.max_tokens,
        )
        if definition is not None:
            from chat_loop.agent.definition import equipped

            agent = equipped(agent, definition)
        if self.options.system is None:
            return agent
        if agent.own_tools:
            raise UsageError(
                f"The agent {agent.name} has instructions of its own: --system does not go with it."
            )
        return replace(agent, system_prompt=self.options.system)

    def summarizer(self, agent: Agent) -> Provider | None:
        """Return who writes the summaries, when the config names somebody. Raises ConfigError."""
        auto = self.config.auto_compact
        if not (auto.summary_provider or auto.summary_model):
            return None
        if agent.own_tools and not auto.summary_provider:
            raise ConfigError(
                "auto_compact.summary_provider is missing: whose model is "
                "auto_compact.summary_model?"
            )
        provider = auto.summary_provider or agent.provider.name
        model = auto.summary_model
        if not model and provider == agent.provider.name:
            model = agent.provider.model
        model = model or default_model(provider, self.config, self.world)
        if not model:
            raise ConfigError(f"auto_compact.summary_model is missing: which model of {provider}?")
        return create(f"{provider}:{model}", self.config, self.world)

    def _answering(self) -> tuple[Agent, Provider | None]:
        """Return the models that answer and summarize; a model of the command line does both."""
        agent = self.agent()
        return agent, None if self.options.model or self.options.local else self.summarizer(agent)

    def models(self) -> Models:
        """Return where another model comes from while a conversation goes on."""
        from chat_loop.providers.catalogue import entries
        from chat_loop.providers.choose import Models, offered

        config, world = self.config, self.world
        return Models(
            providers=tuple(entries(config.providers)),
            provide=lambda reference: create(reference, config, world),
            offered=lambda: offered(config, world),
        )

    def servers(self) -> Servers | None:
        """Return the MCP servers of the agent, not yet connected. Raises ConfigError."""
        servers, definition = self.config.mcp, self.definition
        if not servers and (definition is None or not definition.mcp):
            return None
        from chat_loop.agent.mcp_servers import servers_of
        from chat_loop.config import chosen_servers

        if definition is not None:
            folder = Path(definition.path).parent
            servers = chosen_servers(servers, definition.mcp, folder, definition.servers)
        return servers_of(servers)

    def memory(self, agent: Agent) -> Place | None:
        """Return where the project's memory is looked for; None when it is switched off."""
        from chat_loop.memory import find_place

        return find_place(self.config, self.paths, agent.provider.window.tokens)

    def resume_command(self, agent: Agent) -> str:
        """Return the command that goes on with a session under the same options."""
        options = self.options
        command = ["chat-loop", *(["--local"] if options.local else [])]
        if reference := options.agent_reference:
            from chat_loop.agent.agent_files import is_path

            command += ["--agent", agent.path if is_path(reference) else reference]
        for name in ("config", "sessions-dir", "model", "base-url", "tools", "max-tokens"):
            if value := getattr(options, name.replace("-", "_")):
                command += [f"--{name}", str(value)]
        return shlex.join(command)

    @property
    def first_command(self) -> str:
        """The command that the chat begins with, if any."""
        options = self.options
        if options.command == "sessions" or options.resume == BROWSE:
            return f"/sessions browse {' '.join(getattr(options, 'words', ()))}".rstrip()
        resumes = self.config.sessions.auto_resume and not options.new_session
        reference = options.resume or (LAST if resumes and self.sessions.current() else "")
        return f"/resume {reference} --quick" if reference else ""

    def _provider(self) -> Provider:
        options, definition, instant = self.options, self.definition, self.instant
        if definition is not None and definition.foreign is not None:
            from chat_loop.agent.adapter import ForeignProvider

            own = f"The agent {definition.name} has a model of its own:"
            if options.model or options.local or options.base_url:
                raise UsageError(f"{own} --model does not go with it.")
            if options.max_tokens:
                raise UsageError(f"{own} say there how long a reply may be.")
            return ForeignProvider(definition, self.config.windows)
        reference = options.model
        if options.local and not reference:
            from chat_loop.models.store import installed
            from chat_loop.subcommands import models

            folder = self.paths.models
            if instant is not None and not installed(folder):
                reference = f"local:{instant.lend(lambda: models.ensure_installed(folder))}"
            else:
                reference = f"local:{models.ensure_installed(folder)}"
        return choose(
            reference, self.config, self.world, base_url=options.base_url, tell=self._tell
        )

    def _tell(self, sentence: str) -> None:
        """Say something before the chat begins, or beside the reply."""
        if self.instant is not None:
            self.instant.say(printable(sentence))
            return
        from chat_loop.display.plain import err

        err(sentence)

    def _tools(self) -> tuple[Tool, ...]:
        """The built-in tools that the command line names, else the config and the agent's file."""
        wanted = tuple(filter(None, map(str.strip, self.options.tools.split(","))))
        names = wanted or self.config.agent.tools
        if not names:
            return ()
        from chat_loop.agent.builtin import builtin_tools

        protected = [self.paths.config.parent, self.paths.data, self.sessions.directory]
        protected += [Path(self.options.config).expanduser()] if self.options.config else []
        return builtin_tools(
            names,
            Path(self.directory or "/"),
            protected=protected,
            seconds=self.config.tools.timeout,
        )
