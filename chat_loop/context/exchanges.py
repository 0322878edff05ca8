"""Exchanges (pure): turns an exchange into the messages for the model, and counts it, the same way
whether it was just said or is carried from an earlier session.
"""

from __future__ import annotations

import re
from base64 import b32encode
from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from hashlib import sha256
from operator import attrgetter

from msgspec import Struct
from msgspec.structs import replace

from chat_loop.providers.replies import arguments_of
from chat_loop.sessions.escape import encode_line
from chat_loop.sessions.opaque import Origin, returned
from chat_loop.sessions.records import Attachment, Exchange, ExchangePart, ShortenedPart, Step, Use
from chat_loop.tokens import Count, estimate, image_tokens, shorten
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
LEAST_TOKENS = 40  # of words and results that have to be shortened at last
HOW_TO_READ = ': session_archive_read reads them, as "{ref}"'

Lengths = Mapping[ExchangePart, int]
"""The tokens in which parts of exchanges are sent, if not in full."""


def part_of(exchange: Exchange, part: ShortenedPart, call: str = "") -> ExchangePart:
    """Return a part of an exchange, as it is found in a chain."""
    return ExchangePart(exchange.session, str(exchange.number), part, call)


def call_id(exchange: Exchange, number: int) -> str:
    """Return the id on the wire of the call with this number in an exchange. It is unique in the
    chain, and the same in each session that carries the exchange.
    """
    key = f"{exchange.session} {exchange.number} {number}"
    digest = sha256(key.encode()).digest()
    return b32encode(digest)[:ID_LENGTH].decode().lower()


def exchange_pieces(
    exchange: Exchange,
    lengths: Lengths,
    *,
    tools: bool = True,
    origin: Origin | None = None,
) -> Iterator[tuple[str, Message]]:
    """Yield the pieces of an exchange's messages, each with the name of its part of the request.
    Without `tools`, calls and results become text of the user. What was recalled for the query
    stands before it, since a small model answers what comes last, and is sent until the query is
    answered: that model would copy it into later replies. Steps have the opaque parts that came
    from `origin`, to which they are sent.
    """
    if exchange.attached:
        yield FILES, query_message("", _sent_files(exchange, lengths, tools=tools))
    if exchange.recalled and exchange.reply is None:
        yield RECALLED, Message("user", exchange.recalled)
    text = _sent(exchange.query.text, exchange, "query", lengths, tools=tools)
    if text or not exchange.attached:
        yield OWN, Message("user", text)
    for name in exchange.left_out:
        note = f"[{encode_line(name)} was not sent: it may contain keys.]"
        yield FILES, Message("user", note)
    steps = exchange.steps or (Step(exchange.reply, exchange.uses),)
    left_out = _left_out_steps(exchange, lengths)
    number = sum(len(step.uses) for step in steps[:left_out])
    if left_out:
        yield USED, Message("user", _steps_note(exchange, left_out, number, tools=tools))
    for step in steps[left_out:]:
        opaque = returned(step.opaque, origin) if tools else ""
        if step.reply is not None and step.reply.text.strip():
            text = _sent(step.reply.text, exchange, "reply", lengths, tools=tools)
            yield OWN, Message("assistant", text, opaque="" if step.uses else opaque)
        if step.uses:
            sent = [
                _use(exchange, use, number + at, lengths, tools=tools)
                for at, use in enumerate(step.uses)
            ]
            yield from _step(sent, opaque, tools=tools)
            number += len(step.uses)


def _sent(
    text: str, exchange: Exchange, part: ShortenedPart, lengths: Lengths, *, tools: bool
) -> str:
    """Return the words of the user or the model as they are sent."""
    if not lengths:  # nearly always, and asked of each message of each request
        return text
    tokens = lengths.get(part_of(exchange, part))
    return text if tokens is None else shorten(text, tokens, _how_to_read(exchange, tools=tools))


def _sent_files(exchange: Exchange, lengths: Lengths, *, tools: bool) -> tuple[Attachment, ...]:
    """Return the files of a query as they are sent: each is as long as its words may be."""
    if not lengths:
        return exchange.attached
    return tuple(
        replace(file, text=_sent(file.text, exchange, "query", lengths, tools=tools))
        for file in exchange.attached
    )


def _how_to_read(exchange: Exchange, *, tools: bool) -> str:
    """Return how the model reads what is left out of an exchange: not at all without `tools`."""
    return HOW_TO_READ.format(ref=exchange.ref) if tools else ""


def _left_out_steps(exchange: Exchange, lengths: Lengths) -> int:
    """Return the number of the first steps of an exchange that are not sent."""
    if not lengths:
        return 0
    left_out = 0
    for number, step in enumerate(exchange.steps, start=1):
        if step.uses and _steps_part(exchange, step) in lengths:
            left_out = number
    return left_out


def _steps_part(exchange: Exchange, step: Step) -> ExchangePart:
    """Return the part with the steps up to one with calls."""
    return part_of(exchange, "steps", step.uses[-1].call.id)


