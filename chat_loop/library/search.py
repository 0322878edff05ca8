"""Search: the exchanges that answer a query best, in the index of a folder or in one of an archive.

SQLite's FTS5 says which exchanges are likely, the model of sentences which are near in meaning, and
`ranking` makes one order of both.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from datetime import datetime
from math import ceil
from typing import TYPE_CHECKING, Any

from msgspec import Struct
from msgspec.structs import replace

from chat_loop.library.filters import SessionFilter
from chat_loop.library.index import Index
from chat_loop.library.library import Library
from chat_loop.library.ranking import AROUND, Asked, Position, Question, Scored, fuse, rank, rarity
from chat_loop.library.terms import ALIKE, SAME, WIDE, Term, related, terms, without_common
from chat_loop.sessions.escape import encode_line
from chat_loop.sessions.records import Exchange, Query, Reply, SessionRow
from chat_loop.text import sentences

if TYPE_CHECKING:
    from chat_loop.library.semantic import SemanticIndex

OF_FILE = 50_000
"""Characters of an attached file that can be found, as many as a tool's result has."""
CANDIDATES = 150
"""Among 10,000 exchanges 100 find 86 % of the facts that `benchmarks.archive` tunes on, 150 find
92 %, and 300 find no more but take half as long again.
"""
MOST_RELATED = 12
PLACE = "CAST(e.session AS INTEGER), CAST(e.position AS INTEGER)"
"""They have no checksums: whatever the index holds, these are numbers."""
AT_PLACES = (
    "JOIN json_each(?) AS place ON e.session = json_extract(place.value, '$[0]') "
    "AND e.position = json_extract(place.value, '$[1]')"
)
_LIKELY = 300
"""Exchanges of which those around them are looked at."""
_COUNTED = 20_000
"""A word that more exchanges hold tells nothing, however many there are."""
_WORDS = 400
_LONGEST_RELATED = 40
_PLACES = 5

Near = Callable[[Collection[Position]], Mapping[Position, float]]
"""Gives how near in meaning exchanges are to the query: some that were found, and the nearest."""


class Place(Struct, frozen=True):
    """Characters `start` to `end` in the part-th of an exchange's `texts`."""

    part: int
    start: int
    end: int


class Hit(Struct, frozen=True):
    """An exchange that fits a query. `places` are the sentences that fit, the best first.

    `strength`, 0 to 1: how surely it is what the query is about.
    """

    exchange: Exchange
    strength: float
    places: tuple[Place, ...] = ()

    @property
    def related(self) -> bool:
        """Tell whether only its meaning is near: it holds no word of the query."""
        return not self.places


class FolderHit(Hit, frozen=True, kw_only=True):
    """A hit in a folder, with the row of its session; its exchange holds texts without secrets.

    `listed` is the number that lists give its conversation, where that was asked for.
    """

    row: SessionRow
    listed: int | None = None


def texts(exchange: Exchange) -> tuple[tuple[str, str], ...]:
    """Return who said what in an exchange: user, model, then tools and the query's files."""
    reply = exchange.reply.text if exchange.reply is not None else ""
    used = (
        (
            f"Tool {use.call.name}",
            f"{use.call.arguments}\n{use.result.text if use.result is not None else ''}",
        )
        for use in exchange.uses
    )
    attached = (
        (f"File {encode_line(file.name)}", file.text[:OF_FILE])
        for file in exchange.attached
        if file.text
    )
    return (("User", exchange.query.text), ("Assistant", reply), *used, *attached)


