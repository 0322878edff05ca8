"""Chains that somebody edited, typed commands, and an archive that survives a fault."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.support.loopback import Loopback
from chat_loop.library.archive import Archive
from chat_loop.library.archive_tools import SEARCH
from chat_loop.sessions.manager import SessionManager
from chat_loop.sessions.records import Query, Reply, Restoration
from tests.support.piped_chat import begun, chat, files
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


def test_a_chain_that_comes_back_to_itself_is_listed_said_and_resumable(tmp_path: Path) -> None:
    folder = tmp_path / "sessions"
    made(folder, "one", "two")
    made(folder, "two", "one", asked="Our port is 8443.")
    made(folder, "three", "four")
    made(folder, "four", "three")
    with Loopback() as server:
        shown = chat(
            tmp_path,
            server,
            "sessions",
            "/resume two --quick",
            "/tree",
            "/uncompact",
            "And now?",
            "exit",
        )
        assert "✓ Found: Assistant" in shown
        assert server.requests[0].texts[-1].endswith("And now?")
        assert "8443" in " ".join(server.requests[0].texts)
        for identity in ("one", "three"):
            shown = chat(
                tmp_path, server, f"/resume {identity} --quick", "/history", "/uncompact", "exit"
            )
            assert "Goodbye!" in shown
        assert "its sessions go on from each other" in shown


def test_a_chain_with_a_missing_middle_is_said_and_resumable(tmp_path: Path) -> None:
    made(tmp_path / "sessions", "last", "gone", asked="Our port is 8443.")
    with Loopback() as server:
        shown = chat(
            tmp_path, server, "/resume last --quick", "/tree", "/uncompact", "And now?", "exit"
        )
        assert "✓ Found: Assistant" in shown
        assert "Conversation saved successfully!" in shown


@pytest.mark.parametrize("line", ["resume", "/resume", "resume  "])
def test_resume_alone_shows_what_can_be_resumed(tmp_path: Path, line: str) -> None:
    with Loopback() as server:
        begun(tmp_path, server)
        shown = chat(tmp_path, server, line, "resume 1", "exit")
        assert "1 query" in shown
        assert "Type resume and a number" in shown
        assert "✓ Found: Assistant" in shown
        assert len(server.requests) == 1  # only the acknowledgment, and no message


def test_resume_alone_without_any_session(tmp_path: Path) -> None:
    with Loopback() as server:
        shown = chat(tmp_path, server, "resume", "exit")
        assert "No conversations yet;" in shown
        assert "Type resume" not in shown
        assert server.requests == []


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
