"""Search: the index and the sentence model find likely exchanges, and `ranking` sorts them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import datetime
from math import ceil
from typing import TYPE_CHECKING

from msgspec.structs import replace

from chat_loop.errors import SessionError
from chat_loop.library import days, ranking, terms
from chat_loop.library.filters import SessionFilter
from chat_loop.library.hits import Hit, TextRange, fused
from chat_loop.library.indexed import EVERYTHING, TEXTS, Corpus, Phrase, Position, Scope, Texts
from chat_loop.library.library import Library, listed_in
from chat_loop.library.ranking import AROUND, RankedExchange, SearchQuery
from chat_loop.library.semantic import NO_PARENT, SemanticIndex, start_process
from chat_loop.library.shared import Answer
from chat_loop.sessions.records import Exchange, Query, Reply
from chat_loop.text import sentences

if TYPE_CHECKING:
    from chat_loop.library.index import Index

CANDIDATES = 150
"""Of facts that were planted among 10,000 exchanges, 100 have 86 %, 150 have 92 %, 300 no more."""
_LIKELY = 300  # exchanges that are scored together with those around them
_CLOSE = 20
"""The candidates that fit best alone; only these are ranked with the exchanges around them. In
`benchmarks.recall`, 40 find nothing more.
"""
_WITH_IDS = 50  # exchanges that become candidates because they contain an id of the query
_COUNTED = 20_000  # a word in more exchanges is not worth counting further, however many there are
_OF_DAY = 12  # exchanges of a day that a query names
_MATCHES = 5
_EXCERPT_ROOM = 60  # tokens of an excerpt for a person
LEAST = 40  # the least number of characters that an excerpt is cut to


def search_all(
    library: Library,
    text: str,
    wanted: SessionFilter,
    limit: int,
    semantic: SemanticIndex | None = None,
    *,
    standalone: bool = False,
) -> Answer[list[Hit]]:
    """Return at most `limit` exchanges of the wanted sessions that fit, best first: those of the
    folder and those of the library that it shares. A `standalone` search numbers the hits, and
    leaves a process behind that embeds. Raises SessionError.
    """
    if library.shared is None and not library.directory.exists():
        return Answer([])
    if semantic is not None and _has_words(text):
        semantic.prepare(text)
    limit = max(0, limit)
    others = Answer[list[Hit]]([])
    page = None
    if library.shared is not None:
        others = library.shared.search(text, wanted, limit, semantic)
        page, _ = library.numbered_page() if standalone else Answer(None)

    def ask(index: Index) -> list[Hit]:
        hits = find(index, text, Scope(conditions=wanted.conditions()), limit, semantic)
        hits = fused(hits, others.value)[:limit]
        if standalone and hits:
            numbers = {one: number for number, one in enumerate(listed_in(index, page), 1)}
            hits = [replace(hit, listed=numbers.get(hit.row.id)) for hit in hits]
        if standalone and semantic is not None and not semantic.problem:
            start_process(index, NO_PARENT)
        return hits

    if not library.directory.exists():
        return others
    try:
        hits, warning = library.ask(ask)
    except SessionError:
        if library.shared is None:
            raise
        return others
    return Answer(hits, warning or others.warning)


def find(
    corpus: Corpus, text: str, scope: Scope, limit: int, semantic: SemanticIndex | None
) -> list[Hit]:
    """Return at most `limit` exchanges in a scope that fit, best first."""
    return _hits(corpus, search(corpus, text, semantic, scope)[:limit])


def search_chain(
    index: Corpus,
    text: str,
    last_queries: Mapping[str, int],
    depth: int,
    limit: int,
    without: Collection[str] = (),
    semantic: SemanticIndex | None = None,
) -> list[Hit]:
    """Return at most `limit` exchanges that fit, best first, except the references in `without`.
    `last_queries` has the ancestors of a session at `depth`, nearest first, and their last queries.
    """
    depth = max(depth, len(last_queries) + 1)
    depths = {identity: depth - back for back, identity in enumerate(last_queries, 1)}
    scope = Scope(last_queries=last_queries)
    ranked = search(index, text, semantic, scope)[: limit + len(without)]
    hits = _hits(index, ranked, depths)
    return [hit for hit in hits if hit.exchange.ref not in without][:limit]


def search(
    index: Corpus,
    text: str,
    semantic: SemanticIndex | None = None,
    scope: Scope = EVERYTHING,
) -> list[RankedExchange]:
    """Return the exchanges found by words and, if there is a model, by meaning, best first."""
    question = _question(index, text)
    candidates = _candidates(index, question, scope)
    nearness = {}
    if semantic is not None and _has_words(text):
        nearness = semantic.near(index, text, candidates, scope)
    positions = dict.fromkeys((*candidates, *nearness))
    matches = ranking.match(question, index.words_at(positions))
    alone = ranking.rank(question, matches, positions)
    likely = nearness.keys() | {found.position for found in alone[:_CLOSE]}
    around = {(session, position + step) for session, position in likely for step, _ in AROUND}
    matches |= ranking.match(question, index.words_at(around - matches.keys()))
    ranked = ranking.rank(question, matches, [each for each in positions if each in likely])
    ranked += [found for found in alone if found.position not in likely]
    ranked = [found for found in ranked if found.sentences or found.position in nearness]
    if nearness:
        ranked = ranking.fuse(ranked, nearness)
    if named := days.named(text):
        ranked = ranking.with_day(ranked, index.said_on(named, scope, _OF_DAY))
    return ranked


def _has_words(text: str) -> bool:
    """Return False for a query of ids only, which has no meaning to search by."""
    everything = terms.terms(text)
    asked = terms.drop_common(everything) or everything
    return any(not (term.exact or term.of) for term in asked)


def matches_of(scored: RankedExchange, texts: Texts) -> tuple[TextRange, ...]:
    """Return the matches of the sentences of an exchange that fit best, at most _MATCHES."""
    matches = [
        TextRange(part, sentence.start, sentence.end)
        for part, (_, text) in enumerate(texts)
        for sentence in sentences(text)
    ]
    numbers = [sentence.number for sentence in scored.sentences if sentence.number < len(matches)]
    return tuple(matches[number] for number in numbers[:_MATCHES])


def excerpt(text: str, matches: Sequence[TextRange], room: int, count: Callable[[str], int]) -> str:
    """Cut a text to about `room` tokens around its first match, or without one to its beginning."""
    tokens = count(text)
    if tokens <= room:
        return text.strip()
    size = max(LEAST, len(text) * max(room, 1) // max(tokens, 1))
    match = matches[0] if matches else TextRange(0, 0, 0)
    while True:
        start = max(0, match.start - max(0, size - (match.end - match.start)) // 2)
        end = min(len(text), start + size)
        if start:
            start = text.find(" ", start, min(start + 30, end)) + 1 or start
        if end < len(text):
            blank = text.rfind(" ", max(end - 30, start), end)
            end = blank if blank >= 0 else end
        before = "… " if start else ""
        after = " …" if end < len(text) else ""
        cut = f"{before}{text[start:end].strip()}{after}"
        if size <= LEAST or count(cut) <= room:
            return cut
        size = max(LEAST, size * 4 // 5)


def excerpts_of(hit: Hit, count: Callable[[str], int]) -> list[tuple[str, str]]:
    """Return speakers and excerpts of a hit: around its matches or, without any, the beginnings."""
    excerpts = []
    for part, (who, text) in enumerate(hit.texts):
        matches = [match for match in hit.matches if match.part == part]
        if text.strip() and (matches or (part < 2 and not hit.matches)):
            excerpts.append((who, excerpt(text, matches, _EXCERPT_ROOM, count)))
    return excerpts


def _hits(
    index: Corpus, ranked: Sequence[RankedExchange], depths: Mapping[str, int] | None = None
) -> list[Hit]:
    """Return the ranked exchanges as hits, at `depths` if given. Raises IndexUnavailable."""
    stored = index.exchanges_at(exchange.position for exchange in ranked)
    rows = index.rows([*{exchange.id for exchange in stored.values()}])
    hits = []
    for exchange in ranked:
        if exchange.position not in stored or stored[exchange.position].id not in rows:
            continue
        identity, number, at, texts_json = stored[exchange.position]
        try:
            moment = datetime.fromisoformat(at)
            texts = TEXTS.decode(texts_json)
            (_, query), (_, reply) = texts[:2]
        except ValueError:
            raise index.damage() from None
        asked = Query(number=number, at=moment, text=query)
        answer = Reply(number=number, at=moment, text=reply) if reply else None
        row = rows[identity]
        matches = matches_of(exchange, texts)
        found = Exchange(asked, answer, depths[identity] if depths else row.depth)
        hits.append(Hit(found, texts, row, exchange.strength, matches))
    return hits


def _question(index: Corpus, text: str) -> SearchQuery:
    """Return the terms of a query, weighted by their rarity in the index."""
    everything = terms.terms(text)
    telling = terms.drop_common(everything)
    total = index.exchange_count()
    exact = [term for term in telling or everything if term.exact]
    present = {term.text for term in exact if index.count([Phrase(term.words)], 1)}
    asked = []
    for term in telling or everything:
        if term.of in present:  # `key`, if the index contains `s3.key`
            continue
        forms, match = _expressions(term, is_present=term.text in present)
        weight = ranking.rarity(total, index.count(forms, _COUNTED))
        if term.plain and term.text.isdigit():  # "give me 3 of them"
            weight /= 2
        asked.append(ranking.QueryTerm(term, weight, match))
    return SearchQuery(tuple(asked), not telling, total)


def _expressions(
    term: terms.Term, *, is_present: bool
) -> tuple[tuple[Phrase, ...], tuple[Phrase, ...]]:
    """Return the phrases for a term in its forms, and these with compounds and their parts. An id
    that is not `is_present` also matches longer ids that begin with it.
    """
    word = term.text
    is_beginning = term.exact and not is_present and len(term.text) >= 3
    forms: tuple[Phrase, ...] = (Phrase(term.words, is_beginning),)
    if not term.plain or not 4 <= len(word) <= terms.MAX_WORD:
        return forms, forms
    forms += (Phrase((word[: max(4, ceil(terms.ALIKE * len(word)))],), is_beginning=True),)
    parts = {part for at in range(4, len(word) - 2) for part in (word[:at], word[-at:])}
    reversed_word = Phrase((word[::-1],), is_beginning=True)
    return forms, (*forms, reversed_word, *(Phrase((part,)) for part in sorted(parts)))


def _candidates(index: Corpus, question: SearchQuery, scope: Scope) -> list[Position]:
    """Return the likeliest exchanges, and the newest with an id of the query, oldest first."""
    if not question.terms:
        return []
    # Among many, a word in every second exchange tells nothing, but costs a score for each.
    few = question.total <= _LIKELY
    telling = [asked for asked in question.terms if few or asked.weight > ranking.HALF]
    match = [(asked.match, asked.weight) for asked in telling or question.terms]
    by_rank = index.likely(match, scope, _LIKELY)
    around = {(session, position): score for _, session, position, score in by_rank}
    scores = {
        (at, session, position): max(
            score + weight * around.get((session, position + step), 0.0) for step, weight in AROUND
        )
        for at, session, position, score in by_rank
    }
    newest_first = sorted(scores, reverse=True)
    best = set(sorted(newest_first, key=lambda likely: -scores[likely])[:CANDIDATES])
    ids = [asked.match for asked in question.terms if asked.term.exact]
    for phrases in ids:
        found = index.newest(phrases, scope, max(1, _WITH_IDS // len(ids)))
        best.update((at, session, position) for at, session, position, _ in found)
    return [(session, position) for _, session, position in sorted(best)]
