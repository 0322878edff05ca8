"""Reads the file format: bytes -> values and a report of damage, in linear time. It never raises.
A record without its end is kept. If it was fenced off (`<!-- chat:torn -->`) and written again, the
second one counts.
"""

from __future__ import annotations

import re
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from chat_loop.sessions import marker, records, summary_block, writer
from chat_loop.sessions.escape import decode, decode_line
from chat_loop.sessions.marker import Marker
from chat_loop.values import Compaction, Usage, plural

BOM = b"\xef\xbb\xbf"
_COSTS = re.compile(
    rb"\*(?:Time: ([0-9][0-9.e+-]{0,30})s)?(?: \| )?"
    rb"(?:Tokens: (~?)[0-9,]{1,27} \(((?:(?:, )?[a-z]{2,9}: [0-9,]{1,27}){2,5})\))?"
    rb"(?: \| [A-Z][a-z ]{1,40}){0,2}\*"
)
"""The line below a reply since 1.2: `*Time: 0.8s | Tokens: 410 (in: 390, out: 20)*`."""
_START = marker.SUMMARY_START.encode()
_END = marker.SUMMARY_END.encode()


class Parsed(Struct, frozen=True):
    """A transcript as read, without a `session` when it has no header."""

    session: records.Session | None
    damage: tuple[str, ...] = ()  # a sentence per fault
    torn: bool = False  # it ends inside a record or a line, which must be fenced off
    torn_records: int = 0  # the number of faults that are harmless: records cut off by a crash
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
    if session is not None and reader.tail:  # the tail begins at the rule before its first marker
        end = reader.tail - 1
        last = lines[end - 1].removesuffix(b"\r") if end else b""
        end -= 1 if last[:1] == b"*" == last[-1:] else 0
        rule = [line.removesuffix(b"\r") for line in lines[max(0, end - 3) : end]]
        end -= 3 if rule == [b"", b"---", b""] else 0
        tail = sum(len(line) + 1 for line in lines[:end])
    return Parsed(session, tuple(reader.damage), reader.torn, reader.torn_records, tail)


