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
    reader = TranscriptReader(data)
    reader.read()
    session = tail = None
    if reader.header is not None:
        entries = tuple(reader.entries)
        session = records.Session(header=reader.header, entries=entries, seal=reader.seal)
    if session is not None and reader.tail is not None:
        tail = _with_rule(data, reader.tail)
    return Parsed(session, tuple(reader.damage), reader.torn, reader.torn_records, tail)


def _with_rule(data: bytes, at: int) -> int:
    """Return the byte at which the tail begins, given that of its first marker: above it, there may
    be a line in italics and a rule.
    """
    start = _line_before(data, at)
    last = data[start:at].rstrip(b"\r\n")
    if last[:1] == b"*" == last[-1:]:
        at = start
    start = at
    for _ in range(3):
        start = _line_before(data, start)
    rule = [line.removesuffix(b"\r") for line in data[start:at].split(b"\n")]
    return start if rule == [b"", b"---", b"", b""] else at


def _line_before(data: bytes, at: int) -> int:
    """Return the byte at which the line before the one at `at` begins, 0 if there is none."""
    return data.rfind(b"\n", 0, max(0, at - 1)) + 1


class TranscriptReader:
    """Reads one transcript. In a record, it only looks at the lines that may be markers, so that a
    long text takes little more memory than its bytes.
    """

    def __init__(self, data: bytes) -> None:
        self._data = data
        self.header: records.Header | None = None
        self.entries: list[records.Entry] = []
        self.seal: records.Seal | None = None
        self.damage: list[str] = []
        self.torn = False
        self.torn_records = 0
        self.tail: int | None = None  # the byte of the first marker of the tail
        self.open: Marker | None = None  # the record whose end was not read yet
        self._opened_at = 0  # the number of the line with its marker
        self._body = 0  # the byte at which its body begins
        self._awaits_costs = False  # the next line in italics may have the costs of the last entry
        self._at = 0  # the byte at which the current line begins
        self._number = 1  # of that line
        self._strays: list[int] = []  # the numbers of the lines outside the records
        self._block: str | None = None
        self._compaction: Compaction | None = None
        self._torn_entry: records.Entry | None = None  # the next entry may repeat it
        self._is_whole = False  # `_torn_entry` has its end: the fence comes after it
        self._is_header_torn = False

    def read(self) -> None:
        """Read the whole transcript."""
        data = self._data
        while self._at <= len(data):
            end = data.find(b"\n", self._at)
            if end < 0:
                end = len(data)
            line = data[self._at : end].removesuffix(b"\r")
            if self._at == 0:
                line = line.removeprefix(BOM)
            self._take(line, end + 1)
            self._go_to(end + 1)
            if self.open is not None and not data.startswith(b"<!-- ", self._at):
                marked = data.find(b"\n<!-- ", self._at)
                if marked < 0:
                    marked = len(data)
                self._go_to(marked + 1)
        self._finish()

    def _go_to(self, at: int) -> None:
        """Go on at the line that begins at the byte `at`."""
        self._number += self._data.count(b"\n", self._at, at)
        self._at = at

    def _take(self, line: bytes, after: int) -> None:
        """Take the current line, without its line feed; the next one begins at the byte `after`."""
        mark = marker.read(line) if line.startswith(b"<!-- ") else None
        if line == _START:
            mark = Marker("summary", {})
        elif self.open is not None and self.open.kind == "summary":  # it has its own end
            if line == _END:
                mark = Marker("end", {})
            elif mark is not None and mark.kind == "end":
                mark = None
        if mark is None and self.open is not None:
            return
        if mark is not None and mark.kind != "end":
            self._break_off(torn_off=mark.kind == "torn")
            self._begin(mark, after)
        elif mark is not None and self.open is not None:
            self._close(mark, self._read_body())
        elif self._awaits_costs and line[:1] == b"*" and (costs := _COSTS.fullmatch(line)):
            self._add_costs(costs)
        elif line.strip() and not _is_decoration(line):
            self._strays.append(self._number)

    def _finish(self) -> None:
        """Handle the end of the file, where an open record counts as interrupted."""
        data = self._data
        self.torn = self.open is not None or not data.endswith(b"\n")
        if data.endswith((b"\n", b"\n\r")):  # the last line, which is empty, belongs to no record
            self._at = data.rfind(b"\n") + 1
        self._break_off(torn_off=True)
        if self._block is not None and self.seal is None and self.header is not None:
            self.damage.append("The summary block is not followed by a seal.")
            created = self.header.created.isoformat()
            self._begin(Marker("sealed", {"at": created, "summary": "model"}), self._at)
        if self.header is None:
            self.damage.insert(0, "The file has no header record.")
        elif self._strays:
            count = plural(len(self._strays), "line")
            self.damage.append(f"Line {self._strays[0]}: {count} outside the records, skipped.")

    def _read_body(self) -> bytes:
        """Return the lines of the open record up to the current one, without the last line feed."""
        body = self._data[self._body : self._at - 1]
        if b"\r" in body:
            body = body.replace(b"\r\n", b"\n").removesuffix(b"\r")
        return body

    def _fault(self, sentence: str, line: int | None = None) -> None:
        """Report damage, in a line or in the open record."""
        self.damage.append(f"Line {line or self._opened_at}: {sentence}")

    def _add_costs(self, costs: re.Match[bytes]) -> None:
        """Give the last entry, a reply, the time and tokens of the line below it."""
        self._awaits_costs = False
        seconds, estimated, tokens = (group.decode() for group in costs.groups(b""))
        values = {"time": seconds}
        if estimated:
            values["estimated"] = "yes"
        for count in filter(None, tokens.split(", ")):
            name, _, number = count.partition(": ")
            values[name] = number.replace(",", "")
        mark = Marker("end", values)
        reply = self.entries[-1]
        assert isinstance(reply, records.Reply | records.AsideReply)
        self.entries[-1] = replace(
            reply, usage=_usage(mark), **mark.attributes(type(reply), ("seconds",))
        )

    def _begin(self, mark: Marker, after: int) -> None:
        kind = mark.kind
        self._awaits_costs = False
        if self.seal is not None:
            self._fault("a record after the seal.", self._number)
        if self.tail is None and kind in ("summary", "compaction", "sealed"):
            self.tail = self._at
        if kind == "torn":
            self._fault("an interrupted write was fenced off here.", self._number)
            self.torn_records += 1
            self._is_whole = self._torn_entry is None
            self._torn_entry = self.entries[-1] if self.entries else None
        elif kind == "sealed":
            names = ("at", "reason", "source", "seconds", "covers", "remade", "digest")
            summary = None
            if self._block is not None:
                summary = summary_block.parse(self._block)
            self.seal = records.Seal(
                summary=summary,
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
            self._body = after

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
        faults = len(self.damage)
        entries = len(self.entries)
        self._fault(f"the {kind} record has no end.")
        if kind == "summary" and torn_off:
            self.open = None
        else:
            self._close(None, _without_beginnings(self._read_body(), is_summary=kind == "summary"))
            self._is_header_torn = kind == "session"
            if len(self.entries) > entries:
                self._torn_entry = self.entries[-1]
                self._is_whole = False
        if torn_off:
            self.torn_records += len(self.damage) - faults

    def _close(self, end: Marker | None, body: bytes) -> None:
        """Close the open record; without its `end` it was interrupted."""
        opened = self.open
        self.open = None
        assert opened is not None
        try:
            text = body.decode()
        except UnicodeDecodeError:
            self._fault(f"the {opened.kind} record is not valid UTF-8.")
            text = body.decode("utf-8", "replace")
        del body  # it may be long
        if opened.kind == "session":
            self._read_header(opened, text.split("\n"))
        elif opened.kind == "summary":
            self._block = text
        elif opened.kind == "compaction":
            self._compaction = Compaction(**opened.attributes(Compaction, marker.AUDIT))
        elif opened.kind in marker.KINDS:
            agent = self.header.agent if self.header else ""
            entry = self._with_time(_entry(opened, end, text, agent), opened)
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
        if opened.word("mode") == "print":
            values["mode"] = "print"
        self.header = records.Header(**values)


def _without_beginnings(body: bytes, *, is_summary: bool) -> bytes:
    """Return the body of a broken record without the beginnings of an end marker, and of a fence
    after it. If a hand edit removed the end of a summary, drop the decoration that followed it.
    """
    end = len(body)
    while end:
        start = body.rfind(b"\n", 0, end) + 1
        last = body[start:end]
        is_beginning = last[:4] in (b"<", b"<!", b"<!-", b"<!--")
        if not is_beginning and not (is_summary and _is_decoration(last)):
            break
        end = max(0, start - 1)
    return body[:end]


def _is_decoration(line: bytes) -> bool:
    """Return True for a line that the writer puts between records: a rule, italics, a fence."""
    is_italic = line[:1] == b"*" == line[-1:]
    return line == b"---" or is_italic or not line.strip(b"`") or not line.strip(b"~")


def _usage(mark: Marker) -> Usage | None:
    if "in" not in mark.values:
        return None
    return Usage(**mark.attributes(Usage, marker.USAGE))


def _entry(opened: Marker, end: Marker | None, body: str, agent: str) -> records.Entry:
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
        folded = f"\n{_without_lines(body, kind.skip + 2)}".removesuffix("\n\n</details>")
        values[kind.fold] = decode(folded.removeprefix("\n"))
    elif label:
        values["text"] = decode(_without_label(_without_lines(body, kind.skip), label))
    if kind.entry is records.Restoration:
        values["depth"] = max(2, values["depth"])
    elif kind.entry is records.Attachment:
        name = body.partition("\n")[0]
        values["name"] = decode_line(name.removeprefix(f"{kind.label} "))
        if values["media"] in records.IMAGES:
            values["text"] = ""
    return kind.entry(**values)


def _without_lines(text: str, number: int) -> str:
    """Return a text without its first lines."""
    for _ in range(number):
        text = text.partition("\n")[2]
    return text


def _without_label(text: str, label: str) -> str:
    """Return a text without the label before it, which may have lines of its own."""
    if text != label and not text.startswith(f"{label}\n"):
        return text.removeprefix(f"{label} ")
    start = len(label) + 1
    if text.startswith("\n", start):
        start += 1
    return text[start:]
