"""The keys typed before the editor is there."""

from __future__ import annotations

import _thread
import os
import pty
import time
from collections.abc import Callable

from chat_loop.input.ahead import KeysAhead
from chat_loop.input.start import InstantPrompt
from chat_loop.terminal import Terminal

PATIENCE = 10.0  # seconds


def comes(is_so: Callable[[], bool]) -> bool:
    """Wait until something is so; return False if that never comes."""
    end = time.monotonic() + PATIENCE
    while not is_so():
        if time.monotonic() > end:
            return False
    return True


def test_a_question_at_the_first_prompt_has_the_keyboard_to_itself() -> None:
    others = _thread._count()
    keyboard, descriptor = pty.openpty()
    try:
        prompt = InstantPrompt(Terminal(descriptor), KeysAhead(descriptor, 0))
        assert comes(lambda: _thread._count() > others)
        assert prompt.lend(lambda: comes(lambda: _thread._count() == others))
        prompt.restore()
    finally:
        os.close(keyboard)
        os.close(descriptor)
