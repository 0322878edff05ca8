"""The event loop of a run, and its signals."""

from __future__ import annotations

import sys

import pytest

from chat_loop.process import run_cancellable


class Fails:
    """Raises `error` where nobody can catch it."""

    def __init__(self, error: Exception) -> None:
        self.error = error

    def __del__(self) -> None:
        raise self.error


def test_a_signal_at_the_end_of_the_loop_prints_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    reported: list[str] = []

    def report(unraisable: sys.UnraisableHookArgs) -> None:
        reported.append(str(unraisable.exc_value))

    async def main() -> int:
        Fails(OSError("Signal 15 ignored due to race condition"))  # as the interpreter says it
        Fails(ValueError("something else"))
        return 3

    monkeypatch.setattr(sys, "unraisablehook", report)
    assert run_cancellable(main) == 3
    assert reported == ["something else"]
    assert sys.unraisablehook is report
