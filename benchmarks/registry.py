"""The benchmarks by name. Each is a module with `run(results, settings)`, which measures and judges."""

from __future__ import annotations

from importlib import import_module

from msgspec import Struct

from benchmarks.support.results import Results, Settings


class Benchmark(Struct, frozen=True):
    """A benchmark, and the seconds that it takes on the machine of the committed results."""

    name: str
    description: str
    seconds: int
    module: str = ""
    """The module with `run`, if it has a different name."""
    parts: tuple[str, ...] = ()
    """The folders and modules of the package that it measures; the whole package without them."""

    def run(self, results: Results, settings: Settings) -> None:
        """Measure. Raises NotMeasured when something that the benchmark needs is missing."""
        import_module(f"benchmarks.{self.module or self.name}").run(results, settings)


SEARCH = ("library", "sessions", "store", "text.py")
CONTEXT = ("context", "conversation", "library", "sessions", "text.py", "tokens.py")

BENCHMARKS = {
    each.name: each
    for each in (
        Benchmark("start", "start to the prompt, to a typed key, with and without sessions", 120),
        Benchmark("turn", "Enter to the request, key to echo, saving, memory", 180),
        Benchmark("stream", "a reply of 4,000 tokens in the whole program, and keys meanwhile", 60),
        Benchmark(
            "render", "a reply as markdown against a bare print", 20, parts=("display", "text.py")
        ),
        Benchmark(
            "compaction", "the program's own work and the pause of a compaction", 30, parts=CONTEXT
        ),
        Benchmark("leaving", "exit and resume, with a server that takes 10 s to summarize", 420),
        Benchmark("library", "10,000 sessions: listing, search, index; resume of 100 MB", 240),
        Benchmark("archive", "search in the sealed sessions of a chain", 60, parts=SEARCH),
        Benchmark(
            "recall",
            "search in other words than those of the conversation",
            120,
            "recall.own",
            parts=SEARCH,
        ),
        Benchmark(
            "locomo",
            "search in LoCoMo's dialogues; needs --locomo",
            240,
            "recall.locomo",
            parts=SEARCH,
        ),
        Benchmark("peers", "the same acts in other programs; needs --peer", 120),
        Benchmark(
            "factchain",
            "facts kept with automatic compaction, and the price",
            700,
            "factchain.benchmark",
            parts=CONTEXT,
        ),
        Benchmark(
            "embedded",
            "facts that a real model still knows; needs --model",
            12_000,
            "embedded.benchmark",
            parts=CONTEXT,
        ),
        Benchmark(
            "continued",
            "tasks that are finished after compactions; needs --model",
            6_000,
            "continued.benchmark",
            parts=CONTEXT,
        ),
        Benchmark(
            "team",
            "10,000 and 100,000 sessions in a folder and in PostgreSQL",
            240,
            parts=(*SEARCH, "team"),
        ),
        Benchmark("million", "a million sessions in PostgreSQL", 1_800, parts=(*SEARCH, "team")),
        Benchmark("large", "sessions of 1, 5 and 20 MB: processor time and memory", 900),
    )
}


def parts_of(result: str) -> tuple[str, ...]:
    """Return the parts that a result measures. The details of a benchmark are in a file that begins
    with its name; others are of the whole package.
    """
    benchmark = BENCHMARKS.get(result.partition("-")[0])
    return benchmark.parts if benchmark else ()
