"""The file of the index: how it survives every kind of damage, lock and refusal."""

from __future__ import annotations

import os
import random
import signal
import sqlite3
import stat
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from chat_loop.errors import SessionError
from chat_loop.library import index as index_module
from chat_loop.library.index import FILE, VERSION, Index, discard
from chat_loop.library.library import Library
from tests.support.index_tables import contents, fill, held, rows_of, rows_without_index, up_to_date
from tests.support.nobody import as_nobody
from tests.support.session_folders import session, write

ANEW = "The index was damaged: a new one is made from the sessions."


def library(folder: Path) -> Library:
    return Library(folder)


# Damage.


def garbage(data: bytes) -> Callable[[Path], object]:
    return lambda path: path.write_bytes(data)


def changed(script: str) -> Callable[[Path], object]:
    def change(path: Path) -> None:
        with closing(library(path.parent)) as shelf:
            shelf.update_index()
        with closing(sqlite3.connect(path)) as database:
            database.executescript(script)

    return change


@pytest.mark.parametrize(
    ("change", "warning"),
    [
        (garbage(b"garbage" * 999), ANEW),
        (garbage(b"SQLite format 3\x00" + b"\xff" * 4096), ANEW),
        (garbage(b"x"), ANEW),
        (garbage(b""), ""),  # left by a process that was killed
        (changed(f"PRAGMA user_version={VERSION - 1}; DROP TABLE exchanges"), ""),
        (changed(f"PRAGMA user_version={VERSION - 1}; CREATE TABLE other (id)"), ""),
        (changed(f"PRAGMA user_version={VERSION + 1}"), ""),
        (changed("PRAGMA user_version=0"), ANEW),
        (changed("DROP TABLE sessions"), ANEW),
        (changed("UPDATE sessions SET row = 'x' WHERE id = 's11'"), ANEW),
        (changed("UPDATE sessions SET row = x'00ff' WHERE id = 's11'"), ANEW),
        (changed("UPDATE sessions SET row = '{}' WHERE id = 's11'"), ANEW),
        (changed("UPDATE sessions SET row = replace(row, '1', 'one') WHERE id = 's11'"), ANEW),
        (changed("UPDATE sessions SET size = 1 WHERE id = 's11'"), ""),
    ],
)
def test_an_index_that_is_not_as_it_was_made_is_made_anew(
    tmp_path: Path, change: Callable[[Path], object], warning: str
) -> None:
    fill(tmp_path)
    expected = rows_without_index(tmp_path)
    change(tmp_path / FILE)
    with closing(library(tmp_path)) as shelf:
        assert rows_of(shelf) == (expected, warning)
        assert rows_of(shelf) == (expected, "")
    with closing(Index(tmp_path)) as index:
        assert len(index.links()) == 12
        assert index.ask("SELECT * FROM sqlite_master WHERE name = 'other'") == []
    others = {path.name for path in tmp_path.iterdir() if path.suffix != ".md"}
    assert others <= {FILE, f"{FILE}-journal"}


