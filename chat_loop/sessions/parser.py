"""The file format, reading side: bytes -> values, and a report of everything that is not as it
should be.

A line state machine over bytes: linear whatever the file holds, and it never raises. Only a line
that starts at column 0 with a marker is structure. A record without its end is interrupted: kept,
and reported. When the writer fenced a tear off (`<!-- chat:torn -->`) and wrote the record again,
the second one counts. A byte order mark and carriage returns before line breaks, which editors add,
are no damage: the writer writes neither.
"""

from __future__ import annotations

import dataclasses
from typing import get_args

from chat_loop.frozen import dataclass
from chat_loop.sessions import bodies, marker, summary_block
from chat_loop.sessions.bodies import EPOCH
from chat_loop.sessions.escape import decode_line
from chat_loop.sessions.marker import Marker
from chat_loop.sessions.records import (
    ID_PATTERN,
    TAG_PATTERN,
    Entry,
    Header,
    Query,
    Reply,
    Seal,
    SealReason,
    Session,
    SummarySource,
)
from chat_loop.values import Compaction

_START = marker.SUMMARY_START.encode()
_END = marker.SUMMARY_END.encode()
BOM = b"\xef\xbb\xbf"
_RULE = [b"", b"---", b""]
_FIELDS = {
    "Agent": "agent",
    "Agent Path": "agent_path",
    "Model": "model",
    "Project": "project",
    "Previous Session": "parent_path",
    "Name": "name",
    "Title": "title",
}


@dataclass(frozen=True)
class Parsed:
    """A transcript as read: `session` is None when there is no header to be found; `damage` is a
    sentence per fault.
    """

    session: Session | None
    damage: tuple[str, ...] = ()
    torn: bool = False
    """The file ends inside a record or a line: whatever is appended must be fenced off first."""
    tears: int = 0
    """How many of the faults are records that a crash or a full disk broke off: the program's own,
    and harmless.
    """
    tail: int | None = None
    """Where the summary block, the audit and the seal begin, in bytes; None when there are none."""


@dataclasses.dataclass(slots=True)
class _Open:
    """A record whose end has not been read yet."""

    marker: Marker
    number: int
    lines: list[bytes] = dataclasses.field(default_factory=list)


def parse(data: bytes) -> Parsed:
    """Read a transcript. Never raises; a file without our markers comes back without a session."""
    reader = _Reader()
    lines = data.split(b"\n")
    for number, line in enumerate(lines, 1):
        reader.take(number, line)
    reader.finish(ends_with_newline=data.endswith(b"\n"))
    return reader.result(_tail(lines, reader.tail))


def _tail(lines: list[bytes], first: int) -> int | None:
    """Where the tail begins whose first marker stands in line `first` (0: there is none): at the
    rule before it.
    """
    if not first:
        return None
    at = first - 1
    before = [line.removesuffix(b"\r") for line in lines[max(0, at - len(_RULE) - 1) : at]]
    if before and before[-1][:1] == b"*" == before[-1][-1:]:
        before.pop()
        at -= 1
    at -= len(_RULE) if before[-len(_RULE) :] == _RULE else 0
    return sum(len(line) + 1 for line in lines[:at])


