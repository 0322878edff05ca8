"""Chains and their branches: what stands for a chain in a listing, and how a tree is drawn, of any graph."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from chat_loop.library.lineage import Folded, Link, Node, ancestors, folded, tree

NAMES = "abcdefgh"
"""The newest first."""


@st.composite
def graphs(draw: st.DrawFn) -> dict[str, Link]:
    """Any links between at most eight sessions: circles, missing and double parents, sessions that are their own."""
    there = draw(st.lists(st.sampled_from(NAMES), unique=True, max_size=len(NAMES)))
    one = st.sampled_from(("", "missing", *NAMES))
    return {name: Link(name, draw(one), draw(one), draw(st.booleans())) for name in there}


def above(identity: str, links: dict[str, Link]) -> set[str]:
    """What a session comes from, by going up until nothing new is found."""
    found: set[str] = set()
    level = {identity}
    while level:
        level = {parent for one in level for parent in (links[one].parent, links[one].merged) if parent in links}
        level -= found
        found |= level
    return found - {identity}


def line(*names: str) -> dict[str, Link]:
    """A chain, the oldest first, as links in the order of a listing."""
    return {name: Link(name, parent) for name, parent in reversed(list(zip(names, ("", *names), strict=False)))}


def test_who_was_forked_from_stays_in_the_list() -> None:
    links = {"d": Link("d", "b", forked=True), "b": Link("b", "a"), "a": Link("a", "")}
    assert [(one.id, one.behind) for one in folded(links, links)] == [("d", 2), ("b", 1)]


@given(graphs())
def test_ancestors_are_each_there_once(links: dict[str, Link]) -> None:
    for identity in links:
        found = ancestors(identity, links)
        assert len(set(found)) == len(found)
        assert set(found) == above(identity, links)


@given(graphs(), st.sets(st.sampled_from(NAMES)), st.data())
def test_a_folded_list_shows_every_chain_once(links: dict[str, Link], some: set[str], data: st.DataObject) -> None:
    wanted = [name for name in links if name in some] if data.draw(st.booleans()) else list(links)
    shown = list(folded(wanted, links))
    ids = [one.id for one in shown]
    assert ids == [name for name in wanted if name in ids]
    for number, one in enumerate(ids):
        assert not any(one in above(other, links) for other in ids[:number] + ids[number + 1 :])
    behind = set().union(*(above(one, links) for one in ids))
    assert set(wanted) <= set(ids) | behind
    for entry in shown:
        older = above(entry.id, links)
        assert (entry.behind, entry.compactions) == (len(older), sum(links[one].compacted for one in older))


@given(graphs(), st.sets(st.sampled_from(NAMES)))
def test_an_unfolded_chain_stands_together_and_nothing_stands_twice(links: dict[str, Link], open_: set[str]) -> None:
    tips = [one.id for one in folded(links, links)]
    ids = [one.id for one in folded(links, links, open_)]
    assert len(set(ids)) == len(ids)
    assert [one for one in ids if one in tips] == tips
    assert set(ids) == set(tips).union(*(above(one, links) for one in tips if one in open_))


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


def test_the_newest_stands_for_its_chain_even_where_an_older_one_was_touched_later() -> None:
    links = line("old", "middle", "new")
    assert list(folded(["old", "new", "middle"], links)) == [Folded("new", 2, 0)]
    assert list(folded(["middle", "old"], links)) == [Folded("middle", 1, 0)]


def test_what_a_long_chain_takes() -> None:
    names = [f"s{number}" for number in range(5_000)]
    links = line(*names)
    assert list(folded(links, links)) == [Folded("s4999", 4_999, 0)]
    assert [node.stem for node in tree("s7", links)] == [""] * 5_000


def drawn(links: dict[str, Link], identity: str) -> str:
    return "".join(f"{node.stem}● {node.id}{' …' if node.again else ''}\n" for node in tree(identity, links))


def children(*pairs: str) -> dict[str, Link]:
    """`a:b` is b with the parent a, `a+b:c` one that merges both; in the order of the drawing's children."""
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
    assert drawn(children("a", "x", "a+x:m"), "a") == "● a\n● m\n● x\n● m …\n"


def test_drawings_of_what_cannot_be() -> None:
    assert tree("gone", {}) == (Node("gone", ""),)
    assert drawn(children("a:a", "a+a:b"), "b") == "● a\n● b\n"
    assert drawn(children("b:a", "a:b"), "b") == "● b\n● a\n● b …\n"
    assert drawn(children("r", "b:a", "a+r:b"), "r") == "● r\n● b\n● a\n● b …\n"
