"""The index follows the files of its folder. Any changes give the same tables as a new index."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from chat_loop.errors import SessionError
from chat_loop.library import library as library_module
from chat_loop.library import refresh as refresh_module
from chat_loop.library.index import FILE, Index
from chat_loop.library.library import Library
from chat_loop.library.refresh import refresh
from chat_loop.sessions.records import Query
from chat_loop.sessions.rows import newest_first
from tests.support.index_tables import (
    SEALED,
    contents,
    fill,
    rows_of,
    rows_without_index,
    up_to_date,
)
from tests.support.session_folders import Made, files, session, write

library = Library


changes = st.lists(
    st.one_of(
        st.sampled_from([f"s{number}" for number in range(4)]).flatmap(files),
        st.tuples(st.just("gone"), st.sampled_from([f"s{number}" for number in range(4)])),
        st.just("refresh"),
    ),
    max_size=12,
)


@given(changes=changes)
def test_any_changes_give_the_same_tables_as_building_anew(changes: list[Any]) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for number, change in enumerate(changes):
            if isinstance(change, Made):
                write(folder, change.data, change.changed * 100 + number, change.identity)
            elif change == "refresh":
                up_to_date(folder).close()
            else:
                (folder / f"{change[1]}.md").unlink(missing_ok=True)
        grown = up_to_date(folder)
        found = contents(grown)
        grown.close()
        (folder / FILE).unlink()
        fresh = up_to_date(folder)
        assert found == contents(fresh)
        fresh.close()


def test_of_a_very_long_file_the_beginning_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write(tmp_path, session("long", 40), 1)
    monkeypatch.setattr(refresh_module, "MAX_FILE", path.stat().st_size // 2)
    with closing(up_to_date(tmp_path)) as index:
        [(count,)] = index.ask("SELECT count(*) FROM exchanges")
        assert 10 < count < 30
        assert index.rows(["long"])["long"].queries == 40
        assert not any(index.stale(newest_first(tmp_path)))


def test_a_list_needs_no_words_of_a_long_session_and_a_search_gets_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write(tmp_path, session("long", 4, text="What is bread?", seal=SEALED), 1)
    write(tmp_path, session("short", 1), 2)
    monkeypatch.setattr(library_module, "LONG", path.stat().st_size - 1)
    listing = Library(tmp_path, thorough=True)
    with closing(listing):
        rows = listing.rows().value.rows
        assert [(row.id, row.queries) for row in rows] == [("long", 4), ("short", 1)]
        with closing(Index(tmp_path)) as index:
            assert index.exchange_count() == 1
        assert listing.ask(lambda index: index.exchange_count()).value == 5
        assert listing.update_index() == 0
        os.utime(path, ns=(3, 3))
        assert listing.ask(lambda index: index.exchange_count(), texts=False).value == 1
        path.unlink()
        assert [row.id for row in listing.rows().value.rows] == ["short"]


def test_a_folder_that_changes_while_it_is_listed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between two batches a file goes, one grows, one comes, and one becomes something else."""
    monkeypatch.setattr(refresh_module, "BATCH_FILES", 3)
    monkeypatch.setattr(library_module, "SOON_FILES", 3)
    fill(tmp_path)
    changes: list[Callable[[], object]] = [
        lambda: (tmp_path / "s00.md").write_bytes(b"\xff"),
        lambda: write(tmp_path, session("new"), 98),
        lambda: write(tmp_path, session("s02", 3), 99),
        (tmp_path / "s01.md").unlink,
    ]

    def progress(done: float, of: int) -> None:
        if changes:
            changes.pop()()

    with closing(Library(tmp_path, progress, thorough=True)) as shelf:
        (rows, _), warning = shelf.rows(fold=False)
        assert not changes
        assert {"s02", "s03", "s11"} <= {row.id for row in rows}
        assert warning == ""
        assert rows_of(shelf).value == rows_without_index(tmp_path)


def test_a_file_of_the_same_size_and_time_is_taken_for_the_same(tmp_path: Path) -> None:
    """This is the price of comparing only sizes and times. `rebuild` reads everything."""
    path = write(tmp_path, session("a", text="What is bread?"), 1)
    shelf = library(tmp_path)
    shelf.rows()
    status = path.stat()
    path.write_text(path.read_text().replace("bread", "water"))
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert shelf.rows().value.rows[0].name == "What is bread? (1)"
    assert shelf.update_index(rebuild=True) == 1
    assert shelf.rows().value.rows[0].name == "What is water? (1)"
    shelf.close()


