"""Choose who answers: the one that was asked for, else the first that can.

Without a reference: a key that is set, in the order of the catalogue, of a provider that has a
usual model; else a server of the user's own that answers on this machine, which is said; else the
embedded model.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from chat_loop.config import Config
from chat_loop.errors import ConfigError, ModelError, NoProvider, UsageError
from chat_loop.providers import Provider
from chat_loop.providers.capabilities import longest_prefix, window_of
from chat_loop.providers.catalogue import CATALOGUE, Entry, entries, entry_of
from chat_loop.providers.prices import VENDORS
from chat_loop.providers.servers import Server, is_foreign, is_near, server_at, shown

if TYPE_CHECKING:
    from chat_loop.values import Window

LOCAL_SERVERS = {"ollama": 11434, "lmstudio": 1234, "llama-server": 8080, "vllm": 8000}
LOOKING_SECONDS = 0.25
"""Between two looks at a server that loads its model."""
MOST_NAMED = 12
"""Models of a server that are named in one sentence."""
LOCAL_CONTEXT = 8192
"""Tokens of window to load an embedded model with, unless the config says otherwise."""

HERE_SECONDS = 600.0
"""How long the first content of a server on this machine may take: it may load its model first."""

WAYS = """Ways to get one:
  export ANTHROPIC_API_KEY=...  or  export OPENAI_API_KEY=...
  start Ollama, LM Studio, llama-server or vLLM on this machine
  chat-loop models install       (an embedded model: no key, no network afterwards)
  chat-loop --model compatible:MODEL --base-url URL
  chat-loop providers            (all of them, and what each still needs)"""


class Offer(Struct, frozen=True):
    """A model that could answer: PROVIDER:MODEL, and a few words on why."""

    reference: str
    note: str = ""


class Models(Struct, frozen=True, kw_only=True):
    """Where another model comes from while a conversation goes on. `providers` are the names that a
    reference may have.

    `provide(reference)` builds a provider, and raises as `create` does. `offered()` may take
    seconds.
    """

    providers: tuple[str, ...]
    provide: Callable[[str], Provider]
    offered: Callable[[], Sequence[Offer]]


class World(Struct, frozen=True, kw_only=True):
    """What the choice depends on besides the config. `servers`: provider -> port on 127.0.0.1,
    where it is looked for.

    `sockets` is the folder where the system tells whose the sockets are. A server that loads its
    model is waited for `loading_seconds`.
    """

    environment: Mapping[str, str]
    models: Path
    servers: Mapping[str, int]
    sockets: Path = Path("/proc/net")
    loading_seconds: float = 60.0


def real_world(models: Path, *, discover: bool = True) -> World:
    """The process's environment and, to `discover` servers, the usual ports. `models`: the embedded
    models' folder.
    """
    return World(environment=os.environ, models=models, servers=LOCAL_SERVERS if discover else {})


Tell = Callable[[str], object]
"""Takes a sentence for the user."""


def choose(
    reference: str, config: Config, world: World, *, base_url: str = "", tell: Tell = bool
) -> Provider:
    """Return the provider for `reference` (PROVIDER:MODEL), or the first that can answer when it is
    empty.

    `tell` is told of servers of this machine that nobody named: who answers, who is waited for, who
    is not taken. Raises UsageError for a reference that cannot be understood, NoProvider,
    ModelError, ConfigError.
    """
    reference = reference or config.model
    if reference:
        return create(reference, config, world, base_url=base_url, tell=tell)
    if base_url:  # whose key would go there is not to be guessed
        raise _which(base_url)
    for one in candidates(config, world):
        if one.foreign:
            tell(
                f"{one.title} {one.note}: it is not used unless you name it (--model "
                f"{one.reference})."
            )
            continue
        if one.title and not one.loading:
            tell(f"{one.reference} answers, {one.note}: a server that was found on this machine.")
        return create(one.reference, config, world, tell=tell)
    raise NoProvider("There is no model to talk to.", WAYS)


class Candidate(Struct, frozen=True, kw_only=True):
    """A model that could answer, and a few words on why.

    `title` is the name of a server that was found on this machine and is "" for all others; it is
    `foreign` when it belongs to another user, and `loading` while it loads its model.
    """

    reference: str
    note: str
    title: str = ""
    foreign: bool = False
    loading: bool = False


def ready(config: Config, world: World) -> Iterator[tuple[str, str]]:
    """The references of those who could answer now, the best first, and a few words on why each
    can. Raises as `candidates` does.
    """
    for one in candidates(config, world):
        if not (one.foreign or one.loading):
            yield one.reference, one.note


def candidates(config: Config, world: World) -> Iterator[Candidate]:
    """Yield who could answer, the best first.

    Only servers of this machine are asked, each when its turn comes. Raises UsageError for a
    compatible server whose address the config has without its model.
    """
    from chat_loop.providers.catalogue import missing_requirement

    for entry in entries(config.providers).values():
        wanted = entry.model and (entry.needs_key or entry.kind == "bedrock")
        if wanted and missing_requirement(entry, world.environment) is None:
            key = next((name for name in entry.keys if world.environment.get(name)), "")
            yield Candidate(
                reference=f"{entry.name}:{entry.model}",
                note=f"{key} is set" if key else "credentials of AWS",
            )
    other = entry_of("compatible", config.providers)
    if other.base_url and not other.model:
        raise _which(other.base_url)
    if other.base_url:
        yield Candidate(reference=f"{other.name}:{other.model}", note=f"at {shown(other.base_url)}")
    for name in world.servers:
        entry = at_home(entry_of(name, config.providers), world)
        server = server_at(entry.base_url, entry.key(world.environment))
        if server is not None:
            yield from _found(entry, server, world, named=name in config.providers)
    if best := _embedded(world):
        yield Candidate(reference=best, note="embedded")


def _found(entry: Entry, server: Server, world: World, *, named: bool) -> Iterator[Candidate]:
    """Yield a server that listens on this machine, if it names a model. `named`: the config has it,
    whoever's it is.
    """
    model = entry.model or next(iter(server.models), "")
    software = (
        f" ({server.software})" if server.software.lower() not in ("", entry.title.lower()) else ""
    )
    at = f"at {shown(entry.base_url)}{software}"
    if not named and is_foreign(entry.base_url, world.sockets):
        note = f"{at} belongs to another user of this machine"
        yield Candidate(reference=entry.name, note=note, title=entry.title, foreign=True)
    elif server.loading and not entry.model:
        yield Candidate(
            reference=entry.name, note=f"{at} is loading its model", title=entry.title, loading=True
        )
    elif model:
        yield Candidate(reference=f"{entry.name}:{model}", note=at, title=entry.title)


def _embedded(world: World) -> str:
    """The reference of the best embedded model that is installed, if any."""
    from chat_loop.models import store

    installed = store.installed(world.models)
    if not installed:
        return ""
    return f"local:{max(installed, key=lambda model: (model.recommended, model.size)).name}"


def at_home(entry: Entry, world: World) -> Entry:
    """A server with the port that it has in this world, unless the user set its address."""
    known = CATALOGUE.get(entry.name)
    if entry.name not in world.servers or known is None or entry.base_url != known.base_url:
        return entry
    return replace(entry, base_url=f"http://127.0.0.1:{world.servers[entry.name]}/v1")


def default_model(provider: str, config: Config, world: World) -> str:
    """The model of a provider that is taken when none is named; "" when there is none, or nobody
    answers.
    """
    try:
        return usual_model(at_home(entry_of(provider, config.providers), world), world)
    except KeyError:
        return ""


def usual_model(entry: Entry, world: World, tell: Tell | None = None) -> str:
    """As `default_model`, of an entry. With `tell` a server that loads its model is waited for.
    Raises NoProvider.
    """
    if entry.kind == "local":
        return _embedded(world).removeprefix("local:")
    if entry.model or entry.kind != "openai" or entry.needs_key or not entry.base_url:
        return entry.model
    server = server_at(entry.base_url, entry.key(world.environment))
    if server is not None and server.loading and tell is not None:
        server = _loaded(entry, world, tell)
    return next(iter(server.models), "") if server is not None else ""


def _loaded(entry: Entry, world: World, tell: Tell) -> Server | None:
    """Wait for a server that loads its model. Raises NoProvider when that takes too long."""
    who = f"{entry.title} at {shown(entry.base_url)}"
    tell(f"{who} is loading its model; waiting for it.")
    until = time.monotonic() + world.loading_seconds
    while time.monotonic() < until:
        time.sleep(LOOKING_SECONDS)
        server = server_at(entry.base_url, entry.key(world.environment))
        if server is None or not server.loading:
            return server
    raise NoProvider(
        f"{who} is still loading its model.",
        f"Try again, or name it: --model {entry.name}:MODEL waits.",
    )


def _which(url: str) -> UsageError:
    server = server_at(url)
    names = server.models[:MOST_NAMED] if server is not None else ()
    hint = f"It offers {', '.join(names)}: --model compatible:{names[0]}." if names else ""
    return UsageError(f"Which model of {shown(url)}?", hint or "Name it: --model compatible:MODEL.")


OWN = MappingProxyType(
    {
        **{prefix: vendor for prefix, vendor in VENDORS.items() if vendor},
        "mistral-": "mistral",
        "codestral": "mistral",
        "deepseek-": "deepseek",
    }
)
"""Prefix of a model's name -> whose it is."""
_NAMES = {"google": "gemini", "x-ai": "grok"}
_SELLS_OWN = ("anthropic", "openai", "gemini", "grok", "mistral", "deepseek", "local", "scripted")
"""The providers that have no models of others."""


