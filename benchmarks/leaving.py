"""Exit and resume, with a slow model.

The real program in a pseudo-terminal talks to a server in a thread of this process, which answers at
once, but takes 10 s for each summary and each acknowledgment. The times are from Enter to the end of
the process, to the restored context, and to the end of the acknowledgment, and from the start of a
program that resumes to the restored context and to the echo of a key that is pressed then. One exit
comes after a minute in which nobody types. With --model, an embedded model is run for real.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from benchmarks.support.loopback import Loopback, Reply, talk
from benchmarks.support.loopback_wires import Received
from benchmarks.support.results import Results, Settings
from benchmarks.support.terminal import Terminal, environment

SLOW_SECONDS = 10.0
IDLE_SECONDS = 75.0
"""The chat prepares its summary after a minute; the server takes its time for that, too."""
SETTLE_SECONDS = 2.0
PATIENCE_SECONDS = 300.0
"""An embedded model may take minutes to summarize a long conversation."""
ROUNDS = 3
SIZES = {"short": (20,), "long": (5_000, 20, 20, 20, 20, 20)}
"""The words of each question. A resume takes five exchanges along as they are, without a summary."""
KEY = "ж"
"""It stands in nothing that a program prints."""
READY, SLOW = 0.2, 3.0
"""The goals of an exit, in seconds: with a summary that is ready or not needed, and without."""


class Program(Struct, frozen=True, kw_only=True):
    """A program: how it is started, asked, left and resumed. `{url}`, `{home}` and `{work}` in its
    texts are the server, its home and its working directory.
    """

    name: str
    command: tuple[str, ...]
    environment: Mapping[str, str] = {}
    files: Mapping[str, str] = {}
    """Its settings: texts by their paths in its home."""
    ready: str = "context"
    """Stands on the screen once it takes keys; `answered`, once a reply has ended, and `restored`,
    once the conversation is back.
    """
    answered: str = "Time:"
    restored: str = "Restoring context"
    summarizes: bool = True
    """It makes a summary at its end, or prepares one in a pause."""


def chat_loop(name: str, *options: str, **more: object) -> Program:
    """Return this program with a model."""
    command = (sys.executable, "-m", "chat_loop", *options)
    return replace(Program(name=name, command=command), **more)


OURS = (
    chat_loop(
        "openai",
        *("--model", "openai:test-model"),
        environment={"OPENAI_API_KEY": "k", "OPENAI_BASE_URL": "{url}/v1"},
    ),
    chat_loop(
        "anthropic",
        *("--model", "anthropic:test-model"),
        environment={"ANTHROPIC_API_KEY": "k", "ANTHROPIC_BASE_URL": "{url}"},
    ),
)
EMBEDDED_SETTINGS = "providers: {local: {max_tokens: 24}}\n"
"""A small model goes on until it is stopped."""


class Server(Loopback):
    """Keeps summaries and acknowledgments back for a while."""

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
    """A program in a home of its own; `fill` puts the server and the folders into its settings."""

    def __init__(self, program: Program, home: Path, fill: Callable[[str], str], *more: str):
        self.program, self.patience = program, PATIENCE_SECONDS
        for path, text in program.files.items():
            (home / path).parent.mkdir(parents=True, exist_ok=True)
            (home / path).write_text(fill(text), "utf-8")
        variables = {name: fill(value) for name, value in program.environment.items()}
        command = [fill(word) for word in (*program.command, *more)]
        super().__init__(command, environment(home, **variables), home / "work")

    def wait_until_ready(self) -> None:
        self.wait_for(self.program.ready)
        self.rest(SETTLE_SECONDS)

    def enter(self, line: str) -> tuple[int, float]:
        """Paste a line, and enter it; return the output's length before Enter, and when that was.

        A program may take an Enter that comes with text for a part of it.
        """
        self.press(f"\x1b[200~{line}\x1b[201~")
        self.rest(SETTLE_SECONDS)
        return len(self.output), self.press("\r")

    def listen(self, seconds: float) -> None:
        """Read for so long."""
        end = time.perf_counter() + seconds
        while time.perf_counter() < end:
            self.read(end)

    def leave(self) -> float:
        """Leave; return the seconds until the process had ended."""
        return -self.enter("exit")[1] + self.exit_time()


class Measurement:
    """The times of one program, by what was waited for."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.times: dict[str, list[float]] = {}

    def run(self, size: str, *, idle: float = 0.0) -> None:
        """Ask questions of a size, leave, and resume, in a new home; after a pause, leave only."""
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder, Server() as server:
            home = Path(folder)
            (home / "work").mkdir()

            def fill(text: str) -> str:
                names = {"url": server.url, "home": str(home), "work": str(home / "work")}
                for name, value in names.items():
                    text = text.replace(f"{{{name}}}", value)
                return text

            def start(*more: str) -> Chat:
                return Chat(self.program, home, fill, *more)

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
            chat.wait_for(self.program.answered, before)
        chat.listen(pause)

    def _resume(self, chat: Chat, server: Server, size: str) -> None:
        """Resume from within, and leave without a new message. What has no summary yet, or is
        smaller than its summary, comes back without an acknowledgment.
        """
        before, pressed = chat.enter("resume last")
        restored = chat.wait_for(self.program.restored, before) - pressed
        self._add(f"resume, {size} -> restored", restored)
        chat.listen(min(SETTLE_SECONDS, SLOW_SECONDS / 2))
        if server.restorations:
            acknowledged = chat.wait_for(self.program.answered, before) - pressed
            self._add(f"resume, {size} -> acknowledged", acknowledged)
        chat.rest(SETTLE_SECONDS)
        self._add(f"exit, {size}, nothing new", chat.leave())

    def _come_back(self, chat: Chat, size: str) -> None:
        """Take the times of a program that was started to resume."""
        restored = chat.wait_for(self.program.restored) - chat.started
        self._add(f"start with resume, {size} -> restored", restored)
        chat.press(KEY)
        self._add(f"start with resume, {size} -> a key shows", chat.wait_for(KEY) - chat.started)

    def _add(self, name: str, seconds: float) -> None:
        self.times.setdefault(name, []).append(seconds)
        print(f"{self.program.name}: {name}: {seconds:.2f} s", flush=True)


def embedded(model: Path) -> Program:
    """Return this program with an embedded model."""
    return chat_loop(
        f"embedded {model.stem}",
        *("--model", f"local:{model}"),
        files={"chat-loop/config.yaml": EMBEDDED_SETTINGS},
        summarizes=False,
    )


def add(results: Results, measurement: Measurement) -> None:
    """Keep the times of a program, and judge each exit."""
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
        for measurement in measurements:  # in turn, so that all see the same machine
            for size in SIZES:
                measurement.run(size)
    for measurement in measurements:
        if measurement.program.summarizes:
            measurement.run("long", idle=IDLE_SECONDS)
        add(results, measurement)
