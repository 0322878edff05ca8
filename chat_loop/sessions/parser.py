"""The file format, reading side: bytes -> values and a report of damage, in linear time; it never
raises. A record without its end is kept; when it was fenced off (`<!-- chat:torn -->`) and written
again, the second one counts.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, get_args

from msgspec import Struct

from chat_loop.sessions import marker, records, summary_block, writer
from chat_loop.sessions.escape import decode, decode_line
from chat_loop.sessions.marker import Marker
from chat_loop.values import Compaction, StopReason

BOM = b"\xef\xbb\xbf"
_START = marker.SUMMARY_START.encode()
_END = marker.SUMMARY_END.encode()
_STOPS: Mapping[str, StopReason] = {one: one for one in get_args(StopReason)}
_REASONS: Mapping[str, records.SealReason] = {one: one for one in get_args(records.SealReason)}
_SOURCES: Mapping[str, records.SummarySource] = {
    one: one for one in get_args(records.SummarySource)
}


class Parsed(Struct, frozen=True):
    """A transcript as read, without a `session` when it has no header."""

    session: records.Session | None
    damage: tuple[str, ...] = ()  # a sentence per fault
    torn: bool = False  # it ends inside a record or a line, which must be fenced off
    tears: int = 0  # the number of faults that are records which a crash broke off: harmless
    tail: int | None = None  # the byte at which the summary block, the audit and the seal begin


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
        session = records.Session(header=reader.header, entries=entries, seal=reader.seal)
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
        self.header: records.Header | None = None
        self.entries: list[records.Entry] = []
        self.seal: records.Seal | None = None
        self.damage: list[str] = []
        self.torn = False
        self.tears = 0
        self.tail = 0  # the number of the line with the first marker of the tail; 0 without one
        self.open: Marker | None = None  # the record whose end was not read yet
        self._opened_at = 0
        self._lines: list[bytes] = []
        self._number = 0
        self._stray = 0
        self._block: str | None = None
        self._compaction: Compaction | None = None
        self._interrupted: records.Entry | None = (
            None  # the next one may be this one, written again
        )
        self._is_whole = False  # its record has its end: the fence stands behind it
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
            if kind not in marker.KINDS and kind not in ("session", "summary", "compaction"):
                self._fault(self._number, f"unknown record “{kind}”, kept in the file and skipped.")
            self.open, self._opened_at, self._lines = found, self._number, []

    def _break_off(self, *, torn_off: bool) -> None:
        """Break off the open record, before another one or (`torn_off`) a fence or the end."""
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
            self._compaction = Compaction(**opened.attributes(Compaction, marker.AUDIT))
        elif opened.kind in marker.KINDS:
            agent = self.header.agent if self.header else ""
            entry = _entry(opened, end, text.split("\n"), agent)
            torn, self._interrupted = self._interrupted, None
            if torn is not None and torn is self.entries[-1] and self._is_rewritten(torn, entry):
                self.entries.pop()
            self.entries.append(entry)

    def _is_rewritten(self, torn: records.Entry, entry: records.Entry) -> bool:
        """Return True when `entry` is the record that `torn` is (the beginning of) once more."""
        if type(torn) is not type(entry):
            return False
        if isinstance(torn, records.Query | records.Reply) and isinstance(
            entry, records.Query | records.Reply
        ):
            return torn.number == entry.number
        return torn == entry or (not self._is_whole and torn.at == entry.at)

    def _read_header(self, opened: Marker, lines: list[str]) -> None:
        if self.header is not None and not self._header_torn:
            self._fault(self._opened_at, "a second header is skipped.")
            return
        for name in ("id", "parent"):
            if opened.word(name) and not opened.word(name, records.ID_PATTERN):
                fault = f"the header's {name} is not a session id and is not used."
                self._fault(self._opened_at, fault)
        if opened.word("v") != "1":
            self._fault(self._opened_at, "the file's format is not version 1.")
        values: dict[str, Any] = {"agent": ""}
        for line in lines:
            label, separator, text = line.removeprefix("**").partition(":** ")
            if separator and label in marker.HEADER:
                values[marker.HEADER[label]] = decode_line(text)
            elif label == "Tags":
                tags = filter(records.TAG_PATTERN.fullmatch, text.split(", "))
                values["tags"] = tuple(dict.fromkeys(tags))
        values["id"] = opened.word("id", records.ID_PATTERN)
        values["parent"] = opened.word("parent", records.ID_PATTERN)
        values["created"] = opened.time("created") or records.EPOCH
        values["mode"] = "print" if opened.word("mode") == "print" else ""
        values["minor"] = min(opened.number("minor") or 0, records.MINOR)
        self.header = records.Header(**values)

    def _seal(self, found: Marker) -> records.Seal:
        return records.Seal(
            at=found.time("at") or records.EPOCH,
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


def _entry(opened: Marker, end: Marker | None, lines: list[str], agent: str) -> records.Entry:
    """Return the entry of a record, without the decoration around its text. `end` is None for one
    that was interrupted; `agent` is who replies.
    """
    kind = marker.KINDS[opened.kind]
    values = opened.attributes(kind.entry, ("at", *kind.values))
    closing = end or Marker("end", {"stop": "interrupted"})
    if kind.entry is records.Reply:
        values = {"number": 0, **values, "text": _unlabelled(lines, writer.label(agent))}
        values["stop"] = _STOPS.get(closing.word("stop"), "end")
        values |= {"usage": closing.usage(), "failed": closing.flag("failed")}
    elif kind.fold:
        values[kind.fold] = _unfolded(lines[kind.skipped :])
    elif kind.label:
        values["text"] = _unlabelled(lines[kind.skipped :], kind.label)
    if kind.entry in (records.Reply, records.Result):
        values["seconds"] = closing.seconds("time")
    elif kind.entry is records.Restoration:
        values["depth"] = max(2, values["depth"])
    elif kind.entry is records.Attachment:
        values["name"] = decode_line(lines[0].removeprefix(f"{kind.label} "))
        values["text"] = "" if values["media"] in records.IMAGES else values["text"]
    return kind.entry(**values)


def _unlabelled(lines: list[str], label: str) -> str:
    """Return the text behind a label, or below one and an empty line."""
    if lines[:1] == [label]:
        lines = lines[2:] if lines[1:2] == [""] else lines[1:]
    elif lines:
        lines = [lines[0].removeprefix(f"{label} "), *lines[1:]]
    return decode("\n".join(lines))


def _unfolded(lines: list[str]) -> str:
    """Return the text of a fold."""
    body = lines[2:]
    return decode("\n".join(body[:-2] if body[-2:] == ["", "</details>"] else body))
