"""What models cost: whose price is taken, what a call comes to, how it is worded.

Only prices that no longer change are named: those of old models and of past dates.
"""

from __future__ import annotations

import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chat_loop.providers import prices
from chat_loop.providers.catalogue import CATALOGUE
from chat_loop.providers.prices import FREE, VENDORS, Price, cost, price_of
from chat_loop.values import Usage
from chat_loop.wording import dollars_text

ROOT = Path(prices.__file__).parent.parent.parent
GPT_4O = Price(input=2.5, output=10.0, cached_input=1.25)
OPUS_3 = Price(input=15.0, output=75.0, cached_input=1.5, cache_write=18.75)
TIERED = Price(
    input=0.1,
    output=0.5,
    cached_input=0.01,
    cache_write=0.125,
    longer=(
        (100, Price(input=0.5, output=2.5, cached_input=0.05)),
        (1000, Price(input=1.0, output=5.0)),
    ),
)


@pytest.mark.parametrize(
    ("model", "price"),
    [
        ("gpt-4o", GPT_4O),
        ("gpt-4o-2024-08-06", GPT_4O),
        ("openai/GPT-4o", GPT_4O),
        ("gpt-4o-mini", Price(input=0.15, output=0.6, cached_input=0.075)),
        ("o1", Price(input=15.0, output=60.0, cached_input=7.5)),
        ("claude-3-opus-20240229", OPUS_3),
        ("anthropic/claude-3-opus-latest", OPUS_3),
        (
            "models/gemini-1.5-flash",
            Price(
                input=0.075,
                output=0.3,
                cached_input=0.01875,
                longer=((128_000, Price(input=0.15, output=0.6, cached_input=0.0375)),),
            ),
        ),
        ("us.anthropic.claude-3-opus-20240229-v1:0", OPUS_3),
        ("grok-3-mini", Price(input=0.3, output=0.5, cached_input=0.075)),
    ],
)
def test_a_vendor_s_price_goes_with_the_name_whatever_server_answers(
    model: str, price: Price
) -> None:
    assert [
        price_of(model, provider) for provider in ("", "openai", "anthropic", "compatible")
    ] == [price] * 4


@pytest.mark.parametrize(
    "model",
    [
        *(
            "",
            "my-model",
            "gpt-",
            "gpt-4o-unheard-of",
            "gpt-99",
            "claude-9-opus",
            "claude-opus-99",
            "gemini-99-pro",
            "grok-99",
        ),
        *(
            "llama3.1:8b",
            "qwen3:8b",
            "gpt-oss:20b",
            "openai/gpt-oss-120b",
            "xgpt-4o",
            "gpt-4o/mine",
            "mistral-large-latest",
        ),
        *("whisper-1", "gpt-live-1", "o1" * 5000),
    ],
)
def test_what_is_not_known_is_not_guessed(model: str) -> None:
    assert price_of(model, "compatible") is None


@pytest.mark.parametrize("provider", ["local", "scripted"])
def test_local_models_cost_nothing(provider: str) -> None:
    assert price_of("gpt-4o", provider) == price_of("qwen3-0.6b", provider) == FREE


def test_an_override_counts_for_the_exact_name_and_before_all_else() -> None:
    mine = Price(input=1.0, output=2.0)
    overrides = {"gpt-4o": mine, "my-model": mine}

    assert (
        price_of("gpt-4o", "openai", overrides) == price_of("my-model", "local", overrides) == mine
    )
    assert price_of("openai/gpt-4o", "compatible", overrides) == GPT_4O
    assert price_of("my-model-2", "compatible", overrides) is None


def test_a_price_is_that_of_the_day() -> None:
    days = [datetime(2025, 6, day, tzinfo=UTC) for day in (9, 11)]
    assert [price_of("o3", at=day) for day in days] == [
        Price(input=10.0, output=40.0, cached_input=0.5),
        Price(input=2.0, output=8.0, cached_input=0.5),
    ]


@pytest.mark.parametrize(
    "model", [CATALOGUE[name].model for name in ("anthropic", "openai", "gemini", "grok")]
)
def test_the_models_taken_by_default_have_prices(model: str) -> None:
    price = price_of(model)
    assert price is not None
    assert 0 < price.input < price.output


def test_every_prefix_can_match() -> None:
    assert all(prefix == prefix.lower() and "/" not in prefix for prefix in VENDORS)


@pytest.mark.parametrize(
    ("usage", "dollars"),
    [
        (Usage(), 0.0),
        (Usage(input=100, output=10), 15e-6),
        (Usage(input=100, output=10, cached=60), 9.6e-6),
        (Usage(input=100, output=10, cached=60, reasoning=9), 9.6e-6),
        (Usage(input=100, output=10, cached=60, written=40), 10.6e-6),
        (Usage(input=101, output=10), 75.5e-6),
        (Usage(input=101, output=10, cached=1, written=100), 75.05e-6),
        (Usage(input=1001, output=10, cached=1000), 1051e-6),
        (Usage(input=10, output=0, cached=30, written=30), 4.05e-6),
    ],
)
def test_each_kind_of_token_has_its_price(usage: Usage, dollars: float) -> None:
    assert cost(usage, TIERED) == pytest.approx(dollars)


def test_what_has_no_price_has_no_cost_and_what_is_free_costs_nothing() -> None:
    usage = Usage(input=1000, output=1000, cached=10)
    assert (cost(usage, None), cost(usage, FREE)) == (None, 0.0)


counts = st.integers(0, 10**7)
amounts = st.floats(0, 1000)


@given(
    price=st.builds(Price, input=amounts, output=amounts, cached_input=st.none() | amounts),
    calls=st.lists(
        st.builds(
            lambda new, cached, output: Usage(input=new + cached, cached=cached, output=output),
            *[counts] * 3,
        )
    ),
)
def test_without_levels_the_costs_of_calls_are_the_cost_of_their_sum(
    price: Price, calls: list[Usage]
) -> None:
    assert sum(cost(call, price) or 0.0 for call in calls) == pytest.approx(
        cost(sum(calls, Usage()), price)
    )


@pytest.mark.parametrize(
    ("dollars", "text"),
    [
        (None, "price unknown"),
        (0.0, "free"),
        (0.00001, "less than $0.0001"),
        (0.0001, "$0.0001"),
        (0.01234, "$0.0123"),
        (0.99994, "$0.9999"),
        (0.99999, "$1.00"),
        (12.345, "$12.35"),
        (1234.5, "$1,234.50"),
    ],
)
def test_dollars(dollars: float | None, text: str) -> None:
    assert dollars_text(dollars) == text


def test_estimates_are_marked() -> None:
    assert dollars_text(0.01234, estimated=True) == "~$0.0123"


ALONE = """
import sys

def refuse(event, args):
    if event.startswith("socket.") and event != "socket.__new__":
        raise RuntimeError("the network was touched: " + event)

sys.addaudithook(refuse)
from chat_loop.providers.prices import price_of
assert not {"genai_prices", "pydantic"} & set(sys.modules)
assert price_of("my-model", "compatible") is None and price_of("gpt-4o", "local").input == 0.0
assert "genai_prices" not in sys.modules
if sys.argv[1] == "without":
    sys.modules["genai_prices"] = None
print(price_of("gpt-4o"))
"""


@pytest.mark.parametrize(("library", "price"), [("with", repr(GPT_4O)), ("without", "None")])
def test_the_library_is_loaded_late_needs_no_network_and_may_be_missing(
    library: str, price: str
) -> None:
    done = subprocess.run(
        [sys.executable, "-c", ALONE, library],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, f"{price}\n", "")
