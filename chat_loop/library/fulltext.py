"""Full-text search over exchanges, in SQLite's FTS5: the questions to its tables.

The tables (`text_tables`) stand in the index of a folder and, in memory, in the archive of a chain.
Both have a table `exchanges` with the `key` of each exchange and its `session` and `position`.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Sequence
from typing import Any, Protocol

from chat_loop.library.ranking import AROUND, Asked, Position, Question, rarity
from chat_loop.library.terms import Term, related_words, terms, without_common, without_parts
from chat_loop.library.text_tables import PLACE

CANDIDATES = 150
"""Among 10,000 exchanges 100 find 86 % of the facts that `benchmarks.archive` tunes on, 150 find
92 %, and 300 find no more but take half as long again.
"""
_LIKELY = 300
"""Exchanges of which those around them are looked at."""
_COUNTED = 20_000
"""A word that more exchanges hold tells nothing, however many there are."""
_WORDS = 400


class Ask(Protocol):
    """Answers a SELECT."""

    def __call__(
        self, statement: str, values: Sequence[object] = (), /
    ) -> list[tuple[Any, ...]]: ...


class FullText:
    """The questions to the tables of a database.

    `age` is the column of `exchanges` by which the older one of two comes first.
    """

    def __init__(self, ask: Ask, age: str = "e.key") -> None:
        self._ask = ask
        self._age = age

    def question(self, text: str) -> Question:
        """Look up what a query asks for."""
        everything = terms(text)
        telling = without_common(everything)
        total = int(self._ask("SELECT count(*) FROM exchanges")[0][0])
        said = {term.text for term in telling or everything if self._is_said(term)}
        asked = []
        for term in without_parts(telling or everything, said):
            own = " ".join(term.words)
            forms = {own: 1.0} | related_words(term, self, term.text in said)
            match = " OR ".join(_quoted(form) for form in forms)
            weight = rarity(total, self._count(match))
            # "give me 3 of them"
            weight = weight / 2 if term.plain and term.text.isdigit() else weight
            asked.append(Asked(term, weight, forms, match))
        return Question(tuple(asked), not telling, total)

    def candidates(
        self, question: Question, where: str = "", values: Sequence[object] = ()
    ) -> list[Position]:
        """Return the likeliest exchanges, the oldest first; whoever holds an id is among them.

        `where` is a condition on `e`, the exchanges, that begins with AND.
        """
        if not question.asked:
            return []
        likely = self._likely([one.match for one in question.asked], where, values, "rank")
        around = {(session, position): score for _, session, position, score in likely}
        scores = {
            (age, session, position): max(
                score + weight * around.get((session, position + step), 0.0)
                for step, weight in AROUND
            )
            for age, session, position, score in likely
        }
        newest_first = sorted(scores, reverse=True)
        chosen = set(sorted(newest_first, key=lambda one: -scores[one])[:CANDIDATES])
        for one in question.asked:
            if one.term.exact:
                found = self._likely((one.match,), where, values, f"{self._age} DESC")
                chosen.update((age, session, position) for age, session, position, _ in found)
        return [(session, position) for _, session, position in sorted(chosen)]

    def lines(self, positions: Iterable[Position]) -> dict[Position, str]:
        """Return the lines of exchanges and of those around them."""
        wanted = {
            (session, position + step) for session, position in positions for step, _ in AROUND
        }
        found = self._ask(
            f"SELECT {PLACE}, said.words FROM json_each(?) AS place "
            "JOIN exchanges e ON e.session = json_extract(place.value, '$[0]') "
            "AND e.position = json_extract(place.value, '$[1]') JOIN said ON said.rowid = e.key",
            (json.dumps(list(wanted)),),
        )
        return {(session, position): str(lines) for session, position, lines in found}

    def inflected(self, word: str) -> list[str]:
        """Return the words with the same English stem."""
        return self._words("SELECT word FROM stems WHERE stems MATCH ?", _quoted(word))

    def containing(self, part: str) -> list[str]:
        """Return words with `part` in them, if that has 3 characters; not all of very many."""
        if len(part) < 3:
            return []
        return self._words("SELECT word FROM parts WHERE parts MATCH ?", _quoted(part))

    def known(self, some: Collection[str]) -> list[str]:
        """Return those of the words that were said."""
        statement = "SELECT value FROM json_each(?) WHERE value IN (SELECT word FROM lexicon)"
        return self._words(statement, json.dumps(list(some)))

    def _words(self, statement: str, value: str) -> list[str]:
        return [word for (word,) in self._ask(f"{statement} LIMIT {_WORDS}", (value,))]

    def _is_said(self, term: Term) -> bool:
        return term.exact and bool(
            self._ask("SELECT 1 FROM said WHERE said MATCH ? LIMIT 1", (_quoted(*term.words),))
        )

    def _count(self, match: str) -> int:
        statement = f"SELECT count(*) FROM (SELECT 1 FROM said WHERE said MATCH ? LIMIT {_COUNTED})"
        return int(self._ask(statement, (match,))[0][0])

    def _likely(
        self, matches: Sequence[str], where: str, values: Sequence[object], order: str
    ) -> list[tuple[Any, int, int, float]]:
        """Return age, session, position and score of exchanges that hold some of what is asked."""
        return self._ask(
            f"SELECT {self._age}, {PLACE}, -bm25(said) FROM said JOIN exchanges e ON e.key = "
            f"said.rowid WHERE said MATCH ? {where} ORDER BY {order} LIMIT {_LIKELY}",
            (" OR ".join(f"({match})" for match in matches), *values),
        )


def _quoted(*words: str) -> str:
    """Return the FTS5 expression for words as they stand."""
    return f'"{" ".join(words).replace(chr(34), " ")}"'
