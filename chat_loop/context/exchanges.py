"""Exchanges (pure): turns an exchange into the messages for the model, and counts it, the same way
whether it was just said or is carried from an earlier session.
"""

from __future__ import annotations

import re
from base64 import b32encode
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from hashlib import sha256
from operator import attrgetter

from msgspec import Struct

from chat_loop.providers.replies import arguments_of
from chat_loop.sessions.escape import encode_line
from chat_loop.sessions.opaque import Origin, returned
from chat_loop.sessions.records import Attachment, Exchange, Place, ShortenedPart, Step, Use
from chat_loop.tokens import Count, image_tokens, shorten
from chat_loop.values import Image, Message, ToolCall, ToolResult, size_text

CARRIED = "Carried words"
RECALLED = "From the archive"
USED = "Tool results"
FILES = "Attached files"
OWN = "This session"
"""The parts of a request that exchanges are in."""

INTERRUPTED = "interrupted"  # the result of a call without one
NO_REPLY = "(no reply: interrupted)"
"""Stands for the reply after results, since some services refuse a user's message there."""
MESSAGE_TOKENS = 4  # the role of a message and its separators
ID_LENGTH = 9
"""The characters of a call's id, letters and digits, as Mistral's models require."""
LONG_ARGUMENTS = 50_000  # characters
_SEALED = re.compile(r"[\w+/=-]{200,}", re.ASCII)
"""A signature, or something encrypted."""
READABLE_CHARACTERS = 4
SEALED_CHARACTERS = 8
"""The characters of an opaque part that take a token, by what a service makes of them."""
SHORT_TOKENS = 160  # of a result that had to be shortened
HOW_TO_READ = ': session_archive_read reads them, as "{ref}"'

Lengths = Mapping[Place, int]
"""The tokens in which parts of exchanges are sent, if not in full."""


def place_of(exchange: Exchange, part: ShortenedPart, call: str = "") -> Place:
    """Return the place of a part of an exchange."""
    return Place(exchange.session, str(exchange.query.number), part, call)


def call_id(exchange: Exchange, number: int) -> str:
    """Return the id on the wire of the call with this number in an exchange. It is unique in the
    chain, and the same in each session that carries the exchange.
    """
    place = f"{exchange.session} {exchange.query.number} {number}"
    digest = sha256(place.encode()).digest()
    return b32encode(digest)[:ID_LENGTH].decode().lower()


def exchange_pieces(
    exchange: Exchange,
    lengths: Lengths,
    *,
    tools: bool = True,
    carried: bool = False,
    origin: Origin | None = None,
) -> Iterator[tuple[str, Message]]:
    """Yield the pieces of an exchange's messages, each with the name of its part of the request.
    Without `tools`, calls and results become text of the user. What was recalled for the query is
    not carried. Steps have the opaque parts that came from `origin`, to which they are sent.
    """
    if exchange.attached:
        yield FILES, query_message("", exchange.attached)
    text = _sent(exchange.query.text, exchange, "query", lengths)
    if text or not exchange.attached:
        yield OWN, Message("user", text)
    for name in exchange.left_out:
        note = f"[{encode_line(name)} was not sent: it may contain keys.]"
        yield FILES, Message("user", note)
    if exchange.recalled and not carried:
        yield RECALLED, Message("user", exchange.recalled)
    number = 0
    for step in exchange.steps or (Step(exchange.reply, exchange.uses),):
        opaque = returned(step.opaque, origin) if tools else ""
        if step.reply is not None and step.reply.text.strip():
            text = _sent(step.reply.text, exchange, "reply", lengths)
            yield OWN, Message("assistant", text, opaque="" if step.uses else opaque)
        if step.uses:
            sent = [_use(exchange, use, number + at, lengths) for at, use in enumerate(step.uses)]
            yield from _step(sent, opaque, tools=tools)
            number += len(step.uses)


def _sent(text: str, exchange: Exchange, part: ShortenedPart, lengths: Lengths) -> str:
    """Return the words of the user or the model as they are sent."""
    if not lengths:  # nearly always, and asked of each message of each request
        return text
    tokens = lengths.get(place_of(exchange, part))
    return text if tokens is None else shorten(text, tokens, HOW_TO_READ.format(ref=exchange.ref))


def _use(
    exchange: Exchange, use: Use, number: int, lengths: Lengths
) -> tuple[ToolCall, ToolResult]:
    """Return a call and its result as they are sent."""
    identity = call_id(exchange, number)
    call = ToolCall(identity, use.call.name, _sent_arguments(use.call.arguments))
    if use.result is None:
        return call, ToolResult(identity, INTERRUPTED, failed=True)
    return call, ToolResult(identity, result_text(exchange, use, lengths), use.result.failed)


@lru_cache(maxsize=16)
def _sent_arguments(arguments: str) -> str:
    """Return arguments as they are sent: of long ones that are no JSON and so were not used, only
    the ends.
    """
    if len(arguments) <= LONG_ARGUMENTS or arguments_of(arguments) is not None:
        return arguments
    return shorten(arguments, SHORT_TOKENS, ": not kept")


