"""Ancestors: what a session is given of those before it, and what stands in their files."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from chat_loop.context.messages import Thread, place
from chat_loop.errors import SessionError, UsageError
from chat_loop.redact import redacted
from chat_loop.sessions import summary_block
from chat_loop.sessions.chain import ChainReader, known_to, placed
from chat_loop.sessions.manager import SessionManager
from chat_loop.sessions.records import Exchange, Pin, Restoration, Session, Summary, Unpin

if TYPE_CHECKING:
    from chat_loop.conversation.live_context import LiveContext


class Beginning(Struct, frozen=True, kw_only=True):
    """The start of a child session: its parent, and the block and the words that stand for what was
    said before.

    `in_file`: the block is the summary in the file at `path`, where the user may edit it. `pins`
    are those that hold now, whatever the block says. A fork leaves out what the parent said after
    `until`; `merged` is a second parent, and `depth` then the child's place in the chain of both.
    """

    parent: Session
    path: Path
    block: str
    carried: tuple[Exchange, ...] = ()
    fresh: str = ""
    in_file: bool = False
    pins: tuple[str, ...] | None = None
    until: str = ""
    merged: Session | None = None
    depth: int = 0

    def renamed(self, was: str, identity: str) -> Beginning:
        """Return it with the session `was` called `identity`: its file was changed from outside,
        and it was sealed in another one.
        """

        def named(session: Session) -> Session:
            if session.header.id != was:
                return session
            return replace(session, header=replace(session.header, id=identity))

        path = self.path
        if self.parent.header.id == was:
            path = path.with_name(f"{identity}.md")
        merged = named(self.merged) if self.merged is not None else None
        return replace(self, parent=named(self.parent), path=path, merged=merged)

    def restoration(self, at: datetime) -> Restoration:
        """Return the record of what the child is given."""
        parent, totals = self.parent, self.parent.totals
        return Restoration(
            at=at,
            parent_created=parent.header.created,
            queries=totals.queries,
            tokens=totals.combined,
            block=self.block,
            grandparent=parent.header.parent,
            depth=self.depth or parent.depth + 1,
            verbatim_from=self.carried[0].ref if self.carried else "",
            unsummarized_from=self.fresh,
            until=self.until,
            merged=self.merged.header.id if self.merged is not None else "",
        )


def thread_of(sessions: SessionManager, session: Session) -> tuple[Thread, str]:
    """Return a stored session as its model saw it, and a sentence that says what is missing of the
    words it was given.
    """
    restoration = session.restoration
    if restoration is None or not restoration.verbatim_from:
        return Thread(session), ""
    first = place(restoration.verbatim_from)
    words: tuple[Exchange, ...] = ()
    missing = ""
    depth, child = session.depth - 1, session
    while depth >= first[0] and child.header.parent:
        try:
            parent = sessions.load(sessions.session_file(child.header.parent)).session
        except SessionError as error:
            missing = (
                f"The words from {restoration.verbatim_from} on are not all there: {error.message}"
            )
            break
        here = (
            replace(exchange, depth=depth)
            for exchange in known_to(parent, child.restoration).exchanges
        )
        words = (*(one for one in here if (depth, one.query.number) >= first), *words)
        depth, child = depth - 1, parent
    return Thread(session, words), missing


def edited_block(sessions: SessionManager, path: Path | None, thread: Thread) -> Summary | None:
    """Return the summary block at `path` when it is not the one that the thread's session was
    given: it was edited there.

    None also when the file or its block is gone: then what the session was given counts.
    """
    restoration = thread.session.restoration
    if path is None or restoration is None:
        return None
    try:
        seal = (sessions.load_ends(path) or sessions.load(path)).session.seal
    except SessionError:
        return None
    if (
        seal is None
        or seal.summary is None
        or summary_block.render(seal.summary) == restoration.block
    ):
        return None
    from chat_loop.context.ledger import said_by_hand  # not before something was edited

    return said_by_hand(
        seal.summary, summary_block.parse(restoration.block), thread.session.depth - 1
    )


def parent_of(session: Session) -> str:
    """Return the id of a session's parent. Raises UsageError when it has none, or two."""
    parent, given = session.header.parent, session.restoration
    if not parent or given is None:
        raise UsageError(
            "This session was not compacted: it has all its words.",
            "sessions lists the saved ones.",
        )
    if given.merged:
        raise UsageError(
            f"Two sessions were merged here, {parent} and {given.merged}: nothing was compacted.",
            f"/resume {parent} --full goes back to one of them.",
        )
    return parent


def conversation_totals(sessions: SessionManager, session: Session) -> tuple[int, int]:
    """Return the queries and the tokens of a session and its first parents, as far as their files
    tell; of one that was forked, the queries up to the fork.
    """
    queries, tokens = session.totals.queries, session.totals.combined
    seen = {session.header.id}
    while (parent := session.header.parent) and parent not in seen:
        seen.add(parent)
        path = sessions.session_file(parent)
        try:
            found = (sessions.load_ends(path) or sessions.load(path)).session
        except SessionError:
            break
        given = session.restoration
        most = place(given.until)[1] if given is not None else 0
        queries += min(found.totals.queries, most or found.totals.queries)
        tokens += found.totals.combined
        session = found
    return queries, tokens


def only_in_archive(context: LiveContext) -> tuple[str, ...]:
    """Return the sentences with exact values of all sessions of the chain that stand in the archive
    only.

    Raises UsageError when nothing was compacted, SessionError when an ancestor's file cannot be
    read.
    """
    from chat_loop.context.ledger import harvest, items, unsaid  # rarely asked for

    thread, session = context.thread, context.session
    parent_of(session)
    chain = ChainReader(context.sessions).read(session)
    if chain.broken:
        raise SessionError(chain.broken)
    known = context.known()
    before = (one for ancestor in placed(chain, session.depth) for one in ancestor)
    lines = [item.text for item in items(thread.inherited or Summary())]
    lines += [*thread.pins, *(fact.text for fact in harvest(thread.exchanges))]
    whole = frozenset(lines)
    facts = harvest(exchange for exchange in before if exchange.ref not in known)
    missing = unsaid([fact for fact in facts if redacted(fact.text) not in whole], lines)
    return tuple(f"{fact.text} [{fact.ref}]" for fact in missing)


def repinned(standing: Sequence[str], wanted: Sequence[str], at: datetime) -> list[Pin | Unpin]:
    """Return the entries that make `wanted` of the pins that stand."""
    return [
        *(Unpin(at=at, text=text) for text in standing if text not in wanted),
        *(Pin(at=at, text=text) for text in wanted if text not in standing),
    ]
