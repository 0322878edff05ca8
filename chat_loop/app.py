"""The composition root: builds the agent, its tools and sessions, and runs the program."""

from __future__ import annotations

import argparse
import gc
import os
import shlex
from collections.abc import Callable
from contextlib import closing, suppress
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from msgspec.structs import replace

from chat_loop.agent.agent import Agent
from chat_loop.agent.agent_files import Definition, agent_config, apply_definition
from chat_loop.agent.approval import ProjectApprovals
from chat_loop.agent.ask import CallLimits
from chat_loop.agent.mcp_servers import McpServers, servers_of
from chat_loop.agent.spending import Spending
from chat_loop.agent.tools import Tool
from chat_loop.commands.references import NEWEST, find_last, find_session
from chat_loop.config import Config, LimitsConfig, Paths, choose_servers
from chat_loop.conversation.options import MAX_TOKENS, SYSTEM
from chat_loop.display.plain import err
from chat_loop.errors import ConfigError, SessionError, UsageError
from chat_loop.events import Event
from chat_loop.input.start import InstantPrompt
from chat_loop.library.library import Database, Library
from chat_loop.log import Log
from chat_loop.memory import MemoryLocation, ProjectMemory, locate
from chat_loop.options import BROWSE, LAST
from chat_loop.plugins import Plugins
from chat_loop.process import start_process
from chat_loop.providers import Provider, choose, recorded
from chat_loop.providers.catalogue import entries
from chat_loop.providers.models import store
from chat_loop.providers.prices import costs
from chat_loop.providers.recorded import Offer
from chat_loop.sessions.files import working_folder
from chat_loop.sessions.manager import SessionManager
from chat_loop.sessions.records import Answering, Session

if TYPE_CHECKING:
    from chat_loop.store.synchronizer import Synchronizer

T = TypeVar("T")


