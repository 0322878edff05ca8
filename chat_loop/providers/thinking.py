"""Reasoning that a model writes into its reply's text, before the answer: `<think>…</think>`."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping
from types import MappingProxyType

from chat_loop.events import TextDelta, ThinkingDelta

TAGS: Mapping[str, str] = MappingProxyType(
    {"<think>": "</think>", "<thought>": "</thought>", "[THINK]": "[/THINK]"},
)
"""What begins reasoning -> what ends it. It counts only where nothing but white space stands before
it.
"""

MOST_BLANK = 256
"""Characters of white space after which no reasoning is expected any more."""


class Tagged:
    """Tells a reply's reasoning from its answer, in pieces as they come.

    White space around the reasoning is dropped. A reply that does not begin with a tag passes as it
    is, whatever tags stand further on; reasoning that never ends is all there is.
    """

    def __init__(self) -> None:
        self._held = ""
        """What cannot be told yet: the beginning, or what may be the first part of the tag that
        ends the reasoning.
        """
        self._end: str | None = None
        """The tag that is waited for; None before the beginning is known; "" once the answer has
        begun.
        """
        self._strip = False
        """Whether the white space between reasoning and answer still comes."""

    def split(self, text: str) -> Iterator[TextDelta | ThinkingDelta]:
        """Take a piece of the reply's text and yield what is known of it by now."""
        text, self._held = self._held + text, ""
        if self._end is None:
            begun = text.lstrip()
            found = next((tag for tag in TAGS if begun.startswith(tag)), "")
            if not found and any(tag.startswith(begun) for tag in TAGS) and len(text) <= MOST_BLANK:
                self._held = text
                return
            self._end = TAGS[found] if found else ""
            text = begun[len(found) :] if found else text
        if self._end:
            text = yield from self._reasoning(text, self._end)
        if self._strip:
            text = text.lstrip()
            self._strip = not text
        if text:
            yield TextDelta(text)

    def rest(self) -> Iterator[TextDelta | ThinkingDelta]:
        """What is still held back when the reply has ended."""
        held, self._held = self._held, ""
        if held:
            yield ThinkingDelta(held) if self._end else TextDelta(held)

    def _reasoning(self, text: str, end: str) -> Generator[TextDelta | ThinkingDelta, None, str]:
        """Yield the reasoning in `text`; return what stands after it."""
        inside, found, after = text.partition(end)
        if not found:
            kept = next(
                (size for size in range(len(end) - 1, 0, -1) if inside.endswith(end[:size])), 0
            )
            inside, self._held = inside[: len(inside) - kept], inside[len(inside) - kept :]
        else:
            self._end, self._strip = "", True
        if inside:
            yield ThinkingDelta(inside)
        return after
