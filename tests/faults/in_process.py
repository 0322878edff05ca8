"""Fault trials in this process: a random conversation on a file layer that fails at one operation.

The number and the seed of a trial determine everything about it.
"""

from __future__ import annotations

import asyncio
import errno
import os
import shutil
import tempfile
import traceback
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path
from random import Random

from chat_loop.errors import (
    AuthenticationFailed,
    ChatLoopError,
    Overloaded,
    ProviderError,
    RequestRejected,
    StreamBroken,
    TimedOut,
)
from chat_loop.sessions.files import Files
from tests.faults.outcome import Outcome
from tests.faults.recovery import problem_after
from tests.support import scenarios
from tests.support.disturbances import OLD, UNNOTICED, WAYS
from tests.support.scenarios import Run, before, facts, facts_in
from tests.support.scripted_chat import Says

SECONDS = 60  # after this time a trial counts as hung
REFUSALS = ("ENOSPC", "EIO", "EDQUOT", "EROFS")
FILE_FAULTS = (
    *(f"{name} {often}" for name in REFUSALS for often in ("once", "from then on")),
    "short write",
    "half a write, then ENOSPC",
    "kill before",
    "kill after",
    "kill in a write",
    "Ctrl-C",
)
FAULTS = (*FILE_FAULTS, "fault of the server", "disturbed file")
STEPS: tuple[Callable[[Run], Awaitable[None]], ...] = (
    scenarios.ask,
    scenarios.ask,
    scenarios.ask_at_length,
    scenarios.pin,
    scenarios.name,
    scenarios.tag,
    scenarios.undo,
    scenarios.compact,
    scenarios.fork,
    scenarios.leave,
    scenarios.resume,
    scenarios.describe_stored,
    scenarios.import_sessions,
    scenarios.trash,
    scenarios.attach,
)


