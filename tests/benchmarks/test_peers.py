"""The benchmark of other programs: what it tells them."""

from __future__ import annotations

import json

import pytest

from benchmarks import report
from benchmarks.peers import OURS, PROGRAMS

pytestmark = pytest.mark.slow


def test_the_settings_of_programs_name_nothing_but_the_server() -> None:
    assert len(PROGRAMS) > 3
    for program in PROGRAMS.values():
        text = json.dumps([program.command, *program.environment.values(), *program.files.values()])
        assert "{url}" in text
        assert "http:" not in text
        assert "https:" not in text


def test_each_program_can_be_chosen() -> None:
    assert {*report.PEERS} | {*OURS} == {*PROGRAMS}
