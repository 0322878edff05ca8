"""What requests leave out because a server refused it."""

from __future__ import annotations

import math
import time
from collections.abc import Callable

SECONDS = 600.0  # then a refused part is tried again: the server may have another model by then


class Adaptations:
    """The parts that a server refused, each for ten minutes, and at most until the next session."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._ends: dict[str, float] = {}
        self._announced = set[str]()

    def __contains__(self, part: str) -> bool:
        return self._clock() < self._ends.get(part, -math.inf)

    def add(self, part: str) -> bool:
        """Leave `part` out from now on. Return True if the user was not told of it before."""
        is_news = part not in self._announced
        self._announced.add(part)
        self._ends[part] = self._clock() + SECONDS
        return is_news

    def begin_session(self) -> None:
        """Try everything again."""
        self._ends.clear()
