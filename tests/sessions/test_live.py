"""Another program changes a session's file while the session is open. Nothing that was said is
lost, and the user is told.

Each disturbance changes a real file during a conversation. Then the conversation goes on and ends
in one of the possible ways. Afterwards some file of the folder contains every acknowledged query
and reply, the session that the program names contains all of them, and it can be resumed.
"""

from __future__ import annotations

import asyncio
import os
import re
import select
import signal
import subprocess
import sys
import time
from collections.abc import Coroutine
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import pytest

from chat_loop.errors import SessionError
from chat_loop.events import SessionSealed, Warned
from chat_loop.sessions.copies import adopt_conflict_copies
from chat_loop.sessions.manager import SessionManager
from chat_loop.sessions.records import Query, Reply, Session
from tests.support.disturbances import OLD, WAYS, Way, replaced
from tests.support.scripted_chat import SUMMARY, Says, Talk

PATIENCE = 60
PROMPT, NEVER = r"You: \Z", r"(?!)"
OUTCOMES = {"old copy by rename", "cut to half", "CRLF", "deleted", "a pipe"}
"""One way for each outcome; the others run the same code."""
by_name = pytest.mark.parametrize(
    "way",
    [pytest.param(way, marks=[pytest.mark.slow] * (way.name not in OUTCOMES)) for way in WAYS],
    ids=lambda way: way.name,
)
QUICK = {"cut to half", "deleted"}
some_by_name = pytest.mark.parametrize(
    "way",
    [
        pytest.param(way, marks=[pytest.mark.slow] * (way.name not in QUICK))
        for way in WAYS
        if way.name in OUTCOMES
    ],
    ids=lambda way: way.name,
)
"""For a process, which takes a second."""


def texts(session: Session) -> list[str]:
    return [
        entry.text for entry in session.entries if isinstance(entry, Query | Reply) and entry.number
    ]


def stored(folder: Path) -> dict[str, list[str]]:
    """Return the texts of each readable session in a folder, by its id."""
    sessions, found = SessionManager(folder), {}
    for path in folder.glob("*.md"):
        try:
            found[path.stem] = texts(sessions.load(path).session)
        except SessionError:
            continue
    return found


def holds(whole: list[str], part: list[str]) -> bool:
    """Return True when `whole` contains all of `part`, in the same order."""
    rest = iter(whole)
    return all(text in rest for text in part)


