"""Functions that make what a chat, a reply or a summary needs from the parts of a run: the model,
the agent with its tools, the memory and the conversation.
"""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import replace

from chat_loop.agent.agent import ModelAgent
from chat_loop.agent.agent_files import apply_definition
from chat_loop.agent.approval import ProjectApprovals
from chat_loop.agent.ask import CallLimits
from chat_loop.agent.mcp_servers import McpServers, servers_of
from chat_loop.agent.spending import Spending
from chat_loop.agent.tools import Tool
from chat_loop.config import LimitsConfig, ModelConfig, choose_servers
from chat_loop.conversation.conversation import Conversation
from chat_loop.conversation.conversation_options import EFFORT, MAX_TOKENS, SYSTEM, options_of
from chat_loop.display.plain import err
from chat_loop.errors import ConfigError, ModelError, NoProvider, SessionError, UsageError
from chat_loop.events import Event
from chat_loop.memory import MemoryLocation, ProjectMemory, locate
from chat_loop.parts import Parts
from chat_loop.providers import Provider, choose, recorded
from chat_loop.providers.catalogue import entries
from chat_loop.providers.choose import Models
from chat_loop.providers.model_list import KeptLists
from chat_loop.providers.model_list import list_models as list_of_models
from chat_loop.providers.models.store import installed_models
from chat_loop.providers.prices import costs
from chat_loop.providers.recorded import Offer
from chat_loop.sessions.records import Answering, Session
from chat_loop.tokens import Count

if TYPE_CHECKING:
    from chat_loop.library.semantic import SemanticIndex  # most replies do not search


def find_offer(parts: Parts, answering: Answering) -> Offer:
    """Return what can be had now of a model that a session records."""
    return recorded.offer(answering, parts.config, parts.machine)


def offer_for_script(parts: Parts, session: Session) -> Offer:
    """Return what can be had of the model of a session. Raises SessionError if it cannot be had
    as it is recorded, since there is nobody to ask.
    """
    if parts.model_is_chosen:
        return Offer()
    offer = find_offer(parts, session.answering)
    if offer.problem:
        hint = f"{offer.hint} -m MODEL says with which model to go on."
        raise SessionError(f"{session.id}: {offer.problem}", hint.strip())
    return offer


def choose_provider(parts: Parts) -> Provider:
    """Return the model that the options name, or else the first one that can answer. Raises
    UsageError, NoProvider, ModelError, ConfigError.
    """
    options = parts.options
    definition = parts.definition
    instant = parts.instant
    if definition is not None and definition.foreign is not None:
        from chat_loop.agent.external_agents import ExternalProvider

        names = ("model", "local", "base_url", "max_tokens", "effort")
        if any(getattr(options, name) for name in names):
            text = "--model, --local, --base-url, --max-tokens and --effort cannot be used with it."
            raise UsageError(f"The agent {definition.name} has a model of its own: {text}")
        return ExternalProvider(definition, parts.config.windows)
    reference = options.model
    if options.local and not reference:
        reference = f"local:{_embedded_model(parts)}"

    def report(sentence: str) -> None:
        if instant is not None:
            instant.erase()
        err(sentence)

    url = options.base_url
    return choose.choose(reference, parts.config, parts.machine, base_url=url, report=report)


def offer_embedded(parts: Parts, error: NoProvider) -> Provider:
    """Return an embedded model that the user chooses to download, because there is no other one.
    Raises the `error` if nobody can be asked, if none could run here, or if the answer is no.
    """
    if parts.instant is None or find_spec("xllamacpp") is None:
        raise error
    parts.instant.erase()
    err(f"{error.message} No key is set, and no model server runs on this machine.")
    try:
        name = _embedded_model(parts)
    except ModelError:
        raise error from None
    return choose.create(f"local:{name}", parts.config, parts.machine)


def _embedded_model(parts: Parts) -> str:
    """Return the name of an embedded model, which the user may have to choose first."""
    from chat_loop.consent import ensure_installed

    folder = parts.paths.models
    install = partial(ensure_installed, folder)
    asks = parts.instant is not None and not installed_models(folder)
    if parts.instant is not None and asks:
        return parts.instant.lend(install)
    return install()


def make_agent(
    parts: Parts, provider: Provider | None = None, memory: ProjectMemory | None = None
) -> ModelAgent:
    """Return the agent, by default with the `provider` that the options name. Raises as
    `choose_provider`.
    """
    config = parts.config
    options = parts.options
    spending = None
    if config.limits != LimitsConfig():
        spending = Spending(config.limits, costs(config), parts.sessions)
    agent = ModelAgent(
        name=config.agent.name,
        system_prompt=config.agent.system_prompt,
        provider=choose_provider(parts) if provider is None else provider,
        tools=_tools(parts, memory),
        limits=CallLimits(tool=config.tools.timeout, spending=spending),
        steps=config.tools.max_steps,
        max_tokens=options.max_tokens,
    )
    if parts.definition is not None:
        agent = apply_definition(agent, parts.definition)
    if options.system is None:
        return agent
    if agent.own_tools:
        text = f"The agent {agent.name} has its own instructions: leave out --system."
        raise UsageError(text)
    return replace(agent, system_prompt=options.system)


