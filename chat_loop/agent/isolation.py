"""Run foreign functions in their own thread or event loop, without standard streams."""

from __future__ import annotations

import asyncio
import io
import sys
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from functools import cache
from typing import Self, TextIO

from msgspec import Struct

from chat_loop.characters import one_line
from chat_loop.errors import ChatLoopError


class CapturedError:
    """Capture any exception, including SystemExit, as `error`; a cancellation propagates."""

    error: BaseException | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> bool:
        self.error = error
        return error is not None and not isinstance(error, asyncio.CancelledError | GeneratorExit)


class Outcome(Struct, frozen=True):
    """The result and the error of foreign code."""

    result: object
    error: BaseException | None

    def text(self, name: str) -> str:
        """Return the result of a tool as text. Raises ChatLoopError if it failed."""
        return str(self.value(name))

    def value(self, name: str) -> object:
        """Return the result of a tool. Raises ChatLoopError if it failed."""
        if isinstance(self.error, ChatLoopError):
            raise self.error
        if self.error is not None:
            failed = f"{name} failed: {describe(self.error, 2_000)}"
            raise ChatLoopError(failed) from self.error
        return self.result


def plain_line(text: str, length: int) -> str:
    """Return a text on one line of at most `length` printable characters."""
    printable = (sign if sign.isprintable() else " " for sign in text[: length * 4])
    return one_line("".join(printable), length)


def describe(error: BaseException | None, length: int = 300) -> str:
    """Return the type and the message of an exception on one line, without a final period."""
    text = ""
    with CapturedError():  # its `__str__` is foreign code, too
        text = plain_line(str(error), length).rstrip(".")
    if text:
        return f"{type(error).__name__}: {text}"
    return type(error).__name__


async def in_thread(work: Callable[[], object]) -> Outcome:
    """Run `work` in a thread. A cancellation does not stop it, since threads cannot be stopped."""
    future = Future[Outcome]()
    future.set_running_or_notify_cancel()

    def run() -> None:
        result: object = None
        with CapturedError() as captured:
            try:
                result = work()
            except (asyncio.CancelledError, GeneratorExit) as error:  # here just ordinary errors
                ordinary = RuntimeError(type(error).__name__)
                raise ordinary.with_traceback(error.__traceback__) from error
        future.set_result(Outcome(result, captured.error))

    _hide_streams()
    threading.Thread(target=run, daemon=True, name="tool").start()
    return await asyncio.wrap_future(future)


async def on_loop(work: Callable[[], Coroutine[object, object, object]]) -> Outcome:
    """Run a coroutine on the loop for foreign code. Canceling this cancels the coroutine."""

    async def run() -> Outcome:
        result: object = None
        with CapturedError() as captured:
            result = await work()
        return Outcome(result, captured.error)

    _hide_streams()
    future = asyncio.run_coroutine_threadsafe(run(), background_loop("tools"))
    return await asyncio.wrap_future(future)


@cache
def background_loop(name: str) -> asyncio.AbstractEventLoop:
    """Return the event loop with this name. Calls may share connections that they open on it."""
    loop = asyncio.new_event_loop()
    threading.Thread(target=loop.run_forever, daemon=True, name=name).start()
    return loop


class _Nowhere(io.StringIO):
    """A stream that is empty and discards everything written to it."""

    def write(self, text: str) -> int:
        return len(text)


_nowhere = _Nowhere()


class _Stream:
    """A standard stream that only the main thread can use."""

    def __init__(self, real: TextIO) -> None:
        self.real = real

    def __getattr__(self, name: str) -> object:
        is_main = threading.current_thread() is threading.main_thread()
        return getattr(self.real if is_main else _nowhere, name)


def _hide_streams() -> None:
    """Permanently hide the standard streams from all threads except the main one."""
    for name in ("stdin", "stdout", "stderr"):
        stream = getattr(sys, name)
        if not isinstance(stream, _Stream):
            setattr(sys, name, _Stream(stream))
