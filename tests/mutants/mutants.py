"""The table of known bugs, and the source with one of them put back."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]
TABLE = Path(__file__).with_name("table.toml")


class Mutant(NamedTuple):
    """A known bug: the damage to the user, the text of the source that it changes, and the tests
    that must fail with it.
    """

    name: str
    damage: str
    file: str
    """The file, relative to the package."""
    changes: tuple[tuple[str, str], ...]
    """Each text of the source, which occurs once, and the text in its place."""
    tests: tuple[str, ...]

    def apply(self, root: Path) -> str:
        """Return the changed source. Raises ValueError when a text does not occur exactly once."""
        text = (root / "chat_loop" / self.file).read_text("utf-8")
        for old, new in self.changes:
            if (count := text.count(old)) != 1:
                raise ValueError(f"{self.name}: {self.file} has this {count} times:\n{old}")
            text = text.replace(old, new)
        compile(text, self.file, "exec")
        return text


def load(path: Path = TABLE) -> Iterator[Mutant]:
    """Yield the mutants of a table."""
    for row in tomllib.loads(path.read_text("utf-8"))["mutant"]:
        changes = row.get("changes") or [[row["old"], row["new"]]]
        pairs = tuple((old, new) for old, new in changes)
        yield Mutant(row["name"], row["damage"], row["file"], pairs, tuple(row["tests"]))