def _tools(parts: Parts, memory: ProjectMemory | None) -> tuple[Tool, ...]:
    """Return the tools that the command line names, or else the config or the agent."""
    wanted = tuple(filter(None, map(str.strip, parts.options.tools.split(","))))
    names = wanted or parts.config.agent.tools
    if not names:
        return ()
    from chat_loop.agent.builtin import SPECS, builtin_tools  # most agents have none

    if "all" in names:
        names = (*SPECS, *(name for name in names if name not in SPECS and name != "all"))
    protected = [parts.paths.config.parent, parts.paths.data, parts.sessions.directory]
    if parts.options.config:
        protected.append(Path(parts.options.config).expanduser())
    if not parts.config.memory.enabled:
        names = tuple(name for name in names if name != "remember")
    others = set(names) - set(SPECS)
    added = {}
    if others:
        added = parts.plugins.tools(others)
    names = tuple(name for name in names if name not in added)
    builtin = builtin_tools(
        names,
        parts.folder,
        protected=protected,
        seconds=parts.config.tools.timeout,
        memory=memory,
        copies=parts.sessions.images,
    )
    return (*builtin, *added.values())


def folder_warning(parts: Parts, agent: ModelAgent) -> tuple[str, str]:
    """Return a sentence and a hint if tools that read files begin in the home folder or above
    it, else empty texts.
    """
    names = {tool.spec.name for tool in agent.tools}
    folder = parts.folder
    home = Path(os.path.realpath(parts.home))
    if not names & {"read_file", "search_files"} or not home.is_relative_to(folder):
        return "", ""
    what = f"{folder}, which contains your home folder"
    if folder == home:
        what = "your home folder"
    text = f"The tools work in {what}: the model may read all its files without asking, except"
    text += " what looks like a key or a password."
    return text, "Start chat-loop in the folder of a project to limit it to that."


def parameters_warning(parts: Parts, agent: ModelAgent) -> tuple[str, str]:
    """Return a sentence and a hint if the config says how an agent of another library asks its
    model, which only its own code can say; else empty texts.
    """
    settings = parts.config.models.get(agent.provider.model, ModelConfig())
    asked = settings.parameters.text
    if not agent.own_tools or not asked:
        return "", ""
    text = f"The agent {agent.name} asks its model as its own code says, without {asked}."
    return text, f"Set that in {agent.path}."


def make_summarizer(parts: Parts, agent: ModelAgent) -> Provider | None:
    """Return the model for summaries, if the config names one. Raises ConfigError."""
    settings = parts.config.auto_compact
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
    return choose.create(f"{provider}:{model}".rstrip(":"), parts.config, parts.machine)


def stored_approvals(parts: Parts) -> ProjectApprovals:
    """Return the approvals of tool calls that are stored for this project."""
    root = locate(parts.folder, parts.home)[1]
    file = parts.paths.config.parent / "approvals.json"
    home = parts.home.resolve()
    has_all_projects = root in (home, *home.parents)
    agent = parts.definition
    agent_file = " "
    if agent is not None:
        agent_file = f"{agent.path} {agent.digest}"
    return ProjectApprovals(file, str(root), agent_file, has_all_projects)


def list_models(parts: Parts) -> Models:
    """Return an object that provides other models during a conversation."""
    config = parts.config
    machine = parts.machine
    kept = KeptLists(parts.paths.state / "models.json")

    def provide(reference: str) -> Provider:
        return choose.create(reference, config, machine)

    def candidates() -> Mapping[str, str]:
        return choose.list_candidates(config, machine)

    return choose.Models(
        providers=tuple(entries(config.providers)),
        provide=provide,
        candidates=candidates,
        listing=partial(
            list_of_models,
            *(candidates, provide, kept, parts.paths.models),
            only_here=parts.options.local,
        ),
    )


def make_servers(parts: Parts) -> McpServers | None:
    """Return the MCP servers of the agent, not yet connected. Raises ConfigError."""
    servers = parts.config.mcp
    definition = parts.definition
    if definition is not None:
        folder = Path(definition.path).parent
        servers = choose_servers(servers, definition.mcp, folder, definition.servers)
    return servers_of(servers)


def read_memory(
    parts: Parts, provider: Provider, show: Callable[[Event], None]
) -> ProjectMemory | None:
    """Return the project's memory for the window of a model; None when it is switched off."""
    if not parts.config.memory.enabled:
        return None
    location = MemoryLocation(
        directory=Path(parts.directory or parts.paths.data),
        home=parts.home,
        data=parts.paths.data,
        max_tokens=parts.config.memory.max_tokens,
        window=provider.window.tokens,
        trusts=parts.options.trust_project,
    )
    return ProjectMemory(location, show)


def make_conversation(
    parts: Parts,
    agent: ModelAgent,
    *,
    count: Count,
    show: Callable[[Event], None],
    memory: ProjectMemory | None,
    servers: McpServers | None,
    settle: Callable[[], Awaitable[None]],
    summarizer: Provider | None = None,
    semantic: SemanticIndex | None = None,
    load_encoding: Callable[[], object] | None = None,
    steady: Callable[[], Count] | None = None,
    detach: Callable[[str], None] | None = None,
    prepares: bool = True,
) -> Conversation:
    """Return a conversation with the agent, in a new session."""
    given = {}
    if parts.options.system:
        given[SYSTEM] = parts.options.system
    if parts.options.max_tokens:
        given[MAX_TOKENS] = str(parts.options.max_tokens)
    if parts.options.effort:
        given[EFFORT] = parts.options.effort
    return Conversation(
        agent,
        parts.sessions,
        count=count,
        show=show,
        options=options_of(parts.config, summarizer, semantic),
        memory=memory.block if memory is not None else str,
        servers=servers,
        load_encoding=load_encoding,
        steady=steady,
        detach=detach,
        settle=settle,
        prepares=prepares,
        given=given,
    )
