"""Searching all sessions: likely exchanges from the index, then ranked by their sentences.

The index says which exchanges hold the words of a query, or related ones, and how rare each is. The
best of them, with their neighbours, are looked at sentence by sentence (`search/ranking.py`), as
the archive of a chain is. Where the sentence model is installed, the exchanges whose meaning is
nearest come in between (`search/fuse.py`).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from datetime import datetime
from itertools import combinations
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from chat_loop.library.filters import SessionFilter
from chat_loop.library.index import Index
from chat_loop.library.library import Library
from chat_loop.search.forms import related_forms
from chat_loop.search.fuse import Found as Worded
from chat_loop.search.fuse import exactly, fused, near_enough
from chat_loop.search.ranking import Hit, texts
from chat_loop.search.terms import Term, phrase, terms, without_common, without_parts
from chat_loop.search.text import Search
from chat_loop.search.wordpiece import familiar
from chat_loop.sessions.records import Exchange, Query, Reply, SessionRow

if TYPE_CHECKING:
    from chat_loop.library.meanings import Meanings

_LIKELY = 300
"""Exchanges whose neighbourhood is looked at."""
_LOOKED_AT = 60
_TOGETHER = 40
_BESIDE = 0.3
_RAREST = 4
_SENTENCE = 12
"""Words between two that belong together."""
_COUNTED = 20_000
"""A word that more exchanges hold tells nothing, however many there are."""
_CANDIDATES = 400
_LONGER = 12
_INTEGERS = "CAST(e.session AS INTEGER), CAST(e.position AS INTEGER)"
"""They have no checksums: whatever the index holds, these are numbers."""


class Found(Struct, frozen=True, kw_only=True):
    """An exchange that answers a query: where it is, and the sentences that fit (`hit.places`, the
    best first).

    `hit.exchange` holds its texts without secrets. `row` is the session's.
    """

    row: SessionRow
    hit: Hit

    @property
    def number(self) -> int:
        """The query's number in its session."""
        return self.hit.exchange.query.number


class _Place(Struct, frozen=True):
    """An exchange in the index: its key, its session's key, and its position there."""

    key: int
    session: int
    position: int


def search_all(
    library: Library,
    text: str,
    wanted: SessionFilter,
    limit: int,
    common: Collection[str],
    progress: Callable[[int, int], None] | None = None,
    meanings: Meanings | None = None,
) -> list[Found]:
    """Find in every session of a library, brought up to date before. Raises SessionError when it
    has no index.
    """
    if not library.directory.exists():
        return []
    return library.answered(
        lambda index: find(index, text, wanted, limit, common, meanings), progress
    )


def find(
    index: Index,
    text: str,
    wanted: SessionFilter,
    limit: int,
    common: Collection[str],
    meanings: Meanings | None = None,
) -> list[Found]:
    """The exchanges that fit `text` best, the best first; none when nothing does. `common` are
    folded words that tell nothing.

    Without `meanings` only its words are looked for. Raises IndexUnavailable.
    """
    everything = terms(text)
    telling = without_common(everything, common) or everything
    if not telling:
        return []
    if meanings is not None:
        meanings.load(index)  # takes longer than anybody should wait who has something to write
    with index.reading():
        where, values = _filter(wanted)
        total = index.ask("SELECT count(*) FROM exchanges")[0][0]
        every = {term: _matching(index, term) for term in telling}
        ids = {term.text for term, (_, there) in every.items() if term.exact and there}
        asked = [(term, every[term][0]) for term in without_parts(telling, ids)]
        among = {term: (_held(index, match), total) for term, match in asked}
        likely = _likely(index, [match for _, match in asked], where, values)
        for term, match in asked:
            if term.exact:  # whoever holds an id is looked at, whatever else it holds
                likely |= _likely(index, [match], where, values, newest=True)
        near = _near([term for term, _ in asked], among)
        together = _likely(index, near, where, values) if near else {}
        chosen = list(dict.fromkeys((*_best(likely), *_best(together)[:_TOGETHER])))
        hits = _ranked(index, text, chosen, common, among)
        if meanings is not None:
            hits = _with_meaning(index, text, hits, where, values, meanings)
        hits = hits[:limit]
        rows = _rows(index, {hit.exchange.depth for hit in hits})
        return [
            _found(index, rows[hit.exchange.depth], hit)
            for hit in hits
            if hit.exchange.depth in rows
        ]


