"""Approvals of tool calls that are kept for a project, in one of the user's files."""

from __future__ import annotations

import hashlib
from pathlib import Path

import msgspec
from msgspec import Struct

from chat_loop.agent.tools import Tool
from chat_loop.errors import ChatLoopError
from chat_loop.sessions.files import read_part, write_private


class Approval(Struct, frozen=True, order=True):
    """An approval of a tool, or of one exact `call`. `origin` is the digest of what defines the
    tool: the agent's file and the config of the MCP server.
    """

    project: str
    tool: str
    call: str
    origin: str


class ProjectApprovals(Struct, frozen=True):
    """The approvals in a file. Those of this run apply to `project`, its root folder, and to
    `agent`, the path and digest of the agent's file.
    """

    file: Path
    project: str
    agent: str = ""

    def of(self, tool: Tool, call: str) -> Approval:
        """Return the approval that covers `call` of a tool, or any call if it is empty."""
        origin = hashlib.sha256(f"{self.agent}\n{tool.origin}".encode()).hexdigest()
        call = call.encode("utf-8", "replace").decode()  # a model may send lone surrogates
        return Approval(self.project, tool.spec.name, call, origin)

    def all(self) -> list[Approval]:
        """Return the approvals of all projects. Raises ChatLoopError."""
        try:
            return msgspec.json.decode(read_part(self.file)[0], type=list[Approval])
        except FileNotFoundError:
            return []
        except (OSError, ValueError) as error:
            text = f"{self.file} is not used: it is damaged, or cannot be read."
            raise ChatLoopError(text, "Fix or delete it.") from error

    def write(self, approvals: list[Approval]) -> None:
        """Replace all approvals. Raises ChatLoopError."""
        write_private(self.file, msgspec.json.format(msgspec.json.encode(sorted({*approvals}))))
