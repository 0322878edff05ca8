"""Two people with a library in PostgreSQL: commands list, find and show sessions from elsewhere,
and commands that need the file of a session say so.
"""

from __future__ import annotations

import itertools
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from benchmarks.support.postgres_server import PostgresServer, temporary_server
from tests.support.headless import ECHO, failure, output, run
from tests.support.session_folders import session, write

pytestmark = pytest.mark.slow

NUMBERS = itertools.count()
Homes = tuple[Path, Path]


def join(server: PostgresServer, top: Path, name: str) -> Homes:
    """Make a team of alice, who has a session, and bob, who may read hers."""
    alice, bob, maker = (f"{who}_{name}" for who in ("alice", "bob", "maker"))
    server.database(name, maker, alice, bob)
    server.run(f"GRANT {alice} TO {bob}")
    homes = top / "alice", top / "bob"
    for home, role in zip((top / "maker", *homes), (maker, alice, bob), strict=True):
        home.mkdir()
        (home / "config.yaml").write_text(f"library: {server.url(name, role, 'pa55word')}\n")
    assert run(top / "maker", "sessions", "list").returncode == 0
    write(homes[0] / "sessions", session("plan", 2, text="The heron is blue."), 1)
    write(homes[1] / "sessions", session("own", 3, text="The otter is brown."), 2)
    output(homes[0], "list")
    return homes


@pytest.fixture(name="homes")
def _homes(postgres: PostgresServer, tmp_path: Path) -> Homes:
    return join(postgres, tmp_path, f"shared{next(NUMBERS)}")


def test_the_sessions_of_others_are_listed_found_and_shown(homes: Homes) -> None:
    _, bob = homes
    lines = output(bob, "list").splitlines()
    assert ["own" in line for line in lines] == [True, False]
    assert "alice_shared" in lines[1]
    listed = json.loads(output(bob, "list", "--json"))["conversations"]
    assert [(row["id"], (row["owner"] or "").partition("_")[0]) for row in listed] == [
        ("own", ""),
        ("plan", "alice"),
    ]
    assert " · alice_shared" in output(bob, "search", "--text", "heron")
    [hit, *_] = json.loads(output(bob, "search", "--text", "--json", "heron"))
    assert (hit["session"], hit["number"], hit["owner"].partition("_")[0]) == ("plan", 2, "alice")
    shown = output(bob, "show", "2")
    assert "The heron is blue. (2)" in shown
    assert "Reply 2 of plan." in shown
    entries = json.loads(output(bob, "show", "plan", "--json"))["entries"]
    assert [entry["kind"] for entry in entries] == ["query", "reply"] * 2
    assert "plan" in output(bob, "tree", "2")


@pytest.mark.parametrize(
    "act",
    [
        lambda home: failure(home, "trash", "2"),
        lambda home: failure(home, "rename", "plan", "Other"),
        lambda home: failure(home, "export", "plan", "plan.html"),
        lambda home: run(home, *ECHO, "--resume", "plan", "-p", "Hi").stderr.decode(),
        lambda home: run(home, *ECHO, stdin=b"/resume plan\n").stdout.decode(),
    ],
)
def test_what_needs_the_file_says_who_has_it(homes: Homes, act: Callable[[Path], str]) -> None:
    said = " ".join(act(homes[1]).split())
    owner = homes[0].name
    assert f"The file of session plan is not in this folder; {owner}_shared" in said
    assert "Share the files through an object store: docs/stores.md." in said
    assert "Traceback" not in said


def test_a_chat_lists_shows_and_quotes_them(homes: Homes) -> None:
    typed = b"/sessions\n/show 2 1\n/search heron\n/quote 1\n/tree 2\n/config library\n"
    said = run(homes[1], *ECHO, stdin=typed).stdout.decode()
    assert "alice_shared" in said
    assert "Reply 1 of plan." in said
    assert "goes with your next message" in said
    assert "pa55word" not in said
    assert "Traceback" not in said


def test_the_last_session_is_ones_own_and_only_the_own_index_is_rebuilt(homes: Homes) -> None:
    alice, bob = homes
    write(alice / "sessions", session("newer", 9, text="The heron flew."), 9)
    output(alice, "list")
    assert "newer" in output(bob, "list").splitlines()[0]
    assert json.loads(output(bob, "show", "last", "--json"))["id"] == "own"
    assert output(bob, "reindex") == "1 session read into the index.\n"
    assert len(output(bob, "list").splitlines()) == 3


def test_cleaning_touches_only_what_is_here(homes: Homes) -> None:
    said = run(homes[1], "sessions", "clean", "--older-than", "1d", "--yes")
    assert "1 session moved to the trash" in said.stderr.decode()
    assert (homes[0] / "sessions" / "plan.md").exists()


def test_a_purge_takes_the_words_out_of_the_library(homes: Homes) -> None:
    alice, bob = homes
    assert run(alice, "sessions", "purge", "plan", "--yes").returncode == 0
    assert json.loads(run(bob, "sessions", "search", "--text", "--json", "heron").stdout) == []


def test_doctor_says_whether_it_answers(tmp_path: Path) -> None:
    with temporary_server() as server:
        alice, _ = join(server, tmp_path, "doctored")
        said = run(alice, "doctor").stdout.decode()
        assert "postgresql:///doctored answers" in said
    said = run(alice, "doctor").stdout.decode()
    assert "The library postgresql:///doctored cannot be used now" in said
    assert "pa55word" not in said
    rows = run(alice, "sessions", "list")
    assert "plan" in rows.stdout.decode()
    assert rows.stderr.decode().count("cannot be used now") == 1


def test_a_server_that_dies_in_the_middle_of_a_chat_is_said_once(tmp_path: Path) -> None:
    with temporary_server() as server:
        alice, _ = join(server, tmp_path, "dying")
        environment = {"CHAT_LOOP_HOME": str(alice), "PATH": os.defpath, "LANG": "C.UTF-8"}
        process = subprocess.Popen(
            [sys.executable, "-m", "chat_loop", *ECHO],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=environment,
        )
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(b"/sessions\n")
        process.stdin.flush()
        said = b""
        while b"The heron is blue." not in said:
            said += os.read(process.stdout.fileno(), 10_000)
        server.stop()
        typed = b"Are you there?\n/sessions\n/search heron\n/sessions\nexit\n"
        rest = process.communicate(typed, timeout=60)[0].decode()
    assert process.returncode == 0
    assert rest.count("cannot be used now") == 1
    assert "pa55word" not in rest
    assert rest.count("The heron is blue. (1)") >= 3
