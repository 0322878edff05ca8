"""Streams are read in batches: items that have arrived come at once and in order."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing

import pytest

from chat_loop.providers import stream
from chat_loop.providers.stream import batches_of


@pytest.mark.parametrize("begun", [False, True])
def test_what_has_arrived_is_one_batch_while_the_rest_is_waited_for(
    begun: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stream, "WAIT_SECONDS", 60.0)  # a busy machine may stop between two items

    async def run() -> list[list[int]]:
        rest = asyncio.Event()

        async def items() -> AsyncGenerator[int]:
            yield 1
            yield 2
            await rest.wait()
            yield 3

        async with aclosing(batches_of(items(), lambda: begun)) as batches:
            found = [await anext(batches)]
            rest.set()
            return [*found, *[batch async for batch in batches]]

    assert asyncio.run(run()) == [[1, 2], [3]]


def test_a_failure_comes_behind_what_arrived_before_it() -> None:
    async def items() -> AsyncGenerator[int]:
        yield 1
        raise ValueError("cut")

    async def run() -> None:
        async with aclosing(batches_of(items(), lambda: True)) as batches:
            assert await anext(batches) == [1]
            with pytest.raises(ValueError, match="cut"):
                await anext(batches)

    asyncio.run(run())


def test_a_stream_that_is_left_is_closed() -> None:
    async def run() -> bool:
        closed = asyncio.Event()

        async def items() -> AsyncGenerator[int]:
            try:
                yield 1
                await asyncio.Event().wait()
            finally:
                closed.set()

        async with aclosing(batches_of(items(), lambda: False)) as batches:
            assert await anext(batches) == [1]
        return closed.is_set()

    assert asyncio.run(run())
