"""The same actions in other programs, on the same server, in the same terminal.

The user installs the other programs. Each starts with a fresh home and settings that name only the
server. A round runs each program once, including chat-loop and a bare client. It measures: the
start until the prompt is drawn, and until a key typed then shows; Enter until the request has
arrived; a reply of 4,000 tokens of Markdown at once until its last word shows, with the processor
time of all processes of the terminal and the bytes that they print; and the end of the program.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec
from msgspec import Struct

from benchmarks.render import KINDS, tokens
from benchmarks.support.loopback import Loopback, Reply
from benchmarks.support.loopback_wires import Received
from benchmarks.support.results import NotMeasured, Results, Settings
from benchmarks.support.terminal import Terminal, environment, visible
from chat_loop.values import Usage

TOKENS = 4_000
ROUNDS = 5
KEY = "Ж"
"""A character that no program prints."""
QUESTION = "Explain"
LAST = "ѪѬ"
"""The last characters of the first and the second reply. Single characters, since a program that
redraws only changes draws a character in one piece.
"""
SETTLE_SECONDS, TYPED_SECONDS = 2.0, 1.0
"""A program may take an Enter that arrives with text for a part of the text."""
KEY_SECONDS, LOOK_SECONDS = 0.1, 0.005
TO_CODEX = (
    ("prompt drawn / codex", "start to the prompt", 0.5),
    ("key shown / codex", "start to a typed key", 1.0),
)
"""Ratios to codex: the name, the act and the goal."""


class Program(Struct, frozen=True, kw_only=True):
    """A program, and the ways to start and leave it; `peers.toml` explains them."""

    command: tuple[str, ...]
    ready: str
    leave: str
    environment: dict[str, str] = {}
    files: dict[str, str] = {}


PROGRAMS = msgspec.toml.decode(
    Path(__file__).with_suffix(".toml").read_bytes(), type=dict[str, Program]
)
"""chat-loop, the bare client, and the programs that can be measured beside them."""
OURS = ("chat-loop", "bare client")
OTHERS = tuple(name for name in PROGRAMS if name not in OURS)


def filled(text: str, url: str, home: Path) -> str:
    """Return a text of a program with its places filled in."""
    places = {
        "url": url,
        "home": str(home),
        "work": str(home / "work"),
        "python": sys.executable,
        "scripts": str(Path(sys.executable).parent),
    }
    for name, value in places.items():
        text = text.replace(f"{{{name}}}", value)
    return text


class Chat(Terminal):
    """A program in its own home."""

    patience = 60.0
    """The slowest program loads for several seconds on a quiet machine."""

    def __init__(self, program: Program, home: Path, url: str) -> None:
        (home / "work").mkdir(exist_ok=True)
        for path, text in program.files.items():
            (home / path).parent.mkdir(parents=True, exist_ok=True)
            (home / path).write_text(filled(text, url, home), "utf-8")
        variables = {name: filled(value, url, home) for name, value in program.environment.items()}
        command = [filled(word, url, home) for word in program.command]
        super().__init__(command, environment(home, **variables), home / "work")

    def type_until_shown(self) -> float:
        """Type a key until it shows, since a program may lose keys; return the time when it showed.
        Then delete every key typed.
        """
        pressed = 0
        while KEY not in visible(self.output):
            if pressed * KEY_SECONDS > self.patience:
                raise TimeoutError(f"No key shows:\n{visible(self.output)[-2000:]}")
            self.press(KEY)
            pressed += 1
            came = self._read_until_shown(time.perf_counter() + KEY_SECONDS)
        self.listen(SETTLE_SECONDS)
        self.press("\x7f" * pressed)
        return came

    def _read_until_shown(self, until: float) -> float:
        at = until
        while KEY not in visible(self.output) and (came := self.read(until)) is not None:
            at = came
        return at

    def wait_for_character(self, character: str, after: int) -> float:
        """Read until a character arrives after byte `after`; return the time. Each byte is searched
        only once, since a program that prints much must not wait for its reader.
        """
        wanted, deadline = character.encode(), time.perf_counter() + self.patience
        at, seen = time.perf_counter(), after
        while self.output.find(wanted, max(after, seen - len(wanted))) < 0:
            seen = len(self.output)
            came = self.read(deadline)
            if came is None:
                raise TimeoutError(f"{character!r} did not come:\n{visible(self.output)[-2000:]}")
            at = came
        return at

    def cpu_of_session(self) -> float:
        """Return the processor seconds of all processes of this terminal; the kernel counts them in
        hundredths of a second.
        """
        total = 0
        for stat in Path("/proc").glob("[0-9]*/stat"):
            try:
                fields = stat.read_text("utf-8", "replace").rpartition(")")[2].split()
            except OSError:  # the process has ended
                continue
            if int(fields[3]) == self.pid:  # the session; utime and stime are fields 14 and 15
                total += int(fields[11]) + int(fields[12])
        return total / 100

    def enter(self, line: str) -> tuple[int, float]:
        """Type a line and press Enter; return the output's length before Enter, and the time of
        Enter.
        """
        self.press(line)
        self.listen(TYPED_SECONDS)
        return len(self.output), self.press("\r")


def reply(request: Received) -> Reply:
    """Return the reply to the newest question of a request."""
    asked = re.findall(rf"{QUESTION} (\d)", json.dumps(request.body))
    last = f"\n\n{LAST[int(asked[-1])]}\n" if asked else ""
    pieces = tokens(KINDS["mixed"], TOKENS) if asked else ["Title"]
    return Reply(chunks=(*pieces, last), usage=Usage(input=100, output=len(pieces)))


def measure(program: Program, home: Path) -> dict[str, tuple[float, str]]:
    """Return the cost of each action of a program, with its unit."""
    with Loopback(reply) as server, Chat(program, home, server.url) as chat:
        drawn = chat.wait_for(program.ready) - chat.started
        shown = chat.type_until_shown() - chat.started
        chat.listen(SETTLE_SECONDS)
        found: list[tuple[float, float, float, float]] = []
        for number, last in enumerate(LAST):  # the second run is warm
            used = chat.cpu_of_session()
            known = len(server.requests)
            before, pressed = chat.enter(f"{QUESTION} {number}")
            request = asked(chat, server, known, f"{QUESTION} {number}")
            ended = chat.wait_for_character(last, before)
            chat.listen(SETTLE_SECONDS)
            found.append(
                (
                    request.at - pressed,
                    ended - pressed,
                    chat.cpu_of_session() - used,
                    len(chat.output) - before,
                )
            )
        _, pressed = chat.enter(program.leave)
        left = chat.exit_time() - pressed
    (first, *_), (warm, replied, cpu, size) = found
    return {
        "start to the prompt": (1000 * drawn, "ms"),
        "start to a typed key": (1000 * shown, "ms"),
        "Enter to the first request": (1000 * first, "ms"),
        "Enter to the request": (1000 * warm, "ms"),
        "reply of 4,000 tokens, time": (1000 * replied, "ms"),
        "reply of 4,000 tokens, CPU": (1000 * cpu, "ms"),
        "reply of 4,000 tokens, bytes": (size, "B"),
        "exit": (1000 * left, "ms"),
    }


def asked(chat: Chat, server: Loopback, known: int, text: str) -> Received:
    """Return the first request after the known ones that contains `text`. Read the terminal
    meanwhile, since a program may print much before it sends. Raises TimeoutError.
    """
    deadline = time.perf_counter() + chat.patience
    while time.perf_counter() < deadline:
        for request in server.requests[known:]:
            if text in json.dumps(request.body):
                return request
        chat.read(time.perf_counter() + LOOK_SECONDS)
    raise TimeoutError(f"No request came:\n{visible(chat.output)[-2000:]}")


def version(command: str) -> str:
    """Return the version that an installed program reports; empty if it fails."""
    try:
        found = subprocess.run([command, "--version"], capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return ""
    words = (found.stdout.strip() or found.stderr.strip()).split()
    return words[-1] if words else ""


def installed(results: Results, names: Sequence[str]) -> list[str]:
    """Return the installed programs among `names`, and record their versions."""
    chosen = []
    for name in names:
        command = PROGRAMS[name].command[0]
        found = shutil.which(command)
        if (
            found is None or Path(found).parent == Path(sys.executable).parent
        ):  # it belongs to chat-loop
            results.skip(name, f"`{command}` is not installed where PATH leads.")
        elif text := version(command):
            results.versions[name] = text
            chosen.append(name)
        else:
            results.skip(name, f"`{command} --version` fails.")
    return chosen


def take_round(results: Results, names: list[str]) -> Iterator[tuple[str, str, float, str]]:
    """Yield each action, program, cost and unit. A program that fails is removed from the list."""
    for name in [*names]:
        try:
            with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
                costs = measure(PROGRAMS[name], Path(folder))
        except (EOFError, TimeoutError) as error:
            if name in OURS:
                raise
            names.remove(name)  # perhaps a newer version that needs other settings
            reason = str(error).partition("\n")[0].rstrip(":.")
            results.skip(name, f"A step failed: {reason}.")
            continue
        for act, (value, unit) in costs.items():
            yield act, name, value, unit


def run(results: Results, settings: Settings) -> None:
    """Measure and judge. Raises NotMeasured without a peer."""
    others = installed(results, settings.peers)
    if not others:
        raise NotMeasured("It needs --peer and an installed program.")
    names = [*OURS, *others]
    times: dict[tuple[str, str], list[float]] = {}
    units: dict[str, str] = {}
    for number in range((settings.rounds or ROUNDS) + 1):
        for act, name, value, unit in take_round(results, names):
            if number:  # the first round fills the caches
                times.setdefault((act, name), []).append(value)
                units[act] = unit
    for (act, name), samples in times.items():
        if name in names:
            results.add(f"{act}, {name}", samples, units[act])
    if "codex" in names:
        for name, act, limit in TO_CODEX:
            both = times[act, "chat-loop"], times[act, "codex"]
            results.add_ratio(name, *both, at_most=limit)
