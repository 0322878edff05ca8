"""The ledger (pure): what code carries along the chain byte for byte, whatever the model writes: pins and decisions."""

from __future__ import annotations

import re
from dataclasses import replace

from chat_loop.sessions import block
from chat_loop.sessions.records import Session, Summary


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
