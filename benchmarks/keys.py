"""The echo of keys while an embedded model loads and writes.

A real process runs in a pseudo-terminal. From the first prompt on, a key is pressed as soon as the
previous one shows, until the model is loaded and for a while longer. Then the model writes a reply,
during which keys do not show. The reply is interrupted, and the time until the next prompt is
measured.
"""

from __future__ import annotations

import os
import signal
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.support.results import NotMeasured, Results, Settings
from benchmarks.support.terminal import Terminal, environment

KEYS = "abcdefghijklmnopqrstuvwxyz"
SECONDS = 6.0
"""The time during which keys are pressed; the smaller models of the catalog are loaded by then."""
PAUSE_SECONDS = 0.02
ROUNDS = 3
ECHO_GOAL = 20.0
CONTROL = "scripted:echo"
"""A model that needs no loading, to measure the cost of the machine itself."""
QUESTION = "Tell a very long story about a baker."


def echoes(terminal: Terminal, seconds: float) -> list[float]:
    """Press keys for `seconds`, deleting each one; return the milliseconds until each showed."""
    found: list[float] = []
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        key = KEYS[len(found) % len(KEYS)]
        before = len(terminal.output)
        pressed = terminal.press(key)
        found.append(1000 * (terminal.wait_for(key, before) - pressed))
        terminal.press("\x7f")
        terminal.rest(PAUSE_SECONDS)
    return found


def measured(reference: str) -> tuple[list[float], float, float]:
    """Return the echo times while the model loads, the time from SIGINT in a reply to the prompt,
    and MiB at the prompt.
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
            os.kill(terminal.pid, signal.SIGINT)  # no shell turns a key into a signal here
            stopped = 1000 * (terminal.wait_for("You:", before) - pressed)
            return while_loading, stopped, memory


def run(results: Results, settings: Settings) -> None:
    """Measure and judge. Raises NotMeasured without a model."""
    if settings.model is None or not settings.model.exists():
        raise NotMeasured("It needs --model FILE.gguf.")
    found: dict[str, list[tuple[list[float], float, float]]] = {
        CONTROL: [],
        f"local:{settings.model}": [],
    }
    for _ in range(settings.rounds or ROUNDS):  # in turn, under the same conditions
        for reference, rows in found.items():
            rows.append(measured(reference))
    for reference, rows in found.items():
        name = reference.rpartition("/")[2]
        keys = [each for echoed, _, _ in rows for each in echoed]
        goal = None if reference == CONTROL else ECHO_GOAL
        results.add(f"key to echo, {name}", keys, "ms", at_most=goal)
        results.add(f"longest of a start, {name}", [max(echoed) for echoed, _, _ in rows], "ms")
        results.add(f"SIGINT to prompt, {name}", [stopped for _, stopped, _ in rows], "ms")
        results.add(f"memory at the prompt, {name}", [memory for _, _, memory in rows], "MiB")
