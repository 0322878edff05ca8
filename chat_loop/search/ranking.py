"""Ranking (pure): which exchanges fit a query best, given the sentences that hold each of its
terms.

An exchange is as good as its best sentence. What that sentence lacks may stand elsewhere in the
exchange, or in the one before or after it, and counts less there.
"""

from __future__ import annotations

import re
from array import array
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Sequence
from functools import cache
from heapq import nlargest
from math import log

from msgspec import Struct

from chat_loop.search.sentences import ASKS, TELLS
from chat_loop.search.terms import Term, fold, ids
from chat_loop.sessions.escape import encode_line
from chat_loop.sessions.records import Exchange

OF_FILE = 50_000
"""Characters of an attached file that can be found, as many as a tool's result has."""
_SAME_EXCHANGE = 0.5
_NEIGHBOUR = 0.3
_ASKING = 0.85
_TELLING = 1.15
_EXACT = 20.0
"""What puts an exchange that holds an id or a number of the query among the candidates, whatever
else it holds.
"""
_CANDIDATES = 60
_STEPS = 25
"""Scores that differ by less than this part of the best one count as equal."""
_PLACES = 5
_COMPARED = 10
"""So many sentences of a later exchange are looked at for another value, the best first: logs have
thousands.
"""
_SAME = 0.9
"""From here on two words are forms of one."""
_RARE_WORDS = 2.0
_LEAST_ARCHIVE = 6
_LEAST_RARITY = 2.0
"""A sentence is strong with as much as two words have that occur once; in a tiny archive almost
every word does.
"""

_CHANGE = re.compile(
    r"\b(?:now|instead|no longer|not any ?more|changed|moved|renamed|switched|replaced|correction"
    r"|jetzt|nun|statt|stattdessen|nicht mehr|geandert|verlegt|verschoben|korrektur"
    r"|desormais|maintenant|plutot|change|reporte|ahora|ya no|en vez|cambi\w{1,4}"
    r"|adesso|invece|agora|em vez|voortaan|niet meer)\b"
)
"""What folded text says when something is not as it was."""


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
        """Whether only its meaning is near: none of its sentences holds a word of the query."""
        return not self.places


class Posting(Struct, frozen=True):
    """A term, the sentences that hold it, and those that hold something related, with how surely it
    is, 0 to 1.

    `of`: how many exchanges hold it, and of how many, where these are only some of them.
    """

    term: Term
    same: Sequence[int]
    related: Sequence[tuple[float, Sequence[int]]]
    of: tuple[int, int] | None = None


def texts(exchange: Exchange) -> tuple[tuple[str, str], ...]:
    """Who said what in an exchange: the user, the model, then its tools and the query's files."""
    reply = exchange.reply.text if exchange.reply is not None else ""
    used = (
        (
            f"Tool {use.call.name}",
            f"{use.call.arguments}\n{use.result.text if use.result is not None else ''}",
        )
        for use in exchange.uses
    )
    files = (
        (f"File {encode_line(file.name)}", file.text[:OF_FILE])
        for file in exchange.attached
        if file.text
    )
    return (("User", exchange.query.text), ("Assistant", reply), *used, *files)


class Said:
    """All sentences in the order in which they were said, by number: where each stands and of what
    kind it is.
    """

    def __init__(self) -> None:
        self.exchanges: list[Exchange] = []
        self.numbers: dict[str, int] = {}
        """Where the exchange with a reference is."""
        self.owners = array("q")
        """The exchange of each sentence."""
        self.kinds = bytearray()
        self._places = array("q")

    def add(self, exchange: Exchange, sentences: Iterable[tuple[int, int, int, int]]) -> None:
        """Take an exchange and its sentences: part, start, end and kind of each."""
        owner = len(self.exchanges)
        for part, start, end, kind in sentences:
            self.owners.append(owner)
            self._places.extend((part, start, end))
            self.kinds.append(kind)
        self.exchanges.append(exchange)
        self.numbers[exchange.ref] = owner

    def place(self, row: int) -> Place:
        return Place(*self._places[3 * row : 3 * row + 3])

    def text(self, row: int) -> str:
        place = self.place(row)
        return texts(self.exchanges[self.owners[row]])[place.part][1][place.start : place.end]


