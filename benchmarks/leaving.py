"""Exit and resume, with a slow model.

The real program in a pseudo-terminal talks to a server in a thread of this process. The server
answers at once, except that it takes 10 s for each summary and each acknowledgment. The times are
measured from Enter to the end of the process, to the restored context, and to the end of the
acknowledgment. After the start of a program that resumes, the times are measured to the restored
context and to the echo of a key pressed then. One exit comes after a minute without typing. With
--model, an embedded model runs for real.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from benchmarks.support.loopback import Loopback, Reply, talk
from benchmarks.support.loopback_wires import Received
from benchmarks.support.results import Results, Settings
from benchmarks.support.terminal import Terminal, environment

SLOW_SECONDS = 10.0
IDLE_SECONDS = 75.0
"""The chat prepares its summary after a minute, and the server is slow for that one, too."""
SETTLE_SECONDS = 2.0
PATIENCE_SECONDS = 300.0
"""An embedded model may take minutes to summarize a long conversation."""
ROUNDS = 3
SIZES = {"short": (20,), "long": (5_000, 20, 20, 20, 20, 20)}
"""The number of words of each question. A resume keeps five exchanges without a summary."""
KEY = "ж"
"""A character that no program prints."""
READY, SLOW = 0.2, 3.0
"""The goals of an exit in seconds: READY without a summary to wait for, else SLOW + READY."""
AT_PROMPT, ANSWERED, RESTORED = "context", "Time:", "Restoring context"
"""What is on the screen when the program takes keys, when a reply has ended, and when the
conversation is back.
"""


class Program(Struct, frozen=True, kw_only=True):
    """This program with a model. In `environment`, `{url}` stands for the server."""

    name: str
    model: str
    environment: Mapping[str, str] = {}
    settings: str = ""
    summarizes: bool = True
    """True if it makes a summary at its end, or prepares one during a pause."""


OURS = (
    Program(
        name="openai",
        model="openai:test-model",
        environment={"OPENAI_API_KEY": "k", "OPENAI_BASE_URL": "{url}/v1"},
    ),
    Program(
        name="anthropic",
        model="anthropic:test-model",
        environment={"ANTHROPIC_API_KEY": "k", "ANTHROPIC_BASE_URL": "{url}"},
    ),
)
EMBEDDED_SETTINGS = "providers: {local: {max_tokens: 24}}\n"
"""A small model continues until it is stopped."""


class Server(Loopback):
    """A server that delays summaries and acknowledgments."""

    def __init__(self) -> None:
        super().__init__(self.answer)
        self.restorations = 0

    def answer(self, request: Received) -> Reply:
        reply = talk(request)
        restores = request.query.startswith("CONTEXT RESTORATION")
        self.restorations += restores
        if restores or request.system.startswith("Task: session summary"):
            return replace(reply, stall_after=0, stall_seconds=SLOW_SECONDS)
        return reply


class Chat(Terminal):
    """The program in its own home."""

    patience = PATIENCE_SECONDS

    def __init__(self, program: Program, home: Path, url: str, *more: str) -> None:
        if program.settings:
            config = home / "chat-loop" / "config.yaml"
            config.parent.mkdir(exist_ok=True)
            config.write_text(program.settings, "utf-8")
        given = {name: value.format(url=url) for name, value in program.environment.items()}
        command = [sys.executable, "-m", "chat_loop", "--model", program.model, *more]
        super().__init__(command, environment(home, **given), home / "work")

    def wait_until_ready(self) -> None:
        self.wait_for(AT_PROMPT)
        self.rest(SETTLE_SECONDS)

    def enter(self, line: str) -> tuple[int, float]:
        """Paste a line and press Enter; return the length of the output before Enter, and the time
        of Enter.

        A program may take an Enter that arrives together with text for a part of the text.
        """
        self.press(f"\x1b[200~{line}\x1b[201~")
        self.rest(SETTLE_SECONDS)
        return len(self.output), self.press("\r")

    def leave(self) -> float:
        """Leave; return the seconds until the process had ended."""
        return -self.enter("exit")[1] + self.exit_time()


class Measurement:
    """The times of one program, by the event that was awaited."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.times: dict[str, list[float]] = {}

    def run(self, size: str, *, idle: float = 0.0) -> None:
        """Ask questions of a size in a new home, leave, and resume; after an `idle` time, only
        leave.
        """
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder, Server() as server:
            home = Path(folder)
            (home / "work").mkdir()
            start = partial(Chat, self.program, home, server.url)
            with start() as chat:
                chat.wait_until_ready()
                self._ask(chat, SIZES[size], idle or SETTLE_SECONDS)
                self._add(f"exit, {size}{', after a pause' if idle else ''}", chat.leave())
            if idle:
                return
            with start() as chat:
                chat.wait_until_ready()
                self._resume(chat, server, size)
            with start("--continue") as chat:
                self._come_back(chat, size)

    def _ask(self, chat: Chat, sizes: Sequence[int], pause: float) -> None:
        for words in sizes:
            before, _ = chat.enter(f"Our port is 8443. {'word ' * words}")
            chat.wait_for(ANSWERED, before)
        chat.listen(pause)

    def _resume(self, chat: Chat, server: Server, size: str) -> None:
        """Resume from within the chat, and leave without a new message. A session that has no
        summary yet, or is smaller than its summary, comes back without an acknowledgment.
        """
        before, pressed = chat.enter("resume last")
        restored = chat.wait_for(RESTORED, before) - pressed
        self._add(f"resume, {size} -> restored", restored)
        chat.listen(min(SETTLE_SECONDS, SLOW_SECONDS / 2))
        if server.restorations:
            acknowledged = chat.wait_for(ANSWERED, before) - pressed
            self._add(f"resume, {size} -> acknowledged", acknowledged)
        chat.rest(SETTLE_SECONDS)
        self._add(f"exit, {size}, nothing new", chat.leave())

    def _come_back(self, chat: Chat, size: str) -> None:
        """Measure the times of a program that was started to resume."""
        restored = chat.wait_for(RESTORED) - chat.started
        self._add(f"start with resume, {size} -> restored", restored)
        chat.press(KEY)
        self._add(f"start with resume, {size} -> a key shows", chat.wait_for(KEY) - chat.started)

    def _add(self, name: str, seconds: float) -> None:
        self.times.setdefault(name, []).append(seconds)
        print(f"{self.program.name}: {name}: {seconds:.2f} s", flush=True)


