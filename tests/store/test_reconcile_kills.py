"""A server that is killed while two machines share a store; `python -m tests.store` does more."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.killed_store import run_kills


@pytest.mark.slow
@pytest.mark.parametrize("kills", [2, pytest.param(4, marks=pytest.mark.nightly)])
@pytest.mark.parametrize("name", ["s3", "azure"])
def test_kills_of_the_server_lose_nothing(tmp_path: Path, name: str, kills: int) -> None:
    losses = run_kills(tmp_path, kills, 2, name)
    assert losses.kills == kills
    assert losses.said > 0
    assert (losses.lost, losses.different, losses.orphans) == ((), (), ())
