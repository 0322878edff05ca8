"""What the disk was not told to keep is lost at any moment: a query before its request, a reply
before the next prompt.

The file system's double forgets what was not synced, as a machine without power does.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from chat_loop.errors import SaveError
from chat_loop.events import Event, TextDelta
from chat_loop.sessions.files import Files
from chat_loop.sessions.live import SYNC_SECONDS
from chat_loop.sessions.manager import SessionManager
from chat_loop.sessions.parser import parse
from chat_loop.sessions.records import Query, Seal, Session
from tests.talking import START, SUMMARY, Says, Talk


class Disk(Files):
    """Knows of each file what was synced, and whether the folder was synced since it was created or
    renamed.
    """

    def __init__(self) -> None:
        self.kept: dict[int, int] = {}
        """Bytes of an inode that are safe."""
        self.named: dict[Path, int] = {}
        """The inodes that the folders hold for sure."""

    def sync(self, descriptor: int) -> None:
        super().sync(descriptor)
        status = os.fstat(descriptor)
        self.kept[status.st_ino] = status.st_size

    def sync_directory(self, path: Path) -> None:
        super().sync_directory(path)
        self.named |= {file: file.stat().st_ino for file in path.glob("*.md")}

    def after_a_crash(self, path: Path) -> Session | None:
        """The session as it is read when the power goes off now; None when there is no file."""
        inode = path.stat().st_ino if path.exists() else 0
        if self.named.get(path) != inode:
            return None
        return parse(path.read_bytes()[: self.kept.get(inode, 0)]).session


class Powerless:
    """A conversation that is looked at after each event as a machine without power would find
    it.
    """

    def __init__(self, folder: Path, *steps: str | Says) -> None:
        self.disk = Disk()
        self.talk = Talk(folder, *steps, files=self.disk)

    def found(self) -> list[tuple[str, str]]:
        """Every exchange that survives: the query and what is there of its reply."""
        session = self.disk.after_a_crash(self.talk.path)
        exchanges = session.exchanges if session is not None else ()
        return [
            (one.query.text, one.reply.text if one.reply is not None else "") for one in exchanges
        ]

    def at(self, kind: type[Event], look: Callable[[], None]) -> None:
        """Look when an event of this kind comes."""

        def screen(event: Event) -> None:
            if isinstance(event, kind):
                look()

        self.talk.screen = screen


def test_a_query_is_safe_before_its_request_leaves(tmp_path: Path) -> None:
    one = Powerless(tmp_path, Says(("Hello",)), Says(("Again",)))
    seen: list[list[tuple[str, str]]] = []
    stream = one.talk.model.stream

    def watched(request):  # type: ignore[no-untyped-def]
        seen.append(one.found())
        return stream(request)

    one.talk.model.stream = watched  # type: ignore[method-assign]

    async def on() -> None:
        await one.talk.conversation.ask("first")
        await one.talk.conversation.ask("second")

    asyncio.run(on())
    assert seen == [[("first", "")], [("first", "Hello"), ("second", "")]]
    one.talk.conversation.close()


def test_a_new_file_has_its_name_for_sure(tmp_path: Path) -> None:
    """Also where the note of the current session, whose folder is the same, cannot be written."""
    disk = Disk()
    live = SessionManager(tmp_path, files=disk).begin(agent="A")
    live.add(Query(number=1, at=START, text="first"))
    session = disk.after_a_crash(live.path)
    assert session is not None
    assert [exchange.query.text for exchange in session.exchanges] == ["first"]
    live.close()


def test_a_reply_is_safe_before_the_next_prompt(tmp_path: Path) -> None:
    one = Powerless(tmp_path, "Hello", "Again")

    async def on() -> None:
        for query, said in (
            ("first", [("first", "Hello")]),
            ("second", [("first", "Hello"), ("second", "Again")]),
        ):
            await one.talk.conversation.ask(query)
            assert one.found() == said
            session = one.disk.after_a_crash(one.talk.path)
            assert session is not None
            assert session.exchanges[-1].reply is not None
            assert session.exchanges[-1].reply.stop == "end"

    asyncio.run(on())
    one.talk.conversation.close()


def test_a_long_reply_is_safe_every_two_seconds(tmp_path: Path) -> None:
    pieces = tuple(f"word{number} " for number in range(12))
    one = Powerless(tmp_path, Says(pieces))
    lengths: list[int] = []

    def look() -> None:
        one.talk.clock.seconds += SYNC_SECONDS / 3
        lengths.append(len(one.found()[0][1]))

    one.at(TextDelta, look)
    asyncio.run(one.talk.conversation.ask("first"))
    written = [len("".join(pieces[:count])) for count in range(1, 13)]
    behind = [sum(whole > length for whole in written[:at]) for at, length in enumerate(lengths, 1)]
    assert max(behind) <= 4, "what is older than two seconds is safe"
    one.talk.conversation.close()


def test_pins_compactions_and_seals_are_safe_when_they_are_told(tmp_path: Path) -> None:
    one = Powerless(tmp_path, "Hello", SUMMARY, "Understood.", "Again")

    async def on() -> None:
        conversation = one.talk.conversation
        await conversation.ask("first")
        conversation.pin("keep this")
        session = one.disk.after_a_crash(one.talk.path)
        assert session is not None
        assert session.pins == ("keep this",)
        parent = one.talk.path
        assert await conversation.compact()
        sealed = one.disk.after_a_crash(parent)
        assert sealed is not None
        assert sealed.seal is not None
        assert sealed.seal.summary is not None
        await conversation.ask("second")
        assert one.found() == [("second", "Again")]

    asyncio.run(on())
    one.talk.conversation.close()


def test_words_that_were_put_into_a_new_file_are_safe_there(tmp_path: Path) -> None:
    one = Powerless(tmp_path, "Hello", "Again")

    async def on() -> None:
        await one.talk.conversation.ask("first")
        one.talk.path.write_bytes(b"")
        await one.talk.conversation.ask("second")

    asyncio.run(on())
    assert one.found() == [("first", "Hello"), ("second", "Again")]
    one.talk.conversation.close()


def test_a_disk_that_refuses_to_sync_is_not_called_safe(tmp_path: Path) -> None:
    one = Powerless(tmp_path, "Hello")
    asyncio.run(one.talk.conversation.ask("first"))

    def refuse(descriptor: int) -> None:
        raise OSError(5, "Input/output error")

    one.disk.sync = refuse  # type: ignore[method-assign]
    with pytest.raises(SaveError, match="input/output error"):
        one.talk.conversation.live.seal(Seal(at=START, reason="exit"))
    assert not one.talk.conversation.live.saved
    one.talk.conversation.close()