def search_all(
    library: Library,
    text: str,
    wanted: SessionFilter,
    limit: int,
    semantic: SemanticIndex | None = None,
    embed: Callable[[Index], object] | None = None,
    *,
    numbered: bool = False,
) -> list[FolderHit]:
    """Return at most `limit` exchanges that fit a text, the best first, of every session of a
    library that is wanted.

    Without `semantic` only its words are looked for. `embed` has what has no vectors embedded,
    where `semantic` works. With `numbered` the hits have the numbers of their conversations. Raises
    SessionError when there is no index.
    """

    def ask(index: Index) -> list[FolderHit]:
        condition, values = wanted.condition()
        where = "" if condition == "1" else f"SELECT key FROM sessions WHERE {condition}"
        where = where and f"AND e.session IN ({where})"

        def near(found: Collection[Position]) -> Mapping[Position, float]:
            return semantic.near(index, text, found, where, values) if semantic is not None else {}

        hits = _hits(index, search(index, text, near, where, values)[: max(0, limit)])
        if numbered and hits:
            numbers = {one: number for number, one in enumerate(library.listed_in(index), 1)}
            hits = [replace(hit, listed=numbers.get(hit.row.id)) for hit in hits]
        if embed is not None and semantic is not None and not semantic.problem:
            embed(index)
        return hits

    if not library.directory.exists():
        return []
    return library.ask(ask, before=semantic.load if semantic is not None else None)


def search(
    index: Index,
    text: str,
    near: Near,
    where: str = "",
    values: Sequence[object] = (),
) -> list[Scored]:
    """Return what was found, the best first.

    `where` is a condition on `e`, the exchanges, that begins with AND. Raises IndexUnavailable.
    """
    question = _question(index, text)
    candidates = _candidates(index, question, where, values)
    has_meaning = not all(one.term.exact or one.term.of for one in question.asked)
    meant = near(candidates) if has_meaning else {}
    every = dict.fromkeys((*candidates, *meant))
    around = {(session, position + step) for session, position in every for step, _ in AROUND}
    lines = index.ask(
        f"SELECT {PLACE}, said.words FROM exchanges e {AT_PLACES} JOIN said ON said.rowid = e.key",
        (json.dumps(list(around)),),
    )
    said = {(session, position): str(words) for session, position, words in lines}
    found = [one for one in rank(question, said, every) if one.sentences or one.position in meant]
    return fuse(found, meant) if meant else found


def places_of(scored: Scored, exchange: Exchange) -> tuple[Place, ...]:
    """Return the best sentences of an exchange that fit."""
    spoken = [
        Place(part, one.start, one.end)
        for part, (_, text) in enumerate(texts(exchange))
        for one in sentences(text)
    ]
    numbers = [one.number for one in scored.sentences if one.number < len(spoken)]
    return tuple(spoken[number] for number in numbers[:_PLACES])


def _hits(index: Index, scored: Sequence[Scored]) -> list[FolderHit]:
    """Return the exchanges as the index keeps them. Raises IndexUnavailable."""
    found = index.ask(
        f"SELECT {PLACE}, s.id, CAST(e.number AS INTEGER), e.at, e.query, e.reply "
        f"FROM exchanges e {AT_PLACES} JOIN sessions s ON s.key = e.session",
        (json.dumps([one.position for one in scored]),),
    )
    told = {(session, position): row for session, position, *row in found}
    rows = index.rows(list({row[0] for row in told.values()}))
    hits = []
    for one in scored:
        if one.position not in told or told[one.position][0] not in rows:
            continue
        identity, number, at, query, reply = told[one.position]
        if not (isinstance(at, str) and isinstance(query, str) and isinstance(reply, str)):
            raise index.damage()
        try:
            moment = datetime.fromisoformat(at)
        except ValueError:
            raise index.damage() from None
        exchange = Exchange(
            Query(number=number, at=moment, text=query),
            Reply(number=number, at=moment, text=reply) if reply else None,
            rows[identity].depth,
        )
        places = places_of(one, exchange)
        row = rows[identity]
        hits.append(FolderHit(exchange, one.strength, places=places, row=row))
    return hits


