"""docs/providers.md: each cell names a test that exists, and its tables match the code."""

from __future__ import annotations

import ast
from pathlib import Path

from chat_loop.providers.catalogue import CATALOGUE, Entry

ROOT = Path(__file__).parents[2]
COLUMNS = ["provider", "chat", "streaming", "tools", "usage", "caching", "summary", "images"]
NONE = "–"


def tables() -> list[list[list[str]]]:
    """The cells of each table, without its rule."""
    found: list[list[list[str]]] = [[]]
    for line in (ROOT / "docs" / "providers.md").read_text().split("\n"):
        if line.startswith("|---"):
            continue
        if line.startswith("|"):
            found[-1].append([cell.strip().replace("`", "") for cell in line.strip("|").split("|")])
        elif found[-1]:
            found.append([])
    return [table for table in found if table]


def rows_below(heads: list[str]) -> list[list[str]]:
    """Return the rows of the page's table with these headings."""
    [rows] = [rows for first, *rows in tables() if first == heads]
    return rows


def exists(name: str) -> bool:
    """Whether `FILE::TEST` is a test."""
    file, _, test = name.partition("::")
    path = ROOT / "tests" / "providers" / file
    if not path.is_file() or path.parent != ROOT / "tests" / "providers":
        return False
    return any(
        isinstance(node, ast.FunctionDef) and node.name == test
        for node in ast.parse(path.read_text()).body
    )


def test_each_cell_names_a_test_that_exists() -> None:
    rows = rows_below(COLUMNS)
    assert [row[0] for row in rows] == [name for name in CATALOGUE if name != "scripted"]
    assert {len(row) for row in rows} == {len(COLUMNS)}
    wrong = [
        (row[0], cell) for row in rows for cell in row[1:] if cell != NONE and not exists(cell)
    ]
    assert wrong == []
    assert all(NONE not in row[1:3] for row in rows), "who cannot chat is no provider"


def test_the_parametrised_tests_cover_every_provider_that_they_are_named_for() -> None:
    from tests.support.catalogue import ALL

    covered = {service.name for service in ALL}
    named = {
        row[0]
        for row in rows_below(COLUMNS)
        if any(cell.startswith("test_catalogue.py") for cell in row)
    }
    assert named <= covered
    assert covered - named == {"office"}


def test_the_table_of_keys_and_models_is_the_catalogue_s() -> None:
    def row(entry: Entry) -> list[str]:
        return [
            entry.name,
            ", ".join(entry.keys) or NONE,
            entry.model or NONE,
            entry.base_url or NONE,
        ]

    rows = rows_below(["provider", "key", "usual model", "address"])
    assert rows == [row(entry) for entry in CATALOGUE.values()]
