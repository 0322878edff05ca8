"""Transcripts of whole chains with compactions and resumes, byte for byte."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from chat_loop.conversation.conversation_options import Options
from chat_loop.sessions.parser import parse
from chat_loop.sessions.records import Summary
from chat_loop.sessions.writer import render
from tests.support.scripted_chat import Says, Step, Talk, names

GOLDEN = Path(__file__).parents[1] / "golden" / "chains"

SAID = (
    (
        "We renovate the kitchen; the budget is 8,400 euros.",
        "A kitchen for 8,400 euros is possible with oak fronts.",
    ),
    ("Decision: we take oak fronts because they can be sanded.", "Oak it is."),
    (
        "Frau Keller from Holzhof Brandt delivers on 14 May at 9:30.",
        "Then the old fronts must be off by 13 May.",
    ),
    ("We still have to order 12 handles.", "Handles with a spacing of 128 mm fit these drawers."),
    ("The budget is now 9,100 euros.", "Noted: that leaves 700 euros more."),
)
"""Exchanges to repeat, with numbers, a decision, a person, a task and a correction."""


def summary(background: str, *topics: str, decision: str = "none") -> Step:
    lines = [
        f"**Background Context:** {background}",
        "",
        "**Current Session Summary:**",
        "**Topics Discussed:**",
        *(f"- {topic}" for topic in topics),
        "",
        "**Decisions Made:**",
        f"- {decision}",
        "",
        "**Pending:**",
        "- none",
    ]
    return Says(("\n".join(lines),))


def talk_of(folder: Path) -> Talk:
    return Talk(folder, agent="Sally", options=Options())


async def say(talk: Talk, queries: int, first: int = 0) -> None:
    """Say `queries` of the exchanges in SAID, beginning at `first`."""
    for number in range(first, first + queries):
        query, reply = SAID[number % len(SAID)]
        talk.model.steps.append(reply)
        await talk.conversation.ask(query)
        talk.clock.seconds += 60


async def compact(talk: Talk, made: Step) -> None:
    talk.model.steps += [made, "I know what we have: ready to continue."]
    assert await talk.conversation.compact()
    await talk.conversation.background.wait()
    talk.clock.seconds += 60


async def compact_three_times(folder: Path) -> None:
    talk = talk_of(folder)
    await say(talk, 4)
    talk.conversation.pin("Never drill into the north wall.")
    await compact(
        talk,
        summary("Initial session.", "Renovating the kitchen [1.1]", decision="Oak fronts [1.2]"),
    )
    await say(talk, 4, first=4)
    await compact(talk, summary("The kitchen is planned.", "A larger budget [2.1]"))
    await say(talk, 4, first=8)
    await compact(talk, summary("Kitchen, budget, delivery.", "The same again [3.1]"))
    await say(talk, 1, first=12)
    talk.model.steps.append(summary("Kitchen, budget, delivery.", "Delivery [4.1]"))
    await talk.conversation.end()


async def resume_compact_resume(folder: Path) -> None:
    first = talk_of(folder)
    await say(first, 3)
    first.model.steps.append(summary("Initial session.", "Renovating the kitchen [1.1]"))
    await first.conversation.end()
    second = Talk(folder, "Welcome back.", agent="Sally", clock=first.clock, options=Options())
    await second.resume(first.conversation.live.header.id)
    await second.conversation.background.wait()
    await say(second, 5, first=3)
    await compact(second, summary("The kitchen is planned.", "Handles and budget [2.1]"))
    await say(second, 1, first=8)
    second.model.steps.append(summary("Kitchen, handles.", "Handles again [3.1]"))
    await second.conversation.end()
    third = Talk(folder, "Here again.", agent="Sally", clock=first.clock, options=Options())
    await third.resume(second.conversation.live.header.id)
    await third.conversation.background.wait()
    await say(third, 1, first=9)
    third.model.steps.append(summary("Kitchen, handles, budget.", "Budget [4.1]"))
    await third.conversation.end()


def compact_after(queries: int) -> Callable[[Path], Awaitable[None]]:
    async def run(folder: Path) -> None:
        talk = talk_of(folder)
        await say(talk, queries)
        await compact(talk, summary("Initial session.", "Renovating the kitchen [1.1]"))
        await say(talk, 1, first=queries)
        await talk.conversation.leave("exit")

    return run


SCENARIOS: dict[str, Callable[[Path], Awaitable[None]]] = {
    "compact-three-times": compact_three_times,
    "resume-compact-resume": resume_compact_resume,
    "compact-after-1": compact_after(1),
    "compact-after-5": compact_after(5),
    "compact-after-20": compact_after(20),
}


def files(folder: Path) -> dict[str, str]:
    """Return the transcripts of a folder by name, with /sessions instead of the folder's path."""
    return {
        name: (folder / name).read_text("utf-8").replace(str(folder), "/sessions")
        for name in names(folder)
    }


@pytest.mark.parametrize("name", SCENARIOS)
def test_a_chain_is_these_files(tmp_path: Path, name: str) -> None:
    asyncio.run(SCENARIOS[name](tmp_path))  # type: ignore[arg-type]
    assert files(tmp_path) == files(GOLDEN / name)
    for file in names(GOLDEN / name):
        data = (GOLDEN / name / file).read_bytes()
        read = parse(data)
        assert read.damage == ()
        assert read.session is not None
        assert render(read.session) == data


GROUPED = (Path(__file__).parents[1] / "golden" / "grouped" / "compacted.md").read_bytes()
"""A file of an earlier version, in which neighbors share one place, after the last of them."""


def sealed(data: bytes) -> tuple[Summary, tuple[str, ...]]:
    """Return the summary block of a file, and the damage."""
    read = parse(data)
    assert read.session is not None
    assert read.session.seal is not None
    assert read.session.seal.summary is not None
    return read.session.seal.summary, read.damage


def rendered() -> bytes:
    """Return GROUPED as this version writes it."""
    session = parse(GROUPED).session
    assert session is not None
    return render(session)


def test_a_block_whose_places_are_grouped_is_read_as_ever() -> None:
    assert b"\n+ Handles" in GROUPED
    assert b"\n+ " not in rendered()
    assert sealed(GROUPED) == sealed(rendered())
    assert sealed(GROUPED)[0].key_facts == (
        "Frau Keller from Holzhof Brandt delivers on 14 May at 9:30. [1 user]",
        "Then the old fronts must be off by 13 May. [1 reply]",
        "Handles with a spacing of 128 mm fit these drawers. [1 reply]",
    )


def test_a_line_that_is_taken_out_of_a_block_takes_no_other_place_along() -> None:
    last = b"- Handles with a spacing of 128 mm fit these drawers. [1 reply]\n"
    left, damage = sealed(rendered().replace(last, b"", 1))
    assert (left.key_facts, damage) == (sealed(GROUPED)[0].key_facts[:-1], ())


def test_half_of_a_block_counts() -> None:
    """A hand edit removes the second half of the block and its end. The rest counts, and the damage
    is reported.
    """
    data, end = rendered(), b"<!-- SESSION_SUMMARY_END -->\n"
    left, damage = sealed(
        data[: data.index(b"\n**Key Facts:**")] + data[data.index(end) + len(end) :]
    )
    assert (left.topics, left.key_facts) == (("Renovating the kitchen [1.1]",), ())
    assert [sentence.partition(": ")[2] for sentence in damage] == [
        "the summary record has no end."
    ]
