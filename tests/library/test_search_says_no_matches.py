"""The output of `/search` and `sessions search` when nothing matches, and the exchanges that are
merely related.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from chat_loop.errors import install_hint
from chat_loop.library.archive import Archive
from chat_loop.library.archive_tools import SEARCH
from chat_loop.library.semantic import SemanticIndex, available
from chat_loop.sessions.manager import SessionManager
from chat_loop.sessions.records import Header, Session
from tests.support.headless import run
from tests.support.saved_sessions import at, put, simple

pytestmark = pytest.mark.slow

FILE = Path(__file__).parents[1] / "golden" / "sentences" / "talks.txt"
"""A line for each session: a query | its reply."""
TALKS = [line.split("|") for line in FILE.read_text("utf-8").splitlines()]


@pytest.fixture(name="home", scope="module")
def _home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a home with sealed sessions and their vectors."""
    if not available() and os.environ.get("CI_REQUIRE_REAL_MODEL") != "1":
        pytest.skip(f"searching by meaning is not installed: {install_hint('search')}")
    home = tmp_path_factory.mktemp("home")
    folder = home / "sessions"
    parent = ""
    for day, texts in enumerate(TALKS, 1):
        identity = f"sally_202611{day:02}_100000"
        put(folder, simple(identity, at(11, day), *texts, parent=parent))
        parent = identity
    assert run(home, "sessions", "reindex").returncode == 0
    command = [sys.executable, "-m", "chat_loop.library.semantic", str(folder), str(os.getpid())]
    subprocess.run(command, check=True, timeout=60)
    return home


def found(home: Path, words: str, code: int = 0) -> list[dict[str, Any]]:
    result = run(home, "sessions", "search", *words.split(), "--json")
    assert (result.returncode, result.stderr) == (code, b"")
    hits: list[dict[str, Any]] = json.loads(result.stdout)
    return hits


def text_of(hit: dict[str, Any]) -> str:
    return " ".join(hit["excerpts"].values())


@pytest.mark.parametrize(
    "words", ["zebra", "zzqqxx", "asdf jkl", "qwerty", "what is the capital of Peru"]
)
def test_nothing_is_found_where_nothing_fits(home: Path, words: str) -> None:
    assert found(home, words, code=1) == []
    result = run(home, "sessions", "search", *words.split())
    assert (result.returncode, result.stdout, result.stderr) == (1, b"", b"No matches.\n")


def shown(home: Path, *lines: str) -> str:
    """Return the output of a chat for `lines`."""
    stdin = "\n".join((*lines, "exit", "")).encode()
    return run(
        home, "--model", "scripted:echo", stdin=stdin, keys={"COLUMNS": "100"}
    ).stdout.decode()


def test_the_chat_says_so_too(home: Path) -> None:
    assert shown(home, "/search zebra", "/search qwerty").count("No matches.") == 2


def test_a_word_that_was_said_once_comes_first(home: Path) -> None:
    first, *more = found(home, "river")
    assert ("Halikko" in text_of(first), first["related"]) == (True, False)
    assert [hit["related"] for hit in more] == [True] * len(more)
    assert len(more) <= 2


def test_an_id_brings_what_holds_it_and_nothing_else(home: Path) -> None:
    [hit] = found(home, "s3.key")
    assert ("/srv/s3.key" in text_of(hit), hit["related"]) == (True, False)
    assert "/srv/s3.key" in text_of(found(home, "service3 password file")[0])
    assert "/srv/s3.key" in text_of(found(home, "where is s3.key")[0])


def test_the_words_of_an_id_that_nobody_said_are_looked_for(home: Path) -> None:
    assert any("spare key" in text_of(hit) for hit in found(home, "s9.key"))


OTHERWISE = "What ought I buy for my sibling's special day?"


def test_what_was_said_in_other_words_is_called_related(home: Path) -> None:
    [hit, *_] = found(home, OTHERWISE)
    assert ("board games" in text_of(hit), hit["related"]) == (True, True)
    listed = run(home, "sessions", "search", *OTHERWISE.split()).stdout.decode()
    assert "· related\n" in listed
    assert "· related\n" in shown(home, f"/search {OTHERWISE}")
    for words in ("rye", "spare key"):
        assert "related" not in run(home, "sessions", "search", *words.split()).stdout.decode()


def test_the_archive_of_a_chain_has_the_same_floor(home: Path) -> None:
    child = Header(
        id="sally_20261130_100000",
        created=at(11, 30),
        agent="Sally",
        parent="sally_20261114_100000",
    )
    sessions = SessionManager(home / "sessions")
    archive = Archive(sessions, Session(header=child), semantic=SemanticIndex())
    assert archive.call(SEARCH, {"query": "zebra"}).startswith(
        "Nothing in the archive matches that."
    )
    text = archive.call(SEARCH, {"query": OTHERWISE})
    assert "[13.1] 2026-11-13 10:00 (related, in other words)" in text
    assert "(related" not in archive.call(SEARCH, {"query": "s3.key"})