def test_progress_is_told_and_a_refresh_can_be_stopped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(refresh_module, "BATCH_FILES", 5)
    fill(tmp_path)
    told: list[tuple[float, int]] = []

    def progress(done: float, of: int) -> None:
        told.append((done, of))
        if len(told) == 2:
            raise KeyboardInterrupt

    index = Index(tmp_path)
    with pytest.raises(KeyboardInterrupt):
        refresh(index, *index.stale(newest_first(tmp_path)), progress=progress)
    assert (told, len(index.links())) == ([(5, 12), (10, 12)], 10)
    index.close()


def test_progress_is_told_within_a_long_session(tmp_path: Path) -> None:
    made = session("long", 10)
    long = (
        replace(entry, text="What is water? " * 2_000) if isinstance(entry, Query) else entry
        for entry in made.entries
    )
    write(tmp_path, replace(made, entries=tuple(long)), 1)
    told: list[tuple[float, int]] = []
    index = Index(tmp_path)
    stale = index.stale(newest_first(tmp_path))
    refresh(index, *stale, progress=lambda done, of: told.append((round(done, 1), of)))
    assert told == [(number / 10, 1) for number in range(1, 11)]
    index.close()


@pytest.mark.parametrize("kind", ["link", "dangling", "folder", "pipe"])
def test_what_is_no_regular_file_is_left_alone(tmp_path: Path, kind: str) -> None:
    fill(tmp_path / "sessions")
    path, target = tmp_path / "sessions" / FILE, tmp_path / "precious"
    if kind == "link":
        target.write_text("precious")
    if kind in ("link", "dangling"):
        path.symlink_to(target)
    elif kind == "folder":
        path.mkdir()
    else:
        os.mkfifo(path)
    shelf = library(tmp_path / "sessions")
    warning = f"The index {path} is not a regular file: it is left alone."
    assert rows_of(shelf) == (rows_without_index(tmp_path / "sessions"), warning)
    assert target.exists() == (kind == "link")
    assert kind != "link" or target.read_text() == "precious"
    with pytest.raises(SessionError, match="is not a regular file"):
        shelf.update_index()
    shelf.close()


REFRESHING = """
import sys
from datetime import datetime
from pathlib import Path
from chat_loop.library.library import Library
for _ in range(int(sys.argv[2])):
    library = Library(Path(sys.argv[1]))
    try:
        library.update_index()
    finally:
        library.close()
    (rows, _), warning = library.rows(fold=False)
    print(len(rows), warning)
    library.close()
"""


@pytest.mark.slow
def test_processes_that_refresh_at_once(tmp_path: Path) -> None:
    """One of them makes the first index, while files change."""
    fill(tmp_path, 60)
    workers = [
        subprocess.Popen(
            [sys.executable, "-c", REFRESHING, str(tmp_path), "6"],
            stdout=subprocess.PIPE,
            text=True,
        )
        for _ in range(3)
    ]
    number = 0
    while any(worker.poll() is None for worker in workers):
        number += 1
        write(tmp_path, session(f"x{number % 7}", 1 + number % 4), 100 + number)
    for worker in workers:
        said, _ = worker.communicate()
        assert worker.returncode == 0
        lines = [line.partition(" ") for line in said.split("\n")[:-1]]
        assert {number for number, _, _ in lines} <= {str(60 + more) for more in range(8)}, said
        # On a busy machine a process may give up waiting, say so, and list from the files.
        assert all(not warning or "another process" in warning for _, _, warning in lines), said
    shelf = library(tmp_path)
    assert rows_of(shelf).value == rows_without_index(tmp_path)
    shelf.close()
    with closing(up_to_date(tmp_path)) as index:
        found = contents(index)
    (tmp_path / FILE).unlink()
    with closing(up_to_date(tmp_path)) as index:
        assert found == contents(index)


def test_what_another_process_deletes_is_stale_again(tmp_path: Path) -> None:
    write(tmp_path, session("a", 1), 1)
    files = newest_first(tmp_path)
    with closing(Index(tmp_path)) as index, closing(Index(tmp_path)) as other:
        refresh(index, *index.stale(files))
        assert index.stale(files) == index.stale(files) == ([], set())
        other.drop(["a"])
        assert index.stale(files) == (files, set())
        assert index.stale([]) == ([], set())
