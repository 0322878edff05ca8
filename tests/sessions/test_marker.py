"""Comment markers: each value that they accept is read back unchanged."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chat_loop.sessions import marker
from tests.support.strategies import texts

values = st.dictionaries(
    st.from_regex(r"[a-z_]{1,32}", fullmatch=True),
    st.from_regex(r"[A-Za-z0-9_.:+/-]{1,128}", fullmatch=True),
    max_size=64,
)


@given(st.from_regex(r"[a-z-]{1,32}", fullmatch=True), values)
def test_what_a_marker_takes_it_gives_back(kind: str, given: dict[str, str]) -> None:
    """The number of values is not limited to today's records, because an older program reads the
    markers of newer ones.
    """
    assert marker.read(marker.write(kind, given).encode()) == marker.Marker(kind, given)


@given(
    st.one_of(
        texts, st.sampled_from(["claude-3-5-sonnet@20240620", "toolu 01", "a\n-->", "x" * 999])
    )
)
def test_a_marker_takes_no_other_value_and_any_name_becomes_one(name: str) -> None:
    made = marker.safe_value(name)
    assert marker.safe_value(made) == made
    assert marker.read(marker.write("call", {"id": made}).encode()) == marker.Marker(
        "call", {"id": made} if made else {}
    )
    if made != name:
        with pytest.raises(ValueError, match="no marker"):
            marker.write("call", {"id": name})