class _Reader:
    def __init__(self) -> None:
        self.header: Header | None = None
        self.entries: list[Entry] = []
        self.seal: Seal | None = None
        self.block: str | None = None
        self.compaction: Compaction | None = None
        self.open: _Open | None = None
        self.damage: list[str] = []
        self.stray = 0
        self.torn: Entry | None = None
        self.unfinished = False
        self.header_torn = False
        self.tears = 0
        self.tail = 0

    def take(self, number: int, line: bytes) -> None:
        line = line.removesuffix(b"\r")
        line = line.removeprefix(BOM) if number == 1 else line
        found = marker.read(line) if line.startswith(marker.PREFIX) else None
        if line == _START:
            found = Marker("summary", {})
        elif self.open is not None and self.open.marker.kind == "summary":
            found = (
                Marker("end", {})
                if line == _END
                else found
                if found and found.kind != "end"
                else None
            )
        if found is None:
            if self.open is not None:
                self.open.lines.append(line)
            elif line.strip() and not self._is_decoration(line):
                self._stray(number)
        elif found.kind == "end":
            self._close(number, found)
        else:
            self._interrupt(torn_off=found.kind == "torn")
            self._begin(number, found)

    def finish(self, ends_with_newline: bool) -> None:
        """The file's end: an open record is interrupted."""
        self.unfinished = self.open is not None or not ends_with_newline
        if self.open is not None and self.open.lines and self.open.lines[-1] == b"":
            self.open.lines.pop()
        self._interrupt(torn_off=True)
        if self.block is not None and self.seal is None and self.header is not None:
            self.damage.append("The summary block is not followed by a seal.")
            self._sealed(
                Marker("sealed", {"at": self.header.created.isoformat(), "summary": "model"})
            )
        if self.header is None:
            self.damage.insert(0, "The file has no header record.")

    def result(self, tail: int | None) -> Parsed:
        if self.header is None:
            return Parsed(None, tuple(self.damage), self.unfinished, self.tears)
        return Parsed(
            Session(header=self.header, entries=tuple(self.entries), seal=self.seal),
            (
                *self.damage,
                *(
                    [f"{self.stray} lines stand outside the records and are skipped."]
                    if self.stray
                    else []
                ),
            ),
            self.unfinished,
            self.tears,
            tail,
        )

    def _stray(self, number: int) -> None:
        self.stray += 1
        if self.stray == 1:
            self.damage.append(f"Line {number}: text outside a record.")

    @staticmethod
    def _is_decoration(line: bytes) -> bool:
        return (
            line == b"---"
            or (line[:1] == b"*" == line[-1:])
            or not line.strip(b"`")
            or not line.strip(b"~")
        )

    def _begin(self, number: int, found: Marker) -> None:
        if self.seal is not None:
            self.damage.append(f"Line {number}: a record after the seal.")
        if not self.tail and found.kind in ("summary", "compaction", "sealed"):
            self.tail = number
        if found.kind == "torn":
            self.damage.append(f"Line {number}: an interrupted write was fenced off here.")
            self.tears += 1
            self.torn = self.entries[-1] if self.entries else None
        elif found.kind == "sealed":
            self._sealed(found)
        elif found.kind in bodies.KINDS or found.kind in ("session", "summary", "compaction"):
            self.open = _Open(found, number)
        else:
            self.damage.append(
                f"Line {number}: unknown record “{found.kind}”, kept in the file and skipped."
            )
            self.open = _Open(found, number)

    def _interrupt(self, *, torn_off: bool) -> None:
        """Another record, or (`torn_off`) a fence or the file's end, comes before this one's
        end.
        """
        faults = len(self.damage)
        self._break_off(torn_off=torn_off)
        self.tears += len(self.damage) - faults if torn_off else 0

    def _break_off(self, *, torn_off: bool) -> None:
        if self.open is None:
            return
        opened, kind = self.open, self.open.marker.kind
        self.damage.append(f"Line {opened.number}: the {kind} record has no end.")
        if kind == "summary":
            self.open = None
            if torn_off:
                return
            # A hand edit took its end away, and the seal's line follows: what is left counts.
            while opened.lines and self._is_decoration(opened.lines[-1]):
                opened.lines.pop()
            self.block = "\n".join(line.decode("utf-8", "replace") for line in opened.lines)
            return
        if opened.lines and opened.lines[-1].startswith(b"<!--"):
            opened.lines.pop()  # no text has such a line: it is the beginning of the end marker
        before = len(self.entries)
        self._close(opened.number, None)
        self.header_torn = kind == "session"
        if len(self.entries) > before:
            self.torn = self.entries[-1]

    def _close(self, number: int, end: Marker | None) -> None:
        opened, self.open = self.open, None
        if opened is None:
            self.damage.append(f"Line {number}: an end without a record.")
            return
        lines = [line.decode("utf-8", "replace") for line in opened.lines]
        if any("\ufffd" in line for line in lines) and not all(
            _is_utf8(line) for line in opened.lines
        ):
            self.damage.append(
                f"Line {opened.number}: the {opened.marker.kind} record is not valid UTF-8."
            )
        match opened.marker.kind:
            case "session":
                self._session(opened, lines)
            case "summary":
                self.block = "\n".join(lines)
            case "compaction":
                self.compaction = opened.marker.compaction()
            case kind if kind in bodies.KINDS:
                agent = self.header.agent if self.header else ""
                self._add(bodies.read(opened.marker, end, lines, agent))

    def _add(self, entry: Entry) -> None:
        torn, self.torn = self.torn, None
        if (
            torn is not None
            and type(torn) is type(entry)
            and self.entries[-1] is torn
            and _again(torn, entry)
        ):
            self.entries.pop()
        self.entries.append(entry)

    def _session(self, opened: _Open, lines: list[str]) -> None:
        if self.header is not None and not self.header_torn:
            self.damage.append(f"Line {opened.number}: a second header is skipped.")
            return
        values = opened.marker.values
        identity, parent = values.get("id", ""), values.get("parent", "")
        for name, value in (("id", identity), ("parent", parent)):
            if value and not ID_PATTERN.fullmatch(value):
                self.damage.append(
                    f"Line {opened.number}: the header's {name} is not a session id and is "
                    "not used."
                )
        if values.get("v") != "1":
            self.damage.append(f"Line {opened.number}: the file's format is not version 1.")
        fields = dict.fromkeys(_FIELDS.values(), "")
        tags: tuple[str, ...] = ()
        for line in lines:
            name, separator, value = line.partition(":** ")
            if separator and (key := _FIELDS.get(name.removeprefix("**"))):
                fields[key] = decode_line(value)
            elif name == "**Tags":
                tags = tuple(
                    dict.fromkeys(tag for tag in value.split(", ") if TAG_PATTERN.fullmatch(tag))
                )
        self.header = Header(
            id=identity if ID_PATTERN.fullmatch(identity) else "",
            created=opened.marker.time("created") or EPOCH,
            parent=parent if ID_PATTERN.fullmatch(parent) else "",
            tags=tags,
            mode="print" if values.get("mode") == "print" else "",
            **fields,
        )

    def _sealed(self, found: Marker) -> None:
        reasons: tuple[SealReason, ...] = get_args(SealReason)
        sources: tuple[SummarySource, ...] = get_args(SummarySource)
        self.seal = Seal(
            at=found.time("at") or EPOCH,
            reason=next(
                (reason for reason in reasons if reason == found.values.get("reason")), "exit"
            ),
            source=next(
                (source for source in sources if source == found.values.get("summary")), "none"
            ),
            summary=None if self.block is None else summary_block.parse(self.block),
            usage=found.usage(),
            seconds=found.seconds("time"),
            covers=found.number("covers"),
            compaction=self.compaction,
        )


def _is_utf8(line: bytes) -> bool:
    try:
        line.decode()
    except UnicodeDecodeError:
        return False
    return True


def _again(torn: Entry, entry: Entry) -> bool:
    """Whether `entry` is the record that `torn` is the beginning of, written once more."""
    if isinstance(torn, Query | Reply) and isinstance(entry, Query | Reply):
        return torn.number == entry.number
    return torn.at == entry.at
