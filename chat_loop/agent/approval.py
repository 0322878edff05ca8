"""Approvals of tool calls that are kept for a project, in one of the user's files.

An approval belongs to the tool as it was when it was given. It keeps what described the tool, so
that a change can be shown, and the digest of all of it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from os.path import commonprefix
from pathlib import Path

import msgspec
from msgspec import Struct

from chat_loop.agent.tools import Tool
from chat_loop.errors import ChatLoopError
from chat_loop.sessions.files import read_part, write_private
from chat_loop.values import sha256, size_text

MAX_BYTES = 16_000_000
MAX_TEXT = 1_000  # characters that are kept of each text that describes a tool
MAX_CHANGES = 6  # lines of a notice about a change
MAX_SHOWN = 80  # characters of a text in a notice
_CONTEXT = 20  # characters before the first difference of two texts
DIGEST = "sha256:"
"""The beginning of a text that is only a digest; the text itself is not kept."""


class Approval(Struct, frozen=True, order=True, omit_defaults=True, forbid_unknown_fields=True):
    """An approval of a tool, or of one exact `call`. `described` has the texts that describe the
    tool, by label, and `origin` is the digest of them. An old approval has no such texts.
    """

    project: str
    tool: str
    call: str
    origin: str
    agent: str = ""  # the path of the agent's file
    described: tuple[tuple[str, str], ...] = ()

    def replaces(self, other: Approval) -> bool:
        """Return True for an approval of the same calls, perhaps of another version of the tool."""
        calls = (self.project, self.tool, self.call)
        is_same_agent = self.agent == other.agent or not other.described
        return calls == (other.project, other.tool, other.call) and is_same_agent


class Stored(Struct, frozen=True):
    """The approvals in a file, and its entries that this version does not understand."""

    approvals: tuple[Approval, ...] = ()
    others: tuple[Mapping[str, object], ...] = ()


class ProjectApprovals(Struct, frozen=True):
    """The approvals in a file. Those of this run apply to `project`, its root folder, and to
    `agent`, the path and digest of the agent's file. None is kept for a folder with all projects.
    """

    file: Path
    project: str
    agent: str = ""
    has_all_projects: bool = False

    def of(self, tool: Tool, call: str) -> Approval:
        """Return the approval that covers `call` of a tool, or any call if it is empty."""
        path, _, digest = self.agent.rpartition(" ")
        texts = {**_description(tool), "the agent's file": f"{DIGEST}{digest}"}
        origin = sha256(_json([path, texts]).encode("utf-8", "surrogatepass"))
        described = tuple((label, _shortened(text)) for label, text in texts.items())
        call = call.encode("utf-8", "replace").decode()  # a model may send lone surrogates
        return Approval(self.project, tool.spec.name, call, origin, path, described)

    def stored(self) -> Stored:
        """Return what the file contains, for all projects. Raises ChatLoopError."""
        try:
            data, _ = read_part(self.file, MAX_BYTES + 1)
            if len(data) > MAX_BYTES:
                text = f"{self.file} is not used: it is larger than {size_text(MAX_BYTES)}."
                raise ChatLoopError(text, "Delete it: each tool asks again.")
            entries = msgspec.json.decode(data, type=list[dict[str, object]])
        except FileNotFoundError:
            return Stored()
        except (OSError, ValueError, RecursionError) as error:
            text = f"{self.file} is not used: it is damaged, or cannot be read."
            raise ChatLoopError(text, "Fix or delete it.") from error
        approvals = []
        others = []
        for entry in entries:
            try:
                approvals.append(msgspec.convert(entry, Approval))
            except msgspec.ValidationError:
                others.append(entry)
        return Stored(tuple(approvals), tuple(others))

    def add(self, approval: Approval) -> None:
        """Keep an approval instead of those that it replaces. Raises ChatLoopError."""
        stored = self.stored()
        approvals = (one for one in stored.approvals if not approval.replaces(one))
        self._write([*approvals, approval], stored.others)

    def remove(self, approval: Approval) -> None:
        """Remove an approval. Raises ChatLoopError."""
        stored = self.stored()
        approvals = (one for one in stored.approvals if one != approval)
        self._write(approvals, stored.others)

    def _write(self, approvals: Iterable[Approval], others: Iterable[Mapping[str, object]]) -> None:
        entries = [*sorted({*approvals}), *others]
        write_private(self.file, msgspec.json.format(msgspec.json.encode(entries)))


def change_notice(before: Approval, now: Approval) -> str:
    """Return lines that say why an approval does not cover a tool any more: what has changed."""
    if not before.described:
        reason = f"Your answer for {now.tool} is from an earlier version of chat-loop"
        return f"{reason}, which did not keep what the tool was. You are asked once more:"
    old = dict(before.described)
    new = dict(now.described)
    labels = [label for label in {**old, **new} if old.get(label) != new.get(label)]
    lines = [_change(label, old.get(label, ""), new.get(label, "")) for label in labels]
    if len(lines) > MAX_CHANGES:
        lines[MAX_CHANGES - 1 :] = [f"and {len(lines) - MAX_CHANGES + 1} more"]
    return "\n  ".join([f"{now.tool} has changed since you allowed it:", *lines])


def _change(label: str, before: str, after: str) -> str:
    if not before:
        return f"{label}: new, “{_cut(after, 0)}”"
    if not after:
        return f"{label}: gone, “{_cut(before, 0)}”"
    if re.fullmatch(f"{DIGEST}[0-9a-f]*", after):
        return f"{label}: changed"
    same = len(commonprefix([before, after]))  # noqa: RUF071 - of texts, not of paths
    return f"{label}: “{_cut(before, same)}” → “{_cut(after, same)}”"


def _cut(text: str, same: int) -> str:
    """Return a line with the part of a text from a little before its first difference on."""
    start = max(0, same - _CONTEXT)
    part = text[start : start + MAX_SHOWN].replace("\n", "␊").replace("\r", "␍")
    before = "…" if start else ""
    after = "…" if len(text) > start + MAX_SHOWN else ""
    return f"{before}{part}{after}"


def _description(tool: Tool) -> dict[str, str]:
    """Return all that describes a tool, by labels that a person understands."""
    parameters = dict(tool.spec.parameters)
    properties = parameters.pop("properties", {})
    arguments = properties if isinstance(properties, Mapping) else {"properties": properties}
    texts = {"description": tool.spec.description}
    texts |= {f"argument {name}": _json(schema) for name, schema in arguments.items()}
    return {**texts, "other rules of its arguments": _json(parameters), **tool.origin}


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, sort_keys=True)


def _shortened(text: str) -> str:
    """Return the text as it is kept: a long one with the digest of all of it."""
    text = text.encode("utf-8", "replace").decode()
    if len(text) <= MAX_TEXT:
        return text
    return f"{text[:MAX_TEXT]}… {sha256(text.encode())[:16]}"
