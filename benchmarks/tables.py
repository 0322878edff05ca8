"""The full tables of the results, benchmarks/results/README.md: every goal with its result, the reason
for each miss, every program and every benchmark. They are written only from the existing results;
anything that was not measured is named.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import msgspec
from msgspec import Struct

from benchmarks.ages import Age
from benchmarks.figures import programs_of
from benchmarks.registry import BENCHMARKS
from benchmarks.support.results import (
    GOALS_IMPORT_MS,
    Machine,
    Measure,
    Result,
    at_pace_of_goals,
    goal,
    number,
    range_of,
    reached,
)

MISSES = Path(__file__).parent / "misses.toml"
ALL, JUDGED = 40, 40
"""A benchmark's table shows all measures if there are at most `ALL`, else the judged ones if there
are at most `JUDGED`, else the missed ones.
"""
UNEXPLAINED = "Not explained yet."


class Promise(Struct, frozen=True):
    """A goal of the project, the measures that show whether it is met, and what a user notices."""

    text: str
    benchmark: str
    measures: tuple[str, ...]
    notice: str


PROMISES = msgspec.toml.decode(
    Path(__file__).with_name("promises.toml").read_bytes(), type=dict[str, list[Promise]]
)["promise"]

TEXTS = msgspec.toml.decode(
    Path(__file__).with_name("report.toml").read_bytes(), type=dict[str, str]
)


def text(results: Mapping[str, Result], ages: Mapping[str, Age]) -> str:
    """Return the page."""
    reasons = msgspec.toml.decode(MISSES.read_bytes())
    parts = [TEXTS["results"].format(goals_import=GOALS_IMPORT_MS), *goals(results)]
    parts += misses(results, reasons)
    parts += peers(results)
    parts += details(results, ages)
    parts += table_of_ages(ages)
    return "\n".join(parts)


def goals(results: Mapping[str, Result]) -> Iterator[str]:
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
                yield f"| {name} | {cells(measure, result.origin.machine)} | {source(result)} |"
    yield ""


def cells(measure: Measure, machine: Machine) -> str:
    """Return the cells of a goal: the goal, the median, the range and the verdict."""
    verdict = {None: "", True: "met", False: "**missed**"}[measure.met]
    if scaled := at_pace_of_goals(measure, machine):
        verdict += f" ({scaled})"
    spread = range_of(measure) if len(measure.samples) > 1 else ""
    return " | ".join((goal(measure), reached(measure), spread, verdict))


def source(result: Result, folder: str = "") -> str:
    """Return the link to a result, its commit and its date."""
    name = f"{result.benchmark}.json"
    return f"[{name}]({folder}{name}), {result.origin.commit}, {result.origin.date[:10]}"


def misses(results: Mapping[str, Result], reasons: dict[str, dict[str, str]]) -> Iterator[str]:
    """Yield the missed goals of all benchmarks, each with its reason."""
    missed = [(result, name) for result in results.values() for name in result.missed]
    met = sum(each.met is True for one in results.values() for each in one.measures.values())
    yield "## Missed goals\n"
    yield f"Of {met + len(missed)} goals of all benchmarks, {met} are met and {len(missed)} missed.\n"
    for result, name in missed:
        reason = reasons.get(result.benchmark, {}).get(name, UNEXPLAINED)
        measure = result.measures[name]
        found = f"{reached(measure)} instead of {goal(measure)}"
        if scaled := at_pace_of_goals(measure, result.origin.machine):
            found += f" ({scaled} on the machine of the goals)"
        yield f"- **{result.benchmark}, {name}**: {found}. {reason}"
    yield ""


def peers(results: Mapping[str, Result]) -> Iterator[str]:
    """Yield the table of all programs and all acts, if they were measured."""
    yield "## Beside other programs\n"
    result = results.get("peers")
    if result is None:
        yield "Not measured: `python -m benchmarks --only peers --peer codex,llm` needs the programs to be installed.\n"
        return
    programs = programs_of(result.measures)
    acts = dict.fromkeys(name.rpartition(", ")[0] for name in result.measures if ", " in name)
    yield (
        "Each program is started in a pseudo-terminal with a fresh home and settings that lead to the same server, one after the\n"
        f"other in every round: {source(result)}. `bare client` reads the same stream with the standard library and prints it.\n"
    )
    versions = result.origin.versions | {"chat-loop": ""}
    heads = (f"{program} {versions.get(program, '')}".strip() for program in programs)
    yield f"| | {' | '.join(heads)} |"
    yield "|---" * (len(programs) + 1) + "|"
    for act in acts:
        cells = (with_range(result.measures[f"{act}, {program}"]) for program in programs)
        yield f"| {act} | {' | '.join(cells)} |"
    yield ""
    for name, reason in result.not_measured.items():
        yield f"- {name}: not measured. {reason}"
    yield ""


def with_range(measure: Measure) -> str:
    """Return the median, and the range if there are several samples."""
    median = number(measure.median, measure.unit)
    return f"{median} ({range_of(measure)})" if len(measure.samples) > 1 else median


def details(results: Mapping[str, Result], ages: Mapping[str, Age]) -> Iterator[str]:
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
            f"{benchmark.description}. {source(result)} ({ages[name]}); {result.seconds:.0f} s on {machine.cores} cores "
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


def table_of_ages(ages: Mapping[str, Age]) -> Iterator[str]:
    """Yield whether the code of each result has changed since."""
    yield "## Ages\n"
    yield "| result | commit | date | when this page was written |"
    yield "|---|---|---|---|"
    for name, age in ages.items():
        yield f"| [{name}]({name}.json) | {age.commit} | {age.date} | {age} |"
    yield ""


def share(measure: Measure) -> float:
    """Return what was reached as a share of what the goal allows; more than 1 is a miss."""
    if measure.at_most:
        return measure.median / measure.at_most
    if measure.at_least:
        return measure.at_least / max(measure.median, 1e-9)
    return 0.0
