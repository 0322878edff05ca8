"""The file format, reading side: bytes -> values, and a report of everything that is not as it
should be.

A line state machine over bytes: linear whatever the file holds, and it never raises. Only a line
that starts at column 0 with a marker is structure. A record without its end was interrupted: it is
kept and reported. When the writer fenced a tear off (`<!-- chat:torn -->`) and wrote the record
again, the second one counts. What editors add (a byte order mark, carriage returns) is no damage.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import get_args

from msgspec import Struct

from chat_loop.sessions import marker, summary_block, writer
from chat_loop.sessions.escape import decode, decode_line
from chat_loop.sessions.marker import Marker
from chat_loop.sessions.records import (
    EPOCH,
    ID_PATTERN,
    IMAGES,
    MINOR,
    REF_PATTERN,
    TAG_PATTERN,
    ArchiveContext,
    Attachment,
    Call,
    Entry,
    Header,
    Query,
    Reply,
    Restoration,
    Result,
    Seal,
    SealReason,
    Session,
    SummarySource,
    Undo,
)
from chat_loop.values import Compaction, StopReason

BOM = b"\xef\xbb\xbf"
_START = marker.SUMMARY_START.encode()
_END = marker.SUMMARY_END.encode()
_NOTES = {kind: (entry, label) for entry, (kind, label) in writer.NOTES.items()}
_FIELDS = {
    "**Agent": "agent",
    "**Agent Path": "agent_path",
    "**Model": "model",
    "**Project": "project",
    "**Previous Session": "parent_path",
    "**Name": "name",
    "**Title": "title",
}
KINDS = frozenset(
    ("query", "reply", "acknowledgment", "call", "result", "recall", "attachment", "restoration")
) | {"undo", *_NOTES}
"""The markers that open a record with an entry."""
_STOPS: Mapping[str, StopReason] = {one: one for one in get_args(StopReason)}
_REASONS: Mapping[str, SealReason] = {one: one for one in get_args(SealReason)}
_SOURCES: Mapping[str, SummarySource] = {one: one for one in get_args(SummarySource)}


class Parsed(Struct, frozen=True):
    """A transcript as read: `session` is None when it has no header; `damage` is a sentence per
    fault.
    """

    session: Session | None
    damage: tuple[str, ...] = ()
    torn: bool = False
    """The file ends inside a record or a line: whatever is appended must be fenced off first."""
    tears: int = 0
    """The number of faults that are records which a crash or a full disk broke off: the program's
    own, and harmless.
    """
    tail: int | None = None
    """The byte at which the summary block, the audit and the seal begin; None without them."""


def parse(data: bytes) -> Parsed:
    """Read a transcript. Never raises; a file without our markers comes back without a session."""
    reader = Reader()
    lines = data.split(b"\n")
    for line in lines:
        reader.take(line)
    reader.finish(ends_with_newline=data.endswith(b"\n"))
    session = tail = None
    if reader.header is not None:
        entries = tuple(reader.entries)
        session = Session(header=reader.header, entries=entries, seal=reader.seal)
        tail = _tail(lines, reader.tail) if reader.tail else None
    return Parsed(session, tuple(reader.damage), reader.torn, reader.tears, tail)


def _tail(lines: list[bytes], number: int) -> int:
    """Return where the tail begins whose first marker is line `number`: at the rule before it."""
    end = number - 1
    before = [line.removesuffix(b"\r") for line in lines[max(0, end - 4) : end]]
    if before and before[-1][:1] == b"*" == before[-1][-1:]:
        before.pop()
        end -= 1
    end -= 3 if before[-3:] == [b"", b"---", b""] else 0
    return sum(len(line) + 1 for line in lines[:end])


class Reader:
    """A reading of one transcript, line by line."""

    def __init__(self) -> None:
        self.header: Header | None = None
        self.entries: list[Entry] = []
        self.seal: Seal | None = None
        self.damage: list[str] = []
        self.torn = False
        self.tears = 0
        self.tail = 0
        """The number of the line with the first marker of the tail; 0 without one."""
        self.open: Marker | None = None
        """The record whose end was not read yet."""
        self._opened_at = 0
        self._lines: list[bytes] = []
        self._number = 0
        self._stray = 0
        self._block: str | None = None
        self._compaction: Compaction | None = None
        self._interrupted: Entry | None = None
        """The entry that the next one may be written again for."""
        self._is_whole = False
        """Its record has its end: the fence stands behind it."""
        self._header_torn = False

    def take(self, line: bytes) -> None:
        """Take the next line, without its line feed."""
        self._number += 1
        line = line.removesuffix(b"\r")
        line = line.removeprefix(BOM) if self._number == 1 else line
        found = self._marker(line) if line.startswith(b"<!-- ") else None
        if found is None and self.open is not None:
            self._lines.append(line)
        elif found is None:
            if line.strip() and not _is_decoration(line):
                self._stray += 1
                if self._stray == 1:
                    self._fault(self._number, "text outside a record.")
        elif found.kind != "end":
            self._break_off(torn_off=found.kind == "torn")
            self._begin(found)
        elif self.open is not None:
            self._close(found)
        else:
            self._fault(self._number, "an end without a record.")

    def _marker(self, line: bytes) -> Marker | None:
        if line == _START:
            return Marker("summary", {})
        found = marker.read(line)
        if self.open is not None and self.open.kind == "summary":
            if line == _END:
                return Marker("end", {})
            return None if found is not None and found.kind == "end" else found
        return found

    def finish(self, *, ends_with_newline: bool) -> None:
        """Take the end of the file: an open record is interrupted."""
        self.torn = self.open is not None or not ends_with_newline
        if self._lines[-1:] == [b""]:
            self._lines.pop()
        self._break_off(torn_off=True)
        if self._block is not None and self.seal is None and self.header is not None:
            self.damage.append("The summary block is not followed by a seal.")
            created = self.header.created.isoformat()
            self.seal = self._seal(Marker("sealed", {"at": created, "summary": "model"}))
        if self.header is None:
            self.damage.insert(0, "The file has no header record.")
        elif self._stray:
            self.damage.append(f"{self._stray} lines stand outside the records and are skipped.")

    def _fault(self, number: int, sentence: str) -> None:
        self.damage.append(f"Line {number}: {sentence}")

    def _begin(self, found: Marker) -> None:
        kind = found.kind
        if self.seal is not None:
            self._fault(self._number, "a record after the seal.")
        if not self.tail and kind in ("summary", "compaction", "sealed"):
            self.tail = self._number
        if kind == "torn":
            self._fault(self._number, "an interrupted write was fenced off here.")
            self.tears += 1
            self._is_whole = self._interrupted is None
            self._interrupted = self.entries[-1] if self.entries else None
        elif kind == "sealed":
            self.seal = self._seal(found)
        else:
            if kind not in KINDS and kind not in ("session", "summary", "compaction"):
                self._fault(self._number, f"unknown record “{kind}”, kept in the file and skipped.")
            self.open, self._opened_at, self._lines = found, self._number, []

    def _break_off(self, *, torn_off: bool) -> None:
        """Break off the open record: another one, or (`torn_off`) a fence or the file's end, comes
        before its end.
        """
        if self.open is None:
            return
        kind, lines = self.open.kind, self._lines
        faults, entries = len(self.damage), len(self.entries)
        self._fault(self._opened_at, f"the {kind} record has no end.")
        if kind == "summary" and torn_off:
            self.open = None
        else:
            # The beginnings of an end marker, and of a fence behind it; a hand edit may have taken
            # the end of a summary away, which leaves the decoration behind it.
            while lines and (
                lines[-1][:4] in (b"<", b"<!", b"<!-", b"<!--")
                or (kind == "summary" and _is_decoration(lines[-1]))
            ):
                lines.pop()
            self._close(None)
            self._header_torn = kind == "session"
            if len(self.entries) > entries:
                self._interrupted, self._is_whole = self.entries[-1], False
        self.tears += len(self.damage) - faults if torn_off else 0

    def _close(self, end: Marker | None) -> None:
        """Close the open record; without its `end` it was interrupted."""
        opened, self.open = self.open, None
        assert opened is not None
        body, self._lines = b"\n".join(self._lines), []
        try:
            text = body.decode()
        except UnicodeDecodeError:
            self._fault(self._opened_at, f"the {opened.kind} record is not valid UTF-8.")
            text = body.decode("utf-8", "replace")
        if opened.kind == "session":
            self._read_header(opened, text.split("\n"))
        elif opened.kind == "summary":
            self._block = text
        elif opened.kind == "compaction":
            self._compaction = opened.compaction()
        elif opened.kind in KINDS:
            agent = self.header.agent if self.header else ""
            entry = _entry(opened, end, text.split("\n"), agent)
            torn, self._interrupted = self._interrupted, None
            if torn is not None and torn is self.entries[-1] and self._is_rewritten(torn, entry):
                self.entries.pop()
            self.entries.append(entry)

    def _is_rewritten(self, torn: Entry, entry: Entry) -> bool:
        """Return True when `entry` is the record that `torn` is (the beginning of) once more."""
        if type(torn) is not type(entry):
            return False
        if isinstance(torn, Query | Reply) and isinstance(entry, Query | Reply):
            return torn.number == entry.number
        return torn == entry or (not self._is_whole and torn.at == entry.at)

    def _read_header(self, opened: Marker, lines: list[str]) -> None:
        if self.header is not None and not self._header_torn:
            self._fault(self._opened_at, "a second header is skipped.")
            return
        for name in ("id", "parent"):
            if opened.word(name) and not opened.word(name, ID_PATTERN):
                fault = f"the header's {name} is not a session id and is not used."
                self._fault(self._opened_at, fault)
        if opened.word("v") != "1":
            self._fault(self._opened_at, "the file's format is not version 1.")
        fields = dict.fromkeys(_FIELDS.values(), "")
        tags: tuple[str, ...] = ()
        for line in lines:
            name, separator, value = line.partition(":** ")
            if separator and name in _FIELDS:
                fields[_FIELDS[name]] = decode_line(value)
            elif name == "**Tags":
                tags = tuple(dict.fromkeys(filter(TAG_PATTERN.fullmatch, value.split(", "))))
        self.header = Header(
            id=opened.word("id", ID_PATTERN),
            created=opened.time("created") or EPOCH,
            parent=opened.word("parent", ID_PATTERN),
            tags=tags,
            mode="print" if opened.word("mode") == "print" else "",
            minor=min(opened.count("minor"), MINOR),
            **fields,
        )

    def _seal(self, found: Marker) -> Seal:
        return Seal(
            at=found.time("at") or EPOCH,
            reason=_REASONS.get(found.word("reason"), "exit"),
            source=_SOURCES.get(found.word("summary"), "none"),
            summary=None if self._block is None else summary_block.parse(self._block),
            usage=found.usage(),
            seconds=found.seconds("time"),
            covers=found.number("covers"),
            compaction=self._compaction,
        )


def _is_decoration(line: bytes) -> bool:
    """Return True for what the writer puts between records: rules, lines in italics, fences."""
    stars = line[:1] == b"*" == line[-1:]
    return line == b"---" or stars or not line.strip(b"`") or not line.strip(b"~")


def _entry(opened: Marker, end: Marker | None, lines: list[str], agent: str) -> Entry:
    """Return the entry of a record, without the decoration that the writer put around its text.

    `end` is None for one that was interrupted; `agent` is who replies.
    """
    at, number = opened.time("at") or EPOCH, opened.count("n")
    closing = end or Marker("end", {"stop": "interrupted"})
    match opened.kind:
        case "query":
            return Query(number=number, at=at, text=_unlabelled(lines[1:], writer.YOU))
        case "undo":
            return Undo(number=number, at=at)
        case "recall":
            return ArchiveContext(number=number, at=at, text=_unfolded(lines))
        case "call":
            identity, name, text = opened.word("id"), opened.word("name"), _unfolded(lines)
            return Call(number=number, at=at, id=identity, name=name, arguments=text)
        case "result":
            return Result(
                number=number,
                at=at,
                id=opened.word("id"),
                text=_unfolded(lines),
                failed=opened.flag("failed"),
                seconds=closing.seconds("time"),
            )
        case "attachment":
            return Attachment(
                number=number,
                at=at,
                name=decode_line(lines[0].removeprefix(f"{writer.ATTACHED} ")),
                media=opened.word("type"),
                size=opened.count("size"),
                sha256=opened.word("sha"),
                text="" if opened.word("type") in IMAGES else _unfolded(lines[2:]),
                width=opened.count("width"),
                height=opened.count("height"),
            )
        case "restoration":
            return Restoration(
                at=at,
                parent_created=opened.time("of") or EPOCH,
                queries=opened.count("queries"),
                tokens=opened.count("tokens"),
                block=_unfolded(lines[4:]),
                grandparent=opened.word("grandparent", ID_PATTERN),
                depth=max(2, opened.count("depth")),
                verbatim_from=opened.word("since", REF_PATTERN),
                unsummarized_from=opened.word("fresh", REF_PATTERN),
                until=opened.word("until", REF_PATTERN),
                merged=opened.word("merged", ID_PATTERN),
            )
        case "reply" | "acknowledgment":
            return Reply(
                number=number,
                at=at,
                text=_unlabelled(lines, writer.label(agent)),
                stop=_STOPS.get(closing.word("stop"), "end"),
                seconds=closing.seconds("time"),
                usage=closing.usage(),
                failed=closing.flag("failed"),
            )
    note, label = _NOTES[opened.kind]
    return note(at=at, text=_unlabelled(lines, label))


def _unlabelled(lines: list[str], label: str) -> str:
    """Return the text behind a label, which stands on its first line, or on a line of its own
    followed by an empty one.
    """
    if lines[:1] == [label]:
        lines = lines[2:] if lines[1:2] == [""] else lines[1:]
    elif lines:
        lines = [lines[0].removeprefix(f"{label} "), *lines[1:]]
    return decode("\n".join(lines))


def _unfolded(lines: list[str]) -> str:
    """Return the text of a fold."""
    body = lines[writer.FOLD_LINES :]
    return decode("\n".join(body[:-2] if body[-2:] == ["", "</details>"] else body))
