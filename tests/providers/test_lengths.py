"""The maximum of a reply leaves room for its request in the window, on both wires."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from benchmarks.support.loopback import Loopback
from chat_loop.providers.anthropic import AnthropicProvider
from chat_loop.providers.openai import OpenAIProvider
from chat_loop.values import Image, Message, Request, ToolSpec, Window
from tests.support.providers import entry, events_of

WINDOW = 10_000  # tokens
ASK = Request(system="", messages=(Message("user", "Hello"),))
WORDS = replace(ASK, messages=(Message("user", "word " * 3_000),))
TOOL = ToolSpec("search", "Search the harbor. " * 700, {"type": "object"})
PHOTO = Image("map.png", "image/png", 1_500, 1_500, data="aGk=")


def limit(wire: str, request: Request) -> int:
    """Return the maximum of the reply in the body of a request, 0 if there is none."""
    adapter = {"anthropic": AnthropicProvider, "openai": OpenAIProvider}[wire]
    with Loopback() as server:
        url = server.url if wire == "anthropic" else f"{server.url}/v1"
        provider = adapter("m", entry(wire, url), window=Window(WINDOW), api_key="k")
        events_of(provider, request)
        body = server.request().body
    return int(body.get("max_tokens") or body.get("max_completion_tokens") or 0)


@pytest.mark.parametrize(
    ("wire", "tokens", "most"),
    [
        ("anthropic", 0, 8_000),  # not counted: a word
        ("anthropic", 1_000, 8_000),
        ("anthropic", 6_000, 3_186),  # a part of what is left, in case the service counts more
        ("openai", 6_000, 3_186),
        ("anthropic", 9_000, 500),
        ("anthropic", 9_999, 1),
        ("openai", 15_000, 2_000),  # sent although it is too large: the count must be wrong
    ],
)
def test_what_somebody_asks_for_is_cut_to_what_is_left(wire: str, tokens: int, most: int) -> None:
    assert limit(wire, replace(ASK, max_tokens=8_000, tokens=tokens)) == most
    assert limit(wire, replace(ASK, max_tokens=200, tokens=tokens)) == min(200, most)


def test_only_anthropic_needs_a_maximum() -> None:
    assert limit("openai", ASK) == 0
    assert 7_000 < limit("anthropic", ASK) <= 8_192


@pytest.mark.parametrize(
    "request_",
    [
        WORDS,
        replace(ASK, tools=(TOOL,)),
        replace(ASK, messages=(Message("user", "Look.", images=(PHOTO, PHOTO)),)),
    ],
    ids=["words", "tools", "images"],
)
def test_all_that_the_model_reads_counts(request_: Request) -> None:
    assert 2_000 <= limit("anthropic", request_) < 7_000


def test_an_uncounted_request_leaves_a_fifth() -> None:
    words = replace(WORDS, messages=WORDS.messages * 3)
    assert limit("anthropic", words) == WINDOW // 5
