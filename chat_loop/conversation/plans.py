"""Plans: the child session that continues a conversation, as a value."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

from msgspec import Struct

from chat_loop.errors import SessionError
from chat_loop.sessions import records, summary_block
from chat_loop.sessions.live import LiveSession
from chat_loop.sessions.manager import SessionManager
from chat_loop.sessions.records import Summary


class LateBlock(Struct, frozen=True, kw_only=True):
    """A late summary of the ended session `parent`. `problem` is why its file did not get it."""

    parent: str
    summary: Summary
    problem: SessionError | None = None


class ChildPlan(Struct, frozen=True, kw_only=True):
    """A child session to begin: its parent, and the block and exchanges of the conversation so far.
    A fork omits everything after the reference `until`. In a merge, `merged` is the second parent's
    id, and `depth` is the child's place in the chain. `left_out` requested exchanges did not fit
    and are only in the block.
    """

    parent: records.Session
    path: Path
    block: str
    carried: tuple[records.Exchange, ...] = ()
    unsummarized_from: str = ""
    pins: tuple[str, ...] | None = None
    until: str = ""
    merged: str = ""
    depth: int = 0
    left_out: int = 0

    def restoration(self, at: datetime) -> records.Restoration:
        """Return the child's first record."""
        totals = self.parent.totals
        return records.Restoration(
            at=at,
            parent_created=self.parent.header.created,
            queries=totals.queries,
            tokens=totals.combined,
            block=self.block,
            grandparent=self.parent.header.parent,
            depth=self.depth or self.parent.depth + 1,
            verbatim_from=self.carried[0].ref if self.carried else "",
            unsummarized_from=self.unsummarized_from,
            until=self.until,
            merged=self.merged,
        )

    def begin(
        self, sessions: SessionManager, agent: str, agent_path: str, model: str
    ) -> tuple[LiveSession, list[records.Entry]]:
        """Return the child, whose file does not exist yet, and its first entries."""
        at = sessions.now()
        entries: list[records.Entry] = [self.restoration(at)]
        if self.pins is not None:
            before = summary_block.parse(self.block).pinned if self.block else ()
            entries += [records.Unpin(at=at, text=pin) for pin in before if pin not in self.pins]
            entries += [records.Pin(at=at, text=pin) for pin in self.pins if pin not in before]
        live = sessions.begin(
            agent=agent,
            agent_path=agent_path,
            model=model,
            parent=self.parent.header.id,
            parent_path=str(self.path),
            after=self.parent,
        )
        return live, entries
