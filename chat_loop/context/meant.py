"""The archive of a chain searched by meaning as well: its exchanges' vectors are those of the
library's index.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path

from chat_loop.library.file import IndexUnavailable
from chat_loop.library.index import Index
from chat_loop.library.meanings import Meanings, keys_of
from chat_loop.search.fuse import Found, exactly, fused, near_enough
from chat_loop.search.ranking import Hit, texts
from chat_loop.search.wordpiece import familiar
from chat_loop.sessions.records import Exchange

_NEAR = 60


def by_both(
    directory: Path,
    ids: Sequence[str],
    archived: Sequence[Sequence[Exchange]],
    question: str,
    hits: Sequence[Hit],
    meanings: Meanings,
    without: Collection[str],
) -> list[Hit]:
    """The hits of full text and what is near in meaning, in one order. `ids` are the sessions whose
    exchanges are `archived`. Without an index that can be used the hits stay as they are.
    """
    by_place = {
        (identity, position): exchange
        for identity, exchanges in zip(ids, archived, strict=False)
        for position, exchange in enumerate(exchanges, 1)
        if exchange.ref not in without
    }
    try:
        index = Index(directory)
        try:
            places = {key: place for key, place in keys_of(index, ids).items() if place in by_place}
            near = meanings.nearest(index, question, _NEAR, places.keys())
            known = meanings.has(index, places.keys()) if near else set()
        finally:
            index.close()
    except IndexUnavailable:
        return list(hits)
    by_ref = {hit.exchange.ref: hit for hit in hits}
    refs = {key: by_place[place].ref for key, place in places.items()}
    meant = near_enough(question, [(refs[key], similarity) for key, similarity in near], by_ref)
    exchanges = {exchange.ref: exchange for exchange in by_place.values()}
    by_ref = {ref: Hit(exchanges[ref], 0.0, 0.0) for ref, _ in meant} | by_ref
    worded = [
        Found(
            hit.exchange.ref,
            hit.score,
            hit.strength,
            exactly(question, (said for _, said in texts(hit.exchange))),
        )
        for hit in hits
    ]
    with_vectors = {refs[key] for key in known}
    unknown = {found.key for found in worded} - with_vectors
    return [
        by_ref[ref] for ref in fused(worded, meant, familiar=familiar(question), unknown=unknown)
    ]
