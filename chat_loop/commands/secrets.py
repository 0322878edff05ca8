"""Asks on the terminal before secrets reach the model."""

from __future__ import annotations

import asyncio
import signal
from typing import TYPE_CHECKING

from chat_loop.agent.secret_gate import CHOICES, QUESTION, SecretGate
from chat_loop.redact.outgoing import Answer

if TYPE_CHECKING:
    from chat_loop.display.manager import DisplayManager
    from chat_loop.input.lines import Reader


def secret_gate(display: DisplayManager, reader: Reader, *, can_ask: bool) -> SecretGate:
    """Return the gate of a chat: it asks the user, or says what is not sent if nobody is there."""
    question = SecretQuestion(display, reader)
    return SecretGate(question.ask if can_ask else None, display.warn)


class SecretQuestion:
    """The question whether secrets may be sent."""

    def __init__(self, display: DisplayManager, reader: Reader) -> None:
        self._display = display
        self._reader = reader

    async def ask(self, text: str) -> Answer | None:
        """Show a text, and return the choice that the user types as a word or letter; in an editor,
        ask until it is valid. Enter means no. Ctrl-C stops the reply. Ctrl-D is no answer.
        """
        self._display.stop_waiting()
        try:
            self._display.proposal(text)
            return await self._choice()
        finally:
            self._display.begin_waiting()

    async def _choice(self) -> Answer | None:
        while True:
            try:
                typed = await self._reader.ask(QUESTION)
            except EOFError:
                return None
            except KeyboardInterrupt:
                signal.raise_signal(signal.SIGINT)  # its handler stops the work that asks
                await asyncio.Event().wait()
                raise
            for word, answer in CHOICES.items():
                if typed in (word, word[0]):
                    return answer
            if not (typed and self._reader.has_editor):
                return "no"
            self._display.prose("Answer y, m or n; Enter alone is no.", "dim")
