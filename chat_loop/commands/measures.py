"""What each exchange of a chain took (pure), for the plots of stats."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from chat_loop.sessions.records import Reply, Session


class Measures(Struct, frozen=True):
    """For each reply of a chain with a known usage: the tokens that it took with all its steps, and
    what the context held after it. `compacted` are the indices of the first ones after a
    compaction; their number, when none came yet.
    """

    tokens: tuple[int, ...]
    context: tuple[int, ...]
    compacted: tuple[int, ...]


def measures(sessions: Sequence[Session]) -> Measures:
    """Measure the sessions of a chain, the oldest first. Undone exchanges count: their tokens were
    spent.
    """
    tokens: list[int] = []
    context: list[int] = []
    compacted: list[int] = []
    for session in sessions:
        places: dict[int, int] = {}
        for entry in session.entries:
            if not isinstance(entry, Reply) or not entry.number or entry.usage is None:
                continue
            if entry.number not in places:
                places[entry.number] = len(tokens)
                tokens.append(0)
                context.append(0)
            at, usage = places[entry.number], entry.usage
            tokens[at] += usage.total
            context[at] = usage.input + usage.output - usage.reasoning  # as the budget counts
        if session.seal is not None and session.seal.compaction is not None:
            compacted.append(len(tokens))
    return Measures(tuple(tokens), tuple(context), tuple(compacted))
