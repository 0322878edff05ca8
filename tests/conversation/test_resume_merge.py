"""Merging: one child of two branches, with the lines of both and their places."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from chat_loop.context.merge import merge
from chat_loop.conversation.options import Options
from chat_loop.errors import SessionError, UsageError
from chat_loop.sessions import summary_block
from chat_loop.sessions.chain import read_chain
from chat_loop.sessions.manager import LoadedSession
from chat_loop.sessions.parser import parse
from chat_loop.sessions.records import Session, Summary
from chat_loop.sessions.writer import render
from tests.support.chains import chain_exchanges
from tests.support.scripted_chat import Clock, Talk, words

CODE = Options(acknowledge=False, attach_from_archive=False, use_ai_summary=False)
"""With these options, code makes every summary."""


def merged(first: Summary, second: Summary, *, room: int = 1_000) -> Summary:
    return merge(first, second, room, words, fork=1, shift=2)


# ---- whole sessions


class Machine:
    """A machine with its own folder. Its sessions begin at other times than those of others."""

    def __init__(self, folder: Path, hours: int) -> None:
        self.folder = folder
        self.clock = Clock()
        self.clock.seconds = hours * 3600.0

    def talk(self) -> Talk:
        return Talk(self.folder, clock=self.clock, options=CODE)

    def take(self, other: Machine) -> None:
        """Copy the sessions of another machine to this one."""
        for path in other.folder.glob("*.md"):
            shutil.copy2(path, self.folder)


async def say(talk: Talk, *queries: str) -> None:
    for query in queries:
        talk.model.steps.append("Noted.")
        await talk.conversation.ask(query)


async def session_of(machine: Machine, parent: str, *queries: str, seal: bool = True) -> str:
    """Make a session of `queries` that continues `parent`, if not empty, and return its id."""
    talk = machine.talk()
    if parent:
        await talk.resume(parent)
    await say(talk, *queries)
    identity = talk.conversation.live.header.id
    if seal:
        await talk.conversation.leave("exit")
    talk.conversation.close()
    return identity


@pytest.fixture
def two(tmp_path: Path) -> tuple[Machine, Machine]:
    for name in ("home", "work"):
        (tmp_path / name).mkdir()
    return Machine(tmp_path / "home", 0), Machine(tmp_path / "work", 100)


async def branched(home: Machine, work: Machine, *, seal: bool = True) -> tuple[str, str, str]:
    """Continue a parent on both machines, twice on each, and copy all files to `home`. Return the
    ids of the parent and of the last session on each.
    """
    parent = await session_of(
        home, "", "The budget is 8,400 euros.", "The gateway listens on port 5432."
    )
    work.take(home)
    first = await session_of(
        home, parent, "Decision: we take oak fronts because they can be sanded."
    )
    first = await session_of(
        home,
        first,
        "Correction: the gateway listens on port 5544.",
        "Tom has shoe size 43.",
        seal=seal,
    )
    second = await session_of(work, parent, "Ida ordered 12 handles for 96 euros.")
    second = await session_of(
        work, second, "Correction: the gateway listens on port 6000.", seal=seal
    )
    home.take(work)
    return parent, first, second


def load(talk: Talk, identity: str) -> LoadedSession:
    return talk.sessions.load(talk.sessions.directory / f"{identity}.md")


async def take(talk: Talk, first: str | LoadedSession, second: str) -> None:
    """Merge two sessions and go on with the result."""
    planner = talk.conversation.planner()
    plan, _ = await planner.merge(
        load(talk, first) if isinstance(first, str) else first, load(talk, second)
    )
    await talk.conversation.accept(plan)


def said_in(talk: Talk, session: Session | None = None) -> list[list[str]]:
    """Return the queries of each session in the chain, oldest first. The default is the open one's
    chain.
    """
    session = session or talk.conversation.session
    chain = read_chain(talk.sessions, session)
    assert chain.problem == ""
    return [[one.query.text for one in part] for part in chain_exchanges(chain, session.depth)]


def block_of(talk: Talk) -> Summary:
    given = talk.conversation.session.restoration
    assert given is not None
    return summary_block.parse(given.block)


WHOLE = [
    ["The budget is 8,400 euros.", "The gateway listens on port 5432."],
    ["Decision: we take oak fronts because they can be sanded."],
    ["Correction: the gateway listens on port 5544.", "Tom has shoe size 43."],
    ["Ida ordered 12 handles for 96 euros."],
    ["Correction: the gateway listens on port 6000."],
]


def test_two_branches_of_two_machines(two: tuple[Machine, Machine]) -> None:
    home, work = two

    async def run() -> None:
        _, first, second = await branched(home, work)
        talk = home.talk()
        plan, related = await talk.conversation.planner().merge(
            load(talk, first), load(talk, second)
        )
        assert (related, plan.depth) == (True, 6)
        await take(talk, first, second)
        made = block_of(talk)
        assert made.decisions == (
            "Decision: we take oak fronts because they can be sanded. [2 user]",
        )
        assert made.key_facts == (
            "The budget is 8,400 euros. [1 user]",
            "Tom has shoe size 43. [3 user]",
            "Ida ordered 12 handles for 96 euros. [4 user]",
            "Correction: the gateway listens on port 6000. [5 user]",
        )
        live = talk.conversation.session
        assert (live.header.parent, live.restoration and live.restoration.merged) == (first, second)
        assert (live.depth, said_in(talk)) == (6, WHOLE)
        await talk.conversation.compaction.wait()
        archive = talk.conversation.archive
        assert archive is not None
        for line, ref in (
            ("handles for 96 euros", "4.1"),
            ("gateway port 6000", "5.1"),
            ("shoe size 43", "3.2"),
        ):
            assert archive.search(line)[0].exchange.ref == ref
        await say(talk, "The fence is 12 metres long.")
        talk.model.steps.append("")
        assert await talk.conversation.compact()
        assert said_in(talk) == [*WHOLE, ["The fence is 12 metres long."]]
        assert block_of(talk).key_facts == (
            *made.key_facts,
            "The fence is 12 metres long. [6 user]",
        )
        await say(talk, "And 3 gates.")
        last = talk.conversation.live.header.id
        await talk.conversation.leave("exit")
        await talk.resume(last)
        assert said_in(talk)[-1] == ["And 3 gates."]
        talk.conversation.close()
        for path in home.folder.glob("*.md"):
            read = parse(path.read_bytes())
            assert read.session is not None
            assert (read.damage, render(read.session)) == ((), path.read_bytes())

    asyncio.run(run())


def test_the_transcript_of_a_merge(two: tuple[Machine, Machine]) -> None:
    home, work = two

    async def run() -> str:
        parent = await session_of(home, "", "The budget is 8,400 euros.")
        work.take(home)
        first = await session_of(home, parent, "Tom has shoe size 43.")
        second = await session_of(work, parent, "Ida ordered 12 handles.")
        home.take(work)
        talk = home.talk()
        for one, tags in ((first, ["home"]), (second, ["work", "home"])):
            talk.sessions.describe(load(talk, one), tags=tags)
        await take(talk, first, second)
        talk.conversation.close()
        return talk.text.replace(str(home.folder), "/sessions")

    assert asyncio.run(run()).partition("<!-- chat:end -->\n")[2] == (
        """\

