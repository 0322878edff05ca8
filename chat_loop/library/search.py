"""Search: the exchanges that answer a query best, in a folder of sessions or in an archive.

Full text says which exchanges are likely, the model of sentences which are near in meaning, and
`ranking` makes one order of both.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from chat_loop.library.filters import SessionFilter
from chat_loop.library.fulltext import FullText
from chat_loop.library.index import Index
from chat_loop.library.library import Library
from chat_loop.library.ranking import Position, Question, Scored, fuse, rank
from chat_loop.library.text_tables import PLACE
from chat_loop.sessions.escape import encode_line
from chat_loop.sessions.records import Exchange, Query, Reply, SessionRow
from chat_loop.text import Sentence, sentences

if TYPE_CHECKING:
    from chat_loop.library.semantic import SemanticIndex

OF_FILE = 50_000
"""Characters of an attached file that can be found, as many as a tool's result has."""
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

    `strength`, 0 to 1: how surely it is what the query is about. `newer` is the reference of a
    later exchange that says something else of the same, if there is an obvious one.
    """

    exchange: Exchange
    score: float
    strength: float
    newer: str = ""
    places: tuple[Place, ...] = ()

    @property
    def related(self) -> bool:
        """Tell whether only its meaning is near: it holds no word of the query."""
        return not self.places


class Found(Struct, frozen=True):
    """A hit in a folder, with the row of its session; its exchange holds texts without secrets.

    `listed` is the number that lists give its conversation, where that was asked for.
    """

    row: SessionRow
    hit: Hit
    listed: int | None = None

    @property
    def number(self) -> int:
        """The query's number in its session."""
        return self.hit.exchange.query.number


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


def search(
    fulltext: FullText,
    text: str,
    near: Near | None = None,
    where: str = "",
    values: Sequence[object] = (),
) -> tuple[Question, list[Scored]]:
    """Return what a query asks for, and what was found, the best first.

    `where` is a condition on `e`, the exchanges, that begins with AND.
    """
    question = fulltext.question(text)
    candidates = fulltext.candidates(question, where, values)
    meant = near(candidates) if near is not None and question.has_meaning else {}
    every = dict.fromkeys((*candidates, *meant))
    found = [
        one
        for one in rank(question, fulltext.lines(every), every)
        if one.sentences or one.position in meant
    ]
    return question, fuse(found, meant) if meant else found


def hit_of(
    exchange: Exchange, spoken: Sequence[tuple[int, Sentence]], scored: Scored, newer: str = ""
) -> Hit:
    """Return an exchange with the sentences that fit; `spoken` are all it has."""
    numbers = [one.number for one in scored.sentences if one.number < len(spoken)]
    places = (Place(spoken[at][0], spoken[at][1].start, spoken[at][1].end) for at in numbers)
    return Hit(exchange, scored.score, scored.strength, newer, tuple(places)[:_PLACES])


def spoken_in(exchange: Exchange) -> list[tuple[int, Sentence]]:
    """Return the sentences of an exchange's texts, each with the text's number."""
    return [
        (part, one) for part, (_, text) in enumerate(texts(exchange)) for one in sentences(text)
    ]


def search_all(
    library: Library,
    text: str,
    wanted: SessionFilter,
    limit: int,
    progress: Callable[[int, int], None] | None = None,
    semantic: SemanticIndex | None = None,
    embed: Callable[[Index], object] | None = None,
    *,
    numbered: bool = False,
) -> list[Found]:
    """Find in every session of a library, brought up to date before.

    `embed` has what has no vectors embedded, where `semantic` works. With `numbered` the hits have
    the numbers of their conversations. Raises SessionError when there is no index.
    """

    def ask(index: Index) -> list[Found]:
        found = find(index, text, wanted, limit, semantic)
        if numbered and found:
            numbers = {one: number for number, one in enumerate(library.listed_in(index), 1)}
            found = [replace(one, listed=numbers.get(one.row.id)) for one in found]
        if embed is not None and semantic is not None and not semantic.problem:
            embed(index)
        return found

    return library.answered(ask, progress) if library.directory.exists() else []


def find(
    index: Index,
    text: str,
    wanted: SessionFilter,
    limit: int,
    semantic: SemanticIndex | None = None,
) -> list[Found]:
    """Return at most `limit` exchanges that fit a text, the best first.

    Without `semantic` only its words are looked for. Raises IndexUnavailable.
    """
    condition, values = wanted.condition()
    where = f"AND e.session IN (SELECT key FROM sessions WHERE {condition})"
    where = "" if condition == "1" else where
    if semantic is not None:
        semantic.load(index)  # takes longer than anybody should wait who has something to write

    def near(found: Collection[Position]) -> Mapping[Position, float]:
        return {} if semantic is None else semantic.near(index, text, found, where, values)

    with index.reading():
        _, scored = search(FullText(index.ask, age="e.at"), text, near, where, values)
        scored = scored[: max(0, limit)]
        exchanges = _exchanges(index, [one.position for one in scored])
        rows = _rows(index, {session for session, _ in exchanges})
        return [
            Found(rows[one.position[0]], hit_of(exchange, spoken_in(exchange), one))
            for one in scored
            if (exchange := exchanges.get(one.position)) is not None and one.position[0] in rows
        ]


def _exchanges(index: Index, positions: Iterable[Position]) -> dict[Position, Exchange]:
    """Return exchanges as the index keeps them, with their queries' numbers in their files."""
    found = index.ask(
        f"SELECT {PLACE}, CAST(s.depth AS INTEGER), CAST(e.number AS INTEGER), e.at, e.query, "
        "e.reply FROM json_each(?) AS place JOIN sessions s ON s.key = e.session JOIN exchanges e "
        "ON e.session = json_extract(place.value, '$[0]') "
        "AND e.position = json_extract(place.value, '$[1]')",
        (json.dumps(list(positions)),),
    )
    return {(session, position): _exchange(index, *row) for session, position, *row in found}


def _exchange(
    index: Index, depth: int, number: int, at: object, query: object, reply: object
) -> Exchange:
    if not (isinstance(at, str) and isinstance(query, str) and isinstance(reply, str)):
        raise index.damage()
    try:
        moment = datetime.fromisoformat(at)
    except ValueError:
        raise index.damage() from None
    answer = Reply(number=number, at=moment, text=reply) if reply else None
    return Exchange(Query(number=number, at=moment, text=query), answer, depth)


def _rows(index: Index, keys: Collection[int]) -> dict[int, SessionRow]:
    listed = ", ".join(map(str, keys))
    ids: dict[int, str] = dict(index.ask(f"SELECT key, id FROM sessions WHERE key IN ({listed})"))
    rows = index.rows(list(ids.values()))
    return {key: rows[identity] for key, identity in ids.items() if identity in rows}