class Reader:
    """Reads one transcript, line by line."""

    def __init__(self) -> None:
        self.header: records.Header | None = None
        self.entries: list[records.Entry] = []
        self.seal: records.Seal | None = None
        self.damage: list[str] = []
        self.torn = False
        self.torn_records = 0
        self.tail = 0  # the number of the line with the first marker of the tail; 0 without one
        self.open: Marker | None = None  # the record whose end was not read yet
        self._opened_at = 0
        self._lines: list[bytes] = []
        self._awaits_costs = False  # the next line in italics may have the costs of the last entry
        self._number = 0
        self._strays: list[int] = []  # the numbers of the lines outside the records
        self._block: str | None = None
        self._compaction: Compaction | None = None
        self._torn_entry: records.Entry | None = None  # the next entry may repeat it
        self._is_whole = False  # `_torn_entry` has its end: the fence comes after it
        self._is_header_torn = False

    def take(self, line: bytes) -> None:
        """Take the next line, without its line feed."""
        self._number += 1
        line = line.removesuffix(b"\r")
        line = line.removeprefix(BOM) if self._number == 1 else line
        mark = marker.read(line) if line.startswith(b"<!-- ") else None
        if line == _START:
            mark = Marker("summary", {})
        elif self.open is not None and self.open.kind == "summary":  # it has its own end
            if line == _END:
                mark = Marker("end", {})
            elif mark is not None and mark.kind == "end":
                mark = None
        if mark is None and self.open is not None:
            self._lines.append(line)
        elif mark is not None and mark.kind != "end":
            self._break_off(torn_off=mark.kind == "torn")
            self._begin(mark)
        elif mark is not None and self.open is not None:
            self._close(mark)
        elif self._awaits_costs and line[:1] == b"*" and (costs := _COSTS.fullmatch(line)):
            self._add_costs(costs)
        elif line.strip() and not _is_decoration(line):
            self._strays.append(self._number)

    def finish(self, *, ends_with_newline: bool) -> None:
        """Handle the end of the file, where an open record counts as interrupted."""
        self.torn = self.open is not None or not ends_with_newline
        if self._lines[-1:] == [b""]:
            self._lines.pop()
        self._break_off(torn_off=True)
        if self._block is not None and self.seal is None and self.header is not None:
            self.damage.append("The summary block is not followed by a seal.")
            created = self.header.created.isoformat()
            self._begin(Marker("sealed", {"at": created, "summary": "model"}))
        if self.header is None:
            self.damage.insert(0, "The file has no header record.")
        elif self._strays:
            count = plural(len(self._strays), "line")
            self.damage.append(f"Line {self._strays[0]}: {count} outside the records, skipped.")

    def _fault(self, sentence: str, line: int | None = None) -> None:
        """Report damage, in a line or in the open record."""
        self.damage.append(f"Line {line or self._opened_at}: {sentence}")

    def _add_costs(self, costs: re.Match[bytes]) -> None:
        """Give the last entry, a reply, the time and tokens of the line below it."""
        self._awaits_costs = False
        seconds, estimated, tokens = (group.decode() for group in costs.groups(b""))
        values = {"time": seconds, "estimated": "yes" if estimated else ""}
        for count in tokens.split(", ") if tokens else ():
            name, _, number = count.partition(": ")
            values[name] = number.replace(",", "")
        mark = Marker("end", values)
        reply = self.entries[-1]
        assert isinstance(reply, records.Reply | records.AsideReply)
        self.entries[-1] = replace(
            reply, usage=_usage(mark), **mark.attributes(type(reply), ("seconds",))
        )

    def _begin(self, mark: Marker) -> None:
        kind = mark.kind
        self._awaits_costs = False
        if self.seal is not None:
            self._fault("a record after the seal.", self._number)
        if not self.tail and kind in ("summary", "compaction", "sealed"):
            self.tail = self._number
        if kind == "torn":
            self._fault("an interrupted write was fenced off here.", self._number)
            self.torn_records += 1
            self._is_whole = self._torn_entry is None
            self._torn_entry = self.entries[-1] if self.entries else None
        elif kind == "sealed":
            names = ("at", "reason", "source", "seconds", "covers", "digest")
            self.seal = records.Seal(
                summary=None if self._block is None else summary_block.parse(self._block),
                usage=_usage(mark),
                compaction=self._compaction,
                edited=self._is_edited(mark.word("block", records.DIGEST_PATTERN)),
                **mark.attributes(records.Seal, names),
            )
        else:
            if kind not in marker.KINDS and kind not in ("session", "summary", "compaction"):
                sentence = f"unknown record “{kind}”, kept in the file and skipped."
                self._fault(sentence, self._number)
            self.open = mark
            self._opened_at = self._number
            self._lines = []

    def _is_edited(self, digest: str) -> bool:
        """Return True when the summary block is not the one with this digest."""
        if not digest or self._block is None:
            return False
        return summary_block.digest(self._block) != digest

    def _break_off(self, *, torn_off: bool) -> None:
        """Close the open record early, before another one or, if `torn_off`, a fence or the end."""
        if self.open is None:
            return
        kind = self.open.kind
        lines = self._lines
        faults = len(self.damage)
        entries = len(self.entries)
        self._fault(f"the {kind} record has no end.")
        if kind == "summary" and torn_off:
            self.open = None
        else:
            # Drop the beginnings of an end marker, and of a fence after it. If a hand edit removed
            # the end of a summary, drop the decoration that followed it.
            while lines and (
                lines[-1][:4] in (b"<", b"<!", b"<!-", b"<!--")
                or (kind == "summary" and _is_decoration(lines[-1]))
            ):
                lines.pop()
            self._close(None)
            self._is_header_torn = kind == "session"
            if len(self.entries) > entries:
                self._torn_entry = self.entries[-1]
                self._is_whole = False
        self.torn_records += len(self.damage) - faults if torn_off else 0

    def _close(self, end: Marker | None) -> None:
        """Close the open record; without its `end` it was interrupted."""
        opened = self.open
        self.open = None
        assert opened is not None
        body = b"\n".join(self._lines)
        self._lines = []
        try:
            text = body.decode()
        except UnicodeDecodeError:
            self._fault(f"the {opened.kind} record is not valid UTF-8.")
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
            entry = self._with_time(entry, opened)
            torn = self._torn_entry
            self._torn_entry = None
            if self._is_rewritten(torn, entry):
                self.entries.pop()
            self.entries.append(entry)
            if isinstance(entry, records.Reply | records.AsideReply) and end is not None:
                self._awaits_costs = entry.usage is None and entry.seconds is None

    def _with_time(self, entry: records.Entry, opened: Marker) -> records.Entry:
        """Return an entry with the time of the one before it, if both belong to one query and its
        marker has none.
        """
        before = self.entries[-1] if self.entries else None
        if "at" in opened.values or not isinstance(entry, records.QueryEntry):
            return entry
        if not isinstance(before, records.QueryEntry) or before.number != entry.number:
            return entry
        return replace(entry, at=before.at)

    def _is_rewritten(self, torn: records.Entry | None, entry: records.Entry) -> bool:
        """Return True when `entry` repeats the torn record."""
        if type(torn) is not type(entry):
            return False
        if isinstance(torn, records.Query | records.Reply):
            return torn.number == getattr(entry, "number", None)
        return torn == entry or (not self._is_whole and torn.at == entry.at)

    def _read_header(self, opened: Marker, lines: list[str]) -> None:
        if self.header is not None and not self._is_header_torn:
            self._fault("a second header is skipped.")
            return
        for name in ("id", "parent"):
            if opened.word(name) and not opened.word(name, records.ID_PATTERN):
                self._fault(f"the header's {name} is not a session id and is not used.")
        if opened.word("v") != "1":
            self._fault("the file's format is not version 1.")
        values: dict[str, Any] = {"agent": ""}
        values["minor"] = min(opened.number("minor") or 0, records.MINOR)
        if values["minor"] >= 2:
            lines = [line.rstrip(" ") for line in lines]  # without hard breaks
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
        self.header = records.Header(**values)


