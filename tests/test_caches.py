"""Caches are bounded by what they keep."""

from __future__ import annotations

import sys

import pytest

from chat_loop.caches import SizedCache
from chat_loop.tokens import KEPT_CHARS, SHORTENED, TokenCounter, shorten


def test_a_cache_keeps_what_was_used_last_up_to_its_size() -> None:
    asked: list[str] = []

    def double(text: str) -> str:
        asked.append(text)
        return text * 2

    cache = SizedCache(double, 12)
    for text in ("aaa", "bbb", "ccc", "ddd", "aaa", "eee", "aaa", "bbb"):
        assert cache(text) == text * 2
        assert cache.size <= 12
    assert asked == ["aaa", "bbb", "ccc", "ddd", "eee", "bbb"]
    assert cache("long text") == "long textlong text"
    cache("long text")
    assert asked[-2:] == ["long text"] * 2, "it is too large to keep"
    cache.cache_clear()
    assert (cache.size, cache("aaa"), asked[-1]) == (0, "aaaaaa", "aaa")


@pytest.mark.parametrize("length", [KEPT_CHARS, KEPT_CHARS + 1])
def test_a_long_text_is_counted_once_and_not_kept(length: int) -> None:
    counter = TokenCounter()
    counter.load()
    text = "word " * (length // 5) + "w" * (length % 5)
    before = sys.getrefcount(text)
    counted = counter.count(text)
    assert (sys.getrefcount(text) > before) is (length <= KEPT_CHARS)
    assert counted > length // 6
    assert counter.count(f"{text[:9]}{text[9:]}") == counted


def test_shortened_texts_are_kept_up_to_a_size() -> None:
    shorten.cache_clear()
    for number in range(40):
        assert len(shorten(f"{number:>{1 << 20}}", 1_000, "")) < 20_000
    assert SHORTENED // 2 < shorten.size <= SHORTENED
    shorten.cache_clear()
