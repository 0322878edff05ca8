"""A reply rendered as it streams, compared with a bare print.

Each reply goes token by token into a pseudo-terminal with a reader: once through the display as
Markdown, and once from a bare client that prints each token with a write and a flush. The two are
compared by the bytes that the terminal receives and by the CPU time of the writing thread; they
take turns. The bare client extracts its tokens from the lines of a server's stream with only
`json`; the display is charged with the same cost.
"""

from __future__ import annotations

import asyncio
import functools
import json
import os
import pty
import re
import termios
import threading
import time
import tty
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TextIO

import msgspec

from benchmarks.support.results import Results, Settings
from chat_loop.display.display_manager import DisplayManager
from chat_loop.events import Event, TextDelta

SIZES = (100, 1_000, 4_000, 40_000)
MIXED = ("prose", "prose", "code", "prose", "tables")
PACKET = 10
"""The number of tokens that arrive at once."""
ROUNDS = 9
GOAL = 2.0
LINEAR = 1.5
"""The limit for a token of the longest reply, as a multiple of one in a reply of 4,000."""

TEXTS = msgspec.toml.decode(Path(__file__).with_suffix(".toml").read_bytes(), type=dict[str, str])
KINDS = TEXTS | {"mixed": "".join(map(TEXTS.__getitem__, MIXED))}
_TOKENS = re.compile(r" ?\w{1,7}|[^\w\s]{1,2}|\s+?(?=\S)|\s+")


def tokens(text: str, count: int) -> list[str]:
    """Return `count` pieces about as a tokenizer cuts them: four characters each on average."""
    once = _TOKENS.findall(text)
    return (once * (count // len(once) + 1))[:count]


class Tty:
    """A pseudo-terminal with a thread that reads and counts the output."""

    def __init__(self) -> None:
        self._master, slave = pty.openpty()
        tty.setraw(slave)
        termios.tcsetwinsize(slave, (24, 80))
        self.out: TextIO = os.fdopen(slave, "w", encoding="utf-8")
        self.bytes = 0
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        try:
            while data := os.read(self._master, 1 << 16):
                self.bytes += len(data)
        except OSError:  # the other side was closed
            pass

    def close(self) -> None:
        self.out.close()
        self._reader.join()
        os.close(self._master)


def printed(pieces: Sequence[str], out: TextIO) -> Callable[[], None]:
    """Return a function that prints the pieces as the bare client does."""

    def show() -> None:
        for piece in pieces:
            out.write(piece)
            out.flush()
        out.write("\n")
        out.flush()

    return show


def rendered(
    pieces: Sequence[str], out: TextIO, loop: asyncio.AbstractEventLoop
) -> Callable[[], None]:
    """Return a function that shows the pieces on the display, which is loaded as in the program.
    The event `loop` turns once for each packet; the accounting line of the reply is left out.
    """
    display = DisplayManager(out, agent="A")
    display.load()

    async def stream() -> None:
        events: list[Event] = [TextDelta(piece) for piece in pieces]
        for number, event in enumerate(events):
            display.show(event)
            if number % PACKET == 0:
                await asyncio.sleep(0)
        display.stop_waiting()

    return lambda: loop.run_until_complete(stream())


def measured(
    way: Callable[[Sequence[str], TextIO], Callable[[], None]], pieces: Sequence[str]
) -> tuple[float, int]:
    """Return the CPU seconds of this thread, and the bytes."""
    terminal = Tty()
    show = way(pieces, terminal.out)
    begin = time.thread_time()
    show()
    took = time.thread_time() - begin
    terminal.close()
    return took, terminal.bytes


def streamed(pieces: Sequence[str]) -> list[bytes]:
    """Return the lines that a server of OpenAI's protocol would send."""
    chunk = {
        "id": "chatcmpl-1",
        "object": "chat.completion.chunk",
        "created": 1_790_000_000,
        "model": "some-model",
    }
    return [
        b"data: "
        + json.dumps({**chunk, "choices": [{"index": 0, "delta": {"content": piece}}]}).encode()
        + b"\n"
        for piece in pieces
    ]


def received(lines: Sequence[bytes]) -> float:
    """Return the CPU seconds that the simplest client needs to read the tokens out of `lines` in
    its memory.
    """
    begin = time.thread_time()
    for line in lines:
        if line.startswith(b"data: "):
            json.loads(line[6:])["choices"][0]["delta"]["content"]
    return time.thread_time() - begin


def run(results: Results, settings: Settings) -> None:
    """Measure and judge."""
    loop = asyncio.new_event_loop()
    markdown = functools.partial(rendered, loop=loop)
    measured(markdown, tokens(KINDS["mixed"], 2_000))  # loads everything needed
    per_token: dict[int, list[float]] = {}
    for kind, text in KINDS.items():
        for count in SIZES if kind == "mixed" else (4_000,):
            pieces = tokens(text, count)
            lines = streamed(pieces)
            display, client = list[float](), list[float]()
            sizes = list[float]()
            for _ in range(settings.rounds or ROUNDS):
                bare, ours = measured(printed, pieces), measured(markdown, pieces)
                receiving = received(lines)
                client.append((bare[0] + receiving) / count * 1e6)
                display.append((ours[0] + receiving) / count * 1e6)
                sizes.append(ours[1] / bare[1])
            name = f"{kind}, {count:,} tokens"
            results.add(f"CPU of a token, bare client, {name}", client, "µs")
            results.add(f"CPU of a token, {name}", display, "µs")
            results.add_ratio(f"CPU / bare client, {name}", display, client, at_most=GOAL)
            results.add(f"bytes / bare client, {name}", sizes, "×", at_most=GOAL)
            if kind == "mixed":
                per_token[count] = display
    loop.close()
    longest, usual = per_token[SIZES[-1]], per_token[4_000]
    results.add_ratio("a token of 40,000 / one of 4,000", longest, usual, at_most=LINEAR)
