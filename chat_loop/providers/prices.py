"""Prices in US dollars and windows, from genai-prices. In November 2026 it was right for Anthropic,
OpenAI, Google and xAI; models of others only have a price if the user sets one.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from importlib.util import find_spec
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import msgspec
from msgspec import Meta, Struct

from chat_loop.config import Config
from chat_loop.errors import ChatLoopError
from chat_loop.providers.capabilities import bare_name, longest_prefix, tokens_in
from chat_loop.sessions.files import write_private
from chat_loop.values import Usage

if TYPE_CHECKING:
    from genai_prices.data_snapshot import DataSnapshot
    from genai_prices.types import PriceCalculation

VENDORS = msgspec.json.decode(
    Path(__file__).with_name("vendors.json").read_bytes(), type=dict[str, str]
)
"""Prefix of a model's name -> the provider that makes it; "" for open weights."""
VERIFIED = ("anthropic", "openai", "gemini", "grok")  # vendors whose prices were checked
MILLION = 1_000_000  # tokens
DAY = 86_400  # seconds
FREE = ("local", "scripted")  # providers
SELLERS = {"bedrock": "aws", "gemini": "google", "grok": "x-ai"}  # their names in the library


def vendor_of(model: str) -> str:
    """Return the provider that makes a model, or "" if it is not known."""
    return VENDORS.get(longest_prefix(model, VENDORS) or "", "")


Rate = Annotated[float, Meta(ge=0, le=1_000_000)]


class Rates(Struct, frozen=True):
    """The US dollars of a million tokens of each kind. In a call of more than `above` tokens of
    input, each costs more; 0: in none.
    """

    input: Rate
    cached: Rate
    written: Rate
    output: Rate
    above: Annotated[int, Meta(ge=0)] = 0

    def cost(self, usage: Usage) -> float:
        """Return the cost of one call in US dollars."""
        cached = min(usage.cached, usage.input)
        written = min(usage.written, usage.input - cached)
        total = (usage.input - cached - written) * self.input
        total += cached * self.cached
        total += written * self.written
        total += usage.output * self.output
        return total / MILLION


class _DayRates(Struct):
    """The rates of models that were looked up on one day, in one version of the library's data, by
    name. None means that a model has no price.
    """

    day: int  # since 1970
    data: tuple[int, int]
    rates: dict[str, Rates | None] = {}


class PriceList:
    """The rates of models. A `file` keeps those of a day, so that a list of conversations rarely
    waits until the library is loaded.
    """

    def __init__(self, file: Path | None = None) -> None:
        self._file = file
        self._known: _DayRates | None = None

    def cost(self, usage: Usage, model: str) -> float | None:
        """Return the cost of one call in US dollars, or None if it is unknown."""
        day = int(time.time() // DAY)  # a price changes on a date
        if self._known is None or self._known.day != day:
            self._known = self._read(day)
        known = self._known
        if model not in known.rates:
            priced = _priced(Usage(), model)
            known.rates[model] = None
            if priced is not None:
                known.rates[model] = _rates(model, _largest_usual(priced))
            if vendor_of(model) in VERIFIED:  # the library was loaded
                self._keep(known)
        if (rates := known.rates[model]) is None:
            return None
        if usage.input > rates.above > 0:
            return _dollars(usage, model)
        return rates.cost(usage)

    def _read(self, day: int) -> _DayRates:
        """Return the rates in the file if they are those of a day and of the installed library."""
        found = find_spec("genai_prices")  # does not load it
        known = _DayRates(day, (0, 0))
        with suppress(OSError, msgspec.MsgspecError, UnicodeDecodeError):
            if found is not None and found.origin is not None:
                status = Path(found.origin).with_name("data.py").stat()
                known.data = status.st_size, status.st_mtime_ns
            if self._file is not None:
                kept = msgspec.json.decode(self._file.read_bytes(), type=_DayRates)
                if (kept.day, kept.data) == (known.day, known.data):
                    return kept
        return known

    def _keep(self, known: _DayRates) -> None:
        if self._file is not None:
            with suppress(ChatLoopError):  # the next list looks them up again
                write_private(self._file, msgspec.json.encode(known))


def costs(config: Config, file: Path | None = None) -> Callable[[str, Usage], float | None]:
    """Return a function from provider:model and usage to US dollars, or None if unknown. A `file`
    keeps the day's prices.
    """
    prices = PriceList(file)

    def cost_of(reference: str, usage: Usage) -> float | None:
        provider, _, name = reference.partition(":")
        model = config.models.get(name)
        if model is None or model.input_price is None or model.output_price is None:
            return 0.0 if provider in FREE else prices.cost(usage, name)
        return (usage.input * model.input_price + usage.output * model.output_price) / MILLION

    return cost_of


def _priced(usage: Usage, model: str) -> PriceCalculation | None:
    """Return what the library says of one call, or None if it has no price by tokens."""
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
        return None  # such as speech
    return priced


def _largest_usual(priced: PriceCalculation) -> int:
    """Return the tokens above which each token of a call costs more, or 0."""
    starts: list[int] = []
    for price in vars(priced.model_price).values():
        if tiers := getattr(price, "tiers", None):  # others are one price, or none
            starts.append(tiers[0].start)
    return min(starts, default=0)


def _dollars(usage: Usage, model: str) -> float:
    """Return the cost of one call of a model that has a price."""
    priced = _priced(usage, model)
    return float(priced.total_price) if priced is not None else 0.0


def _rates(model: str, above: int) -> Rates:
    """Return the rates of a model in calls of at most `above` tokens; 0: in all calls."""
    size = above or MILLION

    def rate(usage: Usage) -> float:
        return _dollars(usage, model) * MILLION / size

    return Rates(
        input=rate(Usage(input=size)),
        cached=rate(Usage(input=size, cached=size)),
        written=rate(Usage(input=size, written=size)),
        output=rate(Usage(output=size)),
        above=above,
    )


def _snapshot() -> DataSnapshot:
    """Return the library's data."""
    from genai_prices import data_snapshot

    return data_snapshot.get_snapshot()


def listed_names() -> frozenset[str]:
    """Return the names of all models that the library lists."""
    providers = _snapshot().providers
    return frozenset(model.id for provider in providers for model in provider.models)


def listed_window(model: str, provider: str) -> int:
    """Return the window in tokens as listed for the model's seller or its vendor, or else 0."""
    snapshot = _snapshot()
    sellers = (SELLERS.get(name, name) for name in (provider, vendor_of(model)) if name)
    for seller, name in product(sellers, dict.fromkeys((model, bare_name(model)))):
        with suppress(LookupError):
            window = snapshot.find_provider_model(name, None, seller, None)[1].context_window
            if window:
                return tokens_in(window)
    return 0
