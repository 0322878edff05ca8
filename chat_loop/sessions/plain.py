"""A lenient reader of the transcripts that basic-agent-chat-loop writes (0.3 to 1.10); such files
are never rewritten.

    # Simple Sally Conversation

    **Session ID:** simple_sally_20260107_112153        also Date, Agent, Agent Path (before 1.8: Description),
                                                        Total Queries, Resumed From
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

import dataclasses
import re
from collections import Counter
from itertools import takewhile

from chat_loop.frozen import dataclass
from chat_loop.sessions.marker import SUMMARY_END, SUMMARY_START

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


@dataclass(frozen=True, kw_only=True)
class PlainExchange:
    """One query and its reply; None and "" for what the file does not tell."""

    query: str
    reply: str
    time: str = ""
    """When the reply was complete, HH:MM:SS, local time of the writer."""
    seconds: float | None = None
    input: int | None = None
    """Tokens of the prompt."""
    output: int | None = None
    """Tokens of the reply."""


@dataclass(frozen=True, kw_only=True)
class PlainSession:
    """What could be read of a file. Every field is as written there; "" when it is missing."""

    id: str = ""
    created: str = ""
    """ISO 8601 without a zone, from 1.2 on; the program rewrites it with every save, so it is the
    last one.
    """
    agent: str = ""
    agent_path: str = ""
    resumed_from: str = ""
    """The parent's id."""
    previous_session: str = ""
    """The path of the parent's file."""
    exchanges: tuple[PlainExchange, ...] = ()
    restoration: str = ""
    """The agent's acknowledgment of the restored summary."""
    summary: str = ""
    """The inside of the last complete summary block after the last exchange."""
    damage: tuple[str, ...] = ()
    """What is wrong with the file, one sentence each."""


@dataclasses.dataclass(slots=True)
class _Part:
    """The lines that belong to one heading; `number` 0 is the restoration."""

    number: int
    time: str
    lines: list[str] = dataclasses.field(default_factory=list)


def is_plain(head: bytes) -> bool:
    """Whether a file with this beginning (4 KB suffice) is in the format read here.

    It has a title `# … Conversation`, a session id (before 1.2: a count of queries), and no marker
    of our own format.
    """
    header, _ = _split(_lines(head.decode("utf-8", "replace")))
    title = next((line.rstrip() for line in header if line.strip()), "")
    if any(line.startswith("<!-- chat:session") for line in header):
        return False
    labelled = any(line.startswith(("**Session ID:**", "**Total Queries:**")) for line in header)
    return labelled and title.startswith("# ") and title.endswith(" Conversation")


