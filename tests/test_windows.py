"""Windows by model name."""

from __future__ import annotations

import pytest

from chat_loop.providers.windows import WINDOWS, window_of
from chat_loop.values import Window


@pytest.mark.parametrize(
    ("model", "tokens"),
    [
        ("claude-sonnet-4-5-20250929", 200_000),
        ("claude-opus-4-1", 200_000),
        ("claude-2.0", 100_000),
        ("gpt-4o-mini", 128_000),
        ("gpt-4", 8_192),
        ("gpt-4-0613", 8_192),
        ("gpt-4-turbo-2024-04-09", 128_000),
        ("gpt-4.1-nano", 1_047_576),
        ("gpt-5-mini", 400_000),
        ("gpt-5-chat-latest", 128_000),
        ("o3-mini", 200_000),
        ("o4-mini", 200_000),
        ("o1-mini", 128_000),
        ("gemini-2.5-pro", 1_048_576),
        ("grok-3", 131_072),
        ("grok-4-fast", 256_000),
        ("llama3", 8_192),
        ("llama3:8b", 8_192),
        ("llama3.1:8b", 131_072),
        ("meta-llama/Llama-3.1-70B-Instruct", 131_072),
        ("meta-llama/Meta-Llama-3-8B", 8_192),
        ("qwen2.5:0.5b", 32_768),
        ("Qwen/Qwen3-Coder-30B-A3B-Instruct", 262_144),
        ("openai/gpt-4o", 128_000),
        ("us.anthropic.claude-sonnet-4-5-20250929-v1:0", 200_000),
        ("anthropic.claude-3-haiku-20240307-v1:0", 200_000),
        ("arn:aws:bedrock:us-east-1:1:inference-profile/global.anthropic.claude-opus-4-6-v1", 200_000),
        ("models/gemini-2.5-flash", 1_048_576),
        ("grok-4.3", 1_000_000),
        ("grok-4.7", 500_000),
        ("deepseek-v4-flash", 1_000_000),
        ("deepseek-v3.2", 128_000),
        ("mistral-medium-latest", 131_072),
        ("openai/gpt-oss-120b", 131_072),
        ("gpt-6-sol", 1_050_000),
        ("mistral-large-latest", 131_072),
        ("mistral:7b", 32_768),
    ],
)
def test_the_longest_prefix_decides(model: str, tokens: int) -> None:
    assert window_of(model, {}) == Window(tokens)


@pytest.mark.parametrize("model", ["", "my-model", "claude", "o", "xgpt-4o", "gpt-4o/mine"])
def test_an_unknown_model_is_a_guess_and_says_so(model: str) -> None:
    assert window_of(model, {}) == Window(128_000, guessed=True)


def test_an_override_counts_for_the_exact_name_and_before_the_table() -> None:
    overrides = {"gpt-4o": 50_000, "my-model": 4_096}

    assert window_of("gpt-4o", overrides) == Window(50_000)
    assert window_of("gpt-4o-mini", overrides) == Window(128_000)
    assert window_of("my-model", overrides) == Window(4_096)
    assert window_of("my-model-2", overrides) == Window(128_000, guessed=True)


def test_every_prefix_can_match() -> None:
    """Names are compared in lower case and without folders, so a prefix with either would never be found."""
    assert all(prefix == prefix.lower() and "/" not in prefix for prefix in WINDOWS)
    assert {prefix: window_of(prefix, {}) for prefix in WINDOWS} == {
        prefix: Window(tokens) for prefix, tokens in WINDOWS.items()
    }
