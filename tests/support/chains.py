"""The exchanges of a whole chain."""

from __future__ import annotations

from msgspec.structs import replace

from chat_loop.sessions.chain import Chain
from chat_loop.sessions.records import Exchange


def chain_exchanges(chain: Chain, depth: int) -> tuple[tuple[Exchange, ...], ...]:
    """Return the exchanges of each ancestor, the oldest first, with the depths of references."""
    depth = max(depth, len(chain.ancestors) + 1)
    return tuple(
        tuple(replace(exchange, depth=depth - back) for exchange in loaded.session.exchanges)
        for back, loaded in reversed([*enumerate(chain.ancestors, 1)])
    )
