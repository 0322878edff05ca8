"""What a person waits for at `exit` and `resume`: `python -m benchmarks.leaving [--json FILE]`; exit
code 1 when a goal is missed.

The real program in a pseudo-terminal talks to a server in a thread of this process, which answers at
once, but takes 10 s for each summary and each acknowledgment. The times are from Enter to the end of
the process, to the restored context, and to the end of the acknowledgment. One exit comes after a
minute in which nobody types, so that a run takes some minutes.
"""

from __future__ import annotations

import contextlib
import sys
import tempfile
import threading
import time
from pathlib import Path

from msgspec.structs import replace

from benchmarks.support.loopback import Loopback, Reply, talk
from benchmarks.support.loopback_wires import Received
from benchmarks.support.results import Results, parser
from benchmarks.support.terminal import Terminal, environment

SLOW_SECONDS = 10.0
IDLE_SECONDS = 75.0
"""The chat prepares its summary after a minute; the server takes its time for that, too."""
SETTLE_SECONDS = 2.0
SIZES = {"short": 20, "long": 5_000}
"""The words of the question."""
WIRES = {
    "openai": {"OPENAI_API_KEY": "k", "OPENAI_BASE_URL": "{url}/v1"},
    "anthropic": {"ANTHROPIC_API_KEY": "k", "ANTHROPIC_BASE_URL": "{url}"},
}
READY, SLOW = 0.2, 3.0
"""The goals of an exit, in seconds: with a summary that is ready or not needed, and without."""


class Server(Loopback):
    """Keeps summaries and acknowledgments back for a while."""

    def __init__(self) -> None:
        super().__init__(self.answer)

    def answer(self, request: Received) -> Reply:
        reply = talk(request)
        restores = request.query.startswith("CONTEXT RESTORATION")
        if not (restores or request.system.startswith("Task: session summary")):
            return reply
        threading.Timer(SLOW_SECONDS, self._go_on).start()
        return replace(reply, stall_after=0)

    def _go_on(self) -> None:
        with contextlib.suppress(RuntimeError):  # the server has ended
            self.release()


class Chat(Terminal):
    """The program at its prompt, with a model of this wire."""

    def __init__(self, home: Path, server: Server, wire: str) -> None:
        keys = {name: value.format(url=server.url) for name, value in WIRES[wire].items()}
        command = [sys.executable, "-m", "chat_loop", "--model", f"{wire}:test-model"]
        super().__init__(command, environment(home, **keys))
        self.wait_for("context")
        self.rest(SETTLE_SECONDS)

    def enter(self, line: str, *, until: str) -> float:
        """Enter a line; return the seconds until this text showed."""
        before = len(self.output)
        pressed = self.press(f"{line}\r")
        return self.wait_for(until, before) - pressed

    def leave(self) -> float:
        """Enter `exit`; return the seconds until the process had ended."""
        pressed = self.press("exit\r")
        return self.exit_time() - pressed


def asked(home: Path, server: Server, wire: str, words: int, idle: float = SETTLE_SECONDS) -> float:
    """Ask one question, pause, and leave; return the seconds that leaving took."""
    with Chat(home, server, wire) as chat:
        chat.press(f"Our port is 8443. {'word ' * words}")
        chat.rest(SETTLE_SECONDS)
        chat.enter("", until="Time:")
        end = time.perf_counter() + idle
        while time.perf_counter() < end:
            chat.read(end)
        return chat.leave()


def resumed(home: Path, server: Server, wire: str) -> tuple[float, float, float]:
    """Resume the last session; return the seconds until its context is restored, until the
    acknowledgment ended, and those that leaving took.
    """
    with Chat(home, server, wire) as chat:
        before = len(chat.output)
        pressed = chat.press("resume last\r")
        restored = chat.wait_for("Restoring context", before) - pressed
        confirmed = chat.wait_for("Time:", before) - pressed
        return restored, confirmed, chat.leave()


def main() -> int:
    """Measure, print and judge."""
    options = parser("leaving", __doc__).parse_args()
    results = Results("leaving")
    for wire in WIRES:
        found: dict[str, list[float]] = {}
        for size, words in SIZES.items():
            with tempfile.TemporaryDirectory() as folder, Server() as server:
                home = Path(folder)
                found[f"exit, {size}"] = [asked(home, server, wire, words)]
                restored, confirmed, left = resumed(home, server, wire)
                found[f"resume, {size} -> restored"] = [restored]
                found[f"resume, {size} -> acknowledged"] = [confirmed]
                found[f"exit, {size}, nothing new"] = [left]
        with tempfile.TemporaryDirectory() as folder, Server() as server:
            left = asked(Path(folder), server, wire, SIZES["long"], IDLE_SECONDS)
            found["exit, long, after a pause"] = [left]
        for name, values in found.items():
            print(f"{wire}: {name}: {values[0]:.2f} s")
            results.add(f"{wire}: {name}", values, "s")
            if name.startswith("exit"):
                is_ready = name.endswith(("nothing new", "pause"))
                results.judge(
                    f"{wire}: {name}", values[0], READY if is_ready else SLOW + READY, " s"
                )
    return results.finish(options.json)


if __name__ == "__main__":
    raise SystemExit(main())
