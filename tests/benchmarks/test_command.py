"""`python -m benchmarks`: the list, the choice of benchmarks, results, the report, interruptions."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from statistics import median

import msgspec
import pytest
from msgspec.structs import replace

from benchmarks import report
from benchmarks.__main__ import main
from benchmarks.dots import OTHER, OWN
from benchmarks.registry import BENCHMARKS
from benchmarks.support.processes import kill_descendants
from benchmarks.support.results import GOALS_IMPORT_MS, Result, Results, keep, origin, read

TOP = Path(__file__).parents[2]
PATIENCE_SECONDS = 60


def test_the_list_says_what_there_is_and_how_long_it_takes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["--list", "--folder", str(tmp_path)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == [*BENCHMARKS, "all"]
    assert lines[-1].split()[1] == str(sum(each.seconds for each in BENCHMARKS.values()))


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--only", "rendering"], "no 'rendering'; there are start, turn"),
        (["--skip", "start,nothing"], "no 'nothing'"),
        (["--peer", "emacs"], "no 'emacs'; there are codex, pi"),
        (["--rounds", "0"], "'0' is not a number of rounds"),
    ],
)
def test_a_wrong_choice_is_named(
    arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as left:
        main(arguments)
    assert left.value.code == 2
    assert said in capsys.readouterr().err


def test_a_benchmark_writes_its_result_and_the_report(tmp_path: Path) -> None:
    code = main(["--only", "render,keys", "--rounds", "1", "--folder", str(tmp_path)])
    result = read(tmp_path / "render.json")
    assert result is not None
    assert code == (1 if result.missed else 0)
    assert result.origin.date  # the commit is empty in a copy without git
    assert {"python", "rich"} <= {*result.origin.versions}
    assert result.origin.machine.import_ms
    ratio = result.measures["CPU / bare client, prose, 4,000 tokens"]
    assert (ratio.unit, ratio.at_most, len(ratio.samples)) == ("×", 2.0, 1)
    assert ratio.met is (ratio.median <= 2.0)
    page = (tmp_path / "benchmarks.md").read_text("utf-8")
    assert "[render.json](render.json)" in page
    assert f"{BENCHMARKS['keys'].description}: not measured." in page
    assert not (tmp_path / "keys.json").exists()


def test_an_interrupted_run_leaves_no_file_and_no_process(tmp_path: Path) -> None:
    results, temporary = tmp_path / "results", tmp_path / "temporary"
    temporary.mkdir()
    command = [sys.executable, "-m", "benchmarks", "--only", "stream", "--folder", str(results)]
    variables = {**os.environ, "TMPDIR": str(temporary), "PYTHONUNBUFFERED": "1"}
    with subprocess.Popen(
        command, cwd=TOP, env=variables, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        try:
            assert process.stdout is not None
            for line in process.stdout:
                if line.startswith(b"stream: "):
                    break
            started(temporary)
            process.send_signal(signal.SIGTERM)
            _, errors = process.communicate(timeout=PATIENCE_SECONDS)
        finally:
            process.kill()
    assert process.returncode == 128 + signal.SIGTERM, errors.decode()
    assert b"Interrupted" in errors
    assert b"Traceback" not in errors
    assert [*temporary.iterdir()] == []
    assert [*results.iterdir()] == []
    assert [*processes(str(temporary))] == []


def started(temporary: Path) -> None:
    """Wait until a program of the benchmark runs."""
    while not any("-m chat_loop" in each for each in processes(str(temporary))):
        pass


def processes(marker: str) -> Iterator[str]:
    """Yield the command lines of the processes that have `marker` in their environment."""
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if marker.encode() in (folder / "environ").read_bytes():
                yield (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode()
        except OSError:  # it has ended
            continue


def test_a_process_that_left_its_session_is_found(tmp_path: Path) -> None:
    code = "import os, time; os.setsid(); print(flush=True); time.sleep(600)"
    with subprocess.Popen(
        [sys.executable, "-c", code],
        env={**os.environ, "TMPDIR": str(tmp_path)},
        stdout=subprocess.PIPE,
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()
        kill_descendants(str(tmp_path))
        assert process.wait(PATIENCE_SECONDS) == -signal.SIGKILL


def test_a_measure_is_judged_by_its_median() -> None:
    results = Results()
    results.add("met", [1.0, 9.0, 2.0], "ms", at_most=2.0)
    results.add("missed", [80.0, 82.0], "%", at_least=82.0)
    results.add_ratio("ratio", [4.0, 9.0, 2.0], [2.0, 3.0, 2.0], at_most=2.0)
    results.add_difference("difference", [4.0, 9.0], [2.0, 3.0], "ms")
    assert [each.met for each in results.measures.values()] == [True, False, True, None]
    assert results.measures["met"].median == 2.0
    assert (results.measures["met"].lowest, results.measures["met"].highest) == (1.0, 9.0)
    assert results.measures["ratio"].samples == [2.0, 3.0, 1.0]
    assert results.measures["difference"].samples == [2.0, 6.0]


def test_the_report_compares_programs_and_names_misses(tmp_path: Path) -> None:
    results = Results()
    act = "start to a typed key"
    for name, samples in {"chat-loop": [20.0, 30.0], "basic-agent-chat-loop": [900.0]}.items():
        results.add(f"{act}, {name}", samples, "ms")
    results.add("prompt drawn / codex", [0.4, 0.7, 0.9], "×", at_most=0.5)
    results.skip("pi", "It is not there.")
    result = Result(
        benchmark="peers",
        origin=origin(),
        seconds=1.0,
        measures=results.measures,
        not_measured=results.not_measured,
    )
    keep(tmp_path / "peers.json", result)
    report.write(tmp_path, tmp_path / "page.md")
    page = (tmp_path / "page.md").read_text("utf-8")
    assert f"| {act} | 25 ms (20 to 30) | 900 ms |" in page
    assert "- pi: not measured. It is not there." in page
    assert "| prompt drawn / codex | ≤ 0.5 × | 0.7 × | 0.4 to 0.9 | **missed** |" in page
    assert "- **peers, prompt drawn / codex**: 0.7 × instead of ≤ 0.5 ×. Not explained" in page
    picture = (tmp_path / "peers-1.svg").read_text("utf-8")
    assert picture.count(OWN) == picture.count(OTHER) > 0


def test_a_missed_time_is_also_given_for_the_machine_of_the_goals(tmp_path: Path) -> None:
    results = Results()
    results.add("list 10,000, beyond --version", [240.0], "ms", at_most=100.0)
    results.add("list 20 of 10,000, beyond --version", [99.0], "ms", at_most=100.0)
    slow = replace(origin(), machine=replace(origin().machine, import_ms=2 * GOALS_IMPORT_MS))
    result = Result(
        benchmark="library", origin=slow, seconds=1.0, measures=results.measures, not_measured={}
    )
    keep(tmp_path / "library.json", result)
    report.write(tmp_path, tmp_path / "page.md")
    page = (tmp_path / "page.md").read_text("utf-8")
    assert "beyond --version | ≤ 100 ms | 240 ms |  | **missed**, there 120 ms |" in page
    assert "240 ms instead of ≤ 100 ms (120 ms on the machine of the goals)." in page
    assert "beyond --version | ≤ 100 ms | 99 ms |  | met |" in page


def test_each_committed_result_is_of_a_benchmark_and_agrees_with_its_samples() -> None:
    results = report.results_in(TOP / "benchmarks" / "results")
    assert len(results) > 5
    for name, result in results.items():
        assert result.benchmark == name
        assert result.measures
        for measure in result.measures.values():
            assert measure.median == pytest.approx(median(measure.samples), abs=1e-6)
            assert (measure.lowest, measure.highest) == (min(measure.samples), max(measure.samples))


def test_the_reasons_of_misses_are_of_goals() -> None:
    results = report.results_in(TOP / "benchmarks" / "results")
    assert len(results) > 5
    for benchmark, reasons in msgspec.toml.decode(report.MISSES.read_bytes()).items():
        assert benchmark in BENCHMARKS
        if benchmark in results:
            assert {*reasons} <= {*results[benchmark].measures}