def result_text(exchange: Exchange, use: Use, lengths: Lengths) -> str:
    """Return the result of a call as it is sent."""
    if use.result is None:
        return INTERRUPTED
    note = HOW_TO_READ.format(ref=exchange.ref)
    text = use.result.text
    if use.result.not_kept:
        note = ": not kept"
        text += f"\n[… the last {size_text(use.result.not_kept)} were not kept …]"
    tokens = lengths.get(place_of(exchange, "result", use.call.id), use.result.given)
    return text if tokens is None else shorten(text, tokens, note)


def _step(
    uses: Sequence[tuple[ToolCall, ToolResult]], opaque: str, *, tools: bool
) -> Iterator[tuple[str, Message]]:
    """Yield the calls of one step and their results, as text if the model has no tools."""
    if tools:
        calls = tuple(call for call, _ in uses)
        results = tuple(result for _, result in uses)
        yield USED, Message("assistant", "", calls=calls, opaque=opaque)
        yield USED, Message("user", "", results=results)
        return
    for call, result in uses:
        verb = "failed" if result.failed else "gave"
        text = f"[{call.name} {call.arguments} {verb}: {result.text}]"
        yield USED, Message("user", text)


def query_message(text: str, attached: Sequence[Attachment]) -> Message:
    """Return a query as it is sent: its files between unique fences, then its text."""
    if not attached:
        return Message("user", text)
    whole = "".join(file.text for file in attached).encode("utf-8", "surrogatepass")
    fence = f"==== {sha256(whole).hexdigest()[:32]} ===="
    texts = []
    images = []
    for file in attached:
        about = attached_text(file)
        name = encode_line(file.name)
        if file.is_image:
            texts.append(f"{about}.")
            images.append(Image(name, file.media, file.width, file.height, file.file))
        else:
            body = file.text if file.text.endswith("\n") else f"{file.text}\n"
            texts.append(f"{about}, between two lines {fence}\n{fence}\n{body}{fence}")
    return Message("user", "\n\n".join(filter(None, (*texts, text))), images=tuple(images))


def attached_text(file: Attachment) -> str:
    """Return a description of an attached file for the model."""
    kind = "image" if file.is_image else "file"
    size = f"{file.width}×{file.height} pixels" if file.is_image else size_text(file.size)
    return f"Attached {kind}: {encode_line(file.name)}, {size}"


def message_tokens(message: Message, count: Count) -> int:
    """Return the tokens of a message, with its images."""
    tokens = MESSAGE_TOKENS + (count(message.text) if message.text else 0)
    tokens += sum(count(f"{call.name} {call.arguments}") + MESSAGE_TOKENS for call in message.calls)
    tokens += sum(count(result.text) + MESSAGE_TOKENS for result in message.results)
    tokens += sum(image_tokens(image.width, image.height) for image in message.images)
    return tokens + opaque_tokens(message.opaque)


@lru_cache(maxsize=256)
def opaque_tokens(text: str) -> int:
    """Estimate the tokens of an opaque part, of which only its service knows what it contains."""
    readable = len(_SEALED.sub("", text))
    return readable // READABLE_CHARACTERS + (len(text) - readable) // SEALED_CHARACTERS


def exchange_tokens(
    exchange: Exchange,
    count: Count,
    lengths: Lengths | None = None,
    *,
    carried: bool = False,
    origin: Origin | None = None,
) -> int:
    """Return the tokens of an exchange as it is sent to `origin`."""
    pieces = exchange_pieces(exchange, lengths or {}, carried=carried, origin=origin)
    return sum(message_tokens(message, count) for _, message in pieces)


class _Candidate(Struct, frozen=True):
    """A result that can be shortened, with its present tokens."""

    place: Place
    tokens: int


def shorten_results(
    exchanges: Sequence[Exchange],
    lengths: Lengths,
    excess: int,
    count: Count,
    *,
    spares_newest: bool = True,
) -> dict[Place, int]:
    """Return the lengths of the results to shorten so that at least `excess` tokens are saved, or
    all that can be: from the oldest exchange on, the largest first. With `spares_newest`, the
    results of the newest step stay, since the model has not seen them yet.
    """
    cuts: dict[Place, int] = {}
    for number, exchange in enumerate(exchanges):
        is_newest = number == len(exchanges) - 1
        steps = exchange.steps[:-1] if is_newest and spares_newest else exchange.steps
        candidates = [
            _candidate(exchange, use, lengths, count) for step in steps for use in step.uses
        ]
        for candidate in sorted(candidates, key=attrgetter("tokens"), reverse=True):
            if excess <= 0:
                return cuts
            if candidate.tokens > 2 * SHORT_TOKENS:
                cuts[candidate.place] = SHORT_TOKENS
                excess -= candidate.tokens - SHORT_TOKENS
    return cuts


def _candidate(exchange: Exchange, use: Use, lengths: Lengths, count: Count) -> _Candidate:
    place = place_of(exchange, "result", use.call.id)
    return _Candidate(place, count(result_text(exchange, use, lengths)))
