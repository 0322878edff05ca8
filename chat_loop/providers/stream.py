"""Read a stream of events within limits, no more often than a reader can notice."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncGenerator, Callable, Iterator, Mapping
from contextlib import aclosing
from typing import TYPE_CHECKING, TypeVar

import msgspec

if TYPE_CHECKING:
    from httpx2 import Response

FIRST_READ_SECONDS = 0.005  # between the first two reads of a stream, then twice as long each time,
READ_SECONDS = 1 / 12  # up to this; what arrives meanwhile is one batch
WAIT_SECONDS = 0.001  # an item that took longer had not arrived when it was requested
LARGEST_EVENT = 8 << 20  # bytes of one event. The largest real ones are the arguments of a call.
LARGEST_REPLY = 128 << 20  # bytes unpacked: more than ten times the size of 128,000 tokens
DONE = b"[DONE]"  # the end mark of Chat Completions, which is not JSON

T = TypeVar("T")


class OversizedBody(ValueError):
    """A body larger than any reply. The text names the limit: `more than 8 MB in one event`."""


async def read_body(response: Response, limit: int) -> bytes:
    """Return the body of an answer, at most its first `limit` bytes, and close it."""
    content = bytearray()
    try:
        async with aclosing(response.aiter_bytes()) as pieces:
            async for piece in pieces:
                content += piece[: limit - len(content)]
                if len(content) >= limit:
                    break
    finally:
        await response.aclose()
    return bytes(content)


async def batches_of(
    items: AsyncGenerator[T], has_begun: Callable[[], bool]
) -> AsyncGenerator[list[T]]:
    """Yield what has arrived, at most `1 / READ_SECONDS` times a second once the reply has begun.

    If it had to wait for an item, it pauses before it reads the next one. A slow stream then causes
    few wake-ups, because the operating system buffers the data. The first pauses are shorter, so
    that the beginning of a reply appears without delay.
    """
    arrived, batch = asyncio.Event(), list[T]()

    async def read() -> None:
        asked_at, pause = time.monotonic(), FIRST_READ_SECONDS
        async with aclosing(items):
            async for item in items:
                batch.append(item)
                arrived.set()
                if has_begun() and time.monotonic() - asked_at > WAIT_SECONDS:
                    await asyncio.sleep(pause)
                    pause = min(2 * pause, READ_SECONDS)
                asked_at = time.monotonic()

    reader = asyncio.ensure_future(read())
    reader.add_done_callback(lambda _: arrived.set())
    try:
        while not reader.done():
            await arrived.wait()
            arrived.clear()
            if batch:
                ready, batch = batch, []
                yield ready
                await asyncio.wait({reader}, timeout=READ_SECONDS if has_begun() else 0)
        if batch:
            yield batch
        await reader
    finally:
        reader.cancel()
        await asyncio.gather(reader, return_exceptions=True)


class EventStream:
    """Reads the JSON of each event of a `text/event-stream` from pieces of any size. A body that is
    one JSON object, such as an error, counts as one event.
    """

    def __init__(self) -> None:
        self.done = False  # the end mark of Chat Completions has arrived
        self._rest = bytearray()  # a line whose end has not arrived
        self._data: list[bytes] = []  # the lines of an event whose end has not arrived
        self._total = 0
        self._is_object = False

    def feed(self, piece: bytes) -> Iterator[Mapping[str, object]]:
        """Yield the events that `piece` completes. Raises OversizedBody and ValueError."""
        if not self._total:
            self._is_object = piece.lstrip().startswith(b"{")
        self._total += len(piece)
        if self._total > LARGEST_REPLY:
            raise OversizedBody(f"more than {LARGEST_REPLY >> 20} MB in one reply")
        data, lines = self._data, list[bytes]()
        complete, newline, rest = piece.rpartition(b"\n")
        if newline:
            lines = bytes(self._rest + complete).split(b"\n")
            self._rest.clear()
        self._rest += rest
        for line in lines:
            is_data = self._is_object or line.startswith(b"data:")
            text = line.removeprefix(b"data:").strip() if is_data else b""
            if data and (text == DONE or line in (b"", b"\r")):
                yield _decode(b"\n".join(data))
                data.clear()
            if text == DONE:
                self.done = True
            elif text:
                data.append(text)
        if len(self._rest) + sum(map(len, data)) > LARGEST_EVENT:
            raise OversizedBody(f"more than {LARGEST_EVENT >> 20} MB in one event")


def _decode(data: bytes) -> Mapping[str, object]:
    try:
        event = msgspec.json.decode(data)
    except msgspec.DecodeError:  # infinite numbers and halves of surrogate pairs
        event = json.loads(data.decode("utf-8", "replace"))
    if not isinstance(event, dict):
        raise ValueError("not a JSON object")
    return event
