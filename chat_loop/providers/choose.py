"""Choose the requested model, or the first available service, local server or embedded model."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Collection, Iterator, Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from chat_loop.config import Config, ModelConfig, ProviderConfig
from chat_loop.errors import (
    AuthenticationFailed,
    ModelError,
    NoProvider,
    ProviderError,
    UsageError,
)
from chat_loop.providers import Provider, catalogue
from chat_loop.providers.anthropic import AnthropicProvider
from chat_loop.providers.bedrock import BedrockProvider, check_access
from chat_loop.providers.capabilities import window_of
from chat_loop.providers.catalogue import CATALOGUE, Kind, ProviderSpec, entries, entry_of
from chat_loop.providers.model_list import ModelListing
from chat_loop.providers.models import store
from chat_loop.providers.openai import OpenAIProvider
from chat_loop.providers.prices import VENDORS, vendor_of
from chat_loop.providers.scripted import EchoProvider
from chat_loop.providers.servers import Server, server_at, without_credentials
from chat_loop.providers.wire import WireProvider
from chat_loop.values import Window

LOCAL_CONTEXT = 8192  # the window of an embedded model in tokens, unless the config sets it

SETUP_HINT = """Ways to get one:
  export ANTHROPIC_API_KEY=...  or  export OPENAI_API_KEY=...
  start Ollama, LM Studio, llama-server or vLLM on this machine
  chat-loop --local              (an embedded model, which needs no key)
  chat-loop --model compatible:MODEL --base-url URL
  chat-loop providers            (all of them, and what each still needs)
To look around without one: chat-loop tour"""


ADAPTERS: Mapping[Kind, type[WireProvider]] = {
    "anthropic": AnthropicProvider,
    "bedrock": BedrockProvider,
    "openai": OpenAIProvider,
}


def missing_requirement(
    entry: ProviderSpec, environment: Mapping[str, str]
) -> ProviderError | None:
    """Return an error about the first thing that a provider still lacks, without asking it."""
    try:
        key = entry.key(environment)
    except AuthenticationFailed as error:
        return error
    if entry.needs_key and not key:
        names = " or ".join(entry.keys) or "A key"
        hint = ""
        if entry.keys:
            hint = f"export {entry.keys[0]}=..."
        return AuthenticationFailed(f"{names} is not set.", hint)
    try:
        entry.address(environment)
        entry.request_headers(environment)
        if entry.kind == "bedrock":
            check_access(entry, environment)
    except ProviderError as error:
        return error
    return None


class Machine(Struct, frozen=True, kw_only=True):
    """The machine that a model is chosen for: environment variables, model files and servers."""

    environment: Mapping[str, str]
    models: Path
    servers: Sequence[str]  # those to look for
    other: Callable[[str, str], Provider | None] = lambda name, model: None
    """Return a model of a provider that is not in the catalogue."""
    others: Callable[[], Mapping[str, str]] = dict
    """Return the providers that are not in the catalogue, and where each comes from."""


def this_machine(
    models: Path,
    *,
    discover: bool = True,
    other: Callable[[str, str], Provider | None] = lambda name, model: None,
    others: Callable[[], Mapping[str, str]] = dict,
) -> Machine:
    """Return the process's environment and, if `discover`, the servers to look for."""
    servers = catalogue.LOCAL_SERVERS if discover else ()
    return Machine(
        environment=os.environ, models=models, servers=servers, other=other, others=others
    )


async def _nothing_listed(now: str) -> ModelListing:
    return ModelListing()


class Models(Struct, frozen=True, kw_only=True):
    """Access to other models during a conversation."""

    providers: tuple[str, ...]
    provide: Callable[[str], Provider]
    candidates: Callable[[], Mapping[str, str]]  # reference -> a few words on why it could answer
    listing: Callable[[str], Awaitable[ModelListing]] = _nothing_listed
    """Returns all models that can be chosen, also the one that answers now."""


def choose(
    reference: str,
    config: Config,
    machine: Machine,
    *,
    base_url: str = "",
    report: Callable[[str], object] = lambda sentence: None,
) -> Provider:
    """Return the provider for a reference, or the first that can answer. `report` gets notes.
    Raises UsageError for an unknown reference, NoProvider, ModelError, ConfigError.
    """
    # never send a service's key to an address that was given without a model
    reference = reference or config.model or ("compatible" if base_url else "")
    if reference:
        return create(reference, config, machine, base_url=base_url)
    reference, note = next(_candidates(config, machine), ("", ""))
    if not reference:
        for entry in entries(config.providers).values():
            entry.key(machine.environment)  # a key that is wrong explains it better
        raise NoProvider("No model is available.", SETUP_HINT)
    provider = create(reference, config, machine)
    if provider.name in machine.servers:
        report(f"Using {reference}, found on this machine {note}.")
    return provider


def list_candidates(config: Config, machine: Machine) -> dict[str, str]:
    """Return the models that could answer now, and a few words on why. No service is asked."""
    candidates = []
    if config.model:
        candidates = [(config.model, "the config's")]
    candidates += _candidates(config, machine)
    installed = store.installed_models(machine.models)
    candidates += [(f"local:{model.name}", "embedded") for model in installed]
    found: dict[str, str] = {}
    for reference, note in candidates:
        found.setdefault(reference, note)
    return found


