"""The benchmark of other programs: its adapters, and its measures of each act."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks import peers, report
from benchmarks.__main__ import main
from benchmarks.peers import OURS, PROGRAMS, TOKENS, measure
from benchmarks.render import KINDS, tokens


def test_the_settings_of_programs_name_nothing_but_the_server() -> None:
    assert len(PROGRAMS) > 3
    for program in PROGRAMS.values():
        text = json.dumps([program.command, *program.environment.values(), *program.files.values()])
        assert "{url}" in text
        assert "http:" not in text
        assert "https:" not in text


def test_each_program_can_be_chosen() -> None:
    assert {*report.PEERS} | {*OURS} == {*PROGRAMS}


@pytest.mark.parametrize("name", OURS)
def test_each_act_is_measured(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(peers, "SETTLE_SECONDS", 0.3)
    monkeypatch.setattr(peers, "TYPED_SECONDS", 0.3)
    found = {act: value for act, (value, _) in measure(PROGRAMS[name], tmp_path).items()}
    assert 0 < found["start to the prompt"] < found["start to a typed key"]
    assert 0 < found["Enter to the request"] < found["reply of 4,000 tokens, time"]
    words = len("".join(tokens(KINDS["mixed"], TOKENS)))
    assert found["reply of 4,000 tokens, bytes"] > words
    assert found["exit"] > 0


def test_a_program_that_is_not_installed_is_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert main(["--only", "peers", "--peer", "codex,llm", "--folder", str(tmp_path)]) == 0
    out = capfd.readouterr().out
    assert "codex: not measured. `codex` is not installed" in out
    assert not (tmp_path / "peers.json").exists()
    assert "Not measured" in (tmp_path / "benchmarks.md").read_text("utf-8")
