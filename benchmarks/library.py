"""What ten thousand sessions, and very long ones, cost: `python -m benchmarks.library
[--json FILE]`; exit code 1 on a miss.

A listing is a process of its own; what is judged is how much longer it takes than one that only
loads what the prompt needs. A resume is timed in this process, from the file to the child's first
entry. Both goals are milliseconds beyond a start. The indexer works beside a thread that measures
how long it is held up, as the thread that echoes keys would be.
"""

from __future__ import annotations

import asyncio
import random
import subprocess
import sys
import tempfile
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from statistics import median

from msgspec.structs import replace

from benchmarks.start import EDITOR_TO_EDITOR, make_sessions, start, time_of
from benchmarks.support.results import Results, parser
from benchmarks.support.terminal import environment
from chat_loop.agent.agent import Agent
from chat_loop.conversation.conversation import Conversation
from chat_loop.conversation.options import Options
from chat_loop.interactive import SWITCH_SECONDS
from chat_loop.library.indexer import Indexer
from chat_loop.library.library import Library, SessionFilter
from chat_loop.library.search import search_all
from chat_loop.providers.scripted import EchoProvider
from chat_loop.sessions.manager import SessionManager
from chat_loop.sessions.records import Entry, Header, Query, Reply, Seal, Session, Summary
from chat_loop.sessions.writer import render
from chat_loop.values import Usage

SESSIONS, EXCHANGES, MEGABYTES = 10_000, 10_000, 100
AT = datetime(2026, 2, 1, tzinfo=UTC)
ROUNDS = 7
NEAR, FAR = 10, 300
BEYOND_START = 100.0
HELD_UP_GOAL = 50.0
MEMORY_GOAL = 150.0

