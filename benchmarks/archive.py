"""What the archive of a chain costs and finds: `python -m benchmarks.archive`; exit code 1 when a
goal is missed.

A chain on disk is indexed behind a thread that measures how long it is held up, then asked 144
questions about facts that were said once. Precision and recall are those of what is attached to a
query unasked.
"""

from __future__ import annotations

import tempfile
import threading
import time
from datetime import timedelta
from pathlib import Path
from statistics import quantiles

from benchmarks.support.planting import FACTS, NOTHING_TO_FIND, START, Fact, conversation
from benchmarks.support.results import Results, parser
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
MISSED_GOAL = 0.1
WRONG_GOAL = 0.05


def make_chain(folder: Path, exchanges: list[Exchange]) -> tuple[Header, int]:
    """Write the exchanges as sealed sessions; return the header of a live one after them, and its
    depth.
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
    """Seconds until everything can be found, and the longest that this thread was held up
    meanwhile.
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
    """Seconds of each query, and the shares of the facts that come first and among the first
    five.
    """
    seconds, first, five = [], 0, 0
    for fact in facts:
        started = time.perf_counter()
        hits = archive.search(fact.question)
        seconds.append(time.perf_counter() - started)
        right = [any(fact.statement in text for _, text in hit.texts) for hit in hits]
        first += right[:1] == [True]
        five += any(right)
    return seconds, first / len(facts), five / len(facts)


def attached(
    archive: Archive, facts: tuple[Fact, ...], chatter: tuple[str, ...]
) -> tuple[float, float]:
    """Precision and recall of what is attached to questions about the facts, and to queries about
    nothing archived.
    """
    answers = [(fact, archive.recall(fact.question)[0]) for fact in facts]
    right = sum(fact.answer in text for fact, text in answers)
    found = sum(bool(text) for _, text in answers) + sum(
        bool(archive.recall(query)[0]) for query in chatter
    )
    return right / max(1, found), right / len(facts)


def report(archive: Archive, name: str, half: int) -> tuple[list[float], float, float]:
    """Print what is found of one half of the facts; return the seconds of each query, missed and
    wrong shares.
    """
    facts = FACTS[half::2]
    seconds, first, five = asked(archive, facts)
    precision, recall = attached(archive, facts, NOTHING_TO_FIND[half::2])
    print(f"  {len(facts)} facts {name}: first {first:.1%}, among five {five:.1%}")
    print(f"    attached unasked: precision {precision:.1%}, recall {recall:.1%}")
    return seconds, 1 - five, 1 - precision


def main() -> int:
    """Measure, print, judge."""
    given = parser("archive", __doc__).parse_args()
    results = Results("archive")
    with tempfile.TemporaryDirectory() as name:
        for length in (USUAL, LONG):
            folder = Path(name) / str(length)
            header, depth = make_chain(folder, conversation(length))
            at = header.created
            place = Restoration(
                at=at, parent_created=at, queries=1, tokens=1, block="", depth=depth
            )
            archive = Archive(SessionManager(folder), Session(header=header, entries=(place,)))
            ready, held_up = made_ready(archive)
            print(f"{length:,} exchanges in {depth - 1} sessions: ready after {ready:.2f} s")
            report(archive, "that were tuned on", 0)
            seconds, missed, wrong = report(archive, "kept out of tuning", 1)
            twentieths = [value * 1000 for value in quantiles(seconds, n=20)]
            print(f"  a query: median {twentieths[9]:.2f} ms, 95 % {twentieths[18]:.2f} ms")
            if length == USUAL:
                results.judge("facts kept out of tuning, not among five", missed, MISSED_GOAL, "")
                results.judge("wrongly attached", wrong, WRONG_GOAL, "")
        results.judge("until everything can be found", ready, READY_GOAL, " s")
        results.judge("a query, median", twentieths[9], QUERY_GOAL, " ms")
        longest = "the longest that another thread was held up"
        results.judge(longest, held_up * 1000, HELD_UP_GOAL, " ms")
    return results.finish(given.json)


if __name__ == "__main__":
    raise SystemExit(main())