class App:
    """Creates the objects of one run. `instant` is the prompt, if it is already drawn."""

    def __init__(
        self,
        options: argparse.Namespace,
        config: Config,
        paths: Paths,
        instant: InstantPrompt | None,
    ) -> None:
        self.options = options
        self.paths = paths
        self.instant = instant
        self.log = Log(paths.log if options.save else None)
        self.definition: Definition | None = None
        self._memory: ProjectMemory | None = None
        self.home = Path(os.path.expanduser("~"))  # noqa: PTH111 - Path.home raises
        chats = options.command is None or options.action == "browse"
        reference = options.agent_reference or (config.agent.default if chats else "")
        if reference:
            from chat_loop.consent import open_with_consent  # most runs use the built-in agent

            asks = options.question is None and os.isatty(0) and os.isatty(1)
            self.definition = open_with_consent(
                reference, paths, instant, can_ask=asks, trusted=options.trust_agent
            )
        self.config = agent_config(config, self.definition)
        self.directory = str(working_folder() or "")
        self.plugins = Plugins(self.config.plugins, load=options.plugins)
        self.machine = self.plugins.machine(self.config, paths)
        folder = paths.sessions(self.config, options.sessions_dir)
        # only the user's own setting: an agent's file must not send sessions anywhere
        self.store = config.sessions.store if options.save else ""
        self.database = Database(config.library) if config.library and options.save else None
        is_theirs = None
        if self.store:
            state = import_module("chat_loop.store.state")
            is_theirs = state.SyncState(folder, self.store).is_theirs
        self.sessions = SessionManager(
            folder,
            project=self.directory,
            mode="" if options.question is None else "print",
            saves=options.save,
            is_theirs=is_theirs,
        )

    def run(self) -> int:
        """Chat, or with -p answer one question; return the exit code."""
        name = "interactive" if self.options.question is None else "headless"
        module = import_module(f"chat_loop.{name}")
        if self.instant is None:
            gc.freeze()  # modules are never garbage, so no collection needs to scan them
            gc.enable()
        return int(module.run(self))

    def synchronizer(self) -> Synchronizer:
        """Return the object that brings the folder and its store to the same state."""
        module = import_module("chat_loop.store.synchronizer")
        synchronizer: Synchronizer = module.Synchronizer(self.sessions, self.store)
        return synchronizer

    def sync_behind(self) -> None:
        """Start a process that uploads the latest messages, if there is a store."""
        if self.store:
            with suppress(OSError):  # the next start uploads it
                words = self._option_words("config", "sessions-dir")
                start_process([*words, "sync", "--late"])

    def agent(self, provider: Provider | None = None) -> Agent:
        """Return the agent, with the `provider` of the session that goes on unless the user names a
        model. Raises UsageError, NoProvider, ModelError, ConfigError.
        """
        config = self.config
        options = self.options
        spending = None
        if config.limits != LimitsConfig():
            spending = Spending(config.limits, costs(config), self.sessions)
        agent = Agent(
            name=config.agent.name,
            system_prompt=config.agent.system_prompt,
            provider=self._provider() if provider is None else provider,
            tools=self._tools(),
            limits=CallLimits(tool=config.tools.timeout, spending=spending),
            steps=config.tools.max_steps,
            max_tokens=options.max_tokens,
        )
        if self.definition is not None:
            agent = apply_definition(agent, self.definition)
        if options.system is None:
            return agent
        if agent.own_tools:
            text = f"The agent {agent.name} has its own instructions: --system does not go with it."
            raise UsageError(text)
        return replace(agent, system_prompt=options.system)

    @property
    def model_is_chosen(self) -> bool:
        """True if the options or the agent name a model, which a session then goes on with."""
        options = self.options
        has_own = self.definition is not None and self.definition.foreign is not None
        return bool(options.model or options.local or options.base_url or has_own)

    def offer(self, answering: Answering) -> Offer:
        """Return what can be had now of a model that a session records."""
        return recorded.offer(answering, self.config, self.machine)

    def offer_for_script(self, session: Session) -> Offer:
        """Return what can be had of the model of a session. Raises SessionError if it cannot be had
        as it is recorded, since there is nobody to ask.
        """
        if self.model_is_chosen:
            return Offer()
        offer = self.offer(session.answering)
        if offer.problem:
            hint = f"{offer.hint} -m MODEL says with which model to go on."
            raise SessionError(f"{session.header.id}: {offer.problem}", hint.strip())
        return offer

    @property
    def given_settings(self) -> dict[str, str]:
        """The settings of this run that a session keeps."""
        options = self.options
        settings = {}
        if options.system:
            settings[SYSTEM] = options.system
        if options.max_tokens:
            settings[MAX_TOKENS] = str(options.max_tokens)
        return settings

    def first_offer(self) -> Offer:
        """Return what can be had of the model of the session that the chat begins with, if any."""
        reference = self._first_reference
        if not reference or self.model_is_chosen:
            return Offer()
        with (
            suppress(SessionError),  # the command that resumes it reports that
            closing(Library(self.sessions.directory, database=self.database)) as library,
        ):
            if reference in NEWEST:
                found = find_last(self.sessions, chats=reference == LAST)
                if not found.is_here:  # the user is asked first
                    return Offer()
                path = found.row.path
            else:
                path = find_session(self.sessions, library, reference, library.listed)
            return self.offer(self.sessions.answering(path))
        return Offer()

    def newest_offer(self) -> Offer:
        """Return what can be had of the model of the newest session, for a chat that begins with a
        choice of one and has no other model.
        """
        with suppress(SessionError):
            found = find_last(self.sessions)
            return self.offer(self.sessions.answering(found.row.path))
        return Offer()

    def _provider(self) -> Provider:
        """Return the model that the options name, or else the first one that can answer."""
        options = self.options
        definition = self.definition
        instant = self.instant
        if definition is not None and definition.foreign is not None:
            from chat_loop.agent.external_agents import ExternalProvider

            if options.model or options.local or options.base_url or options.max_tokens:
                text = "--model, --local, --base-url and --max-tokens do not go with it."
                raise UsageError(f"The agent {definition.name} has a model of its own: {text}")
            return ExternalProvider(definition, self.config.windows)
        reference = options.model
        if options.local and not reference:
            from chat_loop.consent import ensure_installed

            install = partial(ensure_installed, self.paths.models)
            asks = instant is not None and not store.installed_models(self.paths.models)
            reference = f"local:{instant.lend(install) if instant and asks else install()}"

        def report(sentence: str) -> None:
            if instant is not None:
                instant.erase()
            err(sentence)

        url = options.base_url
        return choose.choose(reference, self.config, self.machine, base_url=url, report=report)

    def _tools(self) -> tuple[Tool, ...]:
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
        added = self.plugins.tools(others) if others else {}
        names = tuple(name for name in names if name not in added)
        folder = Path(self.directory or "/")
        seconds = self.config.tools.timeout
        builtin = builtin_tools(
            names,
            folder,
            protected=protected,
            seconds=seconds,
            memory=lambda: self._memory,
            copies=self.sessions.images,
        )
        return (*builtin, *added.values())

    def folder_warning(self, agent: Agent) -> tuple[str, str]:
        """Return a sentence and a hint if tools that read files begin in the home folder or above
        it, else empty texts.
        """
        names = {tool.spec.name for tool in agent.tools}
        folder = Path(self.directory or "/")
        home = Path(os.path.realpath(self.home))
        if not names & {"read_file", "search_files"} or not home.is_relative_to(folder):
            return "", ""
        what = (
            "your home folder" if folder == home else f"{folder}, which contains your home folder"
        )
        text = f"The tools work in {what}: the model may read all its files without asking, except"
        text += " what looks like a key or a password."
        return text, "Start chat-loop in the folder of a project to limit it to that."

    def summarizer(self, agent: Agent) -> Provider | None:
        """Return the model for summaries, if the config names one. Raises ConfigError."""
        settings = self.config.auto_compact
        provider = settings.summary_provider
        model = settings.summary_model
        if not (provider or model):
            return None
        provider = provider or ("" if agent.own_tools else agent.provider.name)
        if not provider:
            text = "auto_compact.summary_provider is missing: who writes the summaries?"
            raise ConfigError(text, "chat-loop providers says which models can be used now.")
        if not model and provider == agent.provider.name:
            model = agent.provider.model
        return choose.create(f"{provider}:{model}".rstrip(":"), self.config, self.machine)

    def approvals(self) -> ProjectApprovals:
        """Return the approvals of tool calls that are stored for this project."""
        folder = Path(self.directory or "/")
        agent = self.definition or Definition()
        root = locate(folder, self.home)[1]
        file = self.paths.config.parent / "approvals.json"
        home = self.home.resolve()
        has_all_projects = root in (home, *home.parents)
        agent_file = f"{agent.path} {agent.digest}"
        return ProjectApprovals(file, str(root), agent_file, has_all_projects)

    def models(self) -> choose.Models:
        """Return an object that provides other models during a conversation."""
        config = self.config
        machine = self.machine
        return choose.Models(
            providers=tuple(entries(config.providers)),
            provide=lambda reference: choose.create(reference, config, machine),
            candidates=lambda: choose.list_candidates(config, machine),
        )

    def servers(self) -> McpServers | None:
        """Return the MCP servers of the agent, not yet connected. Raises ConfigError."""
        servers = self.config.mcp
        definition = self.definition
        if definition is not None:
            folder = Path(definition.path).parent
            servers = choose_servers(servers, definition.mcp, folder, definition.servers)
        return servers_of(servers)

    def memory(self, agent: Agent, show: Callable[[Event], None]) -> ProjectMemory | None:
        """Return the project's memory; None when it is switched off."""
        if not self.config.memory.enabled:
            return None
        data = self.paths.data
        place = MemoryLocation(
            directory=Path(self.directory or data),
            home=self.home,
            data=data,
            max_tokens=self.config.memory.max_tokens,
            window=agent.provider.window.tokens,
            trusts=self.options.trust_project,
        )
        self._memory = ProjectMemory(place, show)
        return self._memory

    def resume_command(self, agent: Agent, model: str = "") -> list[str]:
        """Return the words of the command that continues a session with the same options, or with
        another `model`.
        """
        options = self.options
        command = ["chat-loop"]
        command += ["--plain"] if options.plain else []
        command += ["--local"] if options.local and not model else []
        # the user switched from an agent that has its own model to another model
        is_left = bool(self.definition and self.definition.foreign) and not agent.own_tools
        if (reference := options.agent_reference) and not is_left:
            command += ["--agent", agent.path if Path(reference).exists() else reference]
        names = ("config", "sessions-dir", "model", "base-url", "tools", "max-tokens")
        others = {"model": model or options.model}
        if model and not self._is_of_base_url(model):
            others["base_url"] = ""
        return command + self._option_words(*names, **others)

    def _is_of_base_url(self, model: str) -> bool:
        """Return True if a model belongs to the provider that --base-url is about."""
        names = entries(self.config.providers)
        reference = choose.full_reference(self.options.model, names, "compatible")
        return model.partition(":")[0] == reference.partition(":")[0]

    def command_with(self, *words: str) -> str:
        """Return the command line with the options of this one, and with other `words`."""
        reference = self.options.agent_reference
        agent = ["--agent", reference] if reference else []
        names = ("config", "sessions-dir", "model", "base-url", "tools", "max-tokens")
        return shlex.join(["chat-loop", *agent, *self._option_words(*names), *words])

    def _option_words(self, *names: str, **others: str) -> list[str]:
        """Return those of the options `names` that are set here or in `others`."""
        values = {**vars(self.options), **others}
        given = [(f"--{name}", values[name.replace("-", "_")]) for name in names]
        return [word for name, value in given if value for word in (name, str(value))]

    @property
    def chooses_first(self) -> bool:
        """True when the chat begins with the choice of a session."""
        return bool(self.options.command == "sessions" or self.options.resume == BROWSE)

    @property
    def _first_reference(self) -> str:
        """The reference to the session that the chat begins with, if that is known."""
        if self.chooses_first:
            return ""
        if self.options.resume == LAST:
            return "current"  # an option of the command line means runs of -p as well
        return str(self.options.resume or (LAST if self._resumes else ""))

    @property
    def _resumes(self) -> bool:
        """True when each start continues the last chat, and this project has one."""
        if not self.config.sessions.auto_resume or self.options.new_session:
            return False
        pointers = self.sessions.pointers
        before = pointers.read()
        found = pointers.recent(before, chats=True)
        if pointers.unreadable(before):
            return True  # the command says so
        if (found is None or not found.is_here) and not before.complete:  # after an update
            with suppress(SessionError):
                found = find_last(self.sessions, chats=True)
        return found is not None and found.is_here

    @property
    def first_commands(self) -> list[str]:
        """Return the commands that the chat begins with."""
        options = self.options
        commands = []
        if self.chooses_first:
            commands.append(f"/sessions browse {' '.join(getattr(options, 'words', ()))}".rstrip())
        elif reference := self._first_reference:
            commands.append(f"/resume {reference} --quick")
        return [*commands, f"/rename {options.title}"] if options.title else commands