def _steps_note(exchange: Exchange, steps: int, calls: int, *, tools: bool) -> str:
    how = _how_to_read(exchange, tools=tools)
    return f"[… the first {steps:,} steps of the reply, with {calls:,} calls, left out{how} …]"


def _use(
    exchange: Exchange, use: Use, number: int, lengths: Lengths, *, tools: bool
) -> tuple[ToolCall, ToolResult]:
    """Return a call and its result as they are sent."""
    identity = call_id(exchange, number)
    call = ToolCall(identity, use.call.name, _sent_arguments(use.call.arguments))
    if use.result is None:
        return call, ToolResult(identity, INTERRUPTED, failed=True)
    text = result_text(exchange, use, lengths, tools=tools)
    return call, ToolResult(identity, text, use.result.failed)


@lru_cache(maxsize=16)
def _sent_arguments(arguments: str) -> str:
    """Return arguments as they are sent: of long ones that are no JSON and so were not used, only
    the ends.
    """
    if len(arguments) <= LONG_ARGUMENTS or arguments_of(arguments) is not None:
        return arguments
    return shorten(arguments, SHORT_TOKENS, ": not kept")


def result_text(exchange: Exchange, use: Use, lengths: Lengths, *, tools: bool = True) -> str:
    """Return the result of a call as it is sent."""
    if use.result is None:
        return INTERRUPTED
    note = _how_to_read(exchange, tools=tools)
    text = use.result.text
    if use.result.not_kept:
        note = ": not kept"
        text += f"\n[… the last {size_text(use.result.not_kept)} were not kept …]"
    tokens = lengths.get(part_of(exchange, "result", use.call.id), use.result.given)
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
    origin: Origin | None = None,
) -> int:
    """Return the tokens of an exchange as it is sent to `origin`."""
    pieces = exchange_pieces(exchange, lengths or {}, origin=origin)
    return sum(message_tokens(message, count) for _, message in pieces)


class _Candidate(Struct, frozen=True):
    """A result that can be shortened, with its present tokens."""

    part: ExchangePart
    tokens: int


def shorten_results(
    exchanges: Sequence[Exchange],
    lengths: Lengths,
    excess: int,
    count: Count,
    *,
    spares_newest: bool = True,
) -> dict[ExchangePart, int]:
    """Return the lengths of the results to shorten so that at least `excess` tokens are saved, or
    all that can be: from the oldest exchange on, the largest first. With `spares_newest`, the
    results of the newest step stay, since the model has not seen them yet.
    """
    cuts: dict[ExchangePart, int] = {}
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
                cuts[candidate.part] = SHORT_TOKENS
                excess -= candidate.tokens - SHORT_TOKENS
    return cuts


def squeeze(
    exchange: Exchange,
    lengths: Lengths,
    limit: int,
    count: Count,
    origin: Origin | None = None,
) -> dict[ExchangePart, int]:
    """Return the lengths with which an exchange has at most `limit` tokens, as a last resort. Its
    oldest steps are left out, then the results of the newest one are shortened, then its words.
    Nothing becomes shorter than its mark, so more than `limit` may be left.
    """

    def size(cuts: Lengths) -> int:
        return exchange_tokens(exchange, count, {**lengths, **cuts}, origin=origin)

    cuts: dict[ExchangePart, int] = {}
    if size(cuts) <= limit:
        return cuts
    left_out = _left_out_steps(exchange, lengths)
    parts = [_steps_part(exchange, step) for step in exchange.steps[left_out:-1] if step.uses]
    if parts:
        # the more steps are left out, the smaller it is
        at = bisect_left(parts, -limit, key=lambda part: -size({part: 0}))
        cuts = {parts[min(at, len(parts) - 1)]: 0}
    results = {
        part_of(exchange, "result", use.call.id): estimate(result_text(exchange, use, lengths))
        for step in exchange.steps[-1:]
        for use in step.uses
    }
    cuts = _capped(results, cuts, size, limit)
    texts = [exchange.query.text, *(file.text for file in exchange.attached)]
    replies = [step.reply.text for step in exchange.steps if step.reply is not None]
    estimates = {
        part_of(exchange, "query"): max(map(estimate, texts)),
        part_of(exchange, "reply"): max(map(estimate, replies), default=0),
    }
    return _capped(estimates, cuts, size, limit)


def _capped(
    sizes: Mapping[ExchangePart, int],
    cuts: dict[ExchangePart, int],
    size: Callable[[Lengths], int],
    limit: int,
) -> dict[ExchangePart, int]:
    """Return `cuts` with one more length, for the larger ones of some parts: the longest with which
    the whole has at most `limit` tokens, or the least. `size(lengths)` is that of the whole.
    """
    capped = cuts
    cap = max(sizes.values(), default=0)
    while cap > LEAST_TOKENS and size(capped) > limit:
        cap = max(LEAST_TOKENS, min(cap * 3 // 4, limit))
        capped = {**cuts, **{part: cap for part, tokens in sizes.items() if tokens > cap}}
    return capped


def _candidate(exchange: Exchange, use: Use, lengths: Lengths, count: Count) -> _Candidate:
    part = part_of(exchange, "result", use.call.id)
    return _Candidate(part, count(result_text(exchange, use, lengths)))