def _with_meaning(
    index: Index,
    text: str,
    hits: Sequence[Hit],
    where: str,
    values: Sequence[object],
    meanings: Meanings,
) -> list[Hit]:
    """The hits and what is near in meaning, in one order."""
    among = None
    if where:
        among = {
            key for (key,) in index.ask(f"SELECT e.key FROM exchanges e WHERE 1 {where}", values)
        }
    near = meanings.nearest(index, text, _LOOKED_AT, among)
    if not near:
        return list(hits)
    by_ref = {hit.exchange.ref: hit for hit in hits}
    places: dict[int, str] = {
        key: f"{session}.{position}"
        for key, session, position in index.ask(
            f"SELECT e.key, {_INTEGERS} FROM exchanges e WHERE e.key IN "
            f"({', '.join(str(key) for key, _ in near)})"
        )
    }
    meant = near_enough(
        text, [(places[key], similarity) for key, similarity in near if key in places], by_ref
    )
    new = [_split(place) for place, _ in meant if place not in by_ref]
    by_ref |= {exchange.ref: Hit(exchange, 0.0, 0.0) for exchange in _exchanges(index, new)}
    keys = index.ask(
        f"SELECT e.key, {_INTEGERS} FROM json_each(?) AS place JOIN exchanges e "
        "ON e.session = json_extract(place.value, '$[0]') AND e.position = "
        "json_extract(place.value, '$[1]')",
        (json.dumps([_split(hit.exchange.ref) for hit in hits]),),
    )
    known = meanings.has(index, [key for key, _, _ in keys])
    unknown = {f"{session}.{position}" for key, session, position in keys if key not in known}
    worded = [
        Worded(
            hit.exchange.ref,
            hit.score,
            hit.strength,
            exactly(text, (said for _, said in texts(hit.exchange))),
        )
        for hit in hits
    ]
    return [by_ref[ref] for ref in fused(worded, meant, familiar=familiar(text), unknown=unknown)]


def _split(ref: str) -> tuple[int, int]:
    session, _, position = ref.partition(".")
    return int(session), int(position)


def _filter(wanted: SessionFilter) -> tuple[str, list[object]]:
    condition, values = wanted.sql()
    return (
        "" if condition == "1" else f"AND e.session IN (SELECT key FROM sessions WHERE {condition})"
    ), values


def _matching(index: Index, term: Term) -> tuple[str, bool]:
    """The FTS5 expression of a term with its related words, and whether the term itself is
    there.
    """

    def containing(part: str) -> list[str]:
        if len(part) < 3:
            return []
        found = index.ask(
            f"SELECT word FROM parts WHERE parts MATCH ? LIMIT {_CANDIDATES}", (_quoted(part),)
        )
        return [word for (word,) in found]

    def known(words: Iterable[str]) -> list[str]:
        query = "SELECT value FROM json_each(?) WHERE value IN (SELECT word FROM lexicon)"
        return [word for (word,) in index.ask(query, (json.dumps(list(words)),))]

    own = _quoted(" ".join(term.words))
    there = bool(index.ask("SELECT 1 FROM said WHERE said MATCH ? LIMIT 1", (own,)))
    others = [phrase(word) for word, _ in related_forms(term, containing, known, {}, there)]
    longer = [] if there else _longer(term, containing)
    return " OR ".join(
        (own, *(_quoted(" ".join(words)) for words in others if words), *longer)
    ), there


def _longer(term: Term, containing: Callable[[str], Iterable[str]]) -> list[str]:
    """Expressions for longer ids that an id of several words is a part of: `XOPS-22178` for
    `ops-221`.
    """
    if not term.exact or len(term.words) < 2:
        return []
    first, *rest = term.words
    beginnings = dict.fromkeys(
        (first, *(word for word in containing(first) if word.endswith(first)))
    )
    return [f"{_quoted(' '.join((word, *rest)))} *" for word in list(beginnings)[:_LONGER]]


def _near(asked: Sequence[Term], among: Mapping[Term, tuple[int, int]]) -> list[str]:
    """Expressions for two of the rarest terms close together, as in one sentence.

    A long exchange that holds many common ones is likely, but seldom what is looked for.
    """
    rarest = sorted((term for term in asked if among[term][0]), key=lambda term: among[term][0])[
        :_RAREST
    ]
    return [
        f"NEAR({_quoted(' '.join(one.words))} {_quoted(' '.join(other.words))}, {_SENTENCE})"
        for one, other in combinations(rarest, 2)
    ]


