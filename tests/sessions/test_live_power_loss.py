"""Power loss at every file-system call: everything acknowledged is kept."""

from __future__ import annotations

import asyncio
import os
import re
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from chat_loop.errors import SessionError
from chat_loop.events import Event, TextDelta
from chat_loop.sessions.live import SYNC_SECONDS
from chat_loop.sessions.manager import SessionManager
from chat_loop.sessions.organizing import remove_leftovers
from chat_loop.sessions.records import Query, Reply
from tests.support.disk import Disk, Tree
from tests.support.scenarios import (
    SCENARIOS,
    STORED,
    Fact,
    Run,
    Scenario,
    before,
    facts,
    facts_in,
    facts_of_tree,
    texts,
)
from tests.support.scripted_chat import START, SUMMARY, Talk

TORN_ESCAPE = re.compile(r"\\(<!?-?)?\Z")
"""The beginning of an escaped line that is cut off too early to be recognized."""


def _pass() -> None:
    """Check nothing."""


class PowerLoss(Run):
    """A conversation on a disk that may lose power after any act."""

    def __init__(self, root: Path, *, fail_at: int = 0) -> None:
        self.root = root
        before(root / "disk" / "sessions")
        watch = _pass if fail_at else self.check  # words that a disk refused may be lost
        self.disk = Disk(root / "disk", watch, fail_at=fail_at)
        self.without_note = b"\n" if fail_at else b""
        """The content that stands for a missing note of the current session. If a call is made to
        fail, the note may be missing, because writing it is not tried again.
        """
        self.shown: list[tuple[float, int]] = []
        """When each piece of the streaming reply was shown, and the reply's length with it."""
        self.trees = 0
        self._facts: dict[tuple[str, bytes], set[Fact]] = {}
        self._checked: set[tuple[frozenset[tuple[str, bytes]], int, int]] = set()
        super().__init__(root / "disk" / "sessions", self.disk)
        self.acknowledged = facts_in(self.folder)
        self.words += ["first", "Hello", f"About {STORED.header.id}", "So."]

    def acknowledge(self, *others: Fact) -> None:
        self.shown.clear()
        super().acknowledge(*others)
        if not self.disk.fail_at:
            self.check()

    def check(self) -> None:
        """Check every tree of files that a power failure could leave now."""
        assert self.disk.unseen() == [], "every act on the sessions folder goes through Files"
        for tree in self.disk.trees():
            self._check(tree, torn=True)
        for tree in self.disk.reordered():
            self._check(tree, torn=False)

    def _shown(self, event: Event) -> None:
        super()._shown(event)
        if isinstance(event, TextDelta):
            clock = self.talk.clock
            before = self.shown[-1][1] if self.shown else 0
            self.shown.append((clock.seconds, before + len(event.text)))
            clock.seconds += SYNC_SECONDS / 3

    def _check(self, tree: Tree, *, torn: bool) -> None:
        key = (frozenset(tree.items()), len(self.acknowledged), len(self.shown))
        if key in self._checked:
            return
        self._checked.add(key)
        self.trees += 1
        below = {name.removeprefix("sessions/"): data for name, data in tree.items()}
        found = facts_of_tree(below, lambda name, data: self._read(name, data, torn=torn))
        assert self.acknowledged <= found, "what was acknowledged is lost"
        if torn and any(fact[1].startswith("sally_20261121") for fact in self.acknowledged):
            assert below.get(".current", self.without_note).endswith(b"\n")
        self._check_stream(found)

    def _check_stream(self, found: set[Fact]) -> None:
        """Check that a piece is safe once another one comes two or more seconds after it."""
        now = self.talk.clock.seconds
        old = [length for at, length in self.shown[:-1] if at <= now - 4 / 3 * SYNC_SECONDS]
        kept = [len(fact[2]) for fact in found if fact[0] == "reply"]
        assert not old or max(kept, default=0) >= old[-1], "words older than two seconds are lost"

    def _read(self, name: str, data: bytes, *, torn: bool) -> set[Fact]:
        """Read a file of a tree with the real reader. If `torn`, no byte in it may be wrong."""
        if (name, data) in self._facts:
            return self._facts[name, data]
        path = self.root / "found" / Path(name).name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(data)
        try:
            loaded = SessionManager(path.parent).load(path)
        except SessionError:
            return self._facts.setdefault((name, data), set())
        if torn:
            for entry in loaded.session.entries:
                if isinstance(entry, Query | Reply):
                    text = TORN_ESCAPE.sub(r"\1", entry.text).rstrip("\n")
                    assert any(words.startswith(text) for words in self.words), entry
        return self._facts.setdefault((name, data), facts(loaded.session))


