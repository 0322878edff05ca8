"""Caches that are bounded by the size of what they keep, not only by the number of entries."""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable
from typing import Generic, ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")


def cached_by_size(most: int) -> Callable[[Callable[P, T]], SizedCache[P, T]]:
    """Keep the results of a pure function of texts, up to `most` characters of its arguments."""

    def decorate(function: Callable[P, T]) -> SizedCache[P, T]:
        return SizedCache(function, most)

    return decorate


class SizedCache(Generic[P, T]):
    """The results of `function`, the last used ones. It may be called from any thread; what takes
    more than a quarter of the room is not kept.
    """

    def __init__(self, function: Callable[P, T], most: int) -> None:
        self._function = function
        self._most = most
        self._lock = threading.Lock()
        self._results: dict[Hashable, tuple[T, int]] = {}
        self.size = 0

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> T:
        key = (args, tuple(kwargs.items()))
        with self._lock:
            if (known := self._results.pop(key, None)) is not None:
                self._results[key] = known  # the last used one
                return known[0]
        result = self._function(*args, **kwargs)
        texts = [text for text in args if isinstance(text, str)]
        size = sum(map(len, texts))
        if size <= self._most // 4:
            self._keep(key, result, size)
        return result

    def _keep(self, key: Hashable, result: T, size: int) -> None:
        with self._lock:
            if key in self._results:
                return
            self._results[key] = (result, size)
            self.size += size
            while self.size > self._most:
                _, old = self._results.pop(next(iter(self._results)))
                self.size -= old

    def cache_clear(self) -> None:
        """Forget all results."""
        with self._lock:
            self._results.clear()
            self.size = 0
