"""What a service says beside a reply's calls and wants back with them, while the model works on the
answer.

Gemini signs its calls and refuses one without its signature
(https://ai.google.dev/gemini-api/docs/thought-signatures); DeepSeek wants the reasoning that led to
the calls (https://api-docs.deepseek.com/guides/thinking_mode). None of it is the conversation's: it
lives as long as the provider, and is in no transcript.
"""

from __future__ import annotations

import json
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from typing import TypeVar

from chat_loop.providers.calls import tool_name
from chat_loop.values import ToolCall

V = TypeVar("V")

MOST_KEPT = 256
"""Calls; the oldest are forgotten."""
LONGEST_EXTRA = 1 << 18
"""Characters of JSON; what is longer is not kept."""


class Asides:
    """Remembered by what a call is: its name and arguments, which come back as they were."""

    def __init__(self) -> None:
        self._extras: OrderedDict[tuple[str, str], Mapping[str, object]] = OrderedDict()
        self._reasoning: OrderedDict[tuple[str, str], str] = OrderedDict()

    def keep(
        self, calls: Sequence[ToolCall], extras: Sequence[Mapping[str, object]], reasoning: str
    ) -> None:
        """Remember what came beside `calls`: one of `extras` each, and the reasoning before the
        first.
        """
        for call, extra in zip(calls, extras, strict=True):
            if extra and _is_short(extra):
                _put(self._extras, _key(call), extra)
        if calls and reasoning:
            _put(self._reasoning, _key(calls[0]), reasoning)

    def extra(self, call: ToolCall) -> Mapping[str, object]:
        """What came beside a call; nothing when that is not known."""
        return self._extras.get(_key(call), {})

    def reasoning(self, calls: Sequence[ToolCall]) -> str:
        """The reasoning that led to calls, "" when that is not known."""
        return self._reasoning.get(_key(calls[0]), "") if calls else ""


def _key(call: ToolCall) -> tuple[str, str]:
    return tool_name(call.name), call.arguments


def _is_short(extra: Mapping[str, object]) -> bool:
    try:
        text = json.dumps(extra, ensure_ascii=False, allow_nan=False)
        text.encode()  # halves of surrogate pairs could not be sent back
    except (ValueError, RecursionError):
        return False
    return len(text) <= LONGEST_EXTRA


def _put(kept: OrderedDict[tuple[str, str], V], key: tuple[str, str], value: V) -> None:
    kept[key] = value
    kept.move_to_end(key)
    while len(kept) > MOST_KEPT:
        kept.popitem(last=False)
