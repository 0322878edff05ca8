"""Failures of the model, a summary or the disk, and interruptions by the user: what was said is
kept, and the conversation goes on.
"""

from __future__ import annotations

import asyncio
import errno
from pathlib import Path

import pytest

from chat_loop.conversation.conversation_options import Options
from chat_loop.errors import SaveError
from chat_loop.events import Warned
from chat_loop.sessions.parser import parse
from chat_loop.sessions.records import Query, Reply
from tests.support.failing_files import FailingFiles
from tests.support.scripted_chat import SUMMARY, Talk, names, said

ID = "sally_20261121_223015"
FULL_HINT = (
    "Free some space or fix the permissions: it is tried again with every message. The "
    "conversation is in memory."
)


def not_saved(talk: Talk, reason: str = "no space left on device", hint: str = FULL_HINT) -> Warned:
    return Warned(f"Not saved: {talk.path}: {reason}.", hint)


def saved_entries(path: Path) -> list[tuple[str, str, str]]:
    """Return (kind, text, stop) of each query and reply in a file, which must be undamaged."""
    parsed = parse(path.read_bytes())
    assert parsed.damage == ()
    assert parsed.session is not None
    return [
        (type(entry).__name__, entry.text, entry.stop if isinstance(entry, Reply) else "")
        for entry in parsed.session.entries
        if isinstance(entry, Query | Reply)
    ]


def test_a_full_disk_is_told_once_and_so_is_its_end(tmp_path: Path) -> None:
    files = FailingFiles()
    talk = Talk(tmp_path, *("one", "two", "three", "four"), files=files)

    async def run() -> None:
        await talk.conversation.ask("1")
        talk.told()
        files.room = 5
        for query in ("2", "3"):
            await talk.conversation.ask(query)
        assert [event for event in talk.told() if isinstance(event, Warned)] == [not_saved(talk)]
        assert not talk.conversation.live.is_saved
        files.room = None
        await talk.conversation.ask("4")

    asyncio.run(run())
    works = Warned("Saving works again: everything said so far is on disk.")
    assert [event for event in talk.events if isinstance(event, Warned)] == [works]
    parsed = parse(talk.path.read_bytes())
    assert parsed.session == talk.conversation.session
    assert talk.sent[-1] == said("1", "one", "2", "two", "3", "three", "4")


async def test_compact_on_a_full_disk_keeps_the_words_it_cannot_save(tmp_path: Path) -> None:
    files = FailingFiles()
    talk = Talk(tmp_path, "Hello.", SUMMARY, "Yes.", SUMMARY, "Ready.", files=files)
    message = f"{talk.path} has all words, but no summary: no space left on device."
    hint = "Not compacted: the conversation continues with all its words. Free some space or fix "
    hint += "the permissions."

    await talk.conversation.ask("Hi")
    files.room = 0
    assert not await talk.conversation.compact()
    assert talk.events[-1] == Warned(message, hint)
    assert talk.conversation.live.is_saved
    files.room = None
    await talk.conversation.ask("Still there?")
    assert not [event for event in talk.told() if isinstance(event, Warned)][1:]
    assert await talk.conversation.compact()
    assert talk.sent[2] == said("Hi", "Hello.", "Still there?")
    assert [entry[1] for entry in saved_entries(tmp_path / f"{ID}.md")] == [
        "Hi",
        "Hello.",
        "Still there?",
        "Yes.",
    ]


async def test_a_session_that_cannot_be_saved_is_not_left_for_another(tmp_path: Path) -> None:
    files = FailingFiles()
    talk = Talk(tmp_path, "Hello.", "Hello again.", files=files)

    files.room = 0
    await talk.conversation.ask("Hi")
    with pytest.raises(SaveError, match="no space left on device") as caught:
        await talk.conversation.leave("clear")
    assert caught.value.hint == f"Staying in this session. {FULL_HINT}"
    files.room = None
    await talk.conversation.ask("Hi again")
    await talk.conversation.leave("clear")
    assert talk.sent[1] == said("Hi", "Hello.", "Hi again")
    assert names(tmp_path) == [f"{ID}.md"]
    assert [entry[1] for entry in saved_entries(tmp_path / f"{ID}.md")] == [
        "Hi",
        "Hello.",
        "Hi again",
        "Hello again.",
    ]


def test_a_summary_that_cannot_be_kept_in_its_session_is_said_and_used(tmp_path: Path) -> None:
    first = Talk(tmp_path, *["Hello."] * 6)

    async def say() -> None:
        for number in range(6):
            await first.conversation.ask(f"Hi {number}")

    asyncio.run(say())
    first.conversation.close()
    files = FailingFiles()
    talk = Talk(
        tmp_path,
        SUMMARY,
        files=files,
        options=Options(acknowledge=False, attach_from_archive=False),
        clock=first.clock,
    )

    async def run() -> None:
        files.sync_error = OSError(errno.EROFS, "Read-only file system")
        await talk.resume(ID)
        assert files.failures

    asyncio.run(run())
    message = f"Not saved: {tmp_path / ID}.md: read-only file system."
    assert message in [event.message for event in talk.events if isinstance(event, Warned)]
    restoration = talk.conversation.session.restoration
    assert restoration is not None
    assert "- Greetings [1]\n" in restoration.block
