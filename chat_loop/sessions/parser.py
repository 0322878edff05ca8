"""The file format, reading side: bytes -> values, and a report of everything that is not as it
should be.

A line state machine over bytes: linear whatever the file holds, and it never raises. Only a line
that starts at column 0 with a marker is structure. A record without its end was interrupted: it is
kept and reported. When the writer fenced a tear off (`<!-- chat:torn -->`) and wrote the record
again, the second one counts. A byte order mark and carriage returns before line breaks, which
editors add, are no damage: the writer writes neither.
"""

from __future__ import annotations

import dataclasses
from datetime import datetime
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
from chat_loop.values import Compaction

BOM = b"\xef\xbb\xbf"
_START = marker.SUMMARY_START.encode()
_END = marker.SUMMARY_END.encode()
_RULE = [b"", b"---", b""]
_NOTES = {kind: (entry, label) for entry, (kind, label) in writer.NOTES.items()}
_FIELDS = {
    "Agent": "agent",
    "Agent Path": "agent_path",
    "Model": "model",
    "Project": "project",
    "Previous Session": "parent_path",
    "Name": "name",
    "Title": "title",
}
KINDS = frozenset(
    ("query", "reply", "acknowledgment", "call", "result", "recall", "attachment", "restoration")
) | {"undo", *_NOTES}
"""The markers that open a record with an entry."""


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


@dataclasses.dataclass(slots=True)
class _Open:
    """A record whose end has not been read yet."""

    marker: Marker
    number: int
    lines: list[bytes] = dataclasses.field(default_factory=list)


def parse(data: bytes) -> Parsed:
    """Read a transcript. Never raises; a file without our markers comes back without a session."""
    reader = Reader()
    lines = data.split(b"\n")
    for number, line in enumerate(lines, 1):
        reader.take(number, line)
    reader.finish(ends_with_newline=data.endswith(b"\n"))
    if reader.header is None:
        return Parsed(None, tuple(reader.damage), reader.torn, reader.tears)
    return Parsed(
        Session(header=reader.header, entries=tuple(reader.entries), seal=reader.seal),
        tuple(reader.damage),
        reader.torn,
        reader.tears,
        _tail(lines, reader.tail),
    )


