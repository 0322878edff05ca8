"""The page for readers, docs/benchmarks.md: what is won and lost, the goals, and what was not measured.

It is written only from the existing results; the full tables are beside them (`tables.py`).
"""

from __future__ import annotations

import os
import textwrap
from collections.abc import Iterator, Mapping
from pathlib import Path

from benchmarks import ages, figures, tables
from benchmarks.ages import Age
from benchmarks.peers import OTHERS
from benchmarks.registry import BENCHMARKS
from benchmarks.support.results import RESULTS, Result, goal, reached, read
from benchmarks.tables import TEXTS

TABLES = "README.md"
WIDTH = 150


def write(folder: Path, page: Path) -> None:
    """Write the page, and the full tables and the ages beside the results in `folder`. For the
    committed results, also update the figures in the other pages. Raises OSError.
    """
    results = results_in(folder)
    ages.write(folder)
    (folder / TABLES).write_text(tables.text(results, ages.read(folder)), "utf-8")
    page.write_text(text(results, folder, page), "utf-8")
    if folder == RESULTS:
        for other, old, new in figures.pages_of(folder):
            if old != new:
                other.write_text(new, "utf-8")


def results_in(folder: Path) -> dict[str, Result]:
    """Return the results in a folder, in the order of the registry."""
    found = ((name, read(folder / f"{name}.json")) for name in BENCHMARKS)
    return {name: result for name, result in found if result is not None}


def text(results: Mapping[str, Result], folder: Path, page: Path) -> str:
    """Return the page for readers."""
    relative = os.path.relpath(folder, page.parent)
    base = "" if relative == os.curdir else f"{relative}/"
    parts = [TEXTS["head"].format(folder=f"[the results]({base}{TABLES})")]
    parts += won_and_lost(results.get("peers"), folder)
    parts += goals(results, base)
    parts += [TEXTS["skeptic"], *how_old(ages.read(folder), base), TEXTS["commands"]]
    return "\n".join(parts)


def won_and_lost(peers: Result | None, folder: Path) -> Iterator[str]:
    """Yield the headlines, with what a user notices."""
    yield "## Won and lost\n"
    missing = [name for name in figures.HEADLINES if not (folder / f"{name}.json").exists()]
    if missing:
        yield f"Not measured: {', '.join(missing)}.\n"
        return
    rows = figures.headlines(folder)
    yield "| | chat-loop | best other | what you notice |"
    yield "|---|---|---|---|"
    yield from (f"| {row.label} | {row.cells()} | {row.notice} |" for row in rows)
    yield f"\n{textwrap.fill(figures.compared(folder), WIDTH)}"
    if peers is not None:
        origin = peers.origin
        rounds = max(len(measure.samples) for measure in peers.measures.values())
        versions = (f"{name} {origin.versions[name]}" for name in OTHERS if name in origin.versions)
        yield f"The programs: {', '.join(versions)}. {rounds} rounds, {origin.date[:10]}."
        for name, reason in peers.not_measured.items():
            yield f"- {name}: not measured. {reason}"
    yield ""


def goals(results: Mapping[str, Result], base: str) -> Iterator[str]:
    """Yield the table of the project's goals; each shows the measure that is nearest to a miss."""
    yield "## Goals, met and missed\n"
    yield "| | goal | reached | what you notice |"
    yield "|---|---|---|---|"
    for promise in tables.PROMISES:
        result = results.get(promise.benchmark)
        found = [] if result is None else [*map(result.measures.get, promise.measures)]
        measured = [one for one in found if one is not None]
        if measured:
            worst = max(measured, key=tables.share)
            verdict = "met" if worst.met else "**missed**"
            cells = f"{goal(worst)} | {reached(worst)}, {verdict}"
        else:
            cells = " | not measured"
        yield f"| {promise.text} | {cells} | {promise.notice} |"
    yield f"\n[All measures, the machines and the reasons of the misses]({base}{TABLES}#missed-goals)\n"


def how_old(found: Mapping[str, Age], base: str) -> Iterator[str]:
    """Yield how many results are of the code of today, and the ages of those at the top."""
    current = sum(age.changed == [] for age in found.values())
    yield "## How old these results are\n"
    yield "Each result is bound to the parts of the program that it measures, by a hash of their files. When this page was written,"
    yield f"{current} of {len(found)} results were of the same code: [all of them]({base}{TABLES}#ages). Those of the first table are:\n"
    for name in figures.HEADLINES:
        if age := found.get(name):
            yield f"- [{name}]({base}{name}.json), commit {age.commit}, {age.date}: {age}"
    yield ""
