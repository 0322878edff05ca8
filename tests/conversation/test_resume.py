"""Resuming sealed, crashed, unsummarized, foreign, open and empty sessions. A chain of three."""

from __future__ import annotations

import asyncio
import shutil
from pathlib import Path

import pytest

from chat_loop.conversation.options import Options
from chat_loop.errors import Overloaded, SessionError, SessionNotFound
from chat_loop.events import (
    Event,
    Finished,
    ReplyEnded,
    Restoring,
    SessionBegun,
    SessionFound,
    SummaryPrepared,
    TextDelta,
    Warned,
)
from chat_loop.sessions.parser import parse
from chat_loop.sessions.records import Summary
from chat_loop.values import Usage, Window
from tests.support.scripted_chat import START, SUMMARY, Clock, Says, Talk, names, said

CALL = Usage(input=100, output=10)
FIRST = "sally_20261121_223015"
PLAIN = Path(__file__).parents[1] / "golden" / "plain" / "resumed.md"


BOB = "Hi, I am Bob [1 user]"
MORE = tuple(f"And number {number}?" for number in range(2, 7))
"""With these queries as well, a session is too long to be carried word for word."""


def later(folder: Path, *steps: str | Says | Overloaded, options: Options | None = None) -> Talk:
    """Return a chat of the program, which is started again an hour or more later."""
    clock = Clock()
    clock.seconds = 3600 * (1 + len(names(folder)))
    return Talk(folder, *steps, clock=clock, options=options)


def sealed(folder: Path, *steps: str | Says, pin: str = "") -> str:
    """Make a session of one exchange that ended properly, and return its id."""
    talk = (
        later(folder, *(steps or ("Hello Bob.", SUMMARY)))
        if names(folder)
        else Talk(folder, "Hello Bob.", SUMMARY)
    )

    async def run() -> None:
        await talk.conversation.ask("Hi, I am Bob")
        if pin:
            talk.conversation.pin(pin)
        await talk.conversation.end()

    asyncio.run(run())
    return talk.conversation.live.header.id


def unsealed(folder: Path, *queries: str) -> str:
    """Make a session whose process was killed, and return its id."""
    talk = Talk(folder, *(f"Answer {number}." for number, _ in enumerate(queries, 1)))

    async def run() -> None:
        for query in queries:
            await talk.conversation.ask(query)
        talk.conversation.close()

    asyncio.run(run())
    return talk.conversation.live.header.id


def summary_of(talk: Talk, identity: str) -> Summary | None:
    seal = talk.sessions.load(talk.sessions.directory / f"{identity}.md").session.seal
    return seal.summary if seal else None


def found(identity: str, *, queries: int, tokens: int, full: int) -> SessionFound:
    return SessionFound(
        id=identity,
        agent="Sally",
        created=START,
        queries=queries,
        tokens=tokens,
        full_tokens=full,
    )


def begun(talk: Talk, parent: str) -> SessionBegun:
    live = talk.conversation.live
    return SessionBegun(
        id=live.header.id, path=str(live.path), model="scripted:test", parent=parent
    )


ACKNOWLEDGED: list[Event] = [
    TextDelta("Ready."),
    Finished(stop="end", usage=CALL),
    ReplyEnded(number=0, stop="end", usage=CALL, seconds=2.0),
]


def test_a_sealed_session_costs_only_the_acknowledgment(tmp_path: Path) -> None:
    before = sealed(tmp_path)
    data = (tmp_path / f"{before}.md").read_bytes()
    talk = later(tmp_path, "Ready.", "You are Bob.")

    async def run() -> None:
        await talk.resume(before)
        assert talk.told() == [
            found(before, queries=1, tokens=110, full=16),
            Restoring(before, "resume"),
            begun(talk, before),
            *ACKNOWLEDGED,
        ]
        await talk.conversation.ask("Who am I?")

    asyncio.run(run())
    request = talk.sent[0][0].text
    assert request.startswith(
        "CONTEXT RESTORATION: You are continuing a previous conversation from 2026-11-21 22:30.\n"
    )
    assert "- Stay polite [1]\n" in request
    assert "Hello Bob." not in request
    assert talk.sent[1] == said(request, "Ready.", "Who am I?")
    assert (tmp_path / f"{before}.md").read_bytes() == data
    totals = talk.conversation.session.totals
    assert (totals.queries, totals.session, totals.restoration, totals.combined) == (
        1,
        CALL,
        CALL,
        220,
    )


