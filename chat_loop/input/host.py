"""What the composer asks of the chat."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

from chat_loop.errors import ChatLoopError
from chat_loop.values import Picture

if TYPE_CHECKING:
    from prompt_toolkit.completion import Completer

    from chat_loop.display.status import Status


class Host(Protocol):
    """The chat, which answers at once."""

    def status(self) -> Status:
        """Return the contents of the status line."""

    def status_changes(self) -> bool:
        """Return True while the status changes by itself."""

    def ready(self) -> None:
        """Note that the bottom of the screen is drawn, and keys are read."""

    def completer(self) -> Completer:
        """Return what completes the line. Called in a thread."""

    def is_command(self, line: str) -> bool:
        """Return True for a line that runs a command. It does not become part of a paste."""

    def stops(self, line: str) -> bool:
        """Return True for an entry that stops what runs, and comes before all that is queued."""

    def answers(self, line: str) -> bool:
        """Answer an entry at once, while the chat works, if it only shows something."""

    def image_count(self) -> int:
        """Return the number of images in the context."""

    async def clipboard(self) -> str | Picture:
        """Return the text or the image in the clipboard. Raises ChatLoopError."""

    async def dropped(self, readings: Sequence[Sequence[str]]) -> Sequence[str | Picture]:
        """Return the files of the first of the `readings` that only names files, as `@path` or as
        images; nothing if there is none.
        """

    def echo(self, text: str) -> None:
        """Print an entry when its turn comes."""

    def show_error(self, error: ChatLoopError) -> None:
        """Show why the line could not be edited, or the clipboard not be pasted."""
