"""Copies of sessions that sync tools leave. A copy with words of its own becomes a branch."""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest
from msgspec.structs import replace

from chat_loop.sessions.copies import adopt_conflict_copies
from chat_loop.sessions.files import Files, take_lock
from chat_loop.sessions.manager import SessionManager
from chat_loop.sessions.records import Query, Reply, Session
from chat_loop.sessions.writer import render
from tests.support.headless import run
from tests.support.saved_sessions import FIRST, SECOND, at, put, used
from tests.support.screens import Screen

ID = SECOND.header.id
NAMES = (
    f"{ID} (conflicted copy 2026-11-23).md",
    f"{ID}.sync-conflict-20261123-101112-ABC.md",
    f"{ID} 2.md",
)


class NoRename(Files):
    """A disk that is mounted read-only."""

    def rename(self, source: Path, target: Path) -> None:
        raise OSError(errno.EROFS, "Read-only file system")


def with_answer(words: str) -> Session:
    """Return SECOND as it was before it ended, with one more exchange."""
    number = SECOND.totals.queries + 1
    more = Query(number=number, at=at(11, 3), text="On the other machine?")
    reply = Reply(number=number, at=at(11, 3, 1), text=words)
    return replace(SECOND, entries=(*SECOND.entries, more, reply), seal=None)


def copied(folder: Path, name: str, session: Session | None = None) -> Path:
    """Leave a copy as a sync tool does, dated in the past so that it is no longer written to."""
    path = folder / name
    path.write_bytes(render(session or with_answer("Yes.")))
    used(path, at(11, 4))
    return path


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.glob("*.md")}


def take_in(folder: Path) -> list[str]:
    return adopt_conflict_copies(SessionManager(folder))


def test_each_copy_with_words_of_its_own_becomes_a_session(tmp_path: Path) -> None:
    first, second = put(tmp_path, FIRST, SECOND)
    original = second.read_bytes()
    contents = {
        copied(tmp_path, name, with_answer(name)).read_bytes(): name for name in sorted(NAMES)
    }
    told = take_in(tmp_path)
    assert told == [
        f"Added a copy that a sync tool left: {name} is session {ID}_{number} now."
        for number, name in enumerate(sorted(NAMES), 2)
    ]
    assert names(tmp_path) == {first.name, second.name, *(f"{ID}_{n}.md" for n in (2, 3, 4))}
    assert {(tmp_path / f"{ID}_{n}.md").read_bytes() for n in (2, 3, 4)} == {*contents}
    assert second.read_bytes() == original
    header = SessionManager(tmp_path).load(tmp_path / f"{ID}_2.md").session.header
    assert (header.id, header.parent) == (f"{ID}_2", FIRST.header.id)
    assert take_in(tmp_path) == []


def test_a_copy_whose_original_is_gone_gets_its_name(tmp_path: Path) -> None:
    copied(tmp_path, NAMES[2])
    assert take_in(tmp_path)[0].endswith(f"{NAMES[2]} is session {ID} now.")
    assert names(tmp_path) == {f"{ID}.md"}


