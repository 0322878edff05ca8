"""Leaving and coming back do not wait. The summary is ready, or is made in the background or on
resume. Nothing is paid for twice, and no summary is lost or overwritten.
"""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from msgspec.structs import replace

from chat_loop.context.budget import Limits
from chat_loop.conversation import continuing
from chat_loop.conversation.conversation_options import Options
from chat_loop.events import Compacted, Event, SummaryPrepared, Warned
from chat_loop.sessions import records
from tests.support.scripted_chat import SUMMARY, Says, Talk

LONG = "word " * 5_000
PRICE = Options(acknowledge=False, attach_from_archive=False, cost=lambda model, usage: 0.25)


def left(talk: Talk, *texts: str, idle: bool = False, detached: list[str] | None = None) -> None:
    """Ask `texts` and leave. If `idle`, prepare a summary after each. If `detached` is given, it
    gets the id of each session that is left to another process.
    """
    conversation = talk.conversation
    if detached is not None:
        conversation._detach = detached.append

    async def run() -> None:
        for text in texts:
            await conversation.ask(text)
            if idle:
                await conversation.prepare_exit()
                await conversation.background.wait()
        await conversation.end()

    asyncio.run(run())


def seal_of(talk: Talk) -> records.Seal:
    seal = talk.sessions.load(talk.path).session.seal
    assert seal is not None
    return seal


def kinds(talk: Talk, kind: type[Event]) -> list[Event]:
    return [event for event in talk.events if isinstance(event, kind)]


def test_a_prepared_summary_is_used_without_a_call(tmp_path: Path) -> None:
    detached: list[str] = []
    talk = Talk(tmp_path, "Yes.", SUMMARY, options=PRICE)
    left(talk, LONG, idle=True, detached=detached)
    assert (len(talk.sent), detached, talk.model.steps) == (2, [], [])
    seal = seal_of(talk)
    assert seal.source == "model"
    assert seal.covers is None
    [prepared] = kinds(talk, SummaryPrepared)
    assert prepared == SummaryPrepared(usage=seal.usage, cost=0.25)


def test_a_fresh_session_leaves_the_old_one_with_the_prepared_summary(tmp_path: Path) -> None:
    talk = Talk(tmp_path, "Yes.", SUMMARY, options=PRICE)
    conversation, path = talk.conversation, talk.path

    async def run() -> None:
        await conversation.ask(LONG)
        await conversation.prepare_exit()
        await conversation.background.wait()
        await conversation.leave("clear")

    asyncio.run(run())
    seal = talk.sessions.load(path).session.seal
    assert seal is not None
    assert (seal.source, seal.reason) == ("model", "clear")
    assert conversation.background.state == ""


def test_what_a_server_does_not_report_costs_nothing_known(tmp_path: Path) -> None:
    talk = Talk(tmp_path, "Yes.", Says((SUMMARY,), usage=None), options=PRICE)
    left(talk, LONG, idle=True, detached=[])
    assert kinds(talk, SummaryPrepared) == [SummaryPrepared(usage=None, cost=None)]
    assert "summary=model" in talk.text


def test_a_prepared_summary_is_not_taken_for_that_of_another_session(tmp_path: Path) -> None:
    stored = []
    for text in ("The port is 8443.", "The lamp has 40 watts."):
        other = Talk(tmp_path, "Noted.", options=PRICE)
        asyncio.run(other.conversation.ask(text))
        other.conversation.close()
        stored.append(other.path)
    talk = Talk(tmp_path, "Yes.", SUMMARY, SUMMARY, SUMMARY, options=PRICE)

    async def run() -> str:
        await talk.conversation.ask(LONG)
        await talk.conversation.prepare_exit()
        await talk.conversation.background.wait()
        planning = talk.conversation.planning()
        first, second = map(talk.sessions.load, stored)
        branches = continuing.branches_of(planning, first, second)
        return (await continuing.merge(planning, branches)).block

    block = asyncio.run(run())
    assert [message.text.count("port") for [message] in talk.sent[2:]] == [1, 0]
    assert [message.text.count("lamp") for [message] in talk.sent[2:]] == [0, 1]
    assert "The port is 8443." in block


