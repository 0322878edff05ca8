"""The prices of models in US dollars, and their windows as listed. The only door to genai-prices.

Prices change, some on dates announced ahead, so they are that library's, which follows the vendors'
own pages; nothing is fetched when it is asked. Compared in November 2026 with the pages of
Anthropic, OpenAI, Google and xAI it was right for their current models. For others it was not
always, so other vendors' models have no price here unless the user sets one.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from itertools import product
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from chat_loop.providers.capabilities import bare_name, longest_prefix, tokens_in
from chat_loop.values import Usage

if TYPE_CHECKING:
    from genai_prices.types import ModelPrice

VENDORS: Mapping[str, str] = MappingProxyType(
    {
        "claude-": "anthropic",
        "gpt-": "openai",
        "gpt-oss": "",
        "chatgpt-": "openai",
        "ft:gpt-": "openai",
        **dict.fromkeys(("o1", "o3", "o4"), "openai"),
        "gemini-": "google",
        "grok-": "x-ai",
    }
)
"""Prefix of a model's name -> who sells it, by the library's name; "" for open weights, which every
server sells.
"""
SELLERS: Mapping[str, str] = MappingProxyType(
    {"bedrock": "aws", "gemini": "google", "grok": "x-ai"}
)
"""Provider -> its name in the library, where that is another one."""


class Price(Struct, frozen=True, kw_only=True):
    """The price of a model, in US dollars per million tokens."""

    input: float
    output: float
    cached_input: float | None = None
    """Of prompt tokens read from the provider's cache; None where they cost what the others do."""
    cache_write: float | None = None
    """Of prompt tokens written to the cache, for the shortest time offered; None as above."""
    longer: tuple[tuple[int, Price], ...] = ()
    """(tokens, price): the price of all tokens of a call whose prompt has more, ascending."""


FREE = Price(input=0.0, output=0.0)


def price_of(
    model: str,
    provider: str = "",
    overrides: Mapping[str, Price] = MappingProxyType({}),
    *,
    at: datetime | None = None,
) -> Price | None:
    """Return the price of `model`: its exact name in `overrides`, nothing for a local one, else its
    vendor's, whatever server answers; None if unknown.

    `at`: when, with a time zone; None is now. The first call loads the library, 40 to 120 ms.
    """
    if model in overrides:
        return overrides[model]
    if provider in ("local", "scripted"):
        return FREE
    vendor = VENDORS.get(longest_prefix(model, VENDORS) or "", "")
    if not vendor:
        return None
    try:
        import genai_prices  # slow to load, and not needed before the first reply

        listed = genai_prices.calc_price(
            genai_prices.Usage(), bare_name(model), provider_id=vendor, genai_request_timestamp=at
        ).model_price
    except (ImportError, LookupError):
        return None
    if listed.input_mtok is None or listed.output_mtok is None:
        return None  # not by tokens, as for speech
    names = ("input_mtok", "output_mtok", "cache_read_mtok", "cache_write_mtok")
    fields = (getattr(listed, name) for name in names)
    starts = sorted({tier.start for field in fields for tier in getattr(field, "tiers", ())})
    return _level(listed, 0, tuple((start, _level(listed, start + 1)) for start in starts))


def _level(listed: ModelPrice, tokens: int, longer: tuple[tuple[int, Price], ...] = ()) -> Price:
    """Return the price of a prompt of so many tokens."""

    def amount(field: Any) -> float | None:  # a Decimal, TieredPrices or None
        for tier in reversed(getattr(field, "tiers", ())):
            if tokens > tier.start:
                return float(tier.price)
        base = getattr(field, "base", field)
        return None if base is None else float(base)

    return Price(
        input=amount(listed.input_mtok) or 0.0,
        output=amount(listed.output_mtok) or 0.0,
        cached_input=amount(listed.cache_read_mtok),
        cache_write=amount(listed.cache_write_mtok),
        longer=longer,
    )


def known_window(model: str, provider: str) -> int:
    """Return the window of `model` in tokens as listed by who sells it, else by whose it is; 0 for
    neither.
    """
    vendor = VENDORS.get(longest_prefix(model, VENDORS) or "", "")
    sellers = filter(None, (SELLERS.get(provider, provider), vendor))
    try:
        from genai_prices.data_snapshot import get_snapshot  # as above
    except ImportError:
        return 0
    snapshot = get_snapshot()
    for seller, name in product(sellers, dict.fromkeys((model, bare_name(model)))):
        try:
            window = snapshot.find_provider_model(name, None, seller, None)[1].context_window
        except LookupError:
            continue
        if window:
            return tokens_in(window)
    return 0


def cost(usage: Usage, price: Price | None) -> float | None:
    """Return the cost of one call in US dollars; None when the price is unknown.

    The costs of calls add up; the cost of added usages is another where long prompts have prices of
    their own.
    """
    if price is None:
        return None
    for tokens, other in price.longer:
        if usage.input > tokens:
            price = other
    cached = price.input if price.cached_input is None else price.cached_input
    write = price.input if price.cache_write is None else price.cache_write
    plain = max(0, usage.input - usage.cached - usage.written)
    whole = plain * price.input + usage.cached * cached
    return (whole + usage.written * write + usage.output * price.output) / 1_000_000
