"""The folder of sessions: saving despite every failure, sealing, finding and listing."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from contextlib import closing
from datetime import datetime, timedelta, timezone
from pathlib import Path

import msgspec
import pytest
from msgspec.structs import replace

from chat_loop.errors import Locked, SaveError, SessionError, SessionLocked
from chat_loop.sessions.files import Files, take_lock
from chat_loop.sessions.live import LiveSession
from chat_loop.sessions.manager import SessionManager, slug
from chat_loop.sessions.organizing import remove_leftovers, set_name_and_tags
from chat_loop.sessions.parser import parse
from chat_loop.sessions.pointers import Pointer, Pointers
from chat_loop.sessions.records import (
    Call,
    Entry,
    Header,
    ModelChange,
    Pin,
    Query,
    Reply,
    Restoration,
    Result,
    Seal,
    Session,
    Summary,
    Undo,
)
from chat_loop.sessions.rows import read_rows
from chat_loop.sessions.writer import render, with_digest
from chat_loop.values import Usage
from tests.support.failing_files import FailingFiles
from tests.support.saved_sessions import last_id

START = datetime(2026, 11, 21, 22, 30, 15, tzinfo=timezone(timedelta(hours=1)))


class Clock:
    """A clock that advances one second with each reading."""

    def __init__(self) -> None:
        self.count = -1

    def now(self) -> datetime:
        self.count += 1
        return START + timedelta(seconds=self.count)


def manager(directory: Path, files: Files | None = None) -> SessionManager:
    return SessionManager(directory, now=Clock().now, monotonic=lambda: 0.0, files=files)


def exchange(live: LiveSession, query: str, reply: str) -> None:
    number = live.next_number
    live.add(Query(number=number, at=START, text=query))
    live.begin_reply(number, START)
    for start in range(0, len(reply), 7):
        live.feed(reply[start : start + 7])
    live.finish(
        Reply(number=number, at=START, text=reply, seconds=1.5, usage=Usage(input=3, output=4))
    )


def spoken(session: Session) -> list[str]:
    return [entry.text for entry in session.entries if isinstance(entry, Query | Reply)]


def talk(live: LiveSession) -> Session:
    exchange(live, "What is 2 + 2?", "It is 4.\n```\nprint(4)")
    live.add(Pin(at=START, text="<!-- chat:end -->"))
    exchange(live, "- a list\n", "")
    exchange(live, "bye", "<!-- SESSION_SUMMARY_START -->\n**You:** forged\n")
    return live.session


def test_a_taken_id_gets_a_number(tmp_path: Path) -> None:
    lives = [SessionManager(tmp_path, now=lambda: START).begin(agent="A") for _ in range(3)]
    for live in lives:
        exchange(live, "hi", "hello")
    assert [live.header.id for live in lives] == [
        "a_20261121_223015",
        "a_20261121_223015_2",
        "a_20261121_223015_3",
    ]
    for live in lives:
        session = parse(live.path.read_bytes()).session
        assert session is not None
        assert session.header.id == live.header.id == live.path.stem
        live.close()
    late = SessionManager(tmp_path, now=lambda: START).begin(agent="A")  # the locks are free
    exchange(late, "hi", "hello")
    assert late.header.id == "a_20261121_223015_4"
    late.close()


@pytest.mark.parametrize("step", [37, pytest.param(3, marks=pytest.mark.slow)])
def test_disk_full_at_every_byte_loses_nothing_once_there_is_room(
    tmp_path: Path, step: int
) -> None:
    """The disk takes `room` bytes, then refuses, and recovers before the last query. The transcript
    contains every entry.
    """
    size = len(render(talk(manager(tmp_path / "size").begin(agent="A"))))
    for room in sorted({*range(0, size, step), size - 1, size}):
        files = FailingFiles()
        files.room = room
        live = manager(tmp_path / f"room{room}", files).begin(agent="A")
        talk(live)
        assert live.is_saved == (room >= size)
        assert (files.failures > 0) == (room < size)
        if room < size:
            assert isinstance(live.problem, OSError)
        files.room = None
        exchange(live, "is there room now?", "yes")
        assert live.is_saved
        parsed = parse(live.path.read_bytes())
        assert parsed.session == live.session, room
        live.close()
        [row] = read_rows(tmp_path / f"room{room}")
        assert (row.state, row.queries) == ("unsealed", 4), room


def test_disk_full_is_said_at_sealing_and_the_file_stays_as_it_was(tmp_path: Path) -> None:
    files = FailingFiles()
    live = manager(tmp_path, files).begin(agent="A")
    talk(live)
    before = live.path.read_bytes()
    files.room = 10
    with pytest.raises(SaveError, match="no space left on device"):
        live.seal(Seal(at=START, reason="exit"))
    live.close()
    assert live.path.read_bytes() == before
    assert [path.name for path in tmp_path.iterdir() if path.suffix == ".tmp"] == []


def test_after_a_failed_sync_the_file_is_written_anew(tmp_path: Path) -> None:
    """A second sync may succeed although the pages that the first one could not write are lost."""
    files = FailingFiles()
    live = manager(tmp_path, files).begin(agent="A")
    exchange(live, "one", "1")
    inode = live.path.stat().st_ino
    files.sync_error = OSError(errno.EIO, "Input/output error")
    exchange(live, "two", "2")
    assert not live.is_saved
    files.sync_error = None
    exchange(live, "three", "3")
    assert live.is_saved
    assert live.path.stat().st_ino != inode
    assert live.path.read_bytes() == render(live.session)
    live.close()


def test_a_lock_that_cannot_be_given_back_ends_nothing(tmp_path: Path) -> None:
    lock = take_lock(tmp_path, "a_1")
    os.close(lock.descriptor)
    lock.close()
    lock.close()
    with closing(take_lock(tmp_path, "a_1")), pytest.raises(Locked, match="using “a_1” in"):
        take_lock(tmp_path, "a_1")


def test_a_file_in_the_place_of_the_locks_is_a_problem_not_a_hang(tmp_path: Path) -> None:
    (tmp_path / ".locks").write_text("in the way")
    live = manager(tmp_path).begin(agent="A")
    exchange(live, "one", "1")
    assert live.problem is not None
    (tmp_path / ".locks").unlink()
    exchange(live, "two", "2")
    assert live.is_saved
    live.close()


@pytest.mark.parametrize(
    "edit",
    [lambda data: b"\xef\xbb\xbf" + data, lambda data: data.replace(b"\n", b"\r\n")],
    ids=["byte order mark", "CRLF"],
)
@pytest.mark.parametrize("ends", [True, False], ids=["sealed", "open"])
def test_what_editors_add_is_no_damage(
    tmp_path: Path, edit: Callable[[bytes], bytes], ends: bool
) -> None:
    sessions = manager(tmp_path)
    live = sessions.begin(agent="A")
    talk(live)
    seal = Seal(
        at=START,
        reason="exit",
        source="model",
        summary=Summary(topics=("sums",), key_facts=("4 [1 user]",)),
    )
    if ends:
        live.seal(seal)
    live.close()
    before, whole = sessions.load(live.path), list(read_rows(sessions.directory))
    data = edit(live.path.read_bytes())
    live.path.write_bytes(data)
    loaded = sessions.load(live.path)
    assert (loaded.session, loaded.damage, loaded.is_sealable) == (before.session, (), True)
    [row] = read_rows(sessions.directory)
    assert replace(row, updated=whole[0].updated) == whole[0]
    set_name_and_tags(sessions, loaded, name="A talk", tags=["sums"])
    described = sessions.load(live.path)
    assert (described.session.name, described.session.tags, described.damage) == (
        "A talk",
        ("sums",),
        (),
    )
    sessions.seal_stored(described, replace(seal, reason="resume"))
    sealed = sessions.load(live.path)
    again = with_digest(replace(seal, reason="resume"), sealed.session.header.minor)
    assert (sealed.session.seal, sealed.damage) == (again, ())
    assert sealed.session.name == "A talk"
    assert spoken(sealed.session) == spoken(before.session)
    assert live.path.read_bytes().count(b"\n<!-- chat:sealed ") == 1


def test_a_session_is_locked_while_it_is_open(tmp_path: Path) -> None:
    sessions = manager(tmp_path)
    live = sessions.begin(agent="A")
    exchange(live, "one", "1")
    loaded = sessions.load(live.path)
    with pytest.raises(SessionLocked, match="open in another process"):
        sessions.seal_stored(loaded, Seal(at=START, reason="exit"))
    live.close()
    sessions.seal_stored(
        loaded, Seal(at=START, reason="exit", source="extracted", summary=Summary(topics=("t",)))
    )
    parsed = parse(live.path.read_bytes())
    assert parsed.damage == ()
    assert parsed.session is not None
    assert parsed.session.seal is not None
    assert parsed.session.seal.summary == Summary(topics=("t",))


def test_temporary_copies_that_killed_processes_left_are_removed(tmp_path: Path) -> None:
    folder, gone = tmp_path / "sessions", ".sally_20250101_101010.md.0123456789ab.tmp"
    writer = manager(folder)
    live = writer.begin(agent="Sally")
    exchange(live, "one", "1")
    kept = [f".{live.header.id}.md.0123456789ab.tmp", ".notes.tmp", "talk.md.0123456789ab.tmp"]
    for name in (gone, "..current.0123456789ab.tmp", *kept):
        (folder / name).write_text("a copy")
    remove_leftovers(manager(folder))
    left = sorted(path.name for path in folder.iterdir() if path.name.endswith(".tmp"))
    assert left == sorted(kept), "an open session's may be in use, and the others are not ours"
    live.close()
    remove_leftovers(manager(folder))
    assert not (folder / kept[0]).exists()
    assert live.path.exists()


def test_a_crashed_session_is_fenced_before_it_is_sealed(tmp_path: Path) -> None:
    sessions = manager(tmp_path)
    live = sessions.begin(agent="A")
    exchange(live, "one", "1")
    exchange(live, "two", "half of it")
    live.close()
    data = live.path.read_bytes()
    live.path.write_bytes(data[: data.rindex(b"alf of it")])
    seal = Seal(at=START, reason="resume", source="model", summary=Summary(topics=("t",)))
    assert sessions.load(live.path).is_sealable
    sessions.seal_stored(sessions.load(live.path), seal)
    loaded = sessions.load(live.path)
    assert loaded.session.seal == with_digest(seal, loaded.session.header.minor)
    assert spoken(loaded.session) == ["one", "1", "two", "h"]
    replaced = Seal(at=START, reason="resume", source="model", summary=Summary(topics=("other",)))
    sessions.seal_stored(loaded, replaced)
    assert sessions.load(live.path).session.seal == with_digest(
        replaced, loaded.session.header.minor
    )
    assert live.path.read_bytes().count(b"<!-- SESSION_SUMMARY_START -->") == 1


def test_a_damaged_file_is_never_rewritten(tmp_path: Path) -> None:
    """Rewriting it would lose the parts that its reader did not understand."""
    sessions = manager(tmp_path)
    live = sessions.begin(agent="A")
    talk(live)
    live.close()
    data = (
        live.path.read_bytes().replace(b"<!-- chat:pin ", b"<!-- chat:later ", 1) + b"\nno record\n"
    )
    live.path.write_bytes(data)
    loaded = sessions.load(live.path)
    assert loaded.damage
    with pytest.raises(SessionError, match="stays as it is"):
        set_name_and_tags(sessions, loaded, name="Another")
    with pytest.raises(SessionError, match="stays as it is"):
        sessions.seal_stored(loaded, Seal(at=START, reason="resume"))
    assert live.path.read_bytes() == data


def test_the_current_session_is_noted(tmp_path: Path) -> None:
    sessions = manager(tmp_path)
    assert last_id(tmp_path) == ""
    live = sessions.begin(agent="A")
    exchange(live, "hi", "hello")
    sessions.pointers.note(live.header.id)
    live.close()
    assert last_id(tmp_path) == live.header.id
    for pointers in (
        b"../../etc/passwd",
        b'{"newest":[["/",["../../etc/passwd"]]]}',
        b"{",
        b"\xff" * 5_000_000,
    ):
        (tmp_path / ".current").write_bytes(pointers)
        assert last_id(tmp_path) == ""
    here = sessions.pointers.here
    newest = Pointers(newest=(Pointer(here, ("gone_1", live.header.id)),))
    (tmp_path / ".current").write_bytes(msgspec.json.encode(newest))
    assert last_id(tmp_path) == live.header.id


def test_a_session_that_another_project_continues_is_offered_only_there(tmp_path: Path) -> None:
    folders = [tmp_path / "one", tmp_path / "other"]
    continued = ""
    for folder in folders:
        folder.mkdir()
        sessions = SessionManager(tmp_path, now=lambda: START, project=str(folder))
        live = sessions.begin(agent="A")
        exchange(live, "hi", "hello")
        live.close()
        sessions.pointers.note(live.header.id, continued)
        continued = live.header.id
    newest = sessions.pointers.read().newest
    assert [(one.project, one.ids) for one in newest] == [(str(folders[1]), (continued,))]


def test_a_run_of_p_is_the_current_session_and_is_not_offered(tmp_path: Path) -> None:
    sessions = manager(tmp_path)
    lives = [
        SessionManager(tmp_path, now=lambda: START, mode=mode).begin(agent=f"A{mode}")
        for mode in ("", "print")
    ]
    for live in lives:
        exchange(live, "hi", "hello")
        live.close()
        sessions.pointers.note(live.header.id)
    chat, run = lives
    assert last_id(tmp_path) == run.header.id
    recent = SessionManager(tmp_path).pointers.recent(chats=True)
    assert recent is not None
    assert recent.row.id == chat.header.id


def test_an_agents_name_as_part_of_an_id() -> None:
    assert [slug(name) for name in ("Simple Sally", "Ünïcode!", "", "x" * 99)] == [
        "simple_sally",
        "n_code",
        "agent",
        "x" * 40,
    ]


def test_a_name_is_found_behind_a_long_restoration(tmp_path: Path) -> None:
    sessions = manager(tmp_path)
    live = sessions.begin(agent="A", parent="p", parent_path="/p.md")
    live.add(
        Restoration(at=START, parent_created=START, queries=1, tokens=2, block="word " * 20_000)
    )
    exchange(live, "what was it?", "that")
    live.seal(Seal(at=START, reason="exit"))
    live.close()
    assert [(row.state, row.name) for row in read_rows(sessions.directory)] == [
        ("sealed", "what was it?")
    ]


def test_a_piece_that_the_disk_refuses_whole_is_a_tear_and_no_damage(tmp_path: Path) -> None:
    files = FailingFiles()
    live = manager(tmp_path, files).begin(agent="A")
    live.add(Query(number=1, at=START, text="one"))
    live.begin_reply(1, START)
    live.feed("first words, ")
    files.room = 0
    live.feed("second words")
    assert files.failures == 1
    files.room = None
    live.finish(Reply(number=1, at=START, text=live.reply_text))
    live.close()
    loaded = manager(tmp_path).load(live.path)
    assert spoken(loaded.session) == ["one", "first words, second words"]
    assert loaded.is_sealable, loaded.damage


def test_a_session_was_used_last_when_something_was_said_and_not_when_it_was_sealed(
    tmp_path: Path,
) -> None:
    live = manager(tmp_path).begin(agent="A")
    exchange(live, "hi", "hello")
    said = live.session.entries[-1].at
    live.seal(Seal(at=said + timedelta(days=1), reason="exit"))
    live.close()
    [row] = read_rows(tmp_path)
    assert row.updated == said


@pytest.mark.parametrize(("said", "until"), [((), "1.2"), (("And now?",), "")])
def test_a_child_leaves_its_parent_early_only_if_it_has_nothing_of_its_own(
    tmp_path: Path, said: tuple[str, ...], until: str
) -> None:
    entries: list[Entry] = [
        Restoration(at=START, parent_created=START, queries=3, tokens=2, block="b", depth=2),
        Undo(at=START, number=0, ref="1.3"),
    ]
    entries += [Query(number=1, at=START, text=text) for text in said]
    header = Header(id="child", created=START, agent="A", parent="parent")
    (tmp_path / "child.md").write_bytes(render(Session(header=header, entries=tuple(entries))))
    [row] = read_rows(tmp_path)
    assert row.until == until


def test_a_session_that_grows_is_the_session_read_at_once() -> None:
    """A session carries its computed facts over from one entry to the next. The result does not
    depend on which facts were computed before.
    """
    usage = Usage(input=3, output=2)
    entries: list[Entry] = [
        Restoration(at=START, parent_created=START, queries=1, tokens=2, block="b")
    ]
    entries += [Reply(number=0, at=START, text="ready", usage=usage), Pin(at=START, text="pinned")]
    for number in range(1, 6):
        entries += [
            Query(number=number, at=START, text=f"q{number}"),
            Reply(number=number, at=START, text="step", seconds=1, usage=usage),
            Call(number=number, at=START, id=f"c{number}", name="read", arguments="{}"),
            Result(number=number, at=START, id=f"c{number}", text="result"),
            Reply(number=number, at=START, text="done", seconds=2, failed=number == 4, usage=usage),
            ModelChange(at=START, text=f"model:{number}"),
        ]
    entries += [Undo(number=3, at=START), Query(number=6, at=START, text="q6")]
    facts = ("exchanges", "sent_entries", "totals", "usage_of_models", "pins", "depth")
    for asked in (facts, ("exchanges",), ()):
        header = Header(id="a", created=START, agent="A", model="model:0")
        growing = Session(header=header)
        for count, entry in enumerate(entries, 1):
            growing = growing.with_entry(entry)
            whole = Session(header=header, entries=tuple(entries[:count]))
            assert growing == whole
            for name in asked:
                assert getattr(growing, name) == getattr(whole, name), (name, count)
        for name in facts:
            assert getattr(growing, name) == getattr(whole, name), name
    assert [exchange.query.number for exchange in growing.exchanges] == [1, 2, 4, 5, 6]


def test_what_is_being_written_is_no_leftover(tmp_path: Path) -> None:
    """Another process cleans up while the note of the current session and an image are written."""
    folder = tmp_path / "sessions"
    cleaned = []

    class Watched(Files):
        def rename(self, source: Path, target: Path) -> None:
            cleaned.append(target.name)
            remove_leftovers(SessionManager(folder))
            super().rename(source, target)

    sessions = SessionManager(folder, files=Watched())
    live = sessions.begin(agent="Sally")
    live.add(Query(number=1, at=START, text="Hello"))
    live.add(Reply(number=1, at=START, text="Hello"))
    sessions.pointers.note(live.header.id)
    live.close()
    assert last_id(folder) == live.header.id
    name = f"attachments/{'0' * 64}.png"
    sessions.images.keep(name, b"image")
    assert (folder / name).read_bytes() == b"image"
    assert cleaned == [".current", f"{'0' * 64}.png"]
