"""Measure chat-loop: `python -m benchmarks` runs every benchmark, one after the other.

Each writes its samples, with the commit, the date, the machine and the versions, to
benchmarks/results/NAME.json. Then the report, docs/benchmarks.md and the full tables beside the
results, are written from all results that are there. What needs a model, a file or a program that is not there is named and left out.

Exit codes: 0 every goal met, 1 a goal missed or a benchmark failed, 2 wrong usage, 130 or 143
interrupted. With --compare, 1 says that a benchmark failed or became worse than the committed result.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import msgspec

from benchmarks import ages, report
from benchmarks import compare as comparison
from benchmarks.peers import OTHERS
from benchmarks.registry import BENCHMARKS, Benchmark
from benchmarks.run import FAILED, MET, MISSED, NOT_MEASURED
from benchmarks.support.processes import kill_descendants
from benchmarks.support.results import RESULTS, Settings, read

TOP = Path(__file__).resolve().parent.parent
REPORT = TOP / "docs" / "benchmarks.md"
PATIENCE_SECONDS = 60.0
"""The time that an interrupted benchmark has to clean up."""


class Interrupted(Exception):
    """The command received a signal."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.exit_code = 128 + number


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    found = argparse.ArgumentParser(
        prog="python -m benchmarks",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = found.add_argument
    add("--list", action="store_true", help="list the benchmarks and how long each takes")
    add("--only", type=_names, default=(*BENCHMARKS,), metavar="NAME,…", help="run only these")
    add("--skip", type=_names, default=(), metavar="NAME,…", help="run all but these")
    add("--rounds", type=_count, metavar="N", help="repeat each measurement N times")
    add("--model", type=Path, metavar="FILE.gguf", help="also measure with this embedded model")
    add("--progress", type=Path, metavar="FOLDER", help="keep its answers, to continue a run")
    add("--locomo", type=Path, metavar="FILE", help="data/locomo10.json of snap-research/locomo")
    add(
        *("--peer", "--peers"),
        type=_peers,
        default=(),
        metavar="NAME,…",
        help="also measure these installed programs: " + ", ".join(OTHERS),
    )
    add("--compare", action="store_true", help="fail only if worse than the committed results")
    add("--report", action="store_true", help="only write the report from the results")
    add("--stale", action="store_true", help="only print whose code has changed since")
    add("--folder", type=Path, help="write the results and the report there")
    return found


def _names(text: str) -> tuple[str, ...]:
    return _chosen(text, BENCHMARKS)


def _peers(text: str) -> tuple[str, ...]:
    return _chosen(text, OTHERS)


def _chosen(text: str, known: Sequence[str] | dict[str, Benchmark]) -> tuple[str, ...]:
    names = tuple(filter(None, text.split(",")))
    for name in names:
        if name not in known:
            raise argparse.ArgumentTypeError(f"no {name!r}; there are {', '.join(known)}")
    return names


def _count(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of rounds")
    return int(text)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the benchmarks that the command line asks for; return the exit code."""
    options = parser().parse_args(arguments)
    chosen = [BENCHMARKS[name] for name in options.only if name not in options.skip]
    folder = (options.folder or RESULTS).resolve()
    page = folder / REPORT.name if options.folder else REPORT
    folder.mkdir(parents=True, exist_ok=True)
    if options.list:
        announce(chosen, folder)
        return MET
    if options.stale:
        for name, age in ages.now(folder).items():
            print(f"{name:24}{age.commit:15}{age.date}  {age}")
        return MET
    code = MET
    if not options.report:
        settings = Settings(
            rounds=options.rounds,
            model=options.model and options.model.resolve(),
            progress=options.progress and options.progress.resolve(),
            locomo=options.locomo and options.locomo.resolve(),
            peers=options.peer,
            folder=folder,
        )
        announce(chosen, folder)
        try:
            ended = run(chosen, folder, settings)
        except Interrupted as interrupted:
            return interrupted.exit_code
        code = compare(ended, folder) if options.compare else judge(ended)
    report.write(folder, page)
    print(f"The report is {page}.")
    return code


def announce(chosen: Sequence[Benchmark], folder: Path) -> None:
    """Print the benchmarks to run and the time that they take."""
    expected = {each.name: seconds(each, folder) for each in chosen}
    for each in chosen:
        print(f"{each.name:11}{expected[each.name]:>6} s  {each.description}")
    print(f"{'all':11}{sum(expected.values()):>6} s", flush=True)


def seconds(benchmark: Benchmark, folder: Path) -> int:
    """Return the seconds that a benchmark took last time, or else the registry's estimate."""
    result = read(folder / f"{benchmark.name}.json")
    return benchmark.seconds if result is None else round(result.seconds)


def run(chosen: Sequence[Benchmark], folder: Path, settings: Settings) -> dict[str, int]:
    """Run the benchmarks; return the exit code of each. Raises Interrupted."""
    codes: dict[str, int] = {}
    with scratch() as variables:
        try:
            for each in chosen:
                print(f"\n{each.name}: {each.description}", flush=True)
                given = msgspec.json.encode(settings, enc_hook=str).decode()
                command = [sys.executable, "-m", "benchmarks.run", each.name, str(folder), given]
                process = subprocess.Popen(command, cwd=TOP, env=variables)
                try:
                    codes[each.name] = process.wait()
                finally:
                    end(process)
        except Interrupted:
            left = ", ".join(each.name for each in chosen if each.name not in codes)
            print(f"Interrupted. Not measured: {left}.", file=sys.stderr)
            raise
    return codes


def judge(codes: Mapping[str, int]) -> int:
    """Return the exit code of a run: `FAILED` after a failure or a missed goal."""
    failed = [name for name, code in codes.items() if code not in (MET, MISSED, NOT_MEASURED)]
    if failed:
        print(f"Failed: {', '.join(failed)}.", file=sys.stderr)
    return FAILED if failed or MISSED in codes.values() else MET


def compare(codes: Mapping[str, int], folder: Path) -> int:
    """Print how a run in `folder` compares with the committed results; return the exit code."""
    is_worse = False
    for line, is_failure in comparison.lines(codes, folder, RESULTS):
        print(line)
        is_worse = is_worse or is_failure
    kept = {name: MET if code == MISSED else code for name, code in codes.items()}
    return FAILED if is_worse else judge(kept)


def end(process: subprocess.Popen[bytes]) -> None:
    """Let a benchmark that is still running clean up and end."""
    if process.poll() is None:
        process.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(PATIENCE_SECONDS)
        process.kill()
        process.wait()


@contextlib.contextmanager
def scratch() -> Iterator[dict[str, str]]:
    """Yield the environment of the benchmarks, with a folder for all their temporary files. At the
    end, also after a signal, delete the folder and kill every process that was started with it.
    """

    def interrupt(number: int, frame: object) -> None:
        for each in before:
            signal.signal(each, signal.SIG_IGN)
        raise Interrupted(number)

    top = tempfile.mkdtemp(prefix="chat-loop-benchmarks-")
    before = {each: signal.getsignal(each) for each in (signal.SIGINT, signal.SIGTERM)}
    for each in before:
        signal.signal(each, interrupt)
    try:
        yield {**os.environ, "TMPDIR": top, "PYTHONPATH": str(TOP)}
    finally:
        kill_descendants(top)
        shutil.rmtree(top, ignore_errors=True)
        for each, handler in before.items():
            signal.signal(each, handler)


if __name__ == "__main__":
    raise SystemExit(main())
