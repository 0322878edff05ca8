"""Ctrl-C for code that does not give the event loop back."""

from __future__ import annotations

import asyncio
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from chat_loop.terminal import ctrl_c_as_signal

LOOK_SECONDS = 0.5
"""How often to look, and how long the event loop may take to answer."""


class Watchdog:
    """Looks whether an event loop answers. While it does not, Ctrl-C raises KeyboardInterrupt in
    the code that has it.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._is_blocked = False
        self._ended = threading.Event()

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Watch the loop, which runs in the main thread, during the context."""
        previous = signal.signal(signal.SIGINT, self._interrupt)
        threading.Thread(target=self._watch, daemon=True, name="watchdog").start()
        try:
            yield
        finally:
            self._ended.set()
            signal.signal(signal.SIGINT, previous)

    def _interrupt(self, *_: object) -> None:
        """Handle SIGINT. The loop has a handler of its own, which it calls once it answers."""
        if self._is_blocked:
            raise KeyboardInterrupt

    def _watch(self) -> None:
        while not self._ended.wait(LOOK_SECONDS):
            answered = threading.Event()
            with suppress(RuntimeError):  # the loop is closed
                self._loop.call_soon_threadsafe(answered.set)
                if not answered.wait(LOOK_SECONDS):
                    self._is_blocked = True
                    with ctrl_c_as_signal():
                        answered.wait()
                    self._is_blocked = False
