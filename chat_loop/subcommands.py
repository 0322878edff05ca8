"""`chat-loop sessions …` and `chat-loop models …`, and the question that `--local` asks once."""

from __future__ import annotations

import dataclasses
import sys
from pathlib import Path

from chat_loop.display.plain import Meter, out, out_json
from chat_loop.display.text import one_line
from chat_loop.errors import ModelError, UsageError
from chat_loop.models import store
from chat_loop.models.catalogue import CATALOGUE, EmbeddedModel
from chat_loop.models.install import install
from chat_loop.sessions.files import read_part
from chat_loop.sessions.manager import SessionManager
from chat_loop.sessions.row import SessionRow
from chat_loop.wording import counts_text, size_text

_INSTALL = "chat-loop models install"


def list_sessions(sessions: SessionManager, *, as_json: bool) -> int:
    """Print every session, newest first."""
    rows = sessions.rows()
    if as_json:
        out_json([_row(number, row) for number, row in enumerate(rows, 1)])
        return 0
    for number, row in enumerate(rows, 1):
        numbers = "" if row.queries is None else counts_text(row.queries, row.tokens or 0)
        parts = (f"{number:>3}", f"{row.updated:%Y-%m-%d %H:%M}", row.id, row.state, numbers, one_line(row.name, 60))
        out("  ".join(part for part in parts if part) + "\n")
    return 0


def _row(number: int, row: SessionRow) -> dict[str, object]:
    return {
        "number": number,
        "id": row.id,
        "name": row.name,
        "agent": row.agent,
        "created": row.created,
        "updated": row.updated,
        "queries": row.queries,
        "tokens": row.tokens,
        "parent": row.parent or None,
        "depth": row.depth,
        "compacted": row.compacted,
        "state": row.state,
        "path": str(row.path),
    }


def show_session(sessions: SessionManager, reference: str, *, as_json: bool) -> int:
    """Print one session's transcript, or its value as JSON."""
    shown = [row.id for row in sessions.rows()] if reference.isdigit() else []
    if reference == "current" and sessions.current():
        reference = sessions.current()
    path = sessions.find(reference, shown)
    loaded = sessions.load(path)
    if not as_json:
        text = read_part(path)[0].decode("utf-8", "replace")
        out(text)
        return 0
    session = loaded.session
    out_json(
        {
            **dataclasses.asdict(session.header),
            "path": str(path),
            "damage": loaded.damage,
            "totals": dataclasses.asdict(session.totals),
            "entries": [
                {"kind": type(entry).__name__.lower(), **dataclasses.asdict(entry)} for entry in session.entries
            ],
            "seal": None if session.seal is None else dataclasses.asdict(session.seal),
        }
    )
    return 0


def models(action: str, name: str, directory: Path) -> int:
    """Do one of list, install, remove. Raises ModelError and UsageError."""
    match action:
        case "list":
            for model in CATALOGUE:
                _line(_described(model, directory))
            _line(f"\nThey live in {directory}; any other .gguf file works as --model local:PATH.")
        case "install":
            _fetch(store.find(name) if name else recommended(), directory)
        case _:
            if not name:
                raise UsageError("Which model? models remove takes its name.", "chat-loop models list shows them.")
            _line(f"Removed {name}: {size_text(store.remove(directory, name))} freed.")
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
    _fetch(chosen, directory)
    return chosen.name


def _fetch(model: EmbeddedModel, directory: Path) -> None:
    _line(f"{model.title}, {size_text(model.size)}. {model.notice}")
    meter = Meter()
    try:
        path = install(model, directory, progress=lambda now: meter.show(now.done, now.total, now.source))
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
