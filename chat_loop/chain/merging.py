"""Merging: two sessions that went on from the same one are taken up by one child of both."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from chat_loop.chain.head import Beginning, Head
from chat_loop.chain.resuming import Offer, Resuming
from chat_loop.context.budget import size
from chat_loop.context.draft import RESTORATION_TOKENS
from chat_loop.context.merge import Contradiction, in_room, merge, without
from chat_loop.errors import UsageError
from chat_loop.sessions import block
from chat_loop.sessions.chain import Chain, ChainReader
from chat_loop.sessions.manager import Loaded
from chat_loop.sessions.records import Session, Summary


@dataclass(frozen=True, slots=True, kw_only=True)
class Merge:
    """Two branches as one child would begin with them. `contradictions` are the user's to decide.

    `common` is the id of the session that both come from; empty when they have none in common.
    """

    first: Loaded
    second: Loaded
    summary: Summary
    contradictions: tuple[Contradiction, ...]
    common: str
    depth: int


class Merging:
    """Makes a merge of two stored sessions, and an offer of it. `room` are the tokens of the ledger."""

    def __init__(self, head: Head, resuming: Resuming, room: int) -> None:
        self._head = head
        self._resuming = resuming
        self._room = room

    async def merge(self, first: Loaded, second: Loaded) -> Merge:
        """Put two branches together. Makes the summary of one that has none.

        Raises UsageError when one comes from the other: there is nothing to merge then.
        """
        reader = ChainReader(self._head.sessions)
        ours, theirs = reader.read(first.session), reader.read(second.session)
        common = _common(first.session, ours, second.session, theirs)
        one, other = first.session.header.id, second.session.header.id
        if common in (one, other):
            newer = second if common == one else first
            raise UsageError(
                f"{newer.session.header.id} goes on from {common}: there is nothing to merge.",
                f"/resume {newer.session.header.id} has both.",
            )
        fork = _depth(theirs, common)
        own = second.session.depth - fork
        merged = merge(
            await self._resuming.block_of(first),
            await self._resuming.block_of(second),
            _block(theirs, common, second.session),
            fork=fork,
            shift=first.session.depth - fork,
        )
        return Merge(
            first=first,
            second=second,
            summary=merged.summary,
            contradictions=merged.contradictions,
            common=common,
            depth=first.session.depth + own + 1,
        )

    def offer(self, merge: Merge, dropped: Collection[str]) -> Offer:
        """How a child of both would begin, without the lines `dropped`."""
        head = self._head
        text = block.render(in_room(without(merge.summary, dropped), self._room, head.count))
        beginning = Beginning(
            parent=merge.first.session,
            path=merge.first.path,
            block=text,
            merged=merge.second.session,
            depth=merge.depth,
        )
        tokens = head.count(head.agent.system) + size(text, head.count) + RESTORATION_TOKENS
        return Offer(beginning=beginning, tokens=tokens)


def _common(first: Session, ours: Chain, second: Session, theirs: Chain) -> str:
    """The nearest session that two come from, or that one of them is; empty: none."""
    mine = {first.header.id, *(loaded.session.header.id for loaded in ours.loaded)}
    line: Sequence[Session] = (second, *(loaded.session for loaded in theirs.loaded))
    return next((session.header.id for session in line if session.header.id in mine), "")


def _depth(chain: Chain, identity: str) -> int:
    return next((one.session.depth for one in chain.loaded if one.session.header.id == identity), 0)


def _block(chain: Chain, common: str, session: Session) -> Summary | None:
    """The block that a branch began with: what its first own session was given of the common one."""
    if not common:
        return None
    line = (session, *(loaded.session for loaded in chain.loaded))
    child = next((one for one in line if one.header.parent == common), None)
    given = child.restoration if child is not None else None
    return block.parse(given.block) if given is not None and given.block else None
