"""How old the results are: whether the code that each measures has changed since.

`python -m benchmarks --report` writes it into `ages.json` beside the results, for the pages; a test
compares the pages with that file. `python -m benchmarks --stale` prints what holds now.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from benchmarks.registry import parts_of
from benchmarks.support import code

FILE = "ages.json"
DIRTY = "-dirty"


class Age(Struct, frozen=True):
    """The commit and the date of a result, the parts of the package that it measures and that have
    changed since (None if that is not known), and in how many commits (None: not in the history).
    """

    commit: str
    date: str
    changed: list[str] | None
    commits: int | None

    def __str__(self) -> str:
        if self.changed is None:
            since = "what has changed since is not known"
        elif not self.changed:
            since = "the code it measures is unchanged"
        elif self.commits is None:
            since = "the code it measures has changed since"
        else:
            since = f"code changed since: {self.commits} commit{'s' * (self.commits != 1)}"
        if not self.commit:
            return f"{since}; its commit was not recorded"
        if self.commit.endswith(DIRTY):
            return f"{since}; measured with changes that were never committed"
        if self.commits is None:
            return f"{since}; its commit is not in the history"
        return since


class Recorded(Struct, frozen=True):
    """What a result says about its version."""

    commit: str = ""
    date: str = ""
    code: dict[str, str] = {}


def now(folder: Path) -> dict[str, Age]:
    """Return the age of each result in a folder, by name. Raises OSError, and ValueError for a file
    that is not JSON.
    """
    there = code.parts_now()
    paths = (path for path in sorted(folder.glob("*.json")) if path.name != FILE)
    return {path.stem: age(recorded(path), parts_of(path.stem), there) for path in paths}


def recorded(path: Path) -> Recorded:
    """Return the version in a result. Raises OSError, and ValueError if it is not JSON."""
    found: dict[str, Any] = msgspec.json.decode(path.read_bytes())
    origin = found.get("origin") or found.get("settings") or found
    return msgspec.convert(origin, Recorded)


def age(of: Recorded, parts: tuple[str, ...], there: dict[str, str]) -> Age:
    """Return the age of a result that measures `parts`; `there` are the hashes of today."""
    commit, is_dirty = of.commit.removesuffix(DIRTY), of.commit.endswith(DIRTY)
    before = of.code
    if not before and not is_dirty:
        before = code.parts_at(commit)
    changed = code.changed(before, there, parts) if before else None
    return Age(of.commit, of.date[:10], changed, code.commits_since(commit, parts))


def write(folder: Path) -> None:
    """Write the ages of the results in a folder. Raises OSError and ValueError."""
    content = msgspec.json.format(msgspec.json.encode(now(folder)), indent=1)
    (folder / FILE).write_bytes(content + b"\n")


def read(folder: Path) -> dict[str, Age]:
    """Return the ages that were written last. Raises OSError and msgspec's errors."""
    return msgspec.json.decode((folder / FILE).read_bytes(), type=dict[str, Age])