def _is_decoration(line: bytes) -> bool:
    """Return True for a line that the writer puts between records: a rule, italics, a fence."""
    is_italic = line[:1] == b"*" == line[-1:]
    return line == b"---" or is_italic or not line.strip(b"`") or not line.strip(b"~")


def _usage(mark: Marker) -> Usage | None:
    return Usage(**mark.attributes(Usage, marker.USAGE)) if "in" in mark.values else None


def _entry(opened: Marker, end: Marker | None, lines: list[str], agent: str) -> records.Entry:
    """Return the entry of a record; `end` is None for one that was interrupted."""
    kind = marker.KINDS[opened.kind]
    end = end or Marker("end", {"stop": "interrupted"})
    values = opened.attributes(kind.entry, ("at", *kind.values))
    values |= end.attributes(kind.entry, kind.closing)
    label = kind.label
    if issubclass(kind.entry, records.Reply | records.AsideReply):
        label = writer.label(agent)
        values["usage"] = _usage(end)
        if opened.kind == "acknowledgment":
            values["number"] = 0
    if kind.fold:
        folded = lines[kind.skip + 2 :]
        folded = folded[:-2] if folded[-2:] == ["", "</details>"] else folded
        values[kind.fold] = decode("\n".join(folded))
    elif label:
        lines = lines[kind.skip :]
        if lines[:1] == [label]:
            lines = lines[2:] if lines[1:2] == [""] else lines[1:]
        elif lines:
            lines = [lines[0].removeprefix(f"{label} "), *lines[1:]]
        values["text"] = decode("\n".join(lines))
    if kind.entry is records.Restoration:
        values["depth"] = max(2, values["depth"])
    elif kind.entry is records.Attachment:
        values["name"] = decode_line(lines[0].removeprefix(f"{kind.label} "))
        values["text"] = "" if values["media"] in records.IMAGES else values["text"]
    return kind.entry(**values)
