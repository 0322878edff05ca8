"""A resume of a session without a summary gives the prompt at once. The child begins with an
extract, and the model makes a summary in the background, which replaces the extract if nothing was
sent yet. Otherwise it goes into the parent's file and the next compaction. Nothing sent changes.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import closing
from pathlib import Path

import pytest
from msgspec.structs import replace

from chat_loop.context.request import measure
from chat_loop.conversation import continuing
from chat_loop.conversation.background import MAKING
from chat_loop.conversation.conversation_options import Options
from chat_loop.errors import SessionLocked
from chat_loop.events import Event, SummaryPrepared
from chat_loop.sessions import summary_block
from chat_loop.sessions.files import Lock, take_lock
from chat_loop.sessions.records import Seal
from chat_loop.values import Request
from tests.support.scripted_chat import QUIET, SUMMARY, Step, Talk, names

QUERIES = tuple(f"Shelf {number} holds {number}00 files." for number in range(1, 8))


def parent_of(folder: Path) -> str:
    """Make a session whose process was killed, and return its id."""
    talk = Talk(folder, *["Noted."] * len(QUERIES), options=QUIET)

    async def run() -> None:
        for query in QUERIES:
            await talk.conversation.ask(query)
        talk.conversation.close()

    asyncio.run(run())
    return talk.conversation.live.header.id


class Resumed(Talk):
    """A resume of a killed session. The model's summary waits until it is `released`."""

    def __init__(self, folder: Path, *steps: Step, options: Options = QUIET) -> None:
        self.parent = parent_of(folder)
        super().__init__(folder, *steps, options=options)
        self.clock.seconds = 3_600
        self.released = asyncio.Event()
        self._answer = self.model.stream
        self.model.stream = self._hold  # type: ignore[method-assign]

    async def _hold(self, request: Request) -> AsyncIterator[Event]:
        if not request.system.startswith("Task: session summary"):
            async for event in self._answer(request):
                yield event
            return
        self.model.silent.set()
        await self.released.wait()
        self.model.steps.insert(0, SUMMARY)
        async for event in self._answer(request):
            yield event

    async def begin(self) -> None:
        """Resume, and wait until the summary is being made."""
        loaded = self.sessions.load(self.sessions.session_file(self.parent))
        resumed = await continuing.resume(self.conversation.planning(), loaded, summary=True)
        await self.conversation.accept(resumed.plan)
        assert resumed.missing is not None
        assert self.conversation.summarize_missing(resumed.missing)
        await self.model.silent.wait()
        assert self.conversation.background.state == MAKING

    async def summarize(self) -> None:
        """Let the model finish the summary."""
        self.released.set()
        await self.conversation.background.wait()

    @property
    def seal(self) -> Seal | None:
        return self.sessions.load(self.sessions.session_file(self.parent)).session.seal

    @property
    def block(self) -> str:
        restoration = self.conversation.session.restoration
        assert restoration is not None
        return restoration.block

    def uses(self) -> list[str]:
        return [event.use for event in self.events if isinstance(event, SummaryPrepared)]


def test_before_the_first_message_the_summary_takes_the_place_of_the_extract(
    tmp_path: Path,
) -> None:
    talk = Resumed(tmp_path, "Yes.")

    async def run() -> None:
        await talk.begin()
        assert "- Shelf 1 holds 100 files. [1.1]\n" in talk.block
        before = talk.conversation.budget.used
        await talk.summarize()
        assert talk.uses() == ["restored"]
        assert talk.conversation.budget.used != before, "the number shown is that of what is sent"
        conversation = talk.conversation
        assert conversation.budget == measure(conversation.frame, conversation.context)
        assert names(tmp_path) == [f"{talk.parent}.md"]
        await talk.conversation.ask("And now?")
        talk.conversation.close()

    asyncio.run(run())
    [request] = [sent for sent in talk.sent if sent[-1].text == "And now?"]
    assert "- Greetings [1]\n" in request[0].text
    assert QUERIES[-1] in request[-3].text, "the last exchanges go along all the same"
    stored = talk.sessions.load(talk.path).session
    assert stored.restoration is not None
    assert stored.restoration.block == talk.block
    assert talk.seal is not None
    assert talk.seal.summary == summary_block.parse(talk.block)
    assert (talk.seal.source, talk.seal.reason) == ("model", "resume")
    assert talk.seal.usage is not None, "its cost is counted where it was paid"


