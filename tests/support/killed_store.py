"""Two machines share a store whose server is killed again and again, to find data that is lost.

Each step runs the program on one machine (a new conversation, a continued one, a fork, a merge) and
synchronizes, while the server dies in one of its requests and comes back.
"""

from __future__ import annotations

import os
import random
import select
from pathlib import Path

from msgspec import Struct

from chat_loop.sessions.files import take_lock
from chat_loop.sessions.manager import SessionManager
from tests.support.headless import ECHO, run
from tests.support.s3_server import BUCKET
from tests.support.store_servers import StoreServer, server_of

STAGES = 4
MAX_STEPS = 12  # for each requested kill


class Losses(Struct):
    """The result of a run."""

    kills: int = 0
    said: int = 0  # queries that were answered
    sessions: int = 0
    lost: tuple[str, ...] = ()  # queries that one of the machines or the store lacks
    different: tuple[str, ...] = ()  # sessions that are not the same everywhere
    orphans: tuple[str, ...] = ()  # sessions whose parent is not there


class Home:
    """One machine: a home with the program's config."""

    def __init__(self, folder: Path, server: StoreServer) -> None:
        self.folder, self._keys = folder, server.environment()
        self.sessions = SessionManager(folder / "sessions")
        folder.mkdir()
        (folder / "config.yaml").write_text(
            f"sessions: {{store: '{server.scheme}://{BUCKET}/team'}}\n"
        )

    def run(self, *arguments: str) -> int:
        return run(self.folder, *ECHO, *arguments, keys=self._keys).returncode

    def ids(self) -> list[str]:
        return sorted(path.stem for path in self.sessions.directory.glob("*.md"))

    def contents(self) -> dict[str, bytes]:
        return {path.name: path.read_bytes() for path in self.sessions.directory.glob("*.md")}

    def finish(self) -> None:
        """Wait for the background uploads that the program started."""
        mark = f"CHAT_LOOP_HOME={self.folder}\0".encode()
        for process in Path("/proc").iterdir():
            if process.name.isdigit() and int(process.name) != os.getpid():
                _wait(process, mark)
        take_lock(self.sessions.directory, "sync", seconds=60).close()


def _wait(process: Path, mark: bytes) -> None:
    """Wait until a process ends, if its environment contains `mark`."""
    try:
        if mark not in (process / "environ").read_bytes():
            return
        descriptor = os.pidfd_open(int(process.name))
    except OSError:
        return  # it has ended
    try:
        assert select.select([descriptor], [], [], 60)[0], f"{process} does not end"
    finally:
        os.close(descriptor)


def run_kills(folder: Path, kills: int, seed: int, name: str = "s3") -> Losses:
    """Kill the server `name` `kills` times; return the losses."""
    chance, losses, words = random.Random(seed), Losses(), list[str]()
    with server_of(name, folder / "objects") as server:
        homes = [Home(folder / name, server) for name in ("here", "there")]
        for step in range(kills * MAX_STEPS):
            if losses.kills == kills:
                break
            home = chance.choice(homes)
            server.kill()
            server.start(chance.randrange(1, 25), chance.randrange(STAGES))
            _act(home, chance, f"word{seed}x{step}", words)
            home.run("sync")
            losses.kills += server.is_dead
        server.kill()
        server.start()
        for home in (*homes, *homes, *homes):
            home.finish()
            assert home.run("sync") == 0
        stored = server.objects("team/")
        texts = [b"".join(home.contents().values()) for home in homes]
        texts.append(b"".join(stored.values()))
        contents = [home.contents() for home in homes]
        names = {*contents[0], *contents[1], *(name for name in stored if name.endswith(".md"))}
        losses.said, losses.sessions = len(words), len(names)
        losses.lost = tuple(word for word in words if any(word.encode() not in t for t in texts))
        losses.different = tuple(
            sorted(
                name
                for name in names
                if not contents[0].get(name) == contents[1].get(name) == stored.get(name)
            )
        )
        losses.orphans = tuple(_orphans(homes[0]))
    return losses


def _act(home: Home, chance: random.Random, word: str, words: list[str]) -> None:
    """Send a query on one machine: in a new session, or a resumed, forked or merged one."""
    ids = home.ids()
    act = chance.choice(["begin", "resume", "resume", "fork", "merge"]) if ids else "begin"
    if act == "fork":
        home.run("sessions", "fork", chance.choice(ids))
    elif act == "merge" and len(ids) > 1:
        home.run("sessions", "merge", *chance.sample(ids, 2))
    options = ["--resume", chance.choice(home.ids())] if act != "begin" else []
    if home.run(*options, "-p", f"Say {word} again.") == 0:
        words.append(f"Say {word} again")


def _orphans(home: Home) -> list[str]:
    """Return the sessions whose parent is missing."""
    ids = home.ids()
    sessions = [home.sessions.load(home.sessions.session_file(each)).session for each in ids]
    return [
        session.header.id
        for session in sessions
        if session.header.parent and session.header.parent not in ids
    ]
