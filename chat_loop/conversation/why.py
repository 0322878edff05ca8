"""Where a text comes from (pure): the messages that say it, what each session of a chain passed on
of it, and what replaced it. It is computed from the sessions alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime
from itertools import filterfalse
from pathlib import Path
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from chat_loop.caches import SizedCache
from chat_loop.context import ledger
from chat_loop.context.exchanges import Lengths, exchange_pieces
from chat_loop.context.messages import Context
from chat_loop.context.wanted_text import WantedText
from chat_loop.conversation.stored_context import context_of
from chat_loop.errors import SessionError
from chat_loop.sessions.chain import link_of
from chat_loop.sessions.manager import LoadedSession
from chat_loop.sessions.records import (
    Exchange,
    Note,
    Pin,
    Session,
    Summary,
    Undo,
    Unpin,
    remaining,
)
from chat_loop.sessions.summary_block import LISTS
from chat_loop.tokens import estimate
from chat_loop.values import Compaction

Speaker = Literal["user", "model", "tool", "file", "pin", "unpin"]
Loss = Literal["", "replaced", "no room", "left out", "tool output", "edited"]
"""Why a text went out of the context: a newer value replaced it; the summary had no room for it;
neither code nor the model took it up; only tools or files said it, which no summary repeats; the
summary was edited, or made again later. Empty: it did not.
"""

MOST_SAID = 5  # the most places that are told, of which one is the last
MOST_LINES = 3  # the most lines of one context
LINES = 1 << 20  # characters of lines whose sentences are kept
TRACED = 50  # the most places of a text for which newer values are looked up


class Said(Struct, frozen=True, kw_only=True):
    """A place where a text was said: a sentence of a message, or a pin, which has no reference."""

    message: str
    session: str
    at: datetime
    speaker: Speaker
    text: str


class Kept(Struct, frozen=True):
    """What a context has of a text: lines of its summary without their places, each after its list,
    and the references of the messages that say it word for word. `more` counts further lines.
    """

    lines: tuple[tuple[str, str], ...] = ()
    more: int = 0
    messages: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.lines or self.messages)


class Newer(Struct, frozen=True):
    """A line that replaced another one, `old`. `ref` is its message, or the number of its session
    if it was carried on from there, or empty if a model wrote it.
    """

    old: str
    text: str
    ref: str
    speaker: ledger.Speaker


class Passage(Struct, frozen=True, kw_only=True):
    """What a session passed on of a text: to the next session or, if it `is_last`, only to its own
    summary, from which a resume continues. `reason` is why the session ended, empty if it did not.
    """

    session: str
    number: int
    is_last: bool
    at: datetime
    reason: str
    compaction: Compaction | None
    kept: Kept
    loss: Loss
    newer: tuple[Newer, ...]


class Origins(Struct, frozen=True, kw_only=True):
    """Where a text comes from. It was said in `count` places, of which `said` has the first ones
    and the last. If it is not `exact`, they say it in other words; if it `counts` no more, it was
    undone.
    """

    text: str
    count: int
    exact: bool
    counts: bool
    said: tuple[Said, ...]
    passages: tuple[Passage, ...]
    now: Kept
    newer: tuple[Newer, ...]

    @property
    def is_found(self) -> bool:
        """True if it was said, or stands in a summary."""
        return bool(self.count or self.now or any(passage.kept for passage in self.passages))


def origins_of(wanted: WantedText, sessions: Sequence[Session]) -> Origins:
    """Return where a text comes from in a chain, which is given oldest first."""
    first = max(len(sessions), sessions[-1].depth) - len(sessions) + 1
    tells: Callable[[str], object] = wanted.is_in
    exact = True
    counts = True
    places = _said_in(sessions, first, tells)
    trail = _Trail(wanted, tells, sessions, places)
    if not places:
        places = _said_in([_with_undone(one) for one in sessions], first, tells)
        counts = not places
    if not places:
        exact = False
        tells = wanted.told_in
        places = _said_in(sessions, first, tells)
        trail = _Trail(wanted, tells, sessions, places)
    now = trail.end_of(sessions[-1])
    newer: tuple[Newer, ...] = ()
    if now:
        newer = trail.newer(sessions[-1])
    shown = (*places[: MOST_SAID - 1], *places[MOST_SAID - 1 :][-1:])
    return Origins(
        text=wanted.text,
        count=len(places),
        exact=exact,
        counts=counts,
        said=tuple(replace(each, text=wanted.sentence_in(each.text)) for each in shown),
        passages=trail.passages(first),
        now=now,
        newer=newer,
    )


def _said_in(sessions: Sequence[Session], first: int, tells: Callable[[str], object]) -> list[Said]:
    """Return the places of a text, whole, in the order in which they were said."""
    found = []
    for depth, session in enumerate(sessions, first):
        identity = session.id
        for exchange in session.exchanges:
            ref = f"{depth}.{exchange.number}"
            for speaker, text in _texts(exchange):
                if tells(text):
                    found.append(
                        Said(
                            message=ref,
                            session=identity,
                            at=exchange.query.at,
                            speaker=speaker,
                            text=text,
                        )
                    )
        inherited = _first_notes(session)
        for note in session.entries:
            if isinstance(note, Pin | Unpin) and note not in inherited and tells(note.text):
                kind: Speaker = "pin" if isinstance(note, Pin) else "unpin"
                found.append(
                    Said(message="", session=identity, at=note.at, speaker=kind, text=note.text)
                )
    return found


def _first_notes(session: Session) -> list[Note]:
    """Return the notes with which a session began: they are not new."""
    got = session.restoration
    if got is None:
        return []
    return [note for note in session.entries if isinstance(note, Note) and note.at <= got.at]


def _texts(exchange: Exchange) -> Iterator[tuple[Speaker, str]]:
    """Yield the texts of an exchange in the order in which they were said."""
    yield "user", exchange.query.text
    for file in exchange.attached:
        yield "file", file.text
    for use in exchange.uses:
        if use.result is not None:
            yield "tool", use.result.text
    if exchange.reply is not None:
        yield "model", exchange.reply.text


def _with_undone(session: Session) -> Session:
    """Return a session as if nothing had been undone in it."""
    entries = tuple(filterfalse(lambda entry: isinstance(entry, Undo), session.entries))
    return replace(session, entries=entries)


class _Trail:
    """The way of a text through the contexts of a chain."""

    def __init__(
        self,
        wanted: WantedText,
        tells: Callable[[str], object],
        sessions: Sequence[Session],
        places: Sequence[Said],
    ) -> None:
        self._tells = tells
        self._places = places
        self._line = SizedCache(wanted.sentence_in, LINES)  # a line stands in many blocks
        self._told = {(each.session, each.message.partition(".")[2]) for each in places}
        self._sessions = {session.id: session for session in sessions}
        self._contexts: dict[str, Context] = {}

    def _context(self, session: Session) -> Context:
        """Return the context of a session at its end."""
        identity = session.id
        if identity not in self._contexts:
            self._contexts[identity] = context_of(session, self._load)[0]
        return self._contexts[identity]

    def _load(self, identity: str, number: int) -> LoadedSession:
        session = self._sessions.get(identity)
        if session is None:
            raise SessionError(f"{identity} is missing.")
        return LoadedSession(session, Path())

    def end_of(self, session: Session) -> Kept:
        """Return what the context has of the text at the end of a session."""
        context = self._context(session)
        return self._kept(context, context.exchanges, context.pins)

    def _begin_of(self, session: Session) -> Kept:
        """Return what the context had of the text when a session began."""
        context = self._context(session)
        block = context.parent_block or Summary()
        pins = remaining(block.pinned, _first_notes(session), Pin, Unpin)
        return self._kept(context, context.carried, pins)

    def _kept(self, context: Context, exchanges: Iterable[Exchange], pins: Sequence[str]) -> Kept:
        lengths = context.session.shortened
        lines: list[tuple[str, str]] = []
        for block in filter(None, (context.parent_block, context.sent_block)):
            lines += self._lines(replace(block, pinned=()))
        lines += self._lines(Summary(background="", pinned=tuple(pins)))
        messages = [each.ref for each in exchanges if self._is_sent(each, lengths)]
        return _cut(lines, messages)

    def _lines(self, block: Summary) -> Iterator[tuple[str, str]]:
        """Yield the lines of a block that tell the text, each after the name of its list."""
        for line in ledger.items(block):
            if told := self._line(line.text):
                yield line.section, told
        others = {name: getattr(block, name) for name in LISTS if name not in ledger.SECTIONS}
        for name, texts in (("background", (block.background,)), *others.items()):
            for told in filter(None, map(self._line, texts)):
                yield name, told

    def _is_sent(self, exchange: Exchange, lengths: Lengths) -> bool:
        """Return True if the model gets an exchange with the text, which is not shortened away."""
        key = exchange.session, str(exchange.number)
        if key not in self._told or exchange.failed:
            return False
        if not (lengths or exchange.uses):
            return True
        return any(self._tells(piece.whole) for _, piece in exchange_pieces(exchange, lengths))

    def passages(self, first: int) -> tuple[Passage, ...]:
        """Return what went on from each session, oldest first. The first one has number `first`."""
        children: dict[str, Session] = {}
        for session in self._sessions.values():
            for parent in link_of(session).parents:  # of two branches, one may have it
                if parent not in children or not self._begin_of(children[parent]):
                    children[parent] = session
        found = []
        for number, session in enumerate(self._sessions.values(), first):
            child = children.get(session.id)
            if child is not None or session.seal is not None:
                found.append(self._passage(number, session, child))
        return tuple(found)

    def _passage(self, number: int, session: Session, child: Session | None) -> Passage:
        """Return what went on from a session."""
        seal = session.seal
        at = session.header.created
        summary = None
        if seal is not None:
            at = seal.at
            summary = seal.summary
        elif child is not None:
            at = child.header.created
        had = self.end_of(session)
        kept = had
        if summary is not None:
            kept = _cut(self._lines(summary))
        is_in_context = bool(kept)
        if child is not None and child.restoration is not None:
            begun = self._begin_of(child)
            is_in_context = bool(begun)
            if not child.restoration.merged:  # else the other branch may have it
                kept = begun
        newer: tuple[Newer, ...] = ()
        if not (set(had.lines) <= set(kept.lines) and had.messages == kept.messages):
            newer = self.newer(session, child)
        loss: Loss = ""
        if had and not is_in_context:
            loss = self._loss(session, child, newer)
        return Passage(
            session=session.id,
            number=number,
            at=at,
            reason=seal.reason if seal is not None else "",
            compaction=seal.compaction if seal is not None else None,
            kept=kept,
            loss=loss,
            newer=newer,
            is_last=child is None,
        )

    def newer(self, session: Session, child: Session | None = None) -> tuple[Newer, ...]:
        """Return what replaced lines with the text when the `child` of a session began or, without
        one, what will do so. Of a text in very many places, return nothing.
        """
        if len(self._places) > TRACED:
            return ()
        context = self._context(session)
        narrative = None
        tail: tuple[Exchange, ...] = ()
        if child is not None:
            tail = self._context(child).carried
            narrative = _bullets(session)
        span = self._span(context, tail)
        # with room for nothing, it only tells what replaces what
        block = ledger.ledger(
            context.parent_block, narrative, span, tail, context.pins, 0, estimate
        )
        newer = []
        for old, new in block.replaced:
            if self._line(old.text):
                newer.append(Newer(old.text, new.text, new.ref, new.speaker))
        return tuple(newer)

    def _span(self, context: Context, tail: Iterable[Exchange]) -> list[Exchange]:
        """Return the exchanges of a context that a block was made of, if those of `tail` stayed."""
        kept = {each.ref for each in tail}
        return [each for each in context.unsummarized if each.ref not in kept]

    def _loss(self, session: Session, child: Session | None, newer: Sequence[Newer]) -> Loss:
        """Return why the text went out of the context when the `child` of a session began."""
        tail: tuple[Exchange, ...] = ()
        if child is not None:
            tail = self._context(child).carried
        if newer:
            return "replaced"
        seal = session.seal
        if seal is not None and (seal.edited or any(self._lines(seal.summary or Summary()))):
            return "edited"
        context = self._context(session)
        taken = ledger.collect(self._span(context, tail))
        carried = ledger.items(context.parent_block or Summary())
        for line in (*carried, *(candidate.line for candidate in taken)):
            if self._line(line.text):
                return "no room"
        refs = context.refs
        speakers = {each.speaker for each in self._places if each.message in refs}
        if speakers and speakers <= {"tool", "file"}:
            return "tool output"
        return "left out"


def _cut(lines: Iterable[tuple[str, str]], messages: Iterable[str] = ()) -> Kept:
    """Return lines, each once, and messages; of many lines, the first ones."""
    found = [*dict.fromkeys(lines)]
    more = max(0, len(found) - MOST_LINES)
    return Kept(tuple(found[:MOST_LINES]), more, tuple(messages))


def _bullets(session: Session) -> Summary | None:
    """Return the decisions and open points of a session's summary that a model wrote."""
    if session.seal is None or session.seal.summary is None:
        return None
    decisions: list[str] = []
    pending: list[str] = []
    for line in ledger.items(session.seal.summary):
        if not line.ref and line.section == "decisions":
            decisions.append(line.text)
        elif not line.ref and line.section == "pending":
            pending.append(line.text)
    return Summary(decisions=tuple(decisions), pending=tuple(pending))
