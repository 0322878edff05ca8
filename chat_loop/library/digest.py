"""What the index keeps of a session (pure): its row, its exchanges without secrets, and what its
seal tells.
"""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct
from msgspec.structs import replace

from chat_loop.library.stored import LARGEST, kept, number, shown
from chat_loop.library.terms import lines
from chat_loop.sessions import summary_block
from chat_loop.sessions.records import Exchange, Seal, Session, SessionRow
from chat_loop.tokens import estimate
from chat_loop.values import Compaction

_SECTIONS = ("topics", "decisions", "pending", "pinned", "key_facts")


class Said(Struct, frozen=True):
    """One exchange as the index keeps it. `lines` are those of `terms.lines`."""

    position: int
    number: int
    at: str
    query: str
    reply: str
    archived: bool
    input: int | None
    output: int | None
    lines: str


class Told(Struct, frozen=True, kw_only=True):
    """A summary block: the queries it covers, its size in tokens, who made it and when."""

    at: str
    first: int
    last: int
    tokens: int
    source: str


class Audit(Struct, frozen=True, kw_only=True):
    """A compaction, when it was, and how long the model took for it."""

    at: str
    seconds: float | None
    compaction: Compaction


class Sealed(Struct, frozen=True, kw_only=True):
    """What the end of a session tells."""

    told: Told | None = None
    audit: Audit | None = None
    facts: tuple[tuple[str, str], ...] = ()
    """(section of the summary block, item)."""


class Digest(Struct, frozen=True, kw_only=True):
    """Everything that the index keeps of one file. `size` and `changed` are those of the file that
    was read.
    """

    row: SessionRow
    size: int
    changed: int
    header_id: str
    said: tuple[Said, ...] = ()
    sealed: Sealed = Sealed()


def digest(row: SessionRow, session: Session | None, size: int, changed: int) -> Digest:
    """What is kept of a session; only its row when nothing in its file can be read."""
    kept_row = shown(
        row if session is None else replace(row, spent=(*session.usage_of_models.items(),))
    )
    if session is None:
        return Digest(row=kept_row, size=size, changed=changed, header_id=row.id)
    exchanges = session.exchanges
    numbers = [exchange.query.number for exchange in exchanges]
    sealed = end_of(session.seal, min(numbers, default=0), max(numbers, default=0))
    covered = sealed.told.last if sealed.told is not None else 0
    return Digest(
        row=kept_row,
        size=size,
        changed=changed,
        header_id=session.header.id or row.id,
        said=tuple(said(exchanges, covered)),
        sealed=sealed,
    )


def said(exchanges: Iterable[Exchange], covered: int = 0, first: int = 1) -> Iterable[Said]:
    """Exchanges as they are kept, from position `first` on; those up to query `covered` are
    archived.
    """
    for position, exchange in enumerate(exchanges, first):
        query = kept(exchange.query.text)
        reply = kept(exchange.reply.text) if exchange.reply is not None else ""
        usage = exchange.reply.usage if exchange.reply is not None else None
        yield Said(
            position=position,
            number=min(exchange.query.number, LARGEST),
            at=exchange.query.at.isoformat(),
            query=query,
            reply=reply,
            archived=exchange.query.number <= covered,
            input=number(usage.input) if usage else None,
            output=number(usage.output) if usage else None,
            lines=lines(query, reply),
        )


def end_of(seal: Seal | None, first: int, last: int) -> Sealed:
    """What a seal tells of a session whose queries have the numbers `first` to `last`."""
    if seal is None:
        return Sealed()
    at = seal.at.isoformat()
    audit = (
        None
        if seal.compaction is None
        else Audit(at=at, seconds=seal.seconds, compaction=seal.compaction)
    )
    if seal.summary is None:
        return Sealed(audit=audit)
    told = Told(
        at=at,
        first=first,
        last=seal.covers if seal.covers is not None else last,
        tokens=estimate(summary_block.render(seal.summary)),
        source=seal.source,
    )
    facts = tuple(
        (section, kept(item)) for section in _SECTIONS for item in getattr(seal.summary, section)
    )
    return Sealed(told=told, audit=audit, facts=facts)
