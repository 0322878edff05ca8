"""The work of a search grows with the text, not with its square. It is counted in function calls,
not in seconds.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from types import FrameType

import pytest

from benchmarks.support.exchanges import ExchangeIndex
from benchmarks.support.planting import exchange
from chat_loop.library.filters import SessionFilter
from chat_loop.library.library import Library
from chat_loop.library.search import search_all
from tests.support.archives import write

pytestmark = pytest.mark.slow


@contextmanager
def counted() -> Iterator[list[int]]:
    """Count the function calls of Python code, including calls of functions written in C."""
    calls = [0]

    def count(frame: FrameType, event: str, _: object) -> None:
        calls[0] += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        yield calls
    finally:
        sys.setprofile(before)


def log(lines: int, first: int = 0) -> str:
    """Return lines that differ only in their numbers."""
    return "\n".join(
        f"2026-11-01 10:{at // 60 % 60:02}:{at % 60:02} service{at % 40} worker-{at} timeout "
        f"after {at % 977} ms"
        for at in range(first, first + lines)
    )


def same(lines: int, _: int = 0) -> str:
    return "ERROR: the worker had a timeout and is restarted now, port 8080.\n" * lines


@pytest.mark.parametrize("text", [log, same])
def test_searching_similar_lines_is_linear(tmp_path: Path, text: Callable[[int, int], str]) -> None:
    def work(lines: int, parts: int) -> int:
        folder = tmp_path / f"{lines}-{parts}"
        folder.mkdir()
        each = lines // parts
        write(
            folder,
            "a",
            *((f"Here is log {part}.", text(each, part * each)) for part in range(parts)),
        )
        with closing(Library(folder)) as shelf:
            shelf.update_index()
            with counted() as calls:
                assert search_all(shelf, "worker timeout", SessionFilter(), 10).value
        return calls[0]

    few, many, more = work(480, 4), work(480, 40), work(1_920, 40)
    assert many < 3 * few, "the same lines in more exchanges"
    assert more < 5 * many, "four times the lines"


@pytest.mark.parametrize("text", [log, same])
def test_searching_an_archive_of_similar_lines_is_linear(text: Callable[[int, int], str]) -> None:
    def work(lines: int, parts: int) -> int:
        each = lines // parts
        with closing(ExchangeIndex()) as search:
            search.add(
                exchange(1, part, "Here is a log.", text(each, part * each))
                for part in range(1, parts + 1)
            )
            with counted() as calls:
                assert search.search("worker timeout", 60)
        return calls[0]

    lines, more, most = work(480, 40), work(1_920, 40), work(7_680, 40)
    assert most < 5 * more < 25 * lines, "four times the lines"
    assert most < 80 * 7_680, "calls for each line"


def test_a_search_costs_no_more_once_the_archive_has_many_exchanges_with_the_same_words() -> None:
    def work(exchanges: int) -> int:
        def said(number: int) -> str:
            return f"Port {number} is open on host-{number % 3}, says gate-{number % 4}."

        with closing(ExchangeIndex()) as search:
            search.add(
                exchange(1 + number // 9, number, said(number), "Noted.")
                for number in range(1, exchanges + 1)
            )
            with counted() as calls:
                assert search.search(said(exchanges))
        return calls[0]

    assert work(2_400) < 1.3 * work(800)
