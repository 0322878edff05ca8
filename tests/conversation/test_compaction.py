"""Automatic compaction: when it happens, the requests after it, the files on disk, and that the
user never waits for it.
"""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from msgspec.structs import replace

from benchmarks.support.loopback import Loopback, Received, Reply, failing
from benchmarks.support.loopback import talk as loopback_talk
from chat_loop.agent.agent import Agent
from chat_loop.context.budget import Limits, SummaryOptions
from chat_loop.conversation.conversation import Conversation
from chat_loop.conversation.options import Options
from chat_loop.errors import ContextFull, Overloaded
from chat_loop.events import Compacted
from chat_loop.providers.openai import OpenAIProvider
from chat_loop.sessions import partial
from chat_loop.sessions.manager import SessionManager
from chat_loop.sessions.records import Session
from chat_loop.tokens import estimate
from chat_loop.values import Usage, Window
from tests.support.providers import entry
from tests.support.scripted_chat import SUMMARY, Says, Step, Talk, names, words

ANSWER: Step = Says(("because",), usage=None)
"""A reply whose server reports no usage, so the program counts everything itself."""
SUMMED: Step = Says((SUMMARY,), usage=Usage(input=900, output=40))


WORDS = " ".join(["word"] * 400)
"""A query that is worth summarizing. With shorter ones, a compaction that is due by the number of
messages saves no tokens.
"""
LONG = "word " * 400
"""In a window of 8,000 tokens, 12 such queries start the summary and the 16th the compaction."""


def limited(**limits: object) -> Options:
    quiet = Options(acknowledge=False, on_exit="later", attach_from_archive=False)
    return replace(quiet, limits=replace(Limits(), **limits))


def chain(talk: Talk) -> list[Session]:
    """Return the sessions of the open session's chain, oldest first."""
    found: list[Session] = []
    path = talk.path
    while True:
        session = talk.sessions.load(path).session
        found.insert(0, session)
        if not session.header.parent:
            return found
        path = path.with_name(f"{session.header.parent}.md")


def everything(talk: Talk) -> list[str]:
    """Return all queries on disk, along the chain."""
    return [exchange.query.text for session in chain(talk) for exchange in session.exchanges]


async def say(talk: Talk, first: int, last: int, text: str = "word") -> None:
    """Ask the queries `first` to `last`, and let the background work finish after each."""
    for number in range(first, last + 1):
        await talk.conversation.ask(f"{text} {number}")
        await talk.conversation.compaction.wait()


def test_message_38_of_50_triggers_at_a_threshold_of_075(tmp_path: Path) -> None:
    """Nothing is compacted until message 38. The next query turns the oldest messages into a
    summary.
    """
    talk = Talk(tmp_path, options=limited(max_messages=50, trigger_threshold=0.75))
    talk.model.steps = [ANSWER] * 15 + [SUMMED] + [ANSWER] * 5
    asyncio.run(say(talk, 1, 19, WORDS))
    assert [event for event in talk.told() if isinstance(event, Compacted)] == []
    assert len(names(tmp_path)) == 1
    asyncio.run(say(talk, 20, 20, WORDS))
    (event,) = [event for event in talk.told() if isinstance(event, Compacted)]
    assert event.reason == "Reached 76% capacity (38/50 messages)"
    assert (event.source, event.compaction.first) == ("model", "1.1")
    parent, child = chain(talk)
    assert everything(talk) == [f"{WORDS} {number}" for number in range(1, 21)]
    assert parent.seal is not None
    kept = 19 - (parent.seal.covers or 0)
    assert kept >= 5
    assert child.restoration is not None
    assert child.restoration.verbatim_from == f"1.{20 - kept}"
    sent = talk.sent[-1]
    assert len(sent) == 2 * kept + 1
    assert sent[0].text.startswith("CONTEXT RESTORATION")
    assert sent[0].text.endswith(f"\n\n{WORDS} {20 - kept}")
    assert [message.text for message in sent[1::2]] == ["because"] * kept
    assert sent[-1].text == f"{WORDS} 20"
    assert talk.model.steps == []


def test_the_summary_is_made_behind_the_users_back_and_swapped_in_between_turns(
    tmp_path: Path,
) -> None:
    silent: Step = Says((SUMMARY,), then="silence")
    talk = Talk(tmp_path, window=Window(8_000), options=limited())

    async def run() -> None:
        talk.model.steps = [ANSWER] * 12 + [silent] + [ANSWER] * 2
        for number in range(1, 13):
            await talk.conversation.ask(f"{number} " + LONG)
        await talk.model.silent.wait()  # the call is running, and the user continues
        talk.told()
        await talk.conversation.ask("13 and more")
        assert [type(event).__name__ for event in talk.told()] == [
            "TextDelta",
            "Finished",
            "ReplyEnded",
        ]
        await talk.conversation.end()

    asyncio.run(run())
    assert talk.model.cancelled >= 1


