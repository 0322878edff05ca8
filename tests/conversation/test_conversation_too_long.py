"""If a server refuses a request as too long, the conversation is compacted and the query is sent
once more.
"""

from __future__ import annotations

import errno
from hashlib import sha256
from pathlib import Path

import pytest

from chat_loop.conversation.conversation_options import Options
from chat_loop.conversation.reading import QueryFile
from chat_loop.errors import ContextTooLong
from chat_loop.sessions.files import Files
from chat_loop.sessions.manager import SessionManager
from chat_loop.sessions.records import Attachment
from tests.support.scripted_chat import Talk

OPTIONS = Options(attach_from_archive=False, acknowledge=False, use_ai_summary=False)
TOO_LONG = ContextTooLong(
    "It is too long for the model.", "Type compact to shorten the conversation."
)


class UnsealedFiles(Files):
    """Files that cannot be replaced: a seal fails, and all else is saved."""

    def replace(self, path: Path, data: bytes) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")


async def test_the_query_stays_if_the_seal_cannot_be_saved(tmp_path: Path) -> None:
    talk = Talk(tmp_path, "One.", TOO_LONG, "Two.", options=OPTIONS, files=UnsealedFiles())
    text = Attachment(
        number=0, at=talk.clock.now(), name="a.md", media="text/markdown", size=5,
        sha256=sha256(b"words").hexdigest(), text="words",
    )  # fmt: skip

    await talk.conversation.ask("First.")
    with pytest.raises(ContextTooLong):
        await talk.conversation.ask("Second, with @a.md.", [QueryFile(text)])
    [path] = tmp_path.glob("*.md")
    saved = SessionManager(tmp_path).load(path).session
    assert [exchange.query.text for exchange in saved.exchanges] == [
        "First.", "Second, with @a.md."
    ]  # fmt: skip
    assert [file.text for file in saved.exchanges[-1].attached] == ["words"]
    assert saved.exchanges[-1].failed, "/retry sends it again"
