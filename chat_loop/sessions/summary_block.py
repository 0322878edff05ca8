"""The summary block's inner text: the headings of basic-agent-chat-loop in their order, then the
lists that code maintains. `parse(render(summary)) == summary` for every Summary.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import groupby, takewhile

from msgspec.structs import replace

from chat_loop.sessions.escape import decode, encode
from chat_loop.sessions.records import Summary
from chat_loop.values import sha256

_BACKGROUND = "**Background Context:** "
_CURRENT = "**Current Session Summary:**"
_NONE = "*none*"
DECIDED = "Decision: "
"""How a pin begins that `/decide` made. In the block, it stands among the decisions."""
_RECORDED = "*Recorded with /decide:*"
LISTS = {
    "topics": "**Topics Discussed:**",
    "decisions": "**Decisions Made:**",
    "pending": "**Pending:**",
    "pinned": "**Pinned:**",
    "key_facts": "**Key Facts:**",
    "files": "**Files Touched:**",
    "tools": "**Tools Used:**",
}
_TITLES = {heading.strip("*:").casefold(): name for name, heading in LISTS.items()}
_TITLES |= {
    "background context": "background",
    "background": "background",
    "topics": "topics",
    "decisions": "decisions",
}
"""What people write as headings, in lower case and without markup."""
_BULLET = re.compile(r"[-+*•] |[0-9]{1,3}[.)] ")
_ORIGIN = re.compile(r" \[[0-9]{1,6} (?:user|reply)\]\Z")
"""An item's session in the chain, counted from 1, and its speaker: ` [2 user]`, ` [2 reply]`."""
_GROUP = re.compile(r"\*(User|Model), session ([0-9]{1,6}):\*")
_OTHERS = "*Others:*"
_SPEAKERS = {"User": "user", "Model": "reply"}


def render(summary: Summary, *, grouped: bool = True, spaced: bool = False) -> str:
    """Return the block's inner text. `spaced` adds an empty line between two adjacent headings. If
    `grouped`, a line above adjacent items with the same origin, such as `[2 user]`, names it for
    all of them. Further lines of an item are indented.
    """
    background = encode(summary.background).replace("\n", "\n  ")
    parts = [_BACKGROUND + background, "", _CURRENT]
    if spaced:
        parts.append("")
    recorded = recorded_in(summary)
    others = replace(summary, pinned=summary.pinned[len(recorded) :])
    for name, heading in LISTS.items():
        lines = _lines(getattr(others, name), grouped)
        if name == "decisions" and recorded:
            lines += [_RECORDED, *_lines(recorded, grouped=False)]
        if lines or name in ("topics", "decisions", "pending"):
            parts += [heading, *(lines or [_NONE]), ""]
    return "\n".join(parts[:-1])


def recorded_in(summary: Summary) -> tuple[str, ...]:
    """Return the pins that `/decide` made, which come first and stand among the decisions."""
    return tuple(takewhile(lambda pin: pin.startswith(DECIDED), summary.pinned))


def is_spoken_by_user(item: str) -> bool:
    """Return True for an item that the user said, word for word."""
    return _origin_of(item).endswith(" user]")


def _lines(items: Sequence[str], grouped: bool) -> list[str]:
    """Return the lines of a list's items."""
    runs = [(origin, [*run]) for origin, run in groupby(items, _origin_of)]
    if not grouped or all(len(run) == 1 for origin, run in runs if origin):
        return [_item(item) for item in items]
    lines = []
    for number, (origin, run) in enumerate(runs):
        if origin:
            lines.append(_group_line(origin))
        elif number:
            lines.append(_OTHERS)
        lines += [_item(item.removesuffix(origin)) for item in run]
    return lines


def _origin_of(item: str) -> str:
    """Return the end of an item with its origin, such as ` [2 user]`, or "" if it has none."""
    return "".join(_ORIGIN.findall(item[-32:]))


def _item(text: str) -> str:
    return "- " + encode(text).replace("\n", "\n  ")


def _group_line(origin: str) -> str:
    """Return the line above items with an origin: `*User, session 2:*` for ` [2 user]`."""
    session, speaker = origin.strip(" []").split(" ")
    name = "User" if speaker == "user" else "Model"
    return f"*{name}, session {session}:*"


def _group(line: str) -> str | None:
    """Return the origin that a line names for the items below it, "" for none, or None if the line
    is of another kind.
    """
    if line.rstrip() == _OTHERS:
        return ""
    match = _GROUP.fullmatch(line.rstrip())
    if match is None:
        return None
    return f" [{match[2]} {_SPEAKERS[match[1]]}]"


def parse(text: str) -> Summary:
    """Read a block's inner text, which a person may have edited: headings and bullets may have
    other markup. Lines other than these continue the text above, or else the background.
    """
    lists: dict[str, list[tuple[str, list[str], str]]] = {name: [] for name in (*LISTS, "recorded")}
    current = ""
    background: list[str] = []
    item: list[str] = []
    origin = ""
    for line in text.split("\n"):
        if line.startswith(_BACKGROUND.rstrip()):
            item = background = [line[len(_BACKGROUND) :]]
        elif (name := _heading(line)) == "background":
            current = ""
            item = background
        elif name:
            current = name
            item = []
            origin = ""
        elif current and (group := _group(line)) is not None:
            item = []
            origin = group
        elif current and (bullet := _BULLET.match(line)):
            item = [line[bullet.end() :]]
            sign = line[0] if lists[current] else "-"
            lists[current].append((sign, item, origin))
        elif line.startswith("  ") and item:
            item.append(line[2:])
        elif line.strip() in ("", _CURRENT, _NONE):
            continue
        else:
            (item or background).append(line)
    recorded = _with_origins(lists.pop("recorded"))
    parts = {name: _with_origins(items) for name, items in lists.items()}
    parts["pinned"] = recorded + parts["pinned"]
    return Summary(background=decode("\n".join(background)), **parts)


def _heading(line: str) -> str:
    """Return the part of a block that a line is the heading of, or "" if it is none. A heading is
    not indented, and begins with `#`, `*` or `_` or ends with a colon.
    """
    bare = line.rstrip()
    if bare == _RECORDED:
        return "recorded"
    if bare.startswith(" ") or not (bare.startswith(("#", "*", "_")) or bare.endswith(":")):
        return ""
    return _TITLES.get(bare.strip("#*_: ").casefold(), "")


def digest(text: str) -> str:
    """Return the digest of a block's inner text: the first 16 digits of its SHA-256."""
    return sha256(text.encode("utf-8", "replace"))[:16]


def _with_origins(items: Sequence[tuple[str, list[str], str]]) -> tuple[str, ...]:
    """Return the items, given with their bullets and the origin in the line above their group. In
    blocks of earlier versions, only the last item of a group names its origin, and all except the
    first have the bullet `+`.
    """
    result: list[str] = []
    origin = ""
    after = "-"
    for bullet, lines, above in reversed(items):
        text = decode("\n".join(lines))
        if after == "+":
            text += origin
        else:
            origin = _origin_of(text)
            text += above
        result.append(text)
        after = "-" if above else bullet
    return tuple(reversed(result))
