"""The ledger (pure): what code carries along the chain byte for byte, whatever the model writes:
pins, and its lines.

A line is a sentence as it was said, and in which session of the chain and by whom: `We use oak
because pine is soft. [2 user]`, or `[2 reply]` when only the model said it. A bullet of a narrative
has no such mark. Lines are added, superseded, closed or evicted (`cover`), never reworded.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from chat_loop.sessions.records import Summary

Section = Literal["decisions", "pending", "key_facts"]
SECTIONS: tuple[Section, ...] = ("decisions", "pending", "key_facts")

REFERENCE = re.compile(r"\[[\d.,;\s–-]{1,40}(?:reply|user)?\]")
"""A place in the chain, or several, as bullets name them: `[2.14]`, `[3, 5-7]`. It is no value."""
_PLACE = re.compile(r" \[(\d{1,9}) (user|reply)\]\Z")
_END = re.compile(r"\s{0,3}\[[\d.,;\s–-]{1,40}\]\Z")


class Item(Struct, frozen=True):
    """One line of a summary block. `ref` is empty when code did not make it: then a model's
    narrative did.
    """

    line: str
    section: Section
    text: str
    ref: str
    speaker: Literal["user", "reply", "narrative"]


def line(text: str, ref: str, speaker: str) -> str:
    """A sentence as the ledger holds it. It names its session only, so that a session's lines are
    one group.
    """
    return f"{text} [{ref.partition('.')[0]} {speaker}]"


def items(summary: Summary) -> Iterator[Item]:
    """The lines of a summary block that the ledger may carry, in order."""
    for section in SECTIONS:
        lines: tuple[str, ...] = getattr(summary, section)
        for whole in lines:
            place = _PLACE.search(whole[-30:])
            if place is None:
                yield Item(whole, section, whole, "", "narrative")
            else:
                text = whole[: len(whole) - len(place.group())]
                yield Item(
                    whole,
                    section,
                    text,
                    place.group(1),
                    "reply" if place.group(2) == "reply" else "user",
                )


def said_by_hand(edited: Summary, given: Summary, depth: int) -> Summary:
    """A block that was edited in its file: what `given` does not have counts as the user's own
    words.
    """

    def marked(section: Section) -> tuple[str, ...]:
        before: tuple[str, ...] = getattr(given, section)
        lines: tuple[str, ...] = getattr(edited, section)
        return tuple(
            whole
            if whole in before or _PLACE.search(whole[-30:])
            else line(_END.sub("", whole), str(depth), "user")
            for whole in lines
        )

    return replace(
        edited,
        decisions=marked("decisions"),
        pending=marked("pending"),
        key_facts=marked("key_facts"),
    )
