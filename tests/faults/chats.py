"""Fault trials of chats on a terminal: real programs that are killed, get a signal, or lose their
terminal at a random moment of one of PHASES, while a server on this machine answers.

The server has received only queries that were saved. A reply counts as acknowledged when the next
prompt is shown, and a pin when the program says so. The moment depends on the machine; the number
and the seed of a trial determine everything else.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache, partial
from pathlib import Path
from random import Random

from benchmarks.support.loopback import Loopback, Received, Reply, talk
from chat_loop.values import Usage
from tests.faults.outcome import Outcome
from tests.faults.recovery import problem_after
from tests.support.environments import environment
from tests.support.headless import ECHO, run
from tests.support.pty_chat import PtyChat
from tests.support.scenarios import Fact, facts_in
from tests.support.terminal_chat import PROMPT

SECONDS = 60.0  # after this time a program counts as hung
TRIES = 8  # a trial whose program has ended before the fault is repeated
MOST_QUERIES = 10  # in one trial
LONG = 2_500  # words of a reply whose summary an exit leaves to another process
ENDS = (*("SIGKILL",) * 5, *("SIGTERM",) * 2, *("SIGHUP",) * 2, *("terminal closed",) * 2)
_ASKED = re.compile(r"Q(\d+)Q")


def answer(request: Received) -> Reply:
    """Return a reply that can be recognized by the number of its query, or a summary."""
    asked = _ASKED.search(request.query)
    if asked is None or request.system.startswith("Task: "):
        return talk(request)
    words = reply_words(int(asked[1]), LONG if "at length" in request.query else 40)
    usage = Usage(input=100 + len(words), output=len(words))
    stalls = "slowly" in request.query
    stall = len(words) // 2 if stalls else None
    return Reply(chunks=words, usage=usage, stall_after=stall, stall_seconds=0.3)


def reply_words(number: int, count: int = 40) -> tuple[str, ...]:
    return (f"R{number}R", *(f" w{number}x{place}" for place in range(count)), f" ENDS{number}E")


@cache
def _server() -> Loopback:
    """Return the server of this process, which ends with it."""
    return Loopback(answer).__enter__()


class Trial:
    """One chat and what must survive of it. `first` is the number of its first query."""

    def __init__(self, home: Path, first: int, chance: Random) -> None:
        self.home = home
        self.first = first
        self.chance = chance
        self.asked = 0
        self.replies: set[int] = set()
        self.pinned = False
        model = ("--model", "compatible:m", "--base-url", f"{_server().url}/v1")
        command = (sys.executable, "-m", "chat_loop", *model)
        self.chat = PtyChat(command, environment(home), cwd=home)

    def ask(self, text: str = "tell me") -> int:
        """Type a query, and return its number."""
        number = self.first + self.asked
        self.asked += 1
        self.chat.mark()
        self.chat.line(f"Q{number}Q {text}")
        return number

    def exchange(self, text: str = "tell me") -> None:
        """Ask, and wait until the next prompt acknowledges the reply."""
        number = self.ask(text)
        done = re.compile(rf"ENDS{number}E.*Time:.*You:", re.DOTALL)
        self.chat.wait_for(done, SECONDS, output=True)
        self.replies.add(number)

    def let_run(self, seconds: float) -> None:
        """Let the program work for up to `seconds`."""
        self.chat.read_for(self.chance.uniform(0, seconds))

    def end(self, way: str) -> bool:
        """End the program in one of the ENDS. Return False if it has ended before."""
        is_running = self.chat.is_running
        if way == "terminal closed":
            self.chat.hang_up()
        elif is_running:
            os.kill(self.chat.pid, getattr(signal, way))
        return is_running

    @property
    def received(self) -> set[int]:
        """The numbers of the queries that the server has received."""
        found = (_ASKED.search(text) for one in list(_server().requests) for text in one.texts)
        numbers = {int(match[1]) for match in found if match}
        return numbers & {*range(self.first, self.first + MOST_QUERIES)}


def start(trial: Trial) -> None:
    trial.let_run(1.5)


def typing(trial: Trial) -> None:
    trial.chat.send("some words that were never sent")
    trial.let_run(0.3)


def stream(trial: Trial) -> None:
    trial.ask("tell me slowly")
    trial.let_run(0.9)


def idle(trial: Trial) -> None:
    trial.let_run(0.5)


def pin(trial: Trial) -> None:
    trial.chat.mark()
    trial.chat.line(f"/pin P{trial.first}P is kept")
    trial.let_run(0.5)
    trial.pinned = "Pinned (" in trial.chat.output()


def compact(trial: Trial) -> None:
    trial.chat.line("/compact")
    trial.let_run(1.5)


def leave(trial: Trial) -> None:
    trial.chat.line("exit")
    trial.let_run(1.0)


def detached_summary(trial: Trial) -> None:
    """Leave the summary to another process, and kill that one."""
    trial.exchange("tell me at length")
    trial.chat.line("exit")
    trial.chat.read_for(SECONDS)
    trial.chat.ended(SECONDS)
    time.sleep(trial.chance.uniform(0, 1.5))  # its output goes nowhere
    for process in processes(trial.home):
        with suppress(ProcessLookupError):
            os.kill(process, signal.SIGKILL)


def command(line: str, trial: Trial) -> None:
    """Type a command and, half of the time, a query behind it."""
    trial.chat.line(line)
    trial.let_run(1.0)
    if trial.chance.random() < 0.5:
        trial.ask()
    trial.let_run(0.5)


PHASES: dict[str, Callable[[Trial], None]] = {
    "start": start,
    "typing": typing,
    "stream": stream,
    "idle": idle,
    "compact": compact,
    "exit": leave,
    "detached summary": detached_summary,
    "fork": partial(command, "/fork"),
    "undo": partial(command, "/undo"),
    "resume": partial(command, "resume 1"),
    "export": partial(command, "/export html"),
    "search": partial(command, "/search tell"),
    "rename": partial(command, "/rename a name"),
    "pin": pin,
}


def processes(home: Path) -> Iterator[int]:
    """Yield the processes that run with this home."""
    mark = f"CHAT_LOOP_HOME={home}".encode()
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if mark in (folder / "environ").read_bytes().split(b"\0"):
                yield int(folder.name)


@contextmanager
def _home() -> Iterator[Path]:
    base = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    home = Path(tempfile.mkdtemp(prefix="chat-loop-killed-", dir=base))
    try:
        yield home
    finally:
        for process in processes(home):
            with suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
        shutil.rmtree(home, ignore_errors=True)


def trial(seed: int, number: int) -> Outcome:
    """Run a trial. If its program ends before the fault, repeat it."""
    phase = [*PHASES][number % len(PHASES)]
    outcome = Outcome(number, phase)
    for attempt in range(TRIES):
        chance = Random(f"{seed}:{number}:{attempt}:chat")
        way = chance.choice(ENDS)
        with _home() as home:
            one = Trial(home, 1_000_000 + MOST_QUERIES * (TRIES * number + attempt), chance)
            with one.chat:
                _run(one, phase, way, outcome)
            if outcome.injected or outcome.failure.count(":"):
                if not outcome.failure:
                    outcome.loss = _lost(one) or _unreadable(home)
                if outcome.loss:
                    outcome.loss += f" [{way}]"
                return outcome
    return outcome


def _run(one: Trial, phase: str, way: str, outcome: Outcome) -> None:
    """Chat until the fault, and record a hang or a traceback."""
    try:
        if phase != "start":
            one.chat.wait_for(PROMPT, SECONDS)
            for _ in range(one.chance.randint(1, 2)):
                one.exchange()
        PHASES[phase](one)
        outcome.injected = one.end(way) or phase == "detached summary"
        one.chat.ended(SECONDS)
    except AssertionError as error:
        outcome.hang = str(error)[-1500:]
    shown = one.chat.raw.decode("utf-8", "replace")
    if "Traceback" in shown or "Exception ignored" in shown:
        outcome.traceback = shown[-1500:]


def _lost(one: Trial) -> str:
    """Return what was acknowledged and is missing on disk."""
    found = facts_in(one.home / "sessions")
    missing = [f"query {number}" for number in one.received if not _has(found, "query", number)]
    whole = {fact[2] for fact in found if fact[0] == "reply" and fact[3] == "end"}
    for number in one.replies:
        if whole.isdisjoint("".join(reply_words(number, count)) for count in (40, LONG)):
            missing.append(f"reply {number}")
    if one.pinned and not any(f"P{one.first}P" in fact[2] for fact in found if fact[0] == "pin"):
        missing.append("the pin")
    return ", ".join(missing)


def _has(found: set[Fact], kind: str, number: int) -> bool:
    return any(fact[0] == kind and f"Q{number}Q" in fact[2] for fact in found)


def _unreadable(home: Path) -> str:
    """Return why the next start does not find everything, or an empty string."""
    folder = home / "sessions"
    for process in processes(home):  # a summary that is still being made
        with suppress(ProcessLookupError):
            os.kill(process, signal.SIGKILL)
    before = facts_in(folder)
    listed = run(home, "sessions", "list")
    if listed.returncode or b"Traceback" in listed.stderr:
        return f"sessions list: {listed.stderr[-300:]!r}"
    for path in sorted(folder.glob("*.md")):
        shown = run(home, "sessions", "show", path.stem)
        if path.stat().st_size and shown.returncode:
            return f"sessions show {path.stem}: {shown.stderr[-300:]!r}"
    went_on = run(home, *ECHO, "-p", "and now")
    if went_on.returncode:
        return f"-p: {went_on.stderr[-300:]!r}"
    modes = [path.name for path in home.rglob("*") if path.lstat().st_mode & 0o077]
    if modes:
        return f"others may read {modes}"
    problem = problem_after(folder)
    return problem or str(sorted(before - facts_in(folder)))[:500].removeprefix("[]")
