"""Activity (pure): lists the files and tools for a block, from records and the parent's block. What
counts is what results say: a call that was denied has done nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Literal

from msgspec import Struct, field

from chat_loop.characters import one_line
from chat_loop.errors import DENIED
from chat_loop.providers.replies import arguments_of
from chat_loop.redact import redact_text
from chat_loop.sessions.records import Exchange, Summary, Use
from chat_loop.values import ToolCounts

MAX_FILES = 100
_NOTABLE = 3  # the number of uses whose arguments a line quotes

Outcome = Literal["uses", "failed", "denied", "interrupted"]
_OUTCOMES: Mapping[str, Outcome] = {
    "use": "uses",
    "uses": "uses",
    "failed": "failed",
    "denied": "denied",
    "interrupted": "interrupted",
}
"""What the words of a line mean, in the order in which a line has them."""
_LINE = re.compile(r"([\w.-]{1,64}): (\d{1,9} (?:uses?|failed|denied|interrupted)\b.*)", re.DOTALL)
_GROUP = re.compile(r"(\d{1,9}) (uses?|failed|denied|interrupted)(?: \(([^()]{0,2000})\))?")
_CHANGES = re.compile(r"(?:^|_)(?:write|edit|create|append|patch|delete|move)(?:_|$)")
_COMMANDS = re.compile(r"(?:^|_)(?:run|exec|execute|bash|shell|command|terminal)(?:_|$)")
_SENT = re.compile(r" \((?:attached|image, \d{1,9}×\d{1,9})\)\Z")
_COMMIT = re.compile(
    r"^\[[\w./-]{1,100}(?: \([\w -]{1,40}\))? ([0-9a-f]{7,40})\] (\S.{0,150})$", re.MULTILINE
)
"""What git prints about a new commit: `[main 4be91c7] Mend the mast`."""
_LOOKED_AT = 4_000  # characters of a result, from its beginning


class _Tally(Struct):
    """The calls of one tool by outcome: how many, and the arguments of the first few."""

    counts: dict[Outcome, int] = field(default_factory=dict)
    notable: dict[Outcome, tuple[str, ...]] = field(default_factory=dict)

    def add(self, outcome: Outcome, count: int, notable: Sequence[str]) -> None:
        known = (*self.notable.get(outcome, ()), *filter(None, notable))
        self.counts[outcome] = self.counts.get(outcome, 0) + count
        self.notable[outcome] = tuple(dict.fromkeys(known))[:_NOTABLE]

    def line(self, name: str) -> str:
        groups = []
        for outcome in dict.fromkeys(_OUTCOMES.values()):
            if count := self.counts.get(outcome):
                text = f"{count} {outcome}"
                if text == "1 uses":
                    text = "1 use"
                if arguments := "; ".join(self.notable[outcome]):
                    text += f" ({arguments})"
                groups.append(text)
        return f"{name}: {', '.join(groups)}"


def tools(before: Sequence[str], exchanges: Sequence[Exchange]) -> tuple[str, ...]:
    """Return a line per tool, including those in `before`, with the first arguments per outcome:
    `run_command: 3 uses (make; ls), 1 denied (rm -rf build)`.
    """
    lines: list[str] = []
    tallies: dict[str, _Tally] = {}
    for line in before:
        match = _LINE.fullmatch(line)
        if match is None:
            lines.append(line)
            continue
        tally = tallies[match[1]] = _Tally()  # of two branches, the last one counts
        for outcome, count, arguments in _groups(match[2]):
            tally.add(outcome, count, arguments.split("; "))
    for exchange in exchanges:
        for use in exchange.uses:
            tally = tallies.setdefault(use.call.name, _Tally())
            tally.add(_outcome(use), 1, (_arguments_text(use),))
    return (*lines, *(tally.line(name) for name, tally in tallies.items()))


def counts(summary: Summary, kept: Sequence[Exchange]) -> ToolCounts:
    """Return what tools did by a block, and in the exchanges that are `kept` word for word."""
    commands = 0
    not_done = 0
    for line in tools(summary.tools, kept):
        if (match := _LINE.fullmatch(line)) is None:
            continue
        for outcome, count, _ in _groups(match[2]):
            if outcome != "uses":
                not_done += count
            elif _COMMANDS.search(match[1]):
                commands += count
    changed = len(changed_files(files(summary.files, kept)))
    return ToolCounts(changed_files=changed, commands=commands, not_done=not_done)


def changed_files(listed: Sequence[str]) -> tuple[str, ...]:
    """Return the files of a block's list that tools changed, without those that were only sent."""
    return tuple(file for file in listed if _SENT.search(file) is None)


def commits(exchange: Exchange) -> Iterator[str]:
    """Yield a line for each commit that a command of an exchange made, as git reported it."""
    for use in exchange.uses:
        is_git = _COMMANDS.search(use.call.name) and "git" in use.call.arguments
        if is_git and use.result is not None and is_done(use):
            for match in _COMMIT.finditer(use.result.text[:_LOOKED_AT]):
                yield f"git commit {match[1]}: {match[2].strip()}"


def _groups(text: str) -> Iterator[tuple[Outcome, int, str]]:
    """Yield the outcomes in a tool's line, each with its count and its arguments."""
    for match in _GROUP.finditer(text):
        yield _OUTCOMES[match[2]], int(match[1]), match[3] or ""


def is_done(use: Use) -> bool:
    """Return True for a call that did what it was asked for."""
    return _outcome(use) == "uses"


def _outcome(use: Use) -> Outcome:
    """Return what became of a call, by its result."""
    if use.result is None:
        return "interrupted"
    if not use.result.failed:
        return "uses"
    return "denied" if use.result.text.startswith(DENIED) else "failed"


def _arguments_text(use: Use) -> str:
    """Return the arguments of a call as a line quotes them, without separators of the line."""
    arguments = arguments_of(use.call.arguments) or {}
    texts = [str(value) for value in arguments.values() if isinstance(value, str | int)]
    text = one_line(redact_text(one_line(" ".join(texts), 500)).replace("; ", ", "), 80)
    return text.replace("(", "[").replace(")", "]")


def files(before: Sequence[str], exchanges: Sequence[Exchange]) -> tuple[str, ...]:
    """Return `before` and the files that tools changed or the user attached, only the newest."""
    entries = dict.fromkeys(before)

    def add(entry: str) -> None:
        entries.pop(entry, None)  # what was used again is the newest
        entries[entry] = None

    for exchange in exchanges:
        for file in exchange.attached:
            form = f"image, {file.width}×{file.height}" if file.is_image else "attached"
            add(f"{redact_text(one_line(file.name, 200))} ({form})")
        for use in exchange.uses:
            if _CHANGES.search(use.call.name) and is_done(use):
                arguments = arguments_of(use.call.arguments) or {}
                for path in map(arguments.get, ("path", "file_path", "file", "filename")):
                    if isinstance(path, str) and path.strip():
                        add(one_line(path, 200))
    return tuple(entries)[-MAX_FILES:]
