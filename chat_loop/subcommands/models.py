"""`chat-loop models …`, and the question that `--local` asks once."""

from __future__ import annotations

import sys
from importlib.util import find_spec
from pathlib import Path

from chat_loop.display.plain import Meter, err, out
from chat_loop.errors import ModelError, UsageError
from chat_loop.models import store
from chat_loop.models.catalogue import CATALOGUE, EmbeddedModel
from chat_loop.models.install import install
from chat_loop.wording import install_hint, size_text

RUNTIME = "xllamacpp"
_INSTALL = "chat-loop models install"


def models(action: str, name: str, directory: Path) -> int:
    """Do one of list, install, remove. Raises ModelError and UsageError."""
    match action:
        case "list":
            for model in CATALOGUE:
                _line(_described(model, directory))
            _line(f"\nThey live in {directory}; any other .gguf file works as --model local:PATH.")
        case "install":
            fetch(store.find(name) if name else recommended(), directory)
        case _:
            if not name:
                raise UsageError(
                    "Which model? models remove takes its name.",
                    "chat-loop models list shows them.",
                )
            _line(f"Removed {name}: {size_text(store.remove(directory, name))} freed.")
    return 0


def recommended() -> EmbeddedModel:
    return next(model for model in CATALOGUE if model.recommended)


def any_installed(directory: Path) -> bool:
    return bool(store.installed(directory))


def ensure_installed(directory: Path) -> str:
    """The name of the embedded model to use; with none installed the user is asked once which to
    fetch.

    Raises ModelError without a terminal to ask on, or when the user declines.
    """
    installed = store.installed(directory)
    if installed:
        return max(installed, key=lambda model: (model.recommended, model.size)).name
    if not sys.stdin.isatty():
        raise ModelError(
            "No embedded model is installed.", f"Fetch one: {_INSTALL} {recommended().name}"
        )
    _line("No embedded model is installed yet. Which one shall be fetched?")
    choices = sorted(CATALOGUE, key=lambda model: not model.recommended)
    for number, model in enumerate(choices, 1):
        _line(f"  {number}  {model.title}, {size_text(model.size)}, {model.licence}{_mark(model)}")
    out("Number [1], or n for none: ")
    answer = sys.stdin.readline().strip().lower()
    if answer in ("", "y", "yes"):
        answer = "1"
    if not (answer.isascii() and answer.isdigit() and 1 <= int(answer) <= len(choices)):
        raise ModelError("No embedded model was chosen.", f"Later: {_INSTALL}")
    chosen = choices[int(answer) - 1]
    fetch(chosen, directory)
    return chosen.name


def fetch(model: EmbeddedModel, directory: Path) -> None:
    """Install a model and say so; a terminal sees how far it is. Raises ModelError."""
    _line(f"{model.title}, {size_text(model.size)}. {model.notice}")
    if find_spec(RUNTIME) is None:
        err(f"The package {RUNTIME}, which runs it, is missing: {install_hint('local')}")
    meter = Meter()
    try:
        path = install(
            model, directory, progress=lambda now: meter.show(now.done, now.total, now.source)
        )
    finally:
        meter.end()
    _line(f"Installed in {path}. Use it with --local, or --model local:{model.name}.")


def _described(model: EmbeddedModel, directory: Path) -> str:
    state = "installed" if store.is_installed(directory, model) else ""
    figures = f"{size_text(model.size):>8}  {model.window:>6} tokens  {model.licence:<11}"
    return f"{model.name:<20} {figures} {state}{_mark(model)}"


def _mark(model: EmbeddedModel) -> str:
    return " (recommended)" if model.recommended else ""


def _line(text: str) -> None:
    out(f"{text}\n")
