"""Ten thousand sessions, and very long ones: listing, searching, indexing, resuming.

Commands are processes of the program with pipes for their output, timed from their start to the
first row and to their end. They are judged by how much longer they take than `chat-loop --version`
in the same round. A resume is timed from the start of the program to the first echo of a key, minus
the same time without a session. The indexer works beside a thread that measures how long it is
blocked, as the thread that echoes keys would be.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing
from itertools import cycle, islice
from pathlib import Path

from benchmarks.start import CHAT, start
from benchmarks.support.results import Results, Settings
from benchmarks.support.sessions import long_session, make_sessions
from benchmarks.support.terminal import environment
from chat_loop.library.filters import SessionFilter
from chat_loop.library.index import Index
from chat_loop.library.indexer import Indexer
from chat_loop.library.library import Library
from chat_loop.library.search import search_all
from chat_loop.library.semantic import SemanticIndex, available
from chat_loop.loader import SWITCH_SECONDS
from chat_loop.sessions.writer import render

SESSIONS, MEGABYTES = 10_000, 100
ROUNDS = 7
EMBEDDED = 64
"""Exchanges whose vectors are reused for all: 10,000 vectors would take minutes."""
LIST_GOAL = TEXT_GOAL = 100.0
WHOLE_GOAL = 200.0
MEANING_GOAL, CHAT_GOAL = 300.0, 50.0
HEAVY_GOAL = 300.0
HELD_UP_GOAL = 50.0
MEMORY_GOAL = 150.0

LISTINGS = {
    "list 20 of 10,000": "sessions list --limit 20",
    "list 10,000": "sessions list",
    "clean 10,000": "sessions clean --dry-run --older-than 2026-02-02",
}
QUESTIONS = ("endofunctors", "Question 4711", "monad category", "what is a sentence in a monoid")
MEMORY = """
import sys
import chat_loop.interactive, chat_loop.library.index, chat_loop.library.refresh
from pathlib import Path
from chat_loop.library.indexer import Indexer
def kibibytes(name):
    lines = Path("/proc/self/status").read_text().split("\\n")
    return next(int(line.split()[1]) for line in lines if line.startswith(name))
