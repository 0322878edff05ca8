"""Read the transcripts that basic-agent-chat-loop writes (0.3 to 1.10; some are in tests/plain).
They escape nothing: a heading counts behind a rule, before its label and with the next number (a
greater one where a query is missing). Such files are never rewritten.
"""

from __future__ import annotations

import re
from collections import Counter
from datetime import datetime
from itertools import takewhile
from pathlib import Path
from typing import NamedTuple

from chat_loop.sessions import summary_block
from chat_loop.sessions.marker import SUMMARY_END, SUMMARY_START
from chat_loop.sessions.records import EPOCH, ID_PATTERN, Entry, Header, Query, Reply, Seal, Session
from chat_loop.values import Usage

HEAD = 4096  # bytes of a file's beginning that tell if it is in this format
_YOU = "**You:**"
_RULE = "---"
_LABELS = (
    *("Session ID", "Date", "Agent", "Agent Path", "Total Queries", "Resumed From"),
    *("Previous Session", "Context"),
)
# These are matched against one line; their repetitions are bounded.
_HEADING = re.compile(r"## (?:Query ([0-9]{1,9}) \(([^)]{0,40})\)|Session Restored \([^)]{0,40}\))")
_NUMBER = r"([0-9][0-9,]{0,17})"
_TIME = re.compile(
    rf"\*Time: ([0-9]{{1,9}}(?:\.[0-9]{{1,9}})?)s"
    rf"(?: \| Tokens: {_NUMBER} \(in: {_NUMBER}, out: {_NUMBER}\))?\*"
)


class _Part(NamedTuple):
    """The lines that belong to one heading; `number` 0 is the restoration."""

    number: int
    clock: str
    lines: list[str]


def is_legacy(head: bytes) -> bool:
    """Return True when a file with this beginning (HEAD bytes) is in the legacy format."""
    header, _ = _split(head.decode("utf-8", "replace"))
    title = next((line.rstrip() for line in header if line.strip()), "")
    labelled = any(line.startswith(("**Session ID:**", "**Total Queries:**")) for line in header)
    ours = any(line.startswith("<!-- chat:session") for line in header)
    return labelled and not ours and title.startswith("# ") and title.endswith(" Conversation")


def read(data: bytes, path: Path) -> tuple[Session | None, tuple[str, ...]]:
    """Return the session and a sentence per fault; None for a file in another format."""
    return parse(data, path.stem) if is_legacy(data[:HEAD]) else (None, ())


def parse(data: bytes, identity: str) -> tuple[Session, tuple[str, ...]]:
    """Return what can be read of a file, in linear time, and a sentence per fault."""
    text = data.decode("utf-8", "replace")
    header, parts = _split(text)
    values, rest = _header(header)
    agent, created = values.get("Agent", ""), _date(values.get("Date", ""))
    damage = []
    if text.encode() != data:
        damage.append("Some bytes are not UTF-8; they are shown as U+FFFD.")
    if not text.strip("\ufeff \r\n\t"):
        damage.append("The file is empty.")
    elif not values.get("Session ID"):
        damage.append("The header has no session id." if values else "The header is missing.")
    if parts and any(line.strip() for line in rest):
        damage.append("There is text before the first query that belongs to nothing.")
    entries: list[Entry] = []
    queries = before = 0
    for part in parts:
        if part.number > before + 1:
            damage.append(f"After query {before} comes query {part.number}.")
        before = part.number
        queries += part.number > 0
        exchange, fault, rest = _exchange(part, queries, agent, created, last=part is parts[-1])
        damage += [fault] if fault else []
        if part.number:
            entries += exchange
        else:  # the acknowledgment is not needed; the parent stands above it
            values = _header(list(takewhile(str.strip, part.lines)))[0] | values
    total = values.get("Total Queries", "")
    if re.fullmatch(r"[0-9]{1,9}", total) and int(total) != queries:
        damage.append(f"The header counts {int(total)} queries, the file has {queries}.")
    summary, fault = _summary("\n".join(rest))
    block = summary_block.parse(summary)
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
        seal=Seal(at=created, reason="exit", source="model", summary=block) if summary else None,
    )
    return session, (*damage, *([fault] if fault else []))


def _date(text: str) -> datetime:
    """Return a date without a zone as a local time: that of the last save, which rewrites it."""
    try:
        return datetime.fromisoformat(text).astimezone()
    except (ValueError, OverflowError, OSError):
        return EPOCH


def _split(text: str) -> tuple[list[str], list[_Part]]:
    """Return the lines before the first heading that counts, and the parts."""
    lines = [line.removesuffix("\r") for line in text.removeprefix("\ufeff").split("\n")]
    filled = [index for index, line in enumerate(lines) if line.strip()]
    headings: list[tuple[int, str, int, int]] = []
    for before, at, after in zip([-1, *filled], filled, filled[1:], strict=False):
        if not lines[at].startswith("## ") or (headings and lines[before].rstrip() != _RULE):
            continue
        match = _HEADING.fullmatch(lines[at].rstrip())
        if match is None or not lines[after].startswith(_YOU if match[1] else "**Context:**"):
            continue
        if match[1] is None or int(match[1]):
            headings.append((int(match[1] or 0), match[2] or "", at, after))
    total = _header(lines[: headings[0][2]])[0].get("Total Queries", "") if headings else ""
    most = int(total) if re.fullmatch(r"[0-9]{1,9}", total) else 10**9
    later = Counter(heading[0] for heading in headings)
    chosen: list[tuple[int, str, int, int]] = []
    last = 0
    for heading in headings:
        number = heading[0]
        later[number] -= 1
        # A query is missing where the next number never comes and the header counts as many.
        follows = number == last + 1 or (last < number <= most and not later[last + 1])
        if follows if number else not chosen:
            chosen.append(heading)
            last = number
    ends = [*(at for _, _, at, _ in chosen), len(lines)]
    parts = [
        _Part(number, clock, lines[first:end])
        for (number, clock, _, first), end in zip(chosen, ends[1:], strict=True)
    ]
    return lines[: ends[0]], parts


