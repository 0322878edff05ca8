"""The report, docs/benchmarks.md: every goal with its result, and the reason for each miss.

It is written only from the existing results; anything that was not measured is named.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec
from msgspec import Struct

from benchmarks import figures
from benchmarks.dots import Row, svg
from benchmarks.registry import BENCHMARKS
from benchmarks.support.results import (
    GOALS_IMPORT_MS,
    RESULTS,
    Machine,
    Measure,
    Result,
    at_pace_of_goals,
    goal,
    number,
    range_of,
    read,
)

MISSES = Path(__file__).parent / "misses.toml"
PEERS = ("codex", "pi", "llm", "vibe", "gptme", "aider", "basic-agent-chat-loop")
"""The programs that can be measured beside chat-loop; `peers.py` defines how each is started."""
ALL, JUDGED = 40, 40
"""A benchmark's table shows all measures if there are at most `ALL`, else the judged ones if there
are at most `JUDGED`, else the missed ones.
"""
UNEXPLAINED = "Not explained yet."


class Promise(Struct, frozen=True):
    """A goal of the project, and the measures that show whether it is met."""

    text: str
    benchmark: str
    measures: tuple[str, ...]


PROMISES = msgspec.toml.decode(
    Path(__file__).with_name("promises.toml").read_bytes(), type=dict[str, list[Promise]]
)["promise"]

HEAD = """\
# Benchmarks

How fast chat-loop is, measured: every goal of the project, also those that are missed. This page is written by
`python -m benchmarks --report` from the files in {folder}; a test compares the two. Do not edit it.

```sh
python -m benchmarks --list              # what there is, and how long each takes
python -m benchmarks                     # measure everything, write the results and this page
python -m benchmarks --only start,turn   # measure some
python -m benchmarks --skip factchain,large --rounds 3
```

The benchmarks drive the real program in a pseudo-terminal, against a server on the same machine; they need no network. Most repeat
a measurement, and take turns with what they compare. A number is the **median** of the samples, with the lowest and the highest of them: there
are often only three to fifteen, too few for quartiles, and what else runs on the machine shows in the highest. Each result has all its samples.
A ratio or a difference is that of two samples of the same round, so that both saw the same machine.

The goals in milliseconds were set on a quiet machine on which `import prompt_toolkit` takes {goals_import:.0f} ms. Each run measures that import,
too, before and after. A goal is judged by the time that was measured. Next to a missed goal, **there** gives the time in proportion to the import,
as on that machine.
"""


def write(folder: Path, page: Path) -> None:
    """Write the report of the results in `folder`, with its pictures in the same folder. For the
    committed results, also update the figures in the other pages. Raises OSError.
    """
    results = results_in(folder)
    for name, picture in pictures(results):
        (folder / name).write_text(picture, "utf-8")
    page.write_text(text(results, folder, page), "utf-8")
    if folder == RESULTS:
        for other, old, new in figures.pages(folder):
            if old != new:
                other.write_text(new, "utf-8")


def results_in(folder: Path) -> dict[str, Result]:
    """Return the results in a folder, in the order of the registry."""
    found = ((name, read(folder / f"{name}.json")) for name in BENCHMARKS)
    return {name: result for name, result in found if result is not None}


def text(results: dict[str, Result], folder: Path, page: Path) -> str:
    """Return the report."""
    relative = os.path.relpath(folder, page.parent)
    base = "" if relative == os.curdir else f"{relative}/"
    reasons = msgspec.toml.decode(MISSES.read_bytes())
    head = HEAD.format(folder=f"[`benchmarks/results/`]({base})", goals_import=GOALS_IMPORT_MS)
    parts = [head, *goals(results, base, reasons)]
    if (folder / PICTURE).exists():
        parts.append(f"![Each goal as 100 %, and what was reached]({base}{PICTURE})\n")
    parts += misses(results, reasons)
    parts += peers(results, folder, base)
    parts += details(results, base)
    return "\n".join(parts)


def goals(
    results: dict[str, Result], base: str, reasons: dict[str, dict[str, str]]
) -> Iterator[str]:
    """Yield the table of the project's goals."""
    yield "## Goals\n"
    yield "| | goal | median | lowest to highest | | result |"
    yield "|---|---|---|---|---|---|"
    for promise in PROMISES:
        yield f"| **{promise.text}** | | | | | |"
        result = results.get(promise.benchmark)
        for name in promise.measures:
            measure = result.measures.get(name) if result else None
            if result is None or measure is None:
                yield f"| {name} | | not measured | | | `{promise.benchmark}` |"
            else:
                yield f"| {name} | {cells(measure, result.origin.machine)} | {source(result, base)} |"
    yield ""


def cells(measure: Measure, machine: Machine) -> str:
    """Return the cells of a goal: the goal, the median, the range and the verdict."""
    verdict = {None: "", True: "met", False: "**missed**"}[measure.met]
    if scaled := at_pace_of_goals(measure, machine):
        verdict += f", there {scaled}"
    spread = range_of(measure) if len(measure.samples) > 1 else ""
    median = number(measure.median, measure.unit)
    return " | ".join((goal(measure), median, spread, verdict))


def source(result: Result, base: str) -> str:
    """Return the link to a result, its commit and its date."""
    name = f"{result.benchmark}.json"
    return f"[{name}]({base}{name}), {result.origin.commit}, {result.origin.date[:10]}"


