"""Approvals of tool calls that are kept for a project, in a folder of the user's."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import msgspec
from msgspec import Struct
from msgspec.structs import asdict

from chat_loop.agent.tools import Tool
from chat_loop.errors import ChatLoopError, os_reason
from chat_loop.sessions.files import Files, read_part

MAX_BYTES = 64 * 1024


class Approval(Struct, frozen=True, order=True):
    """A kept approval: of a tool, or of one exact `call`. `origin` is the digest of what defines
    the tool: the agent's file and the config of the MCP server.
    """

    project: str
    tool: str
    call: str
    agent: str
    origin: str


class ProjectApprovals(Struct, frozen=True):
    """The approvals kept for a project: a file for each, under the digest of its content. `agent`
    and `digest` are the path and the digest of the agent's file.
    """

    folder: Path
    project: str
    agent: str = ""
    digest: str = ""

    def of(self, tool: Tool, call: str) -> Approval:
        """Return the approval that covers a call of a tool; an empty `call` is any."""
        origin = hashlib.sha256(f"{self.digest}\n{tool.origin}".encode()).hexdigest()
        return Approval(self.project, tool.spec.name, call, self.agent, origin)

    def _file(self, approval: Approval) -> tuple[Path, bytes]:
        data = json.dumps(asdict(approval), indent=1).encode()
        return self.folder / f"{hashlib.sha256(data).hexdigest()}.json", data

    def covers(self, approval: Approval) -> bool:
        """Return True when it is kept. Raises ChatLoopError for a file that cannot be used."""
        path, data = self._file(approval)
        reason = "it is damaged"
        try:
            if read_part(path, MAX_BYTES)[0] == data:
                return True
        except FileNotFoundError:
            return False
        except OSError as error:
            reason = os_reason(error)
        raise ChatLoopError(f"{path} is not used: {reason}.")

    def keep(self, approval: Approval) -> None:
        """Keep an approval. Raises ChatLoopError."""
        path, data = self._file(approval)
        try:
            Files().make_directory(self.folder)
            Files().replace(path, data)
        except OSError as error:
            raise ChatLoopError(f"{path} cannot be written: {os_reason(error)}.") from error

    def revoke(self, approval: Approval) -> None:
        """Forget an approval. Raises ChatLoopError."""
        path, _ = self._file(approval)
        try:
            Files().remove(path)
        except OSError as error:
            raise ChatLoopError(f"{path} cannot be removed: {os_reason(error)}.") from error

    def all(self) -> list[Approval]:
        """Return the project's approvals, sorted; damaged files count as none."""
        kept = []
        for path in self.folder.glob("*.json"):
            try:
                approval = msgspec.json.decode(read_part(path, MAX_BYTES)[0], type=Approval)
            except (OSError, ValueError):
                continue
            if approval.project == self.project and self._file(approval)[0] == path:
                kept.append(approval)
        return sorted(kept)
