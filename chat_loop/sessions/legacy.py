"""Read the transcripts that basic-agent-chat-loop writes (0.3 to 1.10, as in tests/golden/plain).

They escape nothing. So the heading of a query counts only between a rule and the user's label, and
with a number above the last one, up to the header's total. The files are never rewritten.
"""

from __future__ import annotations

import re
from datetime import datetime, time
from pathlib import Path

from chat_loop.sessions import records, summary_block
from chat_loop.sessions.marker import SUMMARY_END, SUMMARY_START
from chat_loop.sessions.records import EPOCH, Entry, Query, Reply, Session
from chat_loop.values import Usage, plural

HEAD = 4096  # bytes at a file's beginning that show whether it is in this format
_BLANK = r"(?:[ \t]*\n)*"
_RULE = r"^---[ \t]*(?:\n|\Z)"
_NUMBER = r"([0-9][0-9,]{0,17})"
_HEADING = re.compile(
    rf"({_RULE}{_BLANK})?^## (?:"
    rf"Query ([0-9]{{1,9}}) \(([^)\n]{{0,40}})\)[ \t]*\n{_BLANK}(?=\*\*You:\*\*)"
    rf"|Session Restored \([^)\n]{{0,40}}\)[ \t]*\n{_BLANK}(?=\*\*Context:\*\*))",
    re.MULTILINE,
)
_END = re.compile(
    r"(?:^\*Time: ([0-9]{1,9}(?:\.[0-9]{1,9})?)s"
    rf"(?: \| Tokens: {_NUMBER} \(in: {_NUMBER}, out: {_NUMBER}\))?\*[ \t]*(?:\n|\Z){_BLANK}"
    rf"{_RULE}|{_RULE}\s*(?={SUMMARY_START}|\Z))",
    re.MULTILINE,
)
"""The end of an exchange: the time and a rule, or a rule before a summary or the file's end."""


def is_legacy(head: bytes) -> bool:
    """Return True when a file with this beginning (HEAD bytes) is in the legacy format."""
    text = _text(head)
    first = _HEADING.search(text)
    if first:
        text = text[: first.start()]
    header = text.split("\n")
    title = next((line.rstrip() for line in header if line.strip()), "")
    labeled = any(line.startswith(("**Session ID:**", "**Total Queries:**")) for line in header)
    ours = any(line.startswith("<!-- chat:session") for line in header)
    return labeled and not ours and title.startswith("# ") and title.endswith(" Conversation")


def read(data: bytes, path: Path) -> tuple[Session | None, tuple[str, ...]]:
    """Return the session and a sentence per fault. Return no session for another format."""
    if not is_legacy(data[:HEAD]):
        return None, ()
    return parse(data, path.stem)


def parse(data: bytes, identity: str) -> tuple[Session, tuple[str, ...]]:
    """Return a session with the readable part of a file, in linear time, and the faults."""
    text = _text(data)
    matches = list(_HEADING.finditer(text))
    beginning = text
    if matches:
        beginning = text[: matches[0].start()]
    values = _header(beginning)
    agent = values.get("Agent", "")
    created = _date(values.get("Date", ""))
    total = values.get("Total Queries", "")
    total_queries = None
    if re.fullmatch(r"[0-9]{1,9}", total):
        total_queries = int(total)
    headings = _counting(matches, total_queries)
    entries: list[Entry] = []
    queries = 0
    has_end = True
    rest = text
    starts = [*(heading.start() for heading in headings), len(text)]
    for heading, stop in zip(headings, starts[1:], strict=True):
        part = text[heading.end() : stop]
        if stop < len(text):
            part += "---\n"
        queries += heading[2] is not None
        exchange, has_end, rest = _exchange(part, queries, _at(heading[3], created), agent)
        if heading[2]:
            entries += exchange
        else:  # the acknowledgment is not needed; the parent is named above it
            values = _header(re.split(r"\n[ \t]*\n", part, maxsplit=1)[0]) | values
    stop = rest.rfind(SUMMARY_END)
    start = rest.rfind(SUMMARY_START, 0, max(stop, 0))
    summary = ""
    if start >= 0:
        summary = rest[start:stop].removeprefix(SUMMARY_START).strip()
    last = headings[-1][2] if headings else None
    counted = max(total_queries or 0, int(last or 0))
    faults = {
        "Some bytes are not UTF-8; they are shown as U+FFFD.": (
            data.decode("utf-8", "replace").encode() != data
        ),
        f"The file has {queries} of {plural(counted, 'query')}.": queries != counted,
        "The end is missing.": not has_end or rest.rfind(SUMMARY_START) > stop,
    }
    parent = values.get("Context", "").removeprefix("Resumed from ").partition(" (")[0]
    parent = values.get("Resumed From", parent)
    if not records.ID_PATTERN.fullmatch(parent):
        parent = ""
    header = records.Header(
        id=identity,
        created=created,
        agent=agent,
        agent_path=values.get("Agent Path", ""),
        parent=parent,
        parent_path=values.get("Previous Session", ""),
    )
    seal = None
    if summary:
        seal = records.Seal(at=created, source="model", summary=summary_block.parse(summary))
    session = Session(header=header, entries=tuple(entries), seal=seal)
    return session, tuple(sentence for sentence, is_so in faults.items() if is_so)