def misses(results: dict[str, Result], reasons: dict[str, dict[str, str]]) -> Iterator[str]:
    """Yield the missed goals of all benchmarks, each with its reason."""
    missed = [(result, name) for result in results.values() for name in result.missed]
    met = sum(each.met is True for one in results.values() for each in one.measures.values())
    yield "## Missed goals\n"
    yield f"Of {met + len(missed)} goals of all benchmarks, {met} are met and {len(missed)} missed.\n"
    for result, name in missed:
        reason = reasons.get(result.benchmark, {}).get(name, UNEXPLAINED)
        measure = result.measures[name]
        reached = f"{number(measure.median, measure.unit)} instead of {goal(measure)}"
        if scaled := at_pace_of_goals(measure, result.origin.machine):
            reached += f" ({scaled} on the machine of the goals)"
        yield f"- **{result.benchmark}, {name}**: {reached}. {reason}"
    yield ""


def peers(results: dict[str, Result], folder: Path, base: str) -> Iterator[str]:
    """Yield the table of other programs, if they were measured."""
    yield "## Beside other programs\n"
    result = results.get("peers")
    if result is None:
        yield "Not measured: `python -m benchmarks --only peers --peer codex,llm` needs the programs to be installed.\n"
        return
    programs = list(
        dict.fromkeys(name.rpartition(", ")[2] for name in result.measures if ", " in name)
    )
    acts = list(dict.fromkeys(name.rpartition(", ")[0] for name in result.measures if ", " in name))
    yield (
        "Each program is started in a pseudo-terminal with a fresh home and settings that lead to the same server, one after the\n"
        f"other in every round: {source(result, base)}. `bare client` reads the same stream with the standard library and prints it.\n"
    )
    versions = result.origin.versions | {"chat-loop": ""}
    heads = (f"{program} {versions.get(program, '')}".strip() for program in programs)
    yield f"| | {' | '.join(heads)} |"
    yield "|---" * (len(programs) + 1) + "|"
    for act in acts:
        found = [result.measures.get(f"{act}, {program}") for program in programs]
        text = (with_range(one) if one else "–" for one in found)
        yield f"| {act} | {' | '.join(text)} |"
    yield ""
    for name, reason in result.not_measured.items():
        yield f"- {name}: not measured. {reason}"
    for number_of, act in enumerate(PLOTTED, 1):
        if (folder / f"peers-{number_of}.svg").exists():
            yield f"\n![{act}, of each program]({base}peers-{number_of}.svg)"
    yield ""


def with_range(measure: Measure) -> str:
    """Return the median, and the range if there are several samples."""
    median = number(measure.median, measure.unit)
    return f"{median} ({range_of(measure)})" if len(measure.samples) > 1 else median


def details(results: dict[str, Result], base: str) -> Iterator[str]:
    """Yield a section for each benchmark."""
    yield "## Benchmarks one by one\n"
    for name, benchmark in BENCHMARKS.items():
        result = results.get(name)
        if name == "peers":
            continue
        yield f"### {name}\n"
        if result is None:
            yield f"{benchmark.description}: not measured.\n"
            continue
        machine = result.origin.machine
        pace = (
            f"; `import prompt_toolkit` in {machine.import_ms:.0f} ms" if machine.import_ms else ""
        )
        yield (
            f"{benchmark.description}. {source(result, base)}; {result.seconds:.0f} s on {machine.cores} cores "
            f"({machine.processor}, {machine.system.split('-')[0]}), load {machine.load_average[0]:g}; "
            f"Python {result.origin.versions['python']}{pace}.\n"
        )
        measures = result.measures
        judged = {what: one for what, one in measures.items() if one.met is not None}
        shown = measures if len(measures) <= ALL else judged
        if len(shown) > JUDGED:
            shown = {what: one for what, one in judged.items() if not one.met}
            yield f"{len(judged) - len(shown)} of {len(judged)} goals are met; the others:\n"
        if shown:
            yield "| | goal | median | lowest to highest | |"
            yield "|---|---|---|---|---|"
            yield from (f"| {what} | {cells(one, machine)} |" for what, one in shown.items())
            yield ""
        for what, reason in result.not_measured.items():
            yield f"- {what}: not measured. {reason}"
        if result.not_measured:
            yield ""


PICTURE = "goals.svg"
PLOTTED = ("start to a typed key", "Enter to the request", "reply of 4,000 tokens, time", "exit")
"""The actions of the peers that have a picture."""


def pictures(results: dict[str, Result]) -> Iterator[tuple[str, str]]:
    """Yield the names and the texts of the pictures."""
    rows: list[Row] = []
    for promise in PROMISES:
        measures = results[promise.benchmark].measures if promise.benchmark in results else {}
        for name in promise.measures:
            if (row := as_share(name, measures.get(name))) is not None:
                rows.append(row)
    if rows:
        yield (
            PICTURE,
            svg(
                "What was reached, in percent of what the goal allows (orange: met, blue: missed)",
                rows,
                100.0,
            ),
        )
    if "peers" in results:
        measures = results["peers"].measures
        for place, act in enumerate(PLOTTED, 1):
            found = [
                Row(
                    name.rpartition(", ")[2],
                    one.median,
                    one.lowest,
                    one.highest,
                    name == f"{act}, chat-loop",
                )
                for name, one in measures.items()
                if name.rpartition(", ")[0] == act
            ]
            if found:
                unit = next(one.unit for name, one in measures.items() if name.startswith(act))
                yield (
                    f"peers-{place}.svg",
                    svg(f"{act}, {unit}", sorted(found, key=lambda row: row.value)),
                )


def as_share(name: str, measure: Measure | None) -> Row | None:
    """Return the result in percent of the goal, inverted for a least share; None without a goal."""
    if measure is None:
        return None
    values: Sequence[float] = (measure.median, measure.lowest, measure.highest)
    if measure.at_most:
        shares = [100 * value / measure.at_most for value in values]
    elif measure.at_least:
        shares = [100 * measure.at_least / max(value, 1e-9) for value in values]
    else:
        return None
    return Row(name, shares[0], min(shares), max(shares), is_own=bool(measure.met))
