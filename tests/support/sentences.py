"""Sentences that people say in chats, in eight languages and more: some with a fact to keep, and
chatter without one.

A line of FACTS contains the speaker (`u` is the user, `r` the model), the sentence, and the part
that must be kept.
"""

from __future__ import annotations

from pathlib import Path

from chat_loop.sessions.records import Exchange, Query, Reply
from tests.support.scripted_chat import START

GOLDEN = Path(__file__).parents[1] / "golden" / "sentences"
FACTS = (GOLDEN / "facts.txt").read_text("utf-8")

CHATTER = (GOLDEN / "chatter.txt").read_text("utf-8")
"""Sentences that the user says."""

REPLIES = (GOLDEN / "replies.txt").read_text("utf-8")
"""Sentences that the model says, about the world rather than about the user's affairs."""


def exchanges(*pairs: tuple[str, str], depth: int = 1) -> list[Exchange]:
    """Return exchanges with the given queries and replies."""
    return [
        Exchange(
            Query(number=number, at=START, text=query),
            Reply(number=number, at=START, text=reply),
            depth,
        )
        for number, (query, reply) in enumerate(pairs, 1)
    ]
