"""The ledger (pure): what code carries along the chain byte for byte, whatever the model writes: pins and decisions."""

from __future__ import annotations

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


def carry(summary: Summary, session: Session) -> Summary:
    """Put into a session's new summary what the ledger holds."""
    parent = inherited(session)
    if parent is None:
        return replace(summary, pinned=pins(session))
    return replace(
        summary,
        decisions=tuple(dict.fromkeys([*parent.decisions, *summary.decisions])),
        pinned=pins(session),
        key_facts=parent.key_facts,
        files=parent.files,
        tools=parent.tools,
    )
