"""The sentences that stand in the archive only (pure)."""

from __future__ import annotations

from collections.abc import Iterable

from chat_loop.context.cover import Said, read_line
from chat_loop.context.ledger import items
from chat_loop.context.messages import Thread
from chat_loop.facts import extract
from chat_loop.redact import redacted
from chat_loop.sessions.records import Exchange, Summary


def only_archived(before: Iterable[Exchange], now: Thread) -> tuple[str, ...]:
    """The sentences of the exchanges `before` that hold exact values and do not stand in the thread
    `now`, with references.
    """
    known = frozenset(exchange.ref for exchange in now.exchanges)
    lines = [item.text for item in items(now.inherited or Summary())]
    lines += [*now.pins, *(found.text for found in extract.harvest(now.exchanges))]
    whole = frozenset(lines)
    said = Said[str]()
    for line in lines:
        said.add(read_line(line), line)
    return tuple(
        f"{found.text} [{found.ref}]"
        for found in extract.harvest([exchange for exchange in before if exchange.ref not in known])
        if found.values
        and not {found.text, redacted(found.text)} & whole
        and said.where(read_line(found.text)) is None
    )
