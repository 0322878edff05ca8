"""The worst case, ten compactions that the user types: `python -m benchmarks.factchain`; exit code 1
on a miss. What a user gets is measured by `python -m benchmarks.factchain.automatic`.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from functools import lru_cache
from pathlib import Path

import msgspec

from benchmarks.factchain import report, run
from benchmarks.factchain.generator import generate
from benchmarks.factchain.standin import WINDOW
from benchmarks.factchain.summarisers import Lossy
from benchmarks.factchain.talk import SEGMENTS
from benchmarks.factchain.wording import PROFILES
from benchmarks.support.results import origin
from chat_loop.tokens import TokenCounter

SEEDS = 5
REMEMBERED = 20_000
"""The number of texts whose token counts are cached."""


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.factchain", description=__doc__)
    add = parser.add_argument
    add("--seeds", type=int, default=SEEDS, metavar="N", help="conversations per wording (5)")
    add("--window", type=_tokens, default=WINDOW, metavar="N", help="such as 8K or 200K (16K)")
    add("--json", type=Path, metavar="FILE", help="write all numbers there")
    return parser.parse_args(arguments)


def _tokens(text: str) -> int:
    """Read a number of tokens such as 16384 or 16K."""
    return int(text[:-1]) * 1024 if text[-1:] in "kK" else int(text)


async def _measure(seeds: int, window: int, count: Callable[[str], int]) -> run.Results:
    """Measure every conversation."""
    results = run.Results()
    for profile in PROFILES:
        for seed in range(1, seeds + 1):
            talk = generate(seed, profile)
            folder = Path(f"{profile}{seed}")
            summariser = Lossy(talk.facts, talk.seed, count)
            await run.ours(talk, folder, summariser, count, window, results)
            results.sentences.append(
                count("\n".join(fact.sentence for fact in talk.facts if fact.live(SEGMENTS)))
            )
            if seed == 1:
                results.faults.append(await run.faults(talk, folder, count, window))
                results.waits.append(await run.waits(talk, folder, count, window))
                results.work.append(run.work(talk, count))
            sys.stderr.write(f"{profile} {seed} done\n")
    return results


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print, write and judge."""
    options = _options(arguments)
    path = options.json.absolute() if options.json else None
    started = time.perf_counter()
    counter = TokenCounter()
    counter.load()
    count = lru_cache(REMEMBERED)(counter.count)
    # The requests contain the folder's name, so it must be the same in every run.
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        results = asyncio.run(_measure(options.seeds, options.window, count))
    results.seconds = time.perf_counter() - started
    title = f"FactChain: {SEGMENTS} typed compactions of {options.seeds} conversations of each wording; window {options.window:,}"
    print(report.text(results, title, options.window))
    if path is not None:
        settings = {
            "seeds": options.seeds,
            "window": options.window,
            "seconds": round(results.seconds, 1),
        } | msgspec.to_builtins(origin())
        path.write_text(report.as_json(results, settings, options.window), "utf-8")
    return 0 if all(goal.met for goal in report.goals(results, options.window)) else 1


if __name__ == "__main__":
    raise SystemExit(main())
