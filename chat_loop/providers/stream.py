"""Read a stream of events within limits, no more often than a reader can notice."""

from __future__ import annotations

import asyncio
import json
import math
import time
import zlib
from collections.abc import AsyncGenerator, Callable, Iterator, Mapping
from contextlib import aclosing, suppress
from typing import TYPE_CHECKING, TypeVar

import msgspec

if TYPE_CHECKING:
    from httpx2 import Response

FIRST_READ_SECONDS = 0.005  # between the first two reads of a stream, then twice as long each time,
READ_SECONDS = 1 / 12  # up to this; what arrives meanwhile is one batch
WAIT_SECONDS = 0.001  # an item that took longer had not arrived when it was requested
PIECE = 16 << 10  # bytes that are unpacked or parsed before other tasks get a turn
LARGEST_BATCH = 4 * PIECE  # bytes; after them, the next read waits until the batch is taken
LARGEST_EVENT = 8 << 20  # bytes of one event, or of comments and empty lines without any event
LARGEST_REPLY = 8 << 20  # characters of text, reasoning and calls: ten times 200,000 tokens
LARGEST_BODY = 128 << 20  # bytes: an event with one token takes up to 400
ANY_HEADER = 32 + zlib.MAX_WBITS  # gzip or zlib
LARGEST_NUMBER = 1000  # digits
BLANK = b" \t\r\n\xef\xbb\xbf"  # with the byte order mark, which some proxies send
DONE = b"[DONE]"  # the end mark of Chat Completions, which is not JSON

T = TypeVar("T")


class OversizedBody(ValueError):
    """A body larger than any reply. The text names the limit: `more than 8 MB in one event`."""


class DecodingError(ValueError):
    """A packed body that cannot be unpacked."""


async def read_body(response: Response, limit: int) -> bytes:
    """Return the body of an answer, at most its first `limit` bytes, and close it."""
    content = bytearray()
    try:
        async with aclosing(pieces_of(response)) as pieces:
            async for piece in pieces:
                content += piece[: limit - len(content)]
                if len(content) >= limit:
                    break
    finally:
        await response.aclose()
    return bytes(content)


async def pieces_of(response: Response) -> AsyncGenerator[bytes]:
    """Yield the body of an answer as it arrives. A packed one is unpacked in pieces of at most
    `PIECE` bytes, since a few bytes can unpack to gigabytes. Raises DecodingError.
    """
    is_packed = response.headers.get("content-encoding", "identity").lower() != "identity"
    unpacker = None
    if is_packed:
        unpacker = zlib.decompressobj(ANY_HEADER)
    async with aclosing(response.aiter_raw()) as body:
        async for data in body:
            if unpacker is None:
                yield data
                continue
            packed = data
            is_full = True
            while is_full or packed:
                try:
                    piece = unpacker.decompress(packed, PIECE)
                except zlib.error as error:
                    raise DecodingError(str(error)) from error
                packed = unpacker.unconsumed_tail
                is_full = len(piece) == PIECE
                if piece:
                    yield piece


class _Pace:
    """How long to pause before the next item is read: after one that had to be waited for, unless
    much has come since the one before it. A slow stream then causes few wake-ups, because the
    operating system buffers the data. The first pauses are shorter, so that the beginning of a
    reply appears without delay. An item of a fast stream may only seem late, because other tasks
    had their turn.
    """

    def __init__(self) -> None:
        self._pause = FIRST_READ_SECONDS
        self._since = 0  # bytes since the last late item
        self.ask()

    def ask(self) -> None:
        """Note that the next item is asked for now."""
        self._asked_at = time.monotonic()

    def after(self, size: int, *, begun: bool) -> float:
        """Return the seconds to pause after an item of `size` bytes; 0 if the reply has not
        `begun`.
        """
        self._since += size
        if not begun or time.monotonic() - self._asked_at <= WAIT_SECONDS:
            return 0.0
        is_slow = self._since < PIECE
        self._since = 0
        if not is_slow:
            return 0.0
        pause = self._pause
        self._pause = min(2 * pause, READ_SECONDS)
        return pause


