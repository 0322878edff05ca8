"""Full-text search over archived exchanges, in a database in memory.

The index knows every sentence by its words: `Tables` says which sentences hold a phrase, and which
words there are. What a query means, and which exchange answers it best, is decided in `terms.py`
and `ranking.py`.
"""

from __future__ import annotations

import threading
from array import array
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Protocol

from chat_loop.errors import SessionError
from chat_loop.search.forms import related_forms
from chat_loop.search.ranking import Hit, Posting, Said, ranked, texts
from chat_loop.search.sentences import TELLS, kind_of, spans
from chat_loop.search.terms import (
    Term,
    forms,
    ids,
    phrase,
    terms,
    without_common,
    without_parts,
    words,
)
from chat_loop.sessions.records import Exchange

if TYPE_CHECKING:
    import sqlite3

_BATCH = 200
"""Exchanges that are added under one lock: a query waits for no more than these."""
_LONGEST_WORD = 200
_CANDIDATES = 400


class Tables(Protocol):
    """Numbered sentences and the words in them. All words are folded."""

    def add(self, rows: Sequence[tuple[int, str]], new_words: Iterable[str]) -> None:
        """Take sentences as words between blanks, and the words that were not there before."""

    def rows(self, phrase: Sequence[str]) -> list[int]:
        """The sentences that hold these words, or other forms of them, one after the other."""

    def containing(self, part: str) -> list[str]:
        """Words that contain `part`, of at least 3 characters; not all when there are very many."""

    def close(self) -> None: ...


class FullText:
    """sqlite's FTS5: sentences by their words' English stems, words by their trigrams."""

    def __init__(self) -> None:
        import sqlite3

        self._database: sqlite3.Connection = sqlite3.connect(":memory:", check_same_thread=False)
        try:
            for statement in (
                (
                    "CREATE VIRTUAL TABLE said USING fts5(words, content='', columnsize=0, "
                    "tokenize='porter ascii')"
                ),
                "CREATE VIRTUAL TABLE parts USING fts5(word, columnsize=0, tokenize='trigram')",
            ):
                self._database.execute(statement)
        except sqlite3.Error as error:
            self._database.close()
            raise NoFullText(str(error)) from error

    def add(self, rows: Sequence[tuple[int, str]], new_words: Iterable[str]) -> None:
        from sqlite3 import Error

        try:
            self._database.executemany("INSERT INTO said (rowid, words) VALUES (?, ?)", rows)
            self._database.executemany(
                "INSERT INTO parts (word) VALUES (?)", ((word,) for word in new_words)
            )
            self._database.commit()
        except Error as error:
            raise SessionError(f"The archive cannot be indexed: {error}.") from error

    def rows(self, phrase: Sequence[str]) -> list[int]:
        found = self._database.execute(
            "SELECT rowid FROM said WHERE said MATCH ?", (_quoted(" ".join(phrase)),)
        )
        return [row for (row,) in found]

    def containing(self, part: str) -> list[str]:
        found = self._database.execute(
            "SELECT word FROM parts WHERE parts MATCH ? LIMIT ?", (_quoted(part), _CANDIDATES)
        )
        return [word for (word,) in found]

    def close(self) -> None:
        self._database.close()


class NoFullText(Exception):
    """This build of sqlite has no FTS5, or not its trigrams."""


class WordLists:
    """What serves where sqlite has no full-text search: every word's sentences; no stems."""

    def __init__(self) -> None:
        self._words: list[str] = []
        self._texts: dict[int, str] = {}
        self._rows: dict[str, array[int]] = {}

    def add(self, rows: Sequence[tuple[int, str]], new_words: Iterable[str]) -> None:
        self._words += new_words
        for row, text in rows:
            self._texts[row] = f" {text} "
            for word in dict.fromkeys(text.split(" ")):
                self._rows.setdefault(word, array("q")).append(row)

    def rows(self, phrase: Sequence[str]) -> list[int]:
        first = self._rows.get(phrase[0], ())
        if len(phrase) == 1:
            return list(first)
        whole = f" {' '.join(phrase)} "
        return [row for row in first if whole in self._texts[row]]

    def containing(self, part: str) -> list[str]:
        return list(islice((word for word in self._words if part in word), _CANDIDATES))

    def close(self) -> None:
        self._words.clear()
        self._texts.clear()
        self._rows.clear()


