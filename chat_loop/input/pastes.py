"""Pasted text: folded in the line when it is long, and told apart from typed text."""

from __future__ import annotations

FOLD_CHARACTERS = 2_000
FOLD_LINES = 20
MAX_FOLDED = 16_000_000
"""Characters of folded texts that are kept, so that a recalled entry still has them."""


class Pastes:
    """The pastes of this run. A long paste stands in the line as a name with its size."""

    def __init__(self) -> None:
        self._folded: dict[str, str] = {}
        self._count = 0
        self.shown: list[str] = []
        """Unfolded pastes of several lines in the present entry."""

    def fold(self, text: str, characters: int = FOLD_CHARACTERS, lines: int = FOLD_LINES) -> str:
        """Return the text, or the name that stands for it in the line."""
        count = text.count("\n") + 1
        if len(text) <= characters and count <= lines:
            self.shown += [text] if count > 1 else []
            return text
        self._count += 1
        name = f"[paste {self._count}: {len(text):,} characters, {count:,} lines]"
        self._folded[name] = text
        while len(self._folded) > 1 and sum(map(len, self._folded.values())) > MAX_FOLDED:
            del self._folded[next(iter(self._folded))]
        return name

    def has(self, text: str) -> bool:
        """Return True when `text` holds a folded paste."""
        return any(name in text for name in self._folded)

    def expand(self, text: str) -> str:
        """Return `text` with its folded pastes expanded."""
        for name, whole in self._folded.items():
            text = text.replace(name, whole, 1)
        return text

    def expand_for_edit(self, text: str) -> str:
        """Return `text` expanded for an editor; its pastes count as shown from now on."""
        self.shown += [whole for name, whole in self._folded.items() if name in text]
        return self.expand(text)
