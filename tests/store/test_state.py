"""The notes about the state that a folder and its store last shared."""

from __future__ import annotations

from pathlib import Path

import pytest

from chat_loop.errors import StoreUnavailable
from chat_loop.store.state import FILE, SyncEntry, SyncState, Tag


def test_each_store_has_its_own_notes(tmp_path: Path) -> None:
    first, second = SyncState(tmp_path, "s3://a"), SyncState(tmp_path, "s3://b")
    known = SyncEntry(Tag('"1"', "2"), "digest", 3, 4, theirs=True, attempt="other")
    first.note("x.md", known)
    assert first.known() == {"x.md": known}
    assert second.known() == {}
    assert (first.is_theirs("x"), second.is_theirs("x"), first.is_theirs("y")) == (1, 0, 0)
    first.forget("x.md")
    assert first.known() == {}
    assert (tmp_path / FILE).stat().st_mode & 0o777 == 0o600


def test_a_question_makes_no_file(tmp_path: Path) -> None:
    assert not SyncState(tmp_path, "s3://a").is_theirs("x")
    assert [*tmp_path.iterdir()] == []


def test_a_damaged_file_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / FILE).write_bytes(b"no database" * 100)
    with pytest.raises(StoreUnavailable, match="cannot be used: file is not a database") as raised:
        SyncState(tmp_path, "s3://a").known()
    assert not SyncState(tmp_path, "s3://a").is_theirs("x")  # the session can be opened
    assert raised.value.hint.startswith("Delete it")
