"""Processes that outlive the program, and its event loop with the signals that end it."""

from __future__ import annotations

import asyncio
import signal
import subprocess
import sys
from collections.abc import Awaitable, Callable, Collection, Iterable, Sequence
from typing import TypeVar

from chat_loop.input.start import ENDING_SIGNALS, PROMPT_SIGNALS

REPLY_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
"""The signals that stop a run that asks nobody."""

T = TypeVar("T")


def start_process(words: Sequence[str], inherited: Collection[int] = ()) -> None:
    """Start chat-loop with the arguments `words` and without a terminal, so that it outlives this
    process. It gets the `inherited` descriptors. Raises OSError.
    """
    null = subprocess.DEVNULL
    subprocess.Popen(
        [sys.executable, "-P", "-m", "chat_loop", *words],
        stdin=null,
        stdout=null,
        stderr=null,
        start_new_session=True,
        pass_fds=inherited,
    )


def run_cancellable(make: Callable[[], Awaitable[T]]) -> T:
    """Run the coroutine that `make` returns, in a new event loop. It must call `cancel_on` first.

    Signals wait until then, so that none comes up while the loop is built. Afterward the previous
    handlers work again, which the loop has replaced by the default ones. The interpreter drops a
    signal that arrives in that instant and prints an error, which is hidden: the program ends
    anyway.
    """

    async def run() -> T:
        return await make()

    def report_others(unraisable: sys.UnraisableHookArgs) -> None:
        if not str(unraisable.exc_value).endswith("ignored due to race condition"):
            report(unraisable)

    report = sys.unraisablehook
    handlers = {number: signal.getsignal(number) for number in ENDING_SIGNALS}
    blocked = signal.pthread_sigmask(signal.SIG_BLOCK, PROMPT_SIGNALS)
    sys.unraisablehook = report_others
    try:
        return asyncio.run(run())
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
        sys.unraisablehook = report
        signal.pthread_sigmask(signal.SIG_SETMASK, blocked)


def cancel_on(task: asyncio.Task[object], signals: Iterable[int]) -> list[int]:
    """Cancel the task when one of `signals` arrives, or has waited for this call. Return a list of
    those that have arrived, which grows.
    """
    received: list[int] = []

    def cancel(number: int) -> None:
        received.append(number)
        task.cancel()

    for number in signals:
        asyncio.get_running_loop().add_signal_handler(number, cancel, number)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, PROMPT_SIGNALS)
    return received
