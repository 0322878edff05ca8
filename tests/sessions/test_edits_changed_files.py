"""Files of ended sessions that change, or cannot be changed, while the program works on them."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from chat_loop.errors import SaveError, SessionLocked
from chat_loop.sessions.copies import add_session, branch_off, contains_records_of, replace_session
from chat_loop.sessions.edits import rewrite_files
from chat_loop.sessions.erasure import Eraser, without_text
from chat_loop.sessions.manager import SessionManager
from chat_loop.sessions.organizing import set_name_and_tags
from chat_loop.sessions.parser import parse
from chat_loop.sessions.records import REMOVED, Attachment
from chat_loop.sessions.writer import render, with_digest
from tests.support.saved_sessions import FIRST, SECOND, at


def saved(folder: Path) -> tuple[SessionManager, Path]:
    sessions = SessionManager(folder)
    assert add_session(sessions, FIRST, 1.0)
    return sessions, sessions.session_file(FIRST.header.id)


def test_a_file_that_has_lost_its_header_is_not_renamed(tmp_path: Path) -> None:
    sessions, path = saved(tmp_path)
    loaded = sessions.load(path)
    path.write_bytes(b"Only words.\n")
    with pytest.raises(SaveError, match="changed and has no header any more"):
        set_name_and_tags(sessions, loaded, name="Another")
    assert path.read_bytes() == b"Only words.\n"


def test_where_nothing_is_saved_nothing_is_renamed(tmp_path: Path) -> None:
    _, path = saved(tmp_path)
    before = path.read_bytes()
    sessions = SessionManager(tmp_path, saves=False)
    set_name_and_tags(sessions, sessions.load(path), name="Another")
    assert path.read_bytes() == before


def test_the_same_session_is_inserted_once_and_another_one_never(tmp_path: Path) -> None:
    sessions, path = saved(tmp_path)
    assert add_session(sessions, FIRST, 2.0) is False
    path.write_bytes(b"Only words.\n")
    assert add_session(sessions, FIRST, 2.0) is None
    assert path.read_bytes() == b"Only words.\n"


def test_an_erasure_that_fails_says_which_file_stays(tmp_path: Path) -> None:
    sessions, path = saved(tmp_path)
    missing = tmp_path / "gone" / "a.md"
    with pytest.raises(SaveError, match=r"gone/a\.md stays as it is: no such file") as error:
        rewrite_files(sessions.files, {missing: b"", path: None})
    assert error.value.hint == "Run the command again: it goes on where it stopped."
    assert path.exists()
    rewrite_files(sessions.files, {path: None})
    assert not path.exists()


def test_a_file_that_changed_is_not_replaced_by_one_from_another_machine(tmp_path: Path) -> None:
    sessions, path = saved(tmp_path)
    identity = FIRST.header.id
    before = path.read_bytes()
    with pytest.raises(SessionLocked, match="is being changed"):
        replace_session(sessions, identity, None, b"new")
    assert path.read_bytes() == before
    replace_session(sessions, identity, before, b"new", keeps=True)
    assert path.read_bytes() == b"new"
    assert [file.read_bytes() for file in (tmp_path / ".trash").glob("*.md")] == [before]


def test_a_branch_is_made_once_however_often_that_is_interrupted(tmp_path: Path) -> None:
    sessions, path = saved(tmp_path)
    assert add_session(sessions, SECOND, 2.0)
    first = FIRST.header.id
    second = SECOND.header.id
    branch = branch_off(sessions, first, [])
    assert branch_off(sessions, first, [second]) == branch
    assert sessions.session_file(branch).read_bytes() == path.read_bytes()
    assert sessions.load(sessions.session_file(second)).session.header.parent == branch
    sessions.session_file(branch).write_bytes(b"other words")
    assert branch_off(sessions, first, []) not in (branch, first)
    assert sessions.session_file(branch).read_bytes() == b"other words"


def test_a_file_without_a_header_holds_what_it_begins_with() -> None:
    whole = render(FIRST)
    assert contains_records_of(b"words and more", b"words")
    assert not contains_records_of(b"words", whole)
    other = replace(FIRST, header=replace(FIRST.header, created=at(9, 9)))
    assert not contains_records_of(whole, render(other))


def test_a_text_is_erased_from_a_sealed_summary_and_an_attached_file() -> None:
    assert FIRST.seal is not None
    assert FIRST.seal.summary is not None
    summary = replace(FIRST.seal.summary, key_facts=("the horse staple [1 user]",))
    seal = with_digest(replace(FIRST.seal, summary=summary), FIRST.header.minor)
    file = Attachment(
        number=1,
        at=at(1, 1),
        name="a.txt",
        media="text/plain",
        text="horse staple",
        size=12,
        sha256="0",
    )
    session = replace(FIRST, seal=seal, entries=(*FIRST.entries, file))
    found = parse(render(without_text(session, Eraser("horse staple")))).session
    assert found is not None
    assert found.seal is not None
    assert found.seal.summary is not None
    assert found.seal.summary.key_facts == (f"the {REMOVED} [1 user]",)
    assert not found.seal.edited
    [attached] = [entry for entry in found.entries if isinstance(entry, Attachment)]
    assert attached.text == REMOVED
    assert attached.size == len(REMOVED.encode())
    assert attached.sha256 != "0"
