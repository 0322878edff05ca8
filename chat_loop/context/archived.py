"""The sentences that stand in the archive only (pure)."""

from __future__ import annotations

from collections.abc import Iterable

from chat_loop.context.ledger import harvest, items, unsaid
from chat_loop.context.messages import Thread
from chat_loop.redact import redacted
from chat_loop.sessions.records import Exchange, Summary


def only_archived(before: Iterable[Exchange], now: Thread) -> tuple[str, ...]:
    """Return the sentences of the exchanges `before` that hold exact values and do not stand in
    the thread `now`, with references.
    """
    known = frozenset(exchange.ref for exchange in now.exchanges)
    lines = [item.text for item in items(now.inherited or Summary())]
    lines += [*now.pins, *(fact.text for fact in harvest(now.exchanges))]
    whole = frozenset(lines)
    facts = harvest(exchange for exchange in before if exchange.ref not in known)
    missing = unsaid([fact for fact in facts if redacted(fact.text) not in whole], lines)
    return tuple(f"{fact.text} [{fact.ref}]" for fact in missing)