def test_a_session_without_a_summary_gets_it_behind_the_prompt(tmp_path: Path) -> None:
    before = unsealed(tmp_path, "Hi, I am Bob", *MORE)
    talk = later(tmp_path, SUMMARY)
    asyncio.run(talk.resume(before))
    assert talk.told() == [
        found(before, queries=6, tokens=660, full=81),
        Restoring(before, "resume"),
        SummaryPrepared(usage=CALL, cost=None, use="restored"),
    ]
    parsed = parse((tmp_path / f"{before}.md").read_bytes())
    assert parsed.damage == ()
    assert parsed.session is not None
    seal = parsed.session.seal
    assert seal is not None
    assert (seal.reason, seal.source, seal.usage, seal.seconds) == ("resume", "model", CALL, 2.0)
    assert seal.summary == summary_of(talk, before) == talk.conversation.thread.inherited
    assert seal.summary is not None
    assert (seal.summary.topics, seal.summary.decisions) == (
        ("Greetings [1]",),
        ("Stay polite [1]",),
    )
    assert BOB in seal.summary.key_facts


def test_a_short_session_without_a_summary_goes_along_word_for_word(tmp_path: Path) -> None:
    before = unsealed(tmp_path, "Hi, I am Bob")
    data = (tmp_path / f"{before}.md").read_bytes()
    talk = later(tmp_path, "You are Bob.")

    async def run() -> None:
        await talk.resume(before)
        assert talk.sent == []
        await talk.conversation.ask("Who am I?")

    asyncio.run(run())
    assert talk.sent == [said("Hi, I am Bob", "Answer 1.", "Who am I?")]
    assert (tmp_path / f"{before}.md").read_bytes() == data


def test_offline_the_extract_stays_and_the_next_resume_tries_again(tmp_path: Path) -> None:
    before = unsealed(tmp_path, "My boat is 9.4 m long. Is that much?", *MORE)
    data = (tmp_path / f"{before}.md").read_bytes()
    talk = later(tmp_path, *[Overloaded("It is down.")] * 2)
    asyncio.run(talk.resume(before))
    assert len(talk.sent) == 2
    block = talk.conversation.thread.inherited
    assert block is not None
    assert block.topics[0] == "My boat is 9.4 m long. [1.1]"
    assert "My boat is 9.4 m long. [1 user]" in block.key_facts
    assert (tmp_path / f"{before}.md").read_bytes() == data


def test_a_session_torn_by_a_crash_is_fenced_and_goes_on_from_what_is_left(tmp_path: Path) -> None:
    before = unsealed(tmp_path, "Hi, I am Bob", *MORE)
    path = tmp_path / f"{before}.md"
    data = path.read_bytes()
    path.write_bytes(data[: data.rindex(b"swer 6.")])
    talk = later(tmp_path, SUMMARY)
    asyncio.run(talk.resume(before))
    event = talk.events[0]
    assert isinstance(event, SessionFound)
    assert event.queries == 6
    [damage] = event.damage
    assert damage.endswith("the reply record has no end.")
    spoken = "[1.6] User: And number 6?\n[1.6] Assistant (interrupted): An\n===="
    assert spoken in talk.sent[0][0].text
    kept = data[data.index(b"\n---\n") : data.rindex(b"swer 6.")]
    assert kept + b"\n<!-- chat:torn -->\n" in path.read_bytes()
    summary = summary_of(talk, before)
    assert summary is not None
    assert summary.topics == ("Greetings [1]",)


