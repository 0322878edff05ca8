"""`chat-loop models …`: embedded models."""

from __future__ import annotations

import argparse

from chat_loop.config import Config, Paths
from chat_loop.consent import CHOICES, fetch
from chat_loop.display.plain import out, out_line
from chat_loop.providers.choose import local_window
from chat_loop.providers.models import store
from chat_loop.providers.models.store import CATALOGUE
from chat_loop.values import size_text, window_text


def run(options: argparse.Namespace, config: Config, paths: Paths) -> int:
    """Run list, install or remove. Raises ModelError."""
    directory = paths.models
    if options.action == "list":
        for model in CATALOGUE:
            given = min(local_window(model.name, config).tokens, model.window)
            window = f"{window_text(given, False)} of {window_text(model.window, False)} tokens"
            figures = f"{size_text(model.size):>8}  {window:<16}  {model.license:<11}"
            state = ""
            if store.is_installed(directory, model):
                state = "installed"
            if model.recommended:
                state += " (recommended)"
            out(f"{model.name:<20} {figures} {state}\n")
        out_line(f"\nThey are in {directory}; any other .gguf file works as --model local:PATH.")
    elif options.action == "install":
        fetch(store.find(options.name) if options.name else CHOICES[0], directory)
    else:
        freed = size_text(store.remove(directory, options.name))
        out_line(f"Removed {options.name}: {freed} freed.")
    return 0
