"""Undo: the words count as never said. They stay in the file, but nothing later contains them."""

from __future__ import annotations

import asyncio
from contextlib import closing
from pathlib import Path

import pytest

from chat_loop.context.budget import Limits
from chat_loop.conversation.options import Options
from chat_loop.errors import UsageError
from chat_loop.library.library import Library
from chat_loop.sessions.chain import read_chain
from chat_loop.sessions.parser import parse
from chat_loop.sessions.records import ArchiveContext, Call, Query, Reply, Result, Undo
from chat_loop.values import Usage, Window
from tests.support.scripted_chat import START, SUMMARY, Says, Step, Talk, said

SECRET = "The vault in Tromsø opens with 77-19-03."
ANSWER = "Noted: Tromsø, 77-19-03."
TELLING = ("Tromsø", "77-19-03")
QUIET = Options(acknowledge=False, attach_from_archive=False)


def knows(text: str) -> bool:
    return any(word in text for word in TELLING)


def folder_knows(folder: Path) -> list[str]:
    """Return the files with undone words in their title, restoration or summary block."""
    found = []
    for path in sorted(folder.glob("*.md")):
        session = parse(path.read_bytes()).session
        assert session is not None
        given = session.restoration.block if session.restoration else ""
        ended = path.read_text().partition("<!-- SESSION_SUMMARY_START -->")[2]
        if knows(given) or knows(ended) or knows(session.header.title):
            found.append(path.stem)
    return found


def test_the_next_request_does_not_hold_it_and_the_budget_falls(tmp_path: Path) -> None:
    steps: list[Step] = ["Oak.", Says((ANSWER,), usage=Usage(input=160, output=20)), "Ash."]
    talk = Talk(tmp_path, *steps)

    async def run() -> None:
        await talk.conversation.ask("Which wood is hard?")
        before = talk.conversation.budget
        await talk.conversation.ask(SECRET)
        assert (before.used, talk.conversation.budget.used) == (110, 180)
        exchange = await talk.conversation.undo()
        assert exchange.query.text == SECRET
        assert talk.conversation.budget == before
        totals = talk.conversation.session.totals
        assert (totals.queries, totals.session.total) == (2, 290)
        await talk.conversation.ask("And bright?")
        assert talk.sent[-1] == said("Which wood is hard?", "Oak.", "And bright?")
        assert [one.query.number for one in talk.conversation.session.exchanges] == [1, 3]
        talk.conversation.close()

    asyncio.run(run())
    read = parse(talk.path.read_bytes())
    assert read.damage == ()
    assert read.session == talk.conversation.session
    assert SECRET in talk.text


def test_everything_can_be_undone_one_by_one(tmp_path: Path) -> None:
    talk = Talk(tmp_path, "Oak.", ANSWER, "Hello.")

    async def run() -> None:
        await talk.conversation.ask("Which wood is hard?")
        await talk.conversation.ask(SECRET)
        assert (await talk.conversation.undo()).query.number == 2
        assert (await talk.conversation.undo()).query.number == 1
        with pytest.raises(UsageError, match="No messages in this session"):
            await talk.conversation.undo()
        await talk.conversation.ask("Hi")
        assert talk.sent[-1] == said("Hi")
        assert talk.conversation.session.totals.queries == 3
        await talk.conversation.undo()
        await talk.conversation.leave("exit")

    asyncio.run(run())
    [path] = tmp_path.glob("*.md")
    with closing(Library(tmp_path)) as library:
        assert [row.name for row in library.rows()[0]] == [""]
    talk = Talk(tmp_path)
    with pytest.raises(Exception, match="has no exchanges: it can't be resumed"):
        asyncio.run(talk.resume(path.stem))


def test_calls_results_and_what_the_archive_gave_go_with_the_query(tmp_path: Path) -> None:
    talk = Talk(tmp_path, "Oak.", "Ash.")

    async def run() -> None:
        await talk.conversation.ask("Which wood is hard?")
        live = talk.conversation.live
        live.add(Query(number=2, at=START, text=SECRET))
        live.add(ArchiveContext(number=2, at=START, text="[1.1] Tromsø"))
        live.add(
            Call(number=2, at=START, id="c1", name="read_file", arguments='{"path": "77-19-03"}')
        )
        live.add(Result(number=2, at=START, id="c1", text="Tromsø"))
        reply = Reply(number=2, at=START, text=ANSWER, usage=Usage(input=500, output=50))
        live.begin_reply(2, START)
        live.finish(reply)
        before = len(talk.conversation.meter.messages())
        await talk.conversation.undo()
        assert len(talk.conversation.meter.messages()) < before
        await talk.conversation.ask("And bright?")
        assert talk.sent[-1] == said("Which wood is hard?", "Oak.", "And bright?")
        talk.conversation.close()

    asyncio.run(run())


def test_a_reply_that_was_interrupted_can_be_undone(tmp_path: Path) -> None:
    talk = Talk(tmp_path, Says(("Noted: Trom",), then="silence"), "Oak.")

    async def run() -> None:
        await talk.interrupt(talk.conversation.ask(SECRET))
        await talk.conversation.undo()
        await talk.conversation.ask("Which wood is hard?")
        assert talk.sent[-1] == said("Which wood is hard?")
        talk.conversation.close()

    asyncio.run(run())


NARRATIVE = SUMMARY.replace("Greetings [1]", "The vault in Tromsø opens with 77-19-03 [1.2]")


