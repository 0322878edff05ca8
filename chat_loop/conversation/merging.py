"""Merging: two sessions that went on from the same one are taken up by one child of both."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from chat_loop.context.merge import Contradiction, in_both, in_room, merge, without
from chat_loop.context.thread import place
from chat_loop.conversation.ancestors import resumable
from chat_loop.conversation.live_context import Beginning, LiveContext
from chat_loop.conversation.resume import Offer, Resuming
from chat_loop.errors import SessionError, UsageError
from chat_loop.frozen import dataclass
from chat_loop.sessions import summary_block
from chat_loop.sessions.chain import ChainReader
from chat_loop.sessions.manager import Loaded
from chat_loop.sessions.records import Session, Summary, Tag, Untag


@dataclass(frozen=True, kw_only=True)
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


@dataclass(frozen=True)
class _Branch:
    """A session to be merged, and its line: the session, then its ancestors, nearest first."""

    loaded: Loaded
    line: tuple[Session, ...]

    @property
    def id(self) -> str:
        return self.loaded.session.header.id

    def has(self, common: str) -> float:
        """The last query of the common session that this branch goes on from."""
        child = self.child_of(common)
        return _until(child) if child is not None else float("inf")

    def child_of(self, common: str) -> Session | None:
        """The first session of the branch that is its own; of several the one that has most of the
        common one.
        """
        children = [one for one in self.line if common and one.header.parent == common]
        return max(children, key=_until, default=None)

    def depth_of(self, common: str) -> int:
        return next((one.depth for one in self.line if one.header.id == common), 0)


def _until(child: Session) -> float:
    """The last query of its parent that a child has."""
    given = child.restoration
    return (place(given.until)[1] if given is not None else 0) or float("inf")


def _tagged_as_both(first: Session, second: Session) -> Session:
    tags = tuple(dict.fromkeys((*first.tags, *second.tags)))
    entries = tuple(entry for entry in first.entries if not isinstance(entry, Tag | Untag))
    return replace(first, header=replace(first.header, tags=tags), entries=entries)


class Merging:
    """Makes a merge of two stored sessions, and an offer of it. `room` are the tokens of the
    ledger.
    """

    def __init__(self, context: LiveContext, resuming: Resuming, room: int) -> None:
        self._context = context
        self._resuming = resuming
        self._room = room

    async def merge(self, first: Loaded, second: Loaded) -> Merge:
        """Put two branches together. Makes the summary of one that has none.

        The one that goes on from more of the session they have in common comes first. Raises
        UsageError when one has everything that the other has: there is nothing to merge then.
        SessionError when nothing was said in one.
        """
        one, other = self._branch(first), self._branch(second)
        common = _common(one, other)
        if one.id == other.id:
            raise UsageError(
                f"Both are {one.id}.",
                "merge takes two sessions; /tree shows the branches of this one.",
            )
        if other.id == common or (one.id != common and other.has(common) > one.has(common)):
            one, other = other, one
        if one.id == common and all(
            last.query.number <= other.has(common) for last in one.line[0].exchanges[-1:]
        ):
            raise UsageError(
                f"{other.id} goes on from {one.id}: there is nothing to merge.",
                f"/resume {other.id} has both.",
            )
        fork = other.depth_of(common)
        depth = one.line[0].depth
        merged = merge(
            await self._resuming.block_of(one.loaded),
            await self._resuming.block_of(other.loaded),
            self._base(one, other, common),
            fork=fork,
            shift=depth - fork,
        )
        return Merge(
            first=one.loaded,
            second=other.loaded,
            summary=merged.summary,
            contradictions=merged.contradictions,
            common=common,
            depth=depth + other.line[0].depth - fork + 1,
        )

    def offer(self, merge: Merge, dropped: Collection[str]) -> Offer:
        """How a child of both would begin, without the lines `dropped`."""
        context = self._context
        text = summary_block.render(
            in_room(without(merge.summary, dropped), self._room, context.count)
        )
        beginning = Beginning(
            parent=_tagged_as_both(merge.first.session, merge.second.session),
            path=merge.first.path,
            block=text,
            merged=merge.second.session,
            depth=merge.depth,
        )
        return Offer(beginning=beginning, tokens=context.would_hold(text, ()))

    def _base(self, one: _Branch, other: _Branch, common: str) -> Summary | None:
        """What both branches were given of the session that they have in common."""
        children = [branch.child_of(common) for branch in (one, other)]
        given = [self._resuming.given(child) for child in children if child is not None]
        return in_both(given[0], given[-1]) if given else None

    def _branch(self, loaded: Loaded) -> _Branch:
        session = loaded.session
        if not resumable(session):
            raise SessionError(
                f"Nothing was said in {session.header.id}: there is nothing to merge.",
                "/show looks into a session.",
            )
        chain = ChainReader(self._context.sessions).read(session)
        return _Branch(loaded, (session, *(one.session for one in chain.loaded)))


def _common(one: _Branch, other: _Branch) -> str:
    """The nearest session that two come from, or that one of them is; empty: none."""
    mine = {session.header.id for session in one.line}
    return next((session.header.id for session in other.line if session.header.id in mine), "")
