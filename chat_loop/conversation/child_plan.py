"""Child plan (pure): the child session that continues a conversation, as a value."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from chat_loop.context import request
from chat_loop.context.exchanges import Lengths
from chat_loop.context.request import Frame
from chat_loop.providers import Provider
from chat_loop.sessions import records, summary_block
from chat_loop.sessions.live import LiveSession
from chat_loop.sessions.manager import SessionManager
from chat_loop.sessions.records import Answering, Exchange, Header, Session


class Basis(Struct, frozen=True):
    """The state of a live session on which a plan is based: its records without the asides."""

    id: str
    entries: int


def basis_of(session: Session) -> Basis:
    """Return the state of a live session, which is compared before a plan is carried out."""
    asides = records.Aside | records.AsideReply
    kept = sum(not isinstance(entry, asides) for entry in session.entries)
    return Basis(session.id, kept)


class Paid(Struct, frozen=True):
    """A block that is not sent, because its exchanges are, up to `last`."""

    block: str
    last: Exchange


class ChildPlan(Struct, frozen=True, kw_only=True):
    """A child session to begin: its parent, and the block and exchanges of the conversation so far.
    `paid` is a newer block, if the exchanges are those that it was made of.
    A fork omits everything after the reference `until`. In a merge, `merged` is the second parent's
    id, of which it omits what comes after `merged_until`, and `depth` is the child's place in the
    chain. `standing` is what is undone or brought back
    of the sessions before it (None: the same as in the parent). `left_out` requested exchanges did
    not fit and are only in the block, and `lengths` are those of shortened parts. `basis` is the
    state of the live session if the plan depends on it. With a `provider`, that model answers in
    the child.
    """

    parent: Session
    path: Path
    block: str
    carried: tuple[Exchange, ...] = ()
    paid: Paid | None = None
    unsummarized_from: str = ""
    pins: tuple[str, ...] | None = None
    until: str = ""
    merged: str = ""
    merged_until: str = ""
    depth: int = 0
    standing: tuple[records.UndoEntry, ...] | None = None
    left_out: int = 0
    basis: Basis | None = None
    lengths: Lengths = {}
    provider: Provider | None = None

    @property
    def omits(self) -> bool:
        """True if exchanges of the conversation are missing in the child's context."""
        return bool(self.block or self.left_out or self.lengths)

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
            merged_until=self.merged_until,
        )

    def begin(
        self,
        sessions: SessionManager,
        *,
        agent: str,
        agent_path: str,
        answering: Answering,
        tools: str = "",
    ) -> tuple[LiveSession, list[records.Entry]]:
        """Return the child, whose file does not exist yet, and its first entries."""
        at = sessions.now()
        standing = self.standing
        if standing is None:
            standing = tuple(self.parent.standing.values())
        # before its restoration: what it undoes itself stands after that
        entries: list[records.Entry] = [replace(entry, at=at) for entry in standing]
        entries.append(self.restoration(at))
        if self.pins is not None:
            before = summary_block.parse(self.block).pinned if self.block else ()
            entries += [records.Unpin(at=at, text=pin) for pin in before if pin not in self.pins]
            entries += [records.Pin(at=at, text=pin) for pin in self.pins if pin not in before]
        if self.paid is not None:
            last = self.paid.last
            covered = records.Covered(
                at=at, block=self.paid.block, last_ref=last.ref, session=last.session
            )
            entries.append(covered)
        entries += shortened_entries(self.carried, self.lengths, at)
        live = sessions.begin(
            agent=agent,
            agent_path=agent_path,
            model=answering.model,
            endpoint=answering.endpoint,
            tools=tools,
            parent=self.parent.header.id,
            parent_path=str(self.path),
            after=self.parent,
        )
        return live, entries

    def with_parent(self, before: str, header: Header, path: Path) -> ChildPlan:
        """Return the plan after the session with the id `before` was sealed under another one,
        because another program had changed its file.
        """
        plan = self
        if plan.parent.header.id == before:
            parent = replace(plan.parent, header=replace(plan.parent.header, id=header.id))
            plan = replace(plan, parent=parent, path=path)
        return replace(plan, merged=header.id if plan.merged == before else plan.merged)


def shortened_entries(
    exchanges: Iterable[Exchange], lengths: Lengths, at: datetime
) -> list[records.Shortened]:
    """Return the records of the shortened parts of exchanges."""
    refs = {(each.session, str(each.number)): each.ref for each in exchanges}
    entries = []
    for part, tokens in lengths.items():
        ref = refs.get((part.session, part.number))
        if ref is not None:
            entry = records.Shortened(
                at=at,
                ref=ref,
                session=part.session,
                call=part.call,
                part=part.part,
                tokens=tokens,
            )
            entries.append(entry)
    return entries


def lengths_of(exchanges: Iterable[Exchange], lengths: Lengths) -> Lengths:
    """Return the lengths of the shortened parts of these exchanges."""
    numbers = {(each.session, str(each.number)) for each in exchanges}
    return {
        part: tokens for part, tokens in lengths.items() if (part.session, part.number) in numbers
    }


def child_tokens(frame: Frame, plan: ChildPlan, *, acknowledged: bool = False) -> int:
    """Return the tokens of the first request of a planned child, without a query."""
    parent = plan.parent.header
    header = replace(parent, parent=parent.id, parent_path=str(plan.path))
    return request.child_tokens(
        frame,
        header,
        plan.restoration(parent.created),
        plan.carried,
        plan.lengths,
        acknowledged=acknowledged,
    )
