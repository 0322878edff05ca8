"""The summary block's inner text: the seed's headings in the seed's order, then what code keeps.

`parse(render(summary)) == summary` for every Summary. An item is a bullet; its further lines are
indented by two spaces, so that nothing inside an item can stand at column 0.

A model is given a grouped block, which takes fewer tokens: neighbors that end with the same place,
such as `[2 user]`, are one group; the first has the bullet `-`, the others `+`, and the place
stands once, after the last. Where a block is edited by hand each item has its own place, so that a
line that is taken out takes no other's along.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from chat_loop.sessions.escape import decode, encode
from chat_loop.sessions.records import Summary

_BACKGROUND = "**Background Context:** "
_CURRENT = "**Current Session Summary:**"
_NONE = "*none*"
_LISTS = {
    "topics": "**Topics Discussed:**",
    "decisions": "**Decisions Made:**",
    "pending": "**Pending:**",
    "pinned": "**Pinned:**",
    "key_facts": "**Key Facts:**",
    "files": "**Files Touched:**",
    "tools": "**Tools Used:**",
}
_ALWAYS = ("topics", "decisions", "pending")
_PLACE = re.compile(r" \[[0-9]{1,6} (?:user|reply)\]\Z")
"""In which session of the chain an item was said, and by whom: ` [2 user]`, ` [2 reply]`."""


def _item(text: str, bullet: str) -> str:
    return bullet + encode(text).replace("\n", "\n  ")


def _place(item: str) -> str:
    found = _PLACE.search(item, max(0, len(item) - 32))
    return found.group() if found else ""


def _grouped(items: Sequence[str]) -> list[str]:
    """Return the lines of items of which neighbors with one place are a group."""
    places = ["", *map(_place, items), ""]
    return [
        _item(
            item.removesuffix(place) if place == after else item,
            "+ " if place and place == before else "- ",
        )
        for item, before, place, after in zip(items, places, places[1:], places[2:], strict=False)
    ]


def _ungrouped(items: Sequence[tuple[str, str]]) -> tuple[str, ...]:
    """Return items, given with their bullets, with a place for each."""
    result: list[str] = []
    place, after = "", "-"
    for bullet, text in reversed(items):
        place = place if after == "+" else _place(text)
        result.append(text + place if after == "+" else text)
        after = bullet
    return tuple(reversed(result))


def render(summary: Summary, *, grouped: bool = True, spaced: bool = False) -> str:
    """Return the block's inner text, without the markers and without a final newline.

    `spaced` sets an empty line between two headings, which a page would show on one line.
    """
    parts = [_item(summary.background, _BACKGROUND), "", _CURRENT, *([""] if spaced else [])]
    for name, heading in _LISTS.items():
        items: tuple[str, ...] = getattr(summary, name)
        if items or name in _ALWAYS:
            lines = _grouped(items) if grouped else [_item(item, "- ") for item in items]
            parts += [heading, *lines, *([] if items else [_NONE]), ""]
    return "\n".join(parts[:-1])


def parse(text: str) -> Summary:
    """Read a block's inner text. Lines that are no heading, bullet or continuation are taken as
    continuations. Raises nothing: of a block with other headings, what is recognized counts.
    """
    names = {heading: name for name, heading in _LISTS.items()}
    lists: dict[str, list[tuple[str, list[str]]]] = {name: [] for name in _LISTS}
    current = ""
    background: list[str] = []
    item: list[str] = []
    for line in text.split("\n"):
        if line.startswith(_BACKGROUND.rstrip()):
            item = background = [line[len(_BACKGROUND) :]]
        elif (name := names.get(line.rstrip())) is not None:
            current, item = name, []
        elif line.startswith(("- ", "+ ")) and current:
            item = [line[2:]]
            lists[current].append((line[0] if lists[current] else "-", item))
        elif line.startswith("  ") and item:
            item.append(line[2:])
        elif line.strip() in ("", _CURRENT, _NONE):
            continue
        elif item:
            item.append(line)
        else:
            background.append(line)
    return Summary(
        background=decode("\n".join(background)),
        **{
            name: _ungrouped([(bullet, decode("\n".join(item))) for bullet, item in items])
            for name, items in lists.items()
        },
    )
