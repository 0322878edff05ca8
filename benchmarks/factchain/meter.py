"""What a method's requests cost: their tokens, the part that a service has cached, and the money.

A request's beginning can be cached as far as its messages are those of the request before, of the
same system prompt. It is assumed that each request follows within the minutes that a service keeps
it. The prices are those of genai-prices: a request above some size costs more for each token.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from msgspec import Struct

from chat_loop.providers.prices import PriceList
from chat_loop.values import Usage


class Sent(Struct, frozen=True):
    """The tokens of a request, of the beginning that it shares with the one before, and of the
    answer.
    """

    input: int
    same: int
    output: int


@dataclass
class Meter:
    """Counts the requests of a conversation. Each begins with `head`."""

    count: Callable[[str], int]
    head: tuple[str, ...] = ()
    sent: list[Sent] = field(default_factory=list)
    _before: dict[str, Sequence[str]] = field(default_factory=dict)
    """The last request of each system prompt."""

    def record(self, pieces: Iterable[str], answer: str) -> None:
        """Record a request's texts in their order, and its answer."""
        texts = [*self.head, *pieces]
        same = 0
        for text, before in zip(texts, self._before.get(texts[0], ()), strict=False):
            if text != before:
                break
            same += self.count(text)
        self._before[texts[0]] = texts
        self.sent.append(Sent(sum(map(self.count, texts)), same, self.count(answer)))


LEAST = {"claude-sonnet-5-5": 1_024, "gpt-5.6-terra": 1_024, "gemini-3.1-pro-preview": 4_096}
"""A model of each of three services, and the fewest tokens of a beginning that it caches."""


def dollars(sent: Sequence[Sent], model: str, *, caching: bool) -> float:
    """Return the price of requests. With `caching`, the new part of each is written into the cache,
    which some services charge for. Raises LookupError for a model without a price.
    """
    prices = PriceList()
    total = 0.0
    for one in sent:
        cached = one.same if caching and one.same >= LEAST[model] else 0
        written = one.input - cached if caching and one.input >= LEAST[model] else 0
        usage = Usage(input=one.input, output=one.output, cached=cached, written=written)
        cost = prices.cost(usage, model)
        if cost is None:
            raise LookupError(model)
        total += cost
    return total


class Money(Struct, frozen=True, kw_only=True):
    """The requests of a conversation, in tokens, and their price in US dollars by model, without
    and with a cache.
    """

    requests: int
    input: int
    same: int
    """The part of the input that begins as the request before."""
    output: int
    largest: int
    plain: dict[str, float]
    cached: dict[str, float]


def money(sent: Sequence[Sent]) -> Money:
    """Return the sums of a conversation's requests."""
    return Money(
        requests=len(sent),
        input=sum(one.input for one in sent),
        same=sum(one.same for one in sent),
        output=sum(one.output for one in sent),
        largest=max(one.input for one in sent),
        plain={model: round(dollars(sent, model, caching=False), 2) for model in LEAST},
        cached={model: round(dollars(sent, model, caching=True), 2) for model in LEAST},
    )
