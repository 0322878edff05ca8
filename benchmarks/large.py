"""Large sessions: the cost of each action.

Each action is a process of the program, from start to end, with a folder that contains one session.
Its cost is the processor time of the process and its children, and its largest resident memory.
Chats run through pipes, a resume in a chat through a pseudo-terminal. The model is a server in a
thread of this process. The growth is judged: with the cost for the smallest session subtracted, an
action on a session of four times the size must not cost more than six times the time or six times
the memory.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from benchmarks.support.loopback import Loopback
from benchmarks.support.results import Results, Settings
from benchmarks.support.sessions import long_session
from benchmarks.support.terminal import Terminal, environment
from chat_loop.sessions.records import Session
from chat_loop.sessions.writer import render

ROUNDS = 3  # a single sample of a second may be twice as long on a busy machine
MEGABYTES = (1, 5, 20)
REPLY = 4_000  # characters
GROWTH = 1.5
LEAST_SECONDS, LEAST_MEBIBYTES = 1.0, 32.0  # lower values are noise
KEY = "ж"
WORDS = "question"
PATIENCE_SECONDS = 900.0

ACTS: dict[str, tuple[str, ...]] = {
    "list": ("sessions", "list"),
    "list again": ("sessions", "list"),
    "show": ("sessions", "show", "{id}"),
    "search": ("sessions", "search", "--text", WORDS),
    "search again": ("sessions", "search", "--text", WORDS),
    "stats": ("sessions", "stats"),
    "doctor": ("doctor",),
    "resume -p": ("--resume", "{id}", "-p", "And now?"),
    "export md": ("sessions", "export", "{id}", "{folder}/export.md"),
    "export json": ("sessions", "export", "{id}", "{folder}/export.json"),
    "export html": ("sessions", "export", "{id}", "{folder}/export.html"),
    "import json": ("sessions", "import", "{folder}/export.json"),
    "import md": ("sessions", "import", "{folder}/export.md"),
}
"""The actions on the command line, in order: the first search builds the index."""
LINES = {"/search": f"/search {WORDS}", "/stats": "/stats", "/history": "/history --full"}
"""The lines entered in a chat that resumed the session."""


class Cost(Struct, frozen=True):
    """The processor seconds, user and system, and the largest memory in MiB of a process."""

    seconds: float
    mebibytes: float


def sessions() -> list[Session]:
    """Return the sessions to measure; the ids of unsealed ones end in `_open`."""
    sealed = [
        long_session(f"mb_{size}", size * 1_000_000 // (REPLY + 300), REPLY) for size in MEGABYTES
    ]
    unsealed = [
        replace(one, header=replace(one.header, id=f"{one.header.id}_open"), seal=None)
        for one in sealed
    ]
    return sealed + unsealed


def cost_of(argv: Sequence[str], env: dict[str, str], folder: Path, entered: str = "") -> Cost:
    """Run a program to its end; return its cost. Raises RuntimeError when it fails."""
    with tempfile.TemporaryFile() as given, tempfile.TemporaryFile() as said:
        given.write(entered.encode())
        given.seek(0)
        peak, before = 0.0, seconds_of_children()
        process = subprocess.Popen(argv, env=env, cwd=folder, stdin=given, stdout=said, stderr=said)
        try:
            while process.poll() is None:  # `ru_maxrss` would include this process, before its exec
                peak = max(peak, peak_of(process.pid))
                time.sleep(0.005)
        finally:
            process.kill()
            process.wait()
        seconds = seconds_of_children() - before
        if process.returncode:
            said.seek(0)
            tail = said.read().decode("utf-8", "replace")[-2_000:]
            raise RuntimeError(f"{' '.join(argv)}: {process.returncode}\n{tail}")
    return Cost(seconds, peak)


def seconds_of_children() -> float:
    """Return the processor seconds of all children of this process that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def peak_of(pid: int) -> float:
    """Return the largest resident memory of a process so far, in MiB; 0 when it has ended."""
    status = Path(f"/proc/{pid}/status").read_text("ascii", "replace")
    return int((status.partition("VmHWM:")[2].split() or ["0"])[0]) / 1024


