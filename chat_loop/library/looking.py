"""How the index stands (act), looked at without changing it: nothing is made, repaired or set
aside.
"""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct

from chat_loop.library.file import FILE
from chat_loop.library.schema import APPLICATION, VERSION
from chat_loop.sessions.partial import Stamp


class Condition(Struct, frozen=True, kw_only=True):
    """`size` in bytes, 0: there is none. `trouble` is a sentence. `behind`: files that it does not
    know as they are.

    `aside`: damaged and newer ones that were kept, with their sizes.
    """

    size: int = 0
    version: int = 0
    behind: int = 0
    trouble: str = ""
    aside: tuple[tuple[str, int], ...] = ()


def condition(directory: Path, there: Sequence[Stamp]) -> Condition:
    """Look at the index of a sessions folder that has the files `there`."""
    aside = _aside(directory)
    path = directory / FILE
    try:
        size = path.lstat().st_size
    except FileNotFoundError:
        return Condition(aside=aside)
    except OSError as error:
        return Condition(
            trouble=f"{path} cannot be looked at: {(error.strerror or str(error)).lower()}.",
            aside=aside,
        )
    if path.is_symlink() or not path.is_file():
        return Condition(
            size=size, trouble=f"{path} is not a regular file: it is not used.", aside=aside
        )
    try:
        with contextlib.closing(
            sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True, timeout=0.5)
        ) as database:
            version, known = _read(database)
    except (sqlite3.Error, UnicodeDecodeError) as error:
        return Condition(size=size, trouble=f"{path} cannot be read: {error}.", aside=aside)
    if isinstance(known, str):
        return Condition(size=size, version=version, trouble=f"{path} {known}.", aside=aside)
    behind = sum(known.get(stamp.id) != (stamp.changed, stamp.size) for stamp in there)
    return Condition(size=size, version=version, behind=behind, aside=aside)


def _read(database: sqlite3.Connection) -> tuple[int, dict[str, tuple[int, int]] | str]:
    """Its version and what it knows of every session, or what is wrong with it."""
    application, version = (
        database.execute(f"PRAGMA {name}").fetchone()[0]
        for name in ("application_id", "user_version")
    )
    if application != APPLICATION:
        return version, "is no index of sessions"
    if version != VERSION:
        return (
            version,
            f"was made by {'a newer' if version > VERSION else 'an older'} version of the program",
        )
    fault = database.execute("PRAGMA quick_check(1)").fetchone()[0]
    if fault != "ok":
        return version, "is damaged"
    rows = database.execute("SELECT id, changed, size FROM sessions").fetchall()
    return version, {identity: (changed, size) for identity, changed, size in rows}


def _aside(directory: Path) -> tuple[tuple[str, int], ...]:
    found = []
    with contextlib.suppress(OSError):
        for path in sorted(directory.glob(".index-*.sqlite")):
            found.append((path.name, path.lstat().st_size))
    return tuple(found)