def _counting(matches: list[re.Match[str]], total: int | None) -> list[re.Match[str]]:
    """Return the headings that count, with at most `total` (None: unknown) as their numbers."""
    headings: list[re.Match[str]] = []
    last = 0
    for match in matches:
        number = int(match[2] or 0)
        is_first = not headings
        counts = is_first  # a restoration stands before all queries
        if match[2]:
            counts = last < number and (total is None or number <= total)
        if counts and (match[1] or is_first):
            headings.append(match)
            last = number
    return headings


def _text(data: bytes) -> str:
    return data.decode("utf-8", "replace").removeprefix("\ufeff").replace("\r\n", "\n")


def _date(text: str) -> datetime:
    """Return a date without a zone as local time. The last save wrote it."""
    try:
        return datetime.fromisoformat(text).astimezone()
    except (ValueError, OverflowError, OSError):
        return EPOCH


def _at(clock: str | None, created: datetime) -> datetime:
    """Return the time at which a reply was complete, by the clock in its query's heading."""
    try:
        return datetime.combine(created, time.fromisoformat(clock or ""), created.tzinfo)
    except ValueError:
        return created


def _header(text: str) -> dict[str, str]:
    """Return the labeled values above the first rule."""
    lines = re.split(_RULE, text, maxsplit=1, flags=re.MULTILINE)[0].split("\n")
    title = next((line for line in lines if line.startswith("# ")), "# ")
    title = title[2:].rstrip().removesuffix("Conversation").rstrip()
    values: dict[str, str] = {}
    for line in lines:
        label, colon, value = line.partition(":** ")
        if colon and label.startswith("**"):
            values.setdefault(label[2:], value.strip())
    if title:
        values.setdefault("Agent", title)
    return values


def _exchange(text: str, number: int, at: datetime, agent: str) -> tuple[list[Entry], bool, str]:
    """Return a query and its reply, True if they have an end, and the text after it.

    The first label, preferably the agent's, separates them; the last end after it counts.
    """
    label = None
    if agent:
        label = re.search(rf"\n[ \t]*\n\*\*{re.escape(agent)}:\*\*", text)
    if label is None:
        label = re.search(r"\n[ \t]*\n\*\*[^\n]{1,97}?:\*\*", text)
    end = None
    for match in _END.finditer(text, label.end() if label else 0):
        end = match
    query = text
    rest = ""
    if end:
        query = text[: end.start()]
        rest = text[end.end() :]
    reply = ""
    if label:
        reply = query[label.end() :]
        query = query[: label.start()]
    query = query.removeprefix("**You:**").removeprefix(" ").strip("\n")
    entries: list[Entry] = [Query(number=number, at=at, text=query)]
    if reply := reply.removeprefix(" ").strip("\n"):
        usage = None
        seconds = None
        if end and end[1]:
            seconds = float(end[1])
        if end and end[3]:
            read_tokens = int(end[3].replace(",", ""))
            usage = Usage(input=read_tokens, output=int(end[4].replace(",", "")))
        entries.append(Reply(number=number, at=at, text=reply, seconds=seconds, usage=usage))
    return entries, end is not None, rest
