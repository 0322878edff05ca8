"""Background work: how long it is waited for, and who gets its errors."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable
from concurrent.futures import Future
from typing import ParamSpec, TypeVar

from chat_loop.errors import ChatLoopError

P = ParamSpec("P")
T = TypeVar("T")


def report_bug(task: asyncio.Future[T]) -> None:
    """Give an unexpected error of a task that has ended to the exception handler of its loop.

    Add this callback to each task that nobody awaits, or whose errors are dropped. Errors of the
    program's own tree and of the system are expected there, and are for the task to handle.
    """
    error = None
    if not task.cancelled():
        error = task.exception()
    if error is not None and not isinstance(error, ChatLoopError | OSError):
        message = "A task in the background failed"
        task.get_loop().call_exception_handler({"message": message, "exception": error})


def uncancel() -> None:
    """Undo a cancellation that only skips one step, so that the task itself continues."""
    task = asyncio.current_task()
    if task is not None:
        task.uncancel()


async def run_to_completion(work: Awaitable[T]) -> T:
    """Run `work` to completion even when cancelled, and raise CancelledError afterwards."""
    task = asyncio.ensure_future(work)
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        while not task.done():
            try:
                await asyncio.wait({task})
            except asyncio.CancelledError:
                continue
        task.result()
        raise


async def in_daemon_thread(work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Return the result of `work`, which runs in its own thread. Raises its errors.

    Neither a cancellation nor the exit of the program waits for the thread.
    """
    future = Future[T]()
    future.set_running_or_notify_cancel()

    def run() -> None:
        try:
            result = work(*args, **kwargs)
        except BaseException as error:  # noqa: BLE001 - raised where the result is awaited
            future.set_exception(error)
        else:
            future.set_result(result)

    threading.Thread(target=run, daemon=True, name="work").start()
    return await asyncio.wrap_future(future)