---

"""
        "<!-- chat:restoration queries=1 tokens=110 of=2026-11-21T22:30:17+01:00 "
        "grandparent=sally_20261121_223015 "
        "depth=4 merged=sally_20261126_023015 at=2026-11-21T22:30:19+01:00 -->\n"
        """\
## Session Restored (22:30:19)

**Context:** Resumed from [sally_20261121_223017](sally_20261121_223017.md) (1 query, 110 tokens), merged with [sally_20261126_023015](sally_20261126_023015.md)

<details><summary>Restored context</summary>

**Background Context:** Before: The budget is 8,400 euros. [1.1]

**Current Session Summary:**
**Topics Discussed:**
- Tom has shoe size 43. [2.1]
- Ida ordered 12 handles. [3.1]

**Decisions Made:**
*none*

**Pending:**
*none*

**Key Facts:**
- The budget is 8,400 euros. [1 user]
- Tom has shoe size 43. [2 user]
- Ida ordered 12 handles. [3 user]

</details>
<!-- chat:end -->
"""
    )


def test_a_merge_of_a_merge(two: tuple[Machine, Machine]) -> None:
    home, work = two

    async def run() -> None:
        _, first, second = await branched(home, work)
        third = await session_of(work, second, "The lamp has 40 watts.")
        home.take(work)
        talk = home.talk()
        await take(talk, first, second)
        await say(talk, "The door is 2.1 metres high.")
        joined = talk.conversation.live.header.id
        await talk.conversation.leave("exit")
        await take(talk, joined, third)
        assert said_in(talk) == [
            *WHOLE,
            ["The door is 2.1 metres high."],
            ["The lamp has 40 watts."],
        ]
        assert block_of(talk).key_facts[-2:] == (
            "The door is 2.1 metres high. [6 user]",
            "The lamp has 40 watts. [7 user]",
        )
        talk.conversation.close()

    asyncio.run(run())


def test_a_thousand_merges_in_a_row_are_read(tmp_path: Path) -> None:
    """Each merge combines the one before with another session."""
    from chat_loop.sessions.manager import SessionManager
    from chat_loop.sessions.records import Header, Query, Restoration
    from tests.support.scripted_chat import START

    count = 1_200

    def write(identity: str, parent: str, merged: str) -> Session:
        given = Restoration(
            at=START,
            parent_created=START,
            queries=1,
            tokens=1,
            block="",
            merged=merged,
            depth=2 * count,
        )
        asked = Query(number=1, at=START, text=identity)
        session = Session(
            header=Header(id=identity, created=START, agent="S", parent=parent),
            entries=(given, asked) if parent else (asked,),
        )
        (tmp_path / f"{identity}.md").write_bytes(render(session))
        return session

    write("m0", "", "")
    for number in range(1, count):
        write(f"s{number}", f"m{number - 1}", "")
        last = write(f"m{number}", f"m{number - 1}", f"s{number}")
    chain = read_chain(SessionManager(tmp_path), last)
    assert chain.problem == ""
    found = [loaded.session.header.id for loaded in chain.ancestors]
    assert found[:4] == [f"s{count - 1}", f"m{count - 2}", f"s{count - 2}", f"m{count - 3}"]
    assert len(set(found)) == len(found) == 2 * count - 2
    inner = write("i0", "", "")
    for number in range(1, count):
        inner = write(f"i{number}", "m0", f"i{number - 1}")
    assert len(read_chain(SessionManager(tmp_path), inner).ancestors) == count


def test_no_session_in_common(two: tuple[Machine, Machine]) -> None:
    home, work = two

    async def run() -> None:
        first = await session_of(home, "", "Tom has shoe size 43.")
        other = await session_of(work, "", "Ida ordered 12 handles.")
        other = await session_of(work, other, "The lamp has 40 watts.")
        home.take(work)
        talk = home.talk()
        plan, related = await talk.conversation.planner().merge(
            load(talk, first), load(talk, other)
        )
        assert (related, plan.depth) == (False, 4)
        await take(talk, first, other)
        assert said_in(talk) == [
            ["Tom has shoe size 43."],
            ["Ida ordered 12 handles."],
            ["The lamp has 40 watts."],
        ]
        assert block_of(talk).key_facts == (
            *(
                "Tom has shoe size 43. [1 user]",
                "Ida ordered 12 handles. [2 user]",
                "The lamp has 40 watts. [3 user]",
            ),
        )
        talk.conversation.close()

    asyncio.run(run())


Making = Callable[[Machine, Machine], Awaitable[tuple[str, str]]]


async def _itself(home: Machine, work: Machine) -> tuple[str, str]:
    one = await session_of(home, "", "Tom has shoe size 43.")
    return one, one


async def _parent(home: Machine, work: Machine) -> tuple[str, str]:
    one = await session_of(home, "", "Tom has shoe size 43.")
    return one, await session_of(home, one, "Ida ordered 12 handles.")


async def _child(home: Machine, work: Machine) -> tuple[str, str]:
    return (await _parent(home, work))[::-1]


async def _empty(home: Machine, work: Machine) -> tuple[str, str]:
    one = await session_of(home, "", "Tom has shoe size 43.")
    talk = work.talk()
    await say(talk, "Oops")
    await talk.conversation.undo()
    talk.conversation.close()
    home.take(work)
    return one, talk.conversation.live.header.id


@pytest.mark.parametrize(
    ("making", "sentence"),
    [
        (_itself, "Both are sally_20261121_223015."),
        (
            _parent,
            "sally_20261121_223017 continues sally_20261121_223015: there is nothing to merge.",
        ),
        (
            _child,
            "sally_20261121_223017 continues sally_20261121_223015: there is nothing to merge.",
        ),
        (_empty, "Session sally_20261126_023015 has no exchanges: it can't be resumed."),
    ],
)
def test_what_is_not_merged(two: tuple[Machine, Machine], making: Making, sentence: str) -> None:
    async def run() -> None:
        first, second = await making(*two)
        talk = two[0].talk()
        with pytest.raises((UsageError, SessionError)) as caught:
            await take(talk, first, second)
        assert caught.value.message == sentence
        assert talk.conversation.live.is_empty

    asyncio.run(run())


@pytest.mark.parametrize("swap", [False, True])
def test_a_fork_is_merged_with_what_its_parent_said_afterwards(
    tmp_path: Path, *, swap: bool
) -> None:
    (tmp_path / "home").mkdir()
    home = Machine(tmp_path / "home", 0)

    async def run() -> None:
        talk = home.talk()
        conversation = talk.conversation
        await say(talk, "Tom has shoe size 43.", "The lamp has 40 watts.")
        parent = talk.path.stem
        loaded = LoadedSession(conversation.session, talk.path, is_open=True)
        await conversation.accept(await conversation.planner().fork(loaded, 1), acknowledge=False)
        await say(talk, "Ida ordered 12 handles.")
        live = LoadedSession(conversation.session, talk.path, is_open=True)
        plan, _ = await conversation.planner().merge(
            *((load(talk, parent), live)[:: -1 if swap else 1])
        )
        assert plan.path.stem == parent
        await conversation.accept(plan)
        assert said_in(talk) == [
            ["Tom has shoe size 43.", "The lamp has 40 watts."],
            ["Ida ordered 12 handles."],
        ]
        assert block_of(talk).key_facts == (
            *(
                "Tom has shoe size 43. [1 user]",
                "The lamp has 40 watts. [1 user]",
                "Ida ordered 12 handles. [2 user]",
            ),
        )
        conversation.close()

    asyncio.run(run())


def test_two_forks_of_one_session_keep_all_that_either_has(tmp_path: Path) -> None:
    (tmp_path / "home").mkdir()
    home = Machine(tmp_path / "home", 0)

    async def run() -> None:
        talk = home.talk()
        await say(talk, "Tom has shoe size 43.", "The lamp has 40 watts.", "Unsaid 77.")
        parent, forks = talk.path.stem, []
        await talk.conversation.leave("exit")
        for number in (1, 2):
            await talk.conversation.accept(
                await talk.conversation.planner().fork(load(talk, parent), number),
                acknowledge=False,
            )
            await say(talk, f"Room {number} is {number}1 m².")
            forks.append(talk.path.stem)
            await talk.conversation.leave("exit")
        await take(talk, forks[0], forks[1])
        assert said_in(talk) == [
            *(
                ["Tom has shoe size 43.", "The lamp has 40 watts."],
                ["Room 2 is 21 m²."],
                ["Room 1 is 11 m²."],
            )
        ]
        assert not any("77" in fact for fact in block_of(talk).key_facts)
        talk.conversation.close()

    asyncio.run(run())


@pytest.mark.parametrize("swap", [False, True])
def test_a_fork_does_not_bring_back_what_the_other_branch_corrected(
    tmp_path: Path, *, swap: bool
) -> None:
    (tmp_path / "home").mkdir()
    home = Machine(tmp_path / "home", 0)

    async def run() -> None:
        talk = home.talk()
        conversation = talk.conversation
        await say(talk, "The gateway listens on port 5432.", "The lamp has 40 watts.")
        parent = talk.path.stem
        await conversation.leave("exit")
        await talk.resume(parent)
        await say(talk, "Correction: the gateway listens on port 5544.")
        corrected = talk.path.stem
        await conversation.leave("exit")
        await conversation.accept(
            await conversation.planner().fork(load(talk, parent), 1), acknowledge=False
        )
        await say(talk, "Ida ordered 12 handles.")
        forked = talk.path.stem
        await conversation.leave("exit")
        one, other = (forked, corrected) if swap else (corrected, forked)
        plan, _ = await conversation.planner().merge(load(talk, one), load(talk, other))
        assert summary_block.parse(plan.block).key_facts == (
            *(
                "The lamp has 40 watts. [1 user]",
                "Correction: the gateway listens on port 5544. [2 user]",
            ),
            "Ida ordered 12 handles. [3 user]",
        )
        conversation.close()

    asyncio.run(run())


def test_unsealed_branches_and_the_live_one(two: tuple[Machine, Machine]) -> None:
    home, work = two

    async def run() -> None:
        _, first, second = await branched(home, work, seal=False)
        talk = home.talk()
        await talk.resume(first)
        await say(talk, "The lamp has 40 watts.")
        before = talk.path
        await take(talk, LoadedSession(talk.conversation.session, before, is_open=True), second)
        assert said_in(talk) == [*WHOLE[:3], ["The lamp has 40 watts."], *WHOLE[3:]]
        for identity in (second, before.stem):  # the first one was carried word for word
            seal = load(talk, identity).session.seal
            assert seal is not None
            assert seal.source == "extracted"
        with pytest.raises(UsageError, match="This session was not compacted"):
            await talk.conversation.planner().uncompact()
        await say(talk, "A last word.")
        await talk.conversation.undo()
        talk.conversation.close()

    asyncio.run(run())