def _candidates(config: Config, machine: Machine) -> Iterator[tuple[str, str]]:
    """Yield the models that could answer, best first; ask each server only in its turn."""
    for entry in entries(config.providers).values():
        is_service = entry.model and (entry.needs_key or entry.kind == "bedrock")
        if is_service and not missing_requirement(entry, machine.environment):
            key = next((name for name in entry.keys if machine.environment.get(name)), "")
            note = f"{key} is set" if key else "credentials of AWS"
            yield f"{entry.name}:{entry.model}", note
    entry = entry_of("compatible", config.providers)
    if entry.base_url:
        model = f":{entry.model}" if entry.model else ""
        yield f"{entry.name}{model}", f"at {without_credentials(entry.base_url)}"
    for name in machine.servers:
        entry = entry_of(name, config.providers)
        if server := server_at(entry.base_url, entry.key(machine.environment)):
            model = entry.model or next(iter(server.models), "")
            if model or server.loading:
                note = f"at {without_credentials(entry.base_url)}"
                yield f"{name}:{model}" if model else name, note
    if best := store.best_installed(machine.models):
        yield f"local:{best}", "embedded"


def usual_model(entry: ProviderSpec, machine: Machine) -> str:
    """Return an entry's default model, or "". Raises NoProvider while a server is loading it."""
    if entry.kind == "local":
        return store.best_installed(machine.models)
    if entry.model or entry.kind != "openai" or entry.needs_key or not entry.base_url:
        return entry.model
    server = server_at(entry.base_url, entry.key(machine.environment)) or Server()
    if server.loading:
        what = f"{entry.title} at {without_credentials(entry.base_url)} is loading its model."
        raise NoProvider(what, "Try again in a moment.")
    return next(iter(server.models), "")


def full_reference(name: str, providers: Collection[str], provider: str = "") -> str:
    """Return the full reference for `name`. `gpt-5` is OpenAI's, unless `provider` offers models of
    several vendors. Names without a known vendor are `provider`'s.
    """
    name = VENDORS.get(f"{name.lower()}-", name)  # `claude` alone is Anthropic's usual model
    if name.partition(":")[0] in providers:
        return name
    vendor = vendor_of(name)
    # the providers that do not offer other vendors' models
    if vendor and provider in ("", "local", "scripted", *VENDORS.values()):
        return f"{vendor}:{name}"
    if provider:
        return f"{provider}:{name}"
    return name


def meant_reference(name: str, providers: Collection[str]) -> str:
    """Return what is meant by a name that begins with a misspelled provider; else ""."""
    first, colon, model = name.partition(":")
    near = get_close_matches(first.strip().lower(), providers, 1, 0.7)
    if not colon or first in providers or not near:
        return ""
    return f"{near[0]}:{model[:80]}"


def check_provider(name: str, providers: Collection[str], provider: str) -> None:
    """Raise UsageError if `name` begins with no provider, but with one that is misspelled, or that
    cannot be a part of the name of a model of `provider`: those of vendors have no colons.
    """
    first, colon, _ = name.partition(":")
    if not colon or first in providers:
        return
    hint = f"Use PROVIDER:MODEL; providers: {', '.join(providers)}."
    meant = meant_reference(name, providers)
    if meant:
        hint = f"Did you mean {meant}?"
    if meant or (provider in VENDORS.values() and first != "ft"):  # OpenAI's own tuned models
        raise UsageError(f"No provider “{first[:40]}”.", hint)


def create(reference: str, config: Config, machine: Machine, *, base_url: str = "") -> Provider:
    """Build the provider for PROVIDER:MODEL, PROVIDER or MODEL. Raises as `choose` does."""
    providers = entries(config.providers)
    reference = full_reference(reference, providers, "compatible" if base_url else "")
    name, _, model = reference.partition(":")
    if name not in providers and (other := machine.other(name, model)) is not None:
        return other
    if name not in providers:
        known = (*providers, *machine.others())
        hint = f"Use PROVIDER:MODEL; providers: {', '.join(known)}."
        if meant := meant_reference(reference, known):
            hint = f"Did you mean {meant}?"
        raise UsageError(f"Unknown model “{reference[:80]}”.", hint)
    entry = providers[name]
    if base_url:
        if entry.kind not in ("openai", "anthropic"):
            what = "--base-url needs a model of a server."
            raise UsageError(what, "For example: --model compatible:MODEL.")
        entry = entry.at(base_url)
    model = model or usual_model(entry, machine)
    if not model and entry.kind == "local":
        raise ModelError("No embedded model is installed.", "Install one: chat-loop models install")
    if not model:
        what = f"No model is named for {entry.title}."
        raise UsageError(what, f"Name it: --model {name}:MODEL.")
    return _build(entry, model, config, machine)


def local_window(model: str, config: Config) -> Window:
    """Return the window that an embedded model gets."""
    setting = config.providers.get("local", ProviderConfig())
    return Window(config.windows.get(model, setting.context or LOCAL_CONTEXT))


def _build(entry: ProviderSpec, model: str, config: Config, machine: Machine) -> Provider:
    window = window_of(model, config.windows)
    images = config.images.get(model)
    if entry.kind == "local":
        from chat_loop.providers.local import LocalProvider  # the embedded engine

        setting = config.providers.get("local", ProviderConfig())
        return LocalProvider(
            store.resolve(machine.models, model),
            model,
            local_window(model, config),
            threads=setting.threads,
            max_tokens=setting.max_tokens,
        )
    if entry.kind == "scripted":
        return EchoProvider(window, takes_images=bool(images))
    extra = config.models.get(model, ModelConfig()).extra
    entry = replace(entry, base_url=entry.address(machine.environment), extra=extra)
    # with None, the SDK reads its own variables
    by_sdk = entry.name in ("anthropic", "openai") and entry.keys == CATALOGUE[entry.name].keys
    key = None
    if not by_sdk:
        key = entry.key(machine.environment)
    return ADAPTERS[entry.kind](model, entry, window=window, images=images, api_key=key)