before = kibibytes("VmRSS")
indexer = Indexer(Path(sys.argv[1]))
indexer.start()
indexer.idle.wait()
print((kibibytes("VmHWM") - before) / 1024)
"""


def held_up(indexer: Indexer) -> tuple[float, float]:
    """Return the seconds until an indexer is done, and the longest time that this thread was
    blocked meanwhile.
    """
    usual = sys.getswitchinterval()
    sys.setswitchinterval(SWITCH_SECONDS)  # as the program sets it
    started = last = time.perf_counter()
    longest = 0.0
    indexer.start()
    while not indexer.idle.wait(0.001):
        now = time.perf_counter()
        longest, last = max(longest, now - last), now
    sys.setswitchinterval(usual)
    return time.perf_counter() - started, longest


class Command:
    """Milliseconds of a command of the program to its first row and to its end, by round."""

    def __init__(self, *words: str) -> None:
        self.words = words
        self.first: list[float] = []
        self.end: list[float] = []

    def run(self, home: Path, *, keep: bool) -> None:
        """Run the command. Raises RuntimeError when it fails."""
        started = time.perf_counter()
        with subprocess.Popen(
            [CHAT[0], *self.words],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=environment(home),
        ) as process:
            assert process.stdout is not None
            row = process.stdout.readline()
            first = time.perf_counter()
            process.stdout.read()
            code = process.wait()
        end = time.perf_counter()
        if code or not row:
            raise RuntimeError(f"{' '.join(self.words)}: {code}")
        if keep:
            self.first.append(1000 * (first - started))
            self.end.append(1000 * (end - started))


def commands(results: Results, home: Path, rounds: int) -> None:
    """Measure listing and searching on the command line."""
    version = Command("--version")
    listings = {name: Command(*words.split()) for name, words in LISTINGS.items()}
    searches = {"search 10,000, by words": Command("sessions", "search", "--text", QUESTIONS[2])}
    if available():
        name = "search 10,000, with meaning"
        searches[name] = Command("sessions", "search", QUESTIONS[2])
    else:
        results.skip("search 10,000, with meaning", "The extra `search` is not installed.")
    every = [version, *listings.values(), *searches.values()]
    for number in range(rounds + 1):
        for command in every:
            command.run(home, keep=number > 0)  # the first round fills the caches
    results.add("chat-loop --version", version.end, "ms")
    first = listings["list 10,000"].first
    what = "list 10,000, first row, beyond --version"
    results.add_difference(what, first, version.end, "ms", at_most=LIST_GOAL)
    for name, command in listings.items():
        goal = LIST_GOAL if "--limit" in command.words else WHOLE_GOAL
        what = f"{name}, beyond --version"
        results.add_difference(what, command.end, version.end, "ms", at_most=goal)
    for name, command in searches.items():
        goal = MEANING_GOAL if name.endswith("meaning") else TEXT_GOAL
        what = f"{name}, beyond --version"
        results.add_difference(what, command.end, version.end, "ms", at_most=goal)


def give_vectors(folder: Path) -> None:
    """Give every exchange a vector; the vectors of a few exchanges are reused for all."""
    from chat_loop.library import vectors

    embedder = vectors.load()
    with closing(Index(folder)) as index:
        rows = index.unembedded(SESSIONS)
        few = [embedder.exchange(*talk) for _, *talk in rows[:EMBEDDED]]
        contents = (content for content, *_ in rows)
        index.keep_vectors([*zip(contents, cycle(few), strict=False)])


def searched(folder: Path, rounds: int, semantic: SemanticIndex | None) -> Iterator[float]:
    """Yield the milliseconds of searches in a chat, with an open index and a loaded model."""
    with closing(Library(folder)) as library:
        for number, question in enumerate(islice(cycle(QUESTIONS), rounds + 1)):
            started = time.perf_counter()
            found, _ = search_all(library, question, SessionFilter(), 10, semantic=semantic)
            if number:
                yield 1000 * (time.perf_counter() - started)
            assert found


def resumes(results: Results, home: Path, bare: Path, rounds: int) -> None:
    """Measure a resume of a session of 100 MB in a chat, minus a plain start."""
    folder = home / "chat-loop" / "sessions"
    path = folder / "heavy.md"
    plain, heavy = [], []
    for number in range(rounds + 1):
        times = start(bare)[2], start(home, "--resume", path.stem)[2]
        if number:
            plain.append(times[0])
            heavy.append(times[1])
        for child in {*folder.glob("*.md")} - {path}:
            child.unlink()
    what = f"resume of {MEGABYTES} MB, sealed, key shown beyond a start"
    results.add_difference(what, heavy, plain, "ms", at_most=HEAVY_GOAL)


def run(results: Results, settings: Settings) -> None:
    """Measure and judge."""
    rounds = settings.rounds or ROUNDS
    with tempfile.TemporaryDirectory() as name:
        top = Path(name)
        home, bare, heavy_home = top / "home", top / "bare", top / "heavy"
        folder, heavy = home / "chat-loop" / "sessions", heavy_home / "chat-loop" / "sessions"
        make_sessions(folder, SESSIONS)
        for place in (bare, heavy):
            place.mkdir(mode=0o700, parents=True)
        indexer = Indexer(folder)
        seconds, longest = held_up(indexer)
        indexer.close()
        results.add("index of 10,000 from nothing", [seconds], "s")
        results.add(
            "a key was held up by the indexer", [longest * 1000], "ms", at_most=HELD_UP_GOAL
        )
        if available():
            give_vectors(folder)
        commands(results, home, rounds)
        results.add(
            "search 10,000 in a chat, by words",
            *([*searched(folder, rounds, None)], "ms"),
            at_most=TEXT_GOAL,
        )
        if available():
            results.add(
                "search 10,000 in a chat, with meaning",
                *([*searched(folder, rounds, SemanticIndex())], "ms"),
                at_most=CHAT_GOAL,
            )

        (heavy / "heavy.md").write_bytes(render(long_session("heavy", 1_000, MEGABYTES * 1_000)))
        resumes(results, heavy_home, bare, min(rounds, 5))

        (heavy / ".index.sqlite").unlink(missing_ok=True)
        found = subprocess.run(
            [sys.executable, "-c", MEMORY, str(heavy)], capture_output=True, text=True, check=True
        )
        what = f"memory to index {MEGABYTES} MB"
        results.add(what, [float(found.stdout)], "MiB", at_most=MEMORY_GOAL)
