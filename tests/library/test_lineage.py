"""Chains and their branches, in any graph: the session that represents a chain in a listing, and
the drawing of a tree.
"""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chat_loop.library.lineage import Node, conversations, fork, newest, own_sessions, tree
from chat_loop.sessions.chain import Link, last_queries
from chat_loop.sessions.records import ALL

NAMES = "abcdefgh"
"""The ids of the sessions, newest first."""


@st.composite
def graphs(draw: st.DrawFn) -> dict[str, Link]:
    """Return any links between at most eight sessions, including cycles, missing and double
    parents, and sessions that are their own parents.
    """
    there = draw(st.lists(st.sampled_from(NAMES), unique=True, max_size=len(NAMES)))
    one = st.sampled_from(("", "missing", *NAMES))
    return {name: Link(name, draw(one), draw(one)) for name in there}


def above(identity: str, links: dict[str, Link]) -> set[str]:
    """Return the ancestors of a session, found by following parents until no new one appears."""
    found: set[str] = set()
    level = {identity}
    while level:
        level = {
            parent
            for one in level
            for parent in (links[one].parent, links[one].merged)
            if parent in links
        }
        level -= found
        found |= level
    return found - {identity}


def line(*names: str) -> dict[str, Link]:
    """Return the links of a chain in the order of a listing. `names` begins with the oldest."""
    return {
        name: Link(name, parent)
        for name, parent in reversed(list(zip(names, ("", *names), strict=False)))
    }


def test_a_conversation_keeps_what_a_branch_needs() -> None:
    links = {"d": Link("d", "c"), "c": Link("c", "b"), "b": Link("b", "a"), "a": Link("a")}
    assert own_sessions("d", links) == ["d", "c", "b", "a"]
    assert own_sessions("c", links) == ["c"]
    assert own_sessions("gone", links) == ["gone"]
    branched = {"e": Link("e", "b", until="2.2"), **links}
    assert own_sessions("d", branched) == ["d", "c"]
    assert own_sessions("e", branched) == ["e"]
    assert own_sessions("d", {**links, "b": Link("b", "gone")}) == ["d", "c", "b"]


def test_who_was_forked_from_stays_in_the_list() -> None:
    links = {"d": Link("d", "b", until="2.3"), "b": Link("b", "a"), "a": Link("a", "")}
    found = conversations(links)
    assert list(found) == ["d", "b"]
    assert found == {"d": {"d": ALL, "b": 3, "a": ALL}, "b": {"b": ALL, "a": ALL}}


def test_branches_are_told_from_what_they_leave() -> None:
    """c and d both go on from b. e leaves b after its second query. f continues d."""
    links = {
        "f": Link("f", "d"),
        "e": Link("e", "b", until="2.2"),
        "d": Link("d", "b"),
        "c": Link("c", "b"),
        "b": Link("b", "a"),
        "a": Link("a"),
    }
    found = conversations(links)
    uses = Counter(session for chain in found.values() for session in chain)
    lines = [fork(one, links, uses) for one in found]
    assert lines == [["f", "d", "b"], ["e", "b"], ["c", "b"]]
    assert [chain["b"] for chain in found.values()] == [ALL, 2, ALL]
    assert fork("b", links, uses) == []


def test_the_newest_session_of_a_conversation_is_on_no_branch() -> None:
    """d and f go on from b, f with what was merged from x; e is a fork of b, g an empty child."""
    links = {
        "g": Link("g", "f", queries=0, bare=True),
        "e": Link("e", "b", until="2.2"),
        "f": Link("f", "d", "x"),
        "d": Link("d", "b"),
        "c": Link("c", "b"),
        "x": Link("x"),
        "b": Link("b", "a"),
        "a": Link("a"),
    }
    assert newest(["a", "c", "x", "e", "f", "gone"], links) == ["f", "c", "f", "e", "f", "gone"]
    circle = {"p": Link("p", "q"), "q": Link("q", "p"), "own": Link("own", "own")}
    assert newest([*circle], circle) == ["p", "q", "own"]


@given(graphs())
def test_the_newest_session_is_a_row_of_the_list(links: dict[str, Link]) -> None:
    for name, found in zip(links, newest(links, links), strict=True):
        assert found == name or (found in conversations(links) and name in above(found, links))


def test_a_session_that_was_only_given_words_is_no_branch() -> None:
    """An example is a compaction that was undone."""
    links = {
        "new": Link("new", "a", queries=1),
        "left": Link("left", "a", queries=0, bare=True),
        "a": Link("a", queries=3),
    }
    assert [*conversations(links)] == ["new"]
    assert [*conversations(links, here="left")] == ["new", "left"]
    del links["new"]
    assert [*conversations(links)] == ["a"]
    links = {"later": Link("later", "left", queries=0, bare=True), **links}
    assert [*conversations(links)] == ["a"]
    assert [*conversations(links, here="left")] == ["left"]
    links["left"] = Link("left", "a", until="1.2", queries=0, bare=True)
    assert [*conversations(links)] == ["left", "a"]
    links = {"both": Link("both", "a", "b", queries=0, bare=True), "b": Link("b"), "a": Link("a")}
    assert [*conversations(links)] == ["both"], "a merge in which nothing has been said yet"


