"""The archive's texts for a model (pure): hits of a search, queries to read, and what is attached
to a new query unasked.

Texts are as they were said; `…` marks what is left out. Sizes are in tokens as `count` estimates
them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence

from chat_loop.library.search import Hit, Place, texts
from chat_loop.library.terms import asks
from chat_loop.sessions.records import Exchange
from chat_loop.text import sentences

Count = Callable[[str], int]

MOST_HITS = 5
ROOM = 1_500
RECALL_ROOM = 400
STRONG = 0.36
"""Hits below this strength are not attached to a query on their own account."""
_MOST_RECALLED = 3
_SENTENCE_ROOM = 90
_BESIDE = 0.3
"""The share of room for a text in which nothing matches; a text with a match gets 1."""
_CHARACTERS = 8
"""More than these make a token in hardly any text."""
_CUT_ROOM = 30
"""Tokens for the note that a text was cut."""
_LEAST = 40
"""Characters that an excerpt has at least."""

NOTHING = (
    "Nothing in the archive matches {0}. It may have been said in other words: search for "
    "other words."
)
_FOUND = "Found in the archive of this conversation, best first, as it was said:"
_RECALLED = (
    "Found automatically earlier in this conversation; it may be superseded or beside the point:"
)
_FORMS = (
    'Give the number of a query such as "14", a range such as "12-16", or a reference such '
    'as "2.14".'
)
_REQUEST = re.compile(
    r"\W{0,9}(?:([0-9]{1,6})\.)?([0-9]{1,6})(?: {0,3}[-–—] "
    r"{0,3}(?:([0-9]{1,6})\.)?([0-9]{1,6})|:([0-9]{1,4}))?\W{0,9}"
)


def found_text(hits: Sequence[Hit], room: int, count: Count, asked: str = "") -> str:
    """Return a search's answer: at most MOST_HITS exchanges in at most `room` tokens."""
    hits = hits[:MOST_HITS]
    if not hits:
        return NOTHING.format(f"“{_short(asked)}”" if asked.strip() else "that")
    while True:
        share = room
        while share >= _LEAST:
            text = "\n\n".join(
                (_FOUND, *(_hit_text(hit, share // len(hits), count) for hit in hits))
            )
            if count(text) <= room:
                return text
            share = share * 4 // 5
        if len(hits) == 1:
            return text
        hits = hits[:-1]


def recall_text(
    hits: Iterable[Hit], count: Count, room: int = RECALL_ROOM, known: str = ""
) -> tuple[str, tuple[str, ...]]:
    """Return what to attach to a new query, and the references that it is from.

    It is the best sentences of strong hits; without any, `("", ())`. What stands word for word in
    `known`, the restored block, is not said again. What tools gave back is never attached.
    """
    strong = [hit for hit in hits if hit.strength >= STRONG and hit.places]
    best = max((hit.strength for hit in strong), default=0.0)
    lines = [_RECALLED]
    refs: list[str] = []
    for hit in strong:
        line = _recalled(hit, count) if hit.strength >= 0.7 * best else ""
        if (
            line
            and not _is_known(line, "\n".join((known, *lines)))
            and len(refs) < _MOST_RECALLED
            and count("\n".join((*lines, line))) <= room
        ):
            lines.append(line)
            refs.append(hit.exchange.ref)
    return ("\n".join(lines), tuple(refs)) if refs else ("", ())


def _is_known(line: str, known: str) -> bool:
    """Tell whether everything that a line quotes stands in `known`."""
    quoted = line.partition("“")[2].rpartition("”")[0]
    return bool(quoted) and all(
        piece.strip() in known for piece in quoted.split("…") if piece.strip()
    )


def read_text(exchanges: Sequence[Exchange], request: str, room: int, count: Count) -> str:
    """Return queries of the previous session as they were said.

    What does not fit is left for a next call, which is named. `request` is "14", "12-16", "2.14",
    or "14:2" for the second part of a query that is too long for one answer.
    """
    if not exchanges:
        return "There is no previous session to read."
    numbers = [exchange.query.number for exchange in exchanges]
    there = f"The previous session has queries {min(numbers)} to {max(numbers)}."
    match = _REQUEST.fullmatch(request)
    if match is None:
        return f"{_FORMS} {there}"
    depth = exchanges[0].depth
    if any(match[group] is not None and int(match[group]) != depth for group in (1, 3)):
        return (
            f"Only the previous session can be read here, which is number {depth} of the chain. "
            f"{there} Search the archive for what is older."
        )
    first = int(match[2])
    last = int(match[4]) if match[4] is not None else first
    chosen = [
        exchange
        for exchange in exchanges
        if min(first, last) <= exchange.query.number <= max(first, last)
    ]
    if not chosen:
        return (
            f"There is no query {first}. {there}"
            if first == last
            else f"There are no such queries. {there}"
        )
    return _pages(chosen, int(match[5]) if match[5] is not None else 1, room, count)


def _pages(chosen: Sequence[Exchange], part: int, room: int, count: Count) -> str:
    room = max(room - _CUT_ROOM, room // 2)
    said: list[str] = []
    for at, exchange in enumerate(chosen):
        more = [*said, _spoken(exchange)]
        if _tokens("\n\n".join(more), room, count) > room:
            if said:
                return "\n\n".join((*said, _cut_here(_range(chosen[at:]))))
            return _part(chosen, part, room, count)
        said = more
    return "\n\n".join(said) if part == 1 else _no_part(chosen[0], 1)


def _part(chosen: Sequence[Exchange], part: int, room: int, count: Count) -> str:
    """Return the part-th piece of the first exchange, which is too long for one answer."""
    text, number = _spoken(chosen[0]), chosen[0].query.number
    pieces, fitting = 1, _fitting(text, room, count)
    while pieces < part and fitting < len(text):
        text = text[fitting:].lstrip()
        pieces, fitting = pieces + 1, _fitting(text, room, count)
    if pieces != part:
        return _no_part(chosen[0], pieces)
    rest = [f"{number}:{part + 1}"] if fitting < len(text) else []
    rest += [_range(chosen[1:])] if len(chosen) > 1 else []
    return "\n\n".join(
        (text[:fitting].rstrip(), *([_cut_here('", then "'.join(rest))] if rest else ()))
    )


def _no_part(exchange: Exchange, parts: int) -> str:
    return f"Query {exchange.query.number} has {parts} {'part' if parts == 1 else 'parts'}."


def _fitting(text: str, room: int, count: Count) -> int:
    """Return how many characters from the beginning fit, up to a blank if one is near."""
    size = min(len(text), _CHARACTERS * room)
    while size > _LEAST and (tokens := count(text[:size])) > room:
        size = max(_LEAST, min(size - 1, int(size * room / tokens)))
    if size == len(text):
        return size
    blank = max(text.rfind(" ", size * 3 // 4, size), text.rfind("\n", size * 3 // 4, size))
    return blank if blank > 0 else size


def _tokens(text: str, room: int, count: Count) -> int:
    """Return the tokens of a text, guessed where it is far too long for `room`."""
    return count(text) if len(text) <= 2 * _CHARACTERS * room else len(text) // 4


def _cut_here(rest: str) -> str:
    return f'(Cut here. Read "{rest}" for what follows.)'


def _range(exchanges: Sequence[Exchange]) -> str:
    numbers = [exchange.query.number for exchange in exchanges]
    return (
        ""
        if not numbers
        else str(numbers[0])
        if len(numbers) == 1
        else f"{numbers[0]}-{numbers[-1]}"
    )


def _spoken(exchange: Exchange) -> str:
    lines = (f"{who}: {text.strip()}" for who, text in texts(exchange) if text.strip())
    return "\n".join((_heading(exchange), *lines))


def _heading(exchange: Exchange, newer: str = "", *, related: bool = False) -> str:
    said = (
        f"[{exchange.ref}] "
        f"{exchange.query.at:%Y-%m-%d %H:%M}{' (related, in other words)' if related else ''}"
    )
    return f"{said} (newer mention: {newer})" if newer else said


def _hit_text(hit: Hit, room: int, count: Count) -> str:
    parts = []
    for part, (who, text) in enumerate(texts(hit.exchange)):
        places = [place for place in hit.places if place.part == part]
        if text.strip() and (places or part < 2):
            parts.append((part, who, text, places))
    heading = _heading(hit.exchange, hit.newer, related=hit.related)
    left = room - count(heading) - 4 * len(parts)
    weights = {part: 1.0 if places else _BESIDE for part, _, _, places in parts}
    lines: dict[int, str] = {}
    for part, who, text, places in sorted(parts, key=lambda one: len(one[2]) / weights[one[0]]):
        share = int(
            left
            * weights[part]
            / sum(weight for other, weight in weights.items() if other not in lines)
        )
        lines[part] = f"{who}: {excerpt(text, places, share, count)}"
        left -= count(lines[part])
    return "\n".join((heading, *(lines[part] for part in sorted(lines))))


def _recalled(hit: Hit, count: Count) -> str:
    """Return the best sentence of a hit, with the answer when it is a question of the user."""
    said = texts(hit.exchange)
    places = [place for place in hit.places if place.part < 2]
    if not places:
        return ""
    chosen = places[:1]
    if chosen[0].part == 0 and asks(_text(said, chosen[0])):
        answers = [place for place in places if place.part == 1]
        chosen += answers[:1] or [Place(1, one.start, one.end) for one in sentences(said[1][1])[:1]]
    quoted = (
        f"{said[place.part][0].lower()}: “{excerpt(_text(said, place), (), _SENTENCE_ROOM, count)}”"
        for place in chosen
    )
    newer = f" (newer mention: {hit.newer})" if hit.newer else ""
    return f"[{hit.exchange.ref}] {hit.exchange.query.at:%Y-%m-%d}, {'; '.join(quoted)}{newer}"


def _text(said: Sequence[tuple[str, str]], place: Place) -> str:
    return " ".join(said[place.part][1][place.start : place.end].split())


def excerpt(text: str, places: Sequence[Place], room: int, count: Count) -> str:
    """Cut a text to at most `room` tokens around its places; without any, to its beginning.

    The first places come first. A few words stay, however small the room is.
    """
    tokens = _tokens(text, room, count)
    if tokens <= room:
        return text.strip()
    size = max(_LEAST, len(text) * max(room, 1) // max(tokens, 1))
    while True:
        cut = _around(text, [(place.start, place.end) for place in places] or [(0, 0)], size)
        if size <= _LEAST or count(cut) <= room:
            return cut
        size = max(_LEAST, size * 4 // 5)


def _around(text: str, places: Sequence[tuple[int, int]], size: int) -> str:
    """Cut about `size` characters around as many places as fit into two thirds of them."""
    chosen = [(places[0][0], min(places[0][1], places[0][0] + size))]
    for start, end in places[1:]:
        if 3 * (end - start + sum(last - first for first, last in chosen)) <= 2 * size:
            chosen.append((start, end))
    margin = max(0, size - sum(end - start for start, end in chosen)) // (2 * len(chosen))
    windows: list[tuple[int, int]] = []
    for start, end in sorted(chosen):
        first, last = _snapped(text, start - margin, end + margin)
        if windows and first <= windows[-1][1] + 3:
            windows[-1] = (windows[-1][0], max(last, windows[-1][1]))
        else:
            windows.append((first, last))
    shown = " … ".join(text[start:end].strip() for start, end in windows)
    return f"{'… ' if windows[0][0] > 0 else ''}{shown}{' …' if windows[-1][1] < len(text) else ''}"


def _snapped(text: str, start: int, end: int) -> tuple[int, int]:
    """Shrink a span so that it cuts no word, where the words are not long."""
    start, end = max(start, 0), min(end, len(text))
    if start:
        blank = text.find(" ", start, min(start + 30, end))
        start = blank + 1 if blank >= 0 else start
    if end < len(text):
        blank = text.rfind(" ", max(end - 30, start), end)
        end = blank if blank >= 0 else end
    return start, end


def _short(text: str) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= 80 else f"{flat[:79]}…"
