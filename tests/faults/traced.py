"""Fault trials of the whole program: strace kills it, or makes a system call fail, at one call.

Each trial forks an interpreter that has loaded the program, and strace attaches to the process
before it runs. The calls of a run without a fault show where a fault is possible. Since threads can
change the order of the calls, a trial that missed its call is repeated with another call.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import re
import select
import shutil
import subprocess
import sys
import tempfile
import termios
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from multiprocessing.connection import Connection
from pathlib import Path
from random import Random

from chat_loop.sessions.writer import render
from tests.faults.outcome import Outcome
from tests.faults.recovery import problem_after
from tests.support.saved_sessions import simple
from tests.support.scenarios import STORED, before, facts_in
from tests.support.scripted_chat import START

SECONDS = 60.0  # after this time a trial counts as hung
TRIES = 20
CHANGES = ("write", "pwrite64", "fsync", "fdatasync", "rename", "unlink", "mkdir", "ftruncate")
CALLS = ("openat", "flock", *CHANGES)
FAULTS = (
    ("kill before", CALLS),
    ("kill after", CALLS),
    ("kill before", CHANGES),
    ("kill after", CHANGES),
    ("ENOSPC", ("openat", "write", "fsync", "fdatasync", "rename", "mkdir", "pwrite64")),
    ("EIO", ("openat", "write", "fsync", "fdatasync", "rename", "unlink", "pwrite64")),
    ("EDQUOT", ("openat", "write", "fdatasync", "mkdir", "rename", "pwrite64")),
    ("EROFS", ("openat", "rename", "unlink", "mkdir")),
    ("ENOLCK", ("flock",)),
    ("SIGTERM on a terminal", CALLS),
    ("SIGHUP on a terminal", CALLS),
    ("SIGQUIT on a terminal", CALLS),
    ("SIGINT", CALLS),
    ("SIGTERM", CALLS),
)


@dataclass(frozen=True)
class Program:
    """A command line, its input, and words in it that must be saved once the program replies."""

    arguments: tuple[str, ...]
    typed: str = ""
    said: tuple[str, ...] = ()


MODEL = ("--model", "scripted:echo")
CHAT = Program(
    MODEL,
    "first words\n/pin Keep this.\n/rename A name\nsecond words\nexit\n",
    ("first words", "second words"),
)
PROGRAMS = (
    CHAT,
    Program((*MODEL, "-p", "first words"), said=("first words",)),
    Program((*MODEL, "--resume", STORED.header.id, "-p", "first words"), said=("first words",)),
    Program(MODEL, "first words\n/compact\nsecond words\nexit\n", ("first words", "second words")),
    Program((*MODEL, "--continue"), "first words\n/undo\n/fork\nexit\n", ("first words",)),
    Program(("sessions", "trash", STORED.header.id)),
    Program(("sessions", "import", "import.md")),
    Program(("sessions", "rename", STORED.header.id, "Another name")),
    Program(("sessions", "search", "boats")),
    Program(("sessions", "list")),
)
_CALL = re.compile(r"^\d+ +(?P<name>[a-z0-9_]+)\((?P<rest>.*)")


@cache
def _context() -> multiprocessing.context.ForkServerContext:
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(
        ["chat_loop.interactive", "chat_loop.headless", "chat_loop.input.composer", __name__]
    )
    return context


def _program(
    arguments: Sequence[str], home: str, ends: Sequence[Connection], gate: Connection, terminal: str
) -> None:
    """Run the program: report through `gate` that it can be traced; begin when it opens."""
    os.chdir(home)
    os.environ.clear()
    os.environ.update(
        CHAT_LOOP_HOME=f"{home}/home", PATH="/usr/bin:/bin", LANG="C.UTF-8", TERM="xterm-256color"
    )
    if terminal:
        os.login_tty(os.open(terminal, os.O_RDWR | os.O_NOCTTY))
    else:
        for number, pipe in enumerate((ends[0], ends[1], ends[1])):
            os.dup2(pipe.fileno(), number)
    for pipe in ends:
        pipe.close()
    sys.stdin = open(0, encoding="utf-8", errors="surrogateescape", closefd=False)  # noqa: SIM115
    sys.stdout = open(1, "w", encoding="utf-8", errors="surrogateescape", closefd=False)  # noqa: SIM115
    sys.stderr = open(2, "w", 1, encoding="utf-8", errors="backslashreplace", closefd=False)  # noqa: SIM115
    sys.argv = ["chat-loop", *arguments]
    from chat_loop.cli import main

    gate.send(True)  # modules loaded up to here are not the program's work
    gate.recv()
    sys.exit(main())


@dataclass
class Ended:
    """A run: its output, its exit code (negative for a signal, None if it hung), strace's log, and
    whether the terminal's modes are as before.
    """

    output: str
    code: int | None
    log: str
    restored: bool = True


class _Terminal:
    """A pseudo-terminal that can tell whether its modes have changed."""

    def __init__(self) -> None:
        self.master, self._slave = os.openpty()
        self.name = os.ttyname(self._slave)
        self._modes = termios.tcgetattr(self._slave)

    @property
    def is_restored(self) -> bool:
        return termios.tcgetattr(self._slave) == self._modes

    def close(self) -> None:
        os.close(self.master)
        os.close(self._slave)


def run_traced(program: Program, root: Path, inject: str, *, on_terminal: bool = False) -> Ended:
    """Run a program in `root` under strace until it ends or hangs."""
    stdin_end, feed = _context().Pipe(duplex=False)
    output_end, stdout_end = _context().Pipe(duplex=False)
    gate_end, gate = _context().Pipe()
    terminal = _Terminal() if on_terminal else None
    name = terminal.name if terminal else ""
    process = _context().Process(
        target=_program,
        args=(program.arguments, str(root), (stdin_end, stdout_end), gate_end, name),
    )
    process.start()
    for end in (stdin_end, stdout_end, gate_end):
        end.close()
    gate.recv()
    log = root / "strace.log"
    command = ["strace", "-f", "-y", "-p", str(process.pid), "-o", str(log)]
    command += ["-e", f"trace={','.join(CALLS)}", *(["-e", f"inject={inject}"] if inject else [])]
    strace = subprocess.Popen(command, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    assert strace.stderr is not None
    attached = strace.stderr.readline()
    assert "attached" in attached, attached
    try:
        with contextlib.suppress(OSError):  # the process may have ended already
            gate.send(True)
            if terminal:
                os.write(terminal.master, program.typed.replace("\n", "\r").encode())
            else:
                os.write(feed.fileno(), program.typed.encode())
        feed.close()
        reader = terminal.master if terminal else output_end.fileno()
        output = _read(reader, process.sentinel, time.monotonic() + SECONDS)
        process.join(SECONDS)
        code, restored = process.exitcode, terminal is None or terminal.is_restored
    finally:
        if process.is_alive():
            process.kill()
            process.join()
        strace.wait(SECONDS)
        strace.stderr.close()
        for end in (feed, output_end, gate):
            end.close()
        if terminal:
            terminal.close()
    traced = log.read_text("utf-8", "replace") if log.exists() else ""
    return Ended(output.decode("utf-8", "replace"), code, traced, restored)


def _read(descriptor: int, sentinel: int, deadline: float) -> bytes:
    """Return the output of a process until it ends or `deadline` passes."""
    output = b""
    while True:
        rest = max(0.0, deadline - time.monotonic())
        if descriptor not in select.select([descriptor, sentinel], [], [], rest)[0]:
            return output  # it ended, or it hangs
        data = b""
        with contextlib.suppress(OSError):  # the terminal is closed
            data = os.read(descriptor, 65536)
        if not data:
            return output
        output += data


def prepare(root: Path) -> None:
    """Put sessions into the program's home, and a document next to the home."""
    before(root / "home" / "sessions")
    document = simple("import_1", START, "About boats", "They float.")
    (root / "import.md").write_bytes(render(document))


