"""Queries for the search, with hostile syntax among them."""

from __future__ import annotations

from hypothesis import strategies as st

from tests.support.strategies import texts as hostile

SYNTAX = st.sampled_from(
    ('"', "'", "*", "^", "NEAR(a b)", "AND", "OR NOT", "words:x", "{a b}:c", "-", "(", "a+b", "%")
)
QUERIES = st.one_of(
    hostile, st.lists(st.one_of(SYNTAX, hostile), max_size=6).map(" ".join), st.text()
)
