"""`chat-loop sessions`: the actions that make, change or share sessions."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from msgspec.structs import replace

from chat_loop.sessions.files import take_lock
from chat_loop.sessions.records import Restoration
from tests.support.headless import ECHO, failure, load, output, run, session_ids, stdout
from tests.support.pty_chat import PtyChat
from tests.support.saved_sessions import FIRST, LISTED, OLD, OPEN, SECOND, put, simple
from tests.support.session_folders import later

# Describing


def test_tag_and_rename(home: Path) -> None:
    assert output(home, "tag", "3", "#Maths", "old") == f"{OLD.header.id}: #maths #old\n"
    assert output(home, "tag", "monad", "maths", "--remove") == f"{OLD.header.id}: #old\n"
    assert (
        output(home, "rename", "3", "Monads,", "briefly") == f"{OLD.header.id}: Monads, briefly\n"
    )
    assert (load(home, OLD.header.id).name, load(home, OLD.header.id).tags) == (
        "Monads, briefly",
        ("old",),
    )
    assert output(home, "rename", "3") == f"{OLD.header.id}: automatic name\n"
    assert output(home, "untag", "3", "old") == f"{OLD.header.id}: no tags\n"
    assert session_ids(home)[0] == OPEN.header.id, "describing is no use: the order stays"
    assert "has no tag #old." in failure(home, "tag", "3", "old", "--remove", code=2)
    assert "is not a tag" in failure(home, "tag", "3", "two words", code=2)
    assert "at most 80 characters" in failure(home, "rename", "3", "x" * 81, code=2)
    assert load(home, OLD.header.id) == OLD


def test_a_session_that_is_open_elsewhere_is_left_alone(home: Path) -> None:
    folder = home / "sessions"
    path = folder / f"{OLD.header.id}.md"
    before = path.read_bytes()
    held = take_lock(folder, OLD.header.id)
    try:
        for action in (
            ("tag", "3", "x"),
            ("rename", "3", "x"),
            ("trash", "3"),
            ("compact", "3"),
        ):
            assert "is open in another process" in failure(home, *action)
        result = run(home, "sessions", "clean", "--older-than", "1y", "--yes")
        assert result.returncode == 1
        assert "is open in another process" in result.stderr.decode()
    finally:
        held.close()
    assert path.read_bytes() == before


# Keeping


def test_trash_and_restore(home: Path) -> None:
    assert output(home, "trash") == ""
    path = home / "sessions" / f"{OLD.header.id}.md"
    before = path.read_bytes()
    told = "{0} is in the trash; chat-loop sessions restore {0} restores it.\n"
    assert output(home, "delete", "1", "3", "3") == told.format(OPEN.header.id) + told.format(
        OLD.header.id
    )
    assert session_ids(home) == [SECOND.header.id, FIRST.header.id]
    assert output(home, "trash") == (
        f"2026-11-10 10:00  {OPEN.header.id}  Which port does the database listen on?\n"
        f"2020-03-01 10:00  {OLD.header.id}  What is a monad?\n"
    )
    assert failure(home, "restore", "nope") == (
        "No session named nope in the trash. chat-loop sessions trash lists what is.\n"
    )
    both = run(home, "sessions", "restore", "../x", OLD.header.id, OPEN.header.id)
    assert (both.returncode, both.stdout.decode()) == (
        1,
        f"{OLD.header.id} is restored.\n{OPEN.header.id} is restored.\n",
    )
    assert path.read_bytes() == before
    assert session_ids(home)[0] == OPEN.header.id
    assert output(home, "trash") == ""


def test_a_conversation_in_the_trash_with_all_its_sessions(home: Path) -> None:
    both = f"{SECOND.header.id} {FIRST.header.id}"
    said = output(home, "trash", "2", FIRST.header.id)
    told = f"A conversation of 2 sessions is in the trash; chat-loop sessions restore {both} "
    assert said == f"{told}restores it.\n"
    assert session_ids(home) == [OPEN.header.id, OLD.header.id]
    output(home, "restore", *both.split())
    assert session_ids(home)[1:3] == [SECOND.header.id, FIRST.header.id]


def forgotten(home: Path) -> list[Path]:
    """Write an old chain continued yesterday, an old chain that ended, and a future session."""
    now = datetime.now(UTC).replace(microsecond=0)
    long_ago = now - timedelta(days=90)
    return list(
        put(
            home / "sessions",
            simple("archive", long_ago),
            simple("goes_on", now - timedelta(days=1), parent="archive"),
            simple("dead_1", long_ago),
            simple("dead_2", long_ago + timedelta(days=1), parent="dead_1"),
            simple("future", now + timedelta(days=400)),
        )
    )


def test_clean_moves_whole_conversations_that_nobody_used(tmp_path: Path) -> None:
    forgotten(tmp_path)
    clean = ("sessions", "clean", "--older-than", "30d")
    dry = run(tmp_path, *clean, "--dry-run")
    assert (dry.returncode, dry.stderr) == (0, b"2 sessions would go to the trash.\n")
    assert [line.split()[2] for line in dry.stdout.decode().strip().split("\n")] == [
        "dead_2",
        "dead_1",
    ]
    assert len(session_ids(tmp_path)) == 5
    wet = run(tmp_path, *clean, "--yes")
    assert (wet.returncode, wet.stdout) == (0, dry.stdout)
    assert (
        wet.stderr
        == b"2 sessions moved to the trash; chat-loop sessions restore ID restores one.\n"
    )
    assert session_ids(tmp_path) == ["future", "goes_on", "archive"]
    assert run(tmp_path, *clean, "--yes").stderr == b"There is nothing to clean.\n"
    assert (
        output(tmp_path, "restore", "dead_1", "dead_2")
        == "dead_1 is restored.\ndead_2 is restored.\n"
    )


def test_clean_leaves_the_archive_of_what_is_open(tmp_path: Path) -> None:
    forgotten(tmp_path)
    held = take_lock(tmp_path / "sessions", "dead_2")
    try:
        result = run(tmp_path, "sessions", "clean", "--older-than", "30d", "--yes")
    finally:
        held.close()
    assert result.returncode == 1
    assert result.stderr.decode() == (
        "Session dead_2 is open in another process. Close it there, or resume it once it has "
        "ended.\n"
        "dead_1 stays: another session that stays continues it.\n"
        "Nothing was moved.\n"
    )


@pytest.mark.slow
def test_clean_asks_on_a_terminal(tmp_path: Path) -> None:
    forgotten(tmp_path)
    env = {"CHAT_LOOP_HOME": str(tmp_path), "PATH": "/usr/bin:/bin", "LANG": "C.UTF-8"}
    command = [sys.executable, "-m", "chat_loop", "sessions", "clean", "--older-than", "30d"]
    with PtyChat(command, env=env, rows=4, cols=40) as terminal:  # the list does not fit
        terminal.wait_for("[v]iew")
        terminal.line("y")
        terminal.wait_for("word yes")
        terminal.line("y")
        terminal.wait_for("Nothing was moved.")
        assert terminal.exit_code() == 1
    for answer, code, told in (
        ("n", 1, "Nothing was moved."),
        ("y", 0, "2 sessions moved to the trash"),
    ):
        with PtyChat(command, env=env, cols=120) as terminal:
            terminal.wait_for("Move 2 sessions to the trash? [y]es [n]o")
            terminal.line(answer)
            terminal.wait_for(told)
            assert terminal.exit_code() == code


def test_clean_originals_leaves_what_only_words_stand_for(tmp_path: Path) -> None:
    forgotten(tmp_path)
    bare = simple("bare", datetime(2020, 1, 1, tzinfo=UTC))
    assert bare.seal is not None
    bare = replace(bare, seal=replace(bare.seal, summary=None, source="none"))
    child = simple("of_bare", datetime(2020, 1, 2, tzinfo=UTC), parent="bare")
    forked = simple("forked", datetime(2020, 1, 1, tzinfo=UTC))
    put(tmp_path / "sessions", bare, child, forked)
    fork = stdout(tmp_path, "fork", "forked")
    assert "This session has no messages yet." in failure(tmp_path, "fork", fork, code=2)
    result = run(tmp_path, "sessions", "clean", "--older-than", "30d", "--originals", "--yes")
    assert result.returncode == 0
    assert sorted(line.split()[2] for line in result.stdout.decode().strip().split("\n")) == [
        "archive",
        "dead_1",
    ]
    assert {"bare", "of_bare", "forked", fork, "goes_on", "dead_2"} <= set(session_ids(tmp_path))


def test_clean_originals_leaves_the_words_that_a_live_session_carries(home: Path) -> None:
    """A compaction keeps the newest words by reference, and reads them from the parent's file."""
    long_ago = datetime(2020, 1, 1, tzinfo=UTC)
    folder = home / "sessions"
    put(folder, later(FIRST, (long_ago - FIRST.header.created).total_seconds()))
    restoration = SECOND.entries[0]
    assert isinstance(restoration, Restoration)
    carrying = replace(
        SECOND,
        header=replace(SECOND.header, id="carrying"),
        entries=(
            replace(restoration, verbatim_from="1.2", unsummarized_from="1.2"),
            *SECOND.entries[1:],
        ),
        seal=None,
    )
    below = replace(carrying, header=replace(SECOND.header, id="below", parent="carrying"))
    put(
        folder,
        carrying,
        replace(
            below, entries=(replace(restoration, depth=3, verbatim_from="1.2"), *SECOND.entries[1:])
        ),
    )
    clean = ("clean", "--older-than", "1y", "--originals", "--dry-run")
    for left in ("below", "carrying"):
        assert stdout(home, *clean) == ""
        (folder / f"{left}.md").unlink()
    assert stdout(home, *clean).split()[2] == FIRST.header.id


