"""Failures of the model, a summary or the disk, and interruptions by the user: what was said is
kept, and the conversation goes on.
"""

from __future__ import annotations

import asyncio
import errno
from pathlib import Path

import pytest

from chat_loop.context.budget import SummaryOptions
from chat_loop.conversation.options import Options
from chat_loop.errors import (
    Overloaded,
    ProviderError,
    RateLimited,
    RequestRejected,
    SaveError,
    StreamBroken,
)
from chat_loop.events import (
    Finished,
    ReplyEnded,
    Retrying,
    SessionBegun,
    SessionSealed,
    SummaryEnded,
    SummaryProgress,
    SummaryStarted,
    TextDelta,
    Warned,
)
from chat_loop.sessions.parser import parse
from chat_loop.sessions.records import Query, Reply, Summary
from chat_loop.values import Usage
from tests.support.failing_files import FailingFiles
from tests.support.scripted_chat import START, SUMMARY, Says, Step, Talk, names, said

CALL = Usage(input=100, output=10)
ID = "sally_20261121_223015"
DOWN = Overloaded("It is down.", "Try later.")
FULL_HINT = (
    "Free some space or fix the permissions: it is tried again with every message. The "
    "conversation is in memory."
)
LATER = "It will be made when you resume the session."


def begun(talk: Talk) -> SessionBegun:
    return SessionBegun(id=ID, path=str(talk.path), model="scripted:test")


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


def test_an_error_before_any_content_keeps_the_query_and_does_not_send_it_with_the_next(
    tmp_path: Path,
) -> None:
    talk = Talk(tmp_path, DOWN, "Hello.", "Fine.")

    async def run() -> None:
        with pytest.raises(Overloaded, match="It is down"):
            await talk.conversation.ask("Hi")
        assert talk.told() == [
            begun(talk),
            ReplyEnded(number=1, stop="error", usage=None, seconds=2.0),
        ]
        assert saved_entries(talk.path) == [("Query", "Hi", ""), ("Reply", "", "error")]
        await talk.conversation.ask("Are you there?")
        await talk.conversation.ask("How are you?")

    asyncio.run(run())
    assert talk.sent == [
        said("Hi"),
        said("Are you there?"),
        said("Are you there?", "Hello.", "How are you?"),
    ]
    assert talk.conversation.session.totals.queries == 3


def test_an_error_after_content_keeps_the_partial_reply_and_is_not_tried_again(
    tmp_path: Path,
) -> None:
    talk = Talk(
        tmp_path, Says(("I will ", "tell"), then=StreamBroken("It broke.")), "…you.", attempts=5
    )

    async def run() -> None:
        with pytest.raises(StreamBroken):
            await talk.conversation.ask("Tell me")
        usage = Usage(input=8, output=3, estimated=True)
        assert talk.told() == [
            begun(talk),
            TextDelta("I will "),
            TextDelta("tell"),
            ReplyEnded(number=1, stop="error", usage=usage, seconds=2.0),
        ]
        assert saved_entries(talk.path) == [
            ("Query", "Tell me", ""),
            ("Reply", "I will tell", "error"),
        ]
        await talk.conversation.ask("Go on")

    asyncio.run(run())
    assert talk.sent == [said("Tell me"), said("Tell me", "I will tell", "Go on")]
    assert "| Failed*\n" in talk.text


def test_what_is_tried_again_is_seen_and_becomes_one_reply(tmp_path: Path) -> None:
    talk = Talk(tmp_path, DOWN, RateLimited("Too many.", retry_after=7.5), "Hello.", attempts=5)
    asyncio.run(talk.conversation.ask("Hi"))
    assert talk.events == [
        begun(talk),
        Retrying(reason="It is down.", seconds=1.0, attempt=2, attempts=5),
        Retrying(reason="Too many.", seconds=7.5, attempt=3, attempts=5),
        TextDelta("Hello."),
        Finished(stop="end", usage=CALL),
        ReplyEnded(number=1, stop="end", usage=CALL, seconds=3 * 2.0 + 1.0 + 7.5),
    ]
    assert saved_entries(talk.path) == [("Query", "Hi", ""), ("Reply", "Hello.", "end")]


def test_ctrl_c_in_mid_reply_saves_what_came_and_the_next_request_holds_it(tmp_path: Path) -> None:
    talk = Talk(tmp_path, Says(("One, ", "two"), then="silence"), "Three.")

    async def run() -> None:
        await talk.interrupt(talk.conversation.ask("Count"))
        usage = Usage(input=7, output=2, estimated=True)
        assert talk.told()[-1] == ReplyEnded(number=1, stop="interrupted", usage=usage, seconds=0.0)
        assert saved_entries(talk.path) == [
            ("Query", "Count", ""),
            ("Reply", "One, two", "interrupted"),
        ]
        await talk.conversation.ask("Go on")

    asyncio.run(run())
    assert talk.model.cancelled == 1
    assert talk.sent[1] == said("Count", "One, two", "Go on")


