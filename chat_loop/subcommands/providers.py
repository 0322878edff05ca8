"""`chat-loop providers`: who can be asked now, and what the others still need."""

from __future__ import annotations

from msgspec import Struct

from chat_loop.config import Config
from chat_loop.display.plain import out, out_json
from chat_loop.models import store
from chat_loop.providers.catalogue import Entry, entries, missing_requirement
from chat_loop.providers.choose import World, at_home, usual_model
from chat_loop.providers.servers import listens, server_at, shown
from chat_loop.wording import install_hint

_INSTALL = "chat-loop models install"


class Status(Struct, frozen=True, kw_only=True):
    """What is known of a provider without asking its model anything. No key is in it."""

    name: str
    title: str
    usable: bool
    missing: str
    """The first thing that is missing, "" when it is usable."""
    hint: str
    model: str
    """The model that is taken when none is named, "" when one must be."""
    address: str
    """Where its requests go, "" for the SDK's own address."""
    keys: tuple[str, ...]
    """The variables that may hold its key."""


def providers(config: Config, world: World, *, as_json: bool) -> int:
    """Print what each provider needs. Servers without a key are asked whether they are there."""
    found = [status_of(entry, world) for entry in entries(config.providers).values()]
    if as_json:
        out_json(found)
        return 0
    for status in found:
        state = status.model or "name a model" if status.usable else _lack(status)
        out(f"{'✓' if status.usable else '·'} {status.name:<13} {state}\n")
    usable = next((status for status in found if status.usable), None)
    example = f"{usable.name}:{usable.model or 'MODEL'}" if usable else "PROVIDER:MODEL"
    out(
        f"\nUse one with --model {example}; those with ✓ can be used now, with the model that "
        "is shown by default.\n"
    )
    return 0


def _lack(status: Status) -> str:
    """What is missing, with what to do where that does not say itself."""
    plain = status.hint.startswith(("export ", "Start "))
    return status.missing if plain or not status.hint else f"{status.missing} {status.hint}"


def status_of(entry: Entry, world: World) -> Status:
    """One provider as it stands."""
    entry = at_home(entry, world)
    missing, hint, model = "", "", entry.model
    if error := missing_requirement(entry, world.environment):
        missing, hint = error.message, error.hint
    elif entry.kind == "local":
        missing, hint = _embedded(world)
        model = "" if missing else usual_model(entry, world)
    elif entry.kind == "openai" and not entry.needs_key:
        server = server_at(entry.base_url, entry.key(world.environment))
        if server is not None and server.loading:
            missing = "It is loading its model."
        elif server is not None or listens(entry.base_url):
            model = entry.model or next(iter(server.models if server is not None else ()), "")
        else:
            missing = f"Nothing listens at {shown(entry.base_url)}."
            hint = f"Start {entry.title}, or set providers.{entry.name}.base_url."
    return Status(
        name=entry.name,
        title=entry.title,
        usable=not missing,
        missing=missing,
        hint=hint,
        model=model,
        address=shown(entry.base_url),
        keys=entry.keys,
    )


def _embedded(world: World) -> tuple[str, str]:
    """What the embedded model lacks, and what to do."""
    from importlib.util import find_spec

    if find_spec("xllamacpp") is None:
        return "The package xllamacpp is missing, which runs it.", install_hint("local")
    if not store.installed(world.models):
        return "No model is installed.", _INSTALL
    return "", ""