def test_reindex(home: Path) -> None:
    assert output(home, "reindex") == "4 sessions read into the index.\n"
    before = output(home, "list")
    assert output(home, "reindex") == "4 sessions read into the index.\n"
    assert output(home, "list") == before
    listed = json.loads(stdout(home, "list", "--json"))["conversations"]
    assert [row["id"] for row in listed] == list(LISTED)


@contextmanager
def write_protected(folder: Path) -> Iterator[None]:
    folder.chmod(0o555)
    try:
        yield
    finally:
        folder.chmod(0o700)


def bound(home: Path, *arguments: str) -> subprocess.CompletedProcess[bytes]:
    """`run` with the permissions of files in force, even for root."""
    prefix = (
        ("setpriv", "--bounding-set", "-dac_override,-dac_read_search") if os.geteuid() == 0 else ()
    )
    return run(home, *arguments, prefix=prefix)


@pytest.mark.slow
@pytest.mark.skipif(
    os.name == "nt" or not shutil.which("setpriv"), reason="rights of POSIX, given away on Linux"
)
def test_a_folder_that_cannot_be_written_to(home: Path) -> None:
    folder = home / "sessions"
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    with write_protected(folder):
        if bound(home, "--version").returncode:
            pytest.skip("these rights cannot be given away here")
        found = bound(home, "sessions", "list")
        assert (found.returncode, found.stdout.count(b"\n"), found.stderr.count(b"\n")) == (0, 3, 1)
        shown = bound(home, "sessions", "show", OLD.header.id)
        assert (shown.returncode, shown.stdout) == (0, before[f"{OLD.header.id}.md"])
        assert bound(home, "sessions", "tree", SECOND.header.id).stdout.count(b"\n") == 2
        for action in (
            ("tag", OLD.header.id, "x"),
            ("trash", OLD.header.id),
            ("compact", OLD.header.id),
            ("fork", OLD.header.id),
            ("delete-summary", SECOND.header.id),
            (
                "import",
                str(folder / f"{OLD.header.id}.md"),
                str(Path(__file__).parents[1] / "golden" / "plain" / "resumed.md"),
            ),
            ("reindex",),
            ("stats",),
            ("search", "monad"),
            ("clean", "--older-than", "1y", "--yes"),
        ):
            result = bound(home, *ECHO, "sessions", *action)
            told = result.stderr.decode()
            assert result.returncode == 1, action
            assert "ermission denied" in told, action
            assert "Traceback" not in told
            assert "in memory" not in told, "nothing is tried again: the program ends"
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before
