"""The archive that the model of a live conversation reads: its sealed ancestors, word for word, in
the index of their folder. Sizes are in tokens, as `count` estimates them.
"""

from __future__ import annotations

import math
import re
import threading
import time
import weakref
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import TypeVar

from msgspec import Struct
from msgspec.structs import replace

from chat_loop.errors import IndexUnavailable, SessionError
from chat_loop.library.archive_tools import READ
from chat_loop.library.hits import Hit, TextRange
from chat_loop.library.index import Index
from chat_loop.library.library import LONG, Library
from chat_loop.library.refresh import texts
from chat_loop.library.search import LEAST, excerpt, search_chain
from chat_loop.library.semantic import SemanticIndex
from chat_loop.library.terms import has_value, is_question
from chat_loop.sessions.chain import last_queries, link_of
from chat_loop.sessions.manager import SessionManager
from chat_loop.sessions.records import Exchange, Session
from chat_loop.sessions.rows import Stamp, clamp_time
from chat_loop.text import sentences
from chat_loop.tokens import Count, estimate

T = TypeVar("T")
Newer = Callable[[Mapping[str, tuple[str, str]]], Mapping[str, str]]
"""Maps the sentences of `_told_values` to those that give them a newer value."""

NOT_READY = "The archive is still being read. Try again in a moment."
NO_ARCHIVE = "There is no archive: nothing was said before what is in your context."
CANNOT = "The archive cannot be searched"
CALL_SECONDS = 5.0
RECALL_SECONDS = 1.0
"""The longest that a tool call, and a query, wait while many new files are indexed."""
MAX_HITS = 5
ROOM = 1_500
RECALL_ROOM = 400
STRONG = 0.36  # weaker hits are not attached to a query
_ALONE = 0.2  # except the best one, if it has this strength and three times that of any other
_FAINT = 0.01  # a weaker hit is there by chance, even if weak hits count
_MAX_RECALLED = 3
_MAX_WEAK = 12
"""The most sentences that are attached to a question if weak hits count. In FactChain, in a window
of 8,192 tokens, they bring the facts that are in the context or attached from 60 to 96 percent.
"""
_SENTENCE_ROOM = 90
_BESIDE = 0.3  # the share of room for a text without a match, relative to 1 for one with a match
_CUT_ROOM = 30  # tokens for the note that a text was cut
_FOUND = "Found in the archive of this conversation, best first, as it was said:"
_RECALLED = (
    "Found automatically earlier in this conversation; it may be superseded or beside the point:"
)
_FORMS = (
    'Give the number of a query such as "14", a range such as "12-16", or a reference such '
    'as "2.14".'
)
_REQUEST = re.compile(
    r"\W{0,9}((?:([0-9]{1,6})\.)?([0-9]{1,6})(?: {0,3}[-–—] {0,3}(?:([0-9]{1,6})\.)?([0-9]{1,6}))?)"
    r"(?::([0-9]{1,5}))?\W{0,9}"
)


class _OpenIndex(Struct, frozen=True, kw_only=True):
    """An open index, the ancestors with their last queries, and the stamps of their files."""

    index: Index
    ancestors: dict[str, int]
    stamps: list[Stamp]
    close: Callable[[], object]


def _stamp(path: Path, identity: str) -> Stamp:
    try:
        status = path.stat(follow_symlinks=False)
    except OSError:
        return Stamp(0, identity, 0)
    return Stamp(clamp_time(status.st_mtime_ns), identity, status.st_size)


