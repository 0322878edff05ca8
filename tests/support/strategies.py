"""Hostile sessions for Hypothesis: text made of the format's own markers, headings, labels, rules,
fences and odd characters.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

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

ATOMS = (
    "<!-- chat:end -->",
    "<!-- chat:end n=1 stop=end -->",
    "<!-- chat:query n=2 at=2026-01-01T00:00:00 -->",
    "<!-- chat:sealed -->",
    "<!-- SESSION_SUMMARY_START -->",
    "<!-- SESSION_SUMMARY_END -->",
    "<!--",
    "\\<!--",
    " \\\\<!--",
    "## Query 2 (10:00:00)",
    "**You:**",
    "**You:** yes",
    "**Agent:**",
    "**Pinned:**",
    "**Attached:** ",
    "![1×1](attachments/x.png)",
    "**Background Context:** ",
    "*none*",
    "---",
    "```",
    "~~~~",
    "</details>",
    "- ",
    "\n",
    "\n\n",
    "\r\n",
    "\r",
    "\t",
    " ",
    "  ",
    "\x00",
    "\x1b[2J",
    "\x7f",
    "\x9b31m",
    "\ud800",
    "\udfff",
    "\u2028",
    "\u202e",
    "\ufeff",
    "⟦U+000D⟧",
    "⟦U+27E6⟧",
    "⟦",
    "U+",
    "🙂",
    "漢字",
    "word",
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
usages = st.one_of(
    st.none(),
    st.builds(
        Usage,
        input=counts,
        output=counts,
        cached=counts,
        written=counts,
        reasoning=counts,
        estimated=st.booleans(),
    ),
)
places = st.sampled_from(
    ("", " [2 user]", " [2.14]", " [2 reply]", " [2 user] [2 user]", "[2 user]")
)
items = st.lists(st.builds(str.__add__, texts, places), max_size=5).map(tuple)
summaries = st.builds(
    Summary,
    background=texts,
    topics=items,
    decisions=items,
    pending=items,
    pinned=items,
    key_facts=items,
    files=items,
    tools=items,
)
words = st.from_regex(r"[A-Za-z0-9_.:+/-]{1,40}", fullmatch=True)
digests = st.from_regex(r"[0-9a-f]{64}", fullmatch=True)
refs = st.from_regex(r"[0-9]{1,6}\.[0-9]{1,9}", fullmatch=True)
some_refs = st.one_of(st.just(""), refs)
some_ids = st.one_of(st.just(""), ids)
numbers = st.integers(1, 10**6)
stops = st.sampled_from(("end", "length", "refusal", "tool", "interrupted", "error"))
tags = st.lists(st.from_regex(r"[\w][\w./+-]{0,39}", fullmatch=True), max_size=4, unique=True).map(
    tuple
)
headers = st.builds(
    Header,
    id=ids,
    created=times,
    agent=texts,
    agent_path=texts,
    model=texts,
    parent=st.one_of(st.just(""), ids),
    parent_path=texts,
    name=texts,
    title=texts,
    tags=tags,
    project=texts,
    git_branch=texts,
    git_commit=texts,
    settings=texts,
    endpoint=texts,
    tools=texts,
    effort=texts,
    sampling=texts,
    minor=st.sampled_from((0, 1, 2)),
)
entries: st.SearchStrategy[Entry] = st.one_of(
    st.builds(Query, number=st.integers(1, 10**6), at=times, text=texts),
    st.builds(
        Reply,
        number=st.integers(0, 10**6),
        at=times,
        text=texts,
        stop=stops,
        seconds=seconds,
        usage=usages,
    ),
    st.builds(Pin, at=times, text=texts),
    st.builds(Unpin, at=times, text=texts),
    st.builds(Name, at=times, text=texts),
    st.builds(Tag, at=times, text=texts),
    st.builds(Untag, at=times, text=texts),
    st.builds(Setting, at=times, text=texts),
    st.builds(ModelChange, at=times, text=texts, endpoint=st.one_of(st.just(""), words)),
    st.builds(AgentChange, at=times, text=texts),
    st.builds(Aside, at=times, text=texts),
    st.builds(
        AsideReply,
        at=times,
        text=texts,
        stop=stops,
        seconds=seconds,
        usage=usages,
        failed=st.booleans(),
    ),
    st.builds(Undo, number=numbers, at=times, ref=some_refs, session=some_ids),
    st.builds(Redo, number=numbers, at=times, ref=some_refs, session=some_ids),
    st.builds(
        Shortened,
        at=times,
        ref=some_refs,
        session=some_ids,
        call=st.one_of(st.just(""), words),
        part=st.sampled_from(("result", "query", "reply")),
        tokens=counts,
    ),
    st.builds(Covered, at=times, block=texts, last_ref=some_refs, session=some_ids),
    st.builds(
        Opaque,
        number=numbers,
        at=times,
        text=texts,
        model=st.one_of(st.just(""), words),
        endpoint=st.one_of(st.just(""), words),
    ),
    st.builds(LeftOut, number=numbers, at=times, text=texts, reason=words),
    st.builds(Call, number=st.integers(1, 10**6), at=times, id=words, name=words, arguments=texts),
    st.builds(
        Result,
        number=st.integers(1, 10**6),
        at=times,
        id=words,
        text=texts,
        failed=st.booleans(),
        seconds=seconds,
        given=st.one_of(st.none(), counts),
        not_kept=counts,
    ),
    st.builds(
        Change,
        number=st.integers(1, 10**6),
        at=times,
        text=texts,
        written=words,
        replaced=st.one_of(st.just(""), digests),
    ),
    st.builds(ArchiveContext, number=st.integers(1, 10**6), at=times, text=texts),
    st.builds(
        Attachment,
        number=st.integers(1, 10**6),
        at=times,
        name=texts,
        media=st.sampled_from(("", "text/plain", "text/x-later+made", "application/pdf")),
        size=counts,
        sha256=st.one_of(st.just(""), digests, words),
        text=texts,
    ),
    st.builds(
        Attachment,
        number=st.integers(1, 10**6),
        at=times,
        name=texts,
        media=st.sampled_from(tuple(IMAGES)),
        size=counts,
        sha256=st.one_of(digests, words),
        width=counts,
        height=counts,
    ),
    st.builds(
        Restoration,
        at=times,
        parent_created=times,
        queries=counts,
        tokens=counts,
        block=texts,
        grandparent=st.one_of(st.just(""), ids),
        depth=st.integers(2, 10**6),
        verbatim_from=some_refs,
        unsummarized_from=some_refs,
        until=some_refs,
        merged=st.one_of(st.just(""), ids),
        merged_until=some_refs,
    ),
)
compactions = st.builds(
    Compaction,
    first=refs,
    last=refs,
    before=counts,
    after=counts,
    why=words,
    model=words,
    cost=st.one_of(st.none(), st.floats(0, 1e6, allow_nan=False)),
    decisions=counts,
    pins=counts,
    facts=counts,
    archived=counts,
    superseded=counts,
)
seals = st.builds(
    Seal,
    at=times,
    reason=st.sampled_from(("exit", "compact", "resume", "clear")),
    source=st.sampled_from(("model", "extracted", "none")),
    summary=st.one_of(st.none(), summaries),
    usage=usages,
    seconds=seconds,
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
