"""The value of each rule of the ledger: `python -m benchmarks.factchain.ablation`.

The ledger alone processes the ten segments of FactChain's talks, without any model's bullets, once
as it is and once without each of its rules. A rule that improves nothing should be removed. The
noise is about two points between two seeds; one stale value is about 1.4 %.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path

import msgspec

from benchmarks.factchain.generator import generate
from benchmarks.factchain.ours import exchanges
from benchmarks.factchain.scoring import Context, stale, survived
from benchmarks.factchain.talk import SEGMENTS
from benchmarks.factchain.tools import with_tools
from benchmarks.factchain.wording import PROFILES
from benchmarks.support.results import origin
from chat_loop.context import ledger
from chat_loop.sessions.records import Summary
from chat_loop.tokens import TokenCounter

ROOMS = (2_826, 5_652, 12_000)
"""The tokens of the ledger in windows of 8K, 16K, and 35K or more."""

NOTHING = (0.0, 0.0, 0.0, 0.0)
WITHOUT: Mapping[str, Mapping[str, object]] = {
    "nothing": {},
    "labels": {"LABEL_POINTS": 0.0},
    "shapes of values": {"SHAPE_POINTS": NOTHING},
    "length of sentences": {"WORD_POINTS": 0.0},
    "newer before older": {"NEWER": 2.0},
    "lines of results": {"MOST_SOURCES": 0},
    "any order": {"LABEL_POINTS": 0.0, "SHAPE_POINTS": NOTHING, "WORD_POINTS": 0.0},
}


@contextmanager
def points(changed: Mapping[str, object]) -> Iterator[None]:
    """Change the points of lines until the end of the block."""
    before = {name: getattr(ledger, name) for name in changed}
    for name, value in changed.items():
        setattr(ledger, name, value)
    try:
        yield
    finally:
        for name, value in before.items():
            setattr(ledger, name, value)


def measure(
    profile: str, seeds: int, room: int, count: Callable[[str], int], *, tools: bool
) -> tuple[float, float]:
    """Return the percentage of live facts in the last block, and the percentage of stale values."""
    there = live = old = replaced = 0
    for seed in range(1, seeds + 1):
        talk = with_tools(generate(seed, profile)) if tools else generate(seed, profile)
        parent: Summary | None = None
        for depth, turns in enumerate(talk.segments, 1):
            fresh = exchanges(turns, depth)
            parent = ledger.ledger(parent, None, fresh, (), (), room, count).summary
        kept = parent or Summary()
        context = Context("\n".join((*kept.decisions, *kept.pending, *kept.key_facts)))
        facts = [fact for fact in talk.facts if fact.live(SEGMENTS)]
        there += len(survived(context, facts))
        live += len(facts)
        old += len(stale(context, talk.facts, SEGMENTS))
        replaced += sum(fact.stale(SEGMENTS) for fact in talk.facts)
    return 100 * there / live, 100 * old / replaced


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.factchain.ablation")
    parser.add_argument("--seeds", type=int, default=2, metavar="N")
    parser.add_argument("--profiles", default="seen,unseen", help=f"of {', '.join(PROFILES)}")
    parser.add_argument("--tools", action="store_true", help="with questions to tools")
    parser.add_argument("--json", type=Path, metavar="FILE")
    options = parser.parse_args()
    counter = TokenCounter()
    counter.load()
    count = lru_cache(200_000)(counter.count)
    columns = [(profile, room) for profile in options.profiles.split(",") for room in ROOMS]
    print(f"{'without':22}" + "".join(f"{f'{name} {room:,}':>18}" for name, room in columns))
    rows = {}
    for name, changed in WITHOUT.items():
        with points(changed):
            cells = [
                measure(profile, options.seeds, room, count, tools=options.tools)
                for profile, room in columns
            ]
        rows[name] = [
            {"profile": profile, "room": room, "context": context, "stale": old}
            for (profile, room), (context, old) in zip(columns, cells, strict=True)
        ]
        print(f"{name:22}" + "".join(f"{f'{one:.1f} ({old:.1f})':>18}" for one, old in cells))
    if options.json:
        data = {
            "settings": {"seeds": options.seeds, "tools": options.tools}
            | msgspec.to_builtins(origin()),
            "without": rows,
        }
        options.json.write_text(json.dumps(data, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
