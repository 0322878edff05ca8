"""Messages (pure): a chain's thread as it is sent to the model.

First the restored block, which stands for everything before the words; then the carried exchanges,
in their own words from an ancestor's file; then the session's own. Messages always alternate. A
session's earlier ones never change from one request to the next, so that a provider's prompt cache
holds; only what is too long for the window is shortened.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from hashlib import sha256
from itertools import accumulate
from operator import is_
from typing import TypeVar

from msgspec import Struct
from msgspec.structs import replace

from chat_loop.context.budget import BLOCK, CARRIED, FILES, OWN, RECALLED, USED, Count, room
from chat_loop.sessions import marker, summary_block
from chat_loop.sessions.escape import encode_line
from chat_loop.sessions.records import (
    ArchiveContext,
    Attachment,
    Call,
    Entry,
    Exchange,
    Header,
    Query,
    Reply,
    Restoration,
    Result,
    Session,
    Summary,
    pinned_after,
)
from chat_loop.values import Image, Message, ToolCall, ToolResult
from chat_loop.wording import counts_text, file_size_text

INTERRUPTED = "interrupted"
"""The result of a call that has none."""
Long = TypeVar("Long", bound=Query | Reply | Result | Attachment)
"""An entry that may be too long for the window."""

TASK = """\
Task: Review the above and provide a brief acknowledgment (2-6 sentences or bullets) \
that includes:
1. Main topics discussed
2. Key decisions made
3. Confirmation you're ready to continue

Keep your response concise."""

GUIDE = (
    "The summary is for orientation. What is pinned or marked [2 user] or [2 reply] is word for "
    "word what the user or you said in the chain's second session; [2.14] is its query 14. If the "
    "summary does not contain the answer to a later question, search the archive when you have a "
    "tool for that; otherwise say that it does not."
)


def place(ref: str) -> tuple[int, int]:
    """Return `2.14` as (session of the chain, query), in the chain's order; empty comes first."""
    depth, _, number = ref.partition(".")
    return (int(depth), int(number)) if number else (0, 0)


class Thread(Struct, frozen=True):
    """A session and the exchanges of its ancestors that it was given word for word, oldest first.

    `edited` is the parent's summary block as it stands in the file now, if it is another one.
    """

    session: Session
    carried: tuple[Exchange, ...] = ()
    edited: Summary | None = None

    @property
    def exchanges(self) -> tuple[Exchange, ...]:
        """All exchanges in the context in their own words; failed ones stand in the file only."""
        return tuple(one for one in (*self.carried, *self.session.exchanges) if not one.failed)

    @property
    def fresh(self) -> tuple[Exchange, ...]:
        """The exchanges of the context that no summary block covers yet."""
        restoration = self.session.restoration
        carried: tuple[Exchange, ...] = ()
        if restoration is not None and restoration.unsummarized_from:
            first = place(restoration.unsummarized_from)
            carried = tuple(one for one in self.carried if (one.depth, one.query.number) >= first)
        return tuple(one for one in (*carried, *self.session.exchanges) if not one.failed)

    def uncovered(self, exchanges: Sequence[Exchange]) -> tuple[Exchange, ...]:
        """Return those of the exchanges that no summary block covers yet."""
        fresh = {exchange.ref for exchange in self.fresh}
        return tuple(exchange for exchange in exchanges if exchange.ref in fresh)

    @property
    def inherited(self) -> Summary | None:
        """The parent's summary block."""
        if self.edited is not None:
            return self.edited
        restoration = self.session.restoration
        if restoration is None or not restoration.block:
            return None
        return summary_block.parse(restoration.block)

    @property
    def pins(self) -> tuple[str, ...]:
        """The parent's pins, then this session's, each once, without those that were unpinned."""
        parent = self.inherited
        return pinned_after(parent.pinned if parent else (), self.session.entries)


# From a thread to messages


def messages_of(thread: Thread, *, tools: bool = True) -> tuple[Message, ...]:
    """Return the messages of a whole thread, ending with the newest query when it has no reply yet.

    Without `tools`, for a provider that knows none, calls and results stand as text in the user's
    messages.
    """
    return alternating(message for _, message in pieces(thread, tools=tools))


