"""Measure which of 50 facts a small real model still knows: `python -m benchmarks.embedded`.

Each answer of the model is a file in the folder of `--progress`. A run that was interrupted
continues where it was when it is started with the same folder.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import json
import shutil
import tempfile
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

import msgspec

from benchmarks.embedded.contexts import Count
from benchmarks.embedded.model import Greedy, Recorded
from benchmarks.embedded.run import ARMS, OWN, Outcome, measure, tell
from benchmarks.embedded.script import SEEDS, Script, write_script
from benchmarks.support.results import parser, write
from chat_loop.config import find_paths
from chat_loop.errors import ChatLoopError
from chat_loop.providers import Provider
from chat_loop.providers.models import store
from chat_loop.tokens import TokenCounter
from chat_loop.values import Window

WINDOW = 4_096
THREADS = 2


def main(arguments: Sequence[str] | None = None) -> int:
    """Have the conversation, ask the questions, and write the results and the transcripts."""
    options_parser = parser("embedded", __doc__)
    options_parser.add_argument(
        "--model", default=store.QWEN_1_5B.name, help="an installed embedded model, or its file"
    )
    options_parser.add_argument(
        "--progress", type=Path, metavar="FOLDER", help="where the model's answers are kept"
    )
    options_parser.add_argument(
        "--seed", type=int, default=SEEDS[0], help="the conversation's seed (default: %(default)s)"
    )
    options_parser.add_argument(
        "--own", action="store_true", help="ask only with the program's own contexts"
    )
    options = options_parser.parse_args(arguments)
    counter = TokenCounter()
    counter.load()
    written = options.json and options.json.absolute()
    with contextlib.ExitStack() as stack:
        kept = options.progress or Path(stack.enter_context(tempfile.TemporaryDirectory()))
        progress = kept / str(options.seed)
        progress.mkdir(parents=True, exist_ok=True)
        try:
            path = store.resolve(find_paths().models, options.model).absolute()
            provider = Greedy(path, path.stem, Window(WINDOW), threads=THREADS)
            # the requests contain the folder's name, so it must be the same in every run
            with contextlib.chdir(progress):
                recorded = Recorded(provider, Path("answers"))
                found = asyncio.run(
                    _run(
                        recorded,
                        lru_cache(None)(counter.count),
                        write_script(options.seed),
                        OWN if options.own else ARMS,
                    )
                )
        except ChatLoopError as error:
            tell(f"{error.message} {error.hint}")
            return 2
        for name, numbers in found.contexts.items():
            print(f"{name:28} {json.dumps(numbers)}")
        if written is not None:
            with path.open("rb") as file:
                digest = hashlib.file_digest(file, "sha256").hexdigest()
            about = {"name": path.stem, "sha256": digest, "window": WINDOW, "temperature": 0}
            answers = msgspec.to_builtins(found)
            write(written, "embedded", {"model": about, "seed": options.seed, **answers})
            transcripts = written.with_name("embedded") / str(options.seed)
            shutil.rmtree(transcripts, ignore_errors=True)
            # without the index and the locks of the folder
            shutil.copytree(progress / "talk", transcripts, ignore=shutil.ignore_patterns(".*"))
    return 0


async def _run(provider: Provider, count: Count, script: Script, arms: Sequence[str]) -> Outcome:
    try:
        return await measure(provider, Path("talk"), count, script, arms)
    finally:
        await provider.close()


if __name__ == "__main__":
    raise SystemExit(main())
