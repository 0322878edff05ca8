"""What a model costs, in US dollars, and the window it is listed with. The only door to
genai-prices.

Prices change, some on dates announced ahead, so they are that library's, which follows the vendors'
own pages and is released every week or so; nothing is fetched when it is asked. Compared in
November 2026 with what the pages of Anthropic, OpenAI, Google (Gemini API) and xAI said, in part as
others quote them, it was right for their current models, long prompts and dated changes included.
For others it was not always, so other vendors' models have no price here unless the user sets one.
Without the library no model has one.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from itertools import product
from types import MappingProxyType
from typing import TYPE_CHECKING

from msgspec import Struct

from chat_loop.providers.capabilities import bare_name, longest_prefix, tokens_in
from chat_loop.values import Usage

if TYPE_CHECKING:
    from decimal import Decimal

    from genai_prices.types import ModelPrice, TieredPrices

VENDORS: Mapping[str, str] = MappingProxyType(
    {
        "claude-": "anthropic",
        "gpt-": "openai",
        "gpt-oss": "",
        "chatgpt-": "openai",
        "ft:gpt-": "openai",
        "o1": "openai",
        "o3": "openai",
        "o4": "openai",
        "gemini-": "google",
        "grok-": "x-ai",
    }
)
"""Prefix of a model's name -> who sells it, by the library's name; "" for open weights, which every
server sells.
"""

_NONE: Mapping[str, Price] = MappingProxyType({})


class Price(Struct, frozen=True, kw_only=True):
    """What a model costs, in US dollars per million tokens."""

    input: float
    output: float
    cached_input: float | None = None
    """Of prompt tokens read from the provider's cache; None where they cost what the others do."""
    cache_write: float | None = None
    """Of prompt tokens written to the cache, for the shortest time offered; None as above."""
    longer: tuple[tuple[int, Price], ...] = ()
    """(tokens, price): the price of all of a call's tokens when its prompt has more tokens than
    that, ascending.
    """


FREE = Price(input=0.0, output=0.0)


def price_of(
    model: str,
    provider: str = "",
    overrides: Mapping[str, Price] = _NONE,
    *,
    at: datetime | None = None,
) -> Price | None:
    """The price of `model`: its exact name in `overrides`, nothing for a local one, else its
    vendor's; None if unknown.

    `provider`: its name, such as `local`. Case and what stands before the last slash do not matter
    to the vendor, whose list price is taken for whatever server answers. `at`: when, with a time
    zone; None is now. The first call loads the library, which takes 40 ms after an SDK has been
    loaded and 120 ms before.
    """
    if model in overrides:
        return overrides[model]
    if provider in ("local", "scripted"):
        return FREE
    prefix = longest_prefix(model, VENDORS)
    vendor = VENDORS[prefix] if prefix else ""
    if not vendor:
        return None
    try:
        import genai_prices  # slow to load, and not needed before the first reply
    except ImportError:
        return None
    try:
        known = genai_prices.calc_price(
            genai_prices.Usage(), bare_name(model), provider_id=vendor, genai_request_timestamp=at
        )
    except LookupError:
        return None
    return _price(known.model_price)


SELLERS: Mapping[str, str] = MappingProxyType(
    {"bedrock": "aws", "gemini": "google", "grok": "x-ai"}
)
"""Provider -> its name in the library, where that is another one."""


def known_window(model: str, provider: str) -> int:
    """The window of `model` in tokens as the library lists it: by who sells it, else by whose it
    is; 0 for neither.
    """
    prefix = longest_prefix(model, VENDORS)
    sellers = (SELLERS.get(provider, provider), VENDORS[prefix] if prefix else "")
    try:
        from genai_prices.data_snapshot import get_snapshot  # as above
    except ImportError:
        return 0
    snapshot = get_snapshot()
    for seller, name in product(filter(None, sellers), dict.fromkeys((model, bare_name(model)))):
        try:
            window = snapshot.find_provider_model(name, None, seller, None)[1].context_window
        except LookupError:
            continue
        if window:
            return tokens_in(window)
    return 0


def cost(usage: Usage, price: Price | None) -> float | None:
    """What one call cost in US dollars; None when the price is unknown.

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
    parts = (
        plain * price.input,
        usage.cached * cached,
        usage.written * write,
        usage.output * price.output,
    )
    return sum(parts) / 1_000_000


def _price(listed: ModelPrice) -> Price | None:
    """The library's price as ours; None where it is not by tokens, as for speech."""
    if listed.input_mtok is None or listed.output_mtok is None:
        return None
    fields = (
        listed.input_mtok,
        listed.output_mtok,
        listed.cache_read_mtok,
        listed.cache_write_mtok,
    )
    starts = sorted({tier.start for field in fields for tier in getattr(field, "tiers", ())})
    return _level(listed, 0, tuple((start, _level(listed, start + 1)) for start in starts))


def _level(listed: ModelPrice, tokens: int, longer: tuple[tuple[int, Price], ...] = ()) -> Price:
    """The price of a prompt of so many tokens."""
    return Price(
        input=_amount(listed.input_mtok, tokens) or 0.0,
        output=_amount(listed.output_mtok, tokens) or 0.0,
        cached_input=_amount(listed.cache_read_mtok, tokens),
        cache_write=_amount(listed.cache_write_mtok, tokens),
        longer=longer,
    )


def _amount(listed: Decimal | TieredPrices | None, tokens: int) -> float | None:
    from decimal import Decimal  # loaded with the library

    if listed is None or isinstance(listed, Decimal):
        return None if listed is None else float(listed)
    return float(
        next((tier.price for tier in reversed(listed.tiers) if tokens > tier.start), listed.base)
    )
