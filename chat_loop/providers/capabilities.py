"""What a model takes: the tokens of its window and of a reply, and images.

In this order: what the config says, what the server says, what genai-prices lists, and a guess by
the model's family, which is marked as one. The first requests may be made with the guess: a server
is asked behind the first reply, one on this machine before the first question (`servers`), and
genai-prices is loaded while the user types.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from types import MappingProxyType

from msgspec import Struct

from chat_loop.errors import ContextTooLong, ProviderError
from chat_loop.values import Request, Window

UNKNOWN_TOKENS = 128_000
"""The window that is guessed for a model of no family."""
SMALLEST_WINDOW = 256
LARGEST_WINDOW = 100_000_000
"""Whatever a server says beyond these is not believed."""


class Capabilities(Struct, frozen=True, kw_only=True):
    """What one source says of a model: tokens, 0 where it says nothing, and None where nothing of
    images.
    """

    window: int = 0
    reply: int = 0
    """The most tokens of a reply."""
    images: bool | None = None

    def over(self, other: Capabilities) -> Capabilities:
        """These, and those of `other` where these say nothing."""
        return Capabilities(
            window=self.window or other.window,
            reply=self.reply or other.reply,
            images=other.images if self.images is None else self.images,
        )


NOTHING = Capabilities()

FAMILIES: Mapping[str, tuple[int, int, bool]] = MappingProxyType(
    {
        "claude-": (200_000, 32_000, True),
        "claude-3": (200_000, 4_096, True),
        "claude-3-5": (200_000, 8_192, True),
        "claude-3-7": (200_000, 64_000, True),
        "gpt-": (UNKNOWN_TOKENS, 0, True),
        "gpt-3": (16_385, 0, False),
        "gpt-4": (8_192, 0, False),
        "gpt-4-turbo": (UNKNOWN_TOKENS, 0, True),
        "gpt-4-vision": (UNKNOWN_TOKENS, 0, True),
        "gpt-4.": (UNKNOWN_TOKENS, 0, True),
        "gpt-4o": (UNKNOWN_TOKENS, 0, True),
        "gpt-oss": (UNKNOWN_TOKENS, 0, False),
        "o1": (200_000, 0, True),
        "o3": (200_000, 0, True),
        "o3-mini": (200_000, 0, False),
        "o4": (200_000, 0, True),
        "gemini-": (1_000_000, 0, True),
        "gemma": (UNKNOWN_TOKENS, 0, True),
        "grok-4": (256_000, 0, True),
        "llama-4": (UNKNOWN_TOKENS, 0, True),
        "llama4": (UNKNOWN_TOKENS, 0, True),
        "mistral-medium": (UNKNOWN_TOKENS, 0, True),
        "mistral-large-latest": (UNKNOWN_TOKENS, 0, True),
        "mistral-small-latest": (UNKNOWN_TOKENS, 0, True),
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
    """A model's name in lower case and without what stands before its last slash: of
    `openai/GPT-4o`, `gpt-4o`.

    Of Bedrock's ids the part that others know: of `us.anthropic.claude-opus-4-6-v1:0`,
    `claude-opus-4-6`.
    """
    name = model.rpartition("/")[2].lower()
    vendor, found, bedrock = name.rpartition("anthropic.")
    if not found or vendor.count(".") > 1:
        return name
    return re.sub(r"(-v\d+)?(:\d+)?\Z", "", bedrock)


def longest_prefix(model: str, prefixes: Iterable[str]) -> str | None:
    """The longest of `prefixes` that the bare name begins with: `meta-llama/Llama-3.1-8B` is
    `llama-3.1`.
    """
    name = bare_name(model)
    return max((prefix for prefix in prefixes if name.startswith(prefix)), key=len, default=None)


def guessed(model: str) -> Capabilities:
    """Guess by the model's family; the window is never 0, and images are never None."""
    family = longest_prefix(model, FAMILIES)
    window, reply, images = FAMILIES[family] if family else (UNKNOWN_TOKENS, 0, False)
    return Capabilities(
        window=window, reply=reply, images=images or bool(_SEEING.search(bare_name(model)))
    )


def window_of(model: str, overrides: Mapping[str, int]) -> Window:
    """The window of `model` before anybody has been asked: its exact name in `overrides` (tokens),
    else a guess.
    """
    return (
        Window(overrides[model])
        if model in overrides
        else Window(guessed(model).window, guessed=True)
    )


def tokens_in(value: object) -> int:
    """A window or a ceiling as a server says it; 0 for what cannot be one."""
    return value if type(value) is int and SMALLEST_WINDOW <= value <= LARGEST_WINDOW else 0


