"""The results of a benchmark: printed, judged, and written as JSON that can be traced to a commit,
a date and a machine.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import Any

DISTRIBUTIONS = (
    *("anthropic", "chat-loop", "httpx2", "msgspec", "onnxruntime", "openai"),
    *("prompt_toolkit", "rich", "tiktoken", "xllamacpp"),
)
"""The packages whose versions are told, where they are installed."""


def environment() -> dict[str, Any]:
    """Return where the numbers come from: the commit, the date, the machine and the versions."""
    versions = {"python": platform.python_version()}
    for name in DISTRIBUTIONS:
        try:
            versions[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return {
        "commit": commit(),
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "machine": {
            "system": f"{platform.system()} {platform.release()}",
            "processor": _processor(),
            "cores": os.cpu_count(),
            "load average": [round(load, 2) for load in os.getloadavg()],
        },
        "versions": versions,
    }


def commit() -> str:
    """Return the commit of the working tree, with `-dirty` when it was changed since; an empty
    string where git does not know it.
    """
    command = ["git", "describe", "--always", "--dirty", "--exclude=*"]
    try:
        found = subprocess.run(
            command, cwd=Path(__file__).parent, capture_output=True, text=True, check=False
        )
    except OSError:
        return ""
    return found.stdout.strip()


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text("utf-8").splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(names, platform.machine())


def write(path: Path, benchmark: str, results: Mapping[str, Any]) -> None:
    """Write `results` beside the environment in which they were measured. Raises OSError."""
    content = {"benchmark": benchmark, **environment(), **results}
    path.write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n", "utf-8")


class Results:
    """The samples of one run, and its goals with what was reached."""

    def __init__(self, benchmark: str) -> None:
        self.benchmark = benchmark
        self._samples: dict[str, dict[str, Any]] = {}
        self._goals: list[dict[str, Any]] = []

    def add(self, name: str, values: Sequence[float], unit: str) -> None:
        """Keep the samples of one quantity."""
        self._samples[name] = {"unit": unit, "samples": [round(value, 6) for value in values]}

    def judge(self, name: str, value: float, goal: float, unit: str = " x") -> None:
        """Print whether a goal is met, and keep it."""
        met = value <= goal
        word = "met   " if met else "MISSED"
        print(f"  {word}  {name}: {value:.2f}{unit} (goal <= {goal:.2f}{unit})")
        self._goals.append(
            {"name": name, "value": round(value, 4), "goal": goal, "unit": unit.strip(), "met": met}
        )

    def finish(self, path: Path | None) -> int:
        """Write everything to `path`, if there is one; return the exit code, 1 when a goal was
        missed. Raises OSError.
        """
        if path is not None:
            write(path, self.benchmark, {"goals": self._goals, "samples": self._samples})
        return 0 if all(goal["met"] for goal in self._goals) else 1


def parser(module: str, description: str | None) -> argparse.ArgumentParser:
    """Return a parser of options that knows `--json FILE`."""
    found = argparse.ArgumentParser(
        prog=f"python -m benchmarks.{module}",
        description=description,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    found.add_argument("--json", type=Path, metavar="FILE", help="write all numbers to FILE")
    return found