def test_what_was_said_since_the_summary_goes_along_in_its_own_words(tmp_path: Path) -> None:
    talk = Talk(tmp_path, "Yes.", SUMMARY, "Noted.", "Ready.", options=PRICE)
    left(talk, LONG, "The port is 8443.", idle=True, detached=[])
    assert len(talk.sent) == 3  # too little is new for another summary
    assert seal_of(talk).covers == 1
    again = Talk(tmp_path, "8443.", options=PRICE)

    async def run() -> None:
        await again.resume(talk.conversation.live.header.id)
        await again.conversation.ask("Which port?")

    asyncio.run(run())
    texts = [message.text for message in again.sent[0]]
    assert "- Stay polite [1]" in texts[0]
    assert LONG not in texts[0]
    assert texts[0].endswith("The port is 8443.")
    assert texts[1:] == ["Noted.", "Which port?"]


def test_a_summary_is_continued_once_enough_is_new(tmp_path: Path) -> None:
    talk = Talk(tmp_path, "Yes.", SUMMARY, "Yes.", SUMMARY, options=PRICE)
    left(talk, f"first {LONG}", f"second {LONG}", idle=True, detached=[])
    [_, first, _, second] = talk.sent
    assert "first" in first[0].text
    assert "second" in second[0].text
    assert "first" not in second[0].text  # no words pass through a model twice
    seal = seal_of(talk)
    assert seal.covers is None
    assert seal.usage is not None
    assert seal.usage.total == 220


def test_a_compaction_takes_all_that_the_prepared_summary_covers(tmp_path: Path) -> None:
    """A limit on messages alone would have compacted one: the others would be paid for twice."""
    options = replace(PRICE, limits=Limits(max_messages=10))
    talk = Talk(tmp_path, *["Yes."] * 5, SUMMARY, "Fine.", "Sure.", options=options)

    async def run() -> None:
        for number in range(1, 6):
            await talk.conversation.ask(f"{number} " + "word " * 1_000)
        await talk.conversation.prepare_exit()
        await talk.conversation.background.wait()
        for query in ("And then?", "And now?"):
            await talk.conversation.ask(query)

    asyncio.run(run())
    [compacted] = kinds(talk, Compacted)
    assert isinstance(compacted, Compacted)
    compaction = compacted.compaction
    assert (compaction.first, compaction.last, compacted.source) == ("1.1", "1.5", "model")
    assert len(talk.sent) == 8, "no other summary was asked for"
    assert talk.sent[-1][0].text.endswith("\n\nAnd then?")


@pytest.mark.parametrize("why", ["little", "later", "full"])
def test_nothing_is_prepared_without_need(tmp_path: Path, why: str) -> None:
    talk = Talk(tmp_path, "Yes.", SUMMARY, options=PRICE)
    if why == "later":
        talk.conversation.options = replace(PRICE, on_exit="later")
    if why == "full":  # a compaction is near and makes its own summary
        talk.model.window = replace(talk.model.window, tokens=7_500)
    left(talk, "Hi" if why == "little" else LONG, idle=why != "full")
    if why == "full":
        asyncio.run(talk.conversation.prepare_exit())
    assert not kinds(talk, SummaryPrepared)


def test_a_process_that_cannot_be_started_is_said(tmp_path: Path) -> None:
    talk = Talk(tmp_path, "Yes.", options=PRICE)

    def detach(identity: str) -> None:
        raise OSError(11, "Resource temporarily unavailable")

    talk.conversation._detach = detach
    left(talk, LONG)
    [warned] = kinds(talk, Warned)
    assert isinstance(warned, Warned)
    assert warned.hint == "A resume brings back all words."


def test_an_embedded_model_summarizes_when_the_session_is_resumed(tmp_path: Path) -> None:
    talk = Talk(tmp_path, "Yes.", options=Options(attach_from_archive=False))
    talk.model.name = "local"
    left(talk, LONG, idle=True, detached=[])
    again = Talk(tmp_path, SUMMARY, options=Options(attach_from_archive=False))
    again.model.window = replace(again.model.window, tokens=15_000)
    again.model.name = "local"
    asyncio.run(again.resume(talk.conversation.live.header.id))
    assert again.model.steps == []  # it is made now, without an acknowledgment
    assert seal_of(talk).source == "model"
