"""The ancestors of a session, whatever state their files are in."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from msgspec.structs import replace

from chat_loop.sessions.chain import Chain, read_chain
from chat_loop.sessions.manager import SessionManager
from chat_loop.sessions.records import Header, Query, Restoration, Session
from chat_loop.sessions.writer import render
from tests.support.archives import Counting, chain_exchanges, chained, session
from tests.support.scripted_chat import START


def ids(chain: Chain) -> list[str]:
    return [loaded.session.header.id.partition("_")[0] for loaded in chain.ancestors]


def refs(chain: Chain, depth: int) -> list[list[str]]:
    return [[exchange.ref for exchange in exchanges] for exchanges in chain_exchanges(chain, depth)]


def test_ancestors_come_nearest_first_and_keep_their_places(tmp_path: Path) -> None:
    sessions = Counting(tmp_path)
    live = chained(sessions, ["a", "b"], ["c"], ["d", "e"], ["live"])
    chain = read_chain(sessions, live)
    assert (ids(chain), chain.problem) == (["s3", "s2", "s1"], "")
    assert refs(chain, 4) == [["1.1", "1.2"], ["2.1"], ["3.1", "3.2"]]
    assert refs(chain, 7) == [["4.1", "4.2"], ["5.1"], ["6.1", "6.2"]]
    assert refs(chain, 2) == refs(chain, 4)
    assert [
        exchange.query.text for exchanges in chain_exchanges(chain, 4) for exchange in exchanges
    ] == list("abcde")


def test_a_session_without_a_parent_has_no_ancestors(tmp_path: Path) -> None:
    sessions = Counting(tmp_path)
    assert read_chain(sessions, Session(header=Header(id="x", created=START, agent="A"))) == Chain()
    assert chain_exchanges(Chain(), 1) == ()


def gone(path: Path) -> None:
    path.unlink()


def no_transcript(path: Path) -> None:
    path.write_text("# A readme\n")


def a_link(path: Path) -> None:
    path.unlink()
    path.symlink_to("/etc/passwd")


def a_pipe(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def empty(path: Path) -> None:
    path.write_bytes(b"")


@pytest.mark.parametrize("damage", [gone, no_transcript, a_link, a_pipe, empty])
def test_a_chain_ends_where_a_file_cannot_be_read(tmp_path: Path, damage: object) -> None:
    sessions = Counting(tmp_path)
    live = chained(sessions, ["a"], ["b"], ["c"], ["live"])
    assert callable(damage)
    damage(next(tmp_path.glob("s2_*")))
    chain = read_chain(sessions, live)
    assert ids(chain) == ["s3"]
    assert chain.problem.startswith("The chain ends before s2_")
    assert refs(chain, 4) == [["3.1"]]


def test_a_chain_that_bites_its_tail_ends(tmp_path: Path) -> None:
    sessions = Counting(tmp_path)
    live = chained(sessions, ["a"], ["b"], ["live"])
    first = next(tmp_path.glob("s1_*"))
    data = first.read_bytes()
    for parent in (f"{next(tmp_path.glob('s2_*')).stem}", live.header.id):
        first.write_bytes(
            data.replace(b"<!-- chat:session ", f"<!-- chat:session parent={parent} ".encode(), 1)
        )
        chain = read_chain(sessions, live)
        assert ids(chain) == ["s2", "s1"]
        assert chain.problem == "The chain has no beginning: its sessions go on from each other."


def test_nothing_outside_the_folder_is_looked_at(tmp_path: Path) -> None:
    sessions = Counting(tmp_path / "sessions")
    outside = session(Counting(tmp_path), "outside", "", ["secret"])
    live = replace(
        outside, header=replace(outside.header, id="live", parent=f"../{outside.header.id}")
    )
    assert read_chain(sessions, live) == Chain(
        (), f"The chain ends before ../{outside.header.id}: that is not a session id."
    )
    assert sessions.told() == []
    written = tmp_path / "sessions" / "a.md"
    written.parent.mkdir(exist_ok=True)
    written.write_text(
        "<!-- chat:session v=1 id=a created=2026-11-21T22:30:15+01:00 parent=../outside -->\n"
        "**Agent:** A\n<!-- chat:end -->\n"
    )
    assert sessions.load(written).session.header.parent == ""


def test_another_programs_file_can_be_an_ancestor(tmp_path: Path) -> None:
    sessions = Counting(tmp_path)
    plain = min((Path(__file__).parents[1] / "golden" / "plain").glob("*.md"))
    (tmp_path / "old.md").write_bytes(plain.read_bytes())
    chain = read_chain(
        sessions, Session(header=Header(id="x", created=START, agent="A", parent="old"))
    )
    assert [loaded.is_foreign for loaded in chain.ancestors] == [True]
    assert refs(chain, 2) == [
        [f"1.{number}" for number in range(1, 1 + len(chain_exchanges(chain, 2)[0]))]
    ]


@pytest.mark.slow
def test_a_thousand_merges_in_a_row_are_read(tmp_path: Path) -> None:
    """Each merge combines the one before with another session."""
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
