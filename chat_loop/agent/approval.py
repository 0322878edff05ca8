"""Approvals of tool calls that are kept for a project, in a file of the user's."""

from __future__ import annotations

import hashlib
from pathlib import Path

import msgspec
from msgspec import Struct

from chat_loop.agent.tools import Tool
from chat_loop.errors import ChatLoopError, os_reason
from chat_loop.sessions.files import read_part, write_private


class Approval(Struct, frozen=True, order=True):
    """An approval of a tool, or of one exact `call`. `origin` is the digest of what defines the
    tool: the agent's file and the config of the MCP server.
    """

    project: str
    tool: str
    call: str
    agent: str
    origin: str


class ProjectApprovals(Struct, frozen=True):
    """The approvals in a file, and what those of this run are for: the project's root, and the path
    and the digest of the agent's file.
    """

    file: Path
    project: str
    agent: str = ""
    digest: str = ""

    def of(self, tool: Tool, call: str) -> Approval:
        """Return the approval that covers a call of a tool; an empty `call` is any."""
        origin = hashlib.sha256(f"{self.digest}\n{tool.origin}".encode()).hexdigest()
        return Approval(self.project, tool.spec.name, call, self.agent, origin)

    def all(self) -> list[Approval]:
        """Return the approvals of all projects. Raises ChatLoopError for a damaged file."""
        try:
            return msgspec.json.decode(read_part(self.file)[0], type=list[Approval])
        except FileNotFoundError:
            return []
        except (OSError, ValueError) as error:
            reason = os_reason(error) if isinstance(error, OSError) else "it is damaged"
            text = f"{self.file} is not used: {reason}."
            raise ChatLoopError(text, "Fix or delete it.") from error

    def write(self, approvals: list[Approval]) -> None:
        """Replace all approvals. Raises ChatLoopError."""
        try:
            data = msgspec.json.format(msgspec.json.encode(sorted({*approvals})))
        except ValueError as error:
            raise ChatLoopError(f"{self.file} cannot be written: it is no text.") from error
        write_private(self.file, data)