def test_ctrl_c_before_anything_came_leaves_no_empty_message(tmp_path: Path) -> None:
    talk = Talk(tmp_path, Says(then="silence"), "Yes?")

    async def run() -> None:
        await talk.interrupt(talk.conversation.ask("Count"))
        assert talk.told()[-1] == ReplyEnded(number=1, stop="interrupted", usage=None, seconds=0.0)
        await talk.conversation.ask("Hello?")

    asyncio.run(run())
    assert talk.sent[1] == said("Count\n\nHello?")


def failed_summaries() -> list[tuple[str, tuple[Step, ...], str]]:
    """Return cases of (name, the summary's calls, the message)."""
    return [
        ("down", (DOWN, DOWN), "It is down."),
        ("wrong key", (RequestRejected("It is refused."),), "It is refused."),
        ("empty", ("", " \n"), "The model returned nothing."),
        (
            "prose",
            ("I cannot do that.",) * 2,
            "The model didn't follow the summary format.",
        ),
        (
            "cut off",
            (Says((SUMMARY,), then="length"),) * 2,
            "The summary was cut off at the token limit.",
        ),
        ("refused", (Says((SUMMARY,), then="refusal"),) * 2, "The model refused to write it."),
        ("broken", (Says((SUMMARY,), then=DOWN),) * 2, "It is down."),
    ]


@pytest.mark.parametrize(("steps", "problem"), [case[1:] for case in failed_summaries()])
def test_a_summary_that_fails_at_exit_is_said_and_costs_the_resume_nothing(
    tmp_path: Path, steps: tuple[Step, ...], problem: str
) -> None:
    talk = Talk(tmp_path, "Hello.", *steps)

    async def run() -> None:
        await talk.conversation.ask("Hi")
        await talk.conversation.end()

    asyncio.run(run())
    (ended,) = (event for event in talk.events if isinstance(event, SummaryEnded))
    (sealed,) = (event for event in talk.events if isinstance(event, SessionSealed))
    assert (ended.source, ended.problem) == (
        "none",
        f"Summary failed: {problem} {LATER}",
    )
    assert (sealed.saved, sealed.summary) == (True, "none")
    assert len(talk.sent) == 1 + len(steps)
    session = talk.sessions.load(talk.path).session
    assert session.seal is not None
    assert session.seal.summary is None
    again = Talk(tmp_path, "Yes.", clock=talk.clock)

    async def resume() -> None:
        await again.resume(ID)
        await again.conversation.ask("Still there?")

    asyncio.run(resume())
    assert again.sent == [said("Hi", "Hello.", "Still there?")]


@pytest.mark.parametrize(("steps", "problem"), [case[1:] for case in failed_summaries()])
def test_a_summary_that_fails_at_compact_is_made_without_the_model(
    tmp_path: Path, steps: tuple[Step, ...], problem: str
) -> None:
    options = Options(acknowledge=False, attach_from_archive=False)
    talk = Talk(tmp_path, "My boat is 9.4 m long.", *steps, "Yes.", "Yes.", options=options)

    async def run() -> None:
        await talk.conversation.ask("Hi")
        assert await talk.conversation.compact()
        await talk.conversation.ask("Still there?")
        await talk.conversation.accept(
            await talk.conversation.planner().uncompact(), acknowledge=False
        )
        await talk.conversation.ask("And now?")

    asyncio.run(run())
    (ended,) = (event for event in talk.events if isinstance(event, SummaryEnded))
    told = f"Summary failed: {problem.rstrip('.')}. It is made without the model."
    assert (ended.source, ended.problem) == ("extracted", told)
    assert "9.4 m" in talk.sent[-2][0].text
    assert talk.sent[-2][0].text.startswith("CONTEXT RESTORATION")
    assert talk.sent[-1] == said("Hi", "My boat is 9.4 m long.", "Still there?", "Yes.", "And now?")


def test_the_second_attempt_at_a_summary_is_seen(tmp_path: Path) -> None:
    talk = Talk(tmp_path, "Hello.", "No.", SUMMARY)

    async def run() -> None:
        await talk.conversation.ask("Hi")
        talk.told()
        await talk.conversation.end()

    asyncio.run(run())
    assert talk.events[:-1] == [
        SummaryStarted(parts=1, optional=True),
        SummaryProgress(part=1, parts=1, characters=3),
        Retrying(
            reason="The model didn't follow the summary format.",
            seconds=0,
            attempt=2,
            attempts=2,
        ),
        SummaryProgress(part=1, parts=1, characters=len(SUMMARY)),
        SummaryEnded(source="model", usage=CALL + CALL, seconds=4.0),
    ]


def test_a_summary_that_takes_too_long_is_given_up(tmp_path: Path) -> None:
    silence = Says(("**Back",), then="silence")
    talk = Talk(tmp_path, "Hello.", silence, options=Options(summary=SummaryOptions(limit=0.01)))

    async def run() -> None:
        await talk.conversation.ask("Hi")
        await talk.conversation.end()

    asyncio.run(run())
    (ended,) = (event for event in talk.events if isinstance(event, SummaryEnded))
    assert ended.problem == f"Summary failed: It took more than 0 seconds. {LATER}"
    assert talk.model.cancelled == 1
    assert names(tmp_path) == [f"{ID}.md"]


