"""Limits on the cost of a piece of work."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


@contextmanager
def cpu_limit(seconds: float) -> Iterator[None]:
    """Raise AssertionError when the block takes more than `seconds` of CPU time of this process, no
    matter how busy the machine is. Regular expressions are interrupted as well.
    """

    def stop(number: int, frame: FrameType | None) -> None:
        raise AssertionError(f"The work takes more than {seconds} s of CPU time.")

    before = signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)
