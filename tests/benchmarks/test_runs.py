"""Runs of the benchmarks that end badly, and runs that are compared with the committed results."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from benchmarks import compare
from benchmarks.__main__ import judge, main
from benchmarks.run import FAILED, MET, MISSED, NOT_MEASURED
from benchmarks.support.results import Result, Results, keep, origin, read

pytestmark = pytest.mark.slow

TOP = Path(__file__).parents[2]


def result(benchmark: str, *samples: float, unit: str = "ms") -> Result:
    results = Results()
    results.add("judged", samples, unit, at_most=5.0)
    return Result(
        benchmark=benchmark,
        origin=origin(),
        seconds=1.0,
        measures=results.measures,
        not_measured={},
    )


@pytest.fixture
def full_disk() -> Iterator[None]:
    """A file may have 100 bytes."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_a_full_disk_leaves_the_result_before(
    tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    path = tmp_path / "render.json"
    keep(path, result("render", 1.0))
    before = path.read_bytes()
    request.getfixturevalue("full_disk")
    with pytest.raises(OSError, match="too large"):
        keep(path, result("render", 2.0))
    assert path.read_bytes() == before
    assert [*tmp_path.iterdir()] == [path]


def test_an_interrupted_run_names_what_was_not_measured_and_leaves_no_process(
    tmp_path: Path,
) -> None:
    folder, temporary = tmp_path / "results", tmp_path / "temporary"
    temporary.mkdir()
    command = [sys.executable, "-m", "benchmarks", "--only", "render,library", "--rounds", "1"]
    process = subprocess.Popen(
        [*command, "--folder", str(folder)],
        cwd=TOP,
        env={**os.environ, "TMPDIR": str(temporary)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    for line in process.stdout:
        if line.startswith("library: "):
            break
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate()
    assert process.returncode == 128 + signal.SIGINT
    assert "Interrupted. Not measured: library." in errors
    assert [path.name for path in folder.iterdir()] == ["render.json"]
    assert [*temporary.iterdir()] == []
    assert not [
        each
        for each in Path("/proc").glob("[0-9]*/environ")
        if f"TMPDIR={temporary}".encode() in contents(each)
    ]


def contents(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:  # it has ended, or is not ours
        return b""


def test_a_program_that_is_not_installed_or_broken_is_named(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = tmp_path / "pi"
    broken.write_text("#!/bin/sh\nexit 1\n", "utf-8")
    broken.chmod(0o700)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert main(["--only", "peers", "--peer", "codex,pi", "--folder", str(tmp_path)]) == 0
    printed = capfd.readouterr().out
    assert "codex: not measured. `codex` is not installed" in printed
    assert "pi: not measured. `pi --version` fails." in printed
    assert not (tmp_path / "peers.json").exists()
    assert "Not measured: `python -m benchmarks --only peers" in (tmp_path / "README.md").read_text(
        "utf-8"
    )


def test_a_benchmark_that_failed_is_not_one_that_missed_a_goal(
    capfd: pytest.CaptureFixture[str],
) -> None:
    assert judge({"start": MET, "locomo": NOT_MEASURED}) == MET
    assert judge({"start": MET, "turn": MISSED}) == FAILED
    assert not capfd.readouterr().err
    assert judge({"start": MET, "turn": FAILED}) == FAILED
    assert capfd.readouterr().err == "Failed: turn.\n"


@pytest.mark.parametrize(
    ("unit", "found", "is_worse"),
    [
        ("ms", 11.0, False),
        ("ms", 13.0, True),
        ("×", 13.0, True),
        ("MiB", 4.3, False),
        ("MiB", 4.5, True),
    ],
)
def test_only_what_chance_does_not_explain_is_worse(
    tmp_path: Path, unit: str, found: float, is_worse: bool
) -> None:
    new, committed = tmp_path / "new", tmp_path / "committed"
    for folder, samples in ((new, [found]), (committed, [2.0, 3.0, 4.0])):
        folder.mkdir()
        keep(folder / "render.json", result("render", *samples, unit=unit))
    found_lines = [*compare.lines(["render", "locomo"], new, committed)]
    assert ("render: 1 measures compared", False) in found_lines
    assert ("locomo: not measured", False) in found_lines
    assert any(is_failure for _, is_failure in found_lines) == is_worse


def test_much_more_of_nearly_nothing_is_not_worse() -> None:
    results = Results()
    for name, sample in (("old", 0.0001), ("new", 0.0023), ("worse", 4.0)):
        results.add(name, [sample], "×", at_most=6.0)
    measures = results.measures
    assert not compare.is_worse(measures["new"], measures["old"], 1.0)
    assert compare.is_worse(measures["worse"], measures["old"], 1.0)


def test_a_slower_machine_may_take_longer(tmp_path: Path) -> None:
    path = tmp_path / "render.json"
    keep(path, result("render", 10.0))
    content = msgspec.json.decode(path.read_bytes())
    content["origin"]["machine"]["import_ms"] = 100.0
    path.write_bytes(msgspec.json.encode(content))
    before = read(path)
    content["origin"]["machine"]["import_ms"] = 200.0
    content["measures"]["judged"]["median"] = 50.0
    path.write_bytes(msgspec.json.encode(content))
    slower = read(path)
    assert before is not None
    assert slower is not None
    assert not [*compare.worse(slower, before, ["judged"])]
    content["measures"]["judged"]["median"] = 70.0
    path.write_bytes(msgspec.json.encode(content))
    too_slow = read(path)
    assert too_slow is not None
    assert [*compare.worse(too_slow, before, ["judged"])]
