"""A chat with a long life: the things that grow.

One process has a conversation with a scripted model in a small window, so that it is compacted
again and again; the files are real. At regular intervals, the process is measured: descriptors,
threads, tasks, objects that the garbage collector tracks, resident memory, and the processor time
of an exchange. The growth is judged from the second fifth of the samples, when the block of the
first compactions is full, to the last fifth. Medians are compared, since a session's entries come
and go with its compactions.
"""

from __future__ import annotations

import asyncio
import gc
import re
import tempfile
import threading
import time
import tracemalloc
from pathlib import Path
from statistics import median

from msgspec import Struct

from benchmarks.support.results import Results, Settings
from chat_loop.agent.agent import ModelAgent
from chat_loop.agent.ask import CallLimits
from chat_loop.context import exact, ledger
from chat_loop.conversation.conversation import Conversation
from chat_loop.conversation.conversation_options import Options
from chat_loop.providers.scripted import EchoProvider
from chat_loop.sessions.manager import SessionManager
from chat_loop.values import Message, Request, Window

STEPS, STEP, SHORTEST = 100, 50, 5
WINDOW = 4_000
WORDS = 100  # of a query
OPTIONS = Options(acknowledge=False)
GROWTH = 1.1


class Sample(Struct, frozen=True):
    """The state of the process after an exchange, and the median time of recent ones."""

    exchanges: int
    compactions: int
    descriptors: int
    threads: int
    tasks: int
    objects: int
    kilobytes: int
    mebibytes: float
    milliseconds: float


GROWING = ("descriptors", "threads", "tasks", "objects", "kilobytes", "mebibytes", "milliseconds")
NOISE = {"objects": 2_000, "kilobytes": 500, "mebibytes": 8, "milliseconds": 2}
"""The allowance on top of the factor; the small counts have neither."""
UNITS = dict.fromkeys(("descriptors", "threads", "tasks", "objects"), "") | {
    "mebibytes": "MiB",
    "milliseconds": "ms",
}
"""The units of the measured counts. Only a test traces `kilobytes`, since that is slow."""


class BriefProvider(EchoProvider):
    """Answers in one word, so that the time is that of the exchange and not of its display."""

    def reply(self, request: Request) -> Message:
        is_summary = request.grammar is not None
        return super().reply(request) if is_summary else Message("assistant", "Noted.")


def words(text: str) -> int:
    """Count words as tokens."""
    return len(text.split())


async def live(folder: Path, exchanges: int, step: int, options: Options = OPTIONS) -> list[Sample]:
    """Have a conversation of `exchanges` exchanges; return a sample after every `step` of them."""
    sessions = SessionManager(folder)
    provider = BriefProvider(Window(WINDOW))
    conversation = Conversation(
        ModelAgent(
            name="Assistant", system_prompt="Be brief.", provider=provider, limits=CallLimits()
        ),
        sessions,
        count=words,
        show=lambda event: None,
        options=options,
    )
    samples, taken, ids = [], [], {conversation.live.header.id}
    for number in range(1, exchanges + 1):
        text = f"Port {number} is open, says host-{number % 77}. " + f"word{number % 13} " * WORDS
        started = time.process_time()
        await conversation.ask(text)
        taken.append(time.process_time() - started)
        await conversation.background.wait()
        ids.add(conversation.live.header.id)
        if number % step == 0:
            samples.append(sample(number, len(ids) - 1, median(taken)))
            taken.clear()
    await conversation.end()
    conversation.close()
    return samples


def sample(number: int, compactions: int, seconds: float) -> Sample:
    """Return the current state of the process."""
    for cache in (ledger.read, ledger.read_clean, exact.normalize):  # these caches are bounded
        cache.cache_clear()
    re.purge()
    gc.collect()
    status = Path("/proc/self/status").read_text("ascii")
    return Sample(
        exchanges=number,
        compactions=compactions,
        descriptors=len([*Path("/proc/self/fd").iterdir()]),
        threads=threading.active_count(),
        tasks=len(asyncio.all_tasks()),
        objects=len(gc.get_objects()),
        kilobytes=tracemalloc.get_traced_memory()[0] // 1000,
        mebibytes=int(status.partition("VmRSS:")[2].split()[0]) / 1024,
        milliseconds=seconds * 1000,
    )


def growth(samples: list[Sample]) -> dict[str, tuple[float, float]]:
    """Return the median of each count in the second fifth of the samples, and in the last one."""
    part = max(1, len(samples) // 5)
    return {
        name: (
            median(getattr(sample, name) for sample in samples[part : 2 * part]),
            median(getattr(sample, name) for sample in samples[-part:]),
        )
        for name in GROWING
    }


def run(results: Results, settings: Settings) -> None:
    """Measure and judge; a round is 50 exchanges."""
    rounds = max(SHORTEST, settings.rounds or STEPS)
    with tempfile.TemporaryDirectory() as name:
        samples = asyncio.run(live(Path(name), rounds * STEP, STEP))
    for name in ("exchanges", "compactions", *(name for name in GROWING if name in UNITS)):
        results.add(name, [getattr(each, name) for each in samples], UNITS.get(name, ""))
    for name, (before, after) in growth(samples).items():
        if name in UNITS:
            factor = GROWTH if name in NOISE else 1.0
            results.add(
                f"{name} at the end",
                [after],
                UNITS[name],
                at_most=before * factor + NOISE.get(name, 0),
            )
