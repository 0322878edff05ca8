"""Reasoning in the text of a reply, however the stream splits it."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chat_loop.events import TextDelta
from chat_loop.providers.replies import MAX_BLANK, THINK_TAGS, ReasoningSplitter


def told(pieces: list[str]) -> tuple[str, str]:
    """The reasoning and the answer of a reply that arrives in `pieces`."""
    think_tags = ReasoningSplitter()
    deltas = [delta for piece in pieces for delta in think_tags.split(piece)] + list(
        think_tags.rest()
    )
    assert all(delta.text for delta in deltas)
    answer = "".join(delta.text for delta in deltas if isinstance(delta, TextDelta))
    return "".join(delta.text for delta in deltas if not isinstance(delta, TextDelta)), answer


def meant(text: str) -> tuple[str, str]:
    """The reasoning and the answer that `told` must find in a reply."""
    for begin, end in THINK_TAGS.items():
        if text.lstrip().startswith(begin):
            inside, _, after = text.lstrip()[len(begin) :].partition(end)
            return inside, after.lstrip()
    return "", text


@pytest.mark.parametrize(
    ("text", "reasoning", "answer"),
    [
        ("Hello.", "", "Hello."),
        ("", "", ""),
        (" \n", "", " \n"),
        ("<think>\nHm.\n</think>\n\nHello.\n", "\nHm.\n", "Hello.\n"),
        ("\n<think></think>\nHello.", "", "Hello."),
        ("<thought>Hm.</thought>Hello.", "Hm.", "Hello."),
        ("[THINK]Hm.[/THINK]Hello.", "Hm.", "Hello."),
        ("<think>Hm. It was cut", "Hm. It was cut", ""),
        ("<think>a </thin b", "a </thin b", ""),
        ("<thinking>Hello.", "", "<thinking>Hello."),
        ("<thi", "", "<thi"),
        (
            "In R1 <think> begins it, </think> ends it.",
            "",
            "In R1 <think> begins it, </think> ends it.",
        ),
        ("<think>a</think> b <think>c</think>", "a", "b <think>c</think>"),
        ("<think>a <think> b</think> c", "a <think> b", "c"),
        ("</think> a", "", "</think> a"),
    ],
)
def test_what_is_reasoning_and_what_is_answer(text: str, reasoning: str, answer: str) -> None:
    assert told([text]) == (reasoning, answer)
    assert told(list(text)) == (reasoning, answer)


PARTS = st.sampled_from(
    [
        *THINK_TAGS,
        *THINK_TAGS.values(),
        "<",
        "<th",
        "</",
        "</think",
        "[TH",
        " ",
        "\n",
        "a",
        "é",
        "🎉",
        ">",
    ]
)


@given(st.lists(PARTS, max_size=12).map("".join), st.lists(st.integers(0, 80), max_size=12))
def test_the_pieces_that_it_comes_in_do_not_matter(text: str, cuts: list[int]) -> None:
    places = [0, *sorted(min(cut, len(text)) for cut in cuts), len(text)]
    pieces = [text[first:last] for first, last in pairwise(places)]
    assert told(pieces) == meant(text)
    assert told(list(text)) == meant(text)


def test_what_is_known_does_not_wait() -> None:
    think_tags = ReasoningSplitter()
    assert list(think_tags.split("Hello, ")) == [TextDelta("Hello, ")]
    assert list(think_tags.split("<think>")) == [TextDelta("<think>")]


def test_white_space_is_not_held_for_ever() -> None:
    think_tags = ReasoningSplitter()
    assert list(think_tags.split(" " * MAX_BLANK)) == []
    assert list(think_tags.split("\n")) == [TextDelta(" " * MAX_BLANK + "\n")]
    assert list(think_tags.split("<think>")) == [TextDelta("<think>")]