def test_a_session_that_is_damaged_otherwise_is_resumed_and_never_rewritten(tmp_path: Path) -> None:
    chatted = Talk(tmp_path, "Hello.")
    asyncio.run(chatted.conversation.ask("Hi"))
    chatted.conversation.close()
    path = chatted.path
    data = path.read_bytes().replace(b"<!-- chat:end n=1 -->", b"\xff\n<!-- chat:odd -->", 1)
    path.write_bytes(data)
    talk = Talk(tmp_path, SUMMARY, "Ready.")
    asyncio.run(talk.resume(path.stem))
    assert path.read_bytes() == data
    assert talk.conversation.session.header.parent == path.stem


def test_a_session_of_the_older_program_is_resumed_and_never_rewritten(tmp_path: Path) -> None:
    shutil.copy(PLAIN, tmp_path / "harbor.md")
    data = PLAIN.read_bytes()
    talk = later(tmp_path, "Ready.")
    asyncio.run(talk.resume("harbor"))
    request = talk.sent[0][0].text
    assert "This session was resumed from: harbor_pilot_20260202_170000\n" in request
    assert "- Ask the harbour master\n" in request
    assert (tmp_path / "harbor.md").read_bytes() == data
    assert talk.conversation.live.header.parent == "harbor"


def test_an_older_session_without_a_summary_gets_one_that_is_not_written_into_it(
    tmp_path: Path,
) -> None:
    source = PLAIN.with_name("before-1.8.md")
    shutil.copy(source, tmp_path / "tide.md")
    talk = later(tmp_path, SUMMARY)
    asyncio.run(talk.resume("tide"))
    block = talk.conversation.thread.inherited
    assert block is None or block.topics == ("Greetings [1]",)
    assert (tmp_path / "tide.md").read_bytes() == source.read_bytes()
    assert not any(isinstance(event, Warned) for event in talk.events)


def test_a_session_open_elsewhere_is_resumed_as_far_as_it_is_saved(tmp_path: Path) -> None:
    other = Talk(tmp_path, "Hello.", "Still mine.")
    asyncio.run(other.conversation.ask("Hi"))
    talk = later(tmp_path, SUMMARY, "Ready.")
    asyncio.run(talk.resume(FIRST))
    assert (
        Warned(
            f"Session {FIRST} is open in another process.",
            "Continuing in a new session with what is saved so far.",
        )
        in talk.events
    )
    assert talk.conversation.live.header.parent == FIRST
    asyncio.run(other.conversation.ask("Are you there?"))
    other.conversation.close()
    assert "SESSION_SUMMARY_START" not in other.text
    assert other.conversation.live.is_saved


def test_a_session_of_pins_alone_hands_them_on(tmp_path: Path) -> None:
    first = Talk(tmp_path)
    first.conversation.pin("Bob is 41")
    first.conversation.close()
    talk = later(tmp_path, options=Options(acknowledge=False, attach_from_archive=False))
    asyncio.run(talk.resume(FIRST))
    assert talk.conversation.thread.pins == ("Bob is 41",)
    assert talk.sent == []


def test_an_empty_session_cannot_be_resumed_and_the_conversation_goes_on(tmp_path: Path) -> None:
    talk = Talk(tmp_path, "Hello.", "Yes.")
    whole = unsealed(tmp_path / "other", "Hi")
    data = (tmp_path / "other" / f"{whole}.md").read_bytes()
    (tmp_path / "bare.md").write_bytes(data[: data.index(b"\n---\n")])

    async def run() -> None:
        await talk.conversation.ask("Hi")
        with pytest.raises(SessionError, match="has no exchanges: it can't be resumed"):
            await talk.resume("bare")
        with pytest.raises(SessionNotFound, match="Session gone is not in"):
            await talk.resume("gone")
        await talk.conversation.ask("Still there?")

    asyncio.run(run())
    assert talk.sent[1] == said("Hi", "Hello.", "Still there?")


