"""What a compaction left behind (pure): sentences that stand in the archive only."""

from __future__ import annotations

from chat_loop.context.thread import Thread
from chat_loop.facts import exact, extract


def only_archived(before: Thread, after: Thread) -> tuple[str, ...]:
    """The sentences of the thread `before` whose exact values are nowhere in the thread `after`, with references."""
    restoration = after.session.restoration
    texts = [restoration.block if restoration is not None else ""]
    for exchange in after.exchanges:
        texts += [exchange.query.text, exchange.reply.text if exchange.reply is not None else ""]
    known = {exact.normal(value) for text in texts for value in exact.values(text)}
    return tuple(
        f"{found.text} [{found.ref}]"
        for found in extract.harvest(before.exchanges)
        if any(exact.normal(value) not in known for value in found.values)
    )
