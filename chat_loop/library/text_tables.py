"""The tables of full text, in the index of a folder and, in memory, in the archive of a chain.

`fulltext` has the questions to them. What only lists sessions loads nothing of that.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import sqlite3

TABLES = """
CREATE VIRTUAL TABLE said USING fts5 (words, tokenize='porter ascii');
CREATE TABLE lexicon (key INTEGER PRIMARY KEY, word TEXT NOT NULL UNIQUE, held INTEGER NOT NULL);
CREATE INDEX lexicon_gone ON lexicon (key) WHERE held < 1;
CREATE VIRTUAL TABLE parts USING fts5 (word, columnsize=0, tokenize='trigram');
CREATE VIRTUAL TABLE stems USING fts5 (word, columnsize=0, tokenize='porter ascii');
"""
"""`said` holds an exchange's `terms.lines` under its key; `lexicon` every distinct word and how
many exchanges hold it, `parts` and `stems` the same by their trigrams and by their English stems.
"""
PLACE = "CAST(e.session AS INTEGER), CAST(e.position AS INTEGER)"
"""They have no checksums: whatever the index holds, these are numbers."""
_LONGEST_WORD = 200
"""Characters of a word that is remembered by itself; longer ones are found whole only."""


def insert(database: sqlite3.Connection, rows: Sequence[tuple[int, str]]) -> Counter[str]:
    """Take exchanges, as key and lines; return how many of them hold each word.

    What is returned goes to `count_words`, before the transaction ends.
    """
    database.executemany("INSERT INTO said (rowid, words) VALUES (?, ?)", rows)
    held: Counter[str] = Counter()
    for _, lines in rows:
        held.update(_distinct(lines))
    return held


def delete(database: sqlite3.Connection, keys: str, values: Sequence[object]) -> Counter[str]:
    """Forget exchanges; return how many of them held each word. `keys` is a SELECT."""
    held: Counter[str] = Counter()
    found = database.execute(f"SELECT words FROM said WHERE rowid IN ({keys})", values)
    for (lines,) in found:
        held.update(_distinct(str(lines)))
    database.execute(f"DELETE FROM said WHERE rowid IN ({keys})", values)
    return held


def count_words(database: sqlite3.Connection, held: Mapping[str, int]) -> None:
    """Note how many exchanges more, or fewer, hold each word; forget those that none holds."""
    changed = [(word, count) for word, count in sorted(held.items()) if count]
    if not changed:
        return
    [last] = database.execute("SELECT coalesce(max(key), 0) FROM lexicon").fetchall()
    database.executemany(
        "INSERT INTO lexicon (word, held) VALUES (?1, ?2) "
        "ON CONFLICT (word) DO UPDATE SET held = held + ?2",
        changed,
    )
    for table in ("parts", "stems"):
        database.execute(
            f"INSERT INTO {table} (rowid, word) SELECT key, word FROM lexicon WHERE key > ?", last
        )
        database.execute(
            f"DELETE FROM {table} WHERE rowid IN (SELECT key FROM lexicon WHERE held < 1)"
        )
    database.execute("DELETE FROM lexicon WHERE held < 1")


def _distinct(lines: str) -> set[str]:
    return {word for word in lines.split() if len(word) <= _LONGEST_WORD}