async def power_loss(scenario: Scenario, root: Path, fail_at: int = 0) -> PowerLoss:
    """Run a scenario on a disk that may lose power or, if `fail_at` is set, fails at that act."""
    one = PowerLoss(root, fail_at=fail_at)
    for step in scenario.steps:
        await step(one)
    return one


STATES = {
    "chat": 750,
    "stream": 1100,
    "compact": 1250,
    "seal": 380,
    "resume": 450,
    "fork": 1150,
    "undo": 720,
    "rename": 680,
    "import": 670,
    "index": 380,
    "trash": 480,
    "attachments": 1150,
}
"""The least number of different disk states that each scenario must open."""
by_scenario = pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.name)


@pytest.mark.slow
@by_scenario
def test_what_was_acknowledged_survives_a_power_loss_at_every_call(
    tmp_path: Path, scenario: Scenario
) -> None:
    async def run() -> None:
        one = await power_loss(scenario, tmp_path)
        one.talk.conversation.close()
        one.check()
        kinds = {fact[0] for fact in one.acknowledged - facts_in_start}
        assert kinds >= scenario.kinds
        assert one.disk.acts > 8
        assert one.trees >= STATES[scenario.name]

    before(tmp_path / "start")
    facts_in_start = facts_in(tmp_path / "start")
    asyncio.run(run())


@pytest.mark.parametrize(
    "scenario",
    [
        pytest.param(scenario, marks=[pytest.mark.slow] * (scenario.name != "chat"))
        for scenario in SCENARIOS
        if scenario.name in ("chat", "stream", "undo")
    ],
    ids=lambda scenario: scenario.name,
)
def test_a_disk_that_is_full_for_one_call_leaves_no_hole(
    tmp_path: Path, scenario: Scenario
) -> None:
    """Each call fails once, in its own run. In the end everything is on the disk."""

    async def run() -> None:
        whole = await power_loss(scenario, tmp_path / "0")
        acts = whole.disk.acts
        whole.talk.conversation.close()
        for number in range(1, acts + 1):
            one = await power_loss(scenario, tmp_path / str(number), number)
            live = one.talk.conversation.live
            one.talk.conversation.close()  # the last call may be the one that failed
            one.check()
            assert one.disk.failures == 1, number
            assert live.is_saved
            found = SessionManager(one.folder).load(live.path).session
            assert texts(found) == texts(whole.talk.conversation.session)
            assert one.acknowledged <= facts_in(one.folder)

    asyncio.run(run())


def test_what_was_put_into_a_new_file_is_safe_there(tmp_path: Path) -> None:
    """Another program emptied the file, so the conversation goes on in a new one."""

    async def run() -> None:
        talk = Talk(tmp_path, "Hello", "Again", files=(disk := Disk(tmp_path)))
        await talk.conversation.ask("first")
        talk.path.write_bytes(b"")
        await talk.conversation.ask("second")
        trees = [*disk.trees()]
        assert len(trees) > 1
        for tree in trees:
            path = tmp_path / "found.md"
            path.write_bytes(tree[talk.path.name])
            found = SessionManager(tmp_path).load(path).session
            assert texts(found) == [("first", "Hello"), ("second", "Again")]
        talk.conversation.close()

    asyncio.run(run())


def test_the_first_entry_of_a_new_file_is_safe_with_its_name(tmp_path: Path) -> None:
    """It does not depend on a later sync of the folder, such as the one for the current session."""
    disk = Disk(tmp_path)
    live = SessionManager(tmp_path / "sessions", files=disk).begin(agent="Sally")
    live.add(Query(number=1, at=START, text="first"))
    assert live.is_saved
    name = f"sessions/{live.path.name}"
    assert all(b"** first\n" in tree[name] for tree in disk.trees())
    live.close()


