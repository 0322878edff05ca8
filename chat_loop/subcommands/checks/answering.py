"""Who can answer: keys, servers on this machine, embedded models, and the model that would answer
now.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from importlib.util import find_spec

from msgspec.structs import replace

from chat_loop.errors import NoProvider, ProviderError
from chat_loop.events import Finished, TextDelta, ThinkingDelta
from chat_loop.models import store
from chat_loop.models.catalogue import CATALOGUE as EMBEDDED
from chat_loop.models.cpu import runs_embedded_models
from chat_loop.providers import Provider
from chat_loop.providers.catalogue import entries
from chat_loop.providers.choose import at_home, choose
from chat_loop.providers.readiness import lacking
from chat_loop.providers.servers import is_foreign, listens, place_of, server_at, shown
from chat_loop.providers.wire import WireProvider
from chat_loop.subcommands.checks.finding import Finding, Here, bad, doubtful, good
from chat_loop.values import Message, Request
from chat_loop.wording import install_hint, size_text, window_text

FIRST_STEPS = (
    "Set a key (export ANTHROPIC_API_KEY=...), or fetch a model that needs none (chat-loop models "
    "install); chat-loop providers says what else there is."
)
SHORTEST_KEY = 8
_FILLERS = ("...", "…", "your", "xxx", "<", "changeme", "insert")
ONLINE_SECONDS = 60.0
ONLINE_TOKENS = 512
"""Ceiling of the reply: a model that reasons first needs room to say a word."""


def fault_of(key: str) -> str:
    """What is obviously wrong with a key, without a part of it; "" when nothing is."""
    if key != key.strip():
        return "begins or ends with a blank or a line's end"
    if any(character.isspace() for character in key):
        return "has a blank in it"
    if key[0] in "\"'" or key[-1] in "\"'":
        return "stands in quotation marks"
    if not (key.isascii() and key.isprintable()):
        return "has characters that no key has"
    if key.lower().startswith(_FILLERS):
        return "is a placeholder"
    return "is too short for a key" if len(key) < SHORTEST_KEY else ""


def keys(here: Here) -> Iterator[Finding]:
    """Yield which keys are set, by the names of their variables."""
    there: dict[str, str] = {}
    for entry in entries(here.config.providers).values():
        for name in entry.keys:
            if value := here.environment.get(name, ""):
                there[name] = fault_of(value)
    for name, fault in there.items():
        if fault:
            yield bad("Keys", f"{name} {fault}.", f"Set it again: export {name}=...")
    right = [name for name, fault in there.items() if not fault]
    if right:
        yield good("Keys", f"set: {', '.join(right)}")
    elif not there:
        yield good("Keys", "none is set", "chat-loop providers says which there are.")


def servers(here: Here) -> Iterator[Finding]:
    """Yield what listens on this machine, on the usual ports and where the config says."""
    silent = []
    for known in entries(here.config.providers).values():
        entry = at_home(known, here.world)
        if not entry.here:
            continue
        if not listens(entry.base_url):
            silent.append(entry.name)
            continue
        where = shown(entry.base_url)
        server = server_at(entry.base_url, entry.key(here.environment))
        model = next(iter(server.models), "") if server is not None else ""
        if model and is_foreign(entry.base_url, here.world.sockets):
            yield good(
                "Server",
                f"{entry.name} at {where} serves {model}; it is another user's: only used "
                "when it is named",
            )
        elif model:
            yield good("Server", f"{entry.name} at {where} serves {model}")
        elif server is not None and server.loading:
            yield doubtful("Server", f"{entry.name} at {where} is loading its model.")
        else:
            yield doubtful(
                "Server", f"{entry.name}: something listens at {where} and names no model."
            )
    if silent:
        yield good("Servers here", f"nothing listens for {', '.join(silent)}")


def embedded(here: Here) -> Iterator[Finding]:
    """Yield the embedded models that are installed or begun, and whether they can run."""
    installed = store.installed(here.paths.models)
    runs = runs_embedded_models()
    hint = install_hint("local")
    for model in installed:
        yield good("Embedded model", f"{model.name}, {size_text(model.size)}, complete")
    for model in EMBEDDED:
        path = store.path_of(here.paths.models, model.name)
        if path.exists() and model not in installed:
            text = f"{path} has not the size of {model.name}: it is not used."
            yield doubtful("Embedded model", text, f"chat-loop models install {model.name}")
        partial = store.partial_of(here.paths.models, model.name)
        if partial.exists():
            text = (
                f"{model.name} is installed in part, {size_text(partial.stat().st_size)} of "
                f"{size_text(model.size)}."
            )
            again = (
                f"chat-loop models install {model.name} goes on; models remove {model.name} "
                "deletes it."
            )
            yield doubtful("Embedded model", text, again)
    if installed and find_spec("xllamacpp") is None:
        yield doubtful("Embedded model", "The package xllamacpp is missing, which runs it.", hint)
    if not installed:
        yield good(
            "Embedded model", "none is installed", "chat-loop models list shows what there is."
        )
    if not runs:
        lacking = "This processor has no AVX2, which an embedded model needs."
        yield doubtful("Processor", lacking) if installed else good("Processor", lacking)


def model(here: Here) -> Iterator[Finding]:
    """Yield the model that would answer now. Raises as `choose` does."""
    try:
        provider = choose(here.model, here.config, here.world, base_url=here.base_url)
    except NoProvider as error:  # its hint is a whole list
        yield bad("Model", error.message, FIRST_STEPS)
        return
    name = f"{provider.name}:{provider.model}"
    missing = _missing(provider, here)
    if missing is not None:
        yield bad("Model", f"{name} cannot answer: {missing[0]}", missing[1])
        return
    if isinstance(provider, WireProvider):
        provider.look_up()
    window = provider.window
    text = f"{name} would answer now, window {window_text(window.tokens, window.guessed)}"
    if window.guessed:
        hint = f"models: {{{provider.model}: {{window: N}}}} in the config sets it."
        yield doubtful("Model", f"{text}: its window is not known.", hint)
    else:
        yield good("Model", text)


def _missing(provider: Provider, here: Here) -> tuple[str, str] | None:
    """What a model lacks that was asked for by name, as a sentence, and what to do; None when
    nothing is known of.
    """
    known = entries(here.config.providers).get(provider.name)
    if known is None:
        return None
    entry = at_home(known, here.world)
    error = lacking(replace(entry, base_url=here.base_url or entry.base_url), here.environment)
    if error is not None:
        return error.message, error.hint
    address = here.base_url or entry.base_url
    if place_of(address)[0] in ("127.0.0.1", "localhost") and not listens(address):
        return (
            f"nothing listens at {shown(address)}.",
            f"Start {entry.title}, or take another model with --model.",
        )
    return None


def online(here: Here) -> Iterator[Finding]:
    """Ask the model one small question, and yield how long that took. Raises as `choose` does, and
    ProviderError.
    """
    try:
        provider = choose(here.model, here.config, here.world, base_url=here.base_url)
    except NoProvider:
        return  # told before
    name = f"{provider.name}:{provider.model}"
    try:
        first, whole = asyncio.run(_timed(provider))
    except TimeoutError:
        yield bad(
            "Online",
            f"{name} gave no whole reply in {ONLINE_SECONDS:.0f} s.",
            "Try again, or another model.",
        )
    except ProviderError as error:
        yield bad("Online", f"{name}: {error.message}", error.hint)
    else:
        yield good(
            "Online", f"{name} answered: first words after {first:.1f} s, all after {whole:.1f} s"
        )


async def _timed(provider: Provider) -> tuple[float, float]:
    """The seconds until the first content, and until the end, with the SDK loaded before."""
    request = Request(system="", messages=(Message("user", "Say OK."),), max_tokens=ONLINE_TOKENS)
    first = 0.0
    try:
        async with asyncio.timeout(ONLINE_SECONDS):
            await asyncio.to_thread(provider.warm)
            began = time.monotonic()
            async for event in provider.stream(request):
                if isinstance(event, TextDelta | ThinkingDelta | Finished):
                    first = first or time.monotonic() - began
        return first, time.monotonic() - began
    finally:
        await provider.close()