def _tail(lines: list[bytes], first: int) -> int | None:
    """Return where the tail begins whose first marker stands in line `first` (0: there is none): at
    the rule before it.
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
        """The number of the line with the first marker of the tail."""
        self.open: _Open | None = None
        self._block: str | None = None
        self._compaction: Compaction | None = None
        self._interrupted: Entry | None = None
        """The entry that the next one may be written again for."""
        self._is_whole = False
        """Its record has its end: the fence stands behind it."""
        self._header_torn = False
        self._stray = 0

    def take(self, number: int, line: bytes) -> None:
        """Take the next line, without its line feed."""
        line = line.removesuffix(b"\r")
        line = line.removeprefix(BOM) if number == 1 else line
        found = marker.read(line) if line.startswith(marker.PREFIX) else None
        if line == _START:
            found = Marker("summary", {})
        elif self.open is not None and self.open.marker.kind == "summary":
            if line == _END:
                found = Marker("end", {})
            elif found is not None and found.kind == "end":
                found = None
        if found is None:
            if self.open is not None:
                self.open.lines.append(line)
            elif line.strip() and not _is_decoration(line):
                self._stray += 1
                if self._stray == 1:
                    self.damage.append(f"Line {number}: text outside a record.")
        elif found.kind == "end":
            self._close(number, found)
        else:
            self._interrupt(torn_off=found.kind == "torn")
            self._begin(number, found)

    def finish(self, ends_with_newline: bool) -> None:
        """Take the end of the file: an open record is interrupted."""
        self.torn = self.open is not None or not ends_with_newline
        if self.open is not None and self.open.lines and self.open.lines[-1] == b"":
            self.open.lines.pop()
        self._interrupt(torn_off=True)
        if self._block is not None and self.seal is None and self.header is not None:
            self.damage.append("The summary block is not followed by a seal.")
            self._sealed(
                Marker("sealed", {"at": self.header.created.isoformat(), "summary": "model"})
            )
        if self.header is None:
            self.damage.insert(0, "The file has no header record.")
        elif self._stray:
            self.damage.append(f"{self._stray} lines stand outside the records and are skipped.")

    def _begin(self, number: int, found: Marker) -> None:
        if self.seal is not None:
            self.damage.append(f"Line {number}: a record after the seal.")
        if not self.tail and found.kind in ("summary", "compaction", "sealed"):
            self.tail = number
        if found.kind == "torn":
            self.damage.append(f"Line {number}: an interrupted write was fenced off here.")
            self.tears += 1
            self._is_whole = self._interrupted is None
            self._interrupted = self.entries[-1] if self.entries else None
        elif found.kind == "sealed":
            self._sealed(found)
        else:
            if found.kind not in KINDS and found.kind not in ("session", "summary", "compaction"):
                self.damage.append(
                    f"Line {number}: unknown record “{found.kind}”, kept in the file and skipped."
                )
            self.open = _Open(found, number)

    def _interrupt(self, *, torn_off: bool) -> None:
        """Break off the open record: another one, or (`torn_off`) a fence or the file's end, comes
        before its end.
        """
        if self.open is None:
            return
        opened, kind, faults = self.open, self.open.marker.kind, len(self.damage)
        self.damage.append(f"Line {opened.number}: the {kind} record has no end.")
        if kind == "summary":
            self.open = None
            if not torn_off:
                # A hand edit took its end away, and the seal's line follows: what is left counts.
                while opened.lines and _is_decoration(opened.lines[-1]):
                    opened.lines.pop()
                self._block = "\n".join(line.decode("utf-8", "replace") for line in opened.lines)
        else:
            # The beginnings of an end marker, and of a fence behind it.
            while opened.lines and opened.lines[-1][:4] in (b"<", b"<!", b"<!-", b"<!--"):
                opened.lines.pop()
            before = len(self.entries)
            self._close(opened.number, None)
            self._header_torn = kind == "session"
            if len(self.entries) > before:
                self._interrupted, self._is_whole = self.entries[-1], False
        self.tears += len(self.damage) - faults if torn_off else 0

    def _close(self, number: int, end: Marker | None) -> None:
        opened, self.open = self.open, None
        if opened is None:
            self.damage.append(f"Line {number}: an end without a record.")
            return
        lines = [line.decode("utf-8", "replace") for line in opened.lines]
        if any("\ufffd" in line for line in lines) and not all(map(_is_utf8, opened.lines)):
            self.damage.append(
                f"Line {opened.number}: the {opened.marker.kind} record is not valid UTF-8."
            )
        match opened.marker.kind:
            case "session":
                self._session(opened, lines)
            case "summary":
                self._block = "\n".join(lines)
            case "compaction":
                self._compaction = opened.marker.compaction()
            case kind if kind in KINDS:
                agent = self.header.agent if self.header else ""
                self.add(_entry(opened.marker, end, lines, agent))

    def add(self, entry: Entry) -> None:
        """Add an entry, in the place of the interrupted one that it is written again for."""
        torn, self._interrupted = self._interrupted, None
        if (
            torn is not None
            and self.entries[-1] is torn
            and _is_rewritten(torn, entry, whole=self._is_whole)
        ):
            self.entries.pop()
        self.entries.append(entry)

    def _session(self, opened: _Open, lines: list[str]) -> None:
        if self.header is not None and not self._header_torn:
            self.damage.append(f"Line {opened.number}: a second header is skipped.")
            return
        values = opened.marker.values
        for name in ("id", "parent"):
            if values.get(name) and not _id(opened.marker, name):
                self.damage.append(
                    f"Line {opened.number}: the header's {name} is not a session id and is not "
                    "used."
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
                tags = tuple(dict.fromkeys(filter(TAG_PATTERN.fullmatch, value.split(", "))))
        self.header = Header(
            id=_id(opened.marker, "id"),
            created=opened.marker.time("created") or EPOCH,
            parent=_id(opened.marker, "parent"),
            tags=tags,
            mode="print" if values.get("mode") == "print" else "",
            minor=min(opened.marker.count("minor"), MINOR),
            **fields,
        )

    def _sealed(self, found: Marker) -> None:
        reasons: tuple[SealReason, ...] = get_args(SealReason)
        sources: tuple[SummarySource, ...] = get_args(SummarySource)
        reason, source = found.values.get("reason"), found.values.get("summary")
        self.seal = Seal(
            at=found.time("at") or EPOCH,
            reason=next((one for one in reasons if one == reason), "exit"),
            source=next((one for one in sources if one == source), "none"),
            summary=None if self._block is None else summary_block.parse(self._block),
            usage=found.usage(),
            seconds=found.seconds("time"),
            covers=found.number("covers"),
            compaction=self._compaction,
        )


def _is_decoration(line: bytes) -> bool:
    """Return True for what the writer puts between records: rules, lines in italics, fences."""
    return (
        line == b"---"
        or (line[:1] == b"*" == line[-1:])
        or not line.strip(b"`")
        or not line.strip(b"~")
    )


def _is_utf8(line: bytes) -> bool:
    try:
        line.decode()
    except UnicodeDecodeError:
        return False
    return True


def _is_rewritten(torn: Entry, entry: Entry, *, whole: bool) -> bool:
    """Return True when `entry` is the record that `torn` is the beginning of, or the `whole` of,
    written once more.
    """
    if type(torn) is not type(entry):
        return False
    if isinstance(torn, Query | Reply) and isinstance(entry, Query | Reply):
        return torn.number == entry.number
    return torn == entry or (not whole and torn.at == entry.at)


# The bodies of records: the decoration that the writer put around a text is taken off again.


def _unlabelled(lines: list[str], label: str) -> str:
    """Return the text behind a label, which stands on its first line, or on a line of its own
    followed by an empty one.
    """
    first, rest = (lines[0], lines[1:]) if lines else ("", [])
    if first == label:
        lines = rest[1:] if rest[:1] == [""] else rest
    elif first.startswith(f"{label} "):
        lines = [first.removeprefix(f"{label} "), *rest]
    return decode("\n".join(lines))


def _unfolded(lines: list[str]) -> str:
    """Return the text of a fold."""
    body = lines[writer.FOLD_LINES :]
    if body[-2:] == ["", "</details>"]:
        body = body[:-2]
    return decode("\n".join(body))


def _ref(opened: Marker, key: str) -> str:
    value = opened.values.get(key, "")
    return value if REF_PATTERN.fullmatch(value) else ""


def _id(opened: Marker, key: str) -> str:
    value = opened.values.get(key, "")
    return value if ID_PATTERN.fullmatch(value) else ""


def _entry(opened: Marker, end: Marker | None, lines: list[str], agent: str) -> Entry:
    """Return the entry of a record. `end` is None for one that was interrupted; `agent` is who
    replies.
    """
    kind, values = opened.kind, opened.values
    at, number = opened.time("at") or EPOCH, opened.count("n")
    if kind == "query":
        return Query(number=number, at=at, text=_unlabelled(lines[1:], writer.YOU))
    if kind in _NOTES:
        note, label = _NOTES[kind]
        return note(at=at, text=_unlabelled(lines, label))
    if kind == "undo":
        return Undo(number=number, at=at)
    if kind == "recall":
        return ArchiveContext(number=number, at=at, text=_unfolded(lines))
    if kind == "attachment":
        return _attachment(opened, lines, number, at)
    if kind == "call":
        identity, name, text = values.get("id", ""), values.get("name", ""), _unfolded(lines)
        return Call(number=number, at=at, id=identity, name=name, arguments=text)
    if kind == "result":
        return Result(
            number=number,
            at=at,
            id=values.get("id", ""),
            text=_unfolded(lines),
            failed=values.get("failed") == "yes",
            seconds=end.seconds("time") if end else None,
        )
    if kind == "restoration":
        return _restoration(opened, lines, at)
    text = _unlabelled(lines, writer.label(agent))
    if end is None:
        return Reply(number=number, at=at, text=text, stop="interrupted")
    return Reply(
        number=number,
        at=at,
        text=text,
        stop=end.stop() or "end",
        seconds=end.seconds("time"),
        usage=end.usage(),
        failed=end.values.get("failed") == "yes",
    )


def _attachment(opened: Marker, lines: list[str], number: int, at: datetime) -> Attachment:
    media = opened.values.get("type", "")
    return Attachment(
        number=number,
        at=at,
        name=decode_line(lines[0].removeprefix(f"{writer.ATTACHED} ")) if lines else "",
        media=media,
        size=opened.count("size"),
        sha256=opened.values.get("sha", ""),
        text="" if media in IMAGES else _unfolded(lines[2:]),
        width=opened.count("width"),
        height=opened.count("height"),
    )


def _restoration(opened: Marker, lines: list[str], at: datetime) -> Restoration:
    return Restoration(
        at=at,
        parent_created=opened.time("of") or EPOCH,
        queries=opened.count("queries"),
        tokens=opened.count("tokens"),
        block=_unfolded(lines[4:]),
        grandparent=_id(opened, "grandparent"),
        depth=max(2, opened.count("depth")),
        verbatim_from=_ref(opened, "since"),
        unsummarized_from=_ref(opened, "fresh"),
        until=_ref(opened, "until"),
        merged=_id(opened, "merged"),
    )
