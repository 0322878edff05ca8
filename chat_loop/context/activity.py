"""Activity (pure): the block's lines about files and tools, from records and the parent's block."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence

from chat_loop.redact import redacted
from chat_loop.sessions.records import Exchange, Use
from chat_loop.text import one_line

MOST_FILES = 100
_NOTABLE = 3
"""Uses of a tool that are named."""
_LINE = re.compile(r"([\w.-]{1,64}): (\d{1,9}) uses?(?: \((.*)\))?", re.DOTALL)
_CHANGES = re.compile(r"(?:^|_)(?:write|edit|create|append|patch|delete|move)(?:_|$)")

Uses = Mapping[str, tuple[int, tuple[str, ...]]]
"""For each tool how often it was used, and some notable uses."""


def tools(before: Sequence[str], exchanges: Sequence[Exchange]) -> tuple[str, ...]:
    """Return one line for each tool, `archive_search: 3 uses (port of the database; …)`, those of
    `before` counted in.
    """
    found, others = _read(before)
    for use in (use for exchange in exchanges for use in exchange.uses):
        texts = [str(one) for one in _arguments(use).values() if isinstance(one, str | int)]
        told = one_line(redacted(one_line(" ".join(texts), 500)).replace("; ", ", "), 80)
        told = told.replace("(", "[").replace(")", "]")
        count, notable = found.get(use.call.name, (0, ()))
        notable = tuple(dict.fromkeys(filter(None, (*notable, told)[:_NOTABLE])))
        found[use.call.name] = (count + 1, notable)
    return _written(found, others)


def counted_together(
    first: Sequence[str], second: Sequence[str], base: Sequence[str]
) -> tuple[str, ...]:
    """Return the lines of two branches as one: what was used before both counts once."""
    (ours, others), (theirs, more), (before, _) = map(_read, (first, second, base))
    found = {}
    for name in dict.fromkeys((*ours, *theirs)):
        (one, notable), (other, also), (known, _) = (
            uses.get(name, (0, ())) for uses in (ours, theirs, before)
        )
        together = tuple(dict.fromkeys((*notable, *also)))[:_NOTABLE]
        found[name] = (max(one, other, one + other - known), together)
    return _written(found, list(dict.fromkeys((*others, *more))))


def _read(lines: Sequence[str]) -> tuple[dict[str, tuple[int, tuple[str, ...]]], list[str]]:
    """Return lines as tools by name, and those that were written by hand."""
    matches = [(_LINE.fullmatch(line), line) for line in lines]
    found = {
        match[1]: (int(match[2]), tuple(match[3].split("; ")) if match[3] else ())
        for match, _ in matches
        if match is not None
    }
    return found, [line for match, line in matches if match is None]


def _written(found: Uses, others: Sequence[str]) -> tuple[str, ...]:
    lines = (
        f"{name}: {count} {'use' if count == 1 else 'uses'}"
        + (f" ({'; '.join(notable)})" if notable else "")
        for name, (count, notable) in found.items()
    )
    return (*others, *lines)


def files(before: Sequence[str], exchanges: Sequence[Exchange]) -> tuple[str, ...]:
    """Return the files that tools changed or the user gave, those of `before` first, each once, the
    newest `MOST_FILES`.
    """
    found = dict.fromkeys(before)
    for exchange in exchanges:
        for file in exchange.attached:
            form = f"image, {file.width}×{file.height}" if file.is_image else "attached"
            found[f"{redacted(one_line(file.name, 200))} ({form})"] = None
    for use in (use for exchange in exchanges for use in exchange.uses):
        if _CHANGES.search(use.call.name) and use.result is not None and not use.result.failed:
            arguments = _arguments(use)
            paths = (arguments.get(key) for key in ("path", "file_path", "file", "filename"))
            given = (path for path in paths if isinstance(path, str) and path.strip())
            found.update(dict.fromkeys(one_line(path, 200) for path in given))
    return tuple(found)[-MOST_FILES:]


def _arguments(use: Use) -> dict[str, object]:
    try:
        value = json.loads(use.call.arguments)
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}