def test_the_lock_is_taken_again_when_the_folder_was_removed(tmp_path: Path) -> None:
    """Otherwise the session's temporary files would look like those of a killed process."""
    folder = tmp_path / "sessions"

    async def run() -> None:
        talk = Talk(folder, "Hello", "Again")
        await talk.conversation.ask("first")
        shutil.rmtree(folder)
        await talk.conversation.ask("second")
        temporary = folder / f".{talk.path.name}.0123456789ab.tmp"
        temporary.write_bytes(b"")
        remove_leftovers(SessionManager(folder))
        assert temporary.exists()
        talk.conversation.close()
        remove_leftovers(SessionManager(folder))
        assert not temporary.exists()

    asyncio.run(run())


Call = tuple[str, str, int]
"""A call of the process on a file: the event, the path (or the inode), and the flags or mode."""
_calls: list[Call] | None = None


def _heard(event: str, arguments: tuple[object, ...]) -> None:
    if _calls is not None and event in ("open", "os.chmod", "os.mkdir"):
        path, number = arguments[0], arguments[2 if event == "open" else 1]
        if isinstance(path, int):
            if event == "open":
                return  # only wraps a descriptor that is already open
            path = os.fstat(path).st_ino
        path = str(path)
        _calls.append((event, path, number if isinstance(number, int) else -1))


sys.addaudithook(_heard)


@contextmanager
def calls_below(folder: Path) -> Iterator[list[Call]]:
    """Collect the calls of this process on the files of `folder`."""
    global _calls  # noqa: PLW0603  # an audit hook cannot be removed
    heard: list[Call] = []
    _calls = heard
    try:
        yield heard
    finally:
        _calls = None
        paths = {str(path.stat().st_ino): str(path) for path in folder.rglob("*")}
        heard[:] = [(event, paths.get(path, path), number) for event, path, number in heard]
        heard[:] = [call for call in heard if call[1].startswith(str(folder))]


def test_files_are_private_from_their_first_moment_and_no_link_is_followed(tmp_path: Path) -> None:
    """Every file is created with its mode, whatever the umask is. If the mode were set later,
    others could open the file before that.
    """
    before = os.umask(0)
    try:
        with calls_below(tmp_path) as calls:
            talk = Talk(tmp_path / "sessions", "Hello", SUMMARY, "Understood.", "Again", SUMMARY)

            async def run() -> None:
                await talk.conversation.ask("first")
                assert await talk.conversation.compact()
                await talk.conversation.ask("second")
                await talk.conversation.end()

            asyncio.run(run())
            talk.conversation.close()
            for path in (tmp_path / "sessions").glob("*.md"):
                talk.sessions.load(path)
    finally:
        os.umask(before)
    assert [call for call in calls if call[0] == "os.chmod" and ".locks" not in call[1]] == []
    modes = {path: path.stat().st_mode & 0o777 for path in (tmp_path / "sessions").rglob("*")}
    assert all(mode == (0o700 if path.is_dir() else 0o600) for path, mode in modes.items()), modes
    opened = [(path, flags) for event, path, flags in calls if event == "open"]
    files = [
        (path, flags)
        for path, flags in opened
        if ".locks" not in path and ".index" not in path and Path(path).is_file()
    ]
    assert len(files) > 4
    assert all(flags & os.O_NOFOLLOW and flags & os.O_CLOEXEC for _, flags in files), files


def test_a_link_in_the_place_of_a_session_is_not_followed(tmp_path: Path) -> None:
    """Neither a read nor a write follows the link."""
    folder, elsewhere = tmp_path / "sessions", tmp_path / "elsewhere.md"

    async def run() -> None:
        talk = Talk(folder, "Hello", "Again")
        await talk.conversation.ask("first")
        elsewhere.write_bytes(talk.path.read_bytes())
        before, path = elsewhere.read_bytes(), talk.path
        path.unlink()
        path.symlink_to(elsewhere)
        await talk.conversation.ask("second")
        assert elsewhere.read_bytes() == before
        assert talk.path != path
        with pytest.raises(SessionError, match="symbolic link"):
            talk.sessions.load(path)
        assert texts(talk.sessions.load(talk.path).session) == [
            ("first", "Hello"),
            ("second", "Again"),
        ]
        talk.conversation.close()

    asyncio.run(run())
