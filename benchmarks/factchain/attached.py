"""Small windows and models without tools: `python -m benchmarks.factchain.attached`.

FactChain's conversations are compacted automatically. Then each fact is asked for, and counts if it
is in the context, or in the passages that the program attaches to the question. A replaced value is
stale if the context has it without the newer one; it is asked for, too.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import tempfile
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from statistics import mean

import msgspec
from msgspec import Struct

from benchmarks.factchain.generator import generate
from benchmarks.factchain.ours import Ours
from benchmarks.factchain.scoring import Context, stale, survived
from benchmarks.factchain.summarisers import Lossy
from benchmarks.factchain.talk import SEGMENTS
from benchmarks.factchain.wording import PROFILES
from benchmarks.support.results import origin
from chat_loop.tokens import TokenCounter

WINDOWS = (4_096, 8_192, 16_384)


class Found(Struct, frozen=True, kw_only=True):
    """What is left of one conversation, in percent of the live facts, and of the replaced values
    for `stale`.
    """

    profile: str
    seed: int
    window: int
    in_context: float
    or_attached: float
    stale: float
    stale_when_asked: float
    """The same in the context together with what is attached to the question for the value."""
    compactions: int


async def measure(profile: str, seed: int, window: int, count: Callable[[str], int]) -> Found:
    """Have a conversation in the working directory, and ask for each fact."""
    talk = generate(seed, profile)
    folder = Path(f"{profile}{seed}-{window}")
    summariser = Lossy(talk.facts, talk.seed, count)
    chat = Ours(folder, summariser, count, window=window, automatic=True)
    for segment, turns in enumerate(talk.segments, 1):
        for turn in turns:
            await chat.settled()
            await chat.say(turn)
        if segment == 1:
            for pin in talk.pins:
                chat.pin(pin)
    await chat.settled()
    text = chat.context
    context = Context(text)
    live = [fact for fact in talk.facts if fact.live(SEGMENTS)]
    there = survived(context, live)
    missing = (fact for fact in live if fact.number not in there)
    attached = sum(Context(chat.attached(fact.question)).has(fact) for fact in missing)
    replaced = [fact for fact in talk.facts if fact.stale(SEGMENTS)]
    misled = 0
    for fact in replaced:
        sent = Context(f"{text}\n{chat.attached(fact.question)}")
        misled += fact.number in stale(sent, talk.facts, SEGMENTS)
    chat.close()
    return Found(
        profile=profile,
        seed=seed,
        window=window,
        in_context=100 * len(there) / len(live),
        or_attached=100 * (len(there) + attached) / len(live),
        stale=100 * len(stale(context, talk.facts, SEGMENTS)) / len(replaced),
        stale_when_asked=100 * misled / len(replaced),
        compactions=chat.automatic,
    )


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.factchain.attached")
    parser.add_argument("--seeds", type=int, default=2, metavar="N")
    parser.add_argument("--json", type=Path, metavar="FILE")
    options = parser.parse_args()
    file = options.json.absolute() if options.json else None
    counter = TokenCounter()
    counter.load()
    count = lru_cache(20_000)(counter.count)
    found: list[Found] = []
    print("window  wording  in the context  or attached  stale  when asked  compactions")
    # the requests contain the folder's name, so it must be the same in every run
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        for window in WINDOWS:
            for profile in PROFILES:
                rows = [
                    asyncio.run(measure(profile, seed, window, count))
                    for seed in range(1, options.seeds + 1)
                ]
                found += rows
                print(
                    f"{window:6}  {profile:7}"
                    f"  {mean(row.in_context for row in rows):14.1f}"
                    f"  {mean(row.or_attached for row in rows):11.1f}"
                    f"  {mean(row.stale for row in rows):5.1f}"
                    f"  {mean(row.stale_when_asked for row in rows):10.1f}"
                    f"  {mean(row.compactions for row in rows):11.1f}"
                )
    if file is not None:
        data = {
            "settings": {"seeds": options.seeds} | msgspec.to_builtins(origin()),
            "found": msgspec.to_builtins(found),
        }
        file.write_text(json.dumps(data, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
