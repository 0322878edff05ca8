"""What a request holds: the messages that fit, and what the archive has on the query."""

from __future__ import annotations

from dataclasses import replace

from chat_loop.chain.head import Head
from chat_loop.chain.options import Options
from chat_loop.context.budget import room
from chat_loop.context.fit import check
from chat_loop.context.plan import truncated
from chat_loop.context.thread import Thread
from chat_loop.events import Recalled, Warned
from chat_loop.sessions.entries import OF_QUERY, Recall
from chat_loop.values import Message

MOST_RECALLED = 400
"""Tokens of the archive that are attached to a query, at most; less on a small window."""
RECALL_MARGIN = 20


def recall(head: Head, options: Options, number: int, text: str) -> None:
    """Attach what the archive has on query `number`, for a model that cannot search it itself."""
    if not options.attach_from_archive or head.agent.calls_tools or head.archive is None:
        return
    restoration = head.session.restoration
    if restoration is None:
        return
    free = room(head.window) - head.budget.used - RECALL_MARGIN
    found, refs = head.archive.recall(
        text, head.known(), min(MOST_RECALLED, head.window // 16, free), restoration.block
    )
    if found:
        from chat_loop.redact import redacted  # not before something is found

        head.add(Recall(number=number, at=head.sessions.now(), text=redacted(found)))
        head.show(Recalled(refs))


class Asking:
    """Makes the requests of a conversation."""

    def __init__(self, head: Head, options: Options) -> None:
        self._head = head
        self._options = options
        self._shortened_told = 0
        self._images_told: set[str] = set()

    def may_ask_again(self) -> bool:
        """Whether the newest query can be asked anew: none of its tools ran, whose work would be done twice."""
        last = self._head.session.exchanges[-1]
        return not last.uses and not (last.reply and last.reply.text)

    def messages(self) -> tuple[Message, ...]:
        """The messages of the next request. Raises ContextFull when they do not fit."""
        head, limits = self._head, self._options.limits
        thread = head.thread
        if not limits.enabled and (limits.max_messages or limits.max_tokens):
            thread = self._truncated(thread)
        messages, shortened = head.fitted(thread)
        if shortened > self._shortened_told:
            head.show(
                Warned(
                    f"A message is longer than half of the window ({head.window:,} tokens): the model gets its "
                    "beginning and its end.",
                    "It is saved whole.",
                )
            )
        self._shortened_told = shortened
        check(head.budget.used, messages, head.agent.system, head.window, head.count)
        if not any(message.images for message in messages):
            return messages
        from chat_loop.chain.attaching import shown  # not before there is an image

        return shown(head, messages, self._images_told)

    def _truncated(self, thread: Thread) -> Thread:
        """The newest of a thread, within the limits that hold when nothing is compacted."""
        head, limits = self._head, self._options.limits
        kept = truncated(thread.exchanges, window=head.window, limits=limits, count=head.count)
        own = {exchange.query.number for exchange in kept if exchange.depth == thread.session.depth}
        entries = tuple(
            entry
            for entry in thread.session.entries
            if not isinstance(entry, OF_QUERY) or entry.number in own or not entry.number
        )
        carried = tuple(exchange for exchange in thread.carried if exchange in kept)
        return replace(thread, carried=carried, session=replace(thread.session, entries=entries))