def pieces(thread: Thread, *, tools: bool = True) -> Iterator[tuple[str, Message]]:
    """Yield the pieces of a thread's messages, each with its part of the request."""
    session = thread.session
    restoration, acknowledgment = session.restoration, session.acknowledgment
    if restoration is not None and restoration.block:
        text = restoration_text(session.header, restoration)
        if acknowledgment is not None and acknowledgment.text.strip() and not acknowledgment.failed:
            yield BLOCK, Message("user", with_task(text))
            yield BLOCK, Message("assistant", acknowledgment.text)
        else:
            yield BLOCK, Message("user", text)
    for exchange in thread.carried:
        if not exchange.failed:
            yield from ((CARRIED, message) for message in spoken(exchange))
    yield from _own(session.sent, tools=tools)


def spoken(exchange: Exchange) -> Iterator[Message]:
    """Yield the words of an exchange and the files of its query, without its tools."""
    yield query_message(exchange.query.text, exchange.attached)
    if exchange.reply is not None and exchange.reply.text.strip():
        yield Message("assistant", exchange.reply.text)


def _own(entries: Sequence[Entry], *, tools: bool) -> Iterator[tuple[str, Message]]:
    """Yield a session's own words, calls and results; calls are answered before more is said."""
    attached: dict[int, list[Attachment]] = {}
    for entry in entries:
        if isinstance(entry, Attachment):
            attached.setdefault(entry.number, []).append(entry)
    calls: dict[str, Call] = {}
    results: dict[str, Result] = {}
    for entry in entries:
        if isinstance(entry, Result) and entry.id in calls:
            results[entry.id] = entry
        said = list(_said(entry, attached))
        if calls and (said or (isinstance(entry, Call) and (results or entry.id in calls))):
            yield from _used(calls, results, tools=tools)
            calls, results = {}, {}
        yield from said
        if isinstance(entry, Call):
            calls[entry.id] = entry
    if calls:
        yield from _used(calls, results, tools=tools)


def _said(
    entry: Entry, attached: Mapping[int, Sequence[Attachment]]
) -> Iterator[tuple[str, Message]]:
    """Yield what an entry says, if it says something. A query's files are said before it."""
    match entry:
        case Query(number=number, text=text):
            if number in attached:
                yield FILES, query_message("", attached[number])
            yield OWN, Message("user", text)
        case ArchiveContext(text=text):
            yield RECALLED, Message("user", text)
        case Reply(text=text) if entry.number and text.strip():
            yield OWN, Message("assistant", text)


def _used(
    calls: Mapping[str, Call], results: Mapping[str, Result], *, tools: bool
) -> Iterator[tuple[str, Message]]:
    """Yield the calls of one step and their results."""
    returned = []
    for identity in calls:
        found = results.get(identity)
        text, failed = (INTERRUPTED, True) if found is None else (found.text, found.failed)
        returned.append(ToolResult(identity, text, failed))
    if tools:
        sent = tuple(ToolCall(call.id, call.name, call.arguments) for call in calls.values())
        yield USED, Message("assistant", "", calls=sent)
        yield USED, Message("user", "", results=tuple(returned))
        return
    for call, result in zip(calls.values(), returned, strict=True):
        verb = "failed" if result.failed else "gave"
        yield USED, Message("user", f"[{call.name} {call.arguments} {verb}: {result.text}]")


def alternating(turns: Iterable[Message]) -> tuple[Message, ...]:
    """Join neighbors of one role: a query that got no reply is sent together with the next one."""
    messages: list[Message] = []
    for turn in turns:
        if messages and messages[-1].role == turn.role:
            last = messages[-1]
            messages[-1] = Message(
                turn.role,
                "\n\n".join(filter(None, (last.text, turn.text))),
                (*last.calls, *turn.calls),
                (*last.results, *turn.results),
                (*last.images, *turn.images),
            )
        else:
            messages.append(turn)
    return tuple(messages)


def query_message(text: str, attached: Sequence[Attachment]) -> Message:
    """Return a query as it is sent: what its files hold, then its own words, if any.

    The line around a file is made of a digest of all of them, so that none can hold it.
    """
    if not attached:
        return Message("user", text)
    digest = sha256()
    for one in attached:
        if not one.is_image:
            digest.update(sha256(one.text.encode("utf-8", "surrogatepass")).digest())
    line = f"==== {digest.hexdigest()[:32]} ===="
    told, images = [], []
    for one in attached:
        name = encode_line(one.name)
        if one.is_image:
            images.append(Image(name, one.media, one.width, one.height, one.file))
            told.append(f"Attached image: {name}, {one.width}×{one.height} pixels.")
        else:
            size, end = file_size_text(one.size), "" if one.text.endswith("\n") else "\n"
            told.append(
                f"Attached file: {name}, {size}, between two lines {line}\n"
                f"{line}\n{one.text}{end}{line}"
            )
    return Message("user", "\n\n".join(filter(None, (*told, text))), images=tuple(images))


