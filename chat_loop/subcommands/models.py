"""`chat-loop models …`, and the question that `--local` asks once."""

from __future__ import annotations

import argparse
import sys
from importlib.util import find_spec
from pathlib import Path

from chat_loop.config import Config, Paths
from chat_loop.display.plain import Meter, err, out, out_line
from chat_loop.errors import ModelError, install_hint
from chat_loop.providers.choose import local_window
from chat_loop.providers.models import store
from chat_loop.providers.models.install import install
from chat_loop.providers.models.store import CATALOGUE, EmbeddedModel
from chat_loop.values import size_text, window_text

CHOICES = sorted(CATALOGUE, key=lambda model: not model.recommended)
"""The embedded models, the recommended one first."""


def run(options: argparse.Namespace, config: Config, paths: Paths) -> int:
    """Run list, install or remove. Raises ModelError."""
    directory = paths.models
    if options.action == "list":
        for model in CATALOGUE:
            given = min(local_window(model.name, config).tokens, model.window)
            window = f"{window_text(given, False)} of {window_text(model.window, False)} tokens"
            figures = f"{size_text(model.size):>8}  {window:<16}  {model.license:<11}"
            state = "installed" if store.is_installed(directory, model) else ""
            state += " (recommended)" if model.recommended else ""
            out(f"{model.name:<20} {figures} {state}\n")
        out_line(f"\nThey are in {directory}; any other .gguf file works as --model local:PATH.")
    elif options.action == "install":
        fetch(store.find(options.name) if options.name else CHOICES[0], directory)
    else:
        freed = size_text(store.remove(directory, options.name))
        out_line(f"Removed {options.name}: {freed} freed.")
    return 0


def ensure_installed(directory: Path) -> str:
    """Return the name of the embedded model to use. If there is none, ask which to download.

    Raises ModelError without a terminal to ask on, or when the user declines.
    """
    if installed := store.best_installed(directory):
        return installed
    if not sys.stdin.isatty():
        hint = f"To download one: chat-loop models install {CHOICES[0].name}"
        raise ModelError("No embedded model is installed.", hint)
    lines = ["No embedded model is installed yet. Which one do you want to download?"]
    offered = {str(number): model for number, model in enumerate(CHOICES, 1)}
    for number, model in offered.items():
        mark = " (recommended)" if model.recommended else ""
        lines.append(f"  {number}  {model.title}, {size_text(model.size)}, {model.license}{mark}")
    for line in lines:
        out_line(line, 5)
    out("Number [1], or n for none: ")
    answer = sys.stdin.readline().strip().lower()
    chosen = offered.get("1" if answer in ("", "y", "yes") else answer)
    if chosen is None:
        raise ModelError("No embedded model was chosen.", "Later: chat-loop models install")
    fetch(chosen, directory)
    return chosen.name


def fetch(model: EmbeddedModel, directory: Path) -> None:
    """Install a model, with progress on a terminal. Raises ModelError."""
    out_line(f"{model.title}, {size_text(model.size)}. {model.notice}")
    if find_spec("xllamacpp") is None:
        err(f"The package xllamacpp, which runs it, is missing: {install_hint('local')}")
    meter = Meter()
    try:
        path = install(model, directory, meter.show)
    finally:
        meter.end()
    out_line(f"Installed in {path}. Use it with --local, or --model local:{model.name}.")
