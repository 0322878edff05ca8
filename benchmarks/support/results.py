"""The result of a benchmark: samples, the median and the range of each measure, its goal, and the
commit, date, machine and versions of the run.
"""

from __future__ import annotations

import argparse
import os
import platform
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from importlib import metadata
from math import floor
from pathlib import Path
from statistics import median
from typing import Any

import msgspec
from msgspec import Struct

from benchmarks.support.code import git, parts_now

DISTRIBUTIONS = (
    *("anthropic", "chat-loop", "httpx2", "msgspec", "onnxruntime", "openai"),
    *("prompt_toolkit", "rich", "tiktoken", "xllamacpp"),
)
"""The packages whose versions are recorded if they are installed."""
DIGITS = 6
WRITTEN = ("benchmarks/results", "benchmarks/factchain/curve.svg", "docs", "README.md")
"""Paths that the command itself writes: changes of these do not make a commit dirty."""
RESULTS = Path(__file__).resolve().parent.parent / "results"

GOALS_IMPORT_MS = 129.0
"""Milliseconds of `import prompt_toolkit` on the machine for which the time goals were set."""
PACE_ROUNDS = 5


class Machine(Struct, frozen=True, omit_defaults=True):
    """The computer of a run, its load averages at the beginning of the run, and the time that a new
    Python takes for `import prompt_toolkit`: the median of measurements before and after the run.
    """

    system: str
    processor: str
    cores: int | None
    load_average: list[float]
    import_ms: float | None = None


class Origin(Struct, frozen=True, omit_defaults=True):
    """The commit, the date, the machine, the versions and the code of a result."""

    commit: str
    date: str
    machine: Machine
    versions: dict[str, str]
    code: dict[str, str] = {}
    """The hash of each part of the package."""