# Restoration


def restoration_text(header: Header, restoration: Restoration) -> str:
    """Return the restored block as it is sent; the same bytes for the whole life of the session."""
    counts = counts_text(restoration.queries, restoration.tokens)
    when = f"{restoration.parent_created:%Y-%m-%d %H:%M}"
    lines = [
        f"CONTEXT RESTORATION: You are continuing a previous conversation from {when}.",
        "",
        f"Previous session summary (Session ID: {header.parent}, {counts}):",
        "",
    ]
    if restoration.grandparent:
        lines.append(f"This session was resumed from: {restoration.grandparent}")
    lines += [
        f"Previous session file: {header.parent_path}",
        "",
        marker.SUMMARY_START,
        restoration.block,
        marker.SUMMARY_END,
        "",
        GUIDE,
    ]
    if restoration.verbatim_from:
        since = f"from [{restoration.verbatim_from}] on"
        lines += ["", f"What follows are the words of the conversation itself, {since}."]
    return "\n".join(lines)


def with_task(text: str) -> str:
    """Return a restoration's text with the request to confirm it."""
    return f"{text}\n\n{TASK}"


# Shortening


def clipped(text: str, most: int, count: Count) -> str:
    """Return `text` of at most `most` tokens: its middle is left out, and how much is said."""
    if 4 * len(text) <= most:  # a token is at least a byte: there is nothing to count
        return text
    tokens = count(text)
    if tokens <= most:
        return text
    half = max(20, (int(len(text) * most / tokens * 0.9) - 60) // 2)
    while True:
        missing = len(text) - 2 * half
        short = (
            f"{text[:half]}\n[... {missing} characters left out ...]\n{text[len(text) - half :]}"
        )
        if half <= 20 or count(short) <= most:
            return short
        half = max(20, half * 2 // 3)  # the ends hold more tokens than the average


def fitted(
    thread: Thread, window: int, count: Count, block_of: Callable[[str], str]
) -> tuple[Thread, int]:
    """Return a thread as it is sent, and how many of its texts are shortened: none takes more than
    half of the room. `block_of` shortens the restored block to `block_room`.
    """
    most = room(window) // 2
    shortened = 0

    def short(entry: Long) -> Long:
        nonlocal shortened
        text = clipped(entry.text, most, count)
        if text is entry.text:
            return entry
        shortened += 1
        return replace(entry, text=text)

    entries: list[Entry] = []
    for entry in thread.session.entries:
        if isinstance(entry, Query | Reply | Result | Attachment):
            entries.append(short(entry))
        elif isinstance(entry, Restoration) and (block := block_of(entry.block)) != entry.block:
            entries.append(replace(entry, block=block))
        else:
            entries.append(entry)
    carried = tuple(
        replace(
            one,
            query=short(one.query),
            reply=short(one.reply) if one.reply is not None else None,
            attached=tuple(map(short, one.attached)),
        )
        for one in thread.carried
    )
    if not shortened and all(map(is_, entries, thread.session.entries)):
        return thread, 0
    session = replace(thread.session, entries=tuple(entries))
    return replace(thread, session=session, carried=carried), shortened


def block_room(window: int) -> int:
    """Return the most tokens that the restored block may take in a window."""
    return int(room(window) * 0.6)


def shortened_block(text: str, most: int, count: Count) -> str:
    """Return a summary block's inner text with at most `most` tokens, as far as its pins allow.

    Key facts go first, the oldest before the newest, then topics, open points and decisions; pins
    stay.
    """
    if count(text) <= most:
        return text
    summary = summary_block.parse(text)
    for name in ("key_facts", "topics", "tools", "files", "pending", "decisions"):
        items: tuple[str, ...] = getattr(summary, name)
        # less is gained where neighbors share a place: it is counted again
        while items and (over := count(summary_block.render(summary)) - most) > 0:
            gained = enumerate(accumulate(count(item) + 1 for item in items), 1)
            items = items[next((left for left, gain in gained if gain >= over), len(items)) :]
            summary = replace(summary, **{name: items})
    return summary_block.render(summary)