def test_ctrl_c_during_the_summary_at_exit_skips_it(tmp_path: Path) -> None:
    talk = Talk(tmp_path, "Hello.", Says(("**Back",), then="silence"))

    async def run() -> None:
        await talk.conversation.ask("Hi")
        talk.told()
        await talk.interrupt(talk.conversation.end())

    asyncio.run(run())
    assert talk.events == [
        SummaryStarted(parts=1, optional=True),
        SummaryProgress(part=1, parts=1, characters=6),
        SummaryEnded(source="none", problem=f"Summary skipped. {LATER}"),
        SessionSealed(
            id=ID,
            path=str(talk.path),
            reason="exit",
            queries=1,
            session_tokens=CALL,
            restoration_tokens=Usage(),
            saved=True,
            summary="none",
        ),
    ]
    assert talk.model.cancelled == 1


def test_ctrl_c_during_compact_changes_nothing(tmp_path: Path) -> None:
    talk = Talk(tmp_path, "Hello.", Says(("**Back",), then="silence"), "Yes.")

    async def run() -> None:
        await talk.conversation.ask("Hi")
        before = talk.text
        await talk.interrupt(talk.conversation.compact())
        assert talk.text == before
        await talk.conversation.ask("Still there?")

    asyncio.run(run())
    assert talk.sent[-1] == said("Hi", "Hello.", "Still there?")
    assert names(tmp_path) == [f"{ID}.md"]


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


def test_a_disk_that_is_full_at_exit_is_said_there_too(tmp_path: Path) -> None:
    files = FailingFiles()
    files.room = 0
    talk = Talk(tmp_path, "Hello.", SUMMARY, files=files)

    async def run() -> None:
        await talk.conversation.ask("Hi")
        await talk.conversation.end()

    asyncio.run(run())
    assert [event for event in talk.events if isinstance(event, Warned)] == [not_saved(talk)] * 2
    sealed = talk.events[-1]
    assert isinstance(sealed, SessionSealed)
    assert not sealed.saved
    assert not talk.conversation.live.is_saved


def test_a_folder_that_cannot_be_written_is_told_and_the_chat_goes_on(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    talk = Talk(tmp_path / "file", "Hello.", "Fine.")

    async def run() -> None:
        await talk.conversation.ask("Hi")
        await talk.conversation.ask("How are you?")

    asyncio.run(run())
    (warned,) = (event for event in talk.events if isinstance(event, Warned))
    hint = FULL_HINT.replace("Free some space or fix the permissions", "Check that folder")
    assert warned == not_saved(talk, "not a directory", hint)
    assert talk.sent[1] == said("Hi", "Hello.", "How are you?")


def test_compact_on_a_full_disk_keeps_the_words_it_cannot_save(tmp_path: Path) -> None:
    files = FailingFiles()
    talk = Talk(tmp_path, "Hello.", SUMMARY, "Yes.", SUMMARY, "Ready.", files=files)
    hint = f"Not compacted: the conversation continues with all its words. {FULL_HINT}"

    async def run() -> None:
        await talk.conversation.ask("Hi")
        files.room = 0
        assert not await talk.conversation.compact()
        assert talk.events[-1] == not_saved(talk, hint=hint)
        files.room = None
        await talk.conversation.ask("Still there?")
        assert Warned("Saving works again: everything said so far is on disk.") in talk.events
        assert await talk.conversation.compact()

    asyncio.run(run())
    assert talk.sent[2] == said("Hi", "Hello.", "Still there?")
    assert [entry[1] for entry in saved_entries(tmp_path / f"{ID}.md")] == [
        "Hi",
        "Hello.",
        "Still there?",
        "Yes.",
    ]


def test_a_session_that_cannot_be_saved_is_not_left_for_another(tmp_path: Path) -> None:
    files = FailingFiles()
    talk = Talk(tmp_path, "Hello.", "Hello again.", files=files)

    async def run() -> None:
        files.room = 0
        await talk.conversation.ask("Hi")
        with pytest.raises(SaveError, match="no space left on device") as caught:
            await talk.conversation.leave("clear")
        assert caught.value.hint == f"Staying in this session. {FULL_HINT}"
        files.room = None
        await talk.conversation.ask("Hi again")
        await talk.conversation.leave("clear")

    asyncio.run(run())
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


def test_a_failed_call_is_charged_nothing_and_a_failed_summary_what_it_cost(tmp_path: Path) -> None:
    talk = Talk(tmp_path, DOWN, "Hello.", "No.", "No.")

    async def run() -> None:
        with pytest.raises(ProviderError):
            await talk.conversation.ask("Hi")
        await talk.conversation.ask("Hi")
        await talk.conversation.end()

    asyncio.run(run())
    session = talk.sessions.load(talk.path).session
    assert session.totals.session == CALL
    assert session.seal is not None
    assert (session.seal.usage, session.seal.summary) == (CALL + CALL, None)
    assert session.seal.at >= START
    assert Summary() != session.seal.summary
