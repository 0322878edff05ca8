"""Which models take images, by name: no service says it before it refuses one."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from chat_loop.errors import ContextTooLong, ProviderError
from chat_loop.providers import Provider
from chat_loop.providers.windows import bare_name, longest_prefix
from chat_loop.values import Request

TAKE_IMAGES: Mapping[str, bool] = MappingProxyType(
    {
        # Anthropic
        "claude-": True,
        "claude-2": False,
        "claude-instant": False,
        # OpenAI
        "gpt-4-turbo": True,
        "gpt-4-turbo-preview": False,
        "gpt-4-vision": True,
        "gpt-4-1106-vision": True,
        "gpt-4o": True,
        "gpt-4o-audio": False,
        "gpt-4.1": True,
        "gpt-4.5": True,
        "chatgpt-4o": True,
        "gpt-5": True,
        "o1": True,
        "o1-mini": False,
        "o1-preview": False,
        "o3": True,
        "o3-mini": False,
        "o4": True,
        # Google
        "gemini-": True,
        "gemini-pro": False,
        "gemini-1.0": False,
        "gemma3": True,
        "gemma3:1b": False,
        "gemma3:270m": False,
        "gemma-3": True,
        "gemma-3-1b": False,
        "gemma-3-270m": False,
        # xAI
        "grok-2-vision": True,
        "grok-4": True,
        # Meta
        "llama3.2-vision": True,
        "llama4": True,
        "llama-4": True,
        # Alibaba
        "qwen-vl": True,
        "qwen2-vl": True,
        "qwen2.5vl": True,
        "qwen2.5-vl": True,
        "qwen3-vl": True,
        # Mistral
        "pixtral": True,
        "mistral-small3.1": True,
        "mistral-small3.2": True,
        "mistral-small-latest": True,
        "mistral-small-25": True,
        "mistral-small-2501": False,
        "mistral-medium": True,
        "mistral-large-latest": True,
        "mistral-large-2512": True,
        "ministral-3": True,
        # Others
        "llava": True,
        "bakllava": True,
        "moondream": True,
        "minicpm-v": True,
        "granite3.2-vision": True,
        "internvl": True,
        "glm-4v": True,
        "glm-4.1v": True,
        "glm-4.5v": True,
        "kimi-vl": True,
        "smolvlm": True,
    }
)
"""Prefix of a model's name -> whether it takes images; the longest one counts."""
_MARK = "vision"
_REFUSALS = (400, 404, 415, 422, 500, 501)
"""Statuses with which servers refuse a request for its images; the message then speaks of images."""
_WORDS = ("image", "vision", "multimodal", "mmproj")
_UNDO = "/undo takes the message with the image out of the conversation."
_WITHOUT = "The next message goes without images."


def takes_images(model: str, overrides: Mapping[str, bool]) -> bool:
    """Whether `model` takes images: as `overrides` say of its exact name, else as is known of it; a model of which
    nothing is known takes none, unless its name speaks of vision."""
    if model in overrides:
        return overrides[model]
    known = longest_prefix(model, TAKE_IMAGES)
    return _MARK in bare_name(model) if known is None else TAKE_IMAGES[known]


def seeing(provider: Provider, overrides: Mapping[str, bool]) -> Provider:
    """The provider, which knows now whether its model takes images. An embedded one takes none, whatever its name."""
    provider.takes_images = provider.name != "local" and takes_images(provider.model, overrides)
    return provider


def refuses(request: Request, status: int, refusal: ProviderError, *, known: bool) -> bool:
    """Whether a server refused a request on account of its images; it is not tried again then, and the hint says what
    helps. `known`: that the model takes images is known, so that one of them is at fault."""
    told = refusal.message.lower()
    if not any(message.images for message in request.messages) or isinstance(refusal, ContextTooLong):
        return False
    if status not in _REFUSALS or not any(word in told for word in _WORDS):
        return False
    refusal.retryable, refusal.hint = False, _UNDO if known else _WITHOUT
    return True
