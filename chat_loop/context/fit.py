"""Fitting (pure): messages that are too long for the window are shortened for the model, and only
there.
"""

from __future__ import annotations

from collections.abc import Callable
from operator import is_

from msgspec.structs import replace

from chat_loop.context.budget import Count, room
from chat_loop.context.thread import Thread
from chat_loop.errors import ContextFull
from chat_loop.sessions import summary_block
from chat_loop.sessions.records import (
    Attachment,
    Entry,
    Exchange,
    Query,
    Reply,
    Restoration,
    Result,
)
from chat_loop.tokens import estimate
from chat_loop.wording import window_text

_LONG = (Query, Reply, Result, Attachment)
"""What may be too long for the window."""
BLOCK_SHARE = 0.6
"""The most of a request's room that the restored block may take."""


def clipped(text: str, most: int, count: Count) -> str:
    """`text` with its middle left out when it is longer than `most` tokens; what is missing is
    said.
    """
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
    """A thread as it is sent, and how many of its texts are shortened: none takes more than half of
    the room.

    `block_of` shortens the restored block to `block_room` (the caller may remember what it gave).
    """
    most = room(window) // 2
    shortened = 0

    def short(text: str) -> str:
        nonlocal shortened
        if 4 * len(text) <= most or count(text) <= most:  # a token is at least a byte
            return text
        shortened += 1
        return clipped(text, most, count)

    def entry_of(entry: Entry) -> Entry:
        if isinstance(entry, Restoration):
            text = block_of(entry.block)
            return entry if text is entry.block else replace(entry, block=text)
        if isinstance(entry, _LONG):
            text = short(entry.text)
            return entry if text is entry.text else replace(entry, text=text)
        return entry

    def exchange_of(exchange: Exchange) -> Exchange:
        query, reply = entry_of(exchange.query), exchange.reply and entry_of(exchange.reply)
        attached = tuple(map(entry_of, exchange.attached))
        if (
            query is exchange.query
            and reply is exchange.reply
            and all(map(is_, attached, exchange.attached))
        ):
            return exchange
        assert isinstance(query, Query)
        assert reply is None or isinstance(reply, Reply)
        files = tuple(file for file in attached if isinstance(file, Attachment))
        return replace(exchange, query=query, reply=reply, attached=files)

    entries = tuple(map(entry_of, thread.session.entries))
    carried = tuple(map(exchange_of, thread.carried))
    if not shortened and all(map(is_, entries, thread.session.entries)):
        return thread, 0
    return replace(
        thread, session=replace(thread.session, entries=entries), carried=carried
    ), shortened


def check(used: int, window: int) -> None:
    """Raise ContextFull when a request of `used` tokens is too large for the window: it is better
    not sent.
    """
    if used > room(window):
        raise ContextFull(
            f"Not sent: the request would hold {used:,} tokens, and the window of "
            f"{window_text(window, False)} takes "
            f"{room(window):,} beside a reply. Nothing is lost.",
            "compact makes room; a model with a larger window takes more.",
        )


def block_room(window: int) -> int:
    """The most tokens that the restored block may take in a window."""
    return int(room(window) * BLOCK_SHARE)


def shortened_block(text: str, most: int, count: Count) -> str:
    """Return a summary block's inner text with at most `most` tokens, as far as its pins allow.

    Key facts go first, the oldest before the newest, then topics, open points and decisions; pins
    stay.
    """
    if 2 * estimate(text) <= most or count(text) <= most:  # an estimate is never half of the truth
        return text
    summary = summary_block.parse(text)
    lists: dict[str, tuple[str, ...]]
    for name in ("key_facts", "topics", "tools", "files", "pending", "decisions"):
        items: tuple[str, ...] = getattr(summary, name)
        while items and (over := count(summary_block.render(summary)) - most) > 0:
            left = 0
            while (
                left < len(items) and over > 0
            ):  # less is gained where neighbors share a place: it is counted again
                over -= count(items[left]) + 1
                left += 1
            items = items[left:]
            lists = {name: items}
            summary = replace(summary, **lists)
    return summary_block.render(summary)