def embedded(model: Path) -> Program:
    """Return this program with an embedded model."""
    return Program(
        name=f"embedded {model.stem}",
        model=f"local:{model}",
        settings=EMBEDDED_SETTINGS,
        summarizes=False,
    )


def add(results: Results, measurement: Measurement) -> None:
    """Record the times of a program, and judge each exit."""
    program = measurement.program
    for name, seconds in measurement.times.items():
        goal = None
        if name.startswith("exit"):
            waits = program.summarizes and not name.endswith(("nothing new", "pause"))
            goal = SLOW + READY if waits else READY
        results.add(f"{name}, {program.name}", seconds, "s", at_most=goal)


def run(results: Results, settings: Settings) -> None:
    """Measure and judge."""
    measurements = [*map(Measurement, OURS)]
    if settings.model is None or not settings.model.exists():
        results.skip("exit and resume with an embedded model", "It needs --model FILE.gguf.")
    else:
        measurements.append(Measurement(embedded(settings.model)))
    for _ in range(settings.rounds or ROUNDS):
        for measurement in measurements:  # in turn, so that all run under the same conditions
            for size in SIZES:
                measurement.run(size)
    for measurement in measurements:
        if measurement.program.summarizes:
            measurement.run("long", idle=IDLE_SECONDS)
        add(results, measurement)
