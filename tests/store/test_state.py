"""The state that a folder and its store last shared."""

from __future__ import annotations

from pathlib import Path

import pytest

from chat_loop.errors import StoreUnavailable
from chat_loop.store.state import FILE, ObjectTag, SyncEntry, is_theirs, opened


def test_each_store_has_its_own_state(tmp_path: Path) -> None:
    known = SyncEntry(ObjectTag('"1"', "2"), "digest", 3, 4, theirs=True, attempts="other")
    with opened(tmp_path, "s3://a") as first:
        first.note("x.md", known)
    with opened(tmp_path, "s3://a") as first, opened(tmp_path, "s3://b") as second:
        assert (first.entries, second.entries) == ({"x.md": known}, {})
        found = [is_theirs(tmp_path, url, name) for url, name in (("s3://a", "x"), ("s3://b", "x"))]
        assert found == [True, False]
        assert not is_theirs(tmp_path, "s3://a", "y")
        first.forget("x.md")
    with opened(tmp_path, "s3://a") as first:
        assert first.entries == {}
    assert (tmp_path / FILE).stat().st_mode & 0o777 == 0o600


def test_a_question_makes_no_file(tmp_path: Path) -> None:
    assert not is_theirs(tmp_path, "s3://a", "x")
    assert [*tmp_path.iterdir()] == []


def test_a_damaged_file_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / FILE).write_bytes(b"no database" * 100)
    message = "cannot be used: file is not a database"
    with pytest.raises(StoreUnavailable, match=message) as raised, opened(tmp_path, "s3://a"):
        pass
    assert not is_theirs(tmp_path, "s3://a", "x")  # the session can be opened
    assert raised.value.hint.startswith("Delete it")
