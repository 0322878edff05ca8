"""Read the transcripts that basic-agent-chat-loop writes (0.3 to 1.10). Such files are never
rewritten.

    # Simple Sally Conversation

    **Session ID:** simple_sally_20260107_112153        also Date, Agent, Agent Path (before 1.8:
                                                        Description), Total Queries, Resumed From
    ---

    ## Session Restored (11:21:53)                      only in a resumed session
    **Context:** Resumed from simple_sally_20260106_090000 (5 queries, 2.3K tokens)
    **Previous Session:** /path/simple_sally_20260106_090000.md

    **Simple Sally:** the acknowledgment

    *Time: 2.1s | Tokens: 156 (in: 89, out: 67)*

    ---

    ## Query 1 (11:22:45)
    **You:** the query

    **Simple Sally:** the reply

    *Time: 3.2s | Tokens: 1,345 (in: 1,123, out: 222)*

    ---

    <!-- SESSION_SUMMARY_START -->                      as the model wrote it, markers included
    <!-- SESSION_SUMMARY_END -->

The format escapes nothing, so what a user or a model wrote can look like structure. These rules
decide:

- `## Query n (…)` counts only if the last line before it that is not blank is `---` (the first
  heading needs none), the next one starts with `**You:**`, and n is the next number. A greater one
  counts where the next number does not come later and the header counts as many: then a query is
  missing. `## Session Restored (…)` counts once, before the first query, and only if `**Context:**`
  follows.
- The reply begins at the first line after a blank one that starts with the agent's label.
- The last time line in a part that a `---` follows is its end. Only after the last exchange is a
  summary block looked for, and the last complete one is taken.
"""

from __future__ import annotations

import re
from collections import Counter
from datetime import datetime, time
from itertools import takewhile
from pathlib import Path
from typing import NamedTuple

from chat_loop.sessions import summary_block
from chat_loop.sessions.marker import SUMMARY_END, SUMMARY_START
from chat_loop.sessions.records import EPOCH, ID_PATTERN, Entry, Header, Query, Reply, Seal, Session
from chat_loop.values import Usage

HEAD = 4096
"""Bytes of a file's beginning that tell if it is in this format."""

_YOU = "**You:**"
_CONTEXT = "**Context:**"
_LABELS = (
    "Session ID",
    "Date",
    "Agent",
    "Agent Path",
    "Total Queries",
    "Resumed From",
    "Previous Session",
    "Context",
)
_RULE = "---"
_LARGEST = 10**9

# All of these are matched against one line; their repetitions are bounded.
_QUERY = re.compile(r"## Query ([0-9]{1,9}) \(([^)]{0,40})\)")
_RESTORED = re.compile(r"## Session Restored \([^)]{0,40}\)")
_CLOCK = re.compile(r"[0-9]{2}:[0-9]{2}:[0-9]{2}")
_NUMBER = r"([0-9][0-9,]{0,17})"
_TIME = re.compile(
    rf"\*Time: ([0-9]{{1,9}}(?:\.[0-9]{{1,9}})?)s(?: \| Tokens: {_NUMBER} \(in: {_NUMBER}, "
    rf"out: {_NUMBER}\))?\*"
)


class _Part(NamedTuple):
    """The lines that belong to one heading; `number` 0 is the restoration."""

    number: int
    clock: str
    lines: list[str]


def is_legacy(head: bytes) -> bool:
    """Return True when a file with this beginning (HEAD bytes suffice) is in the legacy format.

    It has a title `# … Conversation`, a session id (before 1.2: a count of queries), and no marker
    of our own format.
    """
    header, _ = _split(_lines(head.decode("utf-8", "replace")))
    title = next((line.rstrip() for line in header if line.strip()), "")
    if any(line.startswith("<!-- chat:session") for line in header):
        return False
    labelled = any(line.startswith(("**Session ID:**", "**Total Queries:**")) for line in header)
    return labelled and title.startswith("# ") and title.endswith(" Conversation")


def read(data: bytes, path: Path) -> tuple[Session | None, tuple[str, ...]]:
    """Return the session and a sentence per fault; None for a file in another format."""
    return parse(data, path.stem) if is_legacy(data[:HEAD]) else (None, ())