@contextlib.contextmanager
def _folder() -> Iterator[Path]:
    base = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    root = Path(tempfile.mkdtemp(prefix="chat-loop-traced-", dir=base))
    try:
        yield root
    finally:
        shutil.rmtree(root, ignore_errors=True)


@cache
def calls_of(program: Program, *, on_terminal: bool = False) -> tuple[tuple[str, int, bool], ...]:
    """Return the main thread's calls: name, number, and whether they concern the home."""
    with _folder() as root:
        prepare(root)
        ended = run_traced(program, root, "", on_terminal=on_terminal)
        assert ended.code in (0, 1), ended
        home = f"{root}/home"
    lines = ended.log.splitlines()
    main = lines[0].split()[0]
    numbers: Counter[str] = Counter()
    calls = []
    for line in lines:
        match = _CALL.match(line)
        if match and line.startswith(f"{main} "):
            numbers[match["name"]] += 1
            calls.append((match["name"], numbers[match["name"]], home in match["rest"]))
    return tuple(calls)


def trial(seed: int, number: int) -> Outcome:
    """Run a trial. A trial that missed its call is repeated."""
    fault, names = FAULTS[number % len(FAULTS)]
    outcome = Outcome(number, fault)
    chance = Random(f"{seed}:{number}:strace")
    on_terminal = fault.endswith("on a terminal")
    for _ in range(TRIES):
        program = CHAT if on_terminal else chance.choice(PROGRAMS)
        calls = calls_of(program, on_terminal=on_terminal)
        is_signal = fault.startswith("SIG")
        places = [
            place
            for place, (name, _, at_home) in enumerate(calls[:-1])
            if name in names and (at_home or is_signal)
        ]
        if not places:
            continue
        place = chance.choice(places) + (fault == "kill after")
        name, when, _ = calls[place]
        act = "signal=KILL" if fault.startswith("kill") else f"error={fault}"
        if is_signal:
            act = f"signal={fault.split()[0].removeprefix('SIG')}"
        inject = f"{name}:{act}:when={when}"
        with _folder() as root:
            prepare(root)
            ended = run_traced(program, root, inject, on_terminal=on_terminal)
            outcome.injected = "(INJECTED)" in ended.log or (
                f"SIG{act.removeprefix('signal=')}" in ended.log and act.startswith("signal=")
            )
            _judge(outcome, program, root, ended, inject)
        if outcome.injected or outcome.failure.count(":"):
            return outcome
    return outcome