@pytest.mark.parametrize(
    "block", ["", "Some notes of my own.\n", "**Topics Discussed:**\n*none*\n"]
)
def test_a_summary_block_that_says_nothing_is_made_anew(tmp_path: Path, block: str) -> None:
    before = unsealed(tmp_path, "Hi, I am Bob", *MORE)
    first = later(tmp_path, SUMMARY)
    asyncio.run(first.resume(before))
    path = tmp_path / f"{before}.md"
    text = path.read_text()
    start, end = "<!-- SESSION_SUMMARY_START -->\n", "<!-- SESSION_SUMMARY_END -->"
    path.write_text(text.partition(start)[0] + start + block + end + text.partition(end)[2])
    talk = later(tmp_path, SUMMARY)
    asyncio.run(talk.resume(before))
    assert Warned("The session's summary has an invalid format; making a new one.") in talk.events
    summary = summary_of(talk, before)
    assert summary is not None
    assert summary.topics == ("Greetings [1]",)


def test_without_acknowledgment_the_restored_context_goes_with_the_first_query(
    tmp_path: Path,
) -> None:
    before = sealed(tmp_path)
    talk = later(
        tmp_path, "You are Bob.", options=Options(acknowledge=False, attach_from_archive=False)
    )

    async def run() -> None:
        await talk.resume(before)
        assert talk.sent == []
        await talk.conversation.ask("Who am I?")

    asyncio.run(run())
    ((message,),) = talk.sent
    assert message.text.startswith("CONTEXT RESTORATION: ")
    assert message.text.endswith("say that it does not.\n\nWho am I?")


@pytest.mark.parametrize(
    ("step", "stop", "warned"),
    [
        (Overloaded("It is down."), "error", True),
        (Says(then="refusal"), "refusal", False),
        (Says(), "end", False),
        (Says(("Rea",), then=Overloaded("It is down.")), "error", True),
        (Says(("Rea",), then="length"), "length", False),
    ],
)
def test_whatever_becomes_of_the_acknowledgment_the_context_is_restored(
    tmp_path: Path, step: Overloaded | Says, stop: str, warned: bool
) -> None:
    before = sealed(tmp_path)
    talk = later(tmp_path, step, "You are Bob.")

    async def run() -> None:
        await talk.resume(before)
        assert [event.stop for event in talk.events if isinstance(event, ReplyEnded)] == [stop]
        told = Warned("The acknowledgment failed: It is down.", "The context is restored anyway.")
        assert (told in talk.events) == warned
        await talk.conversation.ask("Who am I?")

    asyncio.run(run())
    assert talk.sent[1][0].text.startswith("CONTEXT RESTORATION: ")
    assert [message.role for message in talk.sent[1]] in (["user"], ["user", "assistant", "user"])
    assert talk.sent[1][-1].text.endswith("Who am I?")


def test_ctrl_c_in_the_acknowledgment_leaves_a_restored_session(tmp_path: Path) -> None:
    before = sealed(tmp_path)
    talk = later(tmp_path, Says(("We", " spoke"), then="silence"), "You are Bob.")

    async def run() -> None:
        await talk.interrupt(talk.resume(before))
        await talk.conversation.ask("Who am I?")

    asyncio.run(run())
    request = talk.sent[1]
    assert [message.text for message in request[1:]] == ["We spoke", "Who am I?"]
    assert "<!-- chat:end stop=interrupted" in talk.text


def test_a_child_in_which_nothing_was_said_passes_its_parents_block_on(tmp_path: Path) -> None:
    before = sealed(tmp_path, pin="Bob is 41 ")
    middle = later(tmp_path, "Ready.")

    async def pass_on() -> None:
        await middle.resume(before)
        middle.conversation.pin("new pin")
        await middle.conversation.end()

    asyncio.run(pass_on())
    identity = middle.conversation.live.header.id
    assert summary_of(middle, identity) == Summary(
        topics=("Greetings [1]",),
        decisions=("Stay polite [1]",),
        key_facts=(BOB,),
        pinned=("Bob is 41 ", "new pin"),
    )
    last = later(tmp_path, "Ready again.")
    asyncio.run(last.resume(identity))
    assert "**Pinned:**\n- Bob is 41 \n- new pin\n" in last.sent[0][0].text
    assert len(middle.sent) == len(last.sent) == 1


