"""The beginnings of lines, told by their first characters, or by the whole line where that is
needed.
"""

from __future__ import annotations

import re

from msgspec import Struct

LONGEST = 1000
"""Characters of a line that may be a rule, a fence or a table's row; what is longer is text."""

_HEADING = re.compile(r"(#{1,6})[ \t]{1,9}")
_BULLET = re.compile(r"[-*+] {1,4}")
_NUMBER = re.compile(r"[0-9]{1,9}[.)] {1,4}")
_MAY_BE_NUMBER = re.compile(r"[0-9]{1,9}[.)]?$")
_TASK = re.compile(r"\[([ xX])\] ")
_RULE = re.compile(r"-[- ]*|\*[* ]*|_[_ ]*")
_FENCE = re.compile(r"(`{3,}|~{3,})(.*)$")


class Start(Struct, frozen=True):
    """The beginning of a line: `kind` is text, heading, item, number, quote, rule, fence, table or
    blank.

    `length` counts the characters of the markers. `value`: the level, the number as it stands, the
    fence. `task`: the box of a task, a blank or an x. `fence`: the one that an item begins with.
    `info`: what follows a fence.
    """

    kind: str
    length: int
    value: str = ""
    task: str = ""
    fence: str = ""
    info: str = ""


def start_of(line: str, *, complete: bool) -> Start | None:
    """Return how `line` begins, which holds no newline; None when more of it is needed to tell."""
    rest = line.lstrip(" ")
    indent = len(line) - len(rest)
    if indent > LONGEST:
        return Start("text", indent)
    if not rest:
        return Start("blank", indent) if complete else None
    sign = rest[0]
    if sign not in "#>-*+_`~|0123456789":
        return Start("text", indent)
    if sign == ">":
        return _after_blank(rest, indent, complete)
    if sign == "#":
        return _heading(rest, indent, complete)
    if sign.isdigit():
        return _number(rest, indent, complete)
    if sign in "`~|":
        return _whole_line(rest, indent, complete)
    return _rule_or_item(rest, indent, complete)


def _after_blank(rest: str, indent: int, complete: bool) -> Start | None:
    if len(rest) == 1:
        return Start("quote", indent + 1) if complete else None
    return Start("quote", indent + 1 + (rest[1] == " "))


def _heading(rest: str, indent: int, complete: bool) -> Start | None:
    match = _HEADING.match(rest)
    if match and (match.end() < len(rest) or complete):
        return Start("heading", indent + match.end(), str(len(match.group(1))))
    undecided = not complete and len(rest) < 16 and not rest.strip("# \t")
    return None if undecided else Start("text", indent)


def _number(rest: str, indent: int, complete: bool) -> Start | None:
    match = _NUMBER.match(rest)
    if match:
        return _item("number", rest, match.end(), indent, match.group().rstrip(" "), complete)
    return None if not complete and _MAY_BE_NUMBER.match(rest) else Start("text", indent)


def _item(
    kind: str, rest: str, length: int, indent: int, value: str, complete: bool
) -> Start | None:
    """An item, once it is known whether a box or more blanks follow."""
    after = rest[length:]
    if after[:1] in ("`", "~") and not after[:3].strip(after[0]) and len(rest) <= LONGEST:
        if not complete:
            return None
        match = _FENCE.match(after)
        if match and after[0] not in match.group(2):
            return Start(
                kind, indent + length, value, fence=match.group(1), info=match.group(2).strip()
            )
    if not complete and (not after or (after[0] == "[" and len(after) < 4)):
        return None
    task = _TASK.match(after)
    if task:
        return Start(kind, indent + length + task.end(), value, task.group(1).lower())
    return Start(kind, indent + length, value)


def _whole_line(rest: str, indent: int, complete: bool) -> Start | None:
    """A fence or a row of a table, which need all of their line."""
    sign = rest[0]
    if len(rest) > LONGEST:
        return Start("text", indent)
    if sign != "|" and rest[:3].strip(sign):
        return Start("text", indent)
    if not complete:
        return None
    if sign == "|":
        return Start("table", indent)
    match = _FENCE.match(rest)
    if match and sign not in match.group(2):
        return Start("fence", indent, match.group(1), info=match.group(2).strip())
    return Start("text", indent)


def _rule_or_item(rest: str, indent: int, complete: bool) -> Start | None:
    if _RULE.fullmatch(rest) and len(rest) <= LONGEST:
        if not complete:
            return None
        if len(rest.replace(" ", "")) >= 3:
            return Start("rule", indent)
    match = _BULLET.match(rest)
    if match:
        return _item("item", rest, match.end(), indent, rest[0], complete)
    return None if rest == "+" and not complete else Start("text", indent)