@pytest.mark.parametrize("asked", [True, False])
def test_a_summary_that_was_prepared_with_it_is_not_used(tmp_path: Path, *, asked: bool) -> None:
    """The summary is made in the background, then the query is undone, then compacted."""
    limits = Limits(max_tokens=200, preserve_recent=2, trigger_threshold=0.9)
    usage = Usage(input=130, output=10)
    steps: list[Step] = ["Oak.", Says((ANSWER,), usage=usage), NARRATIVE]
    options = Options(acknowledge=False, attach_from_archive=False, limits=limits)
    talk = Talk(tmp_path, *steps, options=options, window=Window(4_000))

    async def run() -> None:
        await talk.conversation.ask("Which wood is hard?")
        await talk.conversation.ask(SECRET)
        await talk.conversation.compaction.wait()
        assert not talk.model.steps, "the summary was made"
        await talk.conversation.undo()
        if asked:
            talk.model.steps.append(SUMMARY)
            assert await talk.conversation.compact()
        else:
            talk.model.steps += [
                Says(("Fine.",), usage=Usage(input=190, output=10)),
                SUMMARY,
                "So.",
            ]
            await talk.conversation.ask("And bright?")
            await talk.conversation.compaction.wait()
            await talk.conversation.ask("And dark?")
        assert talk.conversation.session.depth == 2
        assert not any(knows(message.text) for message in talk.sent[-1])
        await talk.conversation.leave("exit")

    asyncio.run(run())
    assert folder_knows(tmp_path) == []


def test_a_summary_in_the_making_does_not_come_late_into_the_file(tmp_path: Path) -> None:
    """The query is undone while the model writes, then a long query compacts at once."""
    limits = Limits(max_tokens=1_000, preserve_recent=2, trigger_threshold=0.9)
    usage = Usage(input=760, output=10)
    oak = Says(("Oak.",), usage=Usage(input=600, output=10))
    steps: list[Step] = [
        oak,
        Says((ANSWER,), usage=usage),
        Says((NARRATIVE,), then="silence"),
        "So.",
    ]
    options = Options(acknowledge=False, attach_from_archive=False, limits=limits)
    talk = Talk(tmp_path, *steps, options=options, window=Window(4_000))

    async def run() -> None:
        await talk.conversation.ask("Which wood is hard?")
        await talk.conversation.ask(SECRET)
        await talk.model.silent.wait()
        await talk.conversation.undo()
        assert talk.model.cancelled == 1
        await talk.conversation.ask("And bright? " * 200)
        assert talk.conversation.session.depth == 2
        await talk.conversation.compaction.wait()
        await talk.conversation.leave("exit")

    asyncio.run(run())
    assert folder_knows(tmp_path) == []


def test_it_is_nowhere_after_a_compaction_and_a_resume(tmp_path: Path) -> None:
    steps = ["Oak.", ANSWER, "Ash.", SUMMARY, "A desk.", SUMMARY]
    talk = Talk(tmp_path, *steps, options=QUIET)

    async def run() -> str:
        await talk.conversation.ask("Which wood is hard?")
        await talk.conversation.ask(SECRET)
        await talk.conversation.undo()
        await talk.conversation.ask("The fence is 12 metres long.")
        assert await talk.conversation.compact()
        await talk.conversation.ask("What is made of it?")
        await talk.conversation.end()
        return talk.conversation.live.header.id

    identity = asyncio.run(run())
    assert not any(knows(message.text) for request in talk.sent[2:] for message in request)
    assert folder_knows(tmp_path) == []
    again = Talk(tmp_path, "Ready.", clock=talk.clock)

    async def resumed() -> None:
        await again.resume(identity)
        await again.conversation.compaction.wait()
        archive = again.conversation.archive  # which the model's tools search
        assert archive is not None
        assert [hit.exchange.query.text for hit in archive.search("fence of 12 metres")][:1] == [
            "The fence is 12 metres long."
        ]
        for asked in (SECRET, *TELLING):
            assert not any(knows(str(hit.exchange)) for hit in archive.search(asked))
        chain = read_chain(again.sessions, again.conversation.session)
        assert not any(knows(str(loaded.session.exchanges)) for loaded in chain.ancestors)
        again.conversation.close()

    asyncio.run(resumed())


def test_the_library_does_not_find_it(tmp_path: Path) -> None:
    from chat_loop.library.library import SessionFilter
    from chat_loop.library.search import search_all

    talk = Talk(tmp_path, "Oak.", ANSWER)
    library = Library(tmp_path)

    async def run() -> None:
        await talk.conversation.ask("Which wood is hard?")
        await talk.conversation.ask(SECRET)
        assert len(search_all(library, "Tromsø", SessionFilter(), 5)) == 1
        await talk.conversation.undo()
        assert search_all(library, "Tromsø", SessionFilter(), 5) == []
        assert len(search_all(library, "hard wood", SessionFilter(), 5)) == 1
        talk.conversation.close()

    asyncio.run(run())
    library.close()


def test_undo_right_after_a_compaction_a_resume_or_a_fork(tmp_path: Path) -> None:
    talk = Talk(tmp_path, "Oak.", "Ash.", SUMMARY, options=QUIET)

    async def run() -> None:
        conversation = talk.conversation
        await conversation.ask("Which wood is hard?")
        await conversation.ask("And bright?")
        first = talk.sessions.load(talk.path)
        plan = await conversation.planner().fork(first, 2)
        await conversation.accept(plan, acknowledge=False)
        with pytest.raises(UsageError) as caught:
            await conversation.undo()
        assert caught.value.message == "No messages in this session yet."
        assert caught.value.hint.startswith("/tree shows the sessions before it; /fork")
        assert await conversation.compact()
        with pytest.raises(UsageError) as caught:
            await conversation.undo()
        assert (
            caught.value.hint
            == "/tree shows the sessions before it; /fork and /uncompact go back to them."
        )
        conversation.close()

    asyncio.run(run())
    assert not any(isinstance(entry, Undo) for entry in talk.conversation.session.entries)
