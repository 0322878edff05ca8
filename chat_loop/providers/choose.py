"""Which provider answers: the one that was asked for, else the first that can.

Without a reference: a key that is set, else a server that answers on localhost, else the embedded model.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Mapping
from pathlib import Path

from chat_loop.config import Config
from chat_loop.errors import ConfigError, NoProvider, UsageError
from chat_loop.frozen import dataclass
from chat_loop.providers import Provider
from chat_loop.providers.images import seeing

DEFAULT_MODELS = {"anthropic": "claude-sonnet-5-5", "openai": "gpt-5.4-mini"}
LOCAL_SERVERS = {"Ollama": 11434, "LM Studio": 1234, "llama-server": 8080}
PROVIDERS = ("anthropic", "openai", "compatible", "local", "scripted")
_MAX_ANSWER = 1 << 20

WAYS = """Ways to get one:
  export ANTHROPIC_API_KEY=...  or  export OPENAI_API_KEY=...
  start Ollama, LM Studio or llama-server on this machine
  chat-loop models install       (an embedded model: no key, no network afterwards)
  chat-loop --model compatible:MODEL --base-url URL"""


@dataclass(frozen=True, kw_only=True)
class World:
    """What the choice depends on besides the config. `servers`: name -> port on 127.0.0.1."""

    environment: Mapping[str, str]
    models: Path
    servers: Mapping[str, int]


def real_world(models: Path) -> World:
    """The process's environment and the usual ports. `models` is the folder of embedded models."""
    return World(environment=os.environ, models=models, servers=LOCAL_SERVERS)


def choose(reference: str, config: Config, world: World, *, base_url: str = "") -> Provider:
    """Return the provider for `reference` (PROVIDER:MODEL), or the first that can answer when it is empty.

    Raises UsageError for a reference that cannot be understood, NoProvider, ModelError, ConfigError.
    """
    reference = reference or config.model
    if base_url and reference and not reference.startswith(("compatible:", "openai:", "anthropic:")):
        raise UsageError("--base-url goes with a model of a server.", "For example: --model compatible:MODEL.")
    if reference:
        return create(reference, config, world, base_url=base_url)
    if base_url:  # whose key would go there is not to be guessed
        raise _which(base_url)
    for provider, variable in (("anthropic", "ANTHROPIC_API_KEY"), ("openai", "OPENAI_API_KEY")):
        if world.environment.get(variable):
            return create(f"{provider}:{DEFAULT_MODELS[provider]}", config, world)
    if config.providers.compatible.base_url:
        raise _which(config.providers.compatible.base_url)
    for port in world.servers.values():
        if model := served_model(port):
            return create(f"compatible:{model}", config, world, base_url=f"http://127.0.0.1:{port}/v1")
    from chat_loop.models import store  # the embedded models come last

    installed = store.installed(world.models)
    if installed:
        best = max(installed, key=lambda model: (model.recommended, model.size))
        return create(f"local:{best.name}", config, world)
    raise NoProvider("There is no model to talk to.", WAYS)


def _which(url: str) -> UsageError:
    return UsageError(f"Which model of {url}?", "Name it: --model compatible:MODEL.")


def create(reference: str, config: Config, world: World, *, base_url: str = "") -> Provider:
    """Build the provider for PROVIDER:MODEL. Its library is loaded later. Raises as `choose` does."""
    return seeing(_created(reference, config, world, base_url), config.images)


def _created(reference: str, config: Config, world: World, base_url: str) -> Provider:
    name, colon, model = reference.partition(":")
    if not colon or not model or name not in PROVIDERS:
        raise UsageError(
            f"“{reference[:80]}” is not a model reference.", f"It is PROVIDER:MODEL; providers: {', '.join(PROVIDERS)}."
        )
    from chat_loop.providers.windows import window_of

    window, settings = window_of(model, config.windows), config.providers
    match name:
        case "anthropic":
            from chat_loop.providers.anthropic import AnthropicProvider

            url = base_url or settings.anthropic.base_url or None
            return AnthropicProvider(model, window=window, base_url=url, max_tokens=settings.anthropic.max_tokens)
        case "openai":
            from chat_loop.providers.openai import OpenAIProvider

            return OpenAIProvider(model, window=window, base_url=base_url or settings.openai.base_url or None)
        case "compatible":
            from chat_loop.providers.openai import OpenAIProvider

            url = base_url or settings.compatible.base_url
            if not url:
                raise ConfigError(
                    "A compatible server needs its address.",
                    "Set providers.compatible.base_url, or give --base-url URL.",
                )
            key = world.environment.get(settings.compatible.api_key_env) or None
            return OpenAIProvider(
                model,
                name="compatible",
                window=window,
                base_url=url,
                api_key=key,
                calls_tools=settings.compatible.tools,
            )
        case "local":
            return _local(model, config, world)
        case _:
            from chat_loop.providers.scripted import ECHO, ScriptedProvider

            return (
                ScriptedProvider(window=window)
                if model == ECHO
                else ScriptedProvider.from_file(Path(model).expanduser(), window)
            )


def _local(model: str, config: Config, world: World) -> Provider:
    from chat_loop.models import store
    from chat_loop.providers.local import LocalProvider
    from chat_loop.values import Window

    path = store.resolve(world.models, model)
    settings = config.providers.local
    return LocalProvider(
        path,
        name_of_model=model,
        window=Window(config.windows.get(model, settings.context)),
        threads=settings.threads or None,
    )


def served_model(port: int) -> str:
    """The first model that an OpenAI-compatible server on 127.0.0.1 offers, or "". Takes at most a few seconds."""
    try:
        socket.create_connection(("127.0.0.1", port), timeout=0.2).close()
    except OSError:
        return ""
    import json  # only when something listens
    from http.client import HTTPConnection, HTTPException

    connection = HTTPConnection("127.0.0.1", port, timeout=1.0)
    try:
        connection.request("GET", "/v1/models")
        answer = json.loads(connection.getresponse().read(_MAX_ANSWER))
    except (OSError, HTTPException, ValueError, RecursionError):
        return ""
    finally:
        connection.close()
    models = answer.get("data") if isinstance(answer, dict) else None
    first = models[0] if isinstance(models, list) and models else None
    name = first.get("id") if isinstance(first, dict) else None
    return name if isinstance(name, str) and name.isprintable() else ""
