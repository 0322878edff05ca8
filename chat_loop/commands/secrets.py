"""Asks on the terminal before secrets reach the model."""

from __future__ import annotations

import asyncio
import signal
from typing import TYPE_CHECKING

from chat_loop.agent.secret_gate import SecretGate
from chat_loop.commands.asking import ask
from chat_loop.display.questions import Question, parts_of
from chat_loop.redact.outgoing import Answer

if TYPE_CHECKING:
    from chat_loop.display.display_manager import DisplayManager
    from chat_loop.input.lines import EntryReader


ANSWERS: dict[str, Answer] = {"yes": "send", "marks": "marks"}
"""What the choices of the question mean. Any other is no."""


def secret_gate(display: DisplayManager, reader: EntryReader, *, can_ask: bool) -> SecretGate:
    """Return the gate of a chat: it asks the user, or says what is not sent if nobody is there."""
    question = SecretQuestion(display, reader)
    return SecretGate(question.ask if can_ask else None, display.warn)


class SecretQuestion:
    """The question whether secrets may be sent."""

    def __init__(self, display: DisplayManager, reader: EntryReader) -> None:
        self._display = display
        self._reader = reader

    async def ask(self, text: str) -> Answer | None:
        """Show a text, and return the user's choice. Enter alone means no. Ctrl-C stops the reply.
        Ctrl-D is no answer.
        """
        question = Question("Send it as it is?", ("yes", "no", "marks", "view"), parts_of(text))
        self._display.stop_waiting()
        try:
            choice = await ask(self._display, self._reader, question)
        except EOFError:
            return None
        except KeyboardInterrupt:
            signal.raise_signal(signal.SIGINT)  # its handler stops the work that asks
            await asyncio.Event().wait()
            raise
        finally:
            self._display.begin_waiting()
        return ANSWERS.get(choice, "no")
