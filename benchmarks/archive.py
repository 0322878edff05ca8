"""The archive of a chain: its cost, and what it finds.

A chain on disk is indexed in a thread while the main thread measures how long it is blocked. Then
the archive is asked 144 questions about facts that were said once. Precision and recall refer to
the passages attached to a query unasked. Half of the facts were used for tuning; the goals apply to
the other half.
"""

from __future__ import annotations

import tempfile
import threading
import time
from datetime import timedelta
from pathlib import Path

from benchmarks.support.planting import FACTS, NOTHING_TO_FIND, START, Fact, conversation
from benchmarks.support.results import Results, Settings
from chat_loop.library.archive import NOT_READY, Archive
from chat_loop.library.archive_tools import SEARCH
from chat_loop.sessions.manager import SessionManager
from chat_loop.sessions.records import Entry, Exchange, Header, Restoration, Seal, Session
from chat_loop.sessions.writer import render

LONG, USUAL = 10_000, 1_000
PER_SESSION = 40
READY_GOAL = 3.0
QUERY_GOAL = 5.0
HELD_UP_GOAL = 50.0
FOUND_GOAL, PRECISION_GOAL = 90.0, 95.0
HALVES = {"tuned on": 0, "kept out of tuning": 1}


def make_chain(folder: Path, exchanges: list[Exchange]) -> tuple[Header, int]:
    """Write the exchanges as sealed sessions. Return the header of a live session after them, and
    its depth.
    """
    folder.mkdir(parents=True)
    parent, depth = "", 1
    for start in range(0, len(exchanges), PER_SESSION):
        header = Header(
            id=f"s{depth}", created=START + timedelta(minutes=depth), agent="A", parent=parent
        )
        entries: list[Entry] = []
        if parent:
            at = header.created
            entries.append(
                Restoration(at=at, parent_created=at, queries=1, tokens=1, block="", depth=depth)
            )
        for exchange in exchanges[start : start + PER_SESSION]:
            entries += [exchange.query, *([exchange.reply] if exchange.reply else [])]
        session = Session(
            header=header, entries=tuple(entries), seal=Seal(at=header.created, reason="compact")
        )
        (folder / f"{header.id}.md").write_bytes(render(session))
        parent, depth = header.id, depth + 1
    return Header(id="live", created=START, agent="A", parent=parent), depth


def made_ready(archive: Archive) -> tuple[float, float]:
    """Return the seconds until everything can be found, and the longest time that this thread was
    blocked meanwhile.
    """

    def index() -> None:
        while archive.call(SEARCH, {"query": "ready"}) == NOT_READY:
            pass

    started = last = time.perf_counter()
    longest = 0.0
    thread = threading.Thread(target=index)
    thread.start()
    while thread.is_alive():
        thread.join(0.001)
        now = time.perf_counter()
        longest, last = max(longest, now - last), now
    return time.perf_counter() - started, longest


def asked(archive: Archive, facts: tuple[Fact, ...]) -> tuple[list[float], float, float]:
    """Return the milliseconds of each query, and the percentages of the facts whose exchange is
    found first and among the first five.
    """
    times, first, five = [], 0, 0
    for fact in facts:
        started = time.perf_counter()
        hits = archive.search(fact.question)
        times.append(1000 * (time.perf_counter() - started))
        right = [any(fact.statement in text for _, text in hit.texts) for hit in hits]
        first += right[:1] == [True]
        five += any(right)
    return times, 100 * first / len(facts), 100 * five / len(facts)


def attached(
    archive: Archive, facts: tuple[Fact, ...], chatter: tuple[str, ...]
) -> tuple[float, float]:
    """Return the precision and the recall, in percent, of the passages attached to questions about
    `facts`. Passages attached to `chatter`, which has nothing in the archive, count as wrong.
    """
    answers = [(fact, archive.recall(fact.question)[0]) for fact in facts]
    right = sum(fact.answer in text for fact, text in answers)
    found = sum(bool(text) for _, text in answers) + sum(
        bool(archive.recall(query)[0]) for query in chatter
    )
    return 100 * right / max(1, found), 100 * right / len(facts)


def run(results: Results, settings: Settings) -> None:
    """Measure and judge. The search results are the same in each run, so this is done only once."""
    for length in (USUAL, LONG):
        with tempfile.TemporaryDirectory() as name:
            header, depth = make_chain(Path(name) / "chain", conversation(length))
            at = header.created
            place = Restoration(
                at=at, parent_created=at, queries=1, tokens=1, block="", depth=depth
            )
            sessions = SessionManager(Path(name) / "chain")
            archive = Archive(sessions, Session(header=header, entries=(place,)))
            seconds, held_up = made_ready(archive)
            among = f"{length:,} exchanges"
            is_long = length == LONG
            results.add(f"ready, {among}", [seconds], "s", at_most=READY_GOAL if is_long else None)
            results.add(
                f"longest that a thread was held up, {among}",
                [1000 * held_up],
                "ms",
                at_most=HELD_UP_GOAL if is_long else None,
            )
            times: list[float] = []
            for half, start in HALVES.items():
                facts = FACTS[start::2]
                taken, first, five = asked(archive, facts)
                precision, recall = attached(archive, facts, NOTHING_TO_FIND[start::2])
                times += taken
                judged = start == HALVES["kept out of tuning"] and not is_long
                named = f"facts {half}, {among}"
                results.add(f"{named}: first", [first], "%")
                results.add(
                    f"{named}: among five", [five], "%", at_least=FOUND_GOAL if judged else None
                )
                results.add(
                    f"{named}: precision of what is attached",
                    [precision],
                    "%",
                    at_least=PRECISION_GOAL if judged else None,
                )
                results.add(f"{named}: recall of what is attached", [recall], "%")
            results.add(f"a query, {among}", times, "ms", at_most=QUERY_GOAL if is_long else None)