def best_tables() -> Tables:
    """The full-text tables where this build of sqlite has them."""
    try:
        return FullText()
    except NoFullText:
        return WordLists()


def _quoted(text: str) -> str:
    """FTS5 syntax for `text` as it stands."""
    return f'"{text.replace(chr(34), " ")}"'


class Search:
    """An index of exchanges, which are added in the order in which they were said. Every method is
    safe in any thread.

    `common` are folded words that are not searched for unless a query has no others. Raises
    SessionError when there is no memory for the index.
    """

    def __init__(self, common: Collection[str] = (), tables: Tables | None = None) -> None:
        self._common = common
        self._tables = best_tables() if tables is None else tables
        self._lock = threading.Lock()
        self._said = Said()
        self._words: set[str] = set()
        self._participles: dict[str, list[str]] = {}
        """The German participles of a verb: they do not begin as its other forms do."""

    def __len__(self) -> int:
        """How many exchanges it holds."""
        return len(self._said.exchanges)

    def add(self, exchanges: Iterable[Exchange]) -> None:
        """Add what is not there yet; an exchange is known by its reference."""
        rest = iter(exchanges)
        while batch := list(islice(rest, _BATCH)):
            with self._lock:
                self._add(batch)

    def search(
        self,
        text: str,
        limit: int = 5,
        without: Collection[str] = (),
        among: Mapping[Term, tuple[int, int]] | None = None,
        revised: bool = True,
    ) -> list[Hit]:
        """The exchanges that fit `text` best, the best first, newer before older ones that fit as
        well.

        Those whose references are in `without` are left out. `among`: how many exchanges hold a
        term, and of how many, where only the most likely ones were added. Without `revised` no hit
        tells of a newer one.
        """
        everything = terms(text)
        telling = without_common(everything, self._common)
        with self._lock:
            asked = telling or everything
            there = {term.text for term in asked if term.exact and self._tables.rows(term.words)}
            found = [
                self._posting(term, (among or {}).get(term)) for term in without_parts(asked, there)
            ]
            return ranked(
                self._said, found, max(0, limit), without, weak=not telling, revised=revised
            )

    def close(self) -> None:
        """Give the memory back; nothing is found afterwards."""
        with self._lock:
            self._tables.close()
            self._tables = WordLists()
            self._said = Said()
            self._words = set()
            self._participles = {}

    def _add(self, exchanges: Sequence[Exchange]) -> None:
        rows: list[tuple[int, str]] = []
        fresh: set[str] = set()
        for exchange in exchanges:
            if exchange.ref in self._said.numbers:
                continue
            first = len(self._said.owners)
            kept: list[tuple[int, int, int, int]] = []
            for part, (_, text) in enumerate(texts(exchange)):
                for start, end in spans(text):
                    sentence = text[start:end]
                    if found := words(sentence):
                        rows.append((first + len(kept), " ".join(found)))
                        fresh.update(found)
                        if (kind := kind_of(sentence)) & TELLS:
                            fresh.update(ids(sentence))
                        kept.append((part, start, end, kind))
            self._said.add(exchange, kept)
        fresh -= self._words
        self._words |= fresh
        for word in fresh:
            for verb in forms(word)[1:]:
                self._participles.setdefault(verb, []).append(word)
        verbs = self._participles.keys() - self._words
        self._words |= verbs
        self._tables.add(rows, sorted(word for word in fresh | verbs if len(word) <= _LONGEST_WORD))

    def _posting(self, term: Term, of: tuple[int, int] | None) -> Posting:
        same = self._tables.rows(term.words)
        others = related_forms(
            term, self._tables.containing, self._words.intersection, self._participles, bool(same)
        )
        return Posting(
            term, same, [(surely, self._tables.rows(phrase(form))) for form, surely in others], of
        )
