"""One order of two: what stands first, what nothing changes, and what an id decides."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chat_loop.search.fuse import Found, exactly, fused

SHARES = st.floats(0, 1)


@st.composite
def worded(draw: st.DrawFn) -> list[Found[int]]:
    """Hits of full text as they come: those with most ids first, then the highest scores."""
    keys = draw(st.lists(st.integers(0, 20), unique=True, max_size=12))
    hits = [
        Found(key, draw(st.floats(0.01, 50)), draw(SHARES), draw(st.integers(0, 2))) for key in keys
    ]
    return sorted(hits, key=lambda hit: (-hit.exact, -hit.score))


@st.composite
def meant(draw: st.DrawFn) -> list[tuple[int, float]]:
    """Hits by meaning as they come: the nearest first."""
    keys = draw(st.lists(st.integers(0, 20), unique=True, max_size=12))
    return sorted(((key, draw(st.floats(-1, 1))) for key in keys), key=lambda pair: -pair[1])


@given(worded(), meant(), SHARES)
def test_nothing_is_lost_and_nothing_comes_twice(
    text: list[Found[int]], meaning: list[tuple[int, float]], familiar: float
) -> None:
    order = fused(text, meaning, familiar=familiar)
    assert sorted(order) == sorted({hit.key for hit in text} | {key for key, _ in meaning})
    assert order == fused([*text, *text], [*meaning, *meaning], familiar=familiar)


@given(worded(), meant(), SHARES)
def test_who_holds_most_ids_stays_first(
    text: list[Found[int]], meaning: list[tuple[int, float]], familiar: float
) -> None:
    held = {hit.key: hit.exact for hit in text}
    counts = [held.get(key, 0) for key in fused(text, meaning, familiar=familiar)]
    assert counts == sorted(counts, reverse=True)


@given(worded(), SHARES)
def test_each_alone_keeps_its_order(text: list[Found[int]], familiar: float) -> None:
    assert fused(text, [], familiar=familiar) == [hit.key for hit in text]


@given(meant(), SHARES)
def test_meaning_alone_keeps_its_order(meaning: list[tuple[int, float]], familiar: float) -> None:
    assert fused([], meaning, familiar=familiar) == [key for key, _ in meaning]


@given(worded(), meant(), SHARES, st.permutations(range(21)))
def test_what_the_keys_are_does_not_matter(
    text: list[Found[int]], meaning: list[tuple[int, float]], familiar: float, names: list[int]
) -> None:
    renamed = [Found(f"k{names[hit.key]}", hit.score, hit.strength, hit.exact) for hit in text]
    order = fused(renamed, [(f"k{names[key]}", near) for key, near in meaning], familiar=familiar)
    assert order == [f"k{names[key]}" for key in fused(text, meaning, familiar=familiar)]


@given(worded(), meant(), SHARES, st.data())
def test_a_row_without_a_vector_stands_as_high_as_with_any(
    text: list[Found[int]], meaning: list[tuple[int, float]], familiar: float, data: st.DataObject
) -> None:
    rows = [hit.key for hit in text if hit.key not in dict(meaning)]
    if not rows or not meaning:
        return
    row = data.draw(st.sampled_from(rows))
    without = fused(text, meaning, familiar=familiar, unknown={row}).index(row)
    near = data.draw(st.floats(meaning[-1][1], meaning[0][1]))
    embedded = sorted([*meaning, (row, near)], key=lambda pair: -pair[1])
    assert without <= fused(text, embedded, familiar=familiar).index(row)
    assert without <= fused(text, meaning, familiar=familiar).index(row)


@given(worded(), meant(), SHARES, st.data())
def test_a_surer_hit_never_falls(
    text: list[Found[int]], meaning: list[tuple[int, float]], familiar: float, data: st.DataObject
) -> None:
    if not text or not meaning:
        return
    at = data.draw(st.integers(0, len(text) - 1))
    hit = text[at]
    surer = [*text]
    surer[at] = Found(hit.key, hit.score, data.draw(st.floats(hit.strength, 1)), hit.exact)
    before, after = (
        fused(text, meaning, familiar=familiar),
        fused(surer, meaning, familiar=familiar),
    )
    assert after.index(hit.key) <= before.index(hit.key)


def test_what_decides() -> None:
    meaning = [("near", 0.8), ("nearish", 0.6), ("weak", 0.4), ("far", 0.1)]
    weak = [Found("weak", 9.0, 0.2)]
    assert fused(weak, meaning) == ["near", "nearish", "weak", "far"]
    assert fused([Found("sure", 9.0, 0.9)], meaning) == ["sure", "near", "nearish", "weak", "far"]
    assert fused([Found("id", 9.0, 0.0, 1)], meaning) == ["id", "near", "nearish", "weak", "far"]
    assert fused(weak, meaning, familiar=0.4) == ["weak", "near", "nearish", "far"]
    assert fused([Found("new", 9.0, 0.2)], meaning) == ["near", "nearish", "weak", "new", "far"]
    assert fused([Found("new", 9.0, 0.2)], meaning, unknown={"new"})[:2] == ["new", "near"]


def test_equals_stay_as_they_came() -> None:
    text = [Found("a", 3.0, 0.0), Found("b", 3.0, 0.0)]
    assert fused(text, [("c", 0.5), ("b", 0.5), ("d", 0.5)]) == ["a", "b", "c", "d"]
    assert fused([], []) == []


@pytest.mark.parametrize(
    ("query", "texts", "count"),
    [
        ("what was OPS-2217?", ["Look at ops-2217 today."], 1),
        ("what was OPS-2217?", ["Look at ops-22178 today."], 0),
        ("ports 5433 and 8080", ["8080 is taken.", "So is 5433."], 2),
        ("/etc/nginx/nginx.conf", ["Edit /etc/nginx/nginx.conf, please."], 1),
        ("10.0.0.5", ["It is 10. Then 0. And 0.5 more."], 0),
        ("where is the key", ["where is the key"], 0),
        ("", [], 0),
    ],
)
def test_what_holds_an_id(query: str, texts: list[str], count: int) -> None:
    assert exactly(query, texts) == count
