"""After `chat-loop sessions redact` and `purge`, no file of the program contains the words."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from datetime import datetime
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from chat_loop import options
from chat_loop.config import Config, Paths
from chat_loop.input.history import history_entry
from chat_loop.parts import build
from chat_loop.sessions.files import Files, take_lock
from chat_loop.sessions.manager import SessionManager
from chat_loop.sessions.parser import parse
from chat_loop.sessions.records import PURGED_PARENT, REMOVED, Change, Opaque, Query, Session
from chat_loop.sessions.writer import render
from chat_loop.subcommands import erasing
from chat_loop.subcommands.stored import StoredSessions
from tests.support.headless import run
from tests.support.saved_sessions import FIRST, OLD, OPEN, RATES, SECOND, at, put

WORD = "xylophonic"
SECRET = f"{WORD} Horse"
OLD_TEXT = f"{SECRET}\n".encode()
DIGEST = sha256(OLD_TEXT).hexdigest()


def with_secret(session: Session, *more: Any) -> Session:
    """The session with a query that names the secret, and a summary and a title that quote it."""
    number = session.totals.queries + 1
    entries = (
        *session.entries,
        Query(number=number, at=at(11, 3), text=f"It is {SECRET}.\nAgain:\n{SECRET.upper()}"),
        *more,
    )
    assert session.seal is not None
    summary = replace(session.seal.summary or RATES, key_facts=(f"The word is {SECRET}. [1 user]",))
    seal = replace(session.seal, summary=summary)
    header = replace(session.header, title=f"On {SECRET}")
    return replace(session, header=header, entries=entries, seal=seal)


def quoted(session: Session) -> Session:
    """A child whose restored block quotes the secret."""
    block = f"**Background Context:** Long.\n**Decisions Made:**\n- {SECRET} [1 user]"
    entries = (replace(session.restoration, block=block), *session.entries[1:])  # type: ignore[type-var]
    return replace(session, entries=entries)


@pytest.fixture(name="home")
def _home(tmp_path: Path) -> Path:
    """A home with a chain, its trash, old texts, a history, a log, an index, and a kill's files."""
    folder = tmp_path / "sessions"
    change = Change(number=3, at=at(11, 3), text="a.txt", written="0" * 64, replaced=DIGEST)
    parent, child = with_secret(FIRST, change), quoted(SECOND)
    put(folder, parent, child, OPEN, OLD)
    (folder / ".trash").mkdir()
    (folder / ".trash" / f"{FIRST.header.id}_2.md").write_bytes(render(parent))
    (folder / "attachments").mkdir()
    (folder / "attachments" / f"{DIGEST}.txt").write_bytes(OLD_TEXT)
    (folder / f".{FIRST.header.id}.md.0123456789ab.tmp").write_bytes(render(parent))
    (folder / ".current").write_text(f"{FIRST.header.id}\n{OPEN.header.id}\n")
    now = datetime(2026, 11, 3)
    entries = [f"It is {SECRET}.\nAgain:\n{SECRET.upper()}", "Which port?"]
    (tmp_path / "history").write_bytes(b"".join(history_entry(text, now) for text in entries))
    (tmp_path / "chat-loop.log").write_text(f"ValueError: {SECRET}\n")
    found = run(tmp_path, "sessions", "search", "--text", WORD)
    assert SECRET in found.stdout.decode()
    assert WORD.encode() in (folder / ".index.sqlite").read_bytes()
    return tmp_path


def holding(home: Path) -> list[str]:
    """The names of the files in the home that contain WORD, in upper or lower case."""
    files = (path for path in home.rglob("*") if path.is_file())
    return sorted(path.name for path in files if WORD.encode() in path.read_bytes().lower())


def check_files(home: Path) -> None:
    """Check that every session is an undamaged transcript as `render` writes it, and that no
    temporary file is left.
    """
    for path in home.rglob("*.md"):
        parsed = parse(path.read_bytes())
        assert parsed.damage == ()
        assert parsed.session is not None
        assert render(parsed.session) == path.read_bytes()
    assert not [*home.rglob("*.tmp")]


def test_a_text_is_in_no_byte_afterwards(home: Path) -> None:
    untouched = {session.header.id: render(session) for session in (OPEN, OLD)}
    done = run(home, "sessions", "redact", SECOND.header.id, SECRET.swapcase(), "--yes")
    assert (done.returncode, b"Exports, backups" in done.stderr) == (0, True), done.stderr
    assert SECRET.lower() not in (done.stdout + done.stderr).decode().lower()
    assert f"{FIRST.header.id}.md: 4 places" in done.stdout.decode()
    assert holding(home) == []
    check_files(home)
    for identity, data in untouched.items():
        assert (home / "sessions" / f"{identity}.md").read_bytes() == data
    assert b"+Which port?" in (home / "history").read_bytes()
    assert REMOVED in (home / "sessions" / f"{FIRST.header.id}.md").read_text()
    assert run(home, "sessions", "search", "--text", WORD).returncode == 1
    assert run(home, "sessions", "search", "--text", "rate", "limit").returncode == 0
    again = run(home, "sessions", "redact", SECOND.header.id, SECRET, "--yes")
    assert (again.returncode, again.stderr.decode()) == (1, "The text was not found.\n")


