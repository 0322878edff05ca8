"""`chat-loop plugins`: list the installed plugins and what they add."""

from __future__ import annotations

import argparse
from collections.abc import Iterable

from chat_loop import loop  # noqa: F401 - importing it registers the commands
from chat_loop.agent.builtin import SPECS
from chat_loop.commands.registry import registry
from chat_loop.commands.transfer import EXPORT_FORMATS
from chat_loop.config import Config, Paths
from chat_loop.display.plain import err, out, out_json
from chat_loop.parts import build
from chat_loop.plugins import Plugin
from chat_loop.providers.catalogue import entries


def run(options: argparse.Namespace, config: Config, paths: Paths) -> int:
    """Print each plugin with what it adds. Return 1 when one failed."""
    plugins = build(options, config, paths).plugins.all()
    taken = {
        "provider": [*entries(config.providers)],
        "command": registry.names(),
        "tool": [*SPECS],
        "exporter": [*EXPORT_FORMATS],
    }
    rows = []
    lines = []
    for plugin in plugins:
        added = additions(plugin)
        row = {"name": plugin.name, "package": plugin.package, **added}
        rows.append({**row, "problem": plugin.problem})
        texts = [_listed(kind, names, taken[kind]) for kind, names in added.items() if names]
        lines.append(f"{plugin.name}  {plugin.package}\n")
        lines.append(f"  {plugin.problem or ' · '.join(texts) or 'no additions'}\n")
    if options.as_json:
        out_json(rows)
    elif not plugins:
        err("No plugins are installed." if options.plugins else "Plugins are switched off.")
    else:
        out("".join(lines))
    return int(any(plugin.has_failed for plugin in plugins))


def additions(plugin: Plugin) -> dict[str, list[str]]:
    """Return the names of the things that a plugin adds, by kind."""
    return {
        "provider": [*plugin.providers],
        "command": [usage.partition(" ")[0] for usage in plugin.commands],
        "tool": [*plugin.tools],
        "exporter": [*plugin.exporters],
    }


def _listed(kind: str, names: Iterable[str], taken: Iterable[str]) -> str:
    """Return a text such as `command shout`, which says if a name is taken and so not used."""
    known = set(taken)
    texts = []
    for name in names:
        texts.append(f"{name} (not used: the name is taken)" if name in known else name)
    return f"{kind} {', '.join(texts)}"