class Measure(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The samples of one quantity, which is judged by its median."""

    unit: str
    median: float
    lowest: float
    highest: float
    samples: list[float]
    at_most: float | None = None
    at_least: float | None = None
    met: bool | None = None
    """None without a goal."""


class Result(Struct, frozen=True, kw_only=True):
    """A file of `benchmarks/results/`."""

    benchmark: str
    origin: Origin
    seconds: float
    measures: dict[str, Measure]
    not_measured: dict[str, str]
    """The reasons, by the name of the measure that could not be taken."""

    @property
    def missed(self) -> list[str]:
        """The names of the measures that miss their goals."""
        return [name for name, measure in self.measures.items() if measure.met is False]


def at_pace_of_goals(measure: Measure, machine: Machine) -> str:
    """Return a missed goal's time, scaled to the machine of the goals; empty if not applicable."""
    if measure.met is not False or measure.unit not in ("ms", "s") or machine.import_ms is None:
        return ""
    return number(measure.median * GOALS_IMPORT_MS / machine.import_ms, measure.unit)


class NotMeasured(Exception):
    """A benchmark needs something that is missing; the message says what it is."""


class Settings(Struct, frozen=True, kw_only=True):
    """The settings that the user of the command gives to the benchmarks."""

    rounds: int | None = None
    """The number of repetitions; None for each benchmark's own number."""
    model: Path | None = None
    """An embedded model."""
    progress: Path | None = None
    """The folder of the model's answers, from which an interrupted run continues."""
    locomo: Path | None = None
    """The file of LoCoMo's dialogues."""
    peers: tuple[str, ...] = ()
    """The names of installed programs to measure beside chat-loop."""
    folder: Path = Path()
    """The folder in which a benchmark may write more than its result."""


class Results:
    """The measures of one run."""

    def __init__(self) -> None:
        self.measures: dict[str, Measure] = {}
        self.not_measured: dict[str, str] = {}
        self.versions: dict[str, str] = {}
        """The versions of other programs that were measured."""

    def add(
        self,
        name: str,
        samples: Sequence[float],
        unit: str,
        *,
        at_most: float | None = None,
        at_least: float | None = None,
    ) -> float:
        """Record, judge and print a measure; return its median."""
        middle = median(samples)
        met = None
        if at_most is not None or at_least is not None:
            met = (at_most is None or middle <= at_most) and (
                at_least is None or middle >= at_least
            )
        self.measures[name] = measure = Measure(
            unit=unit,
            median=round(middle, DIGITS),
            lowest=round(min(samples), DIGITS),
            highest=round(max(samples), DIGITS),
            samples=[round(sample, DIGITS) for sample in samples],
            at_most=at_most,
            at_least=at_least,
            met=met,
        )
        print(f"  {name}: {described(measure)}", flush=True)
        return middle

    def add_ratio(
        self,
        name: str,
        samples: Sequence[float],
        bases: Sequence[float],
        *,
        at_most: float | None = None,
    ) -> float:
        """Record the ratios of samples to the bases of the same rounds; return their median."""
        ratios = [sample / base for sample, base in zip(samples, bases, strict=True)]
        return self.add(name, ratios, "×", at_most=at_most)

    def add_difference(
        self,
        name: str,
        samples: Sequence[float],
        bases: Sequence[float],
        unit: str,
        *,
        at_most: float | None = None,
    ) -> float:
        """Record how far samples exceed the bases of the same rounds; return the median."""
        found = [sample - base for sample, base in zip(samples, bases, strict=True)]
        return self.add(name, found, unit, at_most=at_most)

    def skip(self, name: str, reason: str) -> None:
        """Record that something was not measured, and why."""
        self.not_measured[name] = reason
        print(f"  {name}: not measured. {reason}", flush=True)


def described(measure: Measure) -> str:
    """Return the median with its range, and the goal with the verdict, in words."""
    text = reached(measure)
    if len(measure.samples) > 1:
        text += f" ({range_of(measure)})"
    if measure.met is not None:
        text += f", goal {goal(measure)}: {'met' if measure.met else 'MISSED'}"
    return text


def range_of(measure: Measure) -> str:
    """Return the lowest and the highest sample."""
    return f"{number(measure.lowest)} to {number(measure.highest)}"


def goal(measure: Measure) -> str:
    """Return the goal of a measure, such as `≤ 4 ms`."""
    if measure.at_least is not None:
        return f"≥ {number(measure.at_least, measure.unit)}"
    return "" if measure.at_most is None else f"≤ {number(measure.at_most, measure.unit)}"


def number(value: float, unit: str = "", more: int = 0) -> str:
    """Return a number with three significant digits or `more` than that, and its unit."""
    digits = 0 if abs(value) >= 100 else 1 if abs(value) >= 10 else 2 if abs(value) >= 0.1 else 4
    digits += more
    text = f"{value:,.{digits}f}"
    text = text.rstrip("0").rstrip(".") if digits else text
    return f"{text} {unit}".rstrip()


def apart(value: float, other: float | None, unit: str = "") -> str:
    """Return a number, with more digits if it would only look equal to another one."""
    for more in range(DIGITS):
        text = number(value, unit, more)
        if other is None or value == other or text != number(other, unit, more):
            break
    return text


def reached(measure: Measure) -> str:
    """Return the median, with more digits if it would only look equal to the goal."""
    limit = measure.at_most if measure.at_least is None else measure.at_least
    return apart(measure.median, limit, measure.unit)


def short(value: float, digits: int = 0) -> str:
    """Round half up, as people do."""
    rounded = floor(value * 10**digits + 0.5) / 10**digits
    return f"{rounded:.{digits}f}" if rounded else "0"


def origin() -> Origin:
    """Return the current commit, date, machine, versions and code."""
    versions = {"python": platform.python_version()}
    for name in DISTRIBUTIONS:
        try:
            versions[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    machine = Machine(
        system=f"{platform.system()} {platform.release()}",
        processor=_processor(),
        cores=os.cpu_count(),
        load_average=[round(load, 2) for load in os.getloadavg()],
    )
    date = datetime.now(UTC).isoformat(timespec="seconds")
    return Origin(commit=commit(), date=date, machine=machine, versions=versions, code=parts_now())


def import_times() -> list[float]:
    """Return the milliseconds that new Python processes, one after the other, take to import
    prompt_toolkit.
    """
    times = []
    for _ in range(PACE_ROUNDS):
        begun = time.perf_counter()
        subprocess.run([sys.executable, "-c", "import prompt_toolkit"], check=True)
        times.append(1000 * (time.perf_counter() - begun))
    return times


def commit() -> str:
    """Return the commit of the working tree, with `-dirty` if the tree has changed since; an empty
    string if git does not know it.
    """
    written = [f":(top,exclude){path}" for path in WRITTEN]
    found = [
        git("rev-parse", "--short=8", "HEAD"),
        git("status", "--porcelain", "--untracked-files=no", "--", ":/", *written),
    ]
    return f"{found[0]}-dirty" if found[0] and found[1] else found[0]


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text("utf-8").splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(names, platform.machine())


def read(path: Path) -> Result | None:
    """Return the result in a file; None without the file. Raises OSError and msgspec's errors."""
    try:
        return msgspec.json.decode(path.read_bytes(), type=Result)
    except FileNotFoundError:
        return None


def write(path: Path, benchmark: str, results: Mapping[str, Any]) -> None:
    """Write numbers in any other form, with their origin. Raises OSError, as `keep`."""
    keep(path, {"benchmark": benchmark, **msgspec.to_builtins(origin()), **results})


def keep(path: Path, content: object) -> None:
    """Write a result. Raises OSError; what was there before stays then."""
    part = path.with_suffix(".part")
    try:
        part.write_bytes(msgspec.json.format(msgspec.json.encode(content), indent=1) + b"\n")
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


def parser(module: str, description: str | None) -> argparse.ArgumentParser:
    """Return a parser of options that knows `--json FILE`."""
    found = argparse.ArgumentParser(
        prog=f"python -m benchmarks.{module}",
        description=description,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    found.add_argument("--json", type=Path, metavar="FILE", help="write all numbers to FILE")
    return found
