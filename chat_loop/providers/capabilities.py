"""The capabilities of a model: the tokens of its window and of a reply, and images.

In this order: what the config says, what the server says, what genai-prices lists, and a guess by
the model's family, which is marked as one.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from types import MappingProxyType

from msgspec import Struct

from chat_loop.errors import ContextTooLong, ProviderError
from chat_loop.providers.answers import at, flag_at, list_at, text_at
from chat_loop.values import Request, Window

UNKNOWN_TOKENS = 128_000
"""The window that is guessed for a model of no family."""
SMALLEST_WINDOW = 256
LARGEST_WINDOW = 100_000_000
"""Whatever a server says beyond these is not believed."""


class Capabilities(Struct, frozen=True, kw_only=True):
    """The statement of one source about a model: tokens, 0 where it says nothing, and None where
    nothing of images.
    """

    window: int = 0
    reply: int = 0
    """The most tokens of a reply."""
    images: bool | None = None

    def over(self, other: Capabilities) -> Capabilities:
        """Return these, and those of `other` where these say nothing."""
        return Capabilities(
            window=self.window or other.window,
            reply=self.reply or other.reply,
            images=other.images if self.images is None else self.images,
        )


NOTHING = Capabilities()

_SEEING_FAMILIES = (
    *("gpt-", "gpt-4-turbo", "gpt-4-vision", "gpt-4.", "gpt-4o", "gemma", "llama-4", "llama4"),
    *("mistral-medium", "mistral-large-latest", "mistral-small-latest"),
)
FAMILIES: Mapping[str, tuple[int, int, bool]] = MappingProxyType(
    {
        "claude-": (200_000, 32_000, True),
        "claude-3": (200_000, 4_096, True),
        "claude-3-5": (200_000, 8_192, True),
        "claude-3-7": (200_000, 64_000, True),
        **dict.fromkeys(_SEEING_FAMILIES, (UNKNOWN_TOKENS, 0, True)),
        "gpt-3": (16_385, 0, False),
        "gpt-4": (8_192, 0, False),
        "gpt-oss": (UNKNOWN_TOKENS, 0, False),
        **dict.fromkeys(("o1", "o3", "o4"), (200_000, 0, True)),
        "o3-mini": (200_000, 0, False),
        "gemini-": (1_000_000, 0, True),
        "grok-4": (256_000, 0, True),
        "phi": (16_384, 0, False),
        "qwen": (32_768, 0, False),
        "smollm": (8_192, 0, False),
        "tinyllama": (2_048, 0, False),
    }
)
"""Prefix of a model's name -> window, reply, images; the longest one counts. The smallest where a
family differs: a request that is too large is refused, one that is compacted too early is only
shorter.
"""
_SEEING = re.compile(r"vision|-?vl\b|llava|pixtral|moondream|minicpm-v|smolvlm|internvl")
"""In the names of models that take images, whatever their family."""


def bare_name(model: str) -> str:
    """Return the part of a model's name that all servers share: of `openai/GPT-4o` and Bedrock's
    `us.anthropic.claude-opus-4-6-v1:0` it is `gpt-4o` and `claude-opus-4-6`.
    """
    name = model.rpartition("/")[2].lower()
    vendor, found, bedrock = name.rpartition("anthropic.")
    if not found or vendor.count(".") > 1:
        return name
    return re.sub(r"(-v\d+)?(:\d+)?\Z", "", bedrock)


def longest_prefix(model: str, prefixes: Iterable[str]) -> str | None:
    """Return the longest of `prefixes` that the bare name begins with."""
    name = bare_name(model)
    return max((prefix for prefix in prefixes if name.startswith(prefix)), key=len, default=None)


def guessed(model: str) -> Capabilities:
    """Guess by the model's family; the window is never 0, and images are never None."""
    window, reply, images = FAMILIES.get(
        longest_prefix(model, FAMILIES) or "", (UNKNOWN_TOKENS, 0, False)
    )
    images = images or bool(_SEEING.search(bare_name(model)))
    return Capabilities(window=window, reply=reply, images=images)


def window_of(model: str, overrides: Mapping[str, int]) -> Window:
    """Return the window before anybody has been asked: of `overrides` (tokens), else a guess."""
    if model in overrides:
        return Window(overrides[model])
    return Window(guessed(model).window, guessed=True)