def listed(entry: object) -> Capabilities:
    """Read what a server lists of a model, whichever server it is."""
    if not isinstance(entry, Mapping):
        return NOTHING
    if (
        entry.get("state") == "not-loaded"
    ):  # LM Studio: what it could be loaded with is not what it will be
        entry = {key: value for key, value in entry.items() if key != "max_context_length"}
    capabilities, architecture, top = (
        _part(entry, name) for name in ("capabilities", "architecture", "top_provider")
    )
    windows = (
        _part(entry, "meta").get("n_ctx"),  # llama-server
        entry.get("loaded_context_length"),  # LM Studio
        entry.get("max_input_tokens"),  # Anthropic
        top.get("context_length"),  # OpenRouter, of the one that would answer
        *(
            entry.get(name)
            for name in ("max_model_len", "context_length", "context_window", "max_context_length")
        ),
    )
    replies = (
        entry.get("max_tokens"),
        entry.get("max_completion_tokens"),
        top.get("max_completion_tokens"),
    )
    modalities = architecture.get("input_modalities")
    pictures = (
        _part(capabilities, "image_input").get("supported"),  # Anthropic
        capabilities.get("vision"),  # Mistral
        "image" in modalities if isinstance(modalities, list) else None,  # OpenRouter, llama-server
        {"vlm": True, "llm": False}.get(str(entry.get("type"))),  # LM Studio
    )
    return Capabilities(
        window=next(filter(None, map(tokens_in, windows)), 0),
        reply=next(filter(None, map(tokens_in, replies)), 0),
        images=next((word for word in pictures if isinstance(word, bool)), None),
    )


def loaded(props: object) -> Capabilities:
    """Read `/props` of a llama-server: the window is that of one of its slots."""
    settings = _part(props, "default_generation_settings")
    vision = _part(props, "modalities").get("vision")
    return Capabilities(
        window=tokens_in(settings.get("n_ctx")), images=vision if isinstance(vision, bool) else None
    )


def described(description: object) -> Capabilities:
    """Read `/api/show` of an Ollama: the window is that of the model's file, and 0 when the file
    sets none.
    """
    parameters = description.get("parameters") if isinstance(description, Mapping) else None
    found = (
        re.search(r"^num_ctx\s+(\d{1,9})\s*$", parameters, re.MULTILINE)
        if isinstance(parameters, str)
        else None
    )
    can = description.get("capabilities") if isinstance(description, Mapping) else None
    return Capabilities(
        window=tokens_in(int(found[1])) if found else 0,
        images="vision" in can if isinstance(can, list) else None,
    )


def running(processes: object, model: str) -> Capabilities:
    """Read `/api/ps` of an Ollama: the window that a loaded model was given."""
    models = processes.get("models") if isinstance(processes, Mapping) else None
    for entry in models if isinstance(models, list) else ():
        if isinstance(entry, Mapping) and _same(model, entry.get("model"), entry.get("name")):
            return Capabilities(window=tokens_in(entry.get("context_length")))
    return NOTHING


def _same(model: str, *names: object) -> bool:
    """Whether one of Ollama's names is the model's; `:latest` may be left out."""
    return any(
        isinstance(name, str) and name.removesuffix(":latest") == model.removesuffix(":latest")
        for name in names
    )


def _part(value: object, name: str) -> Mapping[str, object]:
    found = value.get(name) if isinstance(value, Mapping) else None
    return found if isinstance(found, Mapping) else {}


_WINDOW = re.compile(
    r"""(?:
        maximum\ context\ length\ (?:is|of)         # OpenAI, vLLM: "... is 8192 tokens. However, you requested 9000"
        | available\ context\ size                  # llama-server: "exceeds the ... (8192 tokens)"
        | context\ length\ of\ only                 # LM Studio
        | maximum\ prompt\ length\ is               # xAI
        | maximum\ number\ of\ tokens\ allowed      # Gemini: "exceeds the ... (1048576)"
        | >                                         # Anthropic: "prompt is too long: 210000 tokens > 200000 maximum"
    )[\ (:]{0,3}(\d[\d,]{2,12})""",
    re.VERBOSE | re.IGNORECASE,
)


def window_from_error(said: str) -> int | None:
    """The window in tokens that a refusal names; None when it names none that could be one."""
    match = _WINDOW.search(said)
    return tokens_in(int(match.group(1).replace(",", ""))) or None if match else None


_REFUSALS = (400, 404, 415, 422, 500, 501)
"""Statuses with which servers refuse a request for its images; the message then speaks of
images.
"""
_WORDS = ("image", "vision", "multimodal", "mmproj")
_UNDO = "/undo takes the message with the image out of the conversation."
_WITHOUT = "The next message goes without images."


def refuses_images(request: Request, status: int, refusal: ProviderError, *, known: bool) -> bool:
    """Whether a server refused a request on account of its images; it is not tried again then, and
    the hint says what helps. `known`: that the model takes images is known, so that one of them is
    at fault.
    """
    told = refusal.message.lower()
    if not any(message.images for message in request.messages) or isinstance(
        refusal, ContextTooLong
    ):
        return False
    if status not in _REFUSALS or not any(word in told for word in _WORDS):
        return False
    refusal.retryable, refusal.hint = False, _UNDO if known else _WITHOUT
    return True
