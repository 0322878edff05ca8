"""Prices in US dollars and windows, from genai-prices. In November 2026 it was right for Anthropic,
OpenAI, Google and xAI; models of others only have a price if the user sets one.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from itertools import product
from pathlib import Path

import msgspec

from chat_loop.config import Config
from chat_loop.providers.capabilities import bare_name, longest_prefix, tokens_in
from chat_loop.values import Usage

VENDORS = msgspec.json.decode(
    Path(__file__).with_name("vendors.json").read_bytes(), type=dict[str, str]
)
"""Prefix of a model's name -> the provider that makes it; "" for open weights."""
VERIFIED = ("anthropic", "openai", "gemini", "grok")  # vendors whose prices were checked
SELLERS = {"bedrock": "aws", "gemini": "google", "grok": "x-ai"}  # their names in the library


def vendor_of(model: str) -> str:
    """Return the provider that makes a model, or "" if it is not known."""
    return VENDORS.get(longest_prefix(model, VENDORS) or "", "")


def costs(config: Config) -> Callable[[str, Usage], float | None]:
    """Return a function from provider:model and usage to US dollars, or None if unknown."""

    def cost_of(reference: str, usage: Usage) -> float | None:
        provider, _, name = reference.partition(":")
        model = config.models.get(name)
        if model is None or model.input_price is None or model.output_price is None:
            return cost(usage, name, provider)
        return (usage.input * model.input_price + usage.output * model.output_price) / 1_000_000

    return cost_of


def cost(usage: Usage, model: str, provider: str = "") -> float | None:
    """Return the cost of one call in US dollars, or None if it is unknown."""
    if provider in ("local", "scripted"):
        return 0.0
    vendor = vendor_of(model)
    if vendor not in VERIFIED:
        return None
    import genai_prices  # 40 to 120 ms

    cached = min(usage.cached, usage.input)
    tokens = genai_prices.Usage(
        input_tokens=usage.input,
        cache_read_tokens=cached,
        cache_write_tokens=min(usage.written, usage.input - cached),
        output_tokens=usage.output,
    )
    seller = SELLERS.get(vendor, vendor)
    try:
        priced = genai_prices.calc_price(tokens, bare_name(model), provider_id=seller)
    except LookupError:
        return None
    if priced.model_price.input_mtok is None or priced.model_price.output_mtok is None:
        return None  # not priced by tokens, such as speech
    return float(priced.total_price)


def listed_window(model: str, provider: str) -> int:
    """Return the window in tokens as listed for the model's seller or its vendor, or else 0."""
    from genai_prices import data_snapshot

    snapshot = data_snapshot.get_snapshot()
    sellers = (SELLERS.get(name, name) for name in (provider, vendor_of(model)) if name)
    for seller, name in product(sellers, dict.fromkeys((model, bare_name(model)))):
        with suppress(LookupError):
            window = snapshot.find_provider_model(name, None, seller, None)[1].context_window
            if window:
                return tokens_in(window)
    return 0
