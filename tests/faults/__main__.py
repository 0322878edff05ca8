"""Run fault trials: `python -m tests.faults --trials N [--traced N] [--chats N] --seed S
[--state FILE]`.

With a state file, a JSON line for each trial, a run goes on where the last one stopped. It prints
the seed, every failure, and the table; the exit code is 1 when a trial failed.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

from tests.faults import chats, in_process, traced
from tests.faults.outcome import Outcome, table

KINDS: dict[str, Callable[[int, int], Outcome]] = {
    "in process": in_process.trial,
    "under strace": traced.trial,
    "on a terminal": chats.trial,
}


def outcomes(kind: str, count: int, seed: int, state: Path | None) -> Iterator[Outcome]:
    """Yield the outcomes of the first `count` trials; take known ones from the state file."""
    done: dict[int, Outcome] = {}
    if state is not None and state.exists():
        for line in state.read_text("utf-8").splitlines():
            record = json.loads(line)
            if (record.pop("kind"), record.pop("seed")) == (kind, seed):
                done[record["number"]] = Outcome(**record)
    for number in range(count):
        outcome = done.get(number) or KINDS[kind](seed, number)
        if number not in done and state is not None:
            with state.open("a", encoding="utf-8") as file:
                record = {"kind": kind, "seed": seed, **outcome.as_dict()}
                file.write(f"{json.dumps(record)}\n")
        yield outcome


def main() -> int:
    """Run the trials of the command line; return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tests.faults", description=__doc__)
    parser.add_argument("--trials", type=int, default=0, help="trials in this process")
    parser.add_argument("--traced", type=int, default=0, help="trials of programs under strace")
    parser.add_argument("--chats", type=int, default=0, help="trials of chats on a terminal")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--state", type=Path, help="a file with the outcomes so far")
    options = parser.parse_args()
    out = sys.stdout.write
    out(f"seed {options.seed}\n")
    failures = 0
    counts = (options.trials, options.traced, options.chats)
    for kind, count in zip(KINDS, counts, strict=True):
        if not count:
            continue
        ended = []
        for outcome in outcomes(kind, count, options.seed, options.state):
            ended.append(outcome)
            if outcome.failure:
                failures += 1
                out(f"{kind} {outcome.number} {outcome.fault}: {outcome.failure}\n")
        out(f"\n{kind}, seed {options.seed}:\n\n{table(ended)}\n")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