class Lines:
    """The real program, which is controlled through two pipes."""

    def __init__(self, home: Path) -> None:
        self.folder = home / "sessions"
        self.output = ""
        self._process = subprocess.Popen(
            [sys.executable, "-m", "chat_loop", "--model", "scripted:echo"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env={"CHAT_LOOP_HOME": str(home), "PATH": "/usr/bin:/bin", "LANG": "C.UTF-8"},
            cwd=home,
        )

    def __enter__(self) -> Self:
        try:
            self._read_until(PROMPT)
        except BaseException:
            self.__exit__(None, None, None)
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._process.kill()
        self._process.communicate()  # closes the pipes

    @property
    def path(self) -> Path:
        [path] = self.folder.glob("*.md")
        return path

    def line(self, text: str) -> str:
        """Type a line and return the output up to the next prompt."""
        assert self._process.stdin is not None
        self._process.stdin.write(f"{text}\n".encode())
        self._process.stdin.flush()
        return self._read_until(PROMPT)

    def say(self, text: str) -> list[str]:
        """Send a message and return it with the reply. The next prompt acknowledges the reply."""
        assert f"You said: {text}" in self.line(text)
        return [text, f"You said: {text}"]

    def end(self, text: str = "exit") -> str:
        """Leave the chat and return the rest of the output."""
        assert self._process.stdin is not None
        self._process.stdin.write(f"{text}\n".encode())
        self._process.stdin.flush()
        told = self._read_until(NEVER)
        assert self._process.wait(PATIENCE) == 0, self.output
        return told

    def kill(self, number: signal.Signals) -> int:
        self._process.send_signal(number)
        self._read_until(NEVER)
        return self._process.wait(PATIENCE)

    def _read_until(self, pattern: str) -> str:
        """Read and return the output until it matches `pattern` or ends."""
        assert self._process.stdout is not None
        descriptor, told, deadline = self._process.stdout.fileno(), b"", time.monotonic() + PATIENCE
        while not re.search(pattern, told.decode("utf-8", "replace")):
            ready = select.select([descriptor], [], [], max(0.0, deadline - time.monotonic()))[0]
            assert ready, f"nothing came: {self.output}{told!r}"
            if not (data := os.read(descriptor, 65536)):
                break
            told += data
        self.output += told.decode("utf-8", "replace")
        return told.decode("utf-8", "replace")


@some_by_name
def test_a_chat_on_the_command_line(way: Way, tmp_path: Path) -> None:
    with Lines(tmp_path) as chat:
        said = chat.say("first words")
        path, old = chat.path, tmp_path / OLD
        old.write_bytes(path.read_bytes())
        said += chat.say("second words")
        way.act(path, old)
        there = path.read_bytes() if path.is_file() and not path.is_symlink() else None
        said += chat.say("third words")
        said += chat.say("fourth words")
        ended = " ".join(chat.end().split())
    assert "Conversation saved successfully!" in ended, chat.output
    assert "Queries: 4" in ended
    named = ended.partition("Session ID: ")[2].split()[0]
    assert f"--resume {named}" in ended
    assert stored(chat.folder)[named] == said
    assert (named != path.stem) == way.moves
    flat = " ".join(chat.output.split())
    assert (" changed" in flat or "cannot be read" in flat) == way.moves, flat
    assert ("was deleted" in flat) == way.anew
    if way.moves:
        assert f"the whole session is in {chat.folder / named}.md now" in flat
        if there is not None:
            assert path.read_bytes().startswith(there)
    assert "Traceback" not in chat.output


def disturbed(folder: Path, way: Way, *steps: str | Says) -> tuple[Talk, list[str]]:
    """Return a conversation whose file is disturbed after two exchanges, and their texts."""
    talk = Talk(folder / "sessions", "one", "two", *steps)
    said = []

    async def begin() -> None:
        nonlocal said
        await talk.conversation.ask("first words")
        (folder / OLD).write_bytes(talk.path.read_bytes())
        await talk.conversation.ask("second words")
        said += ["first words", "one", "second words", "two"]
        way.act(talk.path, folder / OLD)

    asyncio.run(begin())
    return talk, said


def warnings_of(talk: Talk) -> list[str]:
    return [event.message for event in talk.events if isinstance(event, Warned)]


def sealed_ids(talk: Talk) -> list[str]:
    return [event.id for event in talk.events if isinstance(event, SessionSealed)]


def check(talk: Talk, way: Way, said: list[str], named: str) -> None:
    """Check that the session `named` contains `said` and can be resumed, and that the user was told
    when the words moved.
    """
    folder = talk.sessions.directory
    assert holds(stored(folder)[named], said), stored(folder)
    told = [
        message
        for message in warnings_of(talk)
        if "was changed" in message or "cannot be read" in message
    ]
    assert bool(told) == way.moves, warnings_of(talk)
    assert not [message for message in warnings_of(talk) if "Not saved" in message]
    assert adopt_conflict_copies(talk.sessions) == [], "every word stands in a session already"
    again = Talk(folder, SUMMARY, "Welcome back.", clock=talk.clock)
    asyncio.run(again.resume(named))
    assert again.conversation.session.header.parent == named
    again.conversation.close()


def run(talk: Talk, work: Coroutine[Any, Any, object]) -> None:
    asyncio.run(work)
    talk.conversation.close()


@by_name
def test_the_exit_right_after(way: Way, tmp_path: Path) -> None:
    """Nothing more is said, so only the end of the session can notice the change."""
    talk, said = disturbed(tmp_path, way, SUMMARY)
    run(talk, talk.conversation.end())
    [named] = sealed_ids(talk)
    check(talk, way, said, named)
    seal = talk.sessions.load(talk.sessions.directory / f"{named}.md").session.seal
    assert seal is not None
    assert seal.summary is not None


@by_name
def test_a_compaction(way: Way, tmp_path: Path) -> None:
    talk, said = disturbed(tmp_path, way, SUMMARY, "Understood.", "three", SUMMARY)

    async def on() -> None:
        assert await talk.conversation.compact()
        await talk.conversation.ask("third words")
        await talk.conversation.end()

    run(talk, on())
    parent, child = sealed_ids(talk)
    found = stored(talk.sessions.directory)
    assert holds(found[child], ["third words", "three"])
    assert (
        talk.sessions.load(talk.sessions.directory / f"{child}.md").session.header.parent == parent
    )
    check(talk, way, said, parent)


@by_name
def test_a_reply_that_streams(way: Way, tmp_path: Path) -> None:
    """The file is disturbed between two pieces of a reply that is then stopped. The words of the
    reply are kept.
    """
    talk = Talk(
        tmp_path / "sessions",
        "one",
        "two",
        Says(("Half a ", "sentence"), then="silence"),
        "four",
        SUMMARY,
    )

    async def on() -> None:
        conversation = talk.conversation
        await conversation.ask("first words")
        (tmp_path / OLD).write_bytes(talk.path.read_bytes())
        await conversation.ask("second words")
        pieces = 0

        def disturb(event: object) -> None:
            nonlocal pieces
            pieces += type(event).__name__ == "TextDelta"
            if pieces == 1:
                pieces += 1
                way.act(talk.path, tmp_path / OLD)

        talk.screen = disturb
        await talk.interrupt(conversation.ask("third words"))
        talk.screen = None
        await conversation.ask("fourth words")
        await conversation.end()

    run(talk, on())
    [named] = sealed_ids(talk)
    said = [
        "first words",
        "one",
        "second words",
        "two",
        "third words",
        "Half a sentence",
        "fourth words",
        "four",
    ]
    check(talk, way, said, named)


@some_by_name
def test_a_hang_up(way: Way, tmp_path: Path) -> None:
    """The terminal is closed, so the user cannot be told, and nothing is summarized."""
    with Lines(tmp_path) as chat:
        said = chat.say("first words")
        path, old = chat.path, tmp_path / OLD
        old.write_bytes(path.read_bytes())
        said += chat.say("second words")
        way.act(path, old)
        assert chat.kill(signal.SIGHUP) == 128 + signal.SIGHUP
    assert "Traceback" not in chat.output
    assert said in stored(chat.folder).values()


def test_what_is_added_by_hand_stays_where_it_was_written(tmp_path: Path) -> None:
    """None of the program's own text is missing, so it keeps using the file. A note, a record and
    another header line that were added by hand are kept.
    """
    talk = Talk(tmp_path, "one", "two")
    record = (
        b"\n<!-- chat:pin at=2026-11-21T22:30:15+01:00 -->\n**Pinned:** by hand\n<!-- "
        b"chat:end -->\n"
    )

    async def on() -> None:
        await talk.conversation.ask("first")
        data = talk.path.read_bytes().replace(
            b"**Agent:**", b"**Name:** My talk\n**Mood:** calm\n**Agent:**"
        )
        replaced(talk.path, data + record + b"\na note\n")
        await talk.conversation.ask("second")
        await talk.conversation.leave("exit")

    run(talk, on())
    [path] = tmp_path.glob("*.md")
    session = talk.sessions.load(path).session
    assert texts(session) == ["first", "one", "second", "two"]
    assert session.pins == ("by hand",)
    assert session.header.name == "My talk"
    assert b"\na note\n" in path.read_bytes()
    assert b"\n**Mood:** calm  \n" in path.read_bytes()
    assert not warnings_of(talk)