class Archive:
    """The ancestors of a live session, for any thread, and itself as `current()` returns it. Its
    methods may take a while. The index stays open: as long as no ancestor's file changes, a query
    looks at no other file of the folder.
    """

    def __init__(
        self,
        sessions: SessionManager,
        session: Session,
        *,
        current: Callable[[], Session] | None = None,
        count: Callable[[str], int] = estimate,
        semantic: SemanticIndex | None = None,
    ) -> None:
        self._sessions = sessions
        self._current = current or (lambda: session)
        self._link = link_of(session)
        self._depth = session.depth
        self._count = count
        self._semantic = semantic
        self._lock = threading.Lock()
        self._known: _OpenIndex | None = None

    def search(self, text: str, without: Collection[str] = (), limit: int = MAX_HITS) -> list[Hit]:
        """Return the hits by words, best first; none if the index cannot be used in time. The words
        of a very long session are found once they are indexed, for which nobody waits.
        """
        try:
            return self._ask(
                lambda index: search_chain(
                    index, text, self._ancestors(index), self._depth, limit, without
                ),
                RECALL_SECONDS,
                LONG,
            )
        except (SessionError, TimeoutError, MemoryError):
            return []

    def recall(
        self,
        text: str,
        without: Collection[str] = (),
        room: int = RECALL_ROOM,
        known: str = "",
        *,
        weak: bool = False,
        newer: Newer | None = None,
    ) -> tuple[str, tuple[str, ...]]:
        """Return the text to attach to a new query, and its references, as `recall_text` does. Weak
        hits count only for what the query asks: what is told beside it would bring chance hits.
        """
        asked = [each.text for each in sentences(text) if is_question(each.text)] if weak else []
        if asked:
            hits = self.search(" ".join(asked), without, _MAX_WEAK)
        else:
            hits = self.search(text, without)
        return recall_text(hits, self._count, room, known, weak=bool(asked), newer=newer)

    def call(
        self,
        name: str,
        arguments: Mapping[str, str],
        without: Collection[str] = (),
        room: int = ROOM,
    ) -> str:
        """Run one of TOOLS for a model, with arguments that fit its schema. Return an answer of at
        most `room` tokens, and errors as sentences.
        """
        room = min(room, ROOM)
        text = arguments["queries" if name == READ else "query"]

        def answer(index: Index) -> str:
            ancestors = self._ancestors(index)
            if name == READ:
                return read_text(self._exchanges(text, ancestors), text, room, self._count)
            if not ancestors:
                return NO_ARCHIVE
            hits = search_chain(
                index, text, ancestors, self._depth, MAX_HITS, without, self._semantic
            )
            return search_text(hits, room, self._count)

        try:
            return self._ask(answer, CALL_SECONDS)
        except TimeoutError:
            return NOT_READY
        except (SessionError, MemoryError) as error:
            return f"{CANNOT}: {error}"

    def _exchanges(self, text: str, ancestors: Mapping[str, int]) -> list[Exchange]:
        """Return the exchanges of the session that a request names, by default the previous one.
        They are read from the transcript, word for word. Raises SessionError.
        """
        named = _REQUEST.fullmatch(text)
        depth = int(named[2]) if named is not None and named[2] else 0
        if not ancestors or depth == self._depth:
            return list(self._current().exchanges)
        nearest = max(self._depth - 1, len(ancestors))
        for distance, (identity, last) in enumerate(ancestors.items()):
            at = nearest - distance
            if depth in (0, at):
                loaded = self._sessions.load(self._sessions.session_file(identity))
                seen = loaded.session.as_continued(last, self._current().standing)
                return [replace(each, depth=at) for each in seen.exchanges]
        return []

    def _ask(self, question: Callable[[Index], T], seconds: float, longest: float = math.inf) -> T:
        """Return the answer of the folder's index, up to date except for the open session and the
        texts of files of more than `longest` bytes. Raises SessionError, and TimeoutError after
        `seconds` of indexing, which the next call goes on with.
        """
        with self._lock:
            known = self._known
            if known is not None and known.stamps == self._stamps(known.ancestors):
                try:
                    with known.index.transaction():
                        return question(known.index)
                except IndexUnavailable:
                    pass  # another process keeps it, or made it anew
            self._forget()
            return self._ask_anew(question, seconds, longest)

    def _ask_anew(self, question: Callable[[Index], T], seconds: float, longest: float) -> T:
        """Return the answer of the folder's index after a look at all of its files."""
        until = time.monotonic() + seconds

        def check(done: float, of: int) -> None:
            if time.monotonic() > until and done < of and done == int(done):
                raise TimeoutError

        # Only ancestors are searched, so the open session is not indexed until it is one of them.
        folder = self._sessions.directory
        unread = self._link.id
        with closing(Library(folder, check, unread=unread, longest=longest)) as library:

            def ask(index: Index) -> tuple[T, dict[str, int], list[Stamp]]:
                ancestors = self._ancestors(index)
                stamps = self._stamps(ancestors)
                is_current = not index.stale(stamps)[0]
                return question(index), ancestors, stamps if is_current else []

            (answer, ancestors, stamps), _ = library.ask(ask)
        if stamps:
            self._keep(ancestors, stamps)
        return answer

    def _keep(self, ancestors: dict[str, int], stamps: list[Stamp]) -> None:
        """Keep an open index for the next questions, until this archive is no longer used."""
        try:
            index = Index(self._sessions.directory)
        except IndexUnavailable:
            return
        close = weakref.finalize(self, index.close)
        self._known = _OpenIndex(index=index, ancestors=ancestors, stamps=stamps, close=close)

    def _forget(self) -> None:
        if self._known is not None:
            self._known.close()
            self._known = None

    def _stamps(self, ancestors: Collection[str]) -> list[Stamp]:
        """Return the size and time of each ancestor's file, zero for one that is gone."""
        return [_stamp(self._sessions.session_file(identity), identity) for identity in ancestors]

    def _ancestors(self, index: Index) -> dict[str, int]:
        """Return the ancestors, nearest first, each with the last of its queries that counts."""
        if self._known is not None and index is self._known.index:
            return self._known.ancestors
        links = {**index.links(), self._link.id: self._link}
        ancestors = last_queries(self._link.id, links)
        del ancestors[self._link.id]
        return ancestors


