"""The results of the benchmarks and the report that is made from them."""

from __future__ import annotations

from pathlib import Path
from statistics import median

import msgspec
import pytest
from msgspec.structs import replace

from benchmarks import report, tables
from benchmarks.registry import BENCHMARKS
from benchmarks.support.results import (
    GOALS_IMPORT_MS,
    Result,
    Results,
    goal,
    keep,
    origin,
    reached,
)

pytestmark = pytest.mark.slow

TOP = Path(__file__).parents[2]


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


@pytest.mark.parametrize(
    ("value", "limit", "text"),
    [
        (74.97, 75.0, "74.97 % instead of ≥ 75 %"),
        (74.8, 75.0, "74.8 % instead of ≥ 75 %"),
        (20.0, 75.0, "20 % instead of ≥ 75 %"),
    ],
)
def test_a_gap_that_rounding_would_hide_has_one_more_digit(
    value: float, limit: float, text: str
) -> None:
    results = Results()
    results.add("share", [value], "%", at_least=limit)
    measure = results.measures["share"]
    assert f"{reached(measure)} instead of {goal(measure)}" == text


def test_the_report_compares_programs_and_names_misses(tmp_path: Path) -> None:
    results = Results()
    act = "exit"
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
    page = (tmp_path / report.TABLES).read_text("utf-8")
    assert f"| {act} | 25 ms (20 to 30) | 900 ms |" in page
    assert "- pi: not measured. It is not there." in page
    assert "| prompt drawn / codex | ≤ 0.5 × | 0.7 × | 0.4 to 0.9 | **missed** |" in page
    assert "- **peers, prompt drawn / codex**: 0.7 × instead of ≤ 0.5 ×. Not explained" in page
    assert "- pi: not measured. It is not there." in page


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
    page = (tmp_path / report.TABLES).read_text("utf-8")
    assert "beyond --version | ≤ 100 ms | 240 ms |  | **missed** (120 ms) |" in page
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
    for benchmark, reasons in msgspec.toml.decode(tables.MISSES.read_bytes()).items():
        assert benchmark in BENCHMARKS
        if benchmark in results:
            assert {*reasons} <= {*results[benchmark].measures}
