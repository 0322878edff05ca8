"""From Enter to the request, from a key to its echo, saving, and memory: `python -m benchmarks.turn
[--json FILE]`; exit code 1 on a miss.

The real program in a pseudo-terminal talks through the real SDKs to a server in a thread of this
process, so that keys and requests are timed by one clock. A request is there when its head has
arrived. Exchange 500 comes after 499 turns through the program. It is compared with the exchanges
after the first of a second program, a turn here and a turn there, so that both see the same
machine; the first alone creates the file, and by the second the tokenizer is loaded.

The numbers judged are quartiles: a quarter of the samples are better. What else runs on the machine
only adds. The goal for a request is the same at exchange 500; the ratio is printed, since a
thousand messages are a larger request.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from statistics import median, quantiles

from benchmarks.start import WARM_SECONDS
from benchmarks.support.loopback import Loopback
from benchmarks.support.results import Results, parser
from benchmarks.support.terminal import PATIENCE_SECONDS, Terminal, environment, visible
from chat_loop.input.start import PROMPT
from chat_loop.sessions.files import Files
from chat_loop.sessions.live import LiveSession
from chat_loop.sessions.manager import SessionManager
from chat_loop.sessions.records import Query, Reply
from chat_loop.values import Usage

MODELS = {"anthropic": "anthropic:claude-sonnet-5-5", "openai": "openai:gpt-5.4-mini"}
QUIET = "scripted:echo"
"""The model that loads no SDK."""
STARTS = 5
NEAR, FAR = 1, 500
TURNS = 40
SAVED = 100

TYPING_SECONDS = 2.0
KEY_SECONDS = 0.02
FIRST_KEY = 0x410
"""From here on every key is another Cyrillic letter; none stands in what the program prints."""

WARM_GOAL, FIRST_GOAL = 5.0, 60.0
SAVING_GOAL = 1.3
SDK_GOAL = 65.0
USED_GOALS = {"anthropic": 170.0, "openai": 145.0}
"""MiB of the process: with the SDK loaded, and after a few turns with the encoding, which takes 45 of
them.
"""
FEW_TURNS = 5


class Unsynced(Files):
    """Without the disk: what is left is the program's own work."""

    def sync(self, descriptor: int) -> None:
        """Trust the system."""


def chat(model: str, server: Loopback, home: Path) -> Terminal:
    """Start the program; every SDK finds the server."""
    keys = {"ANTHROPIC_API_KEY": "x", "OPENAI_API_KEY": "x"}
    addresses = {"ANTHROPIC_BASE_URL": server.url, "OPENAI_BASE_URL": f"{server.url}/v1"}
    return Terminal(
        [sys.executable, "-m", "chat_loop", "--model", model],
        environment(home, **keys, **addresses),
    )


def type_keys(terminal: Terminal, seconds: float) -> list[float]:
    """Press a key every 20 ms; return how long each took to be echoed once the editor has echoed
    the first.
    """
    start = time.perf_counter()
    keys = [chr(FIRST_KEY + number) for number in range(int(seconds / KEY_SECONDS))]
    pressed: list[float] = []
    echoed: list[float] = []
    begin = len(terminal.output)
    while len(echoed) < len(keys):
        due = start + (
            len(pressed) * KEY_SECONDS if len(pressed) < len(keys) else seconds + PATIENCE_SECONDS
        )
        came = terminal.read(due)
        if came is not None:
            shown = visible(terminal.output[begin:])
            while len(echoed) < len(pressed) and keys[len(echoed)] in shown:
                echoed.append(came)
        elif len(pressed) < len(keys):
            pressed.append(terminal.press(keys[len(pressed)]))
        else:
            raise TimeoutError(f"Keys were not echoed:\n{visible(terminal.output)[-500:]}")
    return [echo - press for press, echo in zip(pressed, echoed, strict=True) if press >= echoed[0]]


def turn(terminal: Terminal, server: Loopback, text: str) -> float:
    """One exchange; return the seconds from Enter to the request."""
    number, begin = len(server.requests), len(terminal.output)
    terminal.press(text)
    terminal.wait_for(text, begin)
    return enter(terminal, server, number)


def enter(terminal: Terminal, server: Loopback, number: int) -> float:
    """Press Enter, wait for request `number` without disturbing the server, then for the next
    prompt.
    """
    begin = len(terminal.output)
    pressed = terminal.press("\r")
    took = server.request(number).at - pressed
    terminal.wait_for("Time:", begin)
    terminal.wait_for(PROMPT.rstrip(), terminal.output.index(b"Time:", begin))
    return took


def first_requests(model: str, home: Path) -> list[float]:
    """Several starts: two seconds of typing from the prompt on, then Enter."""
    found = []
    with Loopback() as server:
        for number in range(STARTS):
            with chat(model, server, home) as terminal:
                terminal.wait_for(PROMPT)
                type_keys(terminal, TYPING_SECONDS)
                found.append(enter(terminal, server, number))
    return found


def begun(terminal: Terminal, server: Loopback) -> None:
    """Have the first exchange, and wait until everything is loaded."""
    terminal.wait_for(PROMPT)
    type_keys(terminal, TYPING_SECONDS)
    enter(terminal, server, len(server.requests))
    terminal.rest(WARM_SECONDS)


