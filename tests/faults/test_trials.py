"""Fault trials that run with the tests: no word is lost, nothing hangs, and no traceback is shown.

docs/reliability.md has the tables of the long runs; `python -m tests.faults` makes them.
"""

from __future__ import annotations

import os
import shutil
import sys

import pytest

from tests.faults import chats, in_process, traced
from tests.faults.outcome import Outcome

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