class FaultyFiles(Files):
    """Files that fail at operation number `at`. Nothing is synced, as no power failure occurs."""

    run: Run

    def __init__(self, fault: str, at: int) -> None:
        self.fault, self.at = fault, at
        self.acts = 0
        self.injected = self.killed = False

    def make_directory(self, path: Path) -> None:
        self._act(lambda: super(FaultyFiles, self).make_directory(path))

    def create(self, path: Path) -> int:
        return self._act(lambda: super(FaultyFiles, self).create(path))

    def append_to(self, path: Path) -> int:
        return self._act(lambda: super(FaultyFiles, self).append_to(path))

    def write(self, descriptor: int, data: bytes) -> int:
        def half() -> int:
            return super(FaultyFiles, self).write(descriptor, data[: max(1, len(data) // 2)])

        return self._act(lambda: super(FaultyFiles, self).write(descriptor, data), half)

    def sync(self, descriptor: int) -> None:
        self._act(lambda: None)

    def sync_directory(self, path: Path) -> None:
        self._act(lambda: None)

    def rename(self, source: Path, target: Path) -> None:
        self._act(lambda: super(FaultyFiles, self).rename(source, target))

    def remove(self, path: Path) -> None:
        self._act(lambda: super(FaultyFiles, self).remove(path))

    def _act(self, act: Callable[[], int | None], half: Callable[[], int] | None = None) -> int:
        """Do an operation, or fail at it. `half` does half of a write."""
        if self.killed:  # the process is gone, so nothing reaches the disk any more
            raise OSError(errno.EIO, "The process was killed")
        self.acts += 1
        name, _, often = self.fault.partition(" ")
        is_due = self.acts == self.at
        if name in REFUSALS and (is_due or (often == "from then on" and self.acts > self.at)):
            self.injected = True
            raise OSError(getattr(errno, name), os.strerror(getattr(errno, name)))
        if not is_due or self.fault not in FILE_FAULTS:
            return act() or 0
        if half is None and "write" in self.fault:
            self.at += 1  # the next operation may be a write
            return act() or 0
        self.injected = True
        return self._fail(act, half or act)

    def _fail(self, act: Callable[[], int | None], half: Callable[[], int | None]) -> int:
        match self.fault:
            case "short write":
                return half() or 0
            case "half a write, then ENOSPC":
                half()
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            case "Ctrl-C":
                task = self.run.task
                self.injected = task is not None and not task.done()
                if task is not None and self.injected:
                    task.get_loop().call_soon_threadsafe(task.cancel)
                return act() or 0
            case "kill in a write":
                half()
            case "kill after":
                act()
        self.killed = True
        raise OSError(errno.EIO, "The process was killed")


ELSEWHERE = ("folder gone", "another volume in place", "exchange removed", UNNOTICED)
NOTICED = [way for way in WAYS if way.name not in ELSEWHERE]
"""The ways that work on every file and that the next message notices."""
SERVER = (
    lambda: Says(("Half a ", "reply"), then=StreamBroken("The connection ended.")),
    lambda: Says((), then=Overloaded("The server is overloaded.")),
    lambda: Says(("Half",), then=TimedOut("Nothing came.")),
    lambda: Says((), then=AuthenticationFailed("The key is wrong.")),
    lambda: Says((), then=RequestRejected("Refused.")),
    lambda: Says(("Much ", "of it"), then="length"),
    lambda: Says(("No",), then="refusal"),
    lambda: Says(("Half a ", "reply"), then="silence"),
    lambda: Says(("<!-- chat:end -->\n",), then=StreamBroken("The connection ended.")),
)


async def _ask_a_faulty_server(run: Run, chance: Random) -> None:
    """Ask while the server fails: the reply breaks off, fails, is cut short, or never ends."""
    step = chance.choice(SERVER)()
    asking = run.ask(f"Query {run.next}", step)
    if step.then == "silence":
        await run.talk.interrupt(asking)
    else:
        with suppress(ProviderError):
            await asking
    run.acknowledge()


async def _converse(run: Run, files: FaultyFiles, chance: Random) -> None:
    """Take random steps, one of which may be the fault."""
    steps = [scenarios.ask, *chance.choices(STEPS, k=chance.randint(2, 5)), scenarios.ask]
    place = chance.randrange(1, len(steps))
    for number, step in enumerate(steps):
        if number == place and files.fault == "fault of the server":
            await _ask_a_faulty_server(run, chance)
            files.injected = True
        elif number == place and files.fault == "disturbed file":
            files.injected = _disturb(run, chance)
        run.task = asyncio.ensure_future(step(run))
        try:
            await run.task
        except ChatLoopError as error:
            run.told.append(error.message)
        except asyncio.CancelledError:
            assert files.fault == "Ctrl-C"
        if files.killed:
            return


def _disturb(run: Run, chance: Random) -> bool:
    """Disturb the live session's file, whose facts may then be in any file."""
    path = run.talk.path
    if not path.is_file():
        return False
    old = run.folder.parent / OLD
    old.write_bytes(path.read_bytes()[: chance.randrange(path.stat().st_size)])
    way = chance.choice(NOTICED)
    way.act(path, old)
    run.disturbed = path.stem
    return True


def trial(seed: int, number: int) -> Outcome:
    """Run a trial. If it ends before its fault occurs, repeat it with an earlier fault."""
    fault = FAULTS[number % len(FAULTS)]
    chance = Random(f"{seed}:{number}")
    at, plan = chance.randint(1, 60), chance.random()
    for _ in range(8):
        outcome, acts = _trial(seed, number, fault, at, Random(plan))
        if outcome.injected or outcome.failure.count(":"):
            return outcome
        at, plan = chance.randint(1, max(1, acts)), chance.random()
    return outcome


def _trial(seed: int, number: int, fault: str, at: int, chance: Random) -> tuple[Outcome, int]:
    outcome = Outcome(number, fault)
    base = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    root = Path(tempfile.mkdtemp(prefix="chat-loop-fault-", dir=base))
    before(root / "sessions")
    files = FaultyFiles(fault, at)
    run = files.run = Run(root / "sessions", files)
    try:
        run.acknowledged = facts_in(run.folder)
        try:
            asyncio.run(asyncio.wait_for(_converse(run, files, chance), SECONDS))
            run.talk.conversation.close()
            outcome.loss = _loss(run, files)
        except TimeoutError:
            outcome.hang = f"in {SECONDS} s"
        except Exception:  # noqa: BLE001 - it is the finding
            outcome.traceback = traceback.format_exc()[-1500:]
        finally:
            run.talk.conversation.close()
    finally:
        shutil.rmtree(root, ignore_errors=True)
    outcome.injected = files.injected
    return outcome, files.acts


def _loss(run: Run, files: FaultyFiles) -> str:
    """Return the facts that are missing on disk, or after a kill, the problem of the next start."""
    live, found = run.talk.conversation.live, facts_in(run.folder)
    missing = run.acknowledged - found
    if run.disturbed:  # the whole session may be in another file now
        anywhere = {(kind, *rest) for kind, _, *rest in found}
        missing = {
            fact
            for fact in missing
            if fact[1] != run.disturbed or (fact[0], *fact[2:]) not in anywhere
        }
    if not files.killed and not live.is_empty:
        if live.is_saved:
            missing |= facts(live.session) - found
        elif not run.told:
            return "it was not saved, and nobody was told"
    if missing:
        return str(sorted(missing))[:600]
    return problem_after(run.folder) if files.killed else ""
