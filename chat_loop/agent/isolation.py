"""Functions that are not the program's: run beside it, and nothing they do or raise disturbs it.

A function runs in a thread of its own, a coroutine on a loop that is not the program's, so that
neither can hold it up, not even at its end. What they print is caught, what they read from the
keyboard is empty. What is printed by processes that they start is not seen from here.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextlib
import contextvars
import io
import sys
import threading
from collections.abc import Callable, Coroutine, Iterator
from types import TracebackType
from typing import Any, TextIO, cast

MOST_PRINTED = 100_000
"""Characters of what a function prints that are kept."""

PATIENCE_SECONDS = 1.0
"""How long the loop of the coroutines may take to answer before another one is made."""

Work = Callable[[], object]


class Caught(contextlib.AbstractContextManager["Caught"]):
    """Whatever is raised inside becomes `error`, the end of the program too; a cancellation goes
    on.
    """

    def __init__(self) -> None:
        self.error: BaseException | None = None

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> bool:
        self.error = error
        return error is not None and not isinstance(error, asyncio.CancelledError | GeneratorExit)


class Printed(io.StringIO):
    """What a function printed, as far as it is kept."""

    def write(self, text: str) -> int:
        super().write(text[: max(0, MOST_PRINTED - self.tell())])
        return len(text)


async def in_thread(work: Work) -> tuple[object, str, BaseException | None]:
    """What `work` returns, prints and raises. When this is cancelled, `work` goes on: a thread
    cannot be stopped.
    """
    future: concurrent.futures.Future[tuple[object, str, BaseException | None]] = (
        concurrent.futures.Future()
    )

    def run() -> None:
        future.set_running_or_notify_cancel()
        result: object = None
        with _redirected() as printed, Caught() as caught:
            result = _uncancelled(work)
        future.set_result((result, printed.getvalue(), caught.error))

    context = contextvars.copy_context()
    threading.Thread(target=context.run, args=(run,), daemon=True, name="tool").start()
    return await asyncio.wrap_future(future)


def _uncancelled(work: Work) -> object:
    """What `work` returns. What would end a task of the program, raised in a thread, is an error
    like any other.
    """
    try:
        return work()
    except (asyncio.CancelledError, GeneratorExit) as error:
        raise RuntimeError(type(error).__name__).with_traceback(error.__traceback__) from error


async def on_loop(
    work: Callable[[], Coroutine[Any, Any, object]],
) -> tuple[object, str, BaseException | None]:
    """The same for a coroutine. When this is cancelled, so is the coroutine."""

    async def run() -> tuple[object, str, BaseException | None]:
        result: object = None
        with _redirected() as printed, Caught() as caught:
            result = await work()
        return result, printed.getvalue(), caught.error

    return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(run(), await _loop()))


_loops: list[asyncio.AbstractEventLoop] = []


async def _loop() -> asyncio.AbstractEventLoop:
    """The loop of foreign coroutines: what one call opened on it can be used by the next. One that
    hangs is left.
    """
    if _loops and await _answers(_loops[-1]):
        return _loops[-1]
    loop = asyncio.new_event_loop()
    threading.Thread(target=loop.run_forever, daemon=True, name="tools").start()
    _loops.append(loop)
    return loop


async def _answers(loop: asyncio.AbstractEventLoop) -> bool:
    answer: concurrent.futures.Future[None] = concurrent.futures.Future()
    loop.call_soon_threadsafe(answer.set_result, None)
    done, _ = await asyncio.wait({asyncio.wrap_future(answer)}, timeout=PATIENCE_SECONDS)
    return bool(done)


_printed: contextvars.ContextVar[Printed] = contextvars.ContextVar("printed")


class _Stream:
    """A standard stream as long as foreign code runs: its own to the program, a text in memory to
    other threads.
    """

    def __init__(self, real: TextIO) -> None:
        self.real = real

    def __getattr__(self, name: str) -> Any:
        if threading.current_thread() is threading.main_thread():
            return getattr(self.real, name)
        return getattr(_printed.get(None) or Printed(), name)


_redirecting = threading.Lock()
_redirections = 0


@contextlib.contextmanager
def _redirected() -> Iterator[Printed]:
    """Catch what is printed in this context; the streams are put back when nothing foreign runs any
    more.
    """
    global _redirections  # noqa: PLW0603 - the streams are the process's, so is the count of who has redirected them
    printed = Printed()
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
