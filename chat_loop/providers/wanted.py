"""What services send with a reply and want back, unchanged, in the rest of a conversation that uses
tools: reasoning, signed or in plain words, and signatures of calls. By its name on the wire:

- `thinking`, signed or encrypted blocks of Anthropic's Messages:
  https://docs.anthropic.com/en/docs/build-with-claude/extended-thinking,
  https://docs.aws.amazon.com/bedrock/latest/userguide/claude-messages-thinking-encryption.html
- `reasoning_content`, a text: https://api-docs.deepseek.com/guides/thinking_mode,
  https://docs.z.ai/guides/capabilities/thinking-mode,
  https://github.com/openai/openai-agents-python/issues/2669
- `reasoning`, the same under another name:
  https://docs.vllm.ai/en/latest/features/interleaved_thinking/
- `reasoning_details`, a list of texts and of encrypted parts:
  https://openrouter.ai/docs/guides/best-practices/reasoning-tokens
- `extra_content`, Gemini's signatures: https://ai.google.dev/gemini-api/docs/thought-signatures
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Mapping, Sequence

import msgspec
from msgspec import Struct

from chat_loop.caches import cached_by_size
from chat_loop.config import WantedField
from chat_loop.providers.capabilities import count_at, list_at, text_at, value_at
from chat_loop.providers.replies import Wanted, is_shallow, replace_surrogates
from chat_loop.values import Message

MAX_OPAQUE = 2 << 20  # characters of a step's JSON; the reasoning of a reply takes about a tenth
MOST_DECODED = 8 << 20  # characters of the parts whose values are kept in memory
MAX_DEPTH = 8  # the deepest nesting of what is kept
KINDS = ("thinking", "redacted_thinking")
"""The types of Anthropic's blocks that go back."""
NO_REASONING = " "
"""Stands for reasoning that another model did not send. DeepSeek refuses an empty text."""
EVERYWHERE = "reasoning everywhere"
"""The adaptation to a server that misses reasoning in all answers, not only in those with calls."""
PLAIN = ("reasoning_content", "reasoning")
"""The names of reasoning in plain words. Some servers send it by one and want it by the other."""

_ASKED_BY: Mapping[WantedField, str] = {
    "reasoning_content": r"\breasoning[_ ]content\b",
    "reasoning_details": r"\breasoning_details\b",
    "extra_content": r"\bthought[_ ]?signature\b",
}
_MISSING = re.compile(
    r"\bmissing\b|\brequire[sd]?\b|\bmust (?:be|include|contain|have)\b|\bback\b|\bexpected\b",
    re.IGNORECASE,
)
_UNWELCOME = re.compile(
    r"\b(?:un|not )(?:supported|permitted|allowed|expected|known|recogni[sz]ed)\b"
    r"|\binvalid\b|\bcorrupted\b",
    re.IGNORECASE,
)
_NAMED = re.compile(
    r"signature|thinking\W{0,2} (?:block|or )|reasoning_(?:content|details)|extra_content"
    r"|(?:property|assistant)\W+reasoning\b",
    re.IGNORECASE,
)


class _Part:
    """A part that arrives in pieces: the pieces of its `texts` are joined."""

    def __init__(self, first: Mapping[str, object], texts: Sequence[str]) -> None:
        self._values = dict(first)
        self._pieces: dict[str, list[str]] = {}
        self._texts = texts
        self.add(first)

    def add(self, piece: Mapping[str, object]) -> None:
        """Append the texts of a piece, and take its other values."""
        for name, value in piece.items():
            if name in self._texts and isinstance(value, str):
                self._pieces.setdefault(name, []).append(value)
            elif value is not None and name not in self._texts:
                self._values[name] = value

    def value(self) -> dict[str, object]:
        return self._values | {name: "".join(pieces) for name, pieces in self._pieces.items()}


class Fields:
    """What arrives in the messages of Chat Completions, by the name of its field there: the fields
    `names`, or all of them if it is unknown which the service wants.
    """

    def __init__(self, names: Collection[WantedField] | None = None) -> None:
        self.size = 0
        self._names = frozenset((*PLAIN, *_ASKED_BY)) if names is None else frozenset(names)
        self._texts: dict[str, list[str]] = {}
        self._details: list[_Part] = []
        self._open: dict[tuple[str, str], _Part] = {}  # details that may go on, by type and index
        self._extra: object = None
        self._extras: dict[int, object] = {}  # by the number of the call

    def read(self, delta: object) -> None:
        """Take what a delta has, apart from its calls."""
        for name in PLAIN if self._names.intersection(PLAIN) else ():
            if text := text_at(delta, name):
                self._texts.setdefault(name, []).append(text)
        for item in list_at(delta, "reasoning_details"):
            if isinstance(item, dict) and self._takes("reasoning_details", item):
                self._add_detail(item)
        extra = value_at(delta, "extra_content")
        is_signed = bool(text_at(extra, "google", "thought_signature"))
        if is_signed and self._takes("extra_content", extra):
            self._extra = extra

    def read_call(self, number: int, piece: object) -> None:
        """Take what a piece of a call has beside the call."""
        extra = value_at(piece, "extra_content")
        if isinstance(extra, dict) and self._takes("extra_content", extra):
            self._extras[number] = extra

    def _add_detail(self, item: Mapping[str, object]) -> None:
        """Add a detail, or a piece of the text of one that has begun."""
        key = text_at(item, "type"), repr(item.get("index"))
        is_text = "data" not in item  # encrypted ones come whole
        if is_text and key in self._open:
            self._open[key].add(item)
            return
        part = _Part(item, ("text", "summary"))
        self._details.append(part)
        if is_text:
            self._open[key] = part

    def _takes(self, name: str, value: object) -> bool:
        """Return True for a value of a field that can be kept."""
        if name not in self._names or not is_shallow(value, MAX_DEPTH):
            return False
        self.size += len(json.dumps(value))
        return True

    def value(self) -> object:
        fields: dict[str, object] = {name: "".join(text) for name, text in self._texts.items()}
        if self._details:
            fields["reasoning_details"] = [part.value() for part in self._details]
        if self._extra is not None:
            fields["extra_content"] = self._extra
        if self._extras:
            numbers = range(max(self._extras) + 1)
            fields["calls"] = [self._extras.get(number) for number in numbers]
        return fields or None


