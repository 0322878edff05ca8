"""Hostile sessions for Hypothesis: text made of the format's own markers, headings, labels, rules,
fences and odd characters.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from typing import Any, TypeVar, get_type_hints

from hypothesis import strategies as st
from msgspec.structs import replace

from chat_loop.sessions.records import (
    IMAGES,
    AgentChange,
    ArchiveContext,
    Aside,
    AsideReply,
    Attachment,
    Call,
    Change,
    Covered,
    Entry,
    Header,
    LeftOut,
    ModelChange,
    Name,
    Opaque,
    Pin,
    Query,
    QueryEntry,
    Redo,
    Reply,
    Restoration,
    Result,
    Seal,
    Session,
    Setting,
    Shortened,
    Summary,
    Tag,
    Undo,
    Unpin,
    Untag,
)
from chat_loop.sessions.writer import with_digest
from chat_loop.values import Compaction, Usage

T = TypeVar("T")

ATOMS = (
    *("<!-- chat:end -->", "<!-- chat:end n=1 stop=end -->", "<!-- chat:sealed -->", "<!--"),
    *("<!-- chat:query n=2 at=2026-01-01T00:00:00 -->", "\\<!--", " \\\\<!--"),
    *("<!-- SESSION_SUMMARY_START -->", "<!-- SESSION_SUMMARY_END -->", "## Query 2 (10:00:00)"),
    *("**You:**", "**You:** yes", "**Agent:**", "**Pinned:**", "**Attached:** ", "*none*"),
    *("![1×1](attachments/x.png)", "**Background Context:** ", "---", "```", "~~~~", "</details>"),
    *("- ", "\n", "\n\n", "\r\n", "\r", "\t", " ", "  ", "\x00", "\x1b[2J", "\x7f", "\x9b31m"),
    *("\ud800", "\udfff", "\u2028", "\u202e", "\ufeff", "⟦U+000D⟧", "⟦U+27E6⟧", "⟦", "U+"),
    *("🙂", "漢字", "word"),
)

texts = st.lists(st.one_of(st.sampled_from(ATOMS), st.text(max_size=5)), max_size=12).map("".join)
lines = texts.map(lambda text: text.strip())
ids = st.from_regex(r"[0-9A-Za-z][0-9A-Za-z_-]{0,63}", fullmatch=True)
times = st.datetimes(
    min_value=datetime(1970, 1, 2),
    timezones=st.integers(-720, 720).map(lambda minutes: timezone(timedelta(minutes=minutes))),
)
counts = st.integers(0, 10**9)
seconds = st.one_of(st.none(), st.floats(0, 1e6, allow_nan=False))
places = st.sampled_from(
    ("", " [2 user]", " [2.14]", " [2 reply]", " [2 user] [2 user]", "[2 user]")
)
items = st.lists(st.builds(str.__add__, texts, places), max_size=5).map(tuple)
words = st.from_regex(r"[A-Za-z0-9_.:+/-]{1,40}", fullmatch=True)
digests = st.from_regex(r"[0-9a-f]{64}", fullmatch=True)
refs = st.from_regex(r"[0-9]{1,6}\.[0-9]{1,9}", fullmatch=True)
some_refs = st.one_of(st.just(""), refs)
some_ids = st.one_of(st.just(""), ids)
some_words = st.one_of(st.just(""), words)
numbers = st.integers(1, 10**6)
tags = st.lists(st.from_regex(r"[\w][\w./+-]{0,39}", fullmatch=True), max_size=4, unique=True).map(
    tuple
)
FIELDS: dict[str, st.SearchStrategy[Any]] = {
    "agent_path": texts,
    "at": times,
    "call": some_words,
    "cost": seconds,
    "created": times,
    "depth": st.integers(2, 10**6),
    "endpoint": some_words,
    "first": refs,
    "given": st.one_of(st.none(), counts),
    "last": refs,
    "media": st.sampled_from(("", "text/plain", "text/x-later+made", "application/pdf")),
    "minor": st.sampled_from((0, 1, 2)),
    "number": numbers,
    "parent_created": times,
    "part": st.sampled_from(("result", "query", "reply")),
    "reason": st.sampled_from(("exit", "compact", "resume", "clear")),
    "replaced": st.one_of(st.just(""), digests),
    "seconds": seconds,
    "sha256": st.one_of(st.just(""), digests, words),
    "source": st.sampled_from(("model", "extracted", "none")),
    "stop": st.sampled_from(("end", "length", "refusal", "tool", "interrupted", "error")),
    "tags": tags,
    "why": words,
}
"""Fields that hold more or less than their types."""
FIELDS |= dict.fromkeys(("grandparent", "merged", "parent", "session"), some_ids)
FIELDS |= dict.fromkeys(
    ("last_ref", "merged_until", "ref", "unsummarized_from", "until", "verbatim_from"), some_refs
)
TYPES: dict[Any, st.SearchStrategy[Any]] = {
    str: texts,
    int: counts,
    bool: st.booleans(),
    tuple[str, ...]: items,
}


def made(kind: type[T], *left_out: str, **fields: st.SearchStrategy[Any]) -> st.SearchStrategy[T]:
    """Return a strategy for values of a kind, without the fields that are left out."""
    hints = get_type_hints(kind)
    for name in kind.__struct_fields__:  # type: ignore[attr-defined]
        if name not in fields and name not in left_out:
            fields[name] = FIELDS[name] if name in FIELDS else TYPES[hints[name]]
    return st.builds(kind, **fields)


summaries = made(Summary)
usages = st.one_of(st.none(), made(Usage))
headers = made(Header, "mode", id=ids, endpoint=texts)
NOTES = (Pin, Unpin, Name, Tag, Untag, Setting, ModelChange, AgentChange, Aside)
ABOUT_QUERIES = (Query, Undo, Redo, ArchiveContext, Shortened, Covered)
entries: st.SearchStrategy[Entry] = st.one_of(
    *(made(kind) for kind in (*NOTES, *ABOUT_QUERIES)),
    made(Restoration),
    made(Reply, "failed", number=st.integers(0, 10**6), usage=usages),
    made(AsideReply, usage=usages),
    made(Opaque, model=some_words),
    made(Call, id=words, name=words),
    made(Result, id=words),
    made(LeftOut, reason=words),
    made(Change, written=words),
    made(Attachment, "width", "height"),
    made(
        Attachment, "text", media=st.sampled_from(tuple(IMAGES)), sha256=st.one_of(digests, words)
    ),
)
compactions = made(Compaction, model=words)
seals = made(
    Seal,
    "digest",
    "edited",
    "remade",
    summary=st.one_of(st.none(), summaries),
    usage=usages,
    covers=st.one_of(st.none(), counts),
    compaction=st.one_of(st.none(), compactions),
)
one_time = st.one_of(times, st.just(datetime(2026, 11, 21, 10, tzinfo=UTC)))


def beside(entry: Entry, number: int, at: datetime) -> Entry:
    """Return an entry with the time, and of the query, that its neighbors have too."""
    return replace(entry, at=at, number=number) if isinstance(entry, QueryEntry) else entry


neighbors = st.tuples(st.lists(entries, max_size=6), st.integers(1, 2), one_time).map(
    lambda given: tuple(beside(entry, given[1], given[2]) for entry in given[0])
)


def sealed(session: Session, has_digest: bool) -> Session:
    """Return the session with or without a digest of its summary."""
    if session.seal is None or not has_digest:
        return session
    return replace(session, seal=with_digest(session.seal, session.header.minor))


sessions = st.builds(
    sealed,
    st.builds(
        Session,
        header=headers,
        entries=st.one_of(st.lists(entries, max_size=6).map(tuple), neighbors),
        seal=st.one_of(st.none(), seals),
    ),
    st.booleans(),
)
