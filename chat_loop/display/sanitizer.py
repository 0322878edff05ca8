"""The sanitizer that all foreign text goes through before it reaches the terminal.

Newlines, tabs and printable characters are kept; everything a terminal would obey or hide is made
visible. It knows no sequences, so no unterminated one can defeat it.
"""

from __future__ import annotations

import re
import textwrap
from functools import cache
from types import ModuleType

from chat_loop.characters import picture, readable

_CONTROLS = re.compile("[\x00-\x08\x0b\x0e-\x1f\x7f-\x9f]|\r(?!\n)")
"""What can steer a terminal: no tab, newline, form feed, or CRLF."""


def printable(text: str) -> str:
    """Return `text` with CRLF as a newline and what a terminal would obey or hide made visible."""
    return readable(text.replace("\r\n", "\n"))


def without_controls(text: str) -> str:
    """Return `text` with control codes made visible, and otherwise unchanged: with its CRLF."""
    if text.isprintable():
        return text
    return _CONTROLS.sub(lambda match: picture(match[0]), text)


def in_encoding(text: str, encoding: str) -> str:
    """Return text with the program's signs, and others that `encoding` lacks, in ASCII."""
    if text.isascii() or "utf" in encoding.lower():
        return text
    return text.encode(encoding, "chat-loop-ascii").decode(encoding)


def visible_newlines(text: str) -> str:
    """Return a text as one line, with its newlines visible, so that it cannot forge a line."""
    return text.replace("\n", "␊")


def wrapped(text: str, width: int, indent: int) -> str:
    """Wrap each line to `width` columns. Indent continuation lines by `indent` if possible."""
    width = max(1, width)
    if 2 * indent > width:
        indent = min(4, width // 4)
    wrap = textwrap.wrap
    if not text.isascii():
        wrap = _wcwidth().wrap
    lines: list[str] = []
    for line in printable(text).split("\n"):
        words = line.lstrip(" ")
        lines += wrap(
            words,
            width,
            initial_indent=line[: len(line) - len(words)],
            subsequent_indent=" " * indent,
            break_long_words=False,
            break_on_hyphens=False,
        ) or [""]
    return "\n".join(lines)


def cells(text: str) -> int:
    """Return the number of terminal columns that a text takes."""
    if text.isascii():
        return len(text)
    width: int = _wcwidth().width(text)
    return width


def cut_to(text: str, columns: int, ellipsis: str = "…") -> str:
    """Return printable `text` cut to `columns`, ending in an ellipsis if it was cut."""
    if cells(text) <= columns:
        return text
    if columns <= 0:
        return ""
    start = text[: columns - 1] if text.isascii() else _wcwidth().clip(text, 0, columns - 1)
    return f"{start.rstrip(' .')}{ellipsis}"


def rows_of(line: str, columns: int) -> list[str]:
    """Return a line, which may have styles, split into rows of at most `columns`."""
    width = _wcwidth().width(line)
    rows = list[str]()
    start = 0
    while not rows or start < width:
        rows.append(_wcwidth().clip(line, start, start + columns, fillchar=""))
        start += max(1, _wcwidth().width(rows[-1]))
    return rows


def hard_rows(line: str, columns: int) -> list[str]:
    """Return a printable line as a terminal of `columns` breaks it: anywhere, keeping all blanks.
    It takes linear time.
    """
    if line.isascii():
        return [line[at : at + columns] for at in range(0, len(line), columns)] or [""]
    measure = _wcwidth().wcwidth
    rows = []
    start = used = 0
    for at, character in enumerate(line):
        width = max(0, measure(character))
        if used + width > columns and at > start:
            rows.append(line[start:at])
            start = at
            used = 0
        used += width
    return [*rows, line[start:]]


def padded(text: str, columns: int, *, right: bool = False) -> str:
    """Return text padded with spaces to `columns`, and right-aligned if `right`."""
    if text.isascii():
        if right:
            return text.rjust(columns)
        return text.ljust(columns)
    blanks = " " * (columns - cells(text))
    if right:
        return f"{blanks}{text}"
    return f"{text}{blanks}"


@cache
def _wcwidth() -> ModuleType:
    import wcwidth  # ASCII does not need its tables

    return wcwidth
