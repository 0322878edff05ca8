"""The choice of sessions to clean up (pure): none that a remaining session needs, and children
before their parents.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from chat_loop.library.lineage import PRESERVED_STATES, ancestry, old_chains, old_originals
from chat_loop.sessions.chain import Link
from chat_loop.sessions.records import SessionRow, State

NOW = datetime(2026, 11, 22, tzinfo=UTC)
BEFORE = NOW - timedelta(days=30)
STATES: Sequence[State] = ("sealed", "unsealed", "plain", "damaged", "empty", "foreign")


def row(
    identity: str, days: float, state: State = "sealed", parent: str = "", merged: str = ""
) -> SessionRow:
    """Return the row of a session that was last used `days` ago."""
    return SessionRow(
        id=identity,
        folder=Path("/sessions"),
        state=state,
        updated=NOW - timedelta(days=days),
        parent=parent,
        merged=merged,
    )


@dataclass(frozen=True)
class Folder:
    rows: Sequence[SessionRow]

    @property
    def links(self) -> Mapping[str, Link]:
        return {one.id: Link(one.id, one.parent, one.merged) for one in self.rows}

    def old_chains(self) -> list[str]:
        return [one.id for one in old_chains(self.rows, self.links, BEFORE)]

    def old_originals(self, *needed: str) -> list[str]:
        return [one.id for one in old_originals(self.rows, self.links, BEFORE, needed)]

    def needs(self, identity: str) -> set[str]:
        return ancestry([identity], self.links) - {identity}

    def circles(self, identity: str) -> bool:
        """Return True when a session or one of its ancestors is its own ancestor."""
        return any(
            one in ancestry(self.links[one].parents, self.links)
            for one in {identity, *self.needs(identity)}
            if one in self.links
        )


def folder(*rows: SessionRow) -> Folder:
    return Folder(sorted(rows, key=lambda one: one.updated or NOW, reverse=True))


def test_what_nobody_knows_the_date_of_stays() -> None:
    undated = replace(row("undated", 100), updated=None)
    assert folder(undated, row("old", 100)).old_chains() == ["old"]


def test_a_conversation_goes_as_a_whole_or_stays_as_a_whole() -> None:
    there = folder(
        row("new", 1, parent="middle"),
        row("middle", 50, parent="old"),
        row("old", 100),
        row("dead", 60, parent="before"),
        row("before", 61),
        row("future", -400),
        row("exactly", 30),
    )
    assert there.old_chains() == ["dead", "before"]


@st.composite
def folders(draw: st.DrawFn) -> Folder:
    """Return any folder. Parents may be missing, in a cycle, or newer than their children."""
    count = draw(st.integers(0, 12))
    ids = [f"s{number}" for number in range(count)]
    some = st.sampled_from(["", "gone", *ids])
    rows = [
        row(
            identity,
            draw(st.integers(-400, 400)),
            draw(st.sampled_from(STATES)),
            draw(some),
            draw(st.one_of(st.just(""), some)),
        )
        for identity in ids
    ]
    return folder(*rows)


@given(folders())
def test_what_stays_keeps_all_that_it_comes_from(there: Folder) -> None:
    gone = there.old_chains()
    staying = [one for one in there.rows if one.id not in gone]
    for one in staying:
        assert not there.needs(one.id) & set(gone)
    for one in there.rows:
        is_old = one.updated is not None and one.updated < BEFORE
        assert one in staying or (is_old and one.state not in PRESERVED_STATES)
    needed = set[str]().union(*(there.needs(one.id) for one in staying))
    for one in staying:  # and nothing stays without a reason
        assert (
            one.updated is None
            or one.updated >= BEFORE
            or one.state in PRESERVED_STATES
            or one.id in needed
        )


@given(folders())
def test_each_goes_once_and_after_its_children(there: Folder) -> None:
    for gone in (there.old_chains(), there.old_originals()):
        assert len(set(gone)) == len(gone)
        for number, identity in enumerate(gone):
            later = {one for one in gone[number + 1 :] if identity in there.needs(one)}
            assert all(map(there.circles, later)), "but for a circle, which has no first"


@given(folders(), st.sets(st.sampled_from([f"s{number}" for number in range(12)])))
def test_originals_are_old_sealed_and_not_needed(there: Folder, needed: set[str]) -> None:
    parents = {
        parent for one in there.rows for parent in (one.parent, one.merged) if parent != one.id
    }
    assert {*there.old_originals(*needed)} == {
        one.id
        for one in there.rows
        if one.state == "sealed" and (one.updated or NOW) < BEFORE and one.id in parents - needed
    }
