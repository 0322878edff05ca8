"""What takes time to find out: what was found last is there at once, and looked for anew in the
background.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Generic, TypeVar

from chat_loop.errors import ChatLoopError

T = TypeVar("T")


class Known(Generic[T]):
    """What `load()` gave last, at first `nothing`; it is called in a thread, and never twice at a
    time.

    What is older than `fresh` seconds is looked for anew. A load that fails leaves what was known.
    """

    def __init__(self, load: Callable[[], T], nothing: T, *, fresh: float) -> None:
        self._load = load
        self._fresh = fresh
        self._value = nothing
        self._loaded = threading.Event()
        """Whether anything was loaded yet."""
        self._lock = threading.Lock()
        self._due = 0.0

    def get(self, wait: float) -> T:
        """What is known; when nothing was loaded yet, after waiting for it for at most `wait`
        seconds.
        """
        with self._lock:
            if time.monotonic() >= self._due:
                self._due = float("inf")
                threading.Thread(target=self._look, daemon=True, name="completing").start()
        self._loaded.wait(wait)
        return self._value

    def _look(self) -> None:
        try:
            self._value = self._load()
        except (ChatLoopError, OSError):
            return
        finally:
            self._due = time.monotonic() + self._fresh
            self._loaded.set()