def parse(data: bytes, identity: str) -> tuple[Session, tuple[str, ...]]:
    """Return what can be read of a file, as a session with this id, and a sentence per fault.

    Takes time linear in the size, and raises nothing.
    """
    text = data.decode("utf-8", "replace")
    header, parts = _split(_lines(text))
    values, rest = _header(header)
    damage = (
        ["Some bytes are not UTF-8; they are shown as U+FFFD."] if text.encode() != data else []
    )
    if not text.strip("\ufeff \r\n\t"):
        damage.append("The file is empty.")
    elif not values.get("Session ID"):
        damage.append("The header has no session id." if values else "The header is missing.")
    if parts and any(line.strip() for line in rest):
        damage.append("There is text before the first query that belongs to nothing.")
    agent, created = values.get("Agent", ""), _created(values.get("Date", ""))
    entries: list[Entry] = []
    queries = before = 0
    for part in parts:
        if part.number > before + 1:
            damage.append(f"After query {before} comes query {part.number}.")
        before = part.number
        queries += part.number > 0
        exchange, faults, rest = _exchange(part, queries, agent, created, last=part is parts[-1])
        damage += faults
        if part.number:
            entries += exchange
        else:  # the acknowledgment is not needed; the parent stands above it
            values = _header(list(takewhile(str.strip, part.lines)))[0] | values
    total = values.get("Total Queries", "")
    if re.fullmatch(r"[0-9]{1,9}", total) and int(total) != queries:
        damage.append(f"The header counts {int(total)} queries, the file has {queries}.")
    summary, faults = _summary(rest)
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
        seal=Seal(at=created, reason="exit", source="model", summary=summary_block.parse(summary))
        if summary
        else None,
    )
    return session, (*damage, *faults)


def _created(text: str) -> datetime:
    """Return a date without a zone as a local time. It is that of the last save: the program
    rewrites it.
    """
    try:
        return datetime.fromisoformat(text).astimezone()
    except (ValueError, OverflowError, OSError):
        return EPOCH


def _lines(text: str) -> list[str]:
    return [line.removesuffix("\r") for line in text.removeprefix("\ufeff").split("\n")]


def _split(lines: list[str]) -> tuple[list[str], list[_Part]]:
    """Return the lines before the first heading that counts, and the parts that such headings
    begin.
    """
    headings = _headings(lines)
    later = Counter(number for number, *_ in headings)
    total = _header(lines[: headings[0][2]])[0].get("Total Queries", "") if headings else ""
    most = int(total) if re.fullmatch(r"[0-9]{1,9}", total) else _LARGEST
    chosen: list[tuple[int, str, int, int]] = []
    before = 0
    for heading in headings:
        number = heading[0]
        later[number] -= 1
        follows = number == before + 1 or (before < number <= most and not later[before + 1])
        if follows if number else not chosen:
            chosen.append(heading)
            before = number
    ends = [*(start for _, _, start, _ in chosen), len(lines)]
    parts = [
        _Part(number, clock, lines[first:end])
        for (number, clock, _, first), end in zip(chosen, ends[1:], strict=True)
    ]
    return lines[: ends[0]], parts


def _headings(lines: list[str]) -> list[tuple[int, str, int, int]]:
    """Return every line that stands where a heading does: its number and time, its index, and that
    of the first line below it.
    """
    found: list[tuple[int, str, int, int]] = []
    before = ""  # the last line that is not blank
    candidate: tuple[int, str, int] | None = None
    for index, line in enumerate(lines):
        if candidate is not None and line.strip():
            if line.startswith(_YOU if candidate[0] else _CONTEXT):
                found.append((*candidate, index))
            candidate = None
        if line.startswith("## ") and (before == _RULE or not found):
            if match := _QUERY.fullmatch(line.rstrip()):
                candidate = (int(match[1]), match[2], index) if int(match[1]) else None
            else:
                candidate = (0, "", index) if _RESTORED.fullmatch(line.rstrip()) else None
        before = line.rstrip() or before
    return found


def _header(lines: list[str]) -> tuple[dict[str, str], list[str]]:
    """Return the labelled values above the first rule (the first of each), and the lines below
    it.
    """
    values: dict[str, str] = {}
    title = ""
    rest: list[str] = []
    for index, line in enumerate(lines):
        if line.rstrip() == _RULE:
            rest = lines[index + 1 :]
            break
        if line.startswith("# ") and not title:
            title = line[2:].rstrip().removesuffix("Conversation").rstrip()
        label, colon, value = line.partition(":** ")
        if colon and label.startswith("**") and label[2:] in _LABELS:
            values.setdefault(label[2:], value.strip())
    return ({"Agent": title} | values if title else values), rest


