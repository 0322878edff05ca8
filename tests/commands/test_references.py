"""Finding a session by its number in a list, or by the beginning of its id."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest

from chat_loop.commands.references import find_session
from chat_loop.errors import SessionNotFound
from chat_loop.library.library import Library
from chat_loop.library.shared import Answer
from chat_loop.sessions.copies import add_session
from chat_loop.sessions.manager import SessionManager
from chat_loop.sessions.records import Header, Query, Session
from tests.support.hostile_chain import START

IDS = ("a_20261121_223015", "b_20261121_223016")


@pytest.mark.parametrize(
    ("reference", "message"),
    [
        ("99", "No session 99: the numbers go from 1 to 2."),
        ("0", "No session 0: the numbers go from 1 to 2."),
        ("9" * 400, f"No session {'9' * 40}: the numbers go from 1 to 2."),
        ("nope", "No session named nope."),
        ("", "No session named ."),
        ("../../etc/passwd", "No session named ../../etc/passwd."),
        ("/etc/passwd", "No session named /etc/passwd."),
        ("a\x00b", "No session named a⟦U+0000⟧b."),
    ],
)
def test_a_reference_to_nothing_says_what_exists(
    tmp_path: Path, reference: str, message: str
) -> None:
    sessions = SessionManager(tmp_path)
    for at, identity in enumerate(IDS):
        header = Header(id=identity, created=START, agent="A")
        query = Query(number=1, at=START, text="hi")
        assert add_session(sessions, Session(header=header, entries=(query,)), at)
    shown = [*reversed(IDS)]

    def find(text: str) -> Path:
        with closing(Library(tmp_path)) as library:
            return find_session(sessions, library, text, lambda: Answer(shown)).value

    with pytest.raises(SessionNotFound) as caught:
        find(reference)
    assert caught.value.message == message
    assert find("2") == find("a_2026") == tmp_path / f"{IDS[0]}.md"
