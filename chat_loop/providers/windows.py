"""How many tokens a model takes, by its name: no service tells it with a reply."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from types import MappingProxyType

from chat_loop.values import Window

UNKNOWN_TOKENS = 128_000
"""Taken for a model that is in no table."""

WINDOWS: Mapping[str, int] = MappingProxyType(
    {
        # Anthropic. Some take 1,000,000 on request; all take this.
        "claude-": 200_000,
        "claude-2.0": 100_000,
        "claude-instant": 100_000,
        # OpenAI
        "gpt-3.5": 16_385,
        "gpt-4": 8_192,
        "gpt-4-32k": 32_768,
        "gpt-4-turbo": 128_000,
        "gpt-4-0125": 128_000,
        "gpt-4-1106": 128_000,
        "gpt-4o": 128_000,
        "gpt-4.1": 1_047_576,
        "gpt-4.5": 128_000,
        "chatgpt-4o": 128_000,
        "gpt-5": 400_000,
        "gpt-5-chat": 128_000,
        "gpt-5.1-chat": 128_000,
        "gpt-5.2-chat": 128_000,
        "gpt-6": 1_050_000,
        "gpt-oss": 131_072,
        "o1": 200_000,
        "o1-mini": 128_000,
        "o1-preview": 128_000,
        "o3": 200_000,
        "o4": 200_000,
        # Google
        "gemini-": 1_048_576,
        "gemini-pro": 32_760,
        "gemini-1.0": 32_760,
        "gemini-2.5-flash-image": 32_768,
        "gemma": 8_192,
        "gemma3": 32_768,
        "gemma-3": 32_768,
        # xAI
        "grok-": 131_072,
        "grok-4": 256_000,
        "grok-4.2": 1_000_000,
        "grok-4.3": 1_000_000,
        "grok-4.5": 500_000,
        "grok-4.6": 500_000,
        "grok-4.7": 500_000,
        "grok-code": 256_000,
        # Meta
        "llama2": 4_096,
        "llama-2": 4_096,
        "llama3": 8_192,
        "llama-3": 8_192,
        "meta-llama-3": 8_192,
        "llama3.1": 131_072,
        "llama-3.1": 131_072,
        "meta-llama-3.1": 131_072,
        "llama3.2": 131_072,
        "llama-3.2": 131_072,
        "llama3.3": 131_072,
        "llama-3.3": 131_072,
        "llama4": 131_072,
        "llama-4": 131_072,
        "codellama": 16_384,
        "tinyllama": 2_048,
        # Alibaba
        "qwen": 32_768,
        "qwen3-coder": 262_144,
        "qwen3-next": 262_144,
        "qwq": 32_768,
        # Mistral
        "mistral": 32_768,
        "mistral-large": 131_072,
        "mistral-medium": 131_072,
        "mistral-nemo": 131_072,
        "mixtral": 32_768,
        "codestral": 32_768,
        "devstral": 131_072,
        "magistral": 40_960,
        # Others
        "deepseek": 65_536,
        "deepseek-chat": 128_000,
        "deepseek-reasoner": 128_000,
        "deepseek-coder": 16_384,
        "deepseek-v3.1": 128_000,
        "deepseek-v3.2": 128_000,
        "deepseek-v4": 1_000_000,
        "phi3": 4_096,
        "phi-3": 4_096,
        "phi4": 16_384,
        "phi-4": 16_384,
        "command-r": 128_000,
        "command-a": 256_000,
        "glm-4": 128_000,
        "kimi-k2": 131_072,
        "smollm2": 8_192,
    }
)
"""Prefix of a model's name -> tokens, the smallest of its family where the family differs.

It is what the model can take; a local server may have been started with less, which an override says.
"""


def bare_name(model: str) -> str:
    """A model's name in lower case and without what stands before its last slash: of `openai/GPT-4o`, `gpt-4o`.

    Of Bedrock's ids the part that others know: of `us.anthropic.claude-opus-4-6-v1:0`, `claude-opus-4-6`.
    """
    name = model.rpartition("/")[2].lower()
    vendor, found, bedrock = name.rpartition("anthropic.")
    if not found or vendor.count(".") > 1:
        return name
    return re.sub(r"(-v\d+)?(:\d+)?\Z", "", bedrock)


def longest_prefix(model: str, prefixes: Iterable[str]) -> str | None:
    """The longest of `prefixes` that the bare name begins with: `meta-llama/Llama-3.1-8B` is `llama-3.1`."""
    name = bare_name(model)
    return max((prefix for prefix in prefixes if name.startswith(prefix)), key=len, default=None)


def window_of(model: str, overrides: Mapping[str, int]) -> Window:
    """The window of `model`: its exact name in `overrides` (tokens), else the longest prefix known, else a guess."""
    if model in overrides:
        return Window(overrides[model])
    known = longest_prefix(model, WINDOWS)
    return Window(UNKNOWN_TOKENS, guessed=True) if known is None else Window(WINDOWS[known])
