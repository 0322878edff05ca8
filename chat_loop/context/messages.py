"""From a thread to the messages that are sent: the restored block, the carried words, then the
session's exchanges.

They always alternate. A session's earlier messages never change from one request to the next, so
that a provider's prompt cache holds.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from chat_loop.context.restore import acknowledgment_request, restoration_text
from chat_loop.context.thread import Thread
from chat_loop.sessions.records import (
    ArchiveContext,
    Attachment,
    Call,
    Entry,
    Exchange,
    Query,
    Reply,
    Result,
)
from chat_loop.values import Message, ToolCall, ToolResult

BLOCK, CARRIED, RECALLED, USED, FILES, OWN = (
    *("Restored block", "Carried words", "From the archive", "Tool results", "Attached files"),
    "This session",
)
"""The parts of a context that messages belong to."""
INTERRUPTED = "interrupted"
"""The result of a call that has none."""


def messages_of(thread: Thread, *, tools: bool = True) -> tuple[Message, ...]:
    """Return the messages of a whole thread, ending with the newest query when it has no reply yet.

    Without `tools`, for a provider that knows none, calls and results stand as text in the user's
    messages.
    """
    return alternating(message for _, message in pieces(thread, tools=tools))


def pieces(thread: Thread, *, tools: bool = True) -> Iterator[tuple[str, Message]]:
    """Yield what a thread's messages are made of, each with the part of the context it belongs
    to.
    """
    session = thread.session
    restoration, acknowledgment = session.restoration, session.acknowledgment
    if restoration is not None and restoration.block:
        if acknowledgment is not None and acknowledgment.text.strip() and not acknowledgment.failed:
            yield BLOCK, Message("user", acknowledgment_request(session.header, restoration))
            yield BLOCK, Message("assistant", acknowledgment.text)
        else:
            yield BLOCK, Message("user", restoration_text(session.header, restoration))
    for exchange in thread.carried:
        if not exchange.failed:
            yield from ((CARRIED, message) for message in spoken(exchange))
    yield from _own(session.sent, tools=tools)


def spoken(exchange: Exchange) -> Iterator[Message]:
    """The words of an exchange and the files of its query, without its tools."""
    yield _asked(exchange.query.text, exchange.attached)
    if exchange.reply is not None and exchange.reply.text.strip():
        yield Message("assistant", exchange.reply.text)


def _own(entries: Iterable[Entry], *, tools: bool) -> Iterator[tuple[str, Message]]:
    """A session's own words, calls and results. Every call is answered before anything else is
    said.
    """
    entries = tuple(entries)
    attached: dict[int, list[Attachment]] = {}
    for entry in entries:
        if isinstance(entry, Attachment):
            attached.setdefault(entry.number, []).append(entry)
    calls: list[Call] = []
    results: dict[str, Result] = {}
    for entry in entries:
        if isinstance(entry, Result):
            if any(call.id == entry.id for call in calls):
                results[entry.id] = entry
            continue
        said = tuple(_said(entry, attached))
        another = isinstance(entry, Call) and (
            results or any(call.id == entry.id for call in calls)
        )
        if said or another:
            yield from ((USED, message) for message in _used(calls, results, tools=tools))
            calls, results = [], {}
        yield from said
        if isinstance(entry, Call):
            calls.append(entry)
    yield from ((USED, message) for message in _used(calls, results, tools=tools))


def _said(
    entry: Entry, attached: Mapping[int, Sequence[Attachment]]
) -> Iterator[tuple[str, Message]]:
    """What an entry says, if it says something. A query's files are said before it."""
    if isinstance(entry, Query):
        if entry.number in attached:
            yield FILES, _asked("", attached[entry.number])
        yield OWN, Message("user", entry.text)
    elif isinstance(entry, ArchiveContext):
        yield RECALLED, Message("user", entry.text)
    elif isinstance(entry, Reply) and entry.number and entry.text.strip():
        yield OWN, Message("assistant", entry.text)


def _asked(text: str, attached: Sequence[Attachment]) -> Message:
    if not attached:
        return Message("user", text)
    from chat_loop.context.attached import asked  # not before there is a file

    return asked(text, attached)


def _used(calls: list[Call], results: dict[str, Result], *, tools: bool) -> Iterator[Message]:
    """The calls of one step and what they gave."""
    if not calls:
        return
    if tools:
        yield Message(
            "assistant",
            "",
            calls=tuple(ToolCall(call.id, call.name, call.arguments) for call in calls),
        )
        yield Message(
            "user", "", results=tuple(_result(call, results.get(call.id)) for call in calls)
        )
        return
    for call in calls:
        given = _result(call, results.get(call.id))
        yield Message(
            "user",
            f"[{call.name} {call.arguments} {'failed' if given.failed else 'gave'}: {given.text}]",
        )


def _result(call: Call, result: Result | None) -> ToolResult:
    if result is None:
        return ToolResult(call.id, INTERRUPTED, failed=True)
    return ToolResult(call.id, result.text, result.failed)


def alternating(turns: Iterable[Message]) -> tuple[Message, ...]:
    """Join neighbours of one role: a query that got no reply is sent together with the next one."""
    messages: list[Message] = []
    for turn in turns:
        if messages and messages[-1].role == turn.role:
            last = messages[-1]
            text = "\n\n".join(filter(None, (last.text, turn.text)))
            messages[-1] = Message(
                turn.role,
                text,
                (*last.calls, *turn.calls),
                (*last.results, *turn.results),
                (*last.images, *turn.images),
            )
        else:
            messages.append(turn)
    return tuple(messages)