def test_after_the_first_message_the_prefix_stays_and_the_file_gets_the_summary(
    tmp_path: Path,
) -> None:
    talk = Resumed(tmp_path, "Yes.", "No.", SUMMARY)

    async def run() -> None:
        await talk.begin()
        await talk.conversation.ask("And now?")
        extract = talk.block
        await talk.summarize()
        assert talk.uses() == ["late"]
        assert talk.block == extract
        await talk.conversation.ask("And then?")
        await talk.conversation.compact()
        talk.conversation.close()

    asyncio.run(run())
    [first, second] = [sent for sent in talk.sent if sent[-1].text in ("And now?", "And then?")]
    assert second[: len(first)] == first
    assert talk.seal is not None
    assert talk.seal.source == "model"
    assert "Greetings" in talk.conversation.context.parent_block.background  # type: ignore[union-attr]


def test_an_undo_leaves_the_summary_alone(tmp_path: Path) -> None:
    talk = Resumed(tmp_path, "Yes.")

    async def run() -> None:
        await talk.begin()
        await talk.conversation.ask("And now?")
        await talk.conversation.undo(talk.conversation.session.exchanges[-1])
        await talk.summarize()
        talk.conversation.close()

    asyncio.run(run())
    assert talk.uses() == ["late"]


@pytest.mark.parametrize("how", ["exit", "new", "compact"])
def test_leaving_meanwhile_stops_it_and_costs_nothing_else(tmp_path: Path, how: str) -> None:
    talk = Resumed(tmp_path, "Yes.", "No.", options=replace(QUIET, use_ai_summary=True))

    async def run() -> None:
        await talk.begin()
        if how == "compact":
            await talk.conversation.ask("And now?")
            talk.conversation.options = replace(QUIET, use_ai_summary=False)
            assert await talk.conversation.compact()
        elif how == "new":
            await talk.conversation.leave("clear")
        else:
            await talk.conversation.end()
        assert talk.conversation.background.state == ""
        await talk.summarize()
        talk.conversation.close()

    asyncio.run(run())
    assert talk.seal is None, "the next resume makes it"
    assert talk.uses() == []
    talk.sessions.lock_summary(talk.parent).close()


def test_two_processes_do_not_pay_for_it_twice(tmp_path: Path) -> None:
    talk = Resumed(tmp_path)
    other = Talk(tmp_path, options=QUIET)

    async def run() -> None:
        await talk.begin()
        with pytest.raises(SessionLocked, match="is still being made"):
            other.sessions.lock_summary(talk.parent)
        await other.resume(talk.parent)
        assert other.sent == []
        await talk.summarize()
        other.conversation.close()

    asyncio.run(run())
    assert talk.uses() == ["restored"]


@pytest.mark.parametrize("why", ["no-save", "use_ai_summary", "open"])
def test_nothing_is_paid_for_what_cannot_be_kept(tmp_path: Path, why: str) -> None:
    parent = parent_of(tmp_path)
    talk = Talk(tmp_path, options=replace(QUIET, use_ai_summary=why != "use_ai_summary"))
    if why == "no-save":
        talk.sessions.saves = False
    locked = take_lock(tmp_path, parent) if why == "open" else Lock(-1)
    with closing(locked):
        asyncio.run(talk.resume(parent))
    assert talk.sent == []
    assert talk.conversation.context.carried


@pytest.mark.parametrize("what", ["erased", "replaced", "extended"])
def test_a_file_that_somebody_changes_meanwhile_keeps_what_they_did(
    tmp_path: Path, what: str
) -> None:
    talk = Resumed(tmp_path, "Yes.")
    path = talk.sessions.session_file(talk.parent)
    notes = "Notes of my own.\n"

    async def run() -> None:
        await talk.begin()
        before = path.read_text(encoding="utf-8")
        path.unlink()
        if what != "erased":
            kept = before if what == "extended" else ""
            path.write_text(f"{kept}\n{notes}", encoding="utf-8")
        await talk.summarize()
        await talk.conversation.ask("And now?")
        talk.conversation.close()

    asyncio.run(run())
    assert path.exists() == (what != "erased")
    if what == "replaced":
        assert path.read_text(encoding="utf-8") == f"\n{notes}"
    elif what == "extended":
        text = path.read_text(encoding="utf-8")
        assert notes in text
        assert QUERIES[0] in text
    assert talk.conversation.session.exchanges[-1].query.text == "And now?"
    assert talk.uses() == ["restored"], "the child has it all the same"
