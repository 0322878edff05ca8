"""`chat-loop models …`, and the question that `--local` asks once."""

from __future__ import annotations

import argparse
import sys
from importlib.util import find_spec
from pathlib import Path

from chat_loop.config import Config, Paths
from chat_loop.display.plain import Meter, err, out
from chat_loop.errors import ModelError, UsageError
from chat_loop.models import store
from chat_loop.models.install import install
from chat_loop.models.store import CATALOGUE, EmbeddedModel
from chat_loop.wording import install_hint, size_text

RUNTIME = "xllamacpp"


def run(options: argparse.Namespace, config: Config, paths: Paths) -> int:
    """Run list, install or remove. Raises ModelError and UsageError."""
    action, name, directory = options.action, getattr(options, "name", ""), paths.models
    if action == "list":
        for model in CATALOGUE:
            figures = f"{size_text(model.size):>8}  {model.window:>6} tokens  {model.licence:<11}"
            state = "installed" if store.is_installed(directory, model) else ""
            state += " (recommended)" if model.recommended else ""
            out(f"{model.name:<20} {figures} {state}\n")
        out(f"\nThey live in {directory}; any other .gguf file works as --model local:PATH.\n")
    elif action == "install":
        fetch(store.find(name) if name else _choices()[0], directory)
    elif name:
        out(f"Removed {name}: {size_text(store.remove(directory, name))} freed.\n")
    else:
        raise UsageError("Which model? models remove takes its name.", "See chat-loop models list.")
    return 0


def _choices() -> list[EmbeddedModel]:
    """Return the embedded models, the recommended one first."""
    return sorted(CATALOGUE, key=lambda model: not model.recommended)


def ensure_installed(directory: Path) -> str:
    """Return the name of the embedded model to use; without one ask once which to download.

    Raises ModelError without a terminal to ask on, or when the user declines.
    """
    if installed := store.best_installed(directory):
        return installed
    again, choices = "chat-loop models install", _choices()
    if not sys.stdin.isatty():
        hint = f"Fetch one: {again} {choices[0].name}"
        raise ModelError("No embedded model is installed.", hint)
    out("No embedded model is installed yet. Which one do you want to download?\n")
    for number, model in enumerate(choices, 1):
        mark = " (recommended)" if model.recommended else ""
        out(f"  {number}  {model.title}, {size_text(model.size)}, {model.licence}{mark}\n")
    out("Number [1], or n for none: ")
    answer = sys.stdin.readline().strip().lower()
    offered = {str(number): model for number, model in enumerate(choices, 1)}
    chosen = offered.get("1" if answer in ("", "y", "yes") else answer)
    if chosen is None:
        raise ModelError("No embedded model was chosen.", f"Later: {again}")
    fetch(chosen, directory)
    return chosen.name


def fetch(model: EmbeddedModel, directory: Path) -> None:
    """Install a model and say so; a terminal sees how far it is. Raises ModelError."""
    out(f"{model.title}, {size_text(model.size)}. {model.notice}\n")
    if find_spec(RUNTIME) is None:
        err(f"The package {RUNTIME}, which runs it, is missing: {install_hint('local')}")
    meter = Meter()
    try:
        path = install(model, directory, meter.show)
    finally:
        meter.end()
    out(f"Installed in {path}. Use it with --local, or --model local:{model.name}.\n")
