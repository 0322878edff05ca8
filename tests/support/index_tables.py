"""The index of a folder: filled, compared, and locked by another process."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from chat_loop.library.index import FILE, Index
from chat_loop.library.library import Library
from chat_loop.library.refresh import refresh
from chat_loop.library.shared import Answer
from chat_loop.sessions.records import Seal, Summary
from chat_loop.sessions.rows import newest_first
from tests.support.session_folders import START, session, write

SEALED = Seal(at=START, reason="compact", source="model", summary=Summary(topics=("Monads [1]",)))


def up_to_date(folder: Path) -> Index:
    index = Index(folder)
    refresh(index, *index.stale(newest_first(folder)))
    return index


def fill(folder: Path, count: int = 12) -> None:
    for number in range(count):
        parent = f"s{number - 1:02}" if number % 4 else ""
        write(
            folder,
            session(f"s{number:02}", 1 + number % 3, parent=parent, tags=("work",), seal=SEALED),
            number,
        )


Rows = list[tuple[object, ...]]


def rows_of(library: Library) -> Answer[Rows]:
    """Return the rows of a library, without the values that depend on the file system."""
    (rows, _), warning = library.rows()
    values: Rows = [
        (row.id, row.name, row.state, row.queries, row.folded, row.tags) for row in rows
    ]
    return Answer(values, warning)


def rows_without_index(folder: Path) -> Rows:
    """Return the rows of a copy of a folder in which an index cannot exist."""
    with tempfile.TemporaryDirectory() as name:
        for path in folder.glob("*.md"):
            status = path.lstat()
            (copy := Path(name, path.name)).write_bytes(path.read_bytes())
            os.utime(copy, ns=(status.st_atime_ns, status.st_mtime_ns))
        Path(name, FILE).mkdir()
        with closing(Library(Path(name))) as library:
            return rows_of(library).value


def contents(index: Index) -> dict[str, set[tuple[Any, ...]]]:
    """Check the index; return the rows of every table, with names instead of keys."""
    tables = {
        "sessions": "SELECT id, size, changed, used, state, agent, project, tags, searched, "
        "queries, tokens, link, row FROM sessions",
        "exchanges": "SELECT id, position, number, at, texts, archived FROM exchanges "
        "LEFT JOIN sessions ON sessions.key = session",
        "message_summaries": "SELECT id, last, message_summaries.tokens, "
        "before, after, cost FROM message_summaries LEFT JOIN sessions ON key = session",
    }
    found = {name: set(index.ask(statement)) for name, statement in tables.items()}
    index.ask("CREATE VIRTUAL TABLE temp.vocabulary USING fts5vocab (main, sentences, instance)")
    found["words"] = set(
        index.ask(
            "SELECT term, id, position, offset FROM temp.vocabulary "
            "JOIN exchanges ON exchanges.key = doc JOIN sessions ON sessions.key = session"
        )
    )
    index.ask("DROP TABLE temp.vocabulary")
    index.ask("INSERT INTO sentences (sentences) VALUES ('integrity-check')")
    assert index.ask("PRAGMA integrity_check") == [("ok",)]
    return found


@contextmanager
def held(folder: Path, how: str) -> Iterator[None]:
    """Lock the index in another process until the end of the block."""
    code = (
        "import sqlite3, sys\n"
        "database = sqlite3.connect(sys.argv[1], isolation_level=None)\n"
        "database.execute(f'BEGIN {sys.argv[2]}')\n"
        "print('held', flush=True)\n"
        "sys.stdin.read()\n"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", code, str(folder / FILE), how],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "held\n"
    try:
        yield
    finally:
        process.communicate("")
