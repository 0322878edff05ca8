"""Graphemes: splitting a text into them loses nothing."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chat_loop.input.keys import MAX_GRAPHEME, length_at_end, length_at_start

PARTS = [
    "a",
    "e",
    "\u0301",
    "\u0308",
    "漢",
    "👩",
    "\u200d",
    "👧",
    "\ufe0f",
    "❤",
    "🏽",
    "👍",
    "🇯",
    "🇵",
    "각",
    "\u1100",
    "\n",
    " ",
]


def characters(text: str) -> list[str]:
    found = []
    while text:
        size = length_at_start(text)
        found.append(text[:size])
        text = text[size:]
    return found


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("", []),
        ("ab", ["a", "b"]),
        ("e\u0301\u0308x", ["e\u0301\u0308", "x"]),
        ("👩\u200d👩\u200d👧!", ["👩\u200d👩\u200d👧", "!"]),
        ("👍🏽👍", ["👍🏽", "👍"]),
        ("🇯🇵🇩🇪🇫", ["🇯🇵", "🇩🇪", "🇫"]),
        ("❤\ufe0f\u200d🔥", ["❤\ufe0f\u200d🔥"]),
        ("a\u200db", ["a\u200d", "b"]),
        ("\u1100\u1161\u11a8가", ["\u1100\u1161\u11a8", "가"]),
        ("\u0301a", ["\u0301", "a"]),
    ],
)
def test_what_is_seen_as_one(text: str, parts: list[str]) -> None:
    assert characters(text) == parts
    assert length_at_end(text) == len(parts[-1] if parts else "")


@given(st.lists(st.sampled_from(PARTS), max_size=MAX_GRAPHEME).map("".join))
def test_both_ends_agree_and_nothing_is_lost(text: str) -> None:
    found = characters(text)
    assert "".join(found) == text
    assert length_at_end(text) == (len(found[-1]) if found else 0)


def test_a_character_without_end_is_taken_in_parts() -> None:
    assert length_at_end("a" + "\u0301" * 10_000) == MAX_GRAPHEME


def test_a_repeat_count_takes_several_and_at_least_one() -> None:
    text = "a👍🏽e\u0301z"
    assert [length_at_start(text, count) for count in (-1, 0, 1, 2, 9)] == [1, 1, 1, 3, 6]
    assert [length_at_end(text, count) for count in (-1, 0, 1, 2, 9)] == [1, 1, 1, 3, 6]