def _exchange(
    part: _Part, number: int, agent: str, created: datetime, *, last: bool
) -> tuple[list[Entry], list[str], list[str]]:
    """Return a part's query and reply, what is wrong with it, and the lines behind its end."""
    lines = part.lines
    start = _reply_start(lines, agent)
    replied = start < len(lines)
    time_at, end_at = _end(lines, start if replied else 0, last=last)
    stop = min(at for at in (time_at, end_at, len(lines)) if at >= 0)
    at = created
    if _CLOCK.fullmatch(part.clock):  # when the reply was complete
        at = _at_clock(created, part.clock)
    query = "\n".join(lines[: min(start, stop)]).removeprefix(_YOU).removeprefix(" ").strip("\n")
    text = "\n".join(lines[start:stop]).partition(":**")[2].removeprefix(" ").strip("\n")
    entries: list[Entry] = [Query(number=number, at=at, text=query)]
    if text:
        seconds, usage = _numbers(lines[time_at].rstrip() if time_at >= 0 else "")
        entries.append(Reply(number=number, at=at, text=text, seconds=seconds, usage=usage))
    name = f"query {part.number}" if part.number else "the restoration"
    faults = []
    if not replied:
        faults.append(f"There is no reply to {name}.")
    elif end_at < 0:
        faults.append(f"The reply to {name} has no end.")
    return entries, faults, lines[end_at + 1 :] if end_at >= 0 else []


def _at_clock(created: datetime, clock: str) -> datetime:
    try:
        return datetime.combine(created.date(), time.fromisoformat(clock), created.tzinfo)
    except ValueError:
        return created


def _numbers(line: str) -> tuple[float | None, Usage | None]:
    """Return the seconds and the tokens that a time line tells."""
    found = _TIME.fullmatch(line)
    if found is None:
        return None, None
    if not found[3]:
        return float(found[1]), None
    tokens = Usage(input=int(found[3].replace(",", "")), output=int(found[4].replace(",", "")))
    return float(found[1]), tokens


def _reply_start(lines: list[str], agent: str) -> int:
    """Return the index of the line with the agent's label; failing that, of any label; else the
    number of lines.
    """
    other = len(lines)
    for index in range(2, len(lines)):
        line = lines[index]
        if lines[index - 1].strip() or not line.startswith("**"):
            continue
        if agent and line.startswith(f"**{agent}:**"):
            return index
        if other == len(lines) and 2 < line.find(":**") < 100:
            other = index
    return other


def _end(lines: list[str], start: int, *, last: bool) -> tuple[int, int]:
    """Return the indices of a part's time line and of the rule that ends it, from `start` on; -1
    for none.
    """
    time_at = end_at = rule_at = -1
    found = -1  # a time line with nothing but blank lines since
    for index in range(start, len(lines)):
        line = lines[index].rstrip()
        if line == _RULE:
            rule_at = index
            if found >= 0:
                time_at, end_at = found, index
        if line:
            found = index if _TIME.fullmatch(line) else -1
    if not last:  # the rule before the next heading is the end
        return (time_at, end_at) if end_at == rule_at else (-1, rule_at)
    if end_at < 0 <= rule_at:
        # without a time line only a rule that nothing or a summary follows is an end
        after = next((line for line in lines[rule_at + 1 :] if line.strip()), SUMMARY_START)
        end_at = rule_at if after.startswith(SUMMARY_START) else -1
    return time_at, end_at


def _summary(lines: list[str]) -> tuple[str, list[str]]:
    """Return the inside of the last complete block in `lines`, and what is wrong. A model may write
    around the markers.
    """
    summary = ""
    inside: list[str] | None = None
    seen = False
    for line in lines:
        text = line
        if SUMMARY_START in text:
            inside, seen, text = [], True, text.partition(SUMMARY_START)[2]
        if inside is not None:
            words, end, _ = text.partition(SUMMARY_END)
            inside.append(words)
            if end:
                summary, inside = "\n".join(inside).strip(), None
    if inside is not None:
        return summary, ["The summary block has no end."]
    if not seen and any(line.strip() for line in lines):
        return "", ["There is text after the last exchange that belongs to nothing."]
    return summary, []
