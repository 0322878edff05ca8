"""Pasted text: folded in the line when it is long, and told from what was typed."""

from __future__ import annotations

FOLD_CHARACTERS = 2_000
FOLD_LINES = 20
MOST_HELD = 16_000_000
"""Characters of folded texts that are held, so that a recalled entry still has them."""


class Pastes:
    """The pastes of this run. A long paste stands in the line as its size, which is its name
    here.
    """

    def __init__(self) -> None:
        self._folded: dict[str, str] = {}
        self._count = 0
        self.shown: list[str] = []
        """What of several lines was pasted into the present entry and not folded."""

    def fold(self, text: str, characters: int = FOLD_CHARACTERS, lines: int = FOLD_LINES) -> str:
        """Return what is to stand in the line for `text`."""
        count = text.count("\n") + 1
        if len(text) <= characters and count <= lines:
            self.shown += [text] if count > 1 else []
            return text
        self._count += 1
        name = f"[paste {self._count}: {len(text):,} characters, {count:,} lines]"
        self._folded[name] = text
        held = sum(map(len, self._folded.values()))
        for old in [*self._folded][:-1]:
            if held <= MOST_HELD:
                break
            held -= len(self._folded.pop(old))
        return name

    def going_on(self, before: str, text: str) -> tuple[int, str]:
        """As `fold`, for a text that comes in parts: how much of `before` makes way for it, and
        what stands there.
        """
        last = next(reversed(self._folded), "")
        if last and before.endswith(last):
            return len(last), self.fold(self._folded[last] + text)
        return 0, self.fold(text)

    def has(self, text: str) -> bool:
        """Return whether something folded stands in `text`."""
        return any(name in text for name in self._folded)

    def unfolded(self, text: str) -> str:
        """`text` with what was folded in its place."""
        for name, whole in self._folded.items():
            text = text.replace(name, whole, 1)
        return text

    def opened(self, text: str) -> str:
        """`text` unfolded to be edited: what was folded counts as shown from now on."""
        self.shown += [whole for name, whole in self._folded.items() if name in text]
        return self.unfolded(text)
