"""A user who answers the questions about tool calls, and approvals that are not saved anywhere."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from chat_loop.agent.approval import ProjectApprovals
from chat_loop.agent.tools import Tool
from chat_loop.commands.tool_approval import ToolApproval
from chat_loop.display.questions import Question, question_text
from chat_loop.values import ToolSpec

SENDING = "Send it as it is? [y]es [n]o, send with [m]arks "
"""The question before secrets reach a model."""
NOTHING = ProjectApprovals(Path("/nonexistent/approvals.json"), "/project")


class User:
    """A user who gives `answers` in order. `seen` is everything that was shown and asked,
    `given_back` what was typed and is no answer.
    """

    def __init__(
        self, *answers: str, kept: ProjectApprovals = NOTHING, has_editor: bool = True
    ) -> None:
        self.has_editor = has_editor
        self.answers = list(answers)
        self.seen: list[str] = []
        self.given_back: list[str] = []
        display: Any = self
        self.approve_call = ToolApproval(display, display, kept).approve

    def stop_waiting(self) -> None:
        """There is nothing to stop."""

    def begin_waiting(self) -> None:
        """There is nothing to wait for."""

    def asks_about(self, tool: str) -> None:
        """Its call is not printed."""

    def act(self, question: Question) -> None:
        self.seen.append("\n".join(question.act))

    def screen_size(self) -> tuple[int, int]:
        return 0, 0

    def give_back(self, text: str) -> None:
        self.given_back.append(text)

    def prose(self, text: str, style: str) -> None:
        self.seen.append(text)

    def warn(self, *texts: str) -> None:
        self.seen.append(" ".join(texts))

    async def ask(self, question: Question) -> str:
        self.seen.append(question_text(question))
        return self.answers.pop(0)

    def approve(self, name: str, text: str, origin: str = "") -> bool:
        return asyncio.run(self.approve_call(tool_named(name, origin), text))


def tool_named(
    name: str,
    origin: str = "",
    description: str = "",
    parameters: Mapping[str, object] | None = None,
) -> Tool:
    async def run(given: Mapping[str, object]) -> str:
        return ""

    spec = ToolSpec(name, description, parameters or {})
    return Tool(spec, run, origin={"server": origin} if origin else {})
