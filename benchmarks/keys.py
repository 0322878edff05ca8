"""Longest echo of a key while the embedded model loads and writes: `python -m benchmarks.keys
MODEL.gguf [ROUNDS] [--json FILE]`.

A real process in a pseudo-terminal. Keys are pressed one after the other from the first prompt on,
each as soon as the one before it shows, until the model is loaded and a while longer; then while it
writes a reply, where keys do not show, it is interrupted and the time until the next prompt is
taken. The figures depend on the machine: nothing is asserted.
"""

from __future__ import annotations

import os
import signal
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

from benchmarks.support.results import Results, parser
from benchmarks.support.terminal import Terminal, environment

KEYS = "abcdefghijklmnopqrstuvwxyz"
SECONDS = 6.0
"""Keys are pressed so long; the smaller models of the catalogue are loaded by then."""
PAUSE_SECONDS = 0.02
CONTROL = "scripted:echo"
"""No model is loaded: what the machine itself costs."""
QUESTION = "Tell a very long story about a baker."


def echoes(terminal: Terminal, seconds: float) -> list[float]:
    """Press keys for so long, and take each back; return the seconds until each showed."""
    found: list[float] = []
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        key = KEYS[len(found) % len(KEYS)]
        before = len(terminal.output)
        pressed = terminal.press(key)
        found.append(terminal.wait_for(key, before) - pressed)
        terminal.press("\x7f")
        terminal.rest(PAUSE_SECONDS)
    return found


def measured(reference: str) -> tuple[list[float], float, float]:
    """Return the echoes while the model loads, the time from SIGINT in a reply to the prompt, and
    MiB at the prompt.
    """
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "chat_loop", "--model", reference]
        with Terminal(command, environment(Path(folder))) as terminal:
            terminal.wait_for("context")
            while_loading = echoes(terminal, SECONDS)
            memory = terminal.memory()
            before = len(terminal.output)
            terminal.press(f"{QUESTION}\r")
            terminal.wait_for("Assistant:", before)
            before = len(terminal.output)
            pressed = time.perf_counter()
            os.kill(terminal.pid, signal.SIGINT)  # it has no shell that would make one of a key
            stopped = terminal.wait_for("You:", before) - pressed
            return while_loading, stopped, memory


def main() -> int:
    """Measure and print."""
    options = parser("keys", __doc__)
    options.add_argument("model", metavar="MODEL.gguf")
    options.add_argument("rounds", type=int, nargs="?", default=3, metavar="ROUNDS")
    given = options.parse_args()
    kept = Results("keys")
    results: dict[str, list[tuple[list[float], float, float]]] = {
        CONTROL: [],
        f"local:{given.model}": [],
    }
    for _ in range(given.rounds):  # one after the other, so that both see the same machine
        for reference, found in results.items():
            found.append(measured(reference))
    for reference, found in results.items():
        keys = sorted(seconds for echoed, _, _ in found for seconds in echoed)
        name = reference.rpartition("/")[2]
        kept.add(f"key -> echo, {name}", keys, "s")
        kept.add(f"SIGINT -> prompt, {name}", [seconds for _, seconds, _ in found], "s")
        kept.add(f"memory at the prompt, {name}", [memory for _, _, memory in found], "MiB")
        longest = " ".join(f"{1000 * max(echoed):.0f}" for echoed, _, _ in found)
        stopped = " ".join(f"{1000 * seconds:.0f}" for _, seconds, _ in found)
        print(f"{name}: {given.rounds} starts, {len(keys)} keys")
        print(
            f"  echo: median {1000 * median(keys):.0f} ms, 99 % "
            f"{1000 * keys[int(len(keys) * 0.99)]:.0f} ms, longest"
        )
        print(f"  of each start {longest} ms; interrupted → prompt {stopped} ms")
        print(
            "  memory of the process at the prompt "
            f"{median(memory for _, _, memory in found):.0f} MiB"
        )
    return kept.finish(given.json)


if __name__ == "__main__":
    raise SystemExit(main())