def memories(model: str, home: Path) -> tuple[float, float]:
    """Return the MiB of the process with the SDK loaded behind the prompt, and after a few turns."""
    with Loopback() as server, chat(model, server, home) as terminal:
        terminal.wait_for(PROMPT)
        terminal.rest(WARM_SECONDS)
        warm = terminal.memory()
        for number in range(FEW_TURNS):
            turn(terminal, server, f"message {number}.")
        return warm, terminal.memory()


def many_turns(model: str, home: Path) -> tuple[list[float], list[float]]:
    """Enter to request in the turns after the first, and from exchange 500 on."""
    near, far = [], []
    with Loopback() as server, chat(model, server, home) as old, chat(model, server, home) as new:
        begun(old, server)
        for number in range(2, FAR):
            turn(old, server, f"message {number}.")
        begun(new, server)
        for number in range(TURNS):
            near.append(turn(new, server, f"message {number + 2}."))
            far.append(turn(old, server, f"message {number + FAR}."))
    return near, far


def echoes(model: str, home: Path) -> list[float]:
    """Key to echo, over all starts, while everything is loaded behind the prompt."""
    found = []
    with Loopback() as server:
        for _ in range(STARTS):
            with chat(model, server, home) as terminal:
                terminal.wait_for(PROMPT)
                found += type_keys(terminal, TYPING_SECONDS)
    return found


def save(live: LiveSession) -> float:
    """Save one exchange; return the seconds."""
    number, at = live.next_number, datetime(2026, 1, 1, tzinfo=UTC)
    started = time.perf_counter()
    live.add(Query(number=number, at=at, text="What is it, in a hundred words?"))
    live.begin_reply(number, at)
    for word in range(100):
        live.feed(f"word {word} ")
    text, usage = live.reply_text, Usage(input=10, output=200)
    live.finish(Reply(number=number, at=at, text=text, usage=usage))
    took = time.perf_counter() - started
    assert live.is_saved
    return took


def savings(folder: Path, files: Files) -> tuple[list[float], list[float]]:
    """Seconds to save each exchange after the first, and from exchange 500 on."""
    sessions = SessionManager(folder, files=files)
    new, old = (sessions.begin(agent="Assistant", model=QUIET) for _ in range(2))
    for _ in range(FAR - 1):
        save(old)
    save(new)
    pairs = [(save(new), save(old)) for _ in range(SAVED)]
    for live in (new, old):
        live.close()
    return [near for near, _ in pairs], [far for _, far in pairs]


def row(results: Results, name: str, seconds: Sequence[float]) -> float:
    """Keep and print a row: quartile, median, best and worst in ms; return the quartile in ms."""
    results.add(name, seconds, "s")
    quarter = quantiles(seconds, n=4, method="inclusive")[0] * 1000
    rest = (median(seconds), min(seconds), max(seconds))
    print(f"{name:50}{quarter:9.2f}" + "".join(f"{value * 1000:9.2f}" for value in rest))
    return quarter


def main() -> int:
    """Measure, print, judge."""
    given = parser("turn", __doc__).parse_args()
    results = Results("turn")
    goals: list[tuple[str, float, float, str]] = []
    print(f"{'ms':50}{'quarter':>9}{'median':>9}{'best':>9}{'worst':>9}")
    with tempfile.TemporaryDirectory() as name:
        for provider, model in MODELS.items():
            home = Path(name) / provider
            first = row(
                results,
                f"Enter -> request, first after 2 s, {provider}",
                first_requests(model, home),
            )
            near, far = many_turns(model, home)
            warm = row(results, f"Enter -> request, warm, {provider}", near)
            late = row(results, f"Enter -> request, exchange {FAR}, {provider}", far)
            goals += [
                (f"first request after 2 s of typing, {provider}", first, FIRST_GOAL, " ms"),
                (f"warm request, {provider}", warm, WARM_GOAL, " ms"),
                (f"request at exchange {FAR}, {provider}", late, WARM_GOAL, " ms"),
            ]
            print(f"{f'  exchange {FAR} / exchange {NEAR}':50}{late / warm:9.2f} x")
            loaded, used = memories(model, home)
            for what, mebibytes, limit in (
                (f"memory with the SDK loaded, {provider}", loaded, SDK_GOAL),
                (f"memory after {FEW_TURNS} turns, {provider}", used, USED_GOALS[provider]),
            ):
                results.add(what, [mebibytes], "MiB")
                goals.append((what, mebibytes, limit, " MiB"))
        for model in (QUIET, *MODELS.values()):
            row(results, f"key -> echo while loading, {model}", echoes(model, Path(name) / "echo"))
        for kind, files in (("", Files()), (" without the disk's part", Unsynced())):
            near, far = savings(Path(name) / f"saving{kind}", files)
            begin, end = (
                row(results, f"saving, exchange {NEAR}{kind}", near),
                row(results, f"saving, exchange {FAR}{kind}", far),
            )
            goals.append(
                (f"saving{kind}, exchange {FAR} / exchange {NEAR}", end / begin, SAVING_GOAL, " x")
            )
    for goal in goals:
        results.judge(*goal)
    return results.finish(given.json)


if __name__ == "__main__":
    raise SystemExit(main())