def damaged(data: bytes, chance: random.Random) -> bytes:
    """Return the data with some bits flipped, cut short, or with a block of random bytes."""
    some = bytearray(data)
    match chance.randrange(4):
        case 0:
            return data[: chance.randrange(len(data))]
        case 1:
            at = chance.randrange(len(data))
            some[at : at + 600] = chance.randbytes(600)
        case _:
            for _ in range(chance.choice((1, 1, 4, 60))):
                some[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
    return bytes(some)


@pytest.mark.slow
def test_bytes_that_flip_never_break_a_listing(tmp_path: Path) -> None:
    """Nothing is raised, and no file is missing from the list. A text may be wrong, because texts
    have no checksums.
    """
    fill(tmp_path)
    first = library(tmp_path)
    first.update_index()
    first.close()
    whole, chance = (tmp_path / FILE).read_bytes(), random.Random(4)
    ids = {path.stem for path in tmp_path.glob("*.md")}
    noticed = 0
    for number in range(100):
        (tmp_path / FILE).write_bytes(damaged(whole, chance))
        shelf = library(tmp_path)
        (rows, _), warning = shelf.rows(fold=False, everything=True)
        assert {row.id for row in rows} == ids
        noticed += bool(warning)
        write(tmp_path, session("new", 1 + number % 2), 999)  # this forces a write
        assert "new" in {row.id for row in shelf.rows(fold=False).value.rows}
        shelf.close()
        (tmp_path / "new.md").unlink()
        (tmp_path / f"{FILE}-journal").unlink(missing_ok=True)
    assert noticed > 10


# Refusals.


@pytest.fixture(name="impatient")
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a search wait for another process only as briefly as a list does."""
    monkeypatch.setattr(index_module, "PATIENT_SECONDS", index_module.BUSY_SECONDS)


@pytest.mark.slow
@pytest.mark.usefixtures("impatient")
def test_an_index_that_is_locked_for_long_is_done_without(tmp_path: Path) -> None:
    fill(tmp_path)
    first = library(tmp_path)
    first.update_index()
    first.close()
    write(tmp_path, session("new"), 99)
    for how in ("EXCLUSIVE", "IMMEDIATE"):
        shelf = library(tmp_path)
        with held(tmp_path, how):
            warning = (
                f"The index {tmp_path / FILE} cannot be used now: another process is writing to it."
            )
            assert rows_of(shelf) == (rows_without_index(tmp_path), warning)
            with pytest.raises(SessionError, match="another process is writing to it"):
                shelf.ask(lambda index: index.links())
        assert rows_of(shelf) == (rows_without_index(tmp_path), "")
        shelf.close()
        write(tmp_path, session("new", 2), 98)


@pytest.mark.usefixtures("impatient")
def test_a_held_index_is_not_deleted(tmp_path: Path) -> None:
    fill(tmp_path)
    shelf = library(tmp_path)
    shelf.update_index()
    with held(tmp_path, "EXCLUSIVE"):
        assert not discard(tmp_path)
        with pytest.raises(SessionError, match="another process is writing to it"):
            shelf.update_index(rebuild=True)
    assert shelf.update_index(rebuild=True) == 12
    shelf.close()


@pytest.mark.parametrize("version", [VERSION - 1, VERSION + 1])
def test_an_index_of_another_version_that_somebody_uses_is_left_to_them(
    tmp_path: Path, version: int
) -> None:
    fill(tmp_path)
    expected = rows_without_index(tmp_path)
    changed(f"PRAGMA user_version={version}")(tmp_path / FILE)
    with closing(library(tmp_path)) as shelf:
        with held(tmp_path, "IMMEDIATE"):
            warning = f"The index {tmp_path / FILE} is of another version, and in use."
            assert rows_of(shelf) == (expected, warning)
        assert rows_of(shelf) == (expected, "")


KILLED = """
import os, signal, sys
from pathlib import Path
from chat_loop.library.index import Index
index = Index(Path(sys.argv[1]))
index.ask("PRAGMA cache_size=1")  # what is not committed yet is in the file
with index.transaction(writes=True):
    index.ask("DELETE FROM sentences")
    index.ask("ALTER TABLE sessions RENAME TO old")
    index.ask("CREATE TABLE large AS SELECT randomblob(100000) FROM old")
    os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.slow
def test_what_a_process_that_was_killed_changed_in_part_is_taken_back(tmp_path: Path) -> None:
    fill(tmp_path)
    with closing(up_to_date(tmp_path)) as index:
        expected = contents(index)
    before = (tmp_path / FILE).read_bytes()
    killed = subprocess.run([sys.executable, "-c", KILLED, str(tmp_path)], check=False)
    assert killed.returncode == -signal.SIGKILL
    assert (tmp_path / FILE).read_bytes() != before
    with closing(library(tmp_path)) as shelf:
        assert (shelf.ask(contents), shelf.update_index()) == ((expected, ""), 0)


def test_an_index_that_was_replaced_is_opened_again(tmp_path: Path) -> None:
    """One process has the index open while another deletes it."""
    fill(tmp_path)
    one = library(tmp_path)
    one.rows()
    assert discard(tmp_path)
    other = library(tmp_path)
    other.rows()
    write(tmp_path, session("new"), 99)
    for shelf in (one, one, other, one):
        rows, warning = rows_of(shelf)
        assert rows == rows_without_index(tmp_path)
    assert warning == ""
    one.close()
    other.close()


def test_a_full_disk(tmp_path: Path) -> None:
    fill(tmp_path)
    write(tmp_path, session("long", text="long " * 20_000), 50)
    shelf = library(tmp_path)
    index = Index(tmp_path)
    pages = index.ask("PRAGMA page_count")[0][0]
    index.ask(f"PRAGMA max_page_count={pages}")
    shelf._index = index
    warning = f"The index {tmp_path / FILE} cannot be used now: the disk is full."
    assert rows_of(shelf) == (rows_without_index(tmp_path), warning)
    shelf._index = None
    assert rows_of(shelf) == (rows_without_index(tmp_path), "")
    index.close()
    shelf.close()


def test_a_read_only_folder() -> None:
    with as_nobody() as folder:
        fill(folder)
        with closing(library(folder)) as first:
            expected, _ = rows_of(first)
        (folder / FILE).unlink()
        (folder / f"{FILE}-journal").unlink()
        folder.chmod(0o500)
        shelf = library(folder)
        warning = f"The index cannot be made in {folder}: permission denied."
        assert rows_of(shelf) == (expected, warning)
        folder.chmod(0o700)
        assert shelf.update_index() == 12
        shelf.close()
        (folder / FILE).chmod(0o400)
        (folder / f"{FILE}-journal").unlink()
        folder.chmod(0o500)
        assert rows_of(shelf) == (expected, "")
        folder.chmod(0o700)
        write(folder, session("s11", 3), 99)
        folder.chmod(0o500)
        (rows, _), warning = shelf.rows()
        assert [row.id for row in rows] == ["s11", "s10", "s07", "s03"]
        assert warning == f"The index {folder / FILE} cannot be used now: it may not be written to."
        shelf.close()


def test_the_index_and_its_journal_are_private(tmp_path: Path) -> None:
    fill(tmp_path, 2)
    before = os.umask(0)
    try:
        index = up_to_date(tmp_path)
        with index.transaction(writes=True):
            index.ask("DELETE FROM sessions")
            journal = (tmp_path / f"{FILE}-journal").stat()
        modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in tmp_path.glob(f"{FILE}*")}
        index.close()
    finally:
        os.umask(before)
    assert modes == {FILE: 0o600, f"{FILE}-journal": 0o600}
    assert journal.st_size > 0
    (tmp_path / FILE).chmod(0o666)
    Index(tmp_path).close()
    assert stat.S_IMODE((tmp_path / FILE).stat().st_mode) == 0o600


# Kinds of errors.


# Several at once.