@pytest.mark.parametrize(
    "older",
    [
        lambda data: data,
        lambda data: data[: len(data) // 2],
        lambda data: render(replace(SECOND, seal=None)),
        lambda data: render(replace(SECOND, entries=SECOND.entries[:1], seal=None)),
        lambda data: render(replace(SECOND, seal=None))[:-40],
    ],
    ids=["the same", "half of it", "not ended yet", "first query only", "half a reply"],
)
def test_a_copy_without_anything_new_stays(older: Callable[[bytes], bytes], tmp_path: Path) -> None:
    _, path = put(tmp_path, FIRST, SECOND)
    copy = tmp_path / NAMES[0]
    copy.write_bytes(older(path.read_bytes()))
    used(copy, at(11, 4))
    before = copy.read_bytes()
    assert take_in(tmp_path) == []
    assert copy.read_bytes() == before


def test_what_the_other_machine_took_in_already_stays(tmp_path: Path) -> None:
    put(tmp_path, FIRST, SECOND)
    path = copied(tmp_path, NAMES[0])
    shutil.copy(path, tmp_path / f"{ID}_2.md")
    assert take_in(tmp_path) == []
    assert path.exists()


def test_another_summary_is_something_new(tmp_path: Path) -> None:
    put(tmp_path, FIRST, SECOND)
    assert SECOND.seal is not None
    seal = replace(SECOND.seal, at=SECOND.seal.at + timedelta(days=1))
    copied(tmp_path, NAMES[0], replace(SECOND, seal=seal))
    assert take_in(tmp_path)


def test_a_file_that_may_still_be_written_stays(tmp_path: Path) -> None:
    path = copied(tmp_path, NAMES[0])
    sessions = SessionManager(tmp_path, now=lambda: at(11, 5))
    for seconds in (4, -4):
        used(path, at(11, 5, seconds))
        assert adopt_conflict_copies(sessions) == []
    for seconds in (-5, 5):  # the other machine's clock may be ahead
        used(copied(tmp_path, NAMES[0], with_answer(f"{seconds}")), at(11, 5, seconds))
        assert adopt_conflict_copies(sessions)


def test_nothing_is_renamed_where_nothing_is_saved(tmp_path: Path) -> None:
    copied(tmp_path, NAMES[0])
    assert adopt_conflict_copies(SessionManager(tmp_path, saves=False)) == []
    assert [path.name for path in tmp_path.iterdir()] == [NAMES[0]]


def test_an_id_that_another_process_is_about_to_use_is_passed_over(tmp_path: Path) -> None:
    put(tmp_path, FIRST, SECOND)
    copied(tmp_path, NAMES[0])
    locks = [take_lock(tmp_path, identity) for identity in (ID, f"{ID}_2")]
    assert take_in(tmp_path)[0].endswith(f" is session {ID}_3 now.")
    for lock in locks:
        lock.close()


def test_nothing_is_overwritten_not_even_a_link_to_nowhere(tmp_path: Path) -> None:
    (tmp_path / f"{ID}.md").symlink_to("nowhere")
    (tmp_path / f"{ID}_2.md").mkdir()
    os.mkfifo(tmp_path / f"{ID}_3.md")
    (tmp_path / f"{ID}_4.md").write_bytes(b"notes")
    copied(tmp_path, NAMES[0])
    assert take_in(tmp_path)[0].endswith(f" is session {ID}_5 now.")
    assert (tmp_path / f"{ID}.md").readlink() == Path("nowhere")
    assert (tmp_path / f"{ID}_4.md").read_bytes() == b"notes"


def test_hostile_files_stay_as_they_are(tmp_path: Path) -> None:
    outside = copied(tmp_path, "outside")
    folder = tmp_path / "sessions"
    folder.mkdir()
    (folder / "a link.md").symlink_to(outside)
    (folder / "a folder.md").mkdir()
    os.mkfifo(folder / "a pipe.md")
    text = render(SECOND)
    assert text.count(f" id={ID} ".encode()) == 1
    for number, identity in enumerate(("../../up", "a/b", ".hidden", "x" * 65, "é", "")):
        data = text.replace(f" id={ID} ".encode(), f" id={identity} ".encode())
        (folder / f"copy {number}.md").write_bytes(data)
    (folder / "my notes.md").write_bytes(b"# Notes\n" + text)
    (folder / "zeros 2.md").write_bytes(bytes(100))
    (folder / "first line only 2.md").write_bytes(text[:20])
    for path in folder.iterdir():
        used(path, at(11, 4)) if path.is_file() else None
    before = sorted(folder.iterdir())
    assert take_in(folder) == []
    assert sorted(folder.iterdir()) == before
    assert not (tmp_path / "up.md").exists()


def test_a_name_is_shown_without_what_a_terminal_obeys(tmp_path: Path) -> None:
    copied(tmp_path, os.fsdecode(b"a\x1b[2J\n\xff copy.md"))
    [told] = take_in(tmp_path)
    assert "a⟦U+001B⟧[2J⟦U+000A⟧⟦U+DCFF⟧ copy.md is session" in told


def test_a_long_name_and_a_long_id(tmp_path: Path) -> None:
    identity = "x" * 64
    session = replace(SECOND, header=replace(SECOND.header, id=identity))
    put(tmp_path, session)
    longer = replace(session, entries=with_answer("Yes.").entries, seal=None)
    copied(tmp_path, f"{identity} {'y' * 180}.md", longer)
    [told] = take_in(tmp_path)
    assert told.endswith(f" is session {'x' * 62}_2 now.")
    assert len(told) < 260


def test_a_disk_that_refuses_leaves_the_copy(tmp_path: Path) -> None:
    path = copied(tmp_path, NAMES[0])
    assert adopt_conflict_copies(SessionManager(tmp_path, files=NoRename())) == []
    assert path.exists()


def test_the_list_and_the_tree_show_the_copy_as_a_branch(tmp_path: Path) -> None:
    folder = tmp_path / "sessions"
    put(folder, FIRST, SECOND)
    copied(folder, NAMES[1])
    (folder / "my notes.md").write_bytes(b"# Notes")
    listed = run(tmp_path, "sessions", "list", "--unfold")
    told = f"Added a copy that a sync tool left: {NAMES[1]} is session {ID}_2 now."
    first, second = listed.stderr.decode().splitlines()
    assert first == told
    assert second.startswith("1 file not listed: my notes.md. ")
    assert run(tmp_path, "sessions", "list").stderr.decode().splitlines() == [second]
    shown = Screen(folder, ["/resume " + ID + "_2 --quick", "/tree"]).text
    assert "├─●" in shown
    assert "└─●" in shown


def test_the_list_in_a_chat_takes_copies_in(tmp_path: Path) -> None:
    put(tmp_path, FIRST, SECOND)
    copied(tmp_path, NAMES[2])
    shown = " ".join(Screen(tmp_path, ["/sessions", "/sessions"]).text.split())
    assert shown.count(f"{NAMES[2]} is session {ID}_2 now.") == 1