def _judge(outcome: Outcome, program: Program, root: Path, ended: Ended, inject: str) -> None:
    """Record lost data, hangs, tracebacks and changed terminal modes in `outcome`."""
    where = f" [{' '.join(program.arguments)}; {inject}] {ended.output[-700:]!r}"
    if ended.code is None:
        outcome.hang = f"after {SECONDS:.0f} s{where}"
        return
    if "Traceback" in ended.output or "Exception ignored" in ended.output:
        outcome.traceback = ended.output[-1500:] + where
    if not ended.restored:
        outcome.loss = f"the terminal's modes differ{where}"
        return
    outcome.loss = _lost(program, root, ended)
    if outcome.loss:
        outcome.loss += where


def _lost(program: Program, root: Path, ended: Ended) -> str:
    """Return the acknowledged facts that are missing, or the problem after a kill."""
    with _folder() as other:
        prepare(other)
        expected = facts_in(other / "home" / "sessions")
    folder = root / "home" / "sessions"
    found = facts_in(folder)
    renamed = program.arguments[:2] == ("sessions", "rename")
    missing = {fact for fact in expected - found if not (renamed and fact[0] == "name")}
    queries = {fact[2] for fact in found if fact[0] == "query"}
    replies = {fact[2] for fact in found if fact[0] == "reply"}
    told = "saved: " in ended.output
    for words in program.said if not told else ():
        reply = f"You said: {words}"
        _, is_there, rest = ended.output.partition(reply)
        acknowledged = "You: " in rest or (not program.typed and ended.code == 0)
        if is_there and acknowledged and not (words in queries and reply in replies):
            missing.add(("said", words))
    if missing:
        return str(sorted(missing))[:500]
    if ended.code is not None and ended.code < 0:
        return problem_after(folder)
    return ""
