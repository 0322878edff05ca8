"""A long chat with compactions uses no more memory, threads or descriptors than a short one.

A conversation with a scripted model in a small window is compacted again and again, with real files.
The process is measured at regular intervals. The growth is judged from the second fifth of the
samples, when the block of the first compactions is full, to the last fifth. Medians are compared,
since a session's entries come and go with its compactions.
"""

from __future__ import annotations

import asyncio
import gc
import re
import threading
import tracemalloc
from pathlib import Path
from statistics import median

import pytest
from msgspec import Struct

from chat_loop.agent.agent import ModelAgent
from chat_loop.context import exact, ledger
from chat_loop.conversation.conversation import Conversation
from chat_loop.conversation.conversation_options import Options
from chat_loop.providers.scripted import EchoProvider
from chat_loop.sessions.manager import SessionManager
from chat_loop.values import Message, Request, Window

pytestmark = pytest.mark.slow

EXCHANGES, STEP = 250, 10
WINDOW = 4_000
WORDS = 100  # of a query
OPTIONS = Options(acknowledge=False, attach_from_archive=False)
OBJECTS, KILOBYTES = 600, 200  # as much as a leak of 4 objects and 1.3 KB in each exchange


class Sample(Struct, frozen=True):
    """The state of the process after an exchange."""

    descriptors: int
    threads: int
    tasks: int
    objects: int
    kilobytes: int


class BriefProvider(EchoProvider):
    """Answers in one word, and writes summaries."""

    def reply(self, request: Request) -> Message:
        is_summary = request.grammar is not None
        return super().reply(request) if is_summary else Message("assistant", "Noted.")


def words(text: str) -> int:
    """Count words as tokens."""
    return len(text.split())


async def live(folder: Path) -> tuple[list[Sample], int]:
    """Have a conversation; return samples of it, and the number of its sessions."""
    agent = ModelAgent(
        name="Assistant", system_prompt="Be brief.", provider=BriefProvider(Window(WINDOW))
    )
    conversation = Conversation(
        agent, SessionManager(folder), count=words, show=lambda event: None, options=OPTIONS
    )
    samples, ids = [], {conversation.live.header.id}
    for number in range(1, EXCHANGES + 1):
        text = f"Port {number} is open, says host-{number % 77}. " + f"word{number % 13} " * WORDS
        await conversation.ask(text)
        await conversation.background.wait()
        ids.add(conversation.live.header.id)
        if number % STEP == 0:
            samples.append(sample())
    await conversation.end()
    conversation.close()
    return samples, len(ids)


def sample() -> Sample:
    """Return the current state of the process."""
    for cache in (ledger.read, ledger.read_clean, exact.normalize):  # these caches are bounded
        cache.cache_clear()
    re.purge()
    gc.collect()
    return Sample(
        descriptors=len([*Path("/proc/self/fd").iterdir()]),
        threads=threading.active_count(),
        tasks=len(asyncio.all_tasks()),
        objects=len(gc.get_objects()),
        kilobytes=tracemalloc.get_traced_memory()[0] // 1000,
    )


def growth(samples: list[Sample], name: str) -> float:
    """Return how far a count's median grows from the second fifth of the samples to the last."""
    counts: list[int] = [getattr(each, name) for each in samples]
    part = len(counts) // 5
    return median(counts[-part:]) - median(counts[part : 2 * part])


def test_nothing_grows_from_exchange_to_exchange(tmp_path: Path) -> None:
    tracemalloc.start()
    try:
        samples, sessions = asyncio.run(live(tmp_path))
    finally:
        tracemalloc.stop()
    assert sessions > 6
    assert growth(samples, "descriptors") == growth(samples, "tasks") == 0, samples
    assert growth(samples, "threads") <= 4, "the threads of asyncio's pool, and no others"
    assert growth(samples, "objects") < OBJECTS, samples
    assert growth(samples, "kilobytes") < KILOBYTES, samples
