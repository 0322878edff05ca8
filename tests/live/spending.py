"""The tokens that the live checks used, by service and model, and their price."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from chat_loop.config import Config
from chat_loop.providers.prices import costs
from chat_loop.values import Usage

_USED: dict[tuple[str, str], list[Usage]] = defaultdict(list)


def add(service: str, model: str, usage: Usage) -> None:
    _USED[service, model].append(usage)


def report() -> Iterator[str]:
    """Yield a line for each service that was called."""
    cost = costs(Config())
    for (service, model), usages in _USED.items():
        tokens = (
            f"{sum(one.input for one in usages):,} in, {sum(one.output for one in usages):,} out"
        )
        prices = [cost(f"{service}:{model}", usage) for usage in usages]
        known = [price for price in prices if price is not None]
        price = f"${sum(known):.4f}" if len(known) == len(prices) else "price unknown"
        yield f"{service}:{model}: {len(usages)} calls, {tokens}, {price}"
