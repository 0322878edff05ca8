"""From process start to the prompt: `python -m benchmarks.start [ROUNDS] [--json FILE]`; exit code 1
when a goal is missed.

Real processes in pseudo-terminals, one kind after another in every round, so that all see the same
machine. Medians are compared; the goals are ratios to `python -c pass` and `python -c "import
prompt_toolkit"` of the same run.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from statistics import median

from benchmarks.support.results import Results, parser
from benchmarks.support.terminal import Terminal, environment
from chat_loop.input.start import PROMPT
from chat_loop.sessions.records import Header, Query, Reply, Seal, Session, Summary
from chat_loop.sessions.writer import render
from chat_loop.values import Usage

CHAT = [str(Path(sys.executable).with_name("chat-loop")), "--model", "scripted:echo"]
MODEL = "scripted:echo"
PYTHON, EDITOR = "python -c pass", 'python -c "import prompt_toolkit"'
FOLDERS = {"0 sessions": 0, "10,000 sessions": 10_000}
ROUNDS = 15
KEY = "Ж"
"""Stands nowhere in what the program prints."""

PROMPT_TO_PYTHON = 110 / 14
PROMPT_TO_EDITOR = 110 / 167
EDITOR_TO_EDITOR = 1.5
MEBIBYTES = 45
WARM_SECONDS = 3.0
"""By then everything that is loaded behind the prompt is there."""


def make_sessions(folder: Path, count: int) -> None:
    """Write `count` sealed transcripts of one exchange each, as the program would have."""
    folder.mkdir(mode=0o700, parents=True)
    for number in range(count):
        at = datetime(2026, 1, 1, tzinfo=UTC) + timedelta(minutes=number)
        header = Header(
            id=f"assistant_{at:%Y%m%d_%H%M%S}", created=at, agent="Assistant", model=MODEL
        )
        query = Query(number=1, at=at, text=f"Question {number}: what is a monad, in one sentence?")
        reply = Reply(
            number=1,
            at=at,
            text="A monoid in the category of endofunctors.",
            usage=Usage(input=30, output=9),
        )
        seal = Seal(at=at, reason="exit", source="model", summary=Summary(topics=("Monads [1]",)))
        session = Session(header=header, entries=(query, reply), seal=seal)
        (folder / f"{header.id}.md").write_bytes(render(session))


def time_of(code: str, home: Path) -> float:
    """Seconds from process start to process end of `python -c code`."""
    with Terminal([sys.executable, "-c", code], environment(home)) as terminal:
        return terminal.exit_time() - terminal.started


def start(home: Path) -> tuple[float, float, float, float]:
    """Seconds to the instant prompt, the status line, and the echo of a key that was pressed at
    once; MiB by then.
    """
    with Terminal(CHAT, environment(home)) as terminal:
        prompt = terminal.wait_for(PROMPT) - terminal.started
        terminal.press(KEY)
        echo = terminal.wait_for(KEY) - terminal.started
        status = terminal.wait_for(MODEL) - terminal.started
        return prompt, status, echo, terminal.memory()


def loaded(home: Path) -> tuple[float, float]:
    """MiB with the editor ready, and again when nothing more is loaded behind it."""
    with Terminal(CHAT, environment(home)) as terminal:
        terminal.wait_for(MODEL)
        first = terminal.memory()
        terminal.rest(WARM_SECONDS)
        return first, terminal.memory()


def lost_lines(home: Path, delays: list[float]) -> Iterator[str]:
    """Type a line with Enter so long after process start, and once right after the prompt; yield
    what got no reply.
    """
    for delay in [None, *delays]:
        line = "at the prompt" if delay is None else f"after {delay * 1000:.0f} ms"
        with Terminal(CHAT, environment(home)) as terminal:
            if delay is None:
                terminal.wait_for(PROMPT)
            else:
                while terminal.read(terminal.started + delay) is not None:
                    pass
            terminal.press(f"typed {line}\r")
            try:
                terminal.wait_for(f"You said: typed {line}")
            except (TimeoutError, EOFError):
                yield line


def main() -> int:
    """Measure, print, judge."""
    options = parser("start", __doc__)
    options.add_argument("rounds", type=int, nargs="?", default=ROUNDS, metavar="ROUNDS")
    given = options.parse_args()
    results = Results("start")
    with tempfile.TemporaryDirectory() as name:
        homes = {folder: Path(name) / str(count) for folder, count in FOLDERS.items()}
        for folder, home in homes.items():
            make_sessions(home / "chat-loop" / "sessions", FOLDERS[folder])
        bare = homes["0 sessions"]
        times: dict[str, list[float]] = {}
        memory: list[float] = []
        for turn in range(given.rounds + 1):
            found = {PYTHON: time_of("pass", bare), EDITOR: time_of("import prompt_toolkit", bare)}
            for folder, home in homes.items():
                *moments, mebibytes = start(home)
                names = ("prompt drawn", "status line", "key echoed")
                found |= {
                    f"{what}, {folder}": moment for what, moment in zip(names, moments, strict=True)
                }
                memory.append(mebibytes)
            if turn:  # the first fills the caches
                for what, seconds in found.items():
                    times.setdefault(what, []).append(seconds)
        at_first, in_the_end = loaded(bare)
        editor_ready = median(times["key echoed, 0 sessions"])
        lost = list(lost_lines(bare, [editor_ready * step / 16 for step in range(20)]))

    typical = {what: median(values) for what, values in times.items()}
    for what, values in times.items():
        results.add(what, values, "s")
    results.add("memory when the key was echoed", memory, "MiB")
    results.add("memory at the status line", [at_first], "MiB")
    results.add("memory with everything loaded", [in_the_end], "MiB")
    print(f"{'':36}{'median ms':>10}{'min ms':>9}{'x python':>10}{'x editor':>10}")
    for what, values in times.items():
        middle = typical[what]
        ratios = f"{middle / typical[PYTHON]:10.2f}{middle / typical[EDITOR]:10.2f}"
        print(f"{what:36}{middle * 1000:10.1f}{min(values) * 1000:9.1f}{ratios}")
    print(
        f"memory: {median(memory):.1f} MiB when the key was echoed; {at_first:.1f} at the "
        "status line;"
    )
    print(
        f"  {in_the_end:.1f} once the lock library and rich were loaded behind it (the "
        "tokenizer waits for a message)"
    )
    print(
        f"lines typed before the editor was ready: {len(lost)} of 21 "
        f"lost{': ' if lost else ''}{', '.join(lost)}"
    )
    results.judge("lines lost", len(lost), 0, "")
    for folder in FOLDERS:
        prompt = typical[f"prompt drawn, {folder}"]
        ready = max(typical[f"status line, {folder}"], typical[f"key echoed, {folder}"])
        for name, moment, base, goal in (
            ("prompt drawn / bare python", prompt, PYTHON, PROMPT_TO_PYTHON),
            ("prompt drawn / import prompt_toolkit", prompt, EDITOR, PROMPT_TO_EDITOR),
            ("full editor / import prompt_toolkit", ready, EDITOR, EDITOR_TO_EDITOR),
        ):
            results.judge(f"{name}, {folder}", moment / typical[base], goal)
    results.judge("memory at the prompt", median(memory), MEBIBYTES, " MiB")
    return results.finish(given.json)


if __name__ == "__main__":
    raise SystemExit(main())