def read_plain(data: bytes) -> PlainSession:
    """Read a whole file; linear in its size. Raises nothing: what is missing or wrong is told in
    `damage`.
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
    agent = values.get("Agent", "")
    exchanges: list[PlainExchange] = []
    restoration = ""
    number = 0
    for part in parts:
        exchange, complaints, rest = _read(part, agent, last=part is parts[-1])
        if part.number > number + 1:
            damage.append(f"After query {number} comes query {part.number}.")
        damage += complaints
        if part.number == 0:
            restoration = exchange.reply
            values = _header(list(takewhile(str.strip, part.lines)))[0] | values
        else:
            exchanges.append(exchange)
        number = part.number
    total = values.get("Total Queries", "")
    if re.fullmatch(r"[0-9]{1,9}", total) and int(total) != len(exchanges):
        damage.append(f"The header counts {int(total)} queries, the file has {len(exchanges)}.")
    summary, complaints = _summary(rest)
    parent = values.get("Context", "").removeprefix("Resumed from ").partition(" (")[0]
    return PlainSession(
        id=values.get("Session ID", ""),
        created=values.get("Date", ""),
        agent=agent,
        agent_path=values.get("Agent Path", ""),
        resumed_from=values.get("Resumed From", parent),
        previous_session=values.get("Previous Session", ""),
        exchanges=tuple(exchanges),
        restoration=restoration,
        summary=summary,
        damage=(*damage, *complaints),
    )


def _lines(text: str) -> list[str]:
    return [line.removesuffix("\r") for line in text.removeprefix("\ufeff").split("\n")]


def _split(lines: list[str]) -> tuple[list[str], list[_Part]]:
    """The lines before the first heading that counts, and the parts that such headings begin."""
    headings = _headings(lines)
    later = Counter(part.number for part, _, _ in headings)
    total = _header(lines[: headings[0][1]])[0].get("Total Queries", "") if headings else ""
    most = int(total) if re.fullmatch(r"[0-9]{1,9}", total) else _LARGEST
    chosen: list[tuple[_Part, int, int]] = []
    number = 0
    for heading in headings:
        part = heading[0]
        later[part.number] -= 1
        following = part.number == number + 1 or (
            number < part.number <= most and not later[number + 1]
        )
        if following if part.number else not chosen:
            chosen.append(heading)
            number = part.number
    ends = [*(start for _, start, _ in chosen), len(lines)]
    for (part, _, first), end in zip(chosen, ends[1:], strict=True):
        part.lines += lines[first:end]
    return lines[: ends[0]], [part for part, _, _ in chosen]


def _headings(lines: list[str]) -> list[tuple[_Part, int, int]]:
    """Every line that has the place of a heading: the part that it would begin, its index, and that
    of the part.
    """
    found: list[tuple[_Part, int, int]] = []
    before = ""  # the last line that is not blank
    candidate: tuple[_Part, int] | None = None
    for index, line in enumerate(lines):
        if candidate is not None and line.strip():
            if line.startswith(_YOU if candidate[0].number else _CONTEXT):
                found.append((*candidate, index))
            candidate = None
        if line.startswith("## ") and (before == _RULE or not found):
            part = _heading(line)
            candidate = None if part is None else (part, index)
        before = line.rstrip() or before
    return found


def _heading(line: str) -> _Part | None:
    if match := _QUERY.fullmatch(line.rstrip()):
        return _Part(int(match[1]), match[2]) if int(match[1]) else None
    return _Part(0, "") if _RESTORED.fullmatch(line.rstrip()) else None


def _header(lines: list[str]) -> tuple[dict[str, str], list[str]]:
    """The labelled values above the first rule (the first of each), and the lines below it."""
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


def _read(part: _Part, agent: str, *, last: bool) -> tuple[PlainExchange, list[str], list[str]]:
    """Take a part to pieces: the exchange, what is wrong with it, and the lines behind its end."""
    lines = part.lines
    start = _reply_start(lines, agent)
    replied = start < len(lines)
    time_at, end_at = _end(lines, start if replied else 0, last=last)
    stop = min(at for at in (time_at, end_at, len(lines)) if at >= 0)
    times = _TIME.fullmatch(lines[time_at].rstrip()) if time_at >= 0 else None
    exchange = PlainExchange(
        query="\n".join(lines[: min(start, stop)]).removeprefix(_YOU).removeprefix(" ").strip("\n"),
        reply="\n".join(lines[start:stop]).partition(":**")[2].removeprefix(" ").strip("\n"),
        time=part.time if _CLOCK.fullmatch(part.time) else "",
        seconds=float(times[1]) if times else None,
        input=int(times[3].replace(",", "")) if times and times[3] else None,
        output=int(times[4].replace(",", "")) if times and times[4] else None,
    )
    name = f"query {part.number}" if part.number else "the restoration"
    complaints = []
    if not replied:
        complaints.append(f"There is no reply to {name}.")
    elif end_at < 0:
        complaints.append(f"The reply to {name} has no end.")
    return exchange, complaints, lines[end_at + 1 :] if end_at >= 0 else []


def _reply_start(lines: list[str], agent: str) -> int:
    """The index of the line with the agent's label; failing that, of any label; else the number of
    lines.
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
    """The indices of a part's time line and of the rule that ends it, looked for from `start` on;
    -1 for none.
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
    if last:
        if (
            end_at < 0 and rule_at >= 0
        ):  # without a time line only a rule that nothing or a summary follows is an end
            after = next((line for line in lines[rule_at + 1 :] if line.strip()), SUMMARY_START)
            end_at = rule_at if after.startswith(SUMMARY_START) else -1
        return time_at, end_at
    return (
        (time_at, end_at) if end_at == rule_at else (-1, rule_at)
    )  # the rule before the next heading is the end


def _summary(lines: list[str]) -> tuple[str, list[str]]:
    """The inside of the last complete block in `lines`, and what is wrong; a model may write around
    the markers.
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
