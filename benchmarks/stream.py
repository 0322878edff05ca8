"""A reply that streams into the whole program, compared with a bare client.

The real program in a pseudo-terminal talks to a server in a thread of this process. 4,000 tokens of
Markdown come at once, and then 1,000 at 200 a second, with keys typed meanwhile. The bare client of
`peers.toml` reads the same stream with the standard library and prints each token. The CPU time is that of the
process from Enter to the end of the reply, as the kernel counts it.
"""

from __future__ import annotations

import json
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from benchmarks.peers import PROGRAMS, filled
from benchmarks.render import KINDS, tokens
from benchmarks.support.results import Results, Settings
from benchmarks.support.terminal import Terminal, environment, visible

ROUNDS = 5
AT_ONCE, PACED, RATE = 4_000, 1_000, 200.0
AT_ONCE_GOAL, PACED_GOAL = 2.5, 2.0
ECHO_GOAL = 20.0
FIRST_KEY = 0x410
"""Keys are the Cyrillic letters from this one on; none of them occurs in the reply."""
KEY_SECONDS = 0.15
READY_SECONDS = 2.0
"""The time in which the program warms up behind its prompt."""


class Server(ThreadingHTTPServer):
    """A server that streams `count` tokens, at `rate` a second or all at once."""

    daemon_threads = True
    count = 0
    rate = 0.0


class _Handler(BaseHTTPRequestHandler):
    server: Server

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.end_headers()
        began = time.perf_counter()
        for number, token in enumerate(tokens(KINDS["mixed"], self.server.count)):
            if self.server.rate:
                due = began + number / self.server.rate
                time.sleep(max(0.0, due - time.perf_counter()))
            self._send({"delta": {"content": token}, "finish_reason": None})
        self._send({"delta": {}, "finish_reason": "stop"})
        self.wfile.write(b"data: [DONE]\n\n")

    def _send(self, choice: dict[str, object]) -> None:
        event = {"id": "1", "object": "chat.completion.chunk", "created": 1, "model": "m"}
        data = json.dumps({**event, "choices": [{"index": 0, **choice}]})
        self.wfile.write(f"data: {data}\n\n".encode())

    def log_message(self, *_: object) -> None:
        """Print nothing."""


@contextmanager
def serving() -> Iterator[Server]:
    """Serve on a free port."""
    with Server(("127.0.0.1", 0), _Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server
        server.shutdown()


def streamed(terminal: Terminal, line: str, after: str = "Time: ") -> tuple[float, float, int]:
    """Return seconds, CPU seconds and bytes of one reply, until the text after it."""
    before, used = len(terminal.output), terminal.cpu_seconds()
    began = terminal.press(f"{line}\r")
    ended = terminal.wait_for(after, before)
    terminal.rest(0.2)
    return ended - began, terminal.cpu_seconds() - used, len(terminal.output) - before


def echoes(terminal: Terminal) -> list[float]:
    """Press keys during a reply; return the seconds until each showed."""
    found: list[float] = []
    start = len(terminal.output)
    terminal.press("go\r")
    terminal.wait_for("Assistant:", start)
    while "Time: " not in visible(terminal.output[start:]):
        key = chr(FIRST_KEY + len(found))
        before = len(terminal.output)
        pressed = terminal.press(key)
        found.append(terminal.wait_for(key, before) - pressed)
        until = time.perf_counter() + KEY_SECONDS
        while terminal.read(until) is not None:
            pass
    return found


def program(url: str, home: Path) -> Terminal:
    """Start a chat with the server, and let it warm up."""
    options = ("--base-url", f"{url}/v1", "--model", "compatible:m")
    terminal = Terminal([sys.executable, "-m", "chat_loop", *options], environment(home))
    terminal.wait_for("context")
    terminal.rest(READY_SECONDS)
    return terminal


def run(results: Results, settings: Settings) -> None:
    """Measure and judge."""
    ways = {f"{AT_ONCE:,} tokens at once": (AT_ONCE, 0.0), "200 tokens a second": (PACED, RATE)}
    ours: dict[str, list[tuple[float, float, int]]] = {way: [] for way in ways}
    bare: dict[str, list[tuple[float, float, int]]] = {way: [] for way in ways}
    with serving() as server, tempfile.TemporaryDirectory() as folder:
        port = server.server_address[1]
        url, home = f"http://127.0.0.1:{port}", Path(folder)
        bare_client = PROGRAMS["bare client"]
        command = [filled(word, url, home) for word in bare_client.command]
        with (
            program(url, home) as chat,
            Terminal(command, environment(home)) as client,
        ):
            server.count = 10
            streamed(chat, "warm up")
            client.wait_for(bare_client.ready)
            streamed(client, "warm up", bare_client.ready)
            for _ in range(settings.rounds or ROUNDS):
                for way, (server.count, server.rate) in ways.items():
                    ours[way].append(streamed(chat, "go"))
                    bare[way].append(streamed(client, "go", bare_client.ready))
            milliseconds = [1000 * seconds for seconds in echoes(chat)]
    for way, (_, rate) in ways.items():
        goals = (
            {"CPU": PACED_GOAL} if rate else dict.fromkeys(("time", "CPU", "bytes"), AT_ONCE_GOAL)
        )
        for position, what in enumerate(("time", "CPU", "bytes")):
            unit, factor = ("B", 1) if what == "bytes" else ("ms", 1000)
            mine = [factor * one[position] for one in ours[way]]
            floor = [factor * one[position] for one in bare[way]]
            results.add(f"{what}, {way}", mine, unit)
            results.add(f"{what}, {way}, bare client", floor, unit)
            results.add_ratio(f"{what} / bare client, {way}", mine, floor, at_most=goals.get(what))
    results.add("key to echo while a reply streams", milliseconds, "ms", at_most=ECHO_GOAL)
    results.add(
        "key to echo while a reply streams, longest", [max(milliseconds)], "ms", at_most=ECHO_GOAL
    )