class _Asked(Struct, frozen=True):
    """A term of the query: how much it tells, and the sentences and the exchanges that hold it."""

    term: Term
    weight: float
    rows: dict[int, float]
    held: dict[int, float]

    def near(self, owner: int) -> float:
        """How much of it an exchange has, in it or beside it."""
        beside = max(self.held.get(owner - 1, 0.0), self.held.get(owner + 1, 0.0))
        return max(_SAME_EXCHANGE * self.held.get(owner, 0.0), _NEIGHBOUR * beside)


class _Found(Struct, frozen=True):
    """A candidate and its sentences that hold a term, the best first."""

    owner: int
    exact: int
    score: float
    rows: Sequence[int]


def ranked(
    said: Said,
    postings: Sequence[Posting],
    limit: int,
    without: Collection[str] = (),
    *,
    weak: bool = False,
    revised: bool = True,
) -> list[Hit]:
    """Return at most `limit` hits, the best first; among those that fit as well, the newest first.

    `weak`: the query consists of words that say nothing, and no hit is strong.
    Only with `revised` hits tell of newer ones.
    """
    asked = [_asked(said, posting) for posting in postings]
    chosen = _chosen(asked, {said.numbers[ref] for ref in without if ref in said.numbers})
    rows: dict[int, set[int]] = {owner: set() for owner in chosen}
    for term in asked:
        for row in term.rows:
            if (owner := said.owners[row]) in rows:
                rows[owner].add(row)
    found = [_found(said, asked, owner, rows[owner]) for owner in chosen]
    states = cache(lambda row: _statement(said.text(row), asked))
    best = max((one.score for one in found), default=1.0) or 1.0
    found.sort(key=lambda one: (-one.exact, -round(one.score / best * _STEPS), -one.owner))
    return [
        Hit(
            exchange=said.exchanges[one.owner],
            score=one.score,
            strength=0.0 if weak else _strength(said, asked, one.rows[0]),
            newer=_newer(said, asked, one, found, states) if revised else "",
            places=tuple(said.place(row) for row in one.rows[:_PLACES]),
        )
        for one in found[:limit]
    ]


def _asked(said: Said, posting: Posting) -> _Asked:
    owners = said.owners
    rows = dict.fromkeys(posting.same, 1.0)
    held = dict.fromkeys((owners[row] for row in posting.same), 1.0)
    for surely, others in posting.related:
        for row in others:
            if surely > rows.get(row, 0.0):
                rows[row] = surely
                if surely > held.get(owners[row], 0.0):
                    held[owners[row]] = surely
    count = sum(surely >= _SAME for surely in held.values()) or len(held)
    weight = (
        _rarity(len(said.exchanges), count)
        if posting.of is None
        else _rarity(posting.of[1], posting.of[0])
    )
    if posting.term.plain and posting.term.text.isdigit():
        weight /= 2  # "give me 3 of them"
    return _Asked(posting.term, weight, rows, held)


def _rarity(everything: int, count: int) -> float:
    """How much it tells that an exchange holds a word, when `count` of all do."""
    everything = max(everything, _LEAST_ARCHIVE)
    return log(1 + (everything - count + 0.5) / (count + 0.5))


def _chosen(asked: Sequence[_Asked], without: Collection[int]) -> list[int]:
    totals: defaultdict[int, float] = defaultdict(float)
    for term in asked:
        weight = term.weight + (_EXACT if term.term.exact else 0.0)
        for owner, surely in term.held.items():
            totals[owner] += weight * surely
    for owner in without:
        totals.pop(owner, None)
    first = nlargest(4 * _CANDIDATES, totals, key=lambda owner: (totals[owner], owner))
    for owner in first:
        totals[owner] += sum(
            term.weight * term.near(owner) for term in asked if owner not in term.held
        )
    return nlargest(_CANDIDATES, first, key=lambda owner: (totals[owner], owner))


