"""Run foreign functions so that nothing they do, print or raise disturbs the program: a function in
its own thread, a coroutine on a separate event loop, without standard input.
"""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import io
import sys
import threading
from collections.abc import Callable, Coroutine, Iterator
from concurrent.futures import Future
from typing import Any, Self, TextIO, cast

from msgspec import Struct

from chat_loop.errors import ChatLoopError
from chat_loop.text import one_line

MAX_PRINTED = 100_000
"""Characters of a function's output that are kept."""
PING_SECONDS = 1.0
"""How long the loop for coroutines may take to answer before it is replaced."""


class CapturedError:
    """Capture any exception, including SystemExit, as `error`; a cancellation propagates."""

    error: BaseException | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> bool:
        self.error = error
        return error is not None and not isinstance(error, asyncio.CancelledError | GeneratorExit)


class Outcome(Struct, frozen=True):
    """The result, the output and the error of foreign code."""

    result: object
    printed: str
    error: BaseException | None

    def text(self, name: str) -> str:
        """Return the result of a tool for the model. Raises ChatLoopError when it failed."""
        text, error = str(self.result), self.error
        if isinstance(error, ChatLoopError):
            text = f"{error.message} {error.hint}".strip()
        elif error is not None:
            text = f"{name} failed: {describe(error, 2_000)}"
        if self.printed.strip():
            text = f"{text}\n\nIt printed:\n{self.printed.rstrip()}".lstrip("\n")
        if error is not None:
            raise ChatLoopError(text) from error
        return text


def plain_line(text: str, length: int) -> str:
    """Return a text on one line of at most `length` printable characters."""
    printable = (sign if sign.isprintable() else " " for sign in text[: length * 4])
    return one_line("".join(printable), length)


def describe(error: BaseException | None, length: int = 300) -> str:
    """Return the type and the message of an exception on one line, without a final period."""
    text = ""
    with CapturedError():  # its `__str__` is foreign code, too
        text = plain_line(str(error), length).rstrip(".")
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


async def in_thread(work: Callable[[], object]) -> Outcome:
    """Run `work` in a thread, which continues after a cancellation: threads cannot be stopped."""
    future: Future[Outcome] = Future()
    future.set_running_or_notify_cancel()

    def run() -> None:
        result: object = None
        with _redirected() as printed, CapturedError() as captured:
            try:
                result = work()
            except (asyncio.CancelledError, GeneratorExit) as error:  # here errors like any other
                ordinary = RuntimeError(type(error).__name__)
                raise ordinary.with_traceback(error.__traceback__) from error
        future.set_result(Outcome(result, printed.getvalue(), captured.error))

    context = contextvars.copy_context()
    threading.Thread(target=context.run, args=(run,), daemon=True, name="tool").start()
    return await asyncio.wrap_future(future)


async def on_loop(work: Callable[[], Coroutine[Any, Any, object]]) -> Outcome:
    """Run a coroutine on the loop for foreign code. Cancelling this cancels the coroutine."""

    async def run() -> Outcome:
        result: object = None
        with _redirected() as printed, CapturedError() as captured:
            result = await work()
        return Outcome(result, printed.getvalue(), captured.error)

    # One loop for all: calls may share what they open on it. A loop that hangs is abandoned.
    loop = _loops[-1] if _loops else None
    if loop is not None:
        answer: Future[None] = Future()
        loop.call_soon_threadsafe(answer.set_result, None)
        done, _ = await asyncio.wait({asyncio.wrap_future(answer)}, timeout=PING_SECONDS)
        loop = loop if done else None
    if loop is None:
        loop = asyncio.new_event_loop()
        threading.Thread(target=loop.run_forever, daemon=True, name="tools").start()
        _loops.append(loop)
    return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(run(), loop))


_loops: list[asyncio.AbstractEventLoop] = []
_output: contextvars.ContextVar[_Output] = contextvars.ContextVar("output")
_redirecting = threading.Lock()
_redirections = 0


class _Output(io.StringIO):
    """A text buffer with a maximum length."""

    def write(self, text: str) -> int:
        super().write(text[: max(0, MAX_PRINTED - self.tell())])
        return len(text)


class _Stream:
    """A standard stream while foreign code runs; other threads see a text buffer."""

    def __init__(self, real: TextIO) -> None:
        self.real = real

    def __getattr__(self, name: str) -> Any:
        if threading.current_thread() is threading.main_thread():
            return getattr(self.real, name)
        return getattr(_output.get(None) or _Output(), name)


@contextlib.contextmanager
def _redirected() -> Iterator[_Output]:
    """Capture the output of this context; the last one to exit restores the real streams."""
    global _redirections  # noqa: PLW0603 - the streams are the process's, so is their count
    output = _Output()
    token = _output.set(output)
    with _redirecting:
        _redirections += 1
        if _redirections == 1:
            sys.stdin, sys.stdout, sys.stderr = (
                cast(TextIO, _Stream(stream)) for stream in (sys.stdin, sys.stdout, sys.stderr)
            )
    try:
        yield output
    finally:
        _output.reset(token)
        with _redirecting:
            _redirections -= 1
            if not _redirections:
                for name in ("stdin", "stdout", "stderr"):
                    stream = getattr(sys, name)
                    if isinstance(stream, _Stream):  # nobody else has put another one in its place
                        setattr(sys, name, stream.real)
