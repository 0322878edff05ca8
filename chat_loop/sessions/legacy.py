"""Read the transcripts that basic-agent-chat-loop writes (0.3 to 1.10; some are in tests/plain).
They escape nothing: a heading counts behind a rule, before its label and with the next number (a
greater one where a query is missing). Such files are never rewritten.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path

from chat_loop.sessions import summary_block
from chat_loop.sessions.marker import SUMMARY_END, SUMMARY_START
from chat_loop.sessions.records import EPOCH, ID_PATTERN, Entry, Header, Query, Reply, Seal, Session
from chat_loop.values import Usage
from chat_loop.wording import plural

HEAD = 4096  # bytes of a file's beginning that tell if it is in this format
_YOU = "**You:**"
_LABELS = (
    *("Session ID", "Date", "Agent", "Agent Path", "Total Queries", "Resumed From"),
    *("Previous Session", "Context"),
)
_BLANK = r"(?:[ \t]*\n)*"
_RULE = r"^---[ \t]*(?:\n|\Z)"
_NUMBER = r"([0-9][0-9,]{0,17})"
_TIME = (
    r"^\*Time: ([0-9]{1,9}(?:\.[0-9]{1,9})?)s"
    rf"(?: \| Tokens: {_NUMBER} \(in: {_NUMBER}, out: {_NUMBER}\))?\*[ \t]*(?:\n|\Z){_BLANK}"
)
_HEADING = re.compile(
    rf"({_RULE}{_BLANK})?^## (?:"
    rf"Query ([0-9]{{1,9}}) \(([^)\n]{{0,40}})\)[ \t]*\n{_BLANK}(?=\*\*You:\*\*)"
    rf"|Session Restored \([^)\n]{{0,40}}\)[ \t]*\n{_BLANK}(?=\*\*Context:\*\*))",
    re.MULTILINE,
)
_ENDS = (  # without a time line only a rule that nothing or a summary follows is an end
    re.compile(_TIME + _RULE, re.MULTILINE),
    re.compile(rf"{_RULE}\s*(?={SUMMARY_START}|\Z)", re.MULTILINE),
)
_LAST_TIME = re.compile(rf"{_TIME}\Z", re.MULTILINE)


def is_legacy(head: bytes) -> bool:
    """Return True when a file with this beginning (HEAD bytes) is in the legacy format."""
    header = _split(_text(head))[0].split("\n")
    title = next((line.rstrip() for line in header if line.strip()), "")
    labelled = any(line.startswith(("**Session ID:**", "**Total Queries:**")) for line in header)
    ours = any(line.startswith("<!-- chat:session") for line in header)
    return labelled and not ours and title.startswith("# ") and title.endswith(" Conversation")


def read(data: bytes, path: Path) -> tuple[Session | None, tuple[str, ...]]:
    """Return the session and a sentence per fault; None for a file in another format."""
    return parse(data, path.stem) if is_legacy(data[:HEAD]) else (None, ())


def parse(data: bytes, identity: str) -> tuple[Session, tuple[str, ...]]:
    """Return what can be read of a file, in linear time, and a sentence per fault."""
    text = _text(data)
    header, headings = _split(text)
    values = _header(header)
    agent, created = values.get("Agent", ""), _date(values.get("Date", ""))
    entries: list[Entry] = []
    queries, has_end, rest = 0, True, text
    ends = [*(heading.start() for heading in headings), len(text)]
    for heading, end in zip(headings, ends[1:], strict=True):
        part, is_last = text[heading.end() : end], heading is headings[-1]
        queries += heading[2] is not None
        exchange, has_end, rest = _exchange(part, queries, heading[3], agent, created, is_last)
        if heading[2]:
            entries += exchange
        else:  # the acknowledgment is not needed; the parent stands above it
            values = _header(re.split(r"\n[ \t]*\n", part, maxsplit=1)[0]) | values
    counted = max(_count(values) or 0, *(int(heading[2] or 0) for heading in headings), 0)
    end = rest.rfind(SUMMARY_END)
    start = rest.rfind(SUMMARY_START, 0, max(end, 0))
    summary = rest[start:end].removeprefix(SUMMARY_START).strip() if start >= 0 else ""
    faults = {
        "Some bytes are not UTF-8; they are shown as U+FFFD.": (
            data.decode("utf-8", "replace").encode() != data
        ),
        "The file is empty.": not text.strip(),
        "The header is missing.": bool(text.strip()) and not values,
        f"The file has {queries} of {plural(counted, 'query')}.": queries != counted,
        "The end is missing.": not has_end or rest.rfind(SUMMARY_START) > end,
    }
    parent = values.get("Context", "").removeprefix("Resumed from ").partition(" (")[0]
    parent = values.get("Resumed From", parent)
    session = Session(
        header=Header(
            id=identity,
            created=created,
            agent=agent,
            agent_path=values.get("Agent Path", ""),
            parent=parent if ID_PATTERN.fullmatch(parent) else "",
            parent_path=values.get("Previous Session", ""),
        ),
        entries=tuple(entries),
        seal=Seal(at=created, source="model", summary=summary_block.parse(summary))
        if summary
        else None,
    )
    return session, tuple(sentence for sentence, is_so in faults.items() if is_so)


def _text(data: bytes) -> str:
    return data.decode("utf-8", "replace").removeprefix("\ufeff").replace("\r\n", "\n")


def _date(text: str) -> datetime:
    """Return a date without a zone as a local time: that of the last save, which rewrites it."""
    try:
        return datetime.fromisoformat(text).astimezone()
    except (ValueError, OverflowError, OSError):
        return EPOCH


def _count(values: Mapping[str, str]) -> int | None:
    """Return how many queries the header counts."""
    total = values.get("Total Queries", "")
    return int(total) if re.fullmatch(r"[0-9]{1,9}", total) else None


def _split(text: str) -> tuple[str, list[re.Match[str]]]:
    """Return the text before the first heading that counts, and the headings."""
    headings = [match for match in _HEADING.finditer(text) if match[2] is None or int(match[2])]
    headings = [match for match in headings if match[1] or match is headings[0]]
    header = text[: headings[0].start()] if headings else text
    total = _count(_header(header))
    last_place = {match[2]: match.start() for match in headings}
    chosen: list[re.Match[str]] = []
    last = 0
    for match in headings:
        number = int(match[2] or 0)
        # A query is missing where the next number never comes and the header counts as many.
        is_missing = last_place.get(str(last + 1), -1) < match.start()
        is_missing = is_missing and (total is None or number <= total)
        if (number == last + 1 or (number > last and is_missing)) if number else not chosen:
            chosen.append(match)
            last = number
    return text[: chosen[0].start()] if chosen else text, chosen


def _header(text: str) -> dict[str, str]:
    """Return the labelled values above the first rule."""
    lines = re.split(_RULE, text, maxsplit=1, flags=re.MULTILINE)[0].split("\n")
    title = next((line for line in lines if line.startswith("# ")), "# ")
    title = title[2:].rstrip().removesuffix("Conversation").rstrip()
    values: dict[str, str] = {}
    for line in lines:
        label, colon, value = line.partition(":** ")
        if colon and label.startswith("**") and label[2:] in _LABELS:
            values.setdefault(label[2:], value.strip())
    return {"Agent": title} | values if title else values


def _exchange(
    text: str, number: int, clock: str | None, agent: str, created: datetime, is_last: bool
) -> tuple[list[Entry], bool, str]:
    """Return a query and its reply, whether they have an end, and the text behind it."""
    own = re.search(rf"\n[ \t]*\n\*\*{re.escape(agent)}:\*\*", text) if agent else None
    label = own or re.search(r"\n[ \t]*\n\*\*[^\n]{1,97}?:\*\*", text)
    query, body = (text[: label.start()], text[label.end() :]) if label else ("", text)
    rest, has_end = "", True
    time = _LAST_TIME.search(body)
    if is_last:
        ends = [found[-1] for one in _ENDS if (found := list(one.finditer(body)))]
        time = ends[0] if ends and ends[0].re is _ENDS[0] else None
        has_end, rest = bool(ends), body[ends[0].end() :] if ends else ""
        body = body[: ends[0].start()] if ends else body
    elif time:
        body = body[: time.start()]
    query, reply = (query, body) if label else (body, "")
    at = created
    if match := re.fullmatch(r"([01][0-9]|2[0-3]):([0-5][0-9]):([0-5][0-9])", clock or ""):
        hour, minute, second = map(int, match.groups())  # when the reply was complete
        at = created.replace(hour=hour, minute=minute, second=second, microsecond=0)
    query = query.removeprefix(_YOU).removeprefix(" ").strip("\n")
    entries: list[Entry] = [Query(number=number, at=at, text=query)]
    if reply := reply.removeprefix(" ").strip("\n"):
        usage = None
        if time and time[3]:
            read_tokens, made_tokens = (int(time[group].replace(",", "")) for group in (3, 4))
            usage = Usage(input=read_tokens, output=made_tokens)
        seconds = float(time[1]) if time else None
        entries.append(Reply(number=number, at=at, text=reply, seconds=seconds, usage=usage))
    return entries, has_end, rest