@pytest.mark.parametrize("use_ai", [True, False])
def test_without_a_narrative_in_time_the_compaction_does_not_wait(
    tmp_path: Path, use_ai: bool
) -> None:
    silent: Step = Says((SUMMARY,), then="silence")
    options = replace(limited(), use_ai_summary=use_ai)
    talk = Talk(tmp_path, window=Window(8_000), options=options)

    async def run() -> None:
        talk.model.steps = [ANSWER] * 12 + ([silent] if use_ai else []) + [ANSWER] * 4
        for number in range(1, 17):
            await talk.conversation.ask(f"{number} " + LONG)
            if use_ai and number == 12:
                await talk.model.silent.wait()  # the summary's call has begun
        await talk.conversation.end()

    asyncio.run(run())
    (event,) = [event for event in talk.events if isinstance(event, Compacted)]
    assert (event.source, event.compaction.model) == ("extracted", "")
    assert [text.split()[0] for text in everything(talk)] == [
        str(number) for number in range(1, 17)
    ]


@pytest.mark.parametrize("edited", [False, True], ids=["as it was", "edited meanwhile"])
def test_a_narrative_that_comes_too_late_is_written_into_its_session_and_used_by_the_next(
    tmp_path: Path, edited: bool
) -> None:
    """It is not written if somebody has changed the session's summary."""
    talk = Talk(tmp_path, window=Window(8_000), options=limited())
    go = asyncio.Event()
    original = talk.model.stream

    async def slow(request):  # type: ignore[no-untyped-def]
        if request.grammar is not None:
            await go.wait()
        async for event in original(request):
            yield event

    talk.model.stream = slow  # type: ignore[method-assign]

    async def run() -> None:
        talk.model.steps = [ANSWER] * 16 + [SUMMED]
        for number in range(1, 17):
            await talk.conversation.ask(f"{number} " + LONG)
            await asyncio.sleep(0)
        parent = chain(talk)[0]
        assert parent.seal is not None
        assert parent.seal.source == "extracted"
        if edited:
            assert parent.seal.summary is not None
            path = talk.sessions.session_file(parent.header.id)
            text = path.read_text().replace(parent.seal.summary.topics[0], "My own words [1]")
            path.write_text(text)
        go.set()
        await talk.conversation.compaction.wait()

    asyncio.run(run())
    parent, child = chain(talk)
    assert parent.seal is not None
    assert parent.seal.summary is not None
    kept = ("extracted", "My own words [1]") if edited else ("model", "Greetings [1]")
    assert (parent.seal.source, parent.seal.summary.topics[0]) == kept
    assert child.restoration is not None
    assert "Greetings" not in child.restoration.block


@pytest.mark.parametrize(
    "failure", [[Overloaded("It is down.")] * 2, []], ids=["refused", "unexpected"]
)
def test_three_failures_in_a_row_end_the_attempts(tmp_path: Path, failure: list[Step]) -> None:
    talk = Talk(tmp_path, window=Window(8_000), options=limited(trigger_threshold=1.0))

    async def run() -> None:
        for number in range(1, 50):
            talk.model.steps = [ANSWER, *failure]
            await talk.conversation.ask(f"{number} " + LONG)
            await talk.conversation.compaction.wait()

    asyncio.run(run())
    failed = [request for request in talk.model.requests if request.grammar is not None]
    assert len(failed) == 3 * max(1, len(failure))
    assert talk.conversation.compaction.state == "failed"


def test_switched_off_the_limits_cut_off_what_is_sent_and_nothing_on_disk(tmp_path: Path) -> None:
    talk = Talk(tmp_path, *[ANSWER] * 8, options=limited(enabled=False, max_messages=5))
    asyncio.run(say(talk, 1, 8))
    assert [message.text for message in talk.sent[-1]] == [
        "word 6",
        "because",
        "word 7",
        "because",
        "word 8",
    ]
    assert len(names(tmp_path)) == 1
    assert len(everything(talk)) == 8


def test_switched_off_and_full_nothing_is_sent_and_nothing_lost(tmp_path: Path) -> None:
    talk = Talk(tmp_path, *[ANSWER] * 20, window=Window(1_000), options=limited(enabled=False))

    async def run() -> None:
        for number in range(1, 20):
            await talk.conversation.ask(f"{number} " + LONG)

    with pytest.raises(
        ContextFull, match=r"the request would hold .* tokens, and the window of 1K takes 800"
    ):
        asyncio.run(run())
    assert all(sum(words(message.text) for message in sent) <= 800 for sent in talk.sent)
    assert len(everything(talk)) == len(talk.sent) + 1