@pytest.mark.parametrize("text", [SECRET, "nobody said this"])
def test_what_only_a_service_can_read_goes_from_the_whole_conversation(
    home: Path, text: str
) -> None:
    """It may repeat the text in a form that nobody sees, also in sessions without the text."""
    path = home / "sessions" / f"{SECOND.header.id}.md"
    sealed = '{"encrypted": "bm90IHJlYWRhYmxl"}'
    part = Opaque(number=1, at=at(11, 4), text=sealed, model="m", endpoint="https://a.example/v1")
    path.write_bytes(render(replace(SECOND, entries=(*SECOND.entries, part))))
    assert text not in path.read_text()
    found = run(home, "sessions", "redact", SECOND.header.id, text, "--yes")
    is_gone = sealed not in path.read_text()
    assert (found.returncode == 0, is_gone) == (text == SECRET, text == SECRET)


def test_the_text_may_come_from_standard_input(home: Path) -> None:
    done = run(home, "sessions", "redact", "2", "-", "--yes", stdin=f"{SECRET}\n".encode())
    assert done.returncode == 0
    assert holding(home) == []


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("redact", "2", "xyl", "--yes"), "The text has fewer than 4 characters"),
        (("redact", "2", SECRET), "Confirmation needs a terminal."),
        (("redact", "2", "-"), "The text comes from standard input"),
        (("purge", FIRST.header.id), "Confirmation needs a terminal."),
    ],
)
def test_what_is_refused_changes_nothing(
    home: Path, arguments: tuple[str, ...], sentence: str
) -> None:
    before = {path: path.read_bytes() for path in home.rglob("*.md")}
    done = run(home, "sessions", *arguments)
    assert (done.returncode, sentence in done.stderr.decode()) == (2, True), done.stderr
    assert {path: path.read_bytes() for path in home.rglob("*.md")} == before


@pytest.mark.parametrize("identity", [FIRST.header.id, f"{FIRST.header.id}.summary"])
@pytest.mark.parametrize(
    "action", [("redact", SECOND.header.id, SECRET), ("purge", FIRST.header.id)]
)
def test_an_open_session_is_refused(home: Path, identity: str, action: tuple[str, ...]) -> None:
    before = {path: path.read_bytes() for path in home.rglob("*.md")}
    held = take_lock(home / "sessions", identity)
    done = run(home, "sessions", *action, "--yes")
    held.close()
    why = f"Session {FIRST.header.id} is open in another process."
    if identity.endswith(".summary"):
        why = f"The summary of {FIRST.header.id} is still being made."
    assert (done.returncode, why in done.stderr.decode()) == (1, True), done.stderr
    assert {path: path.read_bytes() for path in home.rglob("*.md")} == before


def test_a_damaged_file_with_the_text_is_named_and_nothing_is_removed(home: Path) -> None:
    path = home / "sessions" / f"{FIRST.header.id}.md"
    path.write_bytes(path.read_bytes() + b"\nstray\n")
    done = run(home, "sessions", "redact", FIRST.header.id, SECRET, "--yes")
    assert done.returncode == 1
    assert f"{path.name} has the text, but is damaged" in done.stderr.decode()
    assert f"{SECOND.header.id}.md" in holding(home)


def test_other_conversations_with_the_text_are_named(home: Path) -> None:
    put(home / "sessions", replace(OPEN, entries=(Query(number=1, at=at(11, 10), text=SECRET),)))
    (home / "MEMORY.md").write_text(f"- {SECRET}\n")
    done = run(home, "sessions", "redact", FIRST.header.id, SECRET, "--yes")
    assert f"The text is also in {OPEN.header.id}.md, MEMORY.md" in done.stderr.decode()
    assert f"{OPEN.header.id}.md" in holding(home)


@pytest.mark.parametrize(
    "action", [("redact", SECOND.header.id, SECRET), ("purge", FIRST.header.id)]
)
def test_a_copy_that_a_sync_tool_left_goes_as_well(home: Path, action: tuple[str, ...]) -> None:
    folder = home / "sessions"
    data = (folder / f"{FIRST.header.id}.md").read_bytes()
    (folder / f"{FIRST.header.id} (conflicted copy).md").write_bytes(data)
    (folder / "notes.md").write_text("Which port?\n")
    assert run(home, "sessions", *action, "--yes").returncode == 0
    assert holding(home) == []
    assert (folder / "notes.md").read_text() == "Which port?\n"


