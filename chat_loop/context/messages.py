"""Messages (pure): turns a context into the messages for the model. Earlier messages never change,
so that the provider's prompt cache stays valid.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from functools import cache, cached_property
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from chat_loop.context import budget
from chat_loop.context.budget import room
from chat_loop.context.exchanges import CARRIED, NO_REPLY, USED, exchange_pieces
from chat_loop.sessions import marker, records, summary_block
from chat_loop.sessions.opaque import Origin
from chat_loop.sessions.records import (
    Exchange,
    Restoration,
    Session,
    Summary,
    Undo,
    place_of_ref,
)
from chat_loop.tokens import Count
from chat_loop.values import Message, counts_text

_GIVING_WAY = ("key_facts", "topics", "tools", "files", "pending", "decisions")
"""The lists of a block that is too large, in the order in which their items are removed."""


@cache
def prompt(name: str) -> str:
    """Return one of the program's own prompts."""
    return (Path(__file__).parent / "prompts" / name).read_text("utf-8").removesuffix("\n")


class Context(Struct, frozen=True, dict=True):
    """A session and the exchanges of its ancestors that it carries word for word, oldest first.
    `delayed_block` is the parent's summary block if it was made after the session began.
    """

    session: Session
    carried: tuple[Exchange, ...] = ()
    delayed_block: Summary | None = None

    @cached_property
    def exchanges(self) -> tuple[Exchange, ...]:
        """All exchanges that are in the context verbatim; failed ones are only in the file."""
        return tuple(
            exchange for exchange in (*self.carried, *self.session.exchanges) if not exchange.failed
        )

    @property
    def refs(self) -> frozenset[str]:
        """The references of the exchanges that are in the context verbatim."""
        return frozenset(exchange.ref for exchange in self.exchanges)

    @property
    def whole_refs(self) -> frozenset[str]:
        """The references of those of which nothing is shortened."""
        cut = {(part.session, part.number) for part in self.session.shortened}
        return frozenset(
            exchange.ref
            for exchange in self.exchanges
            if (exchange.session, str(exchange.number)) not in cut
        )

    @property
    def unsought_refs(self) -> frozenset[str]:
        """The same and those of what was undone: the archive need not find them."""
        standing = self.session.standing.values()
        return self.whole_refs | {entry.ref for entry in standing if isinstance(entry, Undo)}

    @cached_property
    def unsummarized(self) -> tuple[Exchange, ...]:
        """The exchanges of the context that no summary block covers yet."""
        covered = self.session.covered
        if covered is None:
            return self.after_block
        last = place_of_ref(covered.last_ref)
        return tuple(
            exchange for exchange in self.exchanges if (exchange.depth, exchange.number) > last
        )

    @cached_property
    def after_block(self) -> tuple[Exchange, ...]:
        """The exchanges of the context that the block which is sent does not cover. One that was
        brought back was undone when the block was made.
        """
        restoration = self.session.restoration
        first = place_of_ref(restoration.unsummarized_from) if restoration is not None else (0, 0)
        own = self.session.depth
        changed = self.session.changed
        return tuple(
            exchange
            for exchange in self.exchanges
            if exchange.depth == own
            or exchange.key in changed
            or (first != (0, 0) and (exchange.depth, exchange.number) >= first)
        )

    def can_undo(self, exchange: Exchange) -> bool:
        """Return True if an exchange can be taken out of the context: it is there word for word,
        and no summary that is sent tells of it.
        """
        if exchange.session == self.session.id:
            return True
        exchanges = self.unsummarized if self.session.block else self.exchanges
        return any(each.key == exchange.key for each in exchanges)

    def unsummarized_of(self, exchanges: Sequence[Exchange]) -> tuple[Exchange, ...]:
        """Return the given exchanges that no summary block covers yet."""
        refs = {exchange.ref for exchange in self.unsummarized}
        return tuple(exchange for exchange in exchanges if exchange.ref in refs)

    @cached_property
    def parent_block(self) -> Summary | None:
        """The block of all that is summarized: the covered one, if there is one, or that which is
        sent.
        """
        covered = self.session.covered
        return self.sent_block if covered is None else summary_block.parse(covered.block)

    @cached_property
    def sent_block(self) -> Summary | None:
        """The block with which the context begins."""
        block = self.session.block
        if self.delayed_block is not None or not block:
            return self.delayed_block
        return summary_block.parse(block)

    @property
    def pins(self) -> tuple[str, ...]:
        """The parent's pins, then this session's, without duplicates or unpinned ones.
        Decisions come first.
        """
        before = parent.pinned if (parent := self.parent_block) else ()
        pins = records.remaining(before, self.session.entries, records.Pin, records.Unpin)
        return tuple(sorted(pins, key=lambda pin: not pin.startswith(summary_block.DECIDED)))


