"""The summary block's inner text: the seed's headings in the seed's order, then what code keeps.

`parse(render(summary)) == summary` for every Summary. An item is a bullet; its further lines are indented by two
spaces, so that nothing inside an item can stand at column 0.
"""

from __future__ import annotations

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


def _item(text: str, bullet: str) -> str:
    return bullet + encode(text).replace("\n", "\n  ")


def render(summary: Summary) -> str:
    """Return the block's inner text, without the markers and without a final newline."""
    parts = [_item(summary.background, _BACKGROUND), "", _CURRENT]
    for name, heading in _LISTS.items():
        items: tuple[str, ...] = getattr(summary, name)
        if items or name in _ALWAYS:
            parts += [heading, *(_item(item, "- ") for item in items), *([] if items else [_NONE]), ""]
    return "\n".join(parts[:-1])


def parse(text: str) -> Summary:
    """Read a block's inner text. Lines that are no heading, bullet or continuation are taken as continuations.

    A block with another program's headings comes back with what could be recognised; nothing is raised.
    """
    names = {heading: name for name, heading in _LISTS.items()}
    lists: dict[str, list[list[str]]] = {name: [] for name in _LISTS}
    background: list[str] = []
    item: list[str] = []
    section: list[list[str]] | None = None
    for line in text.split("\n"):
        if line.startswith(_BACKGROUND.rstrip()):
            item = background = [line[len(_BACKGROUND) :]]
        elif (name := names.get(line.rstrip())) is not None:
            section, item = lists[name], []
        elif line.startswith("- ") and section is not None:
            item = [line[2:]]
            section.append(item)
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
        **{name: tuple(decode("\n".join(item)) for item in items) for name, items in lists.items()},
    )