async def batches_of(
    items: AsyncGenerator[T],
    has_begun: Callable[[], bool],
    size_of: Callable[[T], int] = lambda _: 0,
) -> AsyncGenerator[list[T]]:
    """Yield what has arrived, at most `1 / READ_SECONDS` times a second once the reply has begun,
    or more often if it is `LARGEST_BATCH` bytes, as `size_of` an item tells.

    It pauses before it reads the next item of a slow stream.
    """
    arrived = asyncio.Event()
    full = asyncio.Event()
    taken = asyncio.Event()
    batch: list[T] = []
    size = 0

    async def read() -> None:
        nonlocal size
        pace = _Pace()
        async with aclosing(items):
            async for item in items:
                batch.append(item)
                size += size_of(item)
                arrived.set()
                pause = pace.after(size_of(item), begun=has_begun())
                if size >= LARGEST_BATCH:
                    full.set()
                    taken.clear()
                    await taken.wait()
                elif pause:
                    await asyncio.sleep(pause)
                pace.ask()

    def end(_: object) -> None:
        arrived.set()
        full.set()

    reader = asyncio.ensure_future(read())
    reader.add_done_callback(end)
    try:
        while not reader.done():
            await arrived.wait()
            arrived.clear()
            if batch:
                ready = batch
                batch = []
                size = 0
                full.clear()
                taken.set()
                yield ready
                await asyncio.sleep(0)
                if not reader.done():  # or what says so may have been cleared
                    with suppress(TimeoutError):
                        async with asyncio.timeout(READ_SECONDS if has_begun() else 0):
                            await full.wait()
        if batch:
            yield batch
        await reader
    finally:
        reader.cancel()
        await asyncio.gather(reader, return_exceptions=True)


class EventStream:
    """Reads the JSON of each event of a `text/event-stream` from pieces of any size. A body that is
    one JSON object, such as an error, counts as one event, and so does each line of JSON lines.
    """

    def __init__(self) -> None:
        self.done = False  # the end mark of Chat Completions has arrived
        self._rest = bytearray()  # a line whose end has not arrived
        self._data: list[bytes] = []  # the lines of an event whose end has not arrived
        self._is_error = False  # that event is named `error`
        self._total = 0
        self._without_event = 0  # bytes since the last event
        self._is_object: bool | None = None  # None until something arrived that is not blank

    def feed(self, piece: bytes) -> Iterator[Mapping[str, object]]:
        """Yield the events that `piece` completes. Raises OversizedBody and ValueError."""
        if self._is_object is None and (start := piece.lstrip(BLANK)):
            self._is_object = start.startswith(b"{")
            piece = start
        self._total += len(piece)
        if self._total > LARGEST_BODY:
            raise OversizedBody(f"more than {LARGEST_BODY >> 20} MB in one reply")
        self._without_event += len(piece)
        complete, newline, rest = piece.rpartition(b"\n")
        lines: list[bytes] = []
        if newline:
            lines = bytes(self._rest + complete).split(b"\n")
            self._rest.clear()
        self._rest += rest
        for line in lines:
            event = self._add(line)
            if event is not None:
                yield event
                self._without_event = 0
            if self.done:
                return
        if self._without_event > LARGEST_EVENT:
            raise OversizedBody(f"more than {LARGEST_EVENT >> 20} MB in one event")

    def _add(self, line: bytes) -> Mapping[str, object] | None:
        """Add a line, and return the event that it completes, if any."""
        if line.startswith(b"data:") and not self._is_object:
            text = line[5:].strip()
        elif line in (b"", b"\r"):
            text = b""
        elif self._is_object:
            text = line.strip()
        elif line.startswith(b"error:"):  # llama.cpp
            text = line[6:].strip()
            self._is_error = True
        else:
            if line.startswith(b"event:"):
                self._is_error = line[6:].strip() == b"error"
            return None
        data = self._data
        event = None
        is_end = text in (b"", DONE)
        is_next_line = self._is_object and text.startswith(b"{") and data and data[-1][-1:] == b"}"
        if data and (is_end or is_next_line):
            event = _decode(b"\n".join(data), is_error=self._is_error)
            self._is_error = False
            data.clear()
        if text == DONE:
            self.done = True
        elif text:
            data.append(text)
        return event


def _decode(data: bytes, *, is_error: bool) -> Mapping[str, object]:
    """Return the JSON object of an event. What is wrong in a text or a number costs only itself.
    Raises ValueError for anything else.
    """
    try:
        event = msgspec.json.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError):
        # bytes that are no UTF-8 become halves of surrogate pairs, which a reply puts together
        text = data.decode("utf-8", "surrogateescape")
        try:
            event = json.loads(text, strict=False, parse_int=_whole_number)
        except ValueError:
            if not is_error:
                raise
            event = text
    if is_error and not (isinstance(event, dict) and event.get("error")):
        return {"error": event or "error"}
    if not isinstance(event, dict):
        raise ValueError("not a JSON object")
    return event


def _whole_number(digits: str) -> int | float:
    """Return the number, or infinity if it has more digits than Python reads."""
    if len(digits) < LARGEST_NUMBER:
        return int(digits)
    return math.inf
