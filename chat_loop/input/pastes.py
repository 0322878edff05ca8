"""Pasted text: folded in the line when it is long, and told from what was typed."""

from __future__ import annotations

FOLD_CHARACTERS = 2_000
FOLD_LINES = 20
MAX_FOLDED = 16_000_000
"""Characters of folded texts that are held, so that a recalled entry still has them."""


class Pastes:
    """The pastes of this run. A long paste stands in the line as its size, which is its name
    here.
    """

    def __init__(self) -> None:
        self._folded: dict[str, str] = {}
        self._count = 0
        self._begun = ""
        """The last part of a text that arrives in parts, while it is short enough to be shown."""
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
        kept_size = sum(map(len, self._folded.values()))
        for old in [*self._folded][:-1]:
            if kept_size <= MAX_FOLDED:
                break
            kept_size -= len(self._folded.pop(old))
        return name

    def extend(self, before: str, text: str) -> tuple[int, str]:
        """Fold a text that arrives in parts: return how much of `before` it replaces, and the
        replacement.
        """
        last = next(reversed(self._folded), "")
        if last and before.endswith(last):
            return len(last), self.fold(self._folded[last] + text)
        begun = self._begun if before.endswith(self._begun) else ""
        if begun in self.shown:
            self.shown.remove(begun)
        whole = begun + text
        shown = self.fold(whole)
        self._begun = whole if shown == whole else ""
        return len(begun), shown

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
