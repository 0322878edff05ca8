"""Forks: a new session that goes on from an earlier query. Later words stay with the parent."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from pathlib import Path

import pytest
from msgspec.structs import replace

from chat_loop.context.budget import Limits
from chat_loop.context.messages import Thread, messages_of
from chat_loop.conversation.options import Options
from chat_loop.conversation.resume import fork_stored, thread_of
from chat_loop.errors import UsageError
from chat_loop.events import SessionFound
from chat_loop.library.archive_tools import READ
from chat_loop.sessions.chain import read_chain
from chat_loop.sessions.manager import LoadedSession
from chat_loop.sessions.parser import parse
from chat_loop.sessions.records import Exchange, Pin, Session, Unpin
from chat_loop.sessions.writer import render
from chat_loop.values import Window
from tests.support.chains import chain_exchanges
from tests.support.scripted_chat import SUMMARY, Step, Talk, names, said

QUIET = Options(acknowledge=False, attach_from_archive=False)
FIRST, SECOND = "sally_20261121_223015", "sally_20261121_223025"


def pair(number: int) -> tuple[str, str]:
    return (
        f"Question {number}: where is item {number}00{number}?",
        f"Item {number}00{number} is on shelf {number}-B7.",
    )


def words(*numbers: int) -> tuple[str, ...]:
    return tuple(text for number in numbers for text in pair(number))


async def say(talk: Talk, *numbers: int) -> None:
    for number in numbers:
        query, reply = pair(number)
        talk.model.steps.append(reply)
        await talk.conversation.ask(query)


async def fork(talk: Talk, number: int, loaded: LoadedSession | None = None) -> None:
    conversation = talk.conversation
    loaded = loaded or LoadedSession(conversation.session, conversation.live.path, is_open=True)
    await conversation.accept(await conversation.planner().fork(loaded, number), acknowledge=False)


async def compact(talk: Talk, step: Step = SUMMARY) -> None:
    talk.model.steps.append(step)
    assert await talk.conversation.compact()


def refs(exchanges: Iterable[Exchange]) -> list[str]:
    return [exchange.ref for exchange in exchanges]


def chain_of(talk: Talk) -> list[tuple[str, int]]:
    """Return each session of the chain and its number of exchanges, oldest first."""
    session = talk.conversation.session
    chain = read_chain(talk.sessions, session)
    assert chain.problem == ""
    line = [*(loaded.session for loaded in reversed(chain.ancestors)), session]
    return [(one.header.id, len(one.exchanges)) for one in line]


def read(folder: Path, identity: str) -> Session:
    data = (folder / f"{identity}.md").read_bytes()
    parsed = parse(data)
    assert parsed.session is not None
    assert parsed.damage == ()
    assert render(parsed.session) == data
    return parsed.session


@pytest.mark.parametrize("at", [1, 3, 5])
def test_a_fork_has_the_words_up_to_its_query(tmp_path: Path, at: int) -> None:
    talk = Talk(tmp_path, options=QUIET)

    async def run() -> None:
        await say(talk, 1, 2, 3, 4, 5)
        await fork(talk, at)
        assert refs(talk.conversation.thread.exchanges) == [
            f"1.{number}" for number in range(1, at + 1)
        ]
        await say(talk, 6)
        assert talk.sent[-1] == said(*words(*range(1, at + 1)), pair(6)[0])
        assert chain_of(talk) == [(FIRST, at), (SECOND, 1)]
        await talk.conversation.leave("exit")

    asyncio.run(run())
    child, parent = read(tmp_path, SECOND), read(tmp_path, FIRST)
    given = child.restoration
    assert given is not None
    assert (given.until, given.verbatim_from, given.unsummarized_from) == (f"1.{at}", "1.1", "1.1")
    assert (len(parent.exchanges), parent.seal and parent.seal.reason) == (5, "resume")


def test_the_transcript_of_a_fork(tmp_path: Path) -> None:
    talk = Talk(tmp_path, options=QUIET)

    async def run() -> None:
        await say(talk, 1, 2)
        talk.conversation.describe(name="Shelves")
        await talk.conversation.leave("exit")

    asyncio.run(run())
    fork_stored(talk.sessions, talk.sessions.load(tmp_path / f"{FIRST}.md"), 1)
    text = (tmp_path / "sally_20261121_223019.md").read_text().replace(str(tmp_path), "/sessions")
    assert (
        text.partition("<!-- chat:end -->\n")[2] == """\

---

"""
        "<!-- chat:restoration queries=2 tokens=220 of=2026-11-21T22:30:15+01:00 since=1.1 "
        "fresh=1.1 until=1.1 "
        "at=2026-11-21T22:30:19+01:00 -->\n"
        """\
## Session Restored (22:30:19)

**Context:** Resumed from [sally_20261121_223015](sally_20261121_223015.md) (2 queries, 220 tokens; the words from 1.1 on; forked at 1.1)

<details><summary>Restored context</summary>



