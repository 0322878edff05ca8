"""`chat-loop providers`: which can be used now, and what the others still need."""

from __future__ import annotations

import argparse
from importlib.util import find_spec

from chat_loop.config import Config, Paths
from chat_loop.display.plain import out, out_json
from chat_loop.errors import install_hint
from chat_loop.parts import build
from chat_loop.providers.catalogue import ProviderSpec, entries
from chat_loop.providers.choose import Machine, missing_requirement, usual_model
from chat_loop.providers.models import store
from chat_loop.providers.servers import accepts_connections, server_at, without_credentials


def run(options: argparse.Namespace, config: Config, paths: Paths) -> int:
    """Print whether each provider can be used now, and what it needs."""
    parts = build(options, config, paths)
    return providers(parts.config, parts.machine, as_json=options.as_json)


def providers(config: Config, machine: Machine, *, as_json: bool) -> int:
    """Print what each provider needs. Servers that take no key are contacted."""
    rows = []
    lines = []
    usable = ""
    for entry in entries(config.providers).values():
        model, missing, hint = state_of(entry, machine)
        row = {
            "name": entry.name,
            "title": entry.title,
            "usable": not missing,
            "missing": missing,
            "hint": hint,
            "model": model,
            "address": without_credentials(entry.base_url),
            "keys": entry.keys,
        }
        rows.append(row)
        if entry.kind == "scripted":
            lines.append(f"· {entry.name:<13} no model: scripted:echo repeats your words\n")
        elif not missing:
            lines.append(f"✓ {entry.name:<13} {model or 'name a model'}\n")
            usable = usable or f"{entry.name}:{model or 'MODEL'}"
        else:
            is_told = hint.startswith(("export ", "Start "))  # in the sentence before it
            lines.append(f"· {entry.name:<13} {missing} {'' if is_told else hint}".rstrip() + "\n")
    for name, plugin in machine.others().items():
        row = {"name": name, "title": f"plugin {plugin}", "usable": True, "missing": ""}
        rows.append({**row, "hint": "", "model": "", "address": "", "keys": ()})
        lines.append(f"✓ {name:<13} of the plugin {plugin}; name a model\n")
        usable = usable or f"{name}:MODEL"
    if as_json:
        out_json(rows)
        return 0
    usage = "None is ready. chat-loop models install gets a model that needs no key."
    if usable:
        usage = f"✓ is ready. Example: chat-loop -m {usable}"
    out(f"{''.join(lines)}\n{usage}\n")
    return 0


def state_of(entry: ProviderSpec, machine: Machine) -> tuple[str, str, str]:
    """Return a provider's default model, the first thing that is missing, and what to do."""
    if error := missing_requirement(entry, machine.environment):
        return entry.model, error.message, error.hint
    if entry.kind == "local":
        if find_spec("xllamacpp") is None:
            hint = install_hint("local")
            return entry.model, "Needs the local extra (xllamacpp).", hint
        if not store.installed_models(machine.models):
            return entry.model, "No model is installed.", "chat-loop models install"
        return usual_model(entry, machine), "", ""
    if entry.kind != "openai" or entry.needs_key:
        return entry.model, "", ""
    server = server_at(entry.base_url, entry.key(machine.environment))
    if server is not None and server.loading:
        return entry.model, "It is loading its model.", ""
    if server is not None or accepts_connections(entry.base_url):
        first = ""
        if server is not None and server.models:
            first = server.models[0]
        return entry.model or first, "", ""
    hint = f"Start {entry.title}, or set providers.{entry.name}.base_url."
    return entry.model, f"Nothing listens at {without_credentials(entry.base_url)}.", hint
