"""Run one benchmark in its own process, so that it does not see modules that another has loaded:
`python -m benchmarks.run NAME FOLDER SETTINGS`, started by `python -m benchmarks`.

The exit code is 3 after a missed goal, 4 when nothing could be measured, 128 plus the number of the
signal after an interruption, and 1, Python's own, after a failure.
"""

from __future__ import annotations

import signal
import sys
import time
from pathlib import Path
from statistics import median

import msgspec
from msgspec.structs import replace

from benchmarks.registry import BENCHMARKS
from benchmarks.support.results import (
    NotMeasured,
    Result,
    Results,
    Settings,
    import_times,
    keep,
    origin,
)

MET, FAILED, MISSED, NOT_MEASURED = 0, 1, 3, 4


def main(name: str, folder: Path, settings: Settings) -> int:
    """Run a benchmark and write `FOLDER/NAME.json`; return the exit code."""
    begun, before = origin(), import_times()
    started = time.perf_counter()
    results = Results()
    try:
        BENCHMARKS[name].run(results, settings)
    except NotMeasured as reason:
        print(f"  not measured: {reason}", flush=True)
        return NOT_MEASURED
    seconds = round(time.perf_counter() - started, 1)
    import_ms = round(median([*before, *import_times()]), 1)
    result = Result(
        benchmark=name,
        origin=replace(
            begun,
            versions=begun.versions | results.versions,
            machine=replace(begun.machine, import_ms=import_ms),
        ),
        seconds=seconds,
        measures=results.measures,
        not_measured=results.not_measured,
    )
    try:
        keep(folder / f"{name}.json", result)
    except OSError as error:
        print(f"  not written: {error}. The result before it, if any, stays.", file=sys.stderr)
        return FAILED
    return MISSED if result.missed else MET


def _leave(number: int, frame: object) -> None:
    for each in (signal.SIGINT, signal.SIGTERM):  # only the cleanup is left
        signal.signal(each, signal.SIG_IGN)
    # A process may still write to a folder while it is removed; the command removes all of them.
    sys.excepthook = lambda *_: None
    sys.unraisablehook = lambda _: None
    raise SystemExit(128 + number)


if __name__ == "__main__":
    for each in (signal.SIGINT, signal.SIGTERM):
        signal.signal(each, _leave)
    settings = msgspec.json.decode(
        sys.argv[3], type=Settings, dec_hook=lambda kind, value: kind(value)
    )
    raise SystemExit(main(sys.argv[1], Path(sys.argv[2]), settings))