BARE = "import chat_loop.interactive"
"""What is loaded when the prompt is there."""
LISTING = """
import sys
import chat_loop.interactive
from datetime import datetime
from pathlib import Path
from chat_loop.library.library import Library
from chat_loop.library.library import SessionFilter
library = Library(Path(sys.argv[1]))
{}
assert not library.trouble, library.trouble
"""
QUESTIONS = {
    "list a page": "assert len(library.rows(20)[0]) == 20",
    "list a page, filtered by words": "assert len(library.rows(20, wanted=SessionFilter(words='question "
    "77'))[0]) == 20",
    "list all": "assert len(library.rows()[0]) >= 10_000",
}
JUDGED = ("list a page", "list a page, filtered by words")
MEMORY = """
import sys
import chat_loop.interactive, chat_loop.library.index, chat_loop.library.refresh
from datetime import datetime
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


def long_session(identity: str, exchanges: int, size: int) -> Session:
    """A sealed session whose replies have `size` characters."""
    chance = random.Random(4)
    words = [
        "".join(chance.choices("abcdefghijklmnopqrstuvwxyz", k=chance.randint(2, 10)))
        for _ in range(5_000)
    ]
    lines = [" ".join(chance.choices(words, k=12)) for _ in range(5_000)]
    entries: list[Entry] = []
    for number in range(1, exchanges + 1):
        at = AT + timedelta(seconds=number)
        entries.append(
            Query(number=number, at=at, text=f"Question {number}: {chance.choice(lines)}")
        )
        text = "\n".join(chance.choices(lines, k=max(1, size // 78)))
        entries.append(Reply(number=number, at=at, text=text, usage=Usage(input=30, output=9)))
    seal = Seal(at=AT, reason="exit", source="model", summary=Summary(topics=("Words [1]",)))
    return Session(
        header=Header(id=identity, created=AT, agent="Assistant"), entries=tuple(entries), seal=seal
    )


def held_up(indexer: Indexer) -> tuple[float, float]:
    """Seconds until an indexer has done everything, and the longest that this thread was held up
    meanwhile.
    """
    usual = sys.getswitchinterval()
    sys.setswitchinterval(SWITCH_SECONDS)  # as the program has it
    started = last = time.perf_counter()
    longest = 0.0
    indexer.start()
    while not indexer.idle.wait(0.001):
        now = time.perf_counter()
        longest, last = max(longest, now - last), now
    sys.setswitchinterval(usual)
    return time.perf_counter() - started, longest


def seconds_of(code: str, folder: Path, home: Path) -> float:
    """From process start to process end."""
    started = time.perf_counter()
    subprocess.run([sys.executable, "-c", code, str(folder)], check=True, env=environment(home))
    return time.perf_counter() - started


def beyond_start(folder: Path, home: Path) -> dict[str, float]:
    """Milliseconds that each question takes beyond a process that asks none; medians of pairs."""
    found: dict[str, list[float]] = {name: [] for name in QUESTIONS}
    for turn in range(ROUNDS + 1):
        for name, question in QUESTIONS.items():
            bare = seconds_of(BARE, folder, home)
            asked = seconds_of(LISTING.format(question), folder, home)
            if turn:  # the first fills the caches
                found[name].append((asked - bare) * 1000)
    return {name: median(values) for name, values in found.items()}


def searched(folder: Path) -> float:
    """Milliseconds of a search by words over everything that was said, the index opened anew; the
    median of some.
    """
    taken = []
    for question in (
        "question monad category",
        "endofunctors",
        "Question 4711",
        "what is a sentence in a monoid",
    ):
        library = Library(folder)
        started = time.perf_counter()
        found = search_all(library, question, SessionFilter(), 10)
        taken.append((time.perf_counter() - started) * 1000)
        library.close()
        assert found
    return median(taken)


def resumed(folder: Path, identity: str) -> float:
    """Milliseconds until a child of a session has begun."""
    sessions = SessionManager(folder)
    agent = Agent(name="Assistant", system_prompt="", provider=EchoProvider())
    options = Options(acknowledge=False)
    conversation = Conversation(
        agent, sessions, count=len, show=lambda event: None, options=options
    )
    path = folder / f"{identity}.md"

    async def resume() -> float:
        started = time.perf_counter()
        loaded = sessions.load_ends(path) or sessions.load(path)
        await conversation.accept(await conversation.planner().resume(loaded))
        taken = time.perf_counter() - started
        await conversation.compaction.wait()
        return taken * 1000

    taken = asyncio.run(resume())
    conversation.close()
    conversation.live.path.unlink(missing_ok=True)  # a child has no file before its first words
    return taken


def followed(folder: Path, session: Session) -> list[float]:
    """Milliseconds until a search can find each of ROUNDS further exchanges of a session that
    lives.
    """
    live = replace(session, seal=None, entries=session.entries[: -2 * ROUNDS])
    path = folder / f"{session.header.id}.md"
    path.write_bytes(render(live))
    library = Library(folder)
    library.update_index()
    found = []
    for number in range(1, ROUNDS + 1):
        entries = (*live.entries, *session.entries[-2 * ROUNDS :][: 2 * number])
        path.write_bytes(render(replace(live, entries=entries)))
        started = time.perf_counter()
        assert library.update_index() == 1
        found.append((time.perf_counter() - started) * 1000)
    library.close()
    path.unlink()
    return found


def started(home: Path, bare: Path) -> tuple[float, float]:
    """The full editor's time with the folder and without sessions, as ratios to `import
    prompt_toolkit`.
    """
    times: dict[str, list[float]] = {"editor": [], "full": [], "empty": []}
    for _ in range(ROUNDS):
        times["editor"].append(time_of("import prompt_toolkit", bare))
        for name, place in (("full", home), ("empty", bare)):
            _, status, echo, _ = start(place)
            times[name].append(max(status, echo))
    editor = median(times["editor"])
    return median(times["full"]) / editor, median(times["empty"]) / editor


def main() -> int:
    """Measure, print, judge."""
    given = parser("library", __doc__).parse_args()
    results = Results("library")
    with tempfile.TemporaryDirectory() as name:
        top = Path(name)
        home, bare, heavy = top / "home", top / "bare", top / "heavy"
        folder = home / "chat-loop" / "sessions"
        make_sessions(folder, SESSIONS)
        for place in (bare, heavy, top / "near", top / "far"):
            place.mkdir()
        long = long_session("long", EXCHANGES, 400)
        (folder / "long.md").write_bytes(render(long))
        (heavy / "heavy.md").write_bytes(render(long_session("heavy", 1_000, MEGABYTES * 1_000)))
        sizes = (
            (folder / "long.md").stat().st_size / 1e6,
            (heavy / "heavy.md").stat().st_size / 1e6,
        )
        print(
            f"{SESSIONS:,} sessions; one of {EXCHANGES:,} exchanges, {sizes[0]:.0f} MB; one "
            f"of {sizes[1]:.0f} MB"
        )

        indexer = Indexer(folder)
        seconds, longest = held_up(indexer)
        indexer.close()
        index = (folder / ".index.sqlite").stat().st_size / 1e6
        results.add("index from nothing", [seconds], "s")
        print(f"index from nothing: {seconds:.1f} s behind the prompt, {index:.0f} MB")
        results.judge("a key was held up by it", longest * 1000, HELD_UP_GOAL, " ms")

        for what, taken in beyond_start(folder, home).items():
            results.add(f"{what}, beyond start", [taken], "ms")
            if what in JUDGED:
                results.judge(f"{what}, beyond start", taken, BEYOND_START, " ms")
            else:
                print(f"          {what}, beyond start: {taken:.0f} ms")
        results.judge("search by words, index and all", searched(folder), BEYOND_START, " ms")

        for place, identity in ((folder, "long"), (heavy, "heavy")):
            samples = [resumed(place, identity) for _ in range(3)]
            results.add(f"resume the {identity} one", samples, "ms")
            taken = median(samples)
            results.judge(f"resume the {identity} one", taken, BEYOND_START, " ms")

        near = followed(top / "near", long_session("near", NEAR, 400))
        far = followed(top / "far", long_session("far", FAR, 400))
        print(f"a live session of {NEAR} exchanges read anew: {median(near):.0f} ms")
        results.add(f"a live session of {NEAR} read anew", near, "ms")
        results.add(f"a live session of {FAR} read anew", far, "ms")
        results.judge(f"the same, of {FAR:,}", median(far), BEYOND_START, " ms")

        (heavy / ".index.sqlite").unlink(missing_ok=True)
        begun = time.perf_counter()
        memory = subprocess.run(
            [sys.executable, "-c", MEMORY, str(heavy)], capture_output=True, text=True, check=True
        )
        print(f"index of the heavy one: {time.perf_counter() - begun:.1f} s")
        results.judge("memory for it", float(memory.stdout), MEMORY_GOAL, " MiB")

        full, empty = started(home, bare)
        print(
            f"start to the full editor: {full:.2f} x import prompt_toolkit, {empty:.2f} x "
            "without sessions"
        )
        results.judge("full editor / import prompt_toolkit", full, EDITOR_TO_EDITOR)
    return results.finish(given.json)


if __name__ == "__main__":
    raise SystemExit(main())