def _quoted(text: str) -> str:
    return f'"{text.replace(chr(34), " ")}"'


def _held(index: Index, match: str) -> int:
    query = f"SELECT count(*) FROM (SELECT 1 FROM said WHERE said MATCH ? LIMIT {_COUNTED})"
    return int(index.ask(query, (match,))[0][0])


def _likely(
    index: Index,
    matches: Sequence[str],
    where: str,
    values: Sequence[object],
    *,
    newest: bool = False,
) -> dict[_Place, float]:
    """Exchanges that hold some of what is asked for, with how well."""
    order = "e.key DESC" if newest else "rank"
    found = index.ask(
        f"SELECT e.key, {_INTEGERS}, -bm25(said) FROM said JOIN exchanges e ON e.key = said.rowid "
        f"WHERE said MATCH ? {where} ORDER BY {order} LIMIT {_LIKELY}",
        (" OR ".join(f"({match})" for match in matches), *values),
    )
    return {_Place(key, session, position): score for key, session, position, score in found}


def _best(likely: dict[_Place, float]) -> list[_Place]:
    """The likeliest, counting what stands beside them as well."""
    scores = {(place.session, place.position): score for place, score in likely.items()}

    def score(place: _Place) -> float:
        beside = (scores.get((place.session, place.position + step), 0.0) for step in (-1, 1))
        return likely[place] + _BESIDE * max(beside)

    return sorted(likely, key=lambda place: (-score(place), -place.key))[:_LOOKED_AT]


def _ranked(
    index: Index,
    text: str,
    chosen: Sequence[_Place],
    common: Collection[str],
    among: Mapping[Term, tuple[int, int]],
) -> list[Hit]:
    """The likely exchanges in the order of their best sentences."""
    candidates = {f"{place.session}.{place.position}" for place in chosen}
    places = {(place.session, place.position + step) for place in chosen for step in (-1, 0, 1)}
    exchanges = _exchanges(index, places)
    search = Search(common)
    try:
        search.add(exchanges)
        beside = [exchange.ref for exchange in exchanges if exchange.ref not in candidates]
        return search.search(text, _LOOKED_AT, without=beside, among=among, revised=False)
    finally:
        search.close()


def _exchanges(index: Index, places: Iterable[tuple[int, int]]) -> list[Exchange]:
    """Exchanges by session and position, oldest first. Here a reference is `session
    key.position`.
    """
    found = index.ask(
        f"SELECT {_INTEGERS}, e.at, e.query, e.reply FROM json_each(?) AS place JOIN exchanges e "
        "ON e.session = json_extract(place.value, '$[0]') AND e.position = "
        "json_extract(place.value, '$[1]') "
        "ORDER BY e.at, e.key",
        (json.dumps(list(places)),),
    )
    return [_exchange(index, *row) for row in found]


def _exchange(
    index: Index, session: int, position: int, at: object, query: object, reply: object
) -> Exchange:
    """Return an exchange as the index keeps it, under the reference `session key.position`. Raises
    IndexUnavailable.
    """
    if not (isinstance(at, str) and isinstance(query, str) and isinstance(reply, str)):
        raise index.damage()
    try:
        moment = datetime.fromisoformat(at)
    except ValueError:
        raise index.damage() from None
    answer = Reply(number=position, at=moment, text=reply) if reply else None
    return Exchange(Query(number=position, at=moment, text=query), answer, depth=session)


def _rows(index: Index, keys: Collection[int]) -> dict[int, SessionRow]:
    listed = ", ".join(str(key) for key in keys)
    ids: dict[int, str] = dict(index.ask(f"SELECT key, id FROM sessions WHERE key IN ({listed})"))
    rows = index.rows(list(ids.values()))
    return {key: rows[identity] for key, identity in ids.items() if identity in rows}


def _found(index: Index, row: SessionRow, hit: Hit) -> Found:
    """A hit under the number that its query has in its file."""
    key, position = hit.exchange.depth, hit.exchange.query.number
    number = index.ask(
        "SELECT number FROM exchanges WHERE session = ? AND position = ?", (key, position)
    )[0][0]
    exchange = replace(
        hit.exchange, query=replace(hit.exchange.query, number=number), depth=row.depth
    )
    return Found(row=row, hit=replace(hit, exchange=exchange))
