"""The recorded refusals themselves: their halves, their sources, their number."""

from __future__ import annotations

from collections import Counter
from typing import get_args

import msgspec
import pytest

from tests.support.refusal_texts import HALVES, Half, Kind, Refusal, refusals

ALL = [refusal for half in HALVES for refusal in refusals(half)]


@pytest.mark.parametrize("half", HALVES)
def test_each_text_lies_in_the_half_that_its_hash_says(half: Half) -> None:
    assert [refusal.id for refusal in refusals(half) if refusal.half != half] == []


def test_no_text_occurs_twice() -> None:
    assert [
        name for name, count in Counter(refusal.id for refusal in ALL).items() if count > 1
    ] == []
    texts = Counter((refusal.status, refusal.body, str(refusal.headers)) for refusal in ALL)
    assert [text for text, count in texts.items() if count > 1] == []


def test_there_are_enough_texts_of_each_kind_in_each_half() -> None:
    assert len(ALL) >= 150
    for half in HALVES:
        kinds = {refusal.kind for refusal in refusals(half)}
        assert set(get_args(Kind)) - kinds == set()


def test_the_body_of_each_text_can_be_decoded() -> None:
    for refusal in ALL:
        assert isinstance(refusal.payload(), dict | list | str), refusal.id


@pytest.mark.parametrize(
    "wrong",
    [
        {"source": "seen somewhere"},
        {"source": "https://example/no-host-with-a-dot"},
        {"kind": "unheard-of"},
        {"status": 200},
        {"headers": {"Retry-After": "3"}},
        {"states": {"window": 0}},
        {"states": {"colour": 1}},
        {"note": "no such field"},
    ],
)
def test_a_line_that_breaks_the_rules_is_refused(wrong: dict[str, object]) -> None:
    line = msgspec.to_builtins(ALL[0])
    msgspec.convert(line, Refusal)
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert(line | wrong, Refusal)
