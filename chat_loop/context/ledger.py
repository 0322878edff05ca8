"""The ledger (pure): what code carries along the chain byte for byte, whatever the model writes: pins, and its lines.

A line is a sentence as it was said, and in which session of the chain and by whom: `We use oak because pine is soft.
[2 user]`, or `[2 reply]` when only the model said it. A bullet of a narrative has no such mark. Lines are added,
superseded, closed or evicted (`cover`), never reworded.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal

from chat_loop.sessions import block
from chat_loop.sessions.records import Session, Summary

Section = Literal["decisions", "pending", "key_facts"]
SECTIONS: tuple[Section, ...] = ("decisions", "pending", "key_facts")

REFERENCE = re.compile(r"\[[\d.,;\s–-]{1,40}(?:reply|user)?\]")
"""A place in the chain, or several, as bullets name them: `[2.14]`, `[3, 5-7]`. It is no value."""
_PLACE = re.compile(r" \[(\d{1,9}) (user|reply)\]\Z")


@dataclass(frozen=True, slots=True)
class Item:
    """One line of a summary block. `ref` is empty when code did not make it: then a model's narrative did."""

    line: str
    section: Section
    text: str
    ref: str
    speaker: Literal["user", "reply", "narrative"]


def line(text: str, ref: str, speaker: str) -> str:
    """A sentence as the ledger holds it. It names its session only, so that a session's lines are one group."""
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
                yield Item(whole, section, text, place.group(1), "reply" if place.group(2) == "reply" else "user")


def inherited(session: Session) -> Summary | None:
    """The parent's summary block as this session was given it."""
    return None if session.restoration is None else block.parse(session.restoration.block)


def pins(session: Session) -> tuple[str, ...]:
    """The parent's pins, then this session's, each once."""
    parent = inherited(session)
    return tuple(dict.fromkeys([*(parent.pinned if parent else ()), *session.pins]))


OWN_WORDS = 4_000
"""A query of more characters than this holds something pasted."""

_ANNOUNCED = re.compile(
    r"(?:^|(?<=[.!?\n]))[ \t]*((?:decision|decided|rule|remember|important|constraint"
    r"|entscheidung|regel|wichtig|décision|règle|decisión|regla)[ \t]*:[ \t]*[^\n]{3,400}?(?:[.!?](?=\s|$)|$))",
    re.IGNORECASE | re.MULTILINE,
)
"""A sentence that its speaker announces as one to keep: `Decision: we only count orders above 20 euros.`"""


def announced(session: Session) -> tuple[str, ...]:
    """The sentences that the user announced as decisions or rules, word for word, with their query's number.

    Only the user's own words count: a reply cannot put anything into the ledger, nor can a long pasted text.
    """
    return tuple(
        f"{sentence.strip()} [{exchange.query.number}]"
        for exchange in session.exchanges
        if len(exchange.query.text) <= OWN_WORDS
        for sentence in _ANNOUNCED.findall(exchange.query.text)
    )


def carry(summary: Summary, session: Session) -> Summary:
    """Put into a session's new summary what the ledger holds."""
    parent = inherited(session)
    before = parent.decisions if parent else ()
    decisions = tuple(dict.fromkeys([*before, *announced(session), *summary.decisions]))
    if parent is None:
        return replace(summary, decisions=decisions, pinned=pins(session))
    return replace(
        summary,
        decisions=decisions,
        pinned=pins(session),
        key_facts=parent.key_facts,
        files=parent.files,
        tools=parent.tools,
    )
