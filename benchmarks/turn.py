"""From Enter to the request, from a key to its echo, saving, and memory.

The real program in a pseudo-terminal talks through the real SDKs to a server in a thread of this
process, so that one clock times keys and requests. A request counts as arrived when its head has
arrived. Exchange 500 comes after 499 turns through the program. It is compared with the early
exchanges of a second program, except for the first, which creates the file. The two programs take
turns, so that both run under the same conditions.

The time in which the disk syncs is measured in the program and subtracted: it depends on the disk,
and it is the price for losing no word. The times that include it are recorded, too.
"""

from __future__ import annotations

import sys
import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from benchmarks.factchain.ours import Unsynced
from benchmarks.start import WARM_SECONDS
from benchmarks.support.loopback import Loopback, talk
from benchmarks.support.loopback_wires import Received
from benchmarks.support.loopback_wires import Reply as Served
from benchmarks.support.results import Results, Settings
from benchmarks.support.terminal import PATIENCE_SECONDS, Terminal, environment, visible
from chat_loop.sessions.files import Files
from chat_loop.sessions.live import LiveSession
from chat_loop.sessions.manager import SessionManager
from chat_loop.sessions.records import Query, Reply
from chat_loop.terminal import PROMPT
from chat_loop.values import Usage

MODELS = {"anthropic": "anthropic:claude-sonnet-5-5", "openai": "openai:gpt-5.4-mini"}
QUIET = "scripted:echo"
"""The model that loads no SDK."""
STARTS, MEMORIES = 5, 3
NEAR, FAR = 1, 500
TURNS = 40
SAVED = 100

TYPING_SECONDS = 2.0
KEY_SECONDS = 0.02
FIRST_KEY = 0x410
"""Keys are the Cyrillic letters from this one on; the program prints none of them."""

WARM_GOAL, FIRST_GOAL = 4.0, 40.0
SAVING_GOAL = 1.3
SDK_GOAL = 65.0
USED_GOALS = {"anthropic": 125.0, "openai": 100.0}
"""The goals for the MiB of the process, with the SDK loaded and after a few short turns."""
FEW_TURNS = 5
TIMED = """\
import os, sys, time
from chat_loop.sessions.files import Files
log = os.open(sys.argv.pop(1), os.O_WRONLY | os.O_APPEND | os.O_CREAT)
def timed(sync):
    def run(self, what):
        started = time.perf_counter()
        sync(self, what)
        os.write(log, b"%f %f\\n" % (started, time.perf_counter()))
    return run
Files.sync, Files.sync_directory = timed(Files.sync), timed(Files.sync_directory)
from chat_loop.cli import main
sys.exit(main())
"""
"""The program, which records when each of its syncs begins and ends, by the machine's clock."""
LOG = "syncs"


class Turn(Struct, frozen=True):
    """The times when Enter was pressed and when the request arrived."""

    pressed: float
    arrived: float

    @property
    def milliseconds(self) -> float:
        return 1000 * (self.arrived - self.pressed)

    def syncs(self, home: Path) -> list[float]:
        """Return the milliseconds of each of the program's syncs between the two times."""
        lines = (home / LOG).read_text("ascii").splitlines()
        spans = (map(float, line.split()) for line in lines)
        return [
            1000 * (min(end, self.arrived) - start)
            for start, end in spans
            if self.pressed <= start < self.arrived
        ]


def counted(request: Received) -> Served:
    """Return an echo, with tokens as a service counts them: a word has one, a message four more. A
    count that cannot be would have the program count everything itself.
    """
    reply = talk(request)
    assert reply.usage is not None
    messages = 4 * len(request.texts)
    return replace(reply, usage=replace(reply.usage, input=reply.usage.input + messages))


def chat(model: str, server: Loopback, home: Path) -> Terminal:
    """Start the program with a model; every SDK uses the server."""
    keys = {"ANTHROPIC_API_KEY": "x", "OPENAI_API_KEY": "x"}
    addresses = {"ANTHROPIC_BASE_URL": server.url, "OPENAI_BASE_URL": f"{server.url}/v1"}
    home.mkdir(parents=True, exist_ok=True)
    return Terminal(
        [sys.executable, "-c", TIMED, str(home / LOG), "--model", model],
        environment(home, **keys, **addresses),
    )


