"""The user is asked in the chat whether a tool may do what it would do."""

from __future__ import annotations

import asyncio
import signal
from typing import TYPE_CHECKING

from msgspec.structs import replace

from chat_loop.agent.agent import Agent
from chat_loop.display.manager import DisplayManager
from chat_loop.input.lines import Reader

if TYPE_CHECKING:
    from chat_loop.agent.approval import Approvals


class Permission:
    """Asks on the terminal, for one run of the program. `reader` is set before the first
    question.
    """

    def __init__(self, display: DisplayManager) -> None:
        self.reader: Reader | None = None
        self._display = display
        self._approvals: Approvals | None = None

    def needed_by(self, agent: Agent) -> Agent:
        """The agent, asking here before a call changes something."""
        return replace(agent, approve=self._approve)

    async def _approve(self, name: str, text: str) -> bool:
        from chat_loop.agent.approval import Approvals  # not before something is asked

        self._approvals = self._approvals or Approvals(self._show, self._ask)
        try:
            return await self._approvals.approve(name, text)
        finally:
            self._display.begin_waiting()

    def _show(self, name: str, text: str) -> None:
        from chat_loop.display import calls

        self._display.stop_waiting()
        calls.proposed(self._display, text)
        assert self.reader is not None
        self.reader.forget()  # what was typed before the question stood there is no answer to it

    async def _ask(self, question: str) -> str:
        """Ctrl-C stops the reply, as it does at any time; Ctrl-D, or the end of what is piped in,
        is no.
        """
        assert self.reader is not None
        try:
            return await self.reader.ask(question)
        except EOFError:
            return "no"
        except KeyboardInterrupt:
            signal.raise_signal(signal.SIGINT)  # to who stops the reply
            await asyncio.Event().wait()
            raise