def test_a_message_longer_than_the_window_is_saved_and_refused_and_nothing_is_compacted(
    tmp_path: Path,
) -> None:
    talk = Talk(tmp_path, ANSWER, ANSWER, window=Window(1_000), options=limited())
    giant = "begin " + "word " * 5_000 + "end"

    async def run() -> None:
        await talk.conversation.ask("Hello")
        with pytest.raises(ContextFull, match=r"Nothing is lost\."):
            await talk.conversation.ask(giant)
        await talk.conversation.ask("And now?")

    asyncio.run(run())
    assert [message.text for message in talk.sent[-1]] == ["Hello", "because", "And now?"]
    assert everything(talk) == ["Hello", giant, "And now?"]
    assert not any(isinstance(event, Compacted) for event in talk.events)


def test_a_window_in_which_nothing_fits_is_said_before_anything_is_sent(tmp_path: Path) -> None:
    talk = Talk(tmp_path, window=Window(3), options=limited())
    with pytest.raises(ContextFull, match=r"Nothing is lost\."):
        asyncio.run(talk.conversation.ask("Hi there, is anybody out there?"))
    assert talk.sent == []
    assert everything(talk) == ["Hi there, is anybody out there?"]


def test_a_conversation_of_240_exchanges_never_exceeds_a_window_of_16k(tmp_path: Path) -> None:
    talk = Talk(tmp_path, window=Window(16_384), options=limited())

    async def run() -> None:
        for number in range(1, 241):
            talk.model.steps = [Says(("because " * 150,), usage=None), SUMMED, SUMMED]
            await talk.conversation.ask(f"{number} " + "word " * (10 + number % 200))
            if number % 3:
                await talk.conversation.compaction.wait()
        talk.model.steps = [SUMMED, SUMMED]
        await talk.conversation.end()

    asyncio.run(run())
    sizes = [
        sum(words(message.text) for message in request.messages) for request in talk.model.requests
    ]
    assert max(sizes) <= 16_384 - 3_276
    assert [int(text.split()[0]) for text in everything(talk)] == list(range(1, 241))
    assert len(chain(talk)) > 2


def test_150_exchanges_on_a_compatible_server_that_counts_more_tokens_than_we_do(
    tmp_path: Path,
) -> None:
    """The server counts a token per three characters, the program one per five or so. The server
    refuses more than its window of 16K.
    """

    sizes: list[int] = []

    def served(request: Received) -> Reply:
        size = sum(len(text) for text in (request.system, *request.texts)) // 3
        sizes.append(size)
        if size > 16_384:
            return failing(400, "invalid_request_error", "too long", code="context_length_exceeded")
        reply = loopback_talk(request)
        if not request.system.startswith("Task: session summary"):
            reply = replace(
                reply, chunks=("It depends on the weather in the harbour, and on the boats. " * 12,)
            )
        return replace(reply, usage=Usage(input=size, output=250))

    async def run(url: str) -> None:
        provider = OpenAIProvider(
            "boats", entry("compatible", f"{url}/v1"), window=Window(16_384), api_key="k"
        )
        sessions = SessionManager(tmp_path)
        shown: list[object] = []
        conversation = Conversation(
            Agent(name="Sally", system_prompt="Be kind.", provider=provider),
            sessions,
            count=estimate,
            show=shown.append,
            options=limited(),
        )
        for number in range(1, 151):
            await conversation.ask(
                f"{number}: what does the boat at berth {number * 7} weigh, in tonnes? " * 3
            )
        await conversation.end()
        await provider.close()
        compacted = [event for event in shown if isinstance(event, Compacted)]
        assert len(compacted) >= 3
        assert any(event.source == "model" for event in compacted)
        path = conversation.live.path
        said = []
        while True:
            session = sessions.load(path).session
            said += [
                exchange.query.text.partition(":")[0] for exchange in reversed(session.exchanges)
            ]
            if not session.header.parent:
                break
            path = path.with_name(f"{session.header.parent}.md")
        assert said == [str(number) for number in range(150, 0, -1)]

    with Loopback(served) as server:
        asyncio.run(run(server.url))
    assert max(sizes) <= 16_384


def test_a_summariser_of_its_own_is_asked_first_and_the_session_answers_when_it_fails(
    tmp_path: Path,
) -> None:
    other = Talk(tmp_path / "other", Overloaded("It is down."), SUMMED).model
    options = replace(
        limited(),
        summarizer=other,
        summary=SummaryOptions(instructions="Mind the boats.", max_tokens=500),
    )
    talk = Talk(tmp_path / "own", ANSWER, SUMMED, ANSWER, options=options)

    async def run() -> None:
        await talk.conversation.ask("Hi")
        assert await talk.conversation.compact()
        await talk.conversation.ask("And now?")
        assert await talk.conversation.compact("the dates")

    asyncio.run(run())
    assert [len(other.requests), len(talk.sent)] == [2, 3]
    request = other.requests[1]
    assert request.max_tokens == 500
    assert request.messages[0].text.endswith(
        "Mind the boats.\n\nThe user asks to keep above all: the dates"
    )
    assert len(partial.rows(tmp_path / "own")) == 2  # the child is empty and has no file
