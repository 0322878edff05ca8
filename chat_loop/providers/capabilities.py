"""The capabilities of models, from servers: window and reply size in tokens, images, efforts."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path

import msgspec

from chat_loop.values import EFFORTS, Window

UNKNOWN_TOKENS = 128_000  # the guessed window of a model of no known family
LARGEST_COUNT = 1_000_000_000  # tokens; a larger number counts as 0


class Capabilities(msgspec.Struct, frozen=True, kw_only=True):
    """The capabilities of a model from one source. Unknown ones are 0 or None."""

    window: int = 0
    reply: int = 0
    images: bool | None = None
    efforts: tuple[str, ...] = ()  # those that it takes, the least first

    def with_fallback(self, other: Capabilities) -> Capabilities:
        """Return these, with those of `other` where these are unknown."""
        return Capabilities(
            window=self.window or other.window,
            reply=self.reply or other.reply,
            images=other.images if self.images is None else self.images,
            efforts=self.efforts or other.efforts,
        )


FAMILIES = msgspec.json.decode(
    Path(__file__).with_name("families.json").read_bytes(), type=dict[str, tuple[int, int, bool]]
)
"""Prefix of a model's name -> window, reply, images of the family's smallest model."""
_IMAGES_IN_NAME = re.compile(r"vision|-?vl\b|llava|pixtral|moondream|minicpm-v|smolvlm|internvl")


def bare_name(model: str) -> str:
    """Return `gpt-4o` for `openai/GPT-4o`, and `claude-opus-4-6` for Bedrock's name of it."""
    name = model.rpartition("/")[2].lower()
    vendor, separator, bedrock = name.rpartition("anthropic.")
    if not separator or vendor.count(".") > 1:
        return name
    return re.sub(r"(-v\d+)?(:\d+)?\Z", "", bedrock)


def longest_prefix(model: str, prefixes: Iterable[str]) -> str | None:
    """Return the longest of `prefixes` that the bare name begins with."""
    name = bare_name(model)
    return max((prefix for prefix in prefixes if name.startswith(prefix)), key=len, default=None)


def guess_capabilities(model: str) -> Capabilities:
    """Guess by the model's family; the window is never 0, and images are never None."""
    family = longest_prefix(model, FAMILIES) or ""
    window, reply, images = FAMILIES.get(family, (UNKNOWN_TOKENS, 0, False))
    images = images or bool(_IMAGES_IN_NAME.search(bare_name(model)))
    return Capabilities(window=window, reply=reply, images=images)


def window_of(model: str, overrides: Mapping[str, int]) -> Window:
    """Return the window without asking a server: from `overrides` (tokens), or else a guess."""
    if model in overrides:
        return Window(overrides[model])
    return Window(guess_capabilities(model).window, guessed=True)


def value_at(value: object, *path: str) -> object:
    """Return the member of nested objects at `path`, or None if there is none."""
    for key in path:
        value = value.get(key) if isinstance(value, dict) else None
    return value


def text_at(value: object, *path: str) -> str:
    """Return the string at `path`, or an empty one if there is none."""
    member = value_at(value, *path)
    return member if isinstance(member, str) else ""


def list_at(value: object, *path: str) -> Sequence[object]:
    """Return the list at `path`, or an empty one if there is none."""
    member = value_at(value, *path)
    return member if isinstance(member, list) else ()


def count_at(value: object, *path: str) -> int:
    """Return the number of tokens at `path`, or 0 if it is missing or implausible."""
    member = value_at(value, *path)
    if type(member) is int and 0 <= member <= LARGEST_COUNT:
        return member
    return 0


def tokens_in(value: object) -> int:
    """Return a window or a maximum that a server reports, or 0 if it is implausible."""
    if type(value) is int and 256 <= value <= 100_000_000:
        return value
    return 0


_WINDOWS = (
    ("default_generation_settings", "n_ctx"),  # llama-server, for one of its slots
    ("meta", "n_ctx"),  # llama-server
    ("loaded_context_length",),  # LM Studio
    ("max_input_tokens",),  # Anthropic
    ("top_provider", "context_length"),  # OpenRouter, for the provider that would answer
    *(("max_model_len",), ("context_length",), ("context_window",)),
)
_REPLIES = (("max_tokens",), ("max_completion_tokens",), ("top_provider", "max_completion_tokens"))


def entry_of_model(answer: object, model: str) -> object:
    """Return the entry of a model in an answer, or the answer itself if it contains no list."""
    entries = answer
    if not isinstance(answer, list):
        entries = value_at(answer, "data")
    if not isinstance(entries, list):
        return answer
    by_name = {text_at(entry, "id"): entry for entry in entries}
    # the last two as Ollama and OpenRouter write them
    names = (model, f"{model}:latest", model.partition(":")[0])
    only = entries[0] if len(entries) == 1 else None  # it answers to any name
    return next((by_name[name] for name in names if name in by_name), only)


def from_answer(answer: object) -> Capabilities:
    """Read any server's description of a model, from its list of models or a separate page."""
    windows = [tokens_in(value_at(answer, *path)) for path in _WINDOWS]
    if value_at(answer, "state") != "not-loaded":  # LM Studio: what it could be loaded with
        windows.append(tokens_in(value_at(answer, "max_context_length")))
    modalities = value_at(answer, "architecture", "input_modalities")  # OpenRouter, llama-server
    features = value_at(answer, "capabilities")
    images = (
        value_at(features, "image_input", "supported"),  # Anthropic
        value_at(features, "vision"),  # Mistral
        value_at(answer, "modalities", "vision"),  # llama-server
        "vision" in features if isinstance(features, list) else None,  # Ollama
        "image" in modalities if isinstance(modalities, list) else None,
        {"vlm": True, "llm": False}.get(text_at(answer, "type")),  # LM Studio
    )
    return Capabilities(
        window=next(filter(None, windows), 0),
        reply=next(filter(None, (tokens_in(value_at(answer, *path)) for path in _REPLIES)), 0),
        images=next((flag for flag in images if isinstance(flag, bool)), None),
        efforts=_efforts_in(answer),
    )


def _efforts_in(answer: object) -> tuple[str, ...]:
    """Return the efforts that a server says its model takes, or none if it does not say."""
    for path in (("capabilities", "reasoning_effort"), ("reasoning", "supported_efforts")):
        if offered := list_at(answer, *path):  # xAI, OpenRouter
            return known_efforts(offered)
    levels = value_at(answer, "capabilities", "effort")
    words = [word for word in EFFORTS if value_at(levels, word, "supported") is True]
    if words and value_at(answer, "capabilities", "thinking", "types", "disabled", "supported"):
        words = ["none", *words]  # Anthropic
    return known_efforts(words)


def known_efforts(words: Collection[object]) -> tuple[str, ...]:
    """Return the efforts among the words of a server, which calls `off` none, the least first."""
    return tuple(effort for effort in EFFORTS if effort.replace("off", "none") in words)
