"""A reply rendered as it streams: `python -m benchmarks.render [ROUNDS]`; exit code 1 when a goal is missed.

Each reply goes token by token into a pseudo-terminal that somebody reads: through the display as markdown, and from a
bare client that prints what comes, a write and a flush for each token. Compared are the bytes that the terminal gets
and the CPU time of the thread that writes, the quickest of some rounds, which take turns. A bare client that talks to a
model spends some more on each token, to receive and decode it; `received` adds that for both, as the OpenAI SDK takes it.
"""

from __future__ import annotations

import asyncio
import os
import pty
import re
import sys
import threading
import time
import tty
from collections.abc import Callable, Sequence
from typing import TextIO

from benchmarks.start import judge
from chat_loop.display.manager import DisplayManager
from chat_loop.events import Event, ReplyEnded, TextDelta

SIZES = (100, 1_000, 4_000, 40_000)
ROUNDS = 9
GOAL = 2.0
LINEAR = 1.5
"""What a token of the longest reply may take, as a multiple of one of 4,000."""

PROSE = """\
## How the limiter works

Every user has a bucket that holds **100 tokens**; each request takes one, and `refill()` adds them again at a steady rate.
When it is empty, the request is answered with *429* and the seconds to wait. See [the paper](https://example.com/bucket).

1. The clock is read once per request.
2. The bucket is filled for the time that has passed:
   - never above its size,
   - never by a negative time.
3. A token is taken, or the request is refused.

"""
CODE = """\
```python
def take(bucket: Bucket, now: float) -> bool:
    \"\"\"Whether the request may pass.\"\"\"
    bucket.tokens = min(bucket.size, bucket.tokens + (now - bucket.at) * bucket.rate)
    bucket.at = now
    if bucket.tokens < 1:
        return False  # the caller answers 429
    bucket.tokens -= 1
    return True
```

"""
TABLE = """\
| Plan | Requests | Burst | Price |
|------|---------:|------:|:-----:|
| Free | 100 | 10 | 0 |
| Team | 1,000 | 100 | 20 |
| Company | 20,000 | **500** | 300 |

"""
KINDS = {"prose": PROSE, "code": CODE, "tables": TABLE, "mixed": PROSE + PROSE + CODE + PROSE + TABLE}
_TOKENS = re.compile(r" ?\w{1,7}|[^\w\s]{1,2}|\s+?(?=\S)|\s+")


def tokens(text: str, count: int) -> list[str]:
    """About as a tokenizer cuts: four characters each on the average."""
    once = _TOKENS.findall(text)
    return (once * (count // len(once) + 1))[:count]


class Tty:
    """A pseudo-terminal whose other side is read and counted by a thread."""

    def __init__(self) -> None:
        self._master, slave = pty.openpty()
        tty.setraw(slave)
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


def printed(pieces: Sequence[str], out: TextIO) -> None:
    """The bare client."""
    for piece in pieces:
        out.write(piece)
        out.flush()
    out.write("\n")
    out.flush()


def rendered(pieces: Sequence[str], out: TextIO) -> None:
    """The display, as the loop uses it."""
    display = DisplayManager(out, agent="A")
    events: list[Event] = [TextDelta(piece) for piece in pieces]
    for event in events:
        display.show(event)
    display.show(ReplyEnded(number=1, stop="end", usage=None, seconds=1.0))


def measured(show: Callable[[Sequence[str], TextIO], None], pieces: Sequence[str]) -> tuple[float, int]:
    """CPU seconds of this thread, and bytes."""
    terminal = Tty()
    begin = time.thread_time()
    show(pieces, terminal.out)
    took = time.thread_time() - begin
    terminal.close()
    return took, terminal.bytes


def received(count: int) -> float:
    """CPU seconds per token that a client of the OpenAI SDK takes to receive a stream of so many, and print nothing."""
    import json

    import httpx2
    import openai

    chunk = {"id": "1", "object": "chat.completion.chunk", "created": 1, "model": "m"}
    lines = [
        f"data: {json.dumps({**chunk, 'choices': [{'index': 0, 'delta': {'content': 'word '}}]})}\n\n".encode()
        for _ in range(count)
    ]

    class Body(httpx2.AsyncByteStream):
        async def __aiter__(self):  # type: ignore[no-untyped-def]
            for line in lines:
                yield line

    def answer(request: httpx2.Request) -> httpx2.Response:
        return httpx2.Response(200, headers={"content-type": "text/event-stream"}, stream=Body())

    async def receive() -> float:
        client = httpx2.AsyncClient(transport=httpx2.MockTransport(answer))
        async with openai.AsyncOpenAI(api_key="x", base_url="http://localhost/v1", http_client=client) as sdk:
            stream = await sdk.chat.completions.create(
                model="m", messages=[{"role": "user", "content": "x"}], stream=True
            )
            begin = time.thread_time()
            async for _ in stream:
                pass
            return time.thread_time() - begin

    return min(asyncio.run(receive()) for _ in range(3)) / count


def main() -> int:
    """Measure, print, judge."""
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else ROUNDS
    measured(rendered, tokens(KINDS["mixed"], 2_000))  # loads what is needed
    receiving = received(4_000)
    results: list[bool] = []
    per_token: dict[int, float] = {}
    print(f"{'':24}{'bare µs/token':>15}{'rendered':>10}{'received':>10}{'bytes':>12}{'bare':>10}")
    for kind, text in KINDS.items():
        for count in SIZES if kind == "mixed" else (4_000,):
            pieces = tokens(text, count)
            pairs = [(measured(printed, pieces), measured(rendered, pieces)) for _ in range(rounds)]
            bare, ours = min(one[0][0] for one in pairs), min(one[1][0] for one in pairs)
            bytes_bare, bytes_ours = pairs[0][0][1], pairs[0][1][1]
            if kind == "mixed":
                per_token[count] = ours / count
            columns = f"{bare / count * 1e6:15.2f}{ours / count * 1e6:10.2f}{receiving * 1e6:10.2f}"
            print(f"{f'{kind}, {count:,} tokens':24}{columns}{bytes_ours:12,}{bytes_bare:10,}")
            results += [
                judge(f"bytes, {kind}, {count:,}", bytes_ours / bytes_bare, GOAL),
                judge(
                    f"CPU of a client, {kind}, {count:,}", (ours / count + receiving) / (bare / count + receiving), GOAL
                ),
                judge(f"CPU of printing alone, {kind}, {count:,}", ours / bare, GOAL),
            ]
    results.append(judge("a token of 40,000 / one of 4,000", per_token[SIZES[-1]] / per_token[4_000], LINEAR))
    return 0 if all(results) else 1


if __name__ == "__main__":
    raise SystemExit(main())
