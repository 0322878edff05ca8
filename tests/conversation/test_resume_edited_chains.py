"""Commands without arguments, and an archive that survives a fault."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.support.loopback import Loopback
from chat_loop.library.archive import Archive
from chat_loop.library.archive_tools import SEARCH
from chat_loop.sessions.manager import SessionManager
from chat_loop.sessions.records import Query, Reply, Restoration
from tests.support.piped_chat import chat, files
from tests.support.scripted_chat import START

BLOCK = (
    "**Background Context:** Initial session.\n\n**Current Session Summary:**\n**Topics "
    "Discussed:**\n- Boats [1]"
)


def made(folder: Path, identity: str, parent: str, *, asked: str = "") -> None:
    """Write a session that names `parent`, which need not exist."""
    sessions = SessionManager(folder, now=lambda: START)
    live = sessions.begin(
        agent="Assistant", parent=parent, parent_path=str(folder / f"{parent}.md")
    )
    live.add(Restoration(at=START, parent_created=START, queries=1, tokens=9, block=BLOCK))
    if asked:
        live.add(Query(number=1, at=START, text=asked))
        live.add(Reply(number=1, at=START, text="Noted."))
    live.close()
    live.path.write_text(live.path.read_text().replace(live.header.id, identity))
    live.path.rename(folder / f"{identity}.md")


@pytest.mark.parametrize("line", ["/exit now", "/quit please"])
def test_exit_takes_nothing(tmp_path: Path, line: str) -> None:
    with Loopback() as server:
        shown = chat(tmp_path, server, line, "hello", "exit")
        assert "/exit takes no argument." in shown
        assert "You said: hello" in shown
    assert len(files(tmp_path)) == 1


def test_an_archive_survives_a_fault(tmp_path: Path) -> None:
    made(tmp_path, "parent", "gone", asked="Our port is 8443.")
    made(tmp_path, "child", "parent")
    faults = [MemoryError("no memory is left")]

    def count(text: str) -> int:
        if faults:
            raise faults.pop()
        return len(text.split())

    sessions = SessionManager(tmp_path)
    child = sessions.load(tmp_path / "child.md").session
    archive = Archive(sessions, child, count=count)
    assert "cannot be searched" in archive.call(SEARCH, {"query": "port"})
    assert "8443" in archive.call(SEARCH, {"query": "port"})
