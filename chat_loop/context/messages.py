"""From a session to the messages that are sent: the restored block, then the exchanges, always alternating.

A session's earlier messages never change from one request to the next, so that a provider's prompt cache holds.
"""

from __future__ import annotations

from collections.abc import Iterable

from chat_loop.context.restore import acknowledgment_request, restoration_text
from chat_loop.sessions.records import Query, Reply, Session
from chat_loop.values import Message, Role


def messages_of(session: Session) -> tuple[Message, ...]:
    """The messages of a whole session, ending with the newest query when it has no reply yet."""
    turns: list[tuple[Role, str]] = []
    restoration, acknowledgment = session.restoration, session.acknowledgment
    if restoration is not None:
        if acknowledgment is not None and acknowledgment.text.strip():
            turns.append(("user", acknowledgment_request(session.header, restoration)))
            turns.append(("assistant", acknowledgment.text))
        else:
            turns.append(("user", restoration_text(session.header, restoration)))
    for entry in session.entries:
        if isinstance(entry, Query):
            turns.append(("user", entry.text))
        elif isinstance(entry, Reply) and entry.number and entry.text.strip():
            turns.append(("assistant", entry.text))
    return alternating(turns)


def alternating(turns: Iterable[tuple[Role, str]]) -> tuple[Message, ...]:
    """Join neighbours of one role: a query that got no reply is sent together with the next one."""
    messages: list[Message] = []
    for role, text in turns:
        if messages and messages[-1].role == role:
            messages[-1] = Message(role, f"{messages[-1].text}\n\n{text}")
        else:
            messages.append(Message(role, text))
    return tuple(messages)
