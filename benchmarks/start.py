"""The time from process start to the prompt, to a typed key, and to a resumed session.

Real processes run in pseudo-terminals, one kind after another in every round, so that all run under
the same conditions. The goals are ratios to `python -c pass` and `python -c "import
prompt_toolkit"` in the same round, or milliseconds more than a plain start in that round.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from benchmarks.support.results import Results, Settings
from benchmarks.support.sessions import MODEL, long_session, make_sessions
from benchmarks.support.terminal import Terminal, environment
from chat_loop.sessions.writer import render
from chat_loop.terminal import PROMPT

CHAT = (str(Path(sys.executable).with_name("chat-loop")), "--model", MODEL)
PYTHON, EDITOR = "python -c pass", 'python -c "import prompt_toolkit"'
FOLDERS = {"0 sessions": 0, "10,000 sessions": 10_000}
EXCHANGES = 1_000
RESUMED = "long"
ROUNDS = 15
KEY = "Ж"
"""A character that the program never prints."""

PROMPT_TO_PYTHON = 2.5
"""Half the time of codex, which needs five times as long as an empty Python."""
KEY_TO_EDITOR = 0.5
"""It is echoed before the editor is loaded."""
RESUME_MILLISECONDS = 100.0
MEBIBYTES = 45.0
WARM_SECONDS = 3.0
"""The time after which everything is loaded behind the prompt."""
TYPED_EARLY = 20
"""The number of lines that are typed at different times before the editor is ready."""


def milliseconds_of(code: str, home: Path) -> float:
    """Return the milliseconds from process start to process end of `python -c code`."""
    with Terminal([sys.executable, "-c", code], environment(home)) as terminal:
        return 1000 * (terminal.exit_time() - terminal.started)


def start(home: Path, *options: str) -> tuple[float, float, float, float]:
    """Return the milliseconds to the instant prompt, to the status line, and to the echo of a key
    pressed at the prompt, and the MiB by then.
    """
    with Terminal([*CHAT, *options], environment(home)) as terminal:
        prompt = terminal.wait_for(PROMPT)
        terminal.press(KEY)
        echo = terminal.wait_for(KEY)
        status = terminal.wait_for(MODEL)
        prompt, status, echo = (1000 * (at - terminal.started) for at in (prompt, status, echo))
        return prompt, status, echo, terminal.memory()


def memory_behind_prompt(home: Path) -> float:
    """Return the MiB when everything is loaded behind the prompt."""
    with Terminal(CHAT, environment(home)) as terminal:
        terminal.wait_for(MODEL)
        terminal.rest(WARM_SECONDS)
        return terminal.memory()


def lost_lines(home: Path, delays: list[float]) -> Iterator[str]:
    """Type a line with Enter at each of `delays` after process start, and once right after the
    prompt; yield the lines that got no reply.
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


def run(results: Results, settings: Settings) -> None:
    """Measure and judge."""
    rounds = settings.rounds or ROUNDS
    times: dict[str, list[float]] = {}
    memory: list[float] = []
    with tempfile.TemporaryDirectory() as name:
        homes = {folder: Path(name) / str(count) for folder, count in FOLDERS.items()}
        for folder, home in homes.items():
            make_sessions(home / "chat-loop" / "sessions", FOLDERS[folder])
        bare, resumed = homes["0 sessions"], Path(name) / "resumed"
        (resumed / "chat-loop" / "sessions").mkdir(mode=0o700, parents=True)
        path = resumed / "chat-loop" / "sessions" / f"{RESUMED}.md"
        long = render(long_session(RESUMED, EXCHANGES, 400))
        for turn in range(rounds + 1):
            found = {
                PYTHON: milliseconds_of("pass", bare),
                EDITOR: milliseconds_of("import prompt_toolkit", bare),
            }
            for folder, home in homes.items():
                prompt, status, echo, mebibytes = start(home)
                found[f"prompt drawn, {folder}"] = prompt
                found[f"status line, {folder}"] = status
                found[f"key shown, {folder}"] = echo
            path.write_bytes(long)
            found["key shown, resume of 2,000 messages"] = start(resumed, "--resume", RESUMED)[2]
            if turn:  # the first round fills the caches
                memory.append(mebibytes)
                for what, value in found.items():
                    times.setdefault(what, []).append(value)
        warm = [memory_behind_prompt(bare) for _ in range(min(rounds, 3))]
        ready = max(times["key shown, 0 sessions"]) / 1000
        lost = [*lost_lines(bare, [ready * step / 16 for step in range(TYPED_EARLY)])]
    for what, values in times.items():
        results.add(what, values, "ms")
    for folder in FOLDERS:
        drawn, key = times[f"prompt drawn, {folder}"], times[f"key shown, {folder}"]
        results.add_ratio(
            f"prompt drawn / bare python, {folder}", drawn, times[PYTHON], at_most=PROMPT_TO_PYTHON
        )
        results.add_ratio(
            f"key shown / import prompt_toolkit, {folder}",
            *(key, times[EDITOR]),
            at_most=KEY_TO_EDITOR,
        )
    results.add_difference(
        "resume of 2,000 messages, key shown beyond a start",
        *(times["key shown, resume of 2,000 messages"], times["key shown, 0 sessions"]),
        *("ms",),
        at_most=RESUME_MILLISECONDS,
    )
    results.add("memory at the prompt", memory, "MiB", at_most=MEBIBYTES)
    results.add("memory with everything loaded", warm, "MiB")
    results.add(f"lines lost of {TYPED_EARLY + 1} typed early", [len(lost)], "", at_most=0)
