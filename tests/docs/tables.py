"""The tables of the documentation that are made from the code."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from operator import attrgetter
from pathlib import Path

from chat_loop import (
    loop,  # noqa: F401 - importing it registers the commands
)
from chat_loop.commands import view
from chat_loop.commands.registry import registry
from chat_loop.providers.catalogue import CATALOGUE

DOCS = Path(__file__).parents[2] / "docs"
Row = Sequence[str]


def _code(*words: str) -> str:
    return ", ".join(f"`{word}`" for word in words) or "–"


def _commands() -> Iterator[Row]:
    commands = sorted(registry.commands, key=attrgetter("name"))
    for family in view.FAMILIES:
        members = [command for command in commands if command.family == family]
        if members:
            yield f"**{family}**", ""
        for command in members:
            names = _code(command.usage, *(f"/{alias}" for alias in command.aliases))
            yield names.replace("|", "\\|"), command.help


def _keys() -> Iterator[Row]:
    for keys, action in view.KEYS.items():
        yield _code(*keys.split(", ")), action


def _providers() -> Iterator[Row]:
    for entry in CATALOGUE.values():
        model = _code(entry.model) if entry.model else "–"
        yield _code(entry.name), _code(*entry.keys), model, entry.base_url or "–"


TABLES: Mapping[tuple[str, Row], Callable[[], Iterator[Row]]] = {
    ("commands.md", ("command", "what it does")): _commands,
    ("commands.md", ("key", "what it does")): _keys,
    ("providers.md", ("provider", "key", "usual model", "address")): _providers,
}
"""The rows of each table, by its page and its headings."""


def _line(cells: Row) -> str:
    return f"| {' | '.join(cells)} |\n"


def page_with_tables(name: str) -> str:
    """Return the text of a page with its tables made from the code."""
    text = (DOCS / name).read_text("utf-8")
    for (page, heads), rows in TABLES.items():
        if page == name:
            head = re.escape(f"{_line(heads)}|{'---|' * len(heads)}\n")
            [place] = re.finditer(f"{head}((?:\\|.*\n)*)", text)
            text = text[: place.start(1)] + "".join(map(_line, rows())) + text[place.end(1) :]
    return text