class Chat(Terminal):
    """The program in a pseudo-terminal, with the patience that a large session needs."""

    patience = PATIENCE_SECONDS


def resumed(argv: Sequence[str], env: dict[str, str], folder: Path) -> Cost:
    """Resume in a chat until the restored context and then a pressed key show; return the cost."""
    before = seconds_of_children()
    with Chat(argv, env, folder) as chat:
        chat.wait_for("Restoring context")
        chat.press(KEY)
        chat.wait_for(KEY)
        peak = peak_of(chat.pid)
    return Cost(seconds_of_children() - before, peak)


def measure(session: Session) -> Iterator[tuple[str, Cost]]:
    """Yield each action on a folder with this session, and its cost."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name, Loopback() as server:
        folder = Path(name)
        home, stored = folder / "home", folder / "home" / "chat-loop" / "sessions"
        stored.mkdir(parents=True, mode=0o700)
        (home / "chat-loop").chmod(0o700)
        (stored / f"{session.header.id}.md").write_bytes(render(session))
        keys = {"OPENAI_API_KEY": "k", "OPENAI_BASE_URL": f"{server.url}/v1"}
        env = environment(home, **keys)
        program = [sys.executable, "-m", "chat_loop"]
        model = ["--base-url", f"{server.url}/v1", "--model", "compatible:test-model"]

        for act, words in ACTS.items():
            filled = [word.format(id=session.header.id, folder=folder) for word in words]
            options = model if act == "resume -p" else []
            yield act, cost_of([*program, *options, *filled], env, folder)
        chat = [*program, *model, "--resume", session.header.id]
        for act, line in LINES.items():
            yield act, cost_of(chat, env, folder, f"{line}\nexit\n")
        yield "resume", resumed(chat, env, folder)


def measure_all() -> dict[str, dict[str, Cost]]:
    """Return the costs by session and action. Each action is measured for all sessions in turn, so
    that a ratio compares what the same machine did in the same minute.
    """
    made = sessions()
    costs: dict[str, dict[str, Cost]] = {session.header.id: {} for session in made}
    for steps in zip(*map(measure, made), strict=True):
        for session, (act, cost) in zip(made, steps, strict=True):
            costs[session.header.id][act] = cost
    return costs


def judge(results: Results, rounds: Sequence[Mapping[str, Mapping[str, Cost]]]) -> None:
    """Judge the growth of the costs from size to size; a round has them by session and action."""
    first, *larger = sorted(MEGABYTES)
    for kind in ("", "_open"):
        for before, size in pairwise(larger):
            growth = GROWTH * size / before
            for act in rounds[0][f"mb_{first}{kind}"]:
                seconds, memory = [], []
                for costs in rounds:
                    base, small, large = (
                        costs[f"mb_{number}{kind}"][act] for number in (first, before, size)
                    )
                    grown = max(LEAST_SECONDS, small.seconds - base.seconds)
                    seconds.append((large.seconds - base.seconds) / grown)
                    grown = max(LEAST_MEBIBYTES, small.mebibytes - base.mebibytes)
                    memory.append((large.mebibytes - base.mebibytes) / grown)
                name = f"{act}, {before} to {size} MB{kind}"
                results.add(f"{name}, growth", seconds, "×", at_most=growth)
                results.add(f"{name}, growth of memory", memory, "×", at_most=growth)


def run(results: Results, settings: Settings) -> None:
    """Measure each action in a few rounds, and judge."""
    rounds = [measure_all() for _ in range(settings.rounds or ROUNDS)]
    for identity, costs in rounds[0].items():
        for act in costs:
            measured = [costs[identity][act] for costs in rounds]
            results.add(f"{identity}: {act}", [cost.seconds for cost in measured], "s")
            peaks = [cost.mebibytes for cost in measured]
            results.add(f"{identity}: {act}, memory", peaks, "MiB")
    judge(results, rounds)
