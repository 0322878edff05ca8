"""Signals in the first instants of a chat: they end it in silence, with the terminal restored."""

from __future__ import annotations

import signal
import sys
from pathlib import Path

import pytest

from tests.support.pty_chat import PtyChat
from tests.support.real_program import PATIENCE, WHEN_TOLD, environment, settings

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform == "win32", reason="signals and pseudo-terminals of POSIX"),
]

AIMED = """
import os, signal, sys

def wait(frame, event, argument):
    if event == "return" and frame.f_code.co_name == "end_on_signals":
        sys.setprofile(aim)

def aim(frame, event, argument):
    if event == "call" and frame.f_code.co_qualname in (sys.argv[2], "Composer.read"):
        sys.setprofile(None)
        os.kill(os.getpid(), int(sys.argv[1]))

sys.setprofile(wait)
from chat_loop.cli import main
sys.exit(main(["--model", "scripted:echo"]))
"""
"""A chat that sends itself a signal when a function is called after the prompt was drawn, at the
latest when it reads.
"""

PLACES = (
    "_get_module_lock.<locals>.cb",  # a callback of an import, where an exception goes nowhere
    "BaseEventLoop.__init__",
    "BaseSelectorEventLoop._make_self_pipe",
    "Interactive.__init__",
    "Interactive.run",
    "Composer.start",
)


@pytest.mark.parametrize(
    ("place", "number"),
    [*((place, signal.SIGTERM) for place in PLACES), (PLACES[1], signal.SIGHUP)],
)
def test_a_signal_in_the_first_instants(place: str, number: signal.Signals, tmp_path: Path) -> None:
    command = ["/bin/sh", "-c", WHEN_TOLD, "sh", sys.executable, "-c", AIMED, f"{number:d}", place]
    with PtyChat(command, env=environment(tmp_path)) as chat:
        before = settings(chat)
        chat.line("")
        assert chat.exit_code(PATIENCE) == 128 + number
        shown = chat.raw.decode()
        assert "Exception ignored" not in shown
        assert "Traceback" not in shown
        assert "never awaited" not in shown
        assert settings(chat) == before
