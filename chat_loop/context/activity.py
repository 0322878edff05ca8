"""Activity (pure): lists the files and tools for a block, from records and the parent's block."""

from __future__ import annotations

import re
from collections.abc import Sequence

from chat_loop.providers.replies import arguments_of
from chat_loop.redact import redact_text
from chat_loop.sessions.records import Exchange
from chat_loop.values import one_line

MAX_FILES = 100
_NOTABLE = 3  # the number of uses whose arguments a line quotes
_LINE = re.compile(r"([\w.-]{1,64}): (\d{1,9}) uses?(?: \((.*)\))?", re.DOTALL)
_CHANGES = re.compile(r"(?:^|_)(?:write|edit|create|append|patch|delete|move)(?:_|$)")


def tools(before: Sequence[str], exchanges: Sequence[Exchange]) -> tuple[str, ...]:
    """Return a line per tool, like `search: 3 uses (its port; …)`, including those in `before`."""
    lines: list[str] = []
    uses: dict[str, tuple[int, tuple[str, ...]]] = {}  # the count, and the first arguments
    for line in before:
        if match := _LINE.fullmatch(line):
            uses[match[1]] = (int(match[2]), tuple(match[3].split("; ")) if match[3] else ())
        else:
            lines.append(line)
    for use in (use for exchange in exchanges for use in exchange.uses):
        arguments = arguments_of(use.call.arguments) or {}
        texts = [str(value) for value in arguments.values() if isinstance(value, str | int)]
        text = one_line(redact_text(one_line(" ".join(texts), 500)).replace("; ", ", "), 80)
        text = text.replace("(", "[").replace(")", "]")
        count, notable = uses.get(use.call.name, (0, ()))
        notable = tuple(dict.fromkeys(filter(None, (*notable, text)[:_NOTABLE])))
        uses[use.call.name] = (count + 1, notable)
    for name, (count, notable) in uses.items():
        line = f"{name}: {count} {'use' if count == 1 else 'uses'}"
        lines.append(f"{line} ({'; '.join(notable)})" if notable else line)
    return tuple(lines)


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
            if _CHANGES.search(use.call.name) and use.result is not None and not use.result.failed:
                arguments = arguments_of(use.call.arguments) or {}
                for path in map(arguments.get, ("path", "file_path", "file", "filename")):
                    if isinstance(path, str) and path.strip():
                        add(one_line(path, 200))
    return tuple(entries)[-MAX_FILES:]
