"""The door to rich. It takes long to load, so that the display loads it with its first line."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TextIO

from rich.console import Console
from rich.padding import Padding
from rich.panel import Panel
from rich.text import Text


class StyledConsole(Console):
    """Prints styled lines. The terminal wraps them, and rich fits everything else to its width."""

    def __init__(self, out: TextIO) -> None:
        super().__init__(file=out, highlight=False, markup=False, emoji=False, soft_wrap=True)

    def row(self, *parts: tuple[str, str]) -> None:
        """Print texts with their styles on one line, cut to the width of the terminal."""
        line = Text.assemble(*parts)
        self.print(line, no_wrap=True, overflow="ellipsis", soft_wrap=False)

    def excerpt(self, text: str, words: Sequence[str]) -> None:
        """Print an indented text in which `words` are highlighted."""
        line = Text(text)
        line.highlight_words(words, "bold yellow", case_sensitive=False)
        self.print(Padding(line, (0, 0, 0, 5), expand=False), soft_wrap=False)

    def panel(self, text: str, title: str) -> None:
        """Print a text in a frame with a title."""
        self.print(Panel(text, title=title, title_align="left", expand=False), soft_wrap=False)
