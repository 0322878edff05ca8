"""What a person waits for at `exit` and `resume`: `python -m benchmarks.leaving [--embedded
MODEL.gguf] [--before PYTHON] [--peer codex] [--peer pi] [--rounds N] [--json FILE]`; exit code 1
when a goal is missed.

The real program in a pseudo-terminal talks to a server in a thread of this process, which answers at
once, but takes 10 s for each summary and each acknowledgment. The times are from Enter to the end of
the process, to the restored context, and to the end of the acknowledgment, and from the start of a
program that resumes to the restored context and to the echo of a key that is pressed then. One exit
comes after a minute in which nobody types, so that a run takes some minutes.

An embedded model is run for real. `--before` is the Python of another environment, with an earlier
version of this program. Peers are the installed programs with settings of their own, which talk to
the same server: codex in the wire of OpenAI's Responses and without its daemon, which would outlive
the run, and pi in that of Chat Completions. They make no summary at their ends.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from statistics import median

from msgspec import Struct
from msgspec.structs import replace

from benchmarks.support.loopback import Loopback, Reply, talk
from benchmarks.support.loopback_wires import Received
from benchmarks.support.results import Results, parser
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
    leave: str = "exit"
    resume: tuple[str, ...] = ("--continue",)
    resume_entry: str = "resume last"
    """Resumes from within; empty where there is no such entry."""
    summarizes: bool = True
    """It makes a summary at its end, or prepares one in a pause."""
    is_judged: bool = True


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
    chat_loop("compatible", "--base-url", "{url}/v1", "--model", "compatible:test-model"),
)
EMBEDDED_SETTINGS = "providers: {local: {max_tokens: 24}}\n"
"""A small model goes on until it is stopped."""
CODEX_SETTINGS = """\
model = "test-model"
model_provider = "loopback"
check_for_update_on_startup = false
[model_providers.loopback]
name = "loopback"
base_url = "{url}/v1"
env_key = "LOOPBACK_KEY"
wire_api = "responses"
[projects."{work}"]
trust_level = "trusted"
[features]
daemon_auto_start = false
"""
PI_MODELS = {
    "providers": {
        "loopback": {
            "baseUrl": "{url}/v1",
            "api": "openai-completions",
            "apiKey": "k",
            "models": [{"id": "test-model"}],
        }
    }
}
PEERS = {
    "codex": Program(
        name="codex",
        command=("codex",),
        environment={"LOOPBACK_KEY": "k"},
        files={".codex/config.toml": CODEX_SETTINGS},
        ready="OpenAI Codex",
        answered="Worked",
        restored="Worked",
        leave="/quit",
        resume=("resume", "--last"),
        resume_entry="",
        summarizes=False,
        is_judged=False,
    ),
    "pi": Program(
        name="pi",
        command=("pi", "--offline", "--model", "loopback/test-model"),
        files={".pi/agent/models.json": json.dumps(PI_MODELS)},
        ready="test-model",
        answered="said:",
        restored="said:",
        leave="/quit",
        resume_entry="",
        summarizes=False,
        is_judged=False,
    ),
}


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
        return -self.enter(self.program.leave)[1] + self.exit_time()


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
            if self.program.resume_entry:
                with start() as chat:
                    chat.wait_until_ready()
                    self._resume(chat, server, size)
            with start(*self.program.resume) as chat:
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
        before, pressed = chat.enter(self.program.resume_entry)
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
        if self.program.resume_entry:
            return
        chat.rest(SETTLE_SECONDS)
        chat.press("\x7f")
        self._add(f"exit, {size}, nothing new", chat.leave())

    def _add(self, name: str, seconds: float) -> None:
        self.times.setdefault(name, []).append(seconds)
        print(f"{self.program.name}: {name}: {seconds:.2f} s", flush=True)


def version(program: Program) -> str:
    """Return what an installed program says of itself."""
    command = [program.command[0], "--version"]
    found = subprocess.run(command, capture_output=True, text=True, check=True)
    return found.stdout.strip() or found.stderr.strip()


def programs(embedded: Path | None, before: Path | None, peers: Sequence[str]) -> list[Program]:
    """Return the programs to measure, with the version of each peer in its name."""
    found = list(OURS)
    if embedded is not None:
        model = chat_loop(
            f"embedded {embedded.stem}",
            *("--model", f"local:{embedded.resolve()}"),
            files={"chat-loop/config.yaml": EMBEDDED_SETTINGS},
            summarizes=False,
        )
        found.append(model)
    if before is not None:
        for ours in [*found]:
            command = (str(before), *ours.command[1:])
            found.append(
                replace(ours, name=f"before, {ours.name}", command=command, is_judged=False)
            )
    for peer in map(PEERS.__getitem__, peers):
        found.append(replace(peer, name=f"{peer.name} {version(peer).split()[-1]}"))
    return found


def judge(measurement: Measurement, results: Results) -> None:
    """Judge each exit of this program."""
    program = measurement.program
    for name, seconds in measurement.times.items():
        if name.startswith("exit"):
            waits = program.summarizes and not name.endswith(("nothing new", "pause"))
            goal = SLOW + READY if waits else READY
            results.judge(f"{program.name}: {name}", median(seconds), goal, " s")


def main() -> int:
    """Measure, print and judge."""
    options = parser("leaving", __doc__)
    options.add_argument("--embedded", type=Path, metavar="MODEL.gguf")
    options.add_argument("--before", type=Path, metavar="PYTHON")
    options.add_argument("--peer", action="append", choices=PEERS, default=[])
    options.add_argument("--rounds", type=int, default=ROUNDS, metavar="N")
    given = options.parse_args()
    for name in given.peer:
        if shutil.which(PEERS[name].command[0]) is None:
            options.error(f"{name} is not installed where PATH leads")
    results = Results("leaving")
    measurements = [*map(Measurement, programs(given.embedded, given.before, given.peer))]
    for _ in range(given.rounds):
        for measurement in measurements:  # one after the other, so that all see the same machine
            for size in SIZES:
                measurement.run(size)
    for measurement in measurements:
        if measurement.program.summarizes and measurement.program.is_judged:
            measurement.run("long", idle=IDLE_SECONDS)
        for name, seconds in measurement.times.items():
            results.add(f"{measurement.program.name}: {name}", seconds, "s")
        if measurement.program.is_judged:
            judge(measurement, results)
    print_table(measurements)
    return results.finish(given.json)


def print_table(measurements: list[Measurement]) -> None:
    """Print the medians, a row for each wait and a column for each program."""
    print(f"\n{'s':44}" + "".join(f"{each.program.name:>22}" for each in measurements))
    for name in dict.fromkeys(name for each in measurements for name in each.times):
        found = (each.times.get(name) for each in measurements)
        cells = (f"{median(seconds):.2f}" if seconds else "-" for seconds in found)
        print(f"{name:44}" + "".join(f"{cell:>22}" for cell in cells))


if __name__ == "__main__":
    raise SystemExit(main())
