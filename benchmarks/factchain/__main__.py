"""Plant facts, compact ten times, count what is left: `python -m benchmarks.factchain`; exit code 1
on a miss. `python -m benchmarks --only factchain` does it in both windows that are published.
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

from benchmarks.factchain import plot, report, run
from benchmarks.factchain.generator import generate
from benchmarks.factchain.standin import WINDOW
from benchmarks.factchain.summarisers import Lossy, Real, Summariser
from benchmarks.factchain.talk import SEGMENTS, Talk
from benchmarks.factchain.tools import with_tools
from benchmarks.factchain.wording import PROFILES
from benchmarks.support.results import origin
from chat_loop.config import find_paths, load_config
from chat_loop.errors import ChatLoopError
from chat_loop.providers import Provider
from chat_loop.providers.choose import choose, this_machine
from chat_loop.tokens import TokenCounter

SEEDS = 3
REMEMBERED = 20_000
"""The number of texts whose token counts are cached."""


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.factchain", description=__doc__)
    parser.add_argument(
        "--seeds",
        type=int,
        default=SEEDS,
        metavar="N",
        help="conversations per profile (default 3)",
    )
    parser.add_argument(
        "--window",
        type=_tokens,
        default=WINDOW,
        metavar="N",
        help="the window, such as 8K or 200K (default 16K)",
    )
    parser.add_argument(
        "--profiles",
        default=",".join(PROFILES),
        metavar="A,B",
        help="only these wordings (default all)",
    )
    parser.add_argument(
        "--tools", action="store_true", help="with questions that are answered by tools"
    )
    parser.add_argument(
        "--quick", action="store_true", help="one conversation per profile, scored at the end only"
    )
    parser.add_argument(
        "--local", metavar="MODEL", help="an embedded model writes the summaries, in every arm"
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all numbers there")
    parser.add_argument("--svg", type=Path, metavar="FILE", help="draw the curve there")
    return parser.parse_args(arguments)


def _tokens(text: str) -> int:
    """Read a number of tokens such as 16384 or 16K."""
    return int(text[:-1]) * 1024 if text[-1:] in "kK" else int(text)


def _provider(model: str) -> Provider:
    paths = find_paths()
    reference = model if ":" in model else f"local:{model}"
    return choose(reference, load_config(paths.config, required=False), this_machine(paths.models))


async def _measure(options: argparse.Namespace, count: Callable[[str], int]) -> run.Results:
    """Measure every arm over every conversation."""
    results = run.Results()
    seeds = range(1, 2 if options.quick else options.seeds + 1)
    scored = (SEGMENTS,) if options.quick else run.SCORED
    provider = _provider(options.local) if options.local else None
    if provider is not None:
        await asyncio.to_thread(provider.warm)
    window = min(options.window, provider.window.tokens) if provider else options.window

    def summariser(talk: Talk) -> Summariser:
        return Real(provider) if provider else Lossy(talk.facts, talk.seed, count)

    for profile in options.profiles.split(","):
        for seed in seeds:
            talk = generate(seed, profile)
            if options.tools:
                talk = with_tools(talk)
            folder = Path(f"{profile}{seed}")
            await run.ours(talk, folder, summariser(talk), count, window, results, scored)
            results.sentences.append(
                count("\n".join(fact.sentence for fact in talk.facts if fact.live(SEGMENTS)))
            )
            if seed == 1 and provider is None:
                results.faults.append(await run.faults(talk, folder, count, window))
                results.waits.append(await run.waits(talk, folder, count, window))
                results.work.append(run.work(talk, count))
            sys.stderr.write(f"{profile} {seed} done\n")
    if provider is not None:
        await provider.close()
    return results


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print, write and judge."""
    options = _options(arguments)
    files = {
        name: path.absolute()
        for name, path in (("json", options.json), ("svg", options.svg))
        if path
    }
    started = time.perf_counter()
    counter = TokenCounter()
    counter.load()
    count = lru_cache(REMEMBERED)(counter.count)
    try:
        # The requests contain the folder's name, so it must be the same in every run.
        with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
            results = asyncio.run(_measure(options, count))
    except ChatLoopError as error:
        sys.stderr.write(f"{error.message} {error.hint}\n")
        return 2
    results.seconds = time.perf_counter() - started
    seeds = 1 if options.quick else options.seeds
    summaries = options.local or "a stand-in that loses and changes facts"
    title = (
        f"FactChain: {seeds} conversation(s) in the wordings {options.profiles}, {SEGMENTS} "
        f"compactions; window {options.window:,}; summaries by {summaries}"
    )
    scored = (SEGMENTS,) if options.quick else run.SCORED
    print(report.text(results, title, scored, options.window))
    if "json" in files:
        settings = {
            "seeds": seeds,
            "window": options.window,
            "summaries": summaries,
            "tools": options.tools,
            "seconds": round(results.seconds, 1),
        } | msgspec.to_builtins(origin())
        files["json"].write_text(report.as_json(results, settings, options.window), "utf-8")
    if "svg" in files:
        drawn = plot.svg(
            plot.curves(report.rows(results.readings)),
            "Facts in the context after so many compactions (tokens of a request after the last)",
        )
        files["svg"].write_text(drawn, "utf-8")
    return 0 if all(goal.met for goal in report.goals(results, options.window)) else 1


if __name__ == "__main__":
    raise SystemExit(main())
