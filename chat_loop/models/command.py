"""`chat-loop models …` and the question that `--local` asks once."""

from __future__ import annotations

import sys
import time
from pathlib import Path

from chat_loop.errors import ModelError, UsageError
from chat_loop.models import store
from chat_loop.models.catalogue import CATALOGUE, EmbeddedModel
from chat_loop.models.install import Progress, install

_INSTALL = "chat-loop models install"


def run(action: str, name: str, directory: Path) -> int:
    """Do one of list, install, remove. Raises ModelError and UsageError."""
    match action:
        case "list":
            for model in CATALOGUE:
                _write(_described(model, directory))
            _write(f"\nThey live in {directory}; any other .gguf file works as --model local:PATH.")
        case "install":
            _fetch(store.find(name) if name else recommended(), directory)
        case _:
            if not name:
                raise UsageError("Which model? models remove takes its name.", "chat-loop models list shows them.")
            _write(f"Removed {name}: {_size(store.remove(directory, name))} freed.")
    return 0


def recommended() -> EmbeddedModel:
    return next(model for model in CATALOGUE if model.recommended)


def any_installed(directory: Path) -> bool:
    return bool(store.installed(directory))


def ensure_installed(directory: Path) -> str:
    """The name of the embedded model to use; with none installed the user is asked once which to fetch.

    Raises ModelError without a terminal to ask on, or when the user declines.
    """
    installed = store.installed(directory)
    if installed:
        return max(installed, key=lambda model: (model.recommended, model.size)).name
    if not sys.stdin.isatty():
        raise ModelError("No embedded model is installed.", f"Fetch one: {_INSTALL} {recommended().name}")
    _write("No embedded model is installed yet. Which one shall be fetched?")
    choices = sorted(CATALOGUE, key=lambda model: not model.recommended)
    for number, model in enumerate(choices, 1):
        _write(f"  {number}  {model.title}, {_size(model.size)}, {model.licence}{_mark(model)}")
    sys.stdout.write("Number [1], or n for none: ")
    sys.stdout.flush()
    answer = sys.stdin.readline().strip().lower()
    if answer in ("", "y", "yes"):
        answer = "1"
    if not (answer.isascii() and answer.isdigit() and 1 <= int(answer) <= len(choices)):
        raise ModelError("No embedded model was chosen.", f"Later: {_INSTALL}")
    chosen = choices[int(answer) - 1]
    _fetch(chosen, directory)
    return chosen.name


def _fetch(model: EmbeddedModel, directory: Path) -> None:
    _write(f"{model.title}, {_size(model.size)}. {model.notice}")
    meter = _Meter()
    try:
        path = install(model, directory, progress=meter.show)
    finally:
        meter.end()
    _write(f"Installed in {path}. Use it with --local, or --model local:{model.name}.")


class _Meter:
    """One line of progress, redrawn on a terminal, a line per tenth otherwise."""

    def __init__(self) -> None:
        self._terminal = sys.stderr.isatty()
        self._began = time.monotonic()
        self._first: int | None = None
        self._drawn = 0.0
        self._tenth = -1

    def show(self, progress: Progress) -> None:
        now = time.monotonic()
        self._first = progress.done if self._first is None else self._first
        share = progress.done / progress.total
        speed = (progress.done - self._first) / max(now - self._began, 0.001)
        text = (
            f"{share:4.0%}  {_size(progress.done)} of {_size(progress.total)}  {_size(int(speed))}/s  {progress.source}"
        )
        if self._terminal and (now - self._drawn >= 0.1 or progress.done == progress.total):
            sys.stderr.write(f"\r\x1b[K{text}")
            self._drawn = now
        elif not self._terminal and int(share * 10) > self._tenth:
            self._tenth = int(share * 10)
            sys.stderr.write(f"{text}\n")
        sys.stderr.flush()

    def end(self) -> None:
        if self._terminal and self._drawn:
            sys.stderr.write("\n")


def _described(model: EmbeddedModel, directory: Path) -> str:
    state = "installed" if store.is_installed(directory, model) else ""
    return (
        f"{model.name:<20} {_size(model.size):>8}  {model.window:>6} tokens  {model.licence:<11} {state}{_mark(model)}"
    )


def _mark(model: EmbeddedModel) -> str:
    return " (recommended)" if model.recommended else ""


def _size(number: int) -> str:
    return f"{number / 1e9:.2f} GB" if number >= 1e9 else f"{number / 1e6:.0f} MB"


def _write(text: str) -> None:
    sys.stdout.write(f"{text}\n")
