"""A thread (pure): what of a chain the live session's model is given, as values.

First the restored block, which stands for everything before the words; then the carried exchanges,
in their own words from an ancestor's file; then the session's own.
"""

from __future__ import annotations

from msgspec import Struct

from chat_loop.sessions import summary_block
from chat_loop.sessions.records import Exchange, Session, Summary, pinned_after


def place(ref: str) -> tuple[int, int]:
    """`2.14` as (session of the chain, query), which compare as they stand in the chain. Empty:
    before everything.
    """
    depth, _, number = ref.partition(".")
    return (int(depth), int(number)) if number else (0, 0)


class Thread(Struct, frozen=True):
    """A session and the exchanges of its ancestors that it was given as they were said, oldest
    first.

    `edited` is the parent's summary block as it stands in the file now, when that is not what the
    session was given.
    """

    session: Session
    carried: tuple[Exchange, ...] = ()
    edited: Summary | None = None

    @property
    def exchanges(self) -> tuple[Exchange, ...]:
        """All exchanges that stand in the context in their own words; failed ones stand in the file
        only.
        """
        return tuple(
            exchange for exchange in (*self.carried, *self.session.exchanges) if not exchange.failed
        )

    @property
    def fresh(self) -> tuple[Exchange, ...]:
        """Those of them that no summary block covers yet."""
        restoration = self.session.restoration
        carried: tuple[Exchange, ...] = ()
        if restoration is not None and restoration.unsummarized_from:
            first = place(restoration.unsummarized_from)
            carried = tuple(one for one in self.carried if (one.depth, one.query.number) >= first)
        return tuple(
            exchange for exchange in (*carried, *self.session.exchanges) if not exchange.failed
        )

    @property
    def inherited(self) -> Summary | None:
        """The parent's summary block."""
        if self.edited is not None:
            return self.edited
        restoration = self.session.restoration
        return (
            None
            if restoration is None or not restoration.block
            else summary_block.parse(restoration.block)
        )

    @property
    def pins(self) -> tuple[str, ...]:
        """The parent's pins, then this session's, each once, without those that were unpinned."""
        parent = self.inherited
        return pinned_after(parent.pinned if parent else (), self.session.entries)