</details>
<!-- chat:end -->
"""
    )


def test_the_parent_can_be_gone_on_with_and_has_everything(tmp_path: Path) -> None:
    talk = Talk(tmp_path, options=QUIET)

    async def run() -> None:
        await say(talk, 1, 2, 3)
        await fork(talk, 1)
        await say(talk, 4)
        parent = talk.sessions.load(tmp_path / f"{FIRST}.md")
        await talk.conversation.accept(await talk.conversation.planner().resume(parent, whole=True))
        assert refs(talk.conversation.thread.exchanges) == ["1.1", "1.2", "1.3"]
        await say(talk, 5)
        assert talk.sent[-1] == said(*words(1, 2, 3), pair(5)[0])
        talk.conversation.close()

    asyncio.run(run())


def test_a_fork_of_a_fork_that_was_compacted_and_taken_back(tmp_path: Path) -> None:
    talk = Talk(tmp_path, options=QUIET)

    async def run() -> None:
        conversation = talk.conversation
        await say(talk, 1, 2, 3, 4)
        await fork(talk, 2)
        await say(talk, 5, 6)
        await fork(talk, 1)
        assert refs(conversation.thread.exchanges) == ["1.1", "1.2", "2.1"]
        await say(talk, 7)
        assert talk.sent[-1] == said(*words(1, 2, 5), pair(7)[0])
        assert [count for _, count in chain_of(talk)] == [2, 1, 1]
        await compact(talk)
        block = conversation.session.restoration
        assert block is not None
        assert "shelf 7" in block.block
        assert not any(f"item {number}00{number}" in block.block.lower() for number in (3, 4, 6))
        await say(talk, 8)
        assert [count for _, count in chain_of(talk)] == [2, 1, 1, 1]
        await conversation.accept(await conversation.planner().uncompact(), acknowledge=False)
        assert refs(conversation.thread.exchanges) == ["1.1", "1.2", "2.1", "3.1", "4.1"]
        with pytest.raises(UsageError, match="This session was not compacted"):
            await conversation.planner().uncompact()
        conversation.close()

    asyncio.run(run())


def test_uncompact_in_a_fork_takes_back_the_compaction_before_it(tmp_path: Path) -> None:
    talk = Talk(tmp_path, options=QUIET)

    async def run() -> None:
        conversation = talk.conversation
        await say(talk, 1, 2)
        await fork(talk, 1)
        with pytest.raises(UsageError, match="This session was not compacted"):
            await conversation.planner().uncompact()
        await say(talk, 3)
        await compact(talk)
        await say(talk, 4, 5)
        await fork(talk, 1)
        assert refs(conversation.thread.exchanges) == ["3.1"]
        await conversation.accept(await conversation.planner().uncompact(), acknowledge=False)
        assert refs(conversation.thread.exchanges) == ["1.1", "2.1", "3.1"]
        await say(talk, 6)
        assert talk.sent[-1] == said(*words(1, 3, 4), pair(6)[0])
        assert [count for _, count in chain_of(talk)] == [
            1,
            1,
            1,
            1,
        ]  # nothing was said in the second fork, so it has no file
        conversation.close()

    asyncio.run(run())


def test_a_session_with_carried_words_is_forked_with_them(tmp_path: Path) -> None:
    limits = Limits(preserve_recent=4)
    talk = Talk(
        tmp_path, options=Options(acknowledge=False, attach_from_archive=False, limits=limits)
    )

    async def run() -> None:
        conversation = talk.conversation
        await say(talk, 1, 2, 3, 4, 5, 6, 7, 8)
        await compact(talk)
        carried = refs(conversation.thread.carried)
        assert carried == ["1.7", "1.8"]
        inherited = conversation.thread.inherited
        await say(talk, 1, 2)
        await fork(talk, 1)
        assert refs(conversation.thread.exchanges) == [*carried, "2.1"]
        assert refs(conversation.thread.fresh) == [*carried, "2.1"]
        assert conversation.thread.inherited == inherited
        with pytest.raises(UsageError, match="No query 3 in this session: it has 2 queries"):
            await fork(talk, 3, talk.sessions.load(tmp_path / names(tmp_path)[1]))
        conversation.close()

    asyncio.run(run())


def test_the_archive_of_a_fork_does_not_know_what_was_said_after_it(tmp_path: Path) -> None:
    talk = Talk(tmp_path, options=QUIET)

    async def run() -> None:
        conversation = talk.conversation
        await say(talk, 1, 2, 3, 4)
        await fork(talk, 2)
        await conversation.compaction.wait()
        archive = conversation.archive
        assert archive is not None
        read = archive.call(READ, {"queries": "1-9"})
        assert [f"Item {number}00{number}" in read for number in range(1, 5)] == [
            True,
            True,
            False,
            False,
        ]
        assert "queries 1 to 2" in archive.call(READ, {"queries": "1.3"})
        await say(talk, 5)
        await compact(talk)
        await conversation.compaction.wait()
        archive = conversation.archive
        assert archive is not None
        found = {
            hit.exchange.ref
            for number in range(1, 6)
            for hit in archive.search(f"item {number}00{number}")
        }
        assert found == {"1.1", "1.2", "2.1"}
        chain = read_chain(talk.sessions, conversation.session)
        assert [refs(part) for part in chain_exchanges(chain, 3)] == [["1.1", "1.2"], ["2.1"]]
        await say(talk, 6)
        await conversation.leave("exit")
        # Meanwhile the parent goes on, and its summary covers words that the fork does not have.
        talk.model.steps.append(SUMMARY)
        await talk.resume(FIRST)
        await say(talk, 7)
        assert [count for _, count in chain_of(talk)] == [4, 1]
        fork_again = talk.sessions.load(tmp_path / names(tmp_path)[2]).session
        chain = read_chain(talk.sessions, fork_again)
        assert [loaded.session.seal is None for loaded in chain.ancestors] == [False, True]
        conversation.close()

    asyncio.run(run())


def test_pins_are_those_that_held_at_that_query(tmp_path: Path) -> None:
    talk = Talk(tmp_path, options=QUIET)

    async def run() -> None:
        await say(talk, 1)
        talk.conversation.pin("Before.")
        await say(talk, 2)
        talk.conversation.pin("After.")
        talk.conversation.unpin("Before.")
        await fork(talk, 1)
        assert talk.conversation.thread.pins == ("Before.",)
        assert [type(entry) for entry in talk.conversation.session.entries[1:]] == [Pin]
        await say(talk, 3)
        await compact(talk)
        assert talk.conversation.thread.pins == ("Before.",)
        talk.conversation.unpin("Before.")
        await say(talk, 4)
        await fork(talk, 1)
        assert not talk.conversation.thread.pins
        assert [type(entry) for entry in talk.conversation.session.entries[1:]] == [Unpin]
        talk.conversation.close()

    asyncio.run(run())


def test_a_fork_without_a_chat_has_the_pins_that_held(tmp_path: Path) -> None:
    talk = Talk(tmp_path, options=QUIET)

    async def run() -> None:
        talk.conversation.pin("from the first")
        await say(talk, 1)
        await compact(talk)
        talk.conversation.unpin("from the first")
        talk.conversation.pin("from the second")
        await say(talk, 2)
        await say(talk, 3)
        talk.conversation.pin("said later")
        await talk.conversation.leave("exit")

    asyncio.run(run())
    second = talk.sessions.load(tmp_path / names(tmp_path)[1])
    talk.clock.seconds += 60
    identity = fork_stored(talk.sessions, second, 1)
    loaded = talk.sessions.load(tmp_path / f"{identity}.md")
    thread, missing = thread_of(talk.sessions, loaded.session)
    assert (thread.pins, missing) == (("from the second",), "")
    assert messages_of(Thread(replace(thread.session, entries=()), thread.exchanges)) == said(
        *words(2)
    )


def test_what_does_not_fit_is_summarised(tmp_path: Path) -> None:
    """The session is made with a large window and forked with a small one."""
    large = Talk(tmp_path, options=QUIET)

    async def prepare() -> None:
        for number in range(1, 25):
            query, reply = pair(number)
            large.model.steps.append(f"{reply} {'Dust lies there. ' * 20}")
            await large.conversation.ask(query)
        large.conversation.close()

    asyncio.run(prepare())
    window = Window(900)
    options = replace(QUIET, use_ai_summary=False)
    small = Talk(tmp_path, "Fine.", clock=large.clock, options=options, window=window)

    async def run() -> None:
        conversation = small.conversation
        plan = await conversation.planner().fork(small.sessions.load(large.path), 20)
        assert plan.left_out == 20 - len(plan.carried)
        assert 0 < plan.left_out < 20
        data = large.path.read_bytes()
        await conversation.accept(plan, acknowledge=False)
        assert large.path.read_bytes() == data, "a summary of a part is no summary of the session"
        given = conversation.session.restoration
        assert given is not None
        assert (given.until, given.unsummarized_from) == ("1.20", "")
        assert "shelf 2-B7" in given.block
        assert not any(f"shelf {number}-" in given.block for number in range(21, 25))
        await conversation.ask("Go on")
        for request in small.model.requests:
            text = " ".join(message.text for message in request.messages)
            assert len(text.split()) <= window.tokens
            assert "Item 210021" not in text
        conversation.close()

    asyncio.run(run())


def test_a_fork_that_was_left_at_once_is_resumed_with_its_words(
    tmp_path: Path,
) -> None:
    talk = Talk(tmp_path, options=QUIET)

    async def run() -> None:
        await say(talk, 1, 2, 3)
        await fork(talk, 2)
        talk.conversation.pin("Quiet, please.")  # so that the fork has a file
        identity = talk.conversation.live.header.id
        await talk.conversation.leave("exit")
        await talk.resume(identity)
        [found] = [event for event in talk.events if isinstance(event, SessionFound)]
        assert found.queries == 3, "those of its parent, as it has none of its own"
        given = talk.conversation.session.restoration
        assert given is not None
        assert given.block == ""
        sent = "".join(message.text for message in talk.conversation.meter.messages())
        assert ("Item 2002" in sent, "Item 3003" in sent) == (True, False)
        talk.conversation.close()

    asyncio.run(run())
