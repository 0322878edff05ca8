"""What the sessions of a folder come to, in numbers."""

from __future__ import annotations

from chat_loop.library.index import Index

_FIGURES = {
    "sessions": "SELECT count(*) FROM sessions",
    "conversations": (
        "SELECT count(*) FROM sessions s "
        "WHERE NOT EXISTS (SELECT 1 FROM sessions c WHERE c.parent = s.id AND c.id != s.id)"
    ),
    "queries": "SELECT coalesce(sum(queries), 0) FROM sessions",
    "tokens": "SELECT coalesce(sum(tokens), 0) FROM sessions",
    "bytes": "SELECT coalesce(sum(size), 0) FROM sessions",
    "exchanges_in_archives": "SELECT count(*) FROM exchanges WHERE archived = 1",
    "summaries": "SELECT count(*) FROM message_summaries",
    "tokens_of_summaries": "SELECT coalesce(sum(tokens), 0) FROM message_summaries",
    "compactions": "SELECT count(*) FROM compactions",
    "tokens_saved_by_compactions": "SELECT coalesce(sum(max(before - after, 0)), 0) FROM compactions",
    "cost_of_compactions": "SELECT coalesce(sum(cost), 0.0) FROM compactions",
}
NAMES = tuple(_FIGURES)


def figures(index: Index) -> dict[str, int | float]:
    """The numbers by name: counts, tokens, bytes, and US dollars as a float. Raises IndexTrouble."""
    return {name: index.ask(question)[0][0] for name, question in _FIGURES.items()}
