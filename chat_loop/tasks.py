"""Background work: errors that nobody waits for, and threads that nothing waits for."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, TypeVar

from chat_loop.errors import ChatLoopError

T = TypeVar("T")


def report_bug(task: asyncio.Future[Any]) -> None:
    """Give an unexpected error of a task that has ended to the exception handler of its loop.

    Add this callback to each task that nobody awaits, or whose errors are dropped. Errors of the
    program's own tree and of the system are expected there, and are for the task to handle.
    """
    error = None if task.cancelled() else task.exception()
    if error is not None and not isinstance(error, ChatLoopError | OSError):
        message = "A task in the background failed"
        task.get_loop().call_exception_handler({"message": message, "exception": error})


async def in_daemon_thread(work: Callable[[], T]) -> T:
    """Return the result of `work`, which runs in its own thread. Raises its errors.

    Neither a cancellation nor the exit of the program waits for the thread.
    """
    future: Future[T] = Future()
    future.set_running_or_notify_cancel()

    def run() -> None:
        try:
            result = work()
        except BaseException as error:  # noqa: BLE001 - raised where the result is awaited
            future.set_exception(error)
        else:
            future.set_result(result)

    threading.Thread(target=run, daemon=True, name="work").start()
    return await asyncio.wrap_future(future)