def tokens_in(value: object) -> int:
    """Return a window or a ceiling as a server says it; 0 for what cannot be one."""
    return value if type(value) is int and SMALLEST_WINDOW <= value <= LARGEST_WINDOW else 0


_WINDOWS = (
    ("meta", "n_ctx"),  # llama-server
    ("loaded_context_length",),  # LM Studio
    ("max_input_tokens",),  # Anthropic
    ("top_provider", "context_length"),  # OpenRouter, of the one that would answer
    *(("max_model_len",), ("context_length",), ("context_window",)),
)
_REPLIES = (("max_tokens",), ("max_completion_tokens",), ("top_provider", "max_completion_tokens"))


def listed(entry: object) -> Capabilities:
    """Read an entry of a server's list of models, whichever server it is."""
    windows = [tokens_in(at(entry, *path)) for path in _WINDOWS]
    if at(entry, "state") != "not-loaded":  # LM Studio: what it could be loaded with
        windows.append(tokens_in(at(entry, "max_context_length")))
    modalities = at(entry, "architecture", "input_modalities")  # OpenRouter, llama-server
    images = (
        flag_at(entry, "capabilities", "image_input", "supported"),  # Anthropic
        flag_at(entry, "capabilities", "vision"),  # Mistral
        "image" in modalities if isinstance(modalities, list) else None,
        {"vlm": True, "llm": False}.get(text_at(entry, "type")),  # LM Studio
    )
    return Capabilities(
        window=next(filter(None, windows), 0),
        reply=next(filter(None, (tokens_in(at(entry, *path)) for path in _REPLIES)), 0),
        images=next((word for word in images if word is not None), None),
    )


def loaded(props: object) -> Capabilities:
    """Read `/props` of a llama-server: the window is that of one of its slots."""
    window = tokens_in(at(props, "default_generation_settings", "n_ctx"))
    return Capabilities(window=window, images=flag_at(props, "modalities", "vision"))


def described(description: object) -> Capabilities:
    """Read `/api/show` of an Ollama: the window that the model's file sets."""
    parameters = text_at(description, "parameters")
    found = re.search(r"^num_ctx\s+(\d{1,9})\s*$", parameters, re.MULTILINE)
    can = at(description, "capabilities")
    return Capabilities(
        window=tokens_in(int(found[1])) if found else 0,
        images="vision" in can if isinstance(can, list) else None,
    )


def running(processes: object, model: str) -> Capabilities:
    """Read `/api/ps` of an Ollama: the window that a loaded model was given."""
    for entry in list_at(processes, "models"):
        names = (text_at(entry, key).removesuffix(":latest") for key in ("model", "name"))
        if model.removesuffix(":latest") in names:
            return Capabilities(window=tokens_in(at(entry, "context_length")))
    return NOTHING


_SAID = (
    "maximum context length (?:is|of)",  # OpenAI, vLLM: "... is 8192 tokens, you requested 9000"
    "available context size",  # llama-server: "exceeds the ... (8192 tokens)"
    "context length of only",  # LM Studio
    "maximum prompt length is",  # xAI
    "maximum number of tokens allowed",  # Gemini: "exceeds the ... (1048576)"
    ">",  # Anthropic: "prompt is too long: 210000 tokens > 200000 maximum"
)


def window_from_error(said: str) -> int | None:
    """Return the window in tokens that a refusal names; None for none that could be one."""
    match = re.search(rf"(?:{'|'.join(_SAID)})[ (:]{{0,3}}(\d[\d,]{{2,12}})", said, re.IGNORECASE)
    return tokens_in(int(match[1].replace(",", ""))) or None if match else None


def refuses_images(request: Request, status: int, refusal: ProviderError, *, known: bool) -> bool:
    """Return True when a server refused a request for its images, and say in the hint what helps.

    `known`: the model does take images, so that one of them is at fault.
    """
    said = refusal.message.lower()
    if (
        not any(message.images for message in request.messages)
        or isinstance(refusal, ContextTooLong)
        or status not in (400, 404, 415, 422, 500, 501)
        or not any(word in said for word in ("image", "vision", "multimodal", "mmproj"))
    ):
        return False
    undo = "/undo takes the message with the image out of the conversation."
    refusal.retryable = False
    refusal.hint = undo if known else "The next message goes without images."
    return True
