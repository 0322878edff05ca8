"""Fault trials that run with the tests: no word is lost, nothing hangs, and no traceback is shown.

docs/reliability.md has the tables of the long runs; `python -m tests.faults` makes them.
"""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

import pytest

from tests.faults import chats, in_process, traced
from tests.faults.__main__ import outcomes
from tests.faults.outcome import Outcome, table

pytestmark = [pytest.mark.slow, pytest.mark.skipif(sys.platform != "linux", reason="strace")]
SEED = 20261123
TRIALS, PART = 480, 40
TRACED, TRACED_PART = 28, 7
CHATS = len(chats.PHASES)


def check(ended: list[Outcome]) -> None:
    """Check that every fault was injected and that none had a consequence."""
    failed = [f"seed {SEED}, {one.number}, {one.fault}: {one.failure}" for one in ended]
    assert not [text for text, one in zip(failed, ended, strict=True) if one.failure]


@pytest.mark.parametrize("first", range(0, TRIALS, PART))
def test_faults_of_the_file_layer(first: int) -> None:
    check([in_process.trial(SEED, number) for number in range(first, first + PART)])


@pytest.mark.parametrize("first", range(0, TRACED, TRACED_PART))
def test_faults_of_system_calls(first: int) -> None:
    if shutil.which("strace") is None:
        if os.environ.get("CI_REQUIRE_STRACE") == "1":
            pytest.fail("strace is missing")
        pytest.skip("strace is missing")
    check([traced.trial(SEED, number) for number in range(first, first + TRACED_PART)])


@pytest.mark.parametrize("first", range(0, CHATS, 4))
def test_chats_on_a_terminal(first: int) -> None:
    check([chats.trial(SEED, number) for number in range(first, min(first + 4, CHATS))])


def test_a_run_goes_on_where_it_stopped(tmp_path: Path) -> None:
    state = tmp_path / "state.jsonl"
    before = [*outcomes("in process", 3, SEED, state)]
    lines = state.read_text().splitlines()
    after = [*outcomes("in process", 4, SEED, state)]
    assert after[:3] == before
    assert state.read_text().splitlines()[:3] == lines
    assert len(state.read_text().splitlines()) == 4


def test_the_table_counts_every_finding() -> None:
    lost = Outcome(1, "EIO", injected=True, loss="a word")
    shown = table([Outcome(0, "EIO", injected=True), lost, Outcome(2, "kill", traceback="x")])
    assert "| EIO | 2 | 2 | 1 | 0 | 0 |" in shown
    assert "| kill | 1 | 0 | 0 | 0 | 1 |" in shown
    assert shown.endswith("| **all** | 3 | 2 | 1 | 0 | 1 |")
    assert lost.failure == "lost: a word"
    assert Outcome(0, "EIO").failure == "the fault was not injected"
