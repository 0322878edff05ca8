"""A small new run beside the committed results: what has become worse than chance explains.

Only measures with a goal are compared, since of the others nobody says which direction is worse. Times
are scaled to the pace of the machine. Times and ratios may be `NOISY` times the highest sample that was
committed, or a third of the goal; what does not depend on the machine may differ by the factor `STEADY`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from benchmarks.support.results import Measure, Result, number, read

NOISY, STEADY = 3.0, 1.1
"""`NOISY` also divides the goal, so that 0.002 is not worse than 0.0001."""
TIMES = ("µs", "ms", "s")


def lines(names: Iterable[str], new: Path, committed: Path) -> Iterator[tuple[str, bool]]:
    """Yield a line for each benchmark and each worse measure, and whether it is a failure: a worse
    measure, or a missed goal where nothing is committed. Raises OSError and msgspec's errors.
    """
    for name in names:
        found, before = read(new / f"{name}.json"), read(committed / f"{name}.json")
        if found is None:
            yield f"{name}: not measured", False
        elif before is None:
            yield f"{name}: nothing to compare with, {len(found.missed)} goals missed", False
            yield from ((f"  {each}: missed", True) for each in found.missed)
        else:
            both = found.measures.keys() & before.measures.keys()
            judged = [each for each in both if before.measures[each].met is not None]
            yield f"{name}: {len(judged)} measures compared", False
            yield from ((f"  {each}", True) for each in worse(found, before, sorted(judged)))


def worse(found: Result, before: Result, names: Iterable[str]) -> Iterator[str]:
    """Yield what has become worse, with both results."""
    paces = found.origin.machine.import_ms, before.origin.machine.import_ms
    pace = paces[0] / paces[1] if paces[0] and paces[1] else 1.0
    for name in names:
        new, old = found.measures[name], before.measures[name]
        if is_worse(new, old, pace):
            yield f"{name}: {number(new.median, new.unit)} instead of {number(old.median, old.unit)}"


def is_worse(new: Measure, old: Measure, pace: float) -> bool:
    """Return whether a measure is out of the range of the old one; `pace` is how many times as long
    as then the machine takes for the same work.
    """
    if old.at_least is not None:
        return new.median * STEADY < old.lowest
    if old.unit in (*TIMES, "×"):
        scale = pace if old.unit in TIMES else 1.0
        far_from_goal = (old.at_most or 0.0) / NOISY
        return new.median > max(NOISY * scale * old.highest, far_from_goal)
    return new.median > STEADY * old.highest