def type_keys(terminal: Terminal, seconds: float) -> list[float]:
    """Press a key every 20 ms; return the milliseconds that each took to be echoed, from the first
    echo of the editor on.
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
    pairs = zip(pressed, echoed, strict=True)
    return [1000 * (echo - press) for press, echo in pairs if press >= echoed[0]]


def turn(terminal: Terminal, server: Loopback, text: str) -> Turn:
    """Have one exchange."""
    number, begin = len(server.requests), len(terminal.output)
    terminal.press(text)
    terminal.wait_for(text, begin)
    return enter(terminal, server, number)


def enter(terminal: Terminal, server: Loopback, number: int) -> Turn:
    """Press Enter; wait for request `number` without disturbing the server, then for the next
    prompt.
    """
    begin = len(terminal.output)
    pressed = terminal.press("\r")
    arrived = server.request(number).at
    terminal.wait_for("Time:", begin)
    terminal.wait_for(PROMPT.rstrip(), terminal.output.index(b"Time:", begin))
    return Turn(pressed, arrived)


def first_requests(model: str, home: Path, starts: int) -> list[Turn]:
    """Return the first turn of each start, after two seconds of typing at the prompt."""
    found = []
    with Loopback(counted) as server:
        for number in range(starts):
            with chat(model, server, home) as terminal:
                terminal.wait_for(PROMPT)
                type_keys(terminal, TYPING_SECONDS)
                found.append(enter(terminal, server, number))
    return found


def begun(terminal: Terminal, server: Loopback) -> None:
    """Have the first exchange, then wait until everything is loaded."""
    terminal.wait_for(PROMPT)
    type_keys(terminal, TYPING_SECONDS)
    enter(terminal, server, len(server.requests))
    terminal.rest(WARM_SECONDS)


def memories(model: str, home: Path) -> tuple[float, float]:
    """Return the MiB of the process with the SDK loaded behind the prompt, and after a few turns."""
    with Loopback(counted) as server, chat(model, server, home) as terminal:
        terminal.wait_for(PROMPT)
        terminal.rest(WARM_SECONDS)
        warm = terminal.memory()
        for number in range(FEW_TURNS):
            turn(terminal, server, f"message {number}.")
        return warm, terminal.memory()


def many_turns(model: str, home: Path, turns: int) -> tuple[list[Turn], list[Turn]]:
    """Return turns after the first one, and turns from exchange 500 on."""
    near, far = [], []
    with (
        Loopback(counted) as server,
        chat(model, server, home / "far") as old,
        chat(model, server, home / "near") as new,
    ):
        begun(old, server)
        for number in range(2, FAR):
            turn(old, server, f"message {number}.")
        begun(new, server)
        for number in range(turns):
            near.append(turn(new, server, f"message {number + 2}."))
            far.append(turn(old, server, f"message {number + FAR}."))
    return near, far


def echoes(model: str, home: Path, starts: int) -> list[float]:
    """Return the milliseconds from key to echo, over all starts, during the loading."""
    found = []
    with Loopback(counted) as server:
        for _ in range(starts):
            with chat(model, server, home) as terminal:
                terminal.wait_for(PROMPT)
                found += type_keys(terminal, TYPING_SECONDS)
    return found


def save(live: LiveSession) -> float:
    """Save one exchange; return the milliseconds."""
    number, at = live.next_number, datetime(2026, 1, 1, tzinfo=UTC)
    started = time.perf_counter()
    live.add(Query(number=number, at=at, text="What is it, in a hundred words?"))
    live.begin_reply(number, at)
    for word in range(100):
        live.feed(f"word {word} ")
    text, usage = live.reply_text, Usage(input=10, output=200)
    live.finish(Reply(number=number, at=at, text=text, usage=usage))
    took = 1000 * (time.perf_counter() - started)
    assert live.is_saved
    return took


def savings(folder: Path, files: Files) -> tuple[list[float], list[float]]:
    """Return the milliseconds to save each exchange after the first, and from exchange 500 on."""
    sessions = SessionManager(folder, files=files)
    new, old = (sessions.begin(agent="Assistant", model=QUIET) for _ in range(2))
    for _ in range(FAR - 1):
        save(old)
    save(new)
    pairs = [(save(new), save(old)) for _ in range(SAVED)]
    for live in (new, old):
        live.close()
    return [near for near, _ in pairs], [far for _, far in pairs]


def add_requests(results: Results, name: str, turns: list[Turn], home: Path, goal: float) -> None:
    """Record the times from Enter to the request, with the time of the disk's syncs and without."""
    syncs = [each.syncs(home) for each in turns]
    times = [each.milliseconds for each in turns]
    spent = [sum(each) for each in syncs]
    results.add(f"{name}, with the disk's syncs", times, "ms")
    results.add(f"{name}, syncs", [len(each) for each in syncs], "")
    results.add_difference(name, times, spent, "ms", at_most=goal)


def run(results: Results, settings: Settings) -> None:
    """Measure and judge."""
    starts, turns = settings.rounds or STARTS, settings.rounds or TURNS
    with tempfile.TemporaryDirectory() as name:
        for provider, model in MODELS.items():
            home = Path(name) / provider
            first = first_requests(model, home, starts)
            add_requests(
                results, f"Enter to the first request, {provider}", first, home, FIRST_GOAL
            )
            near, far = many_turns(model, home, turns)
            place = f"Enter to the request, exchange {FAR}, {provider}"
            add_requests(
                results, f"Enter to the request, warm, {provider}", near, home / "near", WARM_GOAL
            )
            add_requests(results, place, far, home / "far", WARM_GOAL)
            memory = [memories(model, home) for _ in range(min(starts, MEMORIES))]
            warm, used = zip(*memory, strict=True)
            results.add(f"memory, SDK loaded, {provider}", warm, "MiB", at_most=SDK_GOAL)
            what = f"memory after {FEW_TURNS} turns, {provider}"
            results.add(what, used, "MiB", at_most=USED_GOALS[provider])
        for model in (QUIET, *MODELS.values()):
            keys = echoes(model, Path(name) / "echo", starts)
            results.add(f"key to echo while loading, {model}", keys, "ms")
        for kind, files in (("", Files()), (" without the disk's syncs", Unsynced())):
            fresh, old = savings(Path(name) / f"saving{kind}", files)
            results.add(f"saving an exchange{kind}", fresh, "ms")
            results.add(f"saving exchange {FAR}{kind}", old, "ms")
            what = f"saving{kind}, exchange {FAR} / exchange {NEAR}"
            results.add_ratio(what, old, fresh, at_most=SAVING_GOAL)