def completed(name: str, providers: Collection[str], provider: str = "") -> str:
    """The model reference that a user means by `name`, while `provider` answers, if any; a
    reference stays as it is.

    `gpt-5` alone is OpenAI's; any other name alone is a model of the provider.
    """
    if name.partition(":")[0] in providers:
        return name
    prefix = longest_prefix(name, OWN)
    if prefix and provider in ("", *_SELLS_OWN):
        return f"{_NAMES.get(OWN[prefix], OWN[prefix])}:{name}"
    return f"{provider}:{name}" if provider else name


def create(
    reference: str, config: Config, world: World, *, base_url: str = "", tell: Tell = bool
) -> Provider:
    """Build the provider for PROVIDER:MODEL, for PROVIDER with its usual model, or for MODEL.
    Raises as `choose` does.

    Its library is loaded later.
    """
    known = entries(config.providers)
    name, _, model = completed(reference, known, "compatible" if base_url else "").partition(":")
    try:
        entry = at_home(entry_of(name, config.providers), world)
    except KeyError:
        raise _no_reference(reference, config) from None
    if base_url and entry.kind not in ("openai", "anthropic"):
        raise UsageError(
            "--base-url goes with a model of a server.", "For example: --model compatible:MODEL."
        )
    if base_url:
        entry = replace(entry, base_url=base_url)
    model = model or usual_model(entry, world, tell)
    if not model:
        if entry.kind == "local":
            raise ModelError(
                "No embedded model is installed.", "Fetch one: chat-loop models install"
            )
        if entry.kind == "azure":
            raise UsageError(
                "Which deployment of Azure OpenAI?", "Name it: --model azure:DEPLOYMENT."
            )
        raise UsageError(f"Which model of {entry.title}?", f"Name it: --model {name}:MODEL.")
    return _build(entry, model, window_of(model, config.windows), config, world)


