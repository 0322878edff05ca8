"""The tokens that a conversation with tools sends, by window: `python -m benchmarks.traffic`.

A conversation of FactChain with 60 exchanges, of which 16 read files of 200 bytes to 20 KB, is typed
into the real program. A server on this machine counts each request and, as services with a prefix
cache do, the part of it that an earlier request began with, in steps of 128 tokens from 1,024 on. It
refuses what is larger than the window. The numbers depend on the program only, but for the letters of
dates and folders (0.02 percent). Other versions are measured from their folders: `python -m benchmarks.traffic FOLDER …`.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from functools import lru_cache
from itertools import takewhile
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from benchmarks.factchain.generator import generate
from benchmarks.factchain.talk import Turn
from benchmarks.factchain.tools import with_tools
from benchmarks.support.loopback import Loopback, Received, Reply, failing, talk
from benchmarks.support.results import origin
from benchmarks.support.terminal import environment
from chat_loop.tokens import TokenCounter
from chat_loop.values import ToolCall, Usage

EXCHANGES = 60
WINDOWS = (16_384, 65_536, 131_072)
LEAST_CACHED = 1_024
STEP = 128
PATIENCE_SECONDS = 30.0
SETTLE_SECONDS = 0.5
"""Enough for a summary in the background, which the server writes at once."""

_counter = TokenCounter()
_count = lru_cache(100_000)(_counter.count)


class Traffic(Struct, kw_only=True):
    """What a server received: the sums of all requests, in tokens."""

    window: int
    sent: int = 0
    cached: int = 0
    largest: int = 0
    requests: int = 0
    summaries: int = 0
    refused: int = 0
    unanswered: int = 0
    """Queries without a reply."""

    @property
    def cached_percent(self) -> float:
        return 100 * self.cached / self.sent


def pieces(body: dict[str, Any]) -> list[str]:
    """Return a request's tools and messages as texts, in the order of a prefix cache."""
    tools = [json.dumps(tool) for tool in body.get("tools", ())]
    return tools + [
        f"{message['role']}\n{message.get('content') or ''}\n{json.dumps(message.get('tool_calls', ''))}"
        for message in body["messages"]
    ]


class Server:
    """Answers the conversation's requests, and counts them."""

    def __init__(self, turns: Sequence[Turn], window: int) -> None:
        self.traffic = Traffic(window=window)
        self.answered = threading.Event()
        self.turn = turns[0]
        self._before: list[list[str]] = []

    def answer(self, request: Received) -> Reply:
        """Return the next call of the exchange, its reply, a summary, or a refusal."""
        body = request.body
        sent = pieces(body)
        size = sum(map(_count, sent))
        window = self.traffic.window
        if size > window:
            self.traffic.refused += 1
            text = f"This model's maximum context length is {window} tokens, but you sent {size}."
            return failing(400, "invalid_request_error", text, code="context_length_exceeded")
        usage = Usage(input=size, output=50, cached=self._cached(sent))
        self._before.append(sent)
        self.traffic.sent += size
        self.traffic.cached += usage.cached
        self.traffic.largest = max(self.traffic.largest, size)
        self.traffic.requests += 1
        if request.system.startswith("Task: session summary"):
            self.traffic.summaries += 1
            return msgspec.structs.replace(talk(request), usage=usage)
        roles = [message["role"] for message in body["messages"]]
        done = len(roles) - 1 - max(at for at, role in enumerate(roles) if role == "user")
        number = roles[len(roles) - done :].count("tool")
        if number < len(self.turn.calls):
            target = self.turn.calls[number].target
            call = ToolCall(f"call_{number}", "read_file", json.dumps({"path": file_name(target)}))
            return Reply(calls=(call,), usage=usage)
        self.answered.set()
        return Reply(chunks=(self.turn.reply,), usage=usage)

    def _cached(self, sent: Sequence[str]) -> int:
        """Return the longest beginning that an earlier request has, as a cache counts it."""
        most = 0
        for before in self._before:
            tokens = 0
            for piece, other in zip(sent, before, strict=False):
                if piece != other:
                    equal = takewhile(
                        lambda pair: pair[0] == pair[1], zip(piece, other, strict=False)
                    )
                    tokens += _count(piece[: sum(1 for _ in equal)])
                    break
                tokens += _count(piece)
            most = max(most, tokens)
        return most // STEP * STEP if most >= LEAST_CACHED else 0


def file_name(target: str) -> str:
    """Return the name of the file with a call's result."""
    return f"{''.join(sign if sign.isalnum() else '-' for sign in target)}.txt"


def measure(program: Path, turns: Sequence[Turn], window: int) -> Traffic:
    """Have the conversation with the program in a folder."""
    server = Server(turns, window)
    with tempfile.TemporaryDirectory() as name, Loopback(server.answer) as loopback:
        home = Path(name)
        settings = {"models": {"loopback": {"window": window}}, "search": {"meaning": False}}
        (home / "chat-loop").mkdir()
        (home / "chat-loop/config.yaml").write_text(json.dumps(settings))
        (home / "work").mkdir()
        more = {"OPENAI_API_KEY": "k", "OPENAI_BASE_URL": f"{loopback.url}/v1"}
        command = [sys.executable, "-m", "chat_loop", "--model", "openai:loopback"]
        command += ["--tools", "read_file"]
        with (
            (home / "output").open("wb") as output,
            subprocess.Popen(
                command,
                cwd=home / "work",
                env=environment(home, PYTHONPATH=str(program), **more),
                stdin=subprocess.PIPE,
                stdout=output,
                stderr=output,
            ) as process,
        ):
            assert process.stdin is not None
            for turn in turns:
                for call in turn.calls:
                    (home / "work" / file_name(call.target)).write_text(call.result)
                server.turn = turn
                server.answered.clear()
                process.stdin.write(f"{' '.join(turn.query.split())}\n".encode())
                process.stdin.flush()
                if not server.answered.wait(PATIENCE_SECONDS):
                    server.traffic.unanswered += 1
                time.sleep(SETTLE_SECONDS)
            process.terminate()
    return server.traffic


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.traffic", description=__doc__)
    here = Path(__file__).resolve().parent.parent
    parser.add_argument("folders", nargs="*", type=Path, default=[here])
    parser.add_argument("--json", type=Path, metavar="FILE")
    options = parser.parse_args()
    _counter.load()
    turns = with_tools(generate(1, "seen")).turns()[:EXCHANGES]
    found: dict[str, list[dict[str, float]]] = {}
    for folder in options.folders:
        git = ["git", "-C", str(folder), "rev-parse", "--short=8", "HEAD"]
        commit = subprocess.run(git, capture_output=True, text=True, check=True).stdout.strip()
        for window in WINDOWS:
            traffic = measure(folder.resolve(), turns, window)
            percent = round(traffic.cached_percent, 1)
            row = msgspec.structs.asdict(traffic) | {"cached_percent": percent}
            found.setdefault(commit, []).append(row)
            print(f"{commit} {json.dumps(row)}")
    if options.json:
        data = {"exchanges": EXCHANGES} | msgspec.to_builtins(origin()) | {"traffic": found}
        options.json.write_text(json.dumps(data, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