def search_text(hits: Sequence[Hit], room: int, count: Count) -> str:
    """Return a search's answer: at most MAX_HITS exchanges in at most `room` tokens."""
    for number in range(min(len(hits), MAX_HITS), 0, -1):
        share = room
        while share >= LEAST:
            texts_of_hits = (_hit_text(hit, share // number, count) for hit in hits[:number])
            text = "\n\n".join((_FOUND, *texts_of_hits))
            if count(text) <= room:
                return text
            share = share * 4 // 5
    return (
        "Nothing in the archive matches that. It may have been said in other words: rephrase the "
        "question."
    )


def recall_text(
    hits: Sequence[Hit],
    count: Count,
    room: int = RECALL_ROOM,
    known: str = "",
    *,
    weak: bool = False,
    newer: Newer | None = None,
) -> tuple[str, tuple[str, ...]]:
    """Return the best sentences of hits to attach to a query, and their references. Omit tool
    results, and sentences that are in `known`, the restored block. If `weak`, all but faint hits
    count, those that are not strong by what they tell, else only strong ones. A sentence to which
    one of another hit gives a `newer` value is attached with that one.
    """
    lines = [_RECALLED]
    refs = list[str]()
    values = _told_values(hits)
    latest = newer(values) if newer is not None else {}
    counting = [hit for hit in hits if hit.strength >= _FAINT] if weak else _strong(hits)
    for hit in counting:
        told = _best_sentences(hit)
        if weak and hit.strength < STRONG:
            # an old answer to a question that is merely similar would be taken for the new one
            told = _best_statement(hit)
        if not told or len(refs) >= (_MAX_WEAK if weak else _MAX_RECALLED):
            continue
        quotes = [(who, excerpt(sentence, (), _SENTENCE_ROOM, count)) for who, sentence in told]
        present = "\n".join((known, *lines))
        if all(quote.removesuffix(" …") in present for _, quote in quotes):
            continue
        quoted = "; ".join(f"{who}: “{quote}”" for who, quote in quotes)
        new = [f"{_day_of(hit)}, {quoted}"]
        shown = [hit.exchange.ref]
        for sentence in dict.fromkeys(latest.get(sentence, "") for _, sentence in told):
            if sentence not in present:  # neither the empty one
                ref, label = values[sentence]
                new.append(f"{label}: “{sentence}”")
                shown.append(ref)
        if count("\n".join((*lines, *new))) <= room:
            lines += new
            refs += shown
    return ("\n".join(lines), tuple(dict.fromkeys(refs))) if refs else ("", ())


def _best_sentences(hit: Hit) -> list[tuple[str, str]]:
    """Return the best spoken sentence of a hit with its speaker, and the answer to a question."""
    spoken = hit.texts[:2]
    matches = [match for match in hit.matches if match.part < 2]
    chosen = matches[:1]
    if chosen and chosen[0].part == 0:
        _, query = spoken[0]
        if is_question(query[chosen[0].start : chosen[0].end]):
            answers = [match for match in matches if match.part == 1]
            answers += [
                TextRange(1, sentence.start, sentence.end)
                for sentence in sentences(spoken[1][1])[:1]
            ]
            chosen += answers[:1]
    told = []
    for match in chosen:
        who, text = spoken[match.part]
        told.append((who.lower(), " ".join(text[match.start : match.end].split())))
    return told


def _best_statement(hit: Hit) -> list[tuple[str, str]]:
    """Return the best spoken sentence of a hit that is no question, with its speaker."""
    for match in hit.matches:
        if match.part < 2:
            who, text = hit.texts[match.part]
            sentence = text[match.start : match.end]
            if not is_question(sentence):
                return [(who.lower(), " ".join(sentence.split()))]
    return []


def _day_of(hit: Hit) -> str:
    return f"[{hit.exchange.ref}] {hit.exchange.query.at:%Y-%m-%d}"


def _told_values(hits: Sequence[Hit]) -> dict[str, tuple[str, str]]:
    """Return the spoken sentences with values, in the order in which they were said, each with its
    reference, and with its label as it is shown.
    """
    in_order = sorted(hits, key=lambda hit: (hit.exchange.depth, hit.exchange.number))
    return {
        sentence.text: (hit.exchange.ref, f"{_day_of(hit)}, {who.lower()}")
        for hit in in_order
        for who, text in hit.texts[:2]
        for sentence in sentences(text)
        if has_value(sentence.text) and not is_question(sentence.text)
    }


def _strong(hits: Sequence[Hit]) -> list[Hit]:
    """Return the hits that are strong by themselves, or much stronger than all others."""
    strengths = sorted((hit.strength for hit in hits), reverse=True)
    best, second = (*strengths, 0.0, 0.0)[:2]
    least = max(min(STRONG, max(_ALONE, 3 * second)), 0.7 * best)
    return [hit for hit in hits if hit.strength >= least]


def read_text(exchanges: Sequence[Exchange], request: str, room: int, count: Count) -> str:
    """Return the requested exchanges of the previous session. A request has one of the forms in
    _FORMS; `12-16:2` asks for the second page.
    """
    if not exchanges:
        return "There is no previous session to read."
    numbers = [exchange.number for exchange in exchanges]
    depth = exchanges[0].depth
    available = (
        f"The previous session, number {depth} of the chain, has queries {min(numbers)} to "
        f"{max(numbers)}. Search the archive for what is older."
    )
    match = _REQUEST.fullmatch(request)
    if match is None or {match[2], match[4]} - {None, str(depth)}:
        return f"{_FORMS} {available}"
    first, last = sorted((int(match[3]), int(match[5] or match[3])))
    blocks = []
    for exchange in exchanges:
        if first <= exchange.number <= last:
            lines = [f"{who}: {text.strip()}" for who, text in texts(exchange) if text.strip()]
            blocks.append("\n".join((_heading(exchange), *lines)))
    if not blocks:
        return f"No query {match[1]}. {available}"
    text = "\n\n".join(blocks)
    page, number, is_last = _page(text, max(1, int(match[6] or 1)), room, count)
    if is_last:
        return page
    return f'{page}\n\n(Cut here. Read "{match[1]}:{number + 1}" for what follows.)'


def _page(text: str, number: int, room: int, count: Count) -> tuple[str, int, bool]:
    """Return a page of a text, or the last one, its number, and whether it is the last. A page has
    at most `room` tokens with the note about the next, and ends at a blank if possible.
    """
    longest = 8 * room  # characters; a page of more is hardly ever that short
    if len(text) <= longest and count(text) <= room:
        return text.strip(), 1, True
    start = 0
    for at in range(1, number + 1):
        end = start + longest
        while count(text[start:end]) > room - _CUT_ROOM and end - start > LEAST:
            end = start + max(LEAST, (min(end, len(text)) - start) * 4 // 5)
        if end >= len(text):
            return text[start:].strip(), at, True
        blank = text.rfind(" ", (start + end) // 2, end)
        page = text[start:end] if blank < 0 else text[start : blank + 1]
        start += len(page)
    return page.strip(), number, False


def _heading(exchange: Exchange) -> str:
    return f"[{exchange.ref}] {exchange.query.at:%Y-%m-%d %H:%M}"


def _hit_text(hit: Hit, room: int, count: Count) -> str:
    """Return the texts of a hit in about `room` tokens, with long ones cut around their matches."""
    parts = []
    for part, (who, text) in enumerate(hit.texts):
        matches = [match for match in hit.matches if match.part == part]
        if text.strip() and (matches or part < 2):
            parts.append((who, text, matches, 1.0 if matches else _BESIDE))
    lines = [_heading(hit.exchange) + (" (related, in other words)" if hit.related else "")]
    left = room - count(lines[0]) - 4 * len(parts)
    weights = sum(weight for *_, weight in parts)
    for who, text, matches, weight in parts:
        lines.append(f"{who}: {excerpt(text, matches, int(left * weight / weights), count)}")
        left -= count(lines[-1])
        weights -= weight
    return "\n".join(lines)
