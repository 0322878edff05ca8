"""Functions that are not the program's: run beside it, and nothing they do or raise disturbs it.

A function runs in a thread of its own, a coroutine on a loop that is not the program's, so that
neither can hold it up. What they print is caught, what they read from the keyboard is empty.
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

MOST_PRINTED = 100_000
"""Characters of what a function prints that are kept."""
PATIENCE_SECONDS = 1.0
"""How long the loop of the coroutines may take to answer before another one is made."""


class Outcome(Struct, frozen=True):
    """The result, the output and the error of foreign code."""

    result: object
    printed: str
    error: BaseException | None

    def text(self, name: str) -> str:
        """Return the result of a tool for the model. Raises ChatLoopError where it failed."""
        text, error = str(self.result), self.error
        if isinstance(error, ChatLoopError):
            text = f"{error.message} {error.hint}".strip()
        elif error is not None:
            said = ""
            with CapturedError():  # what it says is its own code, too
                said = str(error)[:2_000].strip()
            text = f"{name} failed: {type(error).__name__}{': ' if said else ''}{said}"
        if self.printed.strip():
            text = f"{text}\n\nIt printed:\n{self.printed.rstrip()}".lstrip("\n")
        if error is not None:
            raise ChatLoopError(text) from error
        return text


class CapturedError:
    """Whatever is raised inside becomes `error`, the end of the program too; a cancellation goes
    on.
    """

    error: BaseException | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> bool:
        self.error = error
        return error is not None and not isinstance(error, asyncio.CancelledError | GeneratorExit)


def one_sentence(text: str) -> str:
    """Return a text on one line, at most 300 characters, without the stop at its end."""
    line = " ".join("".join(sign if sign.isprintable() else " " for sign in text[:1200]).split())
    return (line if len(line) <= 300 else f"{line[:299]}…").rstrip(".")


def described(error: BaseException) -> str:
    """Return an exception on one line: its kind, and what it says."""
    text = ""
    with CapturedError():  # what it says is its own code, too
        text = one_sentence(str(error))
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


async def in_thread(work: Callable[[], object]) -> Outcome:
    """Run `work` in a thread. When this is cancelled it goes on: a thread cannot be stopped."""
    future: Future[Outcome] = Future()
    future.set_running_or_notify_cancel()

    def run() -> None:
        result: object = None
        with _redirected() as printed, CapturedError() as caught:
            try:
                result = work()
            except (asyncio.CancelledError, GeneratorExit) as error:  # here errors like any other
                raise RuntimeError(type(error).__name__).with_traceback(
                    error.__traceback__
                ) from error
        future.set_result(Outcome(result, printed.getvalue(), caught.error))

    context = contextvars.copy_context()
    threading.Thread(target=context.run, args=(run,), daemon=True, name="tool").start()
    return await asyncio.wrap_future(future)


async def on_loop(work: Callable[[], Coroutine[Any, Any, object]]) -> Outcome:
    """Run a coroutine on the loop of foreign code. When this is cancelled, so is the coroutine."""

    async def run() -> Outcome:
        result: object = None
        with _redirected() as printed, CapturedError() as caught:
            result = await work()
        return Outcome(result, printed.getvalue(), caught.error)

    # One loop for all, since what a call opened on it is used by the next; one that hangs is left.
    loop = _loops[-1] if _loops else None
    if loop is not None:
        answer: Future[None] = Future()
        loop.call_soon_threadsafe(answer.set_result, None)
        done, _ = await asyncio.wait({asyncio.wrap_future(answer)}, timeout=PATIENCE_SECONDS)
        loop = loop if done else None
    if loop is None:
        loop = asyncio.new_event_loop()
        threading.Thread(target=loop.run_forever, daemon=True, name="tools").start()
        _loops.append(loop)
    return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(run(), loop))


_loops: list[asyncio.AbstractEventLoop] = []
_printed: contextvars.ContextVar[_Printed] = contextvars.ContextVar("printed")
_redirecting = threading.Lock()
_redirections = 0


class _Printed(io.StringIO):
    """A text that is kept up to a length."""

    def write(self, text: str) -> int:
        super().write(text[: max(0, MOST_PRINTED - self.tell())])
        return len(text)


class _Stream:
    """A standard stream while foreign code runs: itself to the program, a text to other threads."""

    def __init__(self, real: TextIO) -> None:
        self.real = real

    def __getattr__(self, name: str) -> Any:
        if threading.current_thread() is threading.main_thread():
            return getattr(self.real, name)
        return getattr(_printed.get(None) or _Printed(), name)


@contextlib.contextmanager
def _redirected() -> Iterator[_Printed]:
    """Catch what is printed in this context; the streams are put back when nothing foreign runs any
    more.
    """
    global _redirections  # noqa: PLW0603 - the streams are the process's, so is their count
    printed = _Printed()
    token = _printed.set(printed)
    with _redirecting:
        _redirections += 1
        if _redirections == 1:
            sys.stdin, sys.stdout, sys.stderr = (
                cast(TextIO, _Stream(stream)) for stream in (sys.stdin, sys.stdout, sys.stderr)
            )
    try:
        yield printed
    finally:
        _printed.reset(token)
        with _redirecting:
            _redirections -= 1
            if not _redirections:
                for name in ("stdin", "stdout", "stderr"):
                    stream = getattr(sys, name)
                    if isinstance(stream, _Stream):  # nobody else has put another one in its place
                        setattr(sys, name, stream.real)