def _no_reference(reference: str, config: Config) -> UsageError:
    return UsageError(
        f"“{reference[:80]}” is not a model reference.",
        f"It is PROVIDER:MODEL; providers: {', '.join(entries(config.providers))}.",
    )


def _build(entry: Entry, model: str, window: Window, config: Config, world: World) -> Provider:
    images = config.images.get(model)
    match entry.kind:
        case "anthropic":
            from chat_loop.providers.anthropic import AnthropicProvider

            key = _own_key(entry, world)
            url = entry.base_url or None
            return AnthropicProvider(
                model, window=window, base_url=url, api_key=key, entry=entry, images=images
            )
        case "bedrock":
            from chat_loop.providers.bedrock import BedrockProvider

            return BedrockProvider(model, window=window, entry=entry, images=images)
        case "azure":
            from chat_loop.providers.openai import AzureProvider

            return AzureProvider(
                model, window=window, entry=entry, calls_tools=entry.tools, images=images
            )
        case "openai":
            return _server(entry, model, window, world, images)
        case "local":
            return _local(model, config, world)
        case _:
            from chat_loop.providers.scripted import ECHO, ScriptedProvider

            if model == ECHO:
                return ScriptedProvider(window=window, takes_images=bool(images))
            return ScriptedProvider.from_file(Path(model).expanduser(), window)


def _own_key(entry: Entry, world: World) -> str | None:
    """The key of a variable that the user named; None leaves the SDK to its own variables."""
    return None if entry.keys == CATALOGUE[entry.name].keys else entry.key(world.environment) or ""


def _server(
    entry: Entry, model: str, window: Window, world: World, images: bool | None
) -> Provider:
    from chat_loop.providers.openai import OpenAIProvider

    own = entry.name == "openai"
    if not own and not entry.base_url:
        raise ConfigError(
            f"{entry.title[:1].upper()}{entry.title[1:]} needs its address.",
            f"Set providers.{entry.name}.base_url, or give --base-url URL.",
        )
    key = _own_key(entry, world) if own else entry.key(world.environment) or None
    address = entry.base_url or world.environment.get("OPENAI_BASE_URL", "")
    return OpenAIProvider(
        model,
        name=entry.name,
        window=window,
        base_url=entry.base_url or None,
        api_key=key,
        first_event_seconds=HERE_SECONDS if is_near(address) else 120.0,
        calls_tools=entry.tools,
        entry=entry,
        images=images,
    )


def _local(model: str, config: Config, world: World) -> Provider:
    from chat_loop.config import ProviderConfig
    from chat_loop.models import store
    from chat_loop.providers.local import LocalProvider
    from chat_loop.values import Window

    path = store.resolve(world.models, model)
    setting = config.providers.get("local", ProviderConfig())
    return LocalProvider(
        path,
        name_of_model=model,
        window=Window(config.windows.get(model, setting.context or LOCAL_CONTEXT)),
        threads=setting.threads or None,
        calls_tools=bool(setting.tools),
    )


def offered(config: Config, world: World) -> list[Offer]:
    """The models that could answer now, each once; no service is asked but servers of this
    machine.
    """
    from chat_loop.models import store

    found = [Offer(config.model, "the config's")] if config.model else []
    try:
        found += [Offer(one.reference, one.note) for one in candidates(config, world)]
    except UsageError as error:
        found.append(Offer("compatible:MODEL", error.message))
    found += [Offer(f"local:{model.name}", "embedded") for model in store.installed(world.models)]
    return list({offer.reference: offer for offer in reversed(found)}.values())[::-1]
