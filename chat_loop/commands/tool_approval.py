"""Asks the user before a tool runs."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Sequence
from typing import TYPE_CHECKING

from chat_loop.agent.approval import Approval, ProjectApprovals, change_notice
from chat_loop.agent.tools import ASKED_AGAIN, Tool
from chat_loop.commands.asking import ask
from chat_loop.display.questions import Question, parts_of
from chat_loop.errors import ChatLoopError
from chat_loop.values import plural

if TYPE_CHECKING:
    from chat_loop.display.display_manager import DisplayManager
    from chat_loop.input.lines import EntryReader

VERBS = {"write_file": "Apply", "edit_file": "Apply", "remember": "Save", "read_file": "Read"}
"""What a question calls the act of a tool, if not “run”."""


def _replaced(wanted: Approval, kept: Sequence[Approval]) -> Approval | None:
    """Return the approval that would cover a call if the tool had not changed."""
    return next((one for one in reversed(kept) if wanted.replaces(one)), None)


class ToolApproval:
    """Asks on the terminal whether a tool may run.

    “Always” and “project” allow all calls of the tool. For `run_command`, files outside the project
    and files that can run code, they allow only the same call. “Project” is not offered for such
    files, or for a command that names one. When the tool changes, the user is asked anew.
    """

    def __init__(
        self, display: DisplayManager, reader: EntryReader, kept: ProjectApprovals
    ) -> None:
        self._display = display
        self._reader = reader
        self._kept = kept
        self._always: dict[tuple[str, str], Approval] = {}
        self._is_told = False
        """True once the user knows that the file has entries of another version."""

    async def approve(self, tool: Tool, text: str) -> bool:
        """Return True if the call is allowed, by the user now or earlier. Raises ChatLoopError."""
        name = tool.spec.name
        asks_again = text.startswith(ASKED_AGAIN)
        call = text if asks_again or name == "run_command" else ""
        wanted = self._kept.of(tool, call)
        always = self._always.get((name, call))
        if always == wanted:
            return True
        self._display.stop_waiting()
        try:
            offers_project = not (asks_again or self._kept.has_all_projects)
            kept = None
            if offers_project:
                kept = await self._approvals()
            if kept is not None and wanted in kept:
                return True
            earlier = always or _replaced(wanted, kept or ())
            act = parts_of(text)
            if earlier is not None:
                act = (change_notice(earlier, wanted), *act)
            choices = ["yes", "no", "always", *(["project"] if kept is not None else []), "view"]
            verb = VERBS.get(name, "Run")
            scope = "this exact call" if call else name
            self._display.asks_about(name)
            answer = await self._ask(Question(f"{verb}?", tuple(choices), act, scope))
            if answer == "always":
                self._always[name, call] = wanted
            elif kept is not None and answer == "project":
                await asyncio.to_thread(self._kept.add, wanted)
                self._display.prose(f"Saved for {self._kept.project}; /tools lists it.", "dim")
            return answer in ("yes", "always", "project")
        finally:
            self._display.begin_waiting()

    async def _approvals(self) -> Sequence[Approval] | None:
        """Return the stored approvals, or None after a warning if the file is unusable."""
        try:
            stored = await asyncio.to_thread(self._kept.stored)
        except ChatLoopError as error:
            self._display.warn(error.message, error.hint)
            return None
        if stored.others and not self._is_told:
            self._is_told = True
            count = plural(len(stored.others), "answer")
            text = f"{self._kept.file} has {count} that this version of chat-loop does not use."
            self._display.warn(text, "They stay in the file; the tools ask again.")
        return stored.approvals

    async def _ask(self, question: Question) -> str:
        """Return the user's choice.

        Ctrl-C stops the reply, as it does at any time. Ctrl-D and the end of a pipe mean no.
        """
        try:
            return await ask(self._display, self._reader, question)
        except EOFError:
            return "no"
        except KeyboardInterrupt:
            signal.raise_signal(signal.SIGINT)  # its handler stops the reply
            await asyncio.Event().wait()
            raise
