"""What of an exchange is embedded (pure), so that it can be found by what it means.

What a person tells in passing is a sentence among others, and one vector of the whole loses it: so
each sentence of a query is a passage. A reply is cut into passages that the model reads whole, each
behind the beginning of its query, which says what it is about. What was said before or after an
exchange makes it harder to find, not easier. Results of tools are left to full text: they are long,
and are asked for by what stands in them.
"""

from __future__ import annotations

from collections.abc import Iterator

from chat_loop.search.sentences import spans
from chat_loop.sessions.records import Exchange

VERSION = 1
"""Changes whenever the passages of an exchange do."""
_FIRST, _LAST = 4, 2
"""Sentences at a query's beginning and at its end: between them stands what was pasted."""
_PARTS = 6
_PART = 450
_ABOUT = 120
_LONGEST = 1_000
"""Characters: a sentence without blanks is as long as it likes."""


def passages(exchange: Exchange) -> tuple[str, ...]:
    """The texts that stand for an exchange: at most 12 of 1,000 characters at most, in order, none
    empty or twice.
    """
    query, reply = exchange.query.text, exchange.reply.text if exchange.reply is not None else ""
    said = [query[start:end] for start, end in spans(query)]
    if len(said) > _FIRST + _LAST:
        said = [*said[:_FIRST], *said[-_LAST:]]
    about = query[:_ABOUT]
    found = [*said, *(f"{about}\n{part}" for part in _parts(reply))]
    return tuple(dict.fromkeys(passage.strip()[:_LONGEST] for passage in found))


def _parts(reply: str) -> Iterator[str]:
    """The beginning of a reply in a few pieces that end where sentences do."""
    first = last = count = 0
    for start, end in spans(reply):
        if last and end - first > _PART:
            yield reply[first:last]
            count += 1
            if count == _PARTS:
                return
            last = 0
        first, last = first if last else start, end
    if last:
        yield reply[first:last]
