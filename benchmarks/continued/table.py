"""The tables of the tasks that were solved, from the committed results."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from statistics import median

import msgspec
from msgspec import Struct

from benchmarks.continued.arms import ARMS, NEWEST, NONE, OURS, SUMMARY, WHOLE
from benchmarks.continued.script import NAMES, path_of, read
from benchmarks.embedded.answers import compare

FOLDER = "continued"
PAIRS = ((OURS, NEWEST), (OURS, SUMMARY), (OURS, WHOLE))


class Finished(Struct, frozen=True):
    """What a file has of a task and an arm."""

    solved: bool
    prompt_tokens: int
    compactions: int


def finished(folder: Path) -> dict[str, dict[str, Finished]]:
    """Return the results in a folder of results, by arm and by task."""
    found: dict[str, dict[str, Finished]] = {arm: {} for arm in ARMS}
    for name in NAMES:
        for task in read(name).tasks:
            for arm in ARMS:
                path = path_of(folder / FOLDER / name, task, arm)
                if path.exists():
                    found[arm][task.name] = msgspec.json.decode(path.read_bytes(), type=Finished)
    return found


def text(folder: Path) -> str:
    """Return the tables."""
    return "\n".join(_lines(finished(folder)))


def _lines(found: dict[str, dict[str, Finished]]) -> Iterator[str]:
    yield "| | tasks solved | tokens before the answer, median |"
    yield "|---|---|---|"
    for arm in (OURS, NEWEST, SUMMARY, WHOLE, NONE):
        of = found[arm].values()
        if of:
            solved = f"{sum(each.solved for each in of)} of {len(of)}"
            yield f"| {arm} | {solved} | {median(each.prompt_tokens for each in of):,.0f} |"
        else:
            yield f"| {arm} | not measured | |"
    yield ""
    compactions = {each.compactions for each in found[OURS].values()}
    if compactions:
        yield f"Compactions before the answer: {' or '.join(map(str, sorted(compactions)))}.\n"
    for one, two in PAIRS:
        both = found[one].keys() & found[two].keys()
        if both:
            pair = compare(*([found[arm][task].solved for task in both] for arm in (one, two)))
            yield (
                f"- {one} against {two}, {len(both)} tasks: {pair['both']} solved with both, {pair['only_first']} only "
                f"with the first, {pair['only_second']} only with the second (p = {pair['p']:.2g}, sign test)"
            )
