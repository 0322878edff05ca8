"""A long chat with compactions uses no more memory, threads or descriptors than a short one."""

from __future__ import annotations

import asyncio
import tracemalloc
from pathlib import Path

import pytest

from benchmarks.long_life import growth, live
from chat_loop.conversation.conversation_options import Options

pytestmark = pytest.mark.slow

EXCHANGES, STEP = 250, 10
OPTIONS = Options(acknowledge=False, attach_from_archive=False)
OBJECTS, KILOBYTES = 600, 200  # as much as a leak of 4 objects and 1.3 KB in each exchange


def test_nothing_grows_from_exchange_to_exchange(tmp_path: Path) -> None:
    tracemalloc.start()
    try:
        samples = asyncio.run(live(tmp_path, EXCHANGES, STEP, OPTIONS))
    finally:
        tracemalloc.stop()
    assert samples[-1].compactions > 5
    grown = {name: after - before for name, (before, after) in growth(samples).items()}
    assert grown["descriptors"] == grown["tasks"] == 0, samples
    assert grown["threads"] <= 4, "the threads of asyncio's pool, and no others"
    assert grown["objects"] < OBJECTS, samples
    assert grown["kilobytes"] < KILOBYTES, samples