def _question(index: Index, text: str) -> Question:
    """Look up what a query asks for."""
    everything = terms(text)
    telling = without_common(everything)
    [(total,)] = index.ask("SELECT count(*) FROM exchanges")
    told = telling or everything
    said = {
        term.text
        for term in told
        if term.exact
        and index.ask("SELECT 1 FROM said WHERE said MATCH ? LIMIT 1", (_quoted(*term.words),))
    }
    asked = []
    for term in told:
        if term.of and term.of in said:  # `key`, where there is `s3.key`
            continue
        forms = {" ".join(term.words): 1.0} | _related_words(index, term, term.text in said)
        match = " OR ".join(_quoted(form) for form in forms)
        statement = f"SELECT 1 FROM said WHERE said MATCH ? LIMIT {_COUNTED}"
        [(count,)] = index.ask(f"SELECT count(*) FROM ({statement})", (match,))
        weight = rarity(total, count)
        # "give me 3 of them"
        weight = weight / 2 if term.plain and term.text.isdigit() else weight
        asked.append(Asked(term, weight, forms, match))
    return Question(tuple(asked), not telling, total)


def _related_words(index: Index, term: Term, is_said: bool) -> dict[str, float]:
    """Return words to search for beside `term`, with how surely they mean the same, 0 to 1.

    They are longer ids that contain one that is not said itself, or other forms and compounds of a
    plain word.
    """

    def words(statement: str, value: str) -> list[str]:
        return [word for (word,) in index.ask(f"{statement} LIMIT {_WORDS}", (value,))]

    containing = "SELECT word FROM parts WHERE parts MATCH ?"
    if term.exact:
        longer = []
        if len(term.text) > 2 and not is_said:
            longer = words(containing, _quoted(term.text.translate(WIDE)))
        return dict.fromkeys(longer[:MOST_RELATED], 0.6)
    word = term.text
    if not term.plain or not 4 <= len(word) <= _LONGEST_RELATED:
        return {}
    pieces = {piece for at in range(4, len(word) - 2) for piece in (word[:at], word[-at:])}
    known = "SELECT value FROM json_each(?) WHERE value IN (SELECT word FROM lexicon)"
    sure = dict.fromkeys(words("SELECT word FROM stems WHERE stems MATCH ?", _quoted(word)), SAME)
    for other in (
        *words(containing, _quoted(word[: max(4, ceil(ALIKE * len(word)))])),
        *words(known, json.dumps(list(pieces))),
    ):
        sure[other] = max(sure.get(other, 0.0), related(word, other))
    sure.pop(word, None)
    best = sorted(sure.items(), key=lambda pair: (-pair[1], pair[0]))[:MOST_RELATED]
    return {other: surely for other, surely in best if surely}


def _candidates(
    index: Index, question: Question, where: str, values: Sequence[object]
) -> list[Position]:
    """Return the likeliest exchanges, the oldest first; whoever holds an id is among them."""

    def likely(matches: Iterable[str], order: str) -> list[tuple[Any, int, int, float]]:
        """Return date, session, position and score of exchanges that hold some of what is asked."""
        return index.ask(
            f"SELECT CAST(e.at AS TEXT), {PLACE}, -bm25(said) "
            "FROM said JOIN exchanges e ON e.key = said.rowid "
            f"WHERE said MATCH ? {where} ORDER BY {order} LIMIT {_LIKELY}",
            (" OR ".join(f"({match})" for match in matches), *values),
        )

    if not question.asked:
        return []
    found = likely([one.match for one in question.asked], "rank")
    around = {(session, position): score for _, session, position, score in found}
    scores = {
        (at, session, position): max(
            score + weight * around.get((session, position + step), 0.0) for step, weight in AROUND
        )
        for at, session, position, score in found
    }
    newest_first = sorted(scores, reverse=True)
    chosen = set(sorted(newest_first, key=lambda one: -scores[one])[:CANDIDATES])
    for one in question.asked:
        if one.term.exact:
            chosen.update(row[:3] for row in likely([one.match], "e.at DESC"))
    return [(session, position) for _, session, position in sorted(chosen)]


def _quoted(*words: str) -> str:
    """Return the FTS5 expression for words as they stand."""
    return f'"{" ".join(words).replace(chr(34), " ")}"'
