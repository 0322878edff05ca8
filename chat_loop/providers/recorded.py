"""The model of a session that goes on: whether it can be had now, where it was asked.

A file chooses no server. The user's settings say where a provider is asked, and the endpoint that a
session records is only compared with that.
"""

from __future__ import annotations

from urllib.parse import urlsplit

from msgspec import Struct

from chat_loop.characters import exact_line, one_line
from chat_loop.config import Config
from chat_loop.errors import ChatLoopError, ProviderError
from chat_loop.providers import Provider
from chat_loop.providers.catalogue import CATALOGUE, entries
from chat_loop.providers.choose import (
    ADAPTERS,
    Machine,
    create,
    full_reference,
    missing_requirement,
)
from chat_loop.providers.prices import VENDORS
from chat_loop.providers.servers import accepts_connections, is_local_address
from chat_loop.sessions.marker import safe_value
from chat_loop.sessions.records import Answering

AGENT = "python"  # the provider of an agent of another library, which only answers as an agent
WITHOUT_ADDRESS = ("local", "scripted")  # the kinds of providers that no server stands behind


class Offer(Struct, frozen=True):
    """What can be had of a recorded model. `problem` is a sentence on why that is not as recorded;
    the provider is then one at another endpoint, if any. `note` names what is ignored.
    """

    provider: Provider | None = None
    problem: str = ""
    hint: str = ""
    note: str = ""


def offer(recorded: Answering, config: Config, machine: Machine) -> Offer:
    """Return what can be had of a recorded model. Servers on this machine are looked for."""
    providers = entries(config.providers)
    reference = full_reference(recorded.model, providers)
    name, colon, _ = reference.partition(":")
    shown = _shown(recorded.model)
    if not recorded.model or (name == AGENT and colon):
        return Offer()
    if not colon and name not in providers:
        return Offer(note=f"Its file names the model “{shown}”, which is not a model: ignored.")
    try:
        provider = create(reference, config, machine)
        entry = providers.get(name)
        if entry is not None and missing_requirement(entry, machine.environment) is not None:
            provider.warm()  # the SDK may find other credentials
    except ChatLoopError as error:
        hint = error.hint
        if recorded.endpoint and isinstance(error, ProviderError):
            hint += f" It was asked at {_shown(recorded.endpoint)}."
        return Offer(problem=f"Recorded with {shown}: {error.message}", hint=hint.strip())
    has_address = entry is None or entry.kind not in WITHOUT_ADDRESS
    if has_address and recorded.endpoint and not is_same(recorded.endpoint, provider.endpoint):
        there = _shown(recorded.endpoint)
        here = provider.endpoint or "an address that is not known"
        problem = f"Recorded with {shown} at {there}; now it is asked at {here}."
        return Offer(provider, problem, f"The address comes from your settings of {name}.")
    if is_local_address(provider.endpoint) and not accepts_connections(provider.endpoint):
        problem = f"Recorded with {shown}: nothing listens at {provider.endpoint}."
        return Offer(problem=problem, hint="Start that server.")
    return Offer(provider)


def is_as_recorded(recorded: Answering, now: Answering) -> bool:
    """Return True if a model is the recorded one, at its endpoint as far as that is recorded."""
    if now.model not in (recorded.model, full_reference(recorded.model, CATALOGUE)):
        return False
    return not recorded.endpoint or is_same(recorded.endpoint, now.endpoint)


def change(recorded: Answering, now: Answering) -> str:
    """Return a sentence if a session goes on with another model or endpoint than recorded."""
    before, after = _names(recorded, now)
    if before:
        return f"Recorded with {before}; continuing with {after}."
    return ""


def difference(first: Answering, second: Answering) -> str:
    """Return a sentence if two sessions that are merged record different models or endpoints."""
    one, other = _names(second, first)
    if one:
        return f"One branch was recorded with {other}, the other one with {one}."
    return ""


def _names(recorded: Answering, now: Answering) -> tuple[str, str]:
    """Return the names of a recorded model and another one, with their endpoints if those make the
    difference; empty texts if there is none.
    """
    if not recorded.model or is_as_recorded(recorded, now):
        return "", ""
    before = _shown(recorded.model)
    after = _shown(now.model)
    if before == after:
        before += f" at {_shown(recorded.endpoint)}"
        if now.endpoint:
            after += f" at {_shown(now.endpoint)}"
    return before, after


def unrecorded_endpoint(recorded: Answering, now: Answering) -> str:
    """Return a sentence if the file does not say where the model was asked, and it is now asked
    elsewhere than at its vendor's own address.
    """
    if recorded.endpoint or not is_as_recorded(recorded, now):
        return ""
    own = _own_address(now.model.partition(":")[0])
    if not own or is_same(own, now.endpoint):
        return ""
    text = f"Its file does not say where {_shown(recorded.model)} was asked; now that is"
    return f"{text} {now.endpoint}, not the vendor’s own address."


def _own_address(name: str) -> str:
    """Return the address of a vendor's own service, or "" for another provider."""
    entry = CATALOGUE.get(name)
    if entry is None or not entry.needs_key:
        return ""
    own = ""
    if name in VENDORS.values():
        own = ADAPTERS[entry.kind].official
    return entry.base_url or own


def is_same(one: str, other: str) -> bool:
    """Return True if two addresses are one endpoint."""
    return _normal(one) == _normal(other)


def _normal(endpoint: str) -> str:
    """Return an address in one form, with the characters that a marker can hold."""
    try:
        parts = urlsplit(endpoint)
        host = parts.hostname or ""
        if parts.hostname == "localhost":
            host = "127.0.0.1"
        port = parts.port or {"https": 443, "http": 80}.get(parts.scheme, 0)
    except ValueError:
        return safe_value(endpoint)
    return safe_value(f"{parts.scheme}://{host}:{port}{parts.path.rstrip('/')}")


def _shown(text: str) -> str:
    return one_line(exact_line(text), 100)
