"""The parts of a run, built from the options and the config: the only place that builds them.

What a list of sessions does not need is built, and its modules loaded, when it is first asked for.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Awaitable, Callable
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from chat_loop.config import Config, LimitsConfig, Paths, choose_servers
from chat_loop.display.plain import err
from chat_loop.errors import ConfigError, SessionError, UsageError
from chat_loop.input.start import InstantPrompt
from chat_loop.library.library import Library
from chat_loop.library.shared import SharedLibrary, open_shared
from chat_loop.log import Log
from chat_loop.memory import MemoryLocation, ProjectMemory, locate
from chat_loop.sessions.files import Files, working_folder
from chat_loop.sessions.manager import SessionManager
from chat_loop.sessions.mirror import Mirror

if TYPE_CHECKING:
    from chat_loop.agent.agent import Agent
    from chat_loop.agent.agent_files import Definition
    from chat_loop.agent.approval import ProjectApprovals
    from chat_loop.agent.mcp_servers import McpServers
    from chat_loop.agent.tools import Tool
    from chat_loop.conversation.conversation import Conversation
    from chat_loop.display.manager import DisplayManager
    from chat_loop.events import Event
    from chat_loop.library.semantic import SemanticIndex
    from chat_loop.plugins import Plugins
    from chat_loop.providers import Provider
    from chat_loop.providers.choose import Machine, Models
    from chat_loop.providers.recorded import Offer
    from chat_loop.sessions.records import Answering, Session
    from chat_loop.tokens import Count


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

    def offer(self, answering: Answering) -> Offer:
        """Return what can be had now of a model that a session records."""
        from chat_loop.providers import recorded

        return recorded.offer(answering, self.config, self.machine)

    def offer_for_script(self, session: Session) -> Offer:
        """Return what can be had of the model of a session. Raises SessionError if it cannot be had
        as it is recorded, since there is nobody to ask.
        """
        from chat_loop.providers.recorded import Offer

        if self.model_is_chosen:
            return Offer()
        offer = self.offer(session.answering)
        if offer.problem:
            hint = f"{offer.hint} -m MODEL says with which model to go on."
            raise SessionError(f"{session.header.id}: {offer.problem}", hint.strip())
        return offer

    def provider(self) -> Provider:
        """Return the model that the options name, or else the first one that can answer. Raises
        UsageError, NoProvider, ModelError, ConfigError.
        """
        from chat_loop.providers import choose

        options = self.options
        definition = self.definition
        instant = self.instant
        if definition is not None and definition.foreign is not None:
            from chat_loop.agent.external_agents import ExternalProvider

            if options.model or options.local or options.base_url or options.max_tokens:
                text = "--model, --local, --base-url and --max-tokens cannot be used with it."
                raise UsageError(f"The agent {definition.name} has a model of its own: {text}")
            return ExternalProvider(definition, self.config.windows)
        reference = options.model
        if options.local and not reference:
            reference = f"local:{self._embedded_model()}"

        def report(sentence: str) -> None:
            if instant is not None:
                instant.erase()
            err(sentence)

        url = options.base_url
        return choose.choose(reference, self.config, self.machine, base_url=url, report=report)

    def _embedded_model(self) -> str:
        """Return the name of an embedded model, which the user may have to choose first."""
        from chat_loop.consent import ensure_installed
        from chat_loop.providers.models.store import installed_models

        folder = self.paths.models
        install = partial(ensure_installed, folder)
        asks = self.instant is not None and not installed_models(folder)
        if self.instant is not None and asks:
            return self.instant.lend(install)
        return install()

    def agent(self, provider: Provider | None = None, memory: ProjectMemory | None = None) -> Agent:
        """Return the agent, by default with the `provider` that the options name. Raises as
        `provider`.
        """
        from chat_loop.agent.agent import Agent
        from chat_loop.agent.agent_files import apply_definition
        from chat_loop.agent.ask import CallLimits
        from chat_loop.agent.spending import Spending
        from chat_loop.providers.prices import costs

        config = self.config
        options = self.options
        spending = None
        if config.limits != LimitsConfig():
            spending = Spending(config.limits, costs(config), self.sessions)
        agent = Agent(
            name=config.agent.name,
            system_prompt=config.agent.system_prompt,
            provider=self.provider() if provider is None else provider,
            tools=self._tools(memory),
            limits=CallLimits(tool=config.tools.timeout, spending=spending),
            steps=config.tools.max_steps,
            max_tokens=options.max_tokens,
        )
        if self.definition is not None:
            agent = apply_definition(agent, self.definition)
        if options.system is None:
            return agent
        if agent.own_tools:
            text = f"The agent {agent.name} has its own instructions: leave out --system."
            raise UsageError(text)
        return replace(agent, system_prompt=options.system)

    def _tools(self, memory: ProjectMemory | None) -> tuple[Tool, ...]:
        """Return the tools that the command line names, or else the config or the agent."""
        wanted = tuple(filter(None, map(str.strip, self.options.tools.split(","))))
        names = wanted or self.config.agent.tools
        if not names:
            return ()
        from chat_loop.agent.builtin import SPECS, builtin_tools  # most agents have none

        if "all" in names:
            names = (*SPECS, *(name for name in names if name not in SPECS and name != "all"))
        protected = [self.paths.config.parent, self.paths.data, self.sessions.directory]
        if self.options.config:
            protected.append(Path(self.options.config).expanduser())
        if not self.config.memory.enabled:
            names = tuple(name for name in names if name != "remember")
        others = set(names) - set(SPECS)
        added = {}
        if others:
            added = self.plugins.tools(others)
        names = tuple(name for name in names if name not in added)
        builtin = builtin_tools(
            names,
            self.folder,
            protected=protected,
            seconds=self.config.tools.timeout,
            memory=memory,
            copies=self.sessions.images,
        )
        return (*builtin, *added.values())

    def folder_warning(self, agent: Agent) -> tuple[str, str]:
        """Return a sentence and a hint if tools that read files begin in the home folder or above
        it, else empty texts.
        """
        names = {tool.spec.name for tool in agent.tools}
        folder = self.folder
        home = Path(os.path.realpath(self.home))
        if not names & {"read_file", "search_files"} or not home.is_relative_to(folder):
            return "", ""
        what = f"{folder}, which contains your home folder"
        if folder == home:
            what = "your home folder"
        text = f"The tools work in {what}: the model may read all its files without asking, except"
        text += " what looks like a key or a password."
        return text, "Start chat-loop in the folder of a project to limit it to that."

    def summarizer(self, agent: Agent) -> Provider | None:
        """Return the model for summaries, if the config names one. Raises ConfigError."""
        from chat_loop.providers import choose

        settings = self.config.auto_compact
        provider = settings.summary_provider
        model = settings.summary_model
        if not (provider or model):
            return None
        provider = provider or ("" if agent.own_tools else agent.provider.name)
        if not provider:
            text = "Set auto_compact.summary_provider."
            raise ConfigError(text, "chat-loop providers says which models can be used now.")
        if not model and provider == agent.provider.name:
            model = agent.provider.model
        return choose.create(f"{provider}:{model}".rstrip(":"), self.config, self.machine)

    def approvals(self) -> ProjectApprovals:
        """Return the approvals of tool calls that are stored for this project."""
        from chat_loop.agent.approval import ProjectApprovals

        root = locate(self.folder, self.home)[1]
        file = self.paths.config.parent / "approvals.json"
        home = self.home.resolve()
        has_all_projects = root in (home, *home.parents)
        agent = self.definition
        agent_file = " "
        if agent is not None:
            agent_file = f"{agent.path} {agent.digest}"
        return ProjectApprovals(file, str(root), agent_file, has_all_projects)

    def models(self) -> Models:
        """Return an object that provides other models during a conversation."""
        from chat_loop.providers import choose
        from chat_loop.providers.catalogue import entries

        config = self.config
        machine = self.machine
        return choose.Models(
            providers=tuple(entries(config.providers)),
            provide=lambda reference: choose.create(reference, config, machine),
            candidates=lambda: choose.list_candidates(config, machine),
        )

    def servers(self) -> McpServers | None:
        """Return the MCP servers of the agent, not yet connected. Raises ConfigError."""
        from chat_loop.agent.mcp_servers import servers_of

        servers = self.config.mcp
        definition = self.definition
        if definition is not None:
            folder = Path(definition.path).parent
            servers = choose_servers(servers, definition.mcp, folder, definition.servers)
        return servers_of(servers)

    def memory(self, provider: Provider, show: Callable[[Event], None]) -> ProjectMemory | None:
        """Return the project's memory for the window of a model; None when it is switched off."""
        if not self.config.memory.enabled:
            return None
        place = MemoryLocation(
            directory=Path(self.directory or self.paths.data),
            home=self.home,
            data=self.paths.data,
            max_tokens=self.config.memory.max_tokens,
            window=provider.window.tokens,
            trusts=self.options.trust_project,
        )
        return ProjectMemory(place, show)

    def display(self, agent: Agent, resume_command: Callable[[], str]) -> DisplayManager:
        """Return the display of a chat."""
        from chat_loop.display.manager import DisplayManager

        settings = self.config.display
        return DisplayManager(
            agent=agent.name,
            resume_command=resume_command,
            show_blocks=self.config.auto_compact.show_summary_markers,
            markdown=settings.markdown,
            theme=settings.theme,
            wraps=settings.wrap == "words",
            plain=self.options.plain,
        )

    def conversation(
        self,
        agent: Agent,
        *,
        count: Count,
        show: Callable[[Event], None],
        memory: ProjectMemory | None,
        servers: McpServers | None,
        settle: Callable[[], Awaitable[None]],
        summarizer: Provider | None = None,
        semantic: SemanticIndex | None = None,
        load_encoding: Callable[[], object] | None = None,
        detach: Callable[[str], None] | None = None,
        prepares: bool = True,
    ) -> Conversation:
        """Return a conversation with the agent, in a new session."""
        from chat_loop.conversation.conversation import Conversation
        from chat_loop.conversation.options import MAX_TOKENS, SYSTEM, options_of

        given = {}
        if self.options.system:
            given[SYSTEM] = self.options.system
        if self.options.max_tokens:
            given[MAX_TOKENS] = str(self.options.max_tokens)
        return Conversation(
            agent,
            self.sessions,
            count=count,
            show=show,
            options=options_of(self.config, summarizer, semantic),
            memory=memory.block if memory is not None else str,
            servers=servers,
            load_encoding=load_encoding,
            detach=detach,
            settle=settle,
            prepares=prepares,
            given=given,
        )


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
    if definition is not None or (has_agent and config.agents):
        from chat_loop.agent.agent_files import agent_config

        settings = agent_config(config, definition)
    directory = str(working_folder() or "")
    folder = paths.sessions(settings, options.sessions_dir)
    # only the user's own setting: an agent's file must not send sessions anywhere
    mirror: Mirror | None = None
    if config.sessions.store and options.save:
        from chat_loop.store.mirror import StoreMirror  # few have a store

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
