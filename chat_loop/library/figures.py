"""The sessions of a folder in numbers."""

from __future__ import annotations

from chat_loop.library.index import Index
from chat_loop.library.lineage import chains

_FIGURES = {
    "sessions": "SELECT count(*) FROM sessions",
    "conversations": "",
    "queries": "SELECT coalesce(sum(queries), 0) FROM sessions",
    "tokens": "SELECT coalesce(sum(tokens), 0) FROM sessions",
    "bytes": "SELECT coalesce(sum(size), 0) FROM sessions",
    "exchanges_in_archives": "SELECT count(*) FROM exchanges WHERE archived = 1",
    "summaries": "SELECT count(*) FROM message_summaries",
    "tokens_of_summaries": "SELECT coalesce(sum(tokens), 0) FROM message_summaries",
    "compactions": "SELECT count(*) FROM compactions",
    "tokens_saved_by_compactions": "SELECT coalesce(sum(max(before - after, 0)), 0) FROM "
    "compactions",
    "cost_of_compactions": (
        "SELECT CASE WHEN count(cost) < count(*) THEN NULL ELSE coalesce(sum(cost), 0.0) END "
        "FROM compactions"
    ),
}
NAMES = tuple(_FIGURES)


def figures(index: Index) -> dict[str, int | float | None]:
    """Return the numbers by name: counts, tokens, bytes, and US dollars as a float, None where a
    price is unknown.

    Raises IndexUnavailable.
    """
    links = {identity: known.link for identity, known in index.known().items()}
    return {
        name: index.ask(question)[0][0] if question else len(chains(links))
        for name, question in _FIGURES.items()
    }
