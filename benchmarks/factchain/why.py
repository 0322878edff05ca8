"""Where facts come from: `python -m benchmarks.factchain.why`.

FactChain's conversations are compacted ten times. Then `/why` is asked for the sentence of each
planted fact: does it name the message that said it, and the last summary that has it? What is right
is read from the conversation and from the blocks, without the program.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import tempfile
import time
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path

import msgspec
from msgspec import Struct

from benchmarks.factchain.generator import generate
from benchmarks.factchain.ours import Ours
from benchmarks.factchain.scoring import Context, flat
from benchmarks.factchain.summarisers import Lossy
from benchmarks.factchain.talk import Fact, Talk
from benchmarks.factchain.wording import PROFILES
from benchmarks.support.results import origin
from chat_loop.tokens import TokenCounter


class Answer(Struct, frozen=True, kw_only=True):
    """What `/why` answers about a fact, and what is right: who said it where, and the number of the
    session whose summary is the last that has it (0: none). `dropped` is the number of the session
    whose compaction dropped it, 0 if it is in the context.
    """

    number: int
    origin: str
    right_origin: str
    block: int
    right_block: int
    dropped: int
    in_context: bool
    milliseconds: float


class Row(Struct, frozen=True, kw_only=True):
    """A conversation, with the numbers of facts for which the answer is right."""

    profile: str
    seed: int
    window: int
    facts: int
    origin: int
    block: int
    no_block: int
    dropped: int
    answers: list[Answer]


async def measure(profile: str, seed: int, window: int, count: Callable[[str], int]) -> Row:
    """Have a conversation in the working directory, and ask where each fact comes from."""
    talk = generate(seed, profile)
    chat = Ours(
        Path(f"{profile}{seed}-{window}"),
        Lossy(talk.facts, talk.seed, count),
        count,
        window=window,
    )
    for segment, turns in enumerate(talk.segments, 1):
        for turn in turns:
            await chat.say(turn)
        if segment == 1:
            for pin in talk.pins:
                chat.pin(pin)
        await chat.compact()
    blocks = {number: Context(text) for number, text in chat.blocks().items()}
    context = Context(chat.context)
    answers = [_answer(chat, talk, fact, blocks, context) for fact in talk.facts]
    chat.close()
    gone = [each for each in answers if not each.in_context]
    return Row(
        profile=profile,
        seed=seed,
        window=window,
        facts=len(answers),
        origin=sum(each.origin == each.right_origin for each in answers),
        block=sum(each.block == each.right_block for each in answers),
        no_block=sum(each.right_block == 0 and not each.in_context for each in answers),
        dropped=sum(each.dropped > 0 for each in gone),
        answers=answers,
    )


def _answer(
    chat: Ours, talk: Talk, fact: Fact, blocks: dict[int, Context], context: Context
) -> Answer:
    started = time.perf_counter()
    found = chat.why(fact.sentence)
    seconds = time.perf_counter() - started
    kept = [number for number, block in blocks.items() if block.has(fact)]
    return Answer(
        number=fact.number,
        origin=found.origin,
        right_origin=_origin(talk, fact),
        block=found.block,
        right_block=max(kept, default=0),
        dropped=found.dropped,
        in_context=context.has(fact),
        milliseconds=round(1000 * seconds, 1),
    )


def _origin(talk: Talk, fact: Fact) -> str:
    """Return where a fact was said first and by whom, such as `3.7 user`."""
    core = flat(fact.core)
    for segment, turns in enumerate(talk.segments, 1):
        for number, turn in enumerate(turns, 1):
            for speaker, text in (("user", turn.query), ("model", turn.reply)):
                if core in flat(text):
                    return f"{segment}.{number} {speaker}"
    return ""


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.factchain.why")
    parser.add_argument("--seeds", type=int, default=1, metavar="N")
    parser.add_argument("--window", type=int, default=16_384, metavar="N")
    parser.add_argument("--json", type=Path, metavar="FILE")
    options = parser.parse_args()
    file = options.json.absolute() if options.json else None
    counter = TokenCounter()
    counter.load()
    count = lru_cache(20_000)(counter.count)
    rows: list[Row] = []
    print("wording  facts  right origin  right last block  gone without any block  with its drop")
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        for profile in PROFILES:
            for seed in range(1, options.seeds + 1):
                row = asyncio.run(measure(profile, seed, options.window, count))
                rows.append(row)
                gone = sum(not each.in_context for each in row.answers)
                print(
                    f"{profile:7}  {row.facts:5}  {row.origin:12}  {row.block:16}"
                    f"  {row.no_block:22}  {row.dropped:6} of {gone}"
                )
    if file is not None:
        settings = {"seeds": options.seeds, "window": options.window}
        data = {
            "settings": settings | msgspec.to_builtins(origin()),
            "rows": msgspec.to_builtins(rows),
        }
        file.write_text(json.dumps(data) + "\n", "utf-8")


if __name__ == "__main__":
    main()
