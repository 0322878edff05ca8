"""The history of entries: its file, its bounds, several terminals, and secrets."""

from __future__ import annotations

import os
import stat
import tempfile
import threading
from datetime import datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chat_loop.input.history import MAX_BYTES, MAX_LENGTH, PrivateHistory, history_entry
from chat_loop.input.keys import Pastes
from chat_loop.input.lines import clean

NOW = datetime(2026, 11, 21, 14, 30)


def held(path: Path) -> list[str]:
    """Return the entries that another terminal reads, newest first."""
    return [*PrivateHistory(path).load_history_strings()]


def read(data: bytes) -> list[str]:
    """Return the entries of a file with the content `data`, oldest first."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "history"
        path.write_bytes(data)
        return held(path)[::-1]


@given(st.lists(st.text(min_size=1)))
def test_what_is_written_is_read(texts: list[str]) -> None:
    texts = list(map(clean, texts))
    assert read(b"".join(history_entry(text, NOW) for text in texts)) == texts


@given(st.binary())
def test_any_file_is_read(data: bytes) -> None:
    assert read(data + history_entry("an entry", NOW))[-1:] == ["an entry"]


def test_the_file_is_private_whatever_it_was_before(tmp_path: Path) -> None:
    path = tmp_path / "data" / "history"
    PrivateHistory(path).append_string("one")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    path.chmod(0o644)
    PrivateHistory(path).append_string("two")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert held(path) == ["two", "one"]


def test_its_size_is_bounded_and_the_newest_stay(tmp_path: Path) -> None:
    path = tmp_path / "history"
    history = PrivateHistory(path)
    for number in range(300):
        history.store_string(f"{number} {'x' * 9_000}")
    assert sum(file.stat().st_size for file in tmp_path.iterdir()) <= 2 * MAX_BYTES + 2 * MAX_LENGTH
    numbers = [int(entry.split()[0]) for entry in held(path)]
    assert numbers == [*range(299, 299 - len(numbers), -1)]
    assert len(numbers) > 50


def test_a_foreign_file_is_read_and_one_that_is_too_large_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "history"
    path.write_bytes(b"+x\n" * 1_000_000 + history_entry("the last", NOW))
    assert held(path)[0] == "the last"
    path.write_bytes(b"+x\n" * 2_000_000)
    assert held(path) == []


def test_several_terminals_write_at_once(tmp_path: Path) -> None:
    path = tmp_path / "history"
    both = [PrivateHistory(path) for _ in range(4)]

    def enter(number: int) -> None:
        for count in range(100):
            both[number].store_string(f"{number} {count}\n{'y' * 2_000}")

    threads = [threading.Thread(target=enter, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    found = held(path)
    assert len(found) > 200
    assert all(entry.endswith("\n" + "y" * 2_000) for entry in found), "none is torn or mixed"
    for number in range(4):
        counts = [
            int(entry.split()[1]) for entry in reversed(found) if entry.startswith(f"{number} ")
        ]
        assert counts == [*range(counts[0], 100)] if counts else True


def test_what_is_not_kept(tmp_path: Path) -> None:
    pastes = Pastes()
    history = PrivateHistory(tmp_path / "history", pastes.has)
    folded = pastes.fold("a\n" * 100)
    kept_back = [
        "x" * (MAX_LENGTH + 1),
        f"look at {folded}",
        "password = 'hunter2-Tr0ub4dor'",
        "Authorization: Bearer " + "aB3dE5fG7h" * 4,
    ]
    for entry in (*kept_back, "the rest"):
        history.append_string(entry)
    assert held(tmp_path / "history") == ["the rest"]
    assert history.get_strings() == [*kept_back, "the rest"], "in this run all of them are there"


@pytest.mark.parametrize("kind", ["folder", "pipe", "null", "no folder"])
def test_a_disk_that_refuses_it_costs_the_history_only(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "history"
    if kind == "folder":
        path.mkdir()
    elif kind == "pipe":
        os.mkfifo(path)
    elif kind == "null":
        path.symlink_to("/dev/null")
    else:
        (tmp_path / "file").touch()
        path = tmp_path / "file" / "history"
    PrivateHistory(path).append_string("one")
    assert held(path) == []