class _ReasoningBlock(Struct):
    """A block of reasoning, and the characters of text and the calls that came before it."""

    after_text: int
    after_calls: int
    part: _Part


class ReasoningBlocks:
    """What arrives in the messages of Anthropic: blocks of reasoning, and their places."""

    def __init__(self) -> None:
        self.size = 0
        self._blocks: list[_ReasoningBlock] = []
        self._by_index: dict[int | None, _Part] = {}

    def begin(self, index: object, block: object, *, text: int, calls: int) -> None:
        """Take a block that begins after `text` characters and after `calls`."""
        if not isinstance(block, dict) or text_at(block, "type") not in KINDS:
            return
        if is_shallow(block, MAX_DEPTH):
            self.size += len(json.dumps(block))
            part = _Part(block, ("thinking", "signature"))
            self._blocks.append(_ReasoningBlock(text, calls, part))
            self._by_index[index if isinstance(index, int) else None] = part

    def extend(self, index: object, delta: object) -> None:
        """Take a piece of a block that has begun."""
        part = self._by_index.get(index if isinstance(index, int) else None)
        if part is None:
            return
        pieces = {name: text_at(delta, name) for name in ("thinking", "signature")}
        self.size += len(pieces["signature"])
        part.add({name: text for name, text in pieces.items() if text})

    def value(self) -> object:
        blocks = []
        for at in self._blocks:
            position = {"after_text": at.after_text, "after_calls": at.after_calls}
            blocks.append({**position, "block": at.part.value()})
        return blocks or None


def encoded(wanted: Wanted) -> str:
    """Return what arrived as JSON, or an empty text."""
    value = wanted.value()
    if value is None:
        return ""
    return replace_surrogates(json.dumps(value, ensure_ascii=False))


@cached_by_size(MOST_DECODED)
def _decoded(text: str) -> object:
    """Return the values of an opaque part, which somebody may have edited."""
    try:  # refuses what could not be sent
        value: object = msgspec.json.decode(text) if text else None
    except (ValueError, RecursionError):
        return None
    return value if is_shallow(value, MAX_DEPTH + 3) else None


def fields_of(
    message: Message, wanted: Collection[WantedField], *, pads: bool
) -> dict[str, object]:
    """Return the fields that an assistant's message of Chat Completions gets back. If it `pads`, a
    blank stands for missing reasoning.
    """
    if not (message.opaque or pads):  # nearly always, and asked of each answer of each request
        return {}
    value = _decoded(message.opaque)
    plain = next(filter(None, (text_at(value, name) for name in PLAIN)), "")
    fields: dict[str, object] = {}
    for name in PLAIN:
        if name in wanted and (plain or pads):
            fields[name] = text_at(value, name) or plain or NO_REASONING
    if "reasoning_details" in wanted and (details := list_at(value, "reasoning_details")):
        fields["reasoning_details"] = details
    extra = value_at(value, "extra_content")
    if "extra_content" in wanted and isinstance(extra, dict):
        fields["extra_content"] = extra
    return fields


def extra_of_call(message: Message, number: int, wanted: Collection[WantedField]) -> object:
    """Return what the call with this number gets back as `extra_content`, or None."""
    extras = list_at(_decoded(message.opaque), "calls")
    if "extra_content" not in wanted or number >= len(extras):
        return None
    return extras[number]


def placed_blocks(message: Message) -> Iterator[tuple[int, int, dict[str, object]]]:
    """Yield the blocks of reasoning that an assistant's message of Anthropic gets back, each with
    the characters of text and the number of calls that stand before it.
    """
    value = _decoded(message.opaque)
    for item in value if isinstance(value, list) else ():
        block = value_at(item, "block")
        if isinstance(block, dict) and text_at(block, "type") in KINDS:
            yield count_at(item, "after_text"), count_at(item, "after_calls"), block


def field_asked_for(message: str) -> WantedField | None:
    """Return the field that a refusal says is missing, if it does."""
    if _UNWELCOME.search(message) or not _MISSING.search(message):
        return None
    for name, pattern in _ASKED_BY.items():
        if re.search(pattern, message, re.IGNORECASE):
            return name
    return None


def is_about_opaque(message: str) -> bool:
    """Return True if a refusal is about reasoning or signatures."""
    return _NAMED.search(message) is not None
