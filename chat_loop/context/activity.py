"""Activity (pure): the block's lines about files and tools, from records and the parent's block."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence

from msgspec import Struct

from chat_loop.redact import redacted
from chat_loop.sessions.records import Attachment, Exchange, Use

NOTABLE = 3
"""Uses of a tool that are named."""
LONGEST = 80
MOST_FILES = 100
_LINE = re.compile(r"([\w.-]{1,64}): (\d{1,9}) uses?(?: \((.*)\))?", re.DOTALL)
_CHANGES = re.compile(r"(?:^|_)(?:write|edit|create|append|patch|delete|move)(?:_|$)")
_PATHS = ("path", "file_path", "file", "filename")


class _Tool(Struct, frozen=True):
    count: int
    notable: tuple[str, ...]


def tools(before: Sequence[str], exchanges: Sequence[Exchange]) -> tuple[str, ...]:
    """Return one line for each tool, `archive_search: 3 uses (port of the database; …)`, those of
    `before` counted in.
    """
    found, others = _read(before)
    for use in _uses(exchanges):
        old = found.get(use.call.name, _Tool(0, ()))
        notable = (*old.notable, _told(use))[:NOTABLE]
        found[use.call.name] = _Tool(old.count + 1, tuple(dict.fromkeys(filter(None, notable))))
    return _written(found, others)


def counted_together(
    first: Sequence[str], second: Sequence[str], base: Sequence[str]
) -> tuple[str, ...]:
    """Return the lines of two branches as one: what was used before both counts once."""
    (ours, others), (theirs, more), (before, _) = map(_read, (first, second, base))
    found = {}
    for name in dict.fromkeys((*ours, *theirs)):
        one, other, known = (tools.get(name, _Tool(0, ())) for tools in (ours, theirs, before))
        count = max(one.count, other.count, one.count + other.count - known.count)
        found[name] = _Tool(count, tuple(dict.fromkeys((*one.notable, *other.notable)))[:NOTABLE])
    return _written(found, list(dict.fromkeys((*others, *more))))


def _read(lines: Sequence[str]) -> tuple[dict[str, _Tool], list[str]]:
    """Return lines as tools by name, and those that were written by hand."""
    found: dict[str, _Tool] = {}
    others = []
    for line in lines:
        match = _LINE.fullmatch(line)
        if match is None:
            others.append(line)
            continue
        notable = tuple((match.group(3) or "").split("; ")) if match.group(3) else ()
        found[match.group(1)] = _Tool(int(match.group(2)), notable)
    return found, others


def _written(found: Mapping[str, _Tool], others: Sequence[str]) -> tuple[str, ...]:
    lines = (
        f"{name}: {tool.count} {'use' if tool.count == 1 else 'uses'}"
        + (f" ({'; '.join(tool.notable)})" if tool.notable else "")
        for name, tool in found.items()
    )
    return (*others, *lines)


def files(before: Sequence[str], exchanges: Sequence[Exchange]) -> tuple[str, ...]:
    """Return the files that tools changed or the user gave, those of `before` first, each once, the
    newest `MOST_FILES`.
    """
    attached = (_attached(file) for exchange in exchanges for file in exchange.attached)
    changed = (
        path
        for use in _uses(exchanges)
        if _CHANGES.search(use.call.name) and use.result is not None and not use.result.failed
        for path in _paths(use)
    )
    return tuple(dict.fromkeys([*before, *attached, *changed]))[-MOST_FILES:]


def _attached(file: Attachment) -> str:
    """`photo.png (image, 640×480)`."""
    what = f"image, {file.width}×{file.height}" if file.is_image else "attached"
    return f"{redacted(' '.join(file.name.split())[:200])} ({what})"


def _uses(exchanges: Iterable[Exchange]) -> Iterable[Use]:
    return (use for exchange in exchanges for use in exchange.uses)


def _arguments(use: Use) -> dict[str, object]:
    try:
        value = json.loads(use.call.arguments)
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def _paths(use: Use) -> Iterable[str]:
    arguments = _arguments(use)
    for key in _PATHS:
        value = arguments.get(key)
        if isinstance(value, str) and value.strip():
            yield " ".join(value.split())[:200]


def _told(use: Use) -> str:
    """Return a use in a few words, which the tool's line can hold: its arguments' texts."""
    texts = [str(value) for value in _arguments(use).values() if isinstance(value, str | int)]
    flat = (
        redacted(" ".join(" ".join(texts)[:500].split()))
        .replace("; ", ", ")
        .replace("(", "[")
        .replace(")", "]")
    )
    return flat if len(flat) <= LONGEST else f"{flat[: LONGEST - 1].rstrip()}…"