def _found(said: Said, asked: Sequence[_Asked], owner: int, rows: Iterable[int]) -> _Found:
    near = [term.near(owner) for term in asked]
    scored = sorted((-_score(said, asked, near, row), row) for row in rows)
    exact = sum(term.term.exact and term.held.get(owner, 0.0) >= 1.0 for term in asked)
    return _Found(owner, exact, -scored[0][0], [row for _, row in scored])


def _score(said: Said, asked: Sequence[_Asked], near: Sequence[float], row: int) -> float:
    score = sum(
        term.weight * max(term.rows.get(row, 0.0), beside)
        for term, beside in zip(asked, near, strict=True)
    )
    kind = said.kinds[row]
    return score * (_ASKING if kind & ASKS else 1.0) * (_TELLING if kind & TELLS else 1.0)


def _strength(said: Said, asked: Sequence[_Asked], row: int) -> float:
    """How much of the query a single sentence holds, and whether that is more than chance."""
    rarest = _rarity(len(said.exchanges), 1)
    wanted = sum(min(term.weight, rarest) for term in asked)
    held = sum(min(term.weight, rarest) * term.rows.get(row, 0.0) for term in asked)
    if not wanted:
        return 0.0
    kind = said.kinds[row]
    likely = (0.6 if kind & ASKS else 1.0) * (1.0 if kind & TELLS else 0.8)
    return likely * held / wanted * min(1.0, held / (_RARE_WORDS * max(rarest, _LEAST_RARITY)))


def _newer(
    said: Said,
    asked: Sequence[_Asked],
    hit: _Found,
    found: Iterable[_Found],
    states: Callable[[int], _Statement],
) -> str:
    """Return the latest exchange that says the same as the hit's best sentence with another value.

    The same as far as was asked; an empty text when there is none.
    """
    row = hit.rows[0]
    keys = [term for term in asked if term.rows.get(row, 0.0) >= _SAME and not term.term.exact]
    if sum(term.weight for term in keys) < sum(term.weight for term in asked) / 2:
        return ""
    for later in sorted(
        (one for one in found if one.owner > hit.owner), key=lambda one: -one.owner
    ):
        for other in later.rows[:_COMPARED]:
            same = all(term.rows.get(other, 0.0) >= _SAME for term in keys)
            if same and not said.kinds[other] & ASKS and _differs(states(row), states(other)):
                return said.exchanges[later.owner].ref
    return ""


class _Statement(Struct, frozen=True):
    """A sentence: its ids and numbers that were not asked for, their shapes, and whether it tells
    of a change.
    """

    text: str
    values: frozenset[str]
    shapes: frozenset[str]
    changes: bool


def _statement(text: str, asked: Sequence[_Asked]) -> _Statement:
    values = frozenset(_values(text)) - {one.term.text for one in asked}
    return _Statement(
        text, values, frozenset(map(_shape, values)), _CHANGE.search(fold(text)) is not None
    )


def _differs(old: _Statement, new: _Statement) -> bool:
    """Tell whether the new sentence has another value of the same shape, or says that something has
    changed.
    """
    if not old.values.isdisjoint(new.values):
        return False
    return not old.shapes.isdisjoint(new.shapes) or (new.changes and old.text != new.text)


def _values(text: str) -> list[str]:
    return [*ids(text), *re.findall(r"(?<![^\W_])\d{1,2}(?![^\W_])", text)]


def _shape(value: str) -> str:
    """`14:30` -> `0:0`, `db-7.internal` -> `a-0.a`."""
    return re.sub(r"[^\W\d_]+", "a", re.sub(r"\d+", "0", value))