def messages_of(
    context: Context,
    *,
    tools: bool = True,
    origin: Origin | None = None,
    after: Sequence[Message] = (),
) -> tuple[Message, ...]:
    """Return a context's messages, with others `after` them. Without `tools`, calls and results
    become user text. Opaque parts are those that came from `origin`.
    """
    messages: list[Message] = []
    last = [(budget.BLOCK, message) for message in after]
    for part, piece in (*pieces(context, tools=tools, origin=origin), *last):
        if not messages or messages[-1].role != piece.role:
            messages.append(piece)
        elif messages[-1].results and part != USED:
            messages += [Message("assistant", NO_REPLY), piece]
        else:
            messages[-1] = _joined(messages[-1], piece)
    return tuple(messages)


def _joined(first: Message, second: Message) -> Message:
    return Message(
        first.role,
        "\n\n".join(filter(None, (first.text, second.text))),
        (*first.calls, *second.calls),
        (*first.results, *second.results),
        (*first.images, *second.images),
        first.opaque or second.opaque,
    )


def pieces(
    context: Context, *, tools: bool = True, origin: Origin | None = None
) -> Iterator[tuple[str, Message]]:
    """Yield the pieces of a context's messages, each with the name of its part of the request."""
    session = context.session
    restoration = session.restoration
    acknowledgment = session.acknowledgment
    if restoration is not None and restoration.block:
        yield budget.BLOCK, Message("user", restoration_text(session.header, restoration))
    lengths = session.shortened
    for exchange in context.carried:
        if not exchange.failed:
            for _, message in exchange_pieces(exchange, lengths, tools=tools, origin=origin):
                yield CARRIED, message
    if acknowledgment is not None and acknowledgment.text.strip() and not acknowledgment.failed:
        yield budget.BLOCK, Message("user", prompt("acknowledge.txt"))
        yield budget.BLOCK, Message("assistant", acknowledgment.text)
    for exchange in session.exchanges:
        if not exchange.failed:
            yield from exchange_pieces(exchange, lengths, tools=tools, origin=origin)


def restoration_text(header: records.Header, restoration: Restoration) -> str:
    """Return the restored block as it is sent. Its bytes never change while the session is open."""
    counts = counts_text(restoration.queries, restoration.tokens)
    grandparent = ""
    since = ""
    if restoration.grandparent:
        grandparent = f"This session was resumed from: {restoration.grandparent}\n"
    if restoration.verbatim_from:
        since = (
            "\n\nWhat follows are the words of the conversation itself, "
            f"from [{restoration.verbatim_from}] on."
        )
    return f"""\
CONTEXT RESTORATION: You are continuing a previous conversation from \
{restoration.parent_created:%Y-%m-%d %H:%M}.

Previous session summary (Session ID: {header.parent}, {counts}):

{grandparent}Previous session file: {header.parent_path}

{marker.SUMMARY_START}
{restoration.block}
{marker.SUMMARY_END}

{prompt("guide.txt")}{since}"""


def clip(text: str, limit: int, count: Count) -> str:
    """Return `text` in at most `limit` tokens. A note in the middle says how much was cut."""
    if 4 * len(text) <= limit:  # a character has at most 4 bytes, a token at least 1
        return text
    tokens = count(text)
    if tokens <= limit:
        return text
    half = max(20, (int(len(text) * limit / tokens * 0.9) - 60) // 2)
    while True:
        missing = len(text) - 2 * half
        short = (
            f"{text[:half]}\n[... {missing} characters left out ...]\n{text[len(text) - half :]}"
        )
        if half <= 20 or count(short) <= limit:
            return short
        half = max(20, half * 2 // 3)  # the ends have more tokens per character than the whole


def block_room(window: int) -> int:
    """Return the maximum tokens of the restored block in a window."""
    return int(room(window) * 0.6)


def shorten_block(text: str, limit: int, count: Count) -> str:
    """Shorten a block to `limit` tokens. Key facts are removed first, beginning with the oldest. A
    text that takes more than a third, such as a book that somebody pasted, loses its middle before.
    """
    if count(text) <= limit:
        return text
    summary = summary_block.parse(text)
    summary = replace(summary, background=clip(summary.background, limit // 3, count))
    render = summary_block.render
    for name in _GIVING_WAY:
        texts = tuple(clip(item, limit // 3, count) for item in getattr(summary, name))
        summary = replace(summary, **{name: texts})
    for name in _GIVING_WAY:
        items: tuple[str, ...] = getattr(summary, name)
        shorter = [replace(summary, **{name: items[cut:]}) for cut in range(len(items) + 1)]
        # sorted from longest to shortest: find the first that fits
        fits = bisect_left(shorter, -limit, hi=len(items), key=lambda short: -count(render(short)))
        summary = shorter[fits]
    return render(summary)