def test_resuming_ends_the_session_one_was_in(tmp_path: Path) -> None:
    before = sealed(tmp_path)
    talk = later(tmp_path, "It is warm.", "Ready.")

    async def run() -> None:
        await talk.conversation.ask("And the weather?")
        await talk.resume(before)

    asyncio.run(run())
    left = talk.sessions.load(tmp_path / names(tmp_path)[1]).session
    assert left.seal is not None
    assert (left.seal.reason, left.seal.source) == ("resume", "none")
    assert "weather" not in "".join(message.text for message in talk.sent[1])


def test_each_resume_reads_only_the_parent(tmp_path: Path) -> None:
    first = sealed(tmp_path, pin="Bob is 41")
    chain = [first]
    for number in (2, 3):
        talk = later(
            tmp_path,
            "Ready.",
            f"Answer {number}.",
            SUMMARY.replace("Greetings", f"Matter {number}"),
        )

        async def go_on(talk: Talk, parent: str, query: str) -> None:
            await talk.resume(parent)
            await talk.conversation.ask(query)
            await talk.conversation.end()

        asyncio.run(go_on(talk, chain[-1], f"Question {number}"))
        chain.append(talk.conversation.live.header.id)
        (tmp_path / f"{chain[-2]}.md").unlink()
    last = later(tmp_path, "Ready.")
    asyncio.run(last.resume(chain[-1]))
    assert names(tmp_path) == sorted(
        f"{identity}.md" for identity in (chain[-1], last.conversation.live.header.id)
    )
    assert last.conversation.thread.pins == ("Bob is 41",)
    request = last.sent[0][0].text
    assert f"(Session ID: {chain[2]}, 1 query, 220 tokens):" in request
    assert f"This session was resumed from: {chain[1]}\n" in request
    assert "- Matter 3 [1]\n" in request
    assert first not in request


def test_a_resume_begins_one_session_and_reads_the_memory_once(tmp_path: Path) -> None:
    first = Talk(tmp_path, "Hello.", options=Options(acknowledge=False, attach_from_archive=False))
    asyncio.run(first.conversation.ask("Hi"))
    asyncio.run(first.conversation.leave("exit"))
    first.conversation.close()
    read: list[str] = []

    def memory() -> str:
        read.append("once")
        return ""

    talk = Talk(
        tmp_path,
        SUMMARY,
        options=Options(acknowledge=False, attach_from_archive=False),
        clock=first.clock,
        memory=memory,
    )
    before = len(read)
    asyncio.run(talk.resume(names(tmp_path)[0].removesuffix(".md")))
    assert len(read) == before + 1
    talk.conversation.close()


def test_a_resume_that_reads_a_long_session_can_be_stopped(tmp_path: Path) -> None:
    """A worker thread reads the words, and stopping it changes nothing."""
    first = Talk(tmp_path, "Good.", options=Options(on_exit="later"))
    asyncio.run(first.conversation.ask("Port 8080 is open at host-7. " * 2_000))
    first.conversation.close()
    before = {path: path.read_bytes() for path in tmp_path.glob("*.md")}
    options = Options(use_ai_summary=False)
    talk = Talk(tmp_path, options=options, window=Window(4_000), agent="Bob")

    async def stop() -> None:
        loaded = talk.sessions.load(first.path)
        resuming = asyncio.ensure_future(talk.conversation.planner().resume(loaded))
        await asyncio.sleep(0)
        assert not resuming.done()
        resuming.cancel()
        with pytest.raises(asyncio.CancelledError):
            await resuming

    asyncio.run(stop())
    assert talk.conversation.live.is_empty
    assert {path: path.read_bytes() for path in tmp_path.glob("*.md")} == before