def _header(lines: list[str]) -> tuple[dict[str, str], list[str]]:
    """Return the labelled values above the first rule, and the lines below it."""
    end = next((at for at, line in enumerate(lines) if line.rstrip() == _RULE), len(lines))
    title = next((line for line in lines[:end] if line.startswith("# ")), "# ")
    title = title[2:].rstrip().removesuffix("Conversation").rstrip()
    values: dict[str, str] = {}
    for line in lines[:end]:
        label, colon, value = line.partition(":** ")
        if colon and label.startswith("**") and label[2:] in _LABELS:
            values.setdefault(label[2:], value.strip())
    return ({"Agent": title} | values if title else values), lines[end + 1 :]


def _exchange(
    part: _Part, number: int, agent: str, created: datetime, *, last: bool
) -> tuple[list[Entry], str, list[str]]:
    """Return a part's query and reply, what is wrong with it, and the lines behind its end."""
    lines = part.lines
    start = _reply_start(lines, agent)
    time_at, end_at = _end(lines, start if start < len(lines) else 0, last=last)
    stop = min(at for at in (time_at, end_at, len(lines)) if at >= 0)
    at = created
    if clock := re.fullmatch(r"([01][0-9]|2[0-3]):([0-5][0-9]):([0-5][0-9])", part.clock):
        hour, minute, second = map(int, clock.groups())  # when the reply was complete
        at = created.replace(hour=hour, minute=minute, second=second, microsecond=0)
    query = "\n".join(lines[: min(start, stop)]).removeprefix(_YOU).removeprefix(" ").strip("\n")
    text = "\n".join(lines[start:stop]).partition(":**")[2].removeprefix(" ").strip("\n")
    entries: list[Entry] = [Query(number=number, at=at, text=query)]
    if text:
        found = _TIME.fullmatch(lines[time_at].rstrip()) if time_at >= 0 else None
        seconds = float(found[1]) if found else None
        usage = None
        if found and found[3]:
            given, made = (int(found[group].replace(",", "")) for group in (3, 4))
            usage = Usage(input=given, output=made)
        entries.append(Reply(number=number, at=at, text=text, seconds=seconds, usage=usage))
    name = f"query {part.number}" if part.number else "the restoration"
    fault = f"The reply to {name} has no end." if end_at < 0 else ""
    fault = fault if start < len(lines) else f"There is no reply to {name}."
    return entries, fault, lines[end_at + 1 :] if end_at >= 0 else []


def _reply_start(lines: list[str], agent: str) -> int:
    """Return the index of the agent's label, else of any label, else the number of lines."""
    bold = [
        index
        for index in range(2, len(lines))
        if lines[index].startswith("**") and not lines[index - 1].strip()
    ]
    own = [index for index in bold if agent and lines[index].startswith(f"**{agent}:**")]
    other = [index for index in bold if 2 < lines[index].find(":**") < 100]
    return next(iter(own or other), len(lines))


def _end(lines: list[str], start: int, *, last: bool) -> tuple[int, int]:
    """Return the indices of a part's time line and of the rule that ends it; -1 for none."""
    rules: list[tuple[int, int]] = []  # the time line above a rule, and the rule
    above = -1  # the last line that is not blank, when it is a time line
    for index in range(start, len(lines)):
        line = lines[index].rstrip()
        if line == _RULE:
            rules.append((above, index))
        if line:
            above = index if _TIME.fullmatch(line) else -1
    if not rules:
        return -1, -1
    if not last:  # the rule before the next heading is the end
        return rules[-1]
    timed = [rule for rule in rules if rule[0] >= 0]
    # Without a time line only a rule that nothing or a summary follows is an end.
    after = next((line for line in lines[rules[-1][1] + 1 :] if line.strip()), SUMMARY_START)
    return timed[-1] if timed else rules[-1] if after.startswith(SUMMARY_START) else (-1, -1)


def _summary(text: str) -> tuple[str, str]:
    """Return the inside of the last complete block, and what is wrong."""
    end = text.rfind(SUMMARY_END)
    start = text.rfind(SUMMARY_START, 0, max(end, 0))
    inside = text[start:].partition(SUMMARY_END)[0].removeprefix(SUMMARY_START)
    fault = "The summary block has no end." if text.rfind(SUMMARY_START) > end else ""
    if SUMMARY_START not in text and text.strip():
        fault = "There is text after the last exchange that belongs to nothing."
    return inside.strip() if start >= 0 else "", fault