def test_a_purged_session_is_gone_and_its_child_opens_and_says_so(home: Path) -> None:
    done = run(home, "sessions", "purge", FIRST.header.id, "--yes")
    assert done.returncode == 0, done.stderr
    assert holding(home) == []
    check_files(home)
    assert not [*home.rglob(f"{FIRST.header.id}*.md")]
    assert not [*(home / "sessions" / "attachments").iterdir()]
    assert not [*home.rglob(".index.sqlite*")]
    child = SessionManager(home / "sessions").load(home / "sessions" / f"{SECOND.header.id}.md")
    assert child.session.restoration is not None
    assert child.session.restoration.block == PURGED_PARENT
    assert child.session.seal is not None
    assert child.session.seal.summary is None
    shown = run(home, "sessions", "show", "--show-summaries", SECOND.header.id)
    text = f"The chain ends before {FIRST.header.id}: the user removed that session."
    assert text in shown.stderr.decode()
    again = run(home, "sessions", "purge", FIRST.header.id, "--yes")
    assert (again.returncode, again.stderr.decode()) == (1, "The text was not found.\n")
    asked = run(home, "--model", "scripted:echo", "--resume", SECOND.header.id, "-p", "And now?")
    assert asked.returncode == 0, asked.stderr


def test_a_second_purge_changes_nothing(home: Path) -> None:
    identity, child = FIRST.header.id, home / "sessions" / f"{SECOND.header.id}.md"
    put(home / "sessions", replace(OLD, header=replace(OLD.header, id=f"{identity}_2")))
    assert run(home, "sessions", "purge", identity, "--yes").returncode == 0
    orphan = parse(child.read_bytes()).session
    assert orphan is not None
    assert orphan.seal is not None
    own = replace(orphan.seal, summary=RATES, source="model")
    put(home / "sessions", replace(orphan, seal=own))
    before = {path: path.read_bytes() for path in home.rglob("*.md")}
    for reference in (identity, identity[:-1], "1"):
        again = run(home, "sessions", "purge", reference, "--yes")
        assert (again.returncode, again.stderr.decode()) == (1, "The text was not found.\n")
        assert {path: path.read_bytes() for path in home.rglob("*.md")} == before


def test_an_index_in_use_is_said_and_goes_with_the_next_run(home: Path) -> None:
    index = home / "sessions" / ".index.sqlite"
    with closing(sqlite3.connect(index, isolation_level=None)) as reader:
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM sessions").fetchall()
        done = run(home, "sessions", "purge", FIRST.header.id, "--yes")
        assert (done.returncode, b"The index still has the words" in done.stderr) == (1, True)
    assert run(home, "sessions", "purge", FIRST.header.id, "--yes").returncode == 1
    assert holding(home) == []


def test_a_session_in_the_trash_can_be_purged(home: Path) -> None:
    run(home, "sessions", "trash", OLD.header.id)
    assert run(home, "sessions", "purge", OLD.header.id, "--yes").returncode == 0
    assert not [*home.rglob(f"{OLD.header.id}.md")]


class Killed(BaseException):
    """Raised at the point where the process would be killed."""


class KilledFiles(Files):
    """Files that raise Killed as soon as `calls` calls have changed the disk."""

    def __init__(self, calls: int) -> None:
        self.calls = calls

    def _count(self) -> None:
        if not self.calls:
            raise Killed
        self.calls -= 1

    def create(self, path: Path) -> int:
        self._count()
        return super().create(path)

    def write(self, descriptor: int, data: bytes) -> int:
        self._count()
        return super().write(descriptor, data)

    def rename(self, source: Path, target: Path) -> None:
        self._count()
        super().rename(source, target)

    def remove(self, path: Path) -> None:
        self._count()
        super().remove(path)


def act(home: Path, files: Files, *arguments: str) -> int:
    parsed = options.parse(["sessions", *arguments, "--yes"])
    actions = StoredSessions(
        build(parsed, Config(), Paths(home / "config.yaml", home, home), files=files)
    )
    try:
        return int(getattr(erasing, parsed.action)(actions, parsed))
    finally:
        actions.library.close()


@pytest.mark.slow
@pytest.mark.parametrize(
    "action", [("redact", SECOND.header.id, SECRET), ("purge", FIRST.header.id)]
)
def test_killed_at_any_call_it_completes_when_run_again(
    home: Path, action: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    start = {path: path.read_bytes() for path in home.rglob("*") if path.is_file()}
    for calls in range(100):
        for path in [path for path in home.rglob("*") if path.is_file()]:
            path.unlink()
        for path, data in start.items():
            path.write_bytes(data)
        try:
            act(home, KilledFiles(calls), *action)
        except Killed:
            for path in home.rglob("*.md"):
                assert parse(path.read_bytes()).damage == ()
        else:
            break
        act(home, Files(), *action)
        assert holding(home) == [], calls
    assert calls > 8
    check_files(home)


def test_the_memory_of_a_folder_above_is_named(home: Path, tmp_path: Path) -> None:
    inner = tmp_path / "project" / "app"
    (inner.parent / ".git").mkdir(parents=True)
    inner.mkdir()
    (inner / "MEMORY.md").write_text("- Tabs.\n")
    (inner.parent / "MEMORY.md").write_text(f"- {SECRET}\n")
    there = ("env", "-C", str(inner))
    done = run(home, "sessions", "redact", FIRST.header.id, SECRET, "--yes", prefix=there)
    assert "The text is also in MEMORY.md: " in done.stderr.decode()
