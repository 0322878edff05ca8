"""Prices of models: their sources, the cost of a call, and its wording."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import genai_prices
import pytest

from chat_loop.config import Config, ModelConfig
from chat_loop.providers import prices
from chat_loop.providers.prices import SELLERS, VERIFIED, costs
from chat_loop.values import Usage, dollars_text


def cost(usage: Usage, model: str, provider: str = "") -> float | None:
    return costs(Config())(f"{provider}:{model}", usage)


ROOT = Path(prices.__file__).parents[3]
MILLION = 1_000_000


@pytest.mark.parametrize(
    ("model", "asked", "answered", "cached", "written"),
    [
        ("gpt-4o", 2.5, 10.0, 1.25, 2.5),
        ("gpt-4o-mini", 0.15, 0.6, 0.075, 0.15),
        ("o1", 15.0, 60.0, 7.5, 15.0),
        ("claude-3-opus-20240229", 15.0, 75.0, 1.5, 18.75),
        ("us.anthropic.claude-3-opus-20240229-v1:0", 15.0, 75.0, 1.5, 18.75),
        # with a long prompt, all of its tokens cost more
        ("models/gemini-1.5-flash", 0.15, 0.3, 0.0375, 0.15),
        ("grok-3-mini", 0.3, 0.5, 0.075, 0.3),
    ],
)
def test_a_vendor_s_price_goes_with_the_name_whatever_server_answers(
    model: str, asked: float, answered: float, cached: float, written: float
) -> None:
    for usage, dollars in (
        (Usage(input=MILLION), asked),
        (Usage(output=MILLION, reasoning=9), answered),
        (Usage(input=MILLION, cached=MILLION), cached),
        (Usage(input=MILLION, written=MILLION), written),
        (Usage(), 0.0),
    ):
        for provider in ("", "openai", "anthropic", "compatible"):
            assert cost(usage, model, provider) == pytest.approx(dollars)


def test_a_short_prompt_costs_less_where_long_ones_cost_more() -> None:
    assert cost(Usage(input=100_000), "gemini-1.5-flash") == pytest.approx(0.0075)


@pytest.mark.parametrize(
    "model",
    [
        *("", "my-model", "gpt-", "gpt-4o-unheard-of", "gpt-99", "claude-9-opus", "gemini-99-pro"),
        *("llama3.1:8b", "gpt-oss:20b", "openai/gpt-oss-120b", "xgpt-4o", "gpt-4o/mine"),
        *("mistral-large-latest", "whisper-1", "gpt-live-1", "o1" * 5000),
    ],
)
def test_what_is_not_known_is_not_guessed(model: str) -> None:
    assert cost(Usage(input=5), model, "compatible") is None


@pytest.mark.parametrize("provider", ["local", "scripted"])
def test_local_models_cost_nothing(provider: str) -> None:
    usage = Usage(input=1000, output=1000, cached=10)
    assert cost(usage, "gpt-4o", provider) == cost(usage, "qwen3-0.6b", provider) == 0.0


def test_an_override_counts_for_the_exact_name_and_before_all_else() -> None:
    prices = ModelConfig(input_price=1.0, output_price=2.0)
    cost = costs(Config(models={"gpt-4o": prices, "my-model": prices}))
    usage = Usage(input=MILLION, output=MILLION, cached=5)

    assert cost("openai:gpt-4o", usage) == 3.0
    assert cost("local:my-model", usage) == 3.0
    assert cost("compatible:openai/gpt-4o", Usage(input=MILLION)) == 2.5
    assert cost("compatible:my-model-2", usage) is None


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


ALONE = """
import sys
from pathlib import Path

def refuse(event, args):
    if event.startswith("socket.") and event != "socket.__new__":
        raise RuntimeError("the network was touched: " + event)

sys.addaudithook(refuse)
from chat_loop.config import Config
from chat_loop.providers.prices import costs
from chat_loop.values import Usage
cost = costs(Config(), Path(sys.argv[1]))
assert not {"genai_prices", "pydantic"} & set(sys.modules)
assert cost("compatible:my-model", Usage(input=5)) is None
assert cost("local:gpt-4o", Usage(input=5)) == 0.0
assert "genai_prices" not in sys.modules
print(cost("openai:gpt-4o", Usage(input=1_000_000)), "genai_prices" in sys.modules)
"""


def run_alone(file: Path) -> str:
    done = subprocess.run(
        [sys.executable, "-c", ALONE, str(file)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


@pytest.mark.slow
def test_the_library_is_loaded_once_a_day_and_needs_no_network(tmp_path: Path) -> None:
    file = tmp_path / "prices.json"
    assert run_alone(file) == "2.5 True\n"
    kept = file.read_text()
    assert run_alone(file) == "2.5 False\n"
    for old, new in (
        ('"day":2', '"day":1'),
        ('"data":[', '"data":[1'),
        ('"input":2.5', '"input":-2.5'),
        ("{", "\xff"),
    ):
        file.write_text(kept.replace(old, new, 1), "latin-1")
        assert run_alone(file) == "2.5 True\n"
        assert file.read_text() == kept


def test_models_of_other_vendors_are_not_kept(tmp_path: Path) -> None:
    assert costs(Config(), tmp_path / "prices.json")("ollama:qwen3:8b", Usage(input=5)) is None
    assert not [*tmp_path.iterdir()]


def test_rates_are_the_prices_of_the_library() -> None:
    """Every model of the vendors, with calls of every kind."""
    snapshot = genai_prices.data_snapshot.get_snapshot()
    cost = costs(Config())
    for vendor in VERIFIED:
        seller = SELLERS.get(vendor, vendor)
        models = next(one.models for one in snapshot.providers if one.id == seller)
        for model in models:
            for usage in (
                Usage(input=700, cached=300, written=100, output=9),
                Usage(input=128_000, cached=64_000, output=900),
                Usage(input=MILLION),
            ):
                priced = prices._priced(usage, model.id)
                expected = None if priced is None else pytest.approx(float(priced.total_price))
                assert cost(f"{vendor}:{model.id}", usage) == expected


def test_more_cached_than_asked_counts_as_asked() -> None:
    usage = Usage(input=10, cached=30, written=30)
    assert cost(usage, "gpt-4o") == pytest.approx(10 * 1.25 / MILLION)
