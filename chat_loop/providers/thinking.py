"""Reasoning that a model writes into its reply's text, before the answer: `<think>…</think>`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType

from chat_loop.events import TextDelta, ThinkingDelta

TAGS: Mapping[str, str] = MappingProxyType(
    {"<think>": "</think>", "<thought>": "</thought>", "[THINK]": "[/THINK]"},
)
"""What begins reasoning -> what ends it, where nothing but white space stands before it."""
MOST_BLANK = 256
"""Characters of white space after which no reasoning is expected any more."""


class Tagged:
    """Tells a reply's reasoning from its answer, in pieces as they come.

    White space around the reasoning is dropped. A reply that does not begin with a tag passes as it
    is, whatever tags stand further on; reasoning that never ends is all there is.
    """

    def __init__(self) -> None:
        self._held = ""
        """The beginning, or what may be the first part of the tag that ends the reasoning."""
        self._end: str | None = None
        """The tag that ends the reasoning; None before the beginning, "" in the answer."""
        self._strip = False
        """White space between reasoning and answer may still come."""

    def split(self, text: str) -> Iterator[TextDelta | ThinkingDelta]:
        """Take a piece of the reply's text and yield what is known of it by now."""
        if text and self._end == "" and not self._strip:
            yield TextDelta(text)
            return
        text, self._held = self._held + text, ""
        if self._end is None:
            begun = text.lstrip()
            tag = next((tag for tag in TAGS if begun.startswith(tag)), "")
            if not tag and any(tag.startswith(begun) for tag in TAGS) and len(text) <= MOST_BLANK:
                self._held = text
                return
            self._end = TAGS.get(tag, "")
            text = begun[len(tag) :] if tag else text
        if self._end:
            inside, found, text = text.partition(self._end)
            if found:
                self._end, self._strip = "", True
            else:
                sizes = range(len(self._end) - 1, 0, -1)
                kept = next((size for size in sizes if inside.endswith(self._end[:size])), 0)
                inside, self._held = inside[: len(inside) - kept], inside[len(inside) - kept :]
            if inside:
                yield ThinkingDelta(inside)
        if self._strip:
            text = text.lstrip()
            self._strip = not text
        if text:
            yield TextDelta(text)

    def rest(self) -> Iterator[TextDelta | ThinkingDelta]:
        """Yield what is still held back when the reply has ended."""
        held, self._held = self._held, ""
        if held:
            yield ThinkingDelta(held) if self._end else TextDelta(held)