@pytest.mark.parametrize(("one", "other"), [(2, 5), (5, 2)])
def test_of_a_session_that_two_merged_branches_leave_the_longer_part_counts(
    one: int, other: int
) -> None:
    links = {
        "both": Link("both", "b", "c"),
        "c": Link("c", "a", until=f"1.{other}"),
        "b": Link("b", "a", until=f"1.{one}"),
        "a": Link("a", queries=9),
    }
    assert last_queries("both", links)["a"] == 5


@given(graphs())
def test_a_chain_holds_what_it_comes_from_once(links: dict[str, Link]) -> None:
    for identity in links:
        found = last_queries(identity, links)
        assert next(iter(found)) == identity
        assert found.keys() == above(identity, links) | {identity}


@given(graphs())
def test_every_session_is_in_a_conversation_and_no_conversation_in_another(
    links: dict[str, Link],
) -> None:
    ids = list(conversations(links))
    assert ids == [name for name in links if name in ids]
    for number, one in enumerate(ids):
        assert not any(one in above(other, links) for other in ids[:number] + ids[number + 1 :])
    assert set(links) == set(ids).union(*(above(one, links) for one in ids))


@given(graphs(), st.sampled_from(NAMES))
def test_a_tree_holds_all_that_is_related_once(links: dict[str, Link], identity: str) -> None:
    nodes = tree(identity, links)
    related, level = {identity}, {identity}
    while level:
        level = {
            other
            for other in links
            for one in level
            if one in links and (other in links[one].parents or one in links[other].parents)
        } - related
        related |= level
    first = [node.id for node in nodes if not node.again]
    assert sorted(first) == sorted(related)
    assert {node.id for node in nodes if node.again} <= related
    edges = sum(parent in links for one in related & links.keys() for parent in links[one].parents)
    assert len(nodes) <= len(related) + edges
    for node in nodes:
        assert len(node.stem) % 2 == 0
        assert set(node.stem) <= set("├└│─ ")


def test_what_a_long_chain_takes() -> None:
    names = [f"s{number}" for number in range(5_000)]
    links = line(*names)
    [(identity, sessions)] = conversations(links).items()
    assert (identity, len(sessions)) == ("s4999", 5_000)
    assert [node.stem for node in tree("s7", links)] == [""] * 5_000


def drawn(links: dict[str, Link], identity: str) -> str:
    return "".join(
        f"{node.stem}● {node.id}{' …' if node.again else ''}\n" for node in tree(identity, links)
    )


def children(*pairs: str) -> dict[str, Link]:
    """Return links: `a:b` is b with the parent a, and `a+b:c` is c, which merges a and b. A drawing
    keeps their order.
    """
    links = {}
    for pair in pairs:
        parents, _, name = pair.rpartition(":")
        parent, _, merged = parents.partition("+")
        links[name] = Link(name, parent, merged)
    return links


def test_drawings() -> None:
    assert drawn(line("a", "b", "c"), "b") == "● a\n● b\n● c\n"
    assert (
        drawn(children("a", "a:b", "b:d", "b:e", "e:f"), "f")
        == """\
● a
● b
├─● d
└─● e
  ● f
"""
    )
    assert (
        drawn(children("a", "a:b", "a:c", "b:d", "b:e", "d:f", "c:g", "c:h"), "a")
        == """\
● a
├─● b
│ ├─● d
│ │ ● f
│ └─● e
└─● c
  ├─● g
  └─● h
"""
    )
    assert (
        drawn(children("a", "a:b", "a:c", "b+c:m", "m:n"), "n")
        == """\
● a
├─● b
│ ● m
│ ● n
└─● c
  ● m …
"""
    )
    assert (
        drawn(children("a", "a:b", "a:c", "a:d", "a:e", "c:f"), "f")
        == """\
● a
├─● b
├─● c
│ ● f
├─● d
└─● e
"""
    )
    assert drawn(children("a", "x", "a+x:m"), "a") == "● a\n● m\n● x\n● m …\n"


def test_drawings_of_what_cannot_be() -> None:
    assert tree("gone", {}) == (Node("gone", ""),)
    assert drawn(children("a:a", "a+a:b"), "b") == "● a\n● b\n"
    assert drawn(children("b:a", "a:b"), "b") == "● a\n● b\n● a …\n"
    assert drawn(children("r", "b:a", "a+r:b"), "r") == "● r\n● b\n● a\n● b …\n"
