"""A program on a terminal that receives keys as soon as it runs."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.support.environments import environment
from tests.support.headless import ECHO
from tests.support.pty_chat import PtyChat


@contextmanager
def started(
    home: Path, *options: str, cols: int = 100, typed: str = "", until: str = "context", **more: str
) -> Iterator[PtyChat]:
    """Start the program on a terminal, send `typed` at once, and wait for `until`."""
    command = [sys.executable, "-m", "chat_loop", *ECHO, *options]
    # keys that are typed at once meet a program that is still loading its modules
    with PtyChat(
        command, env=environment(home, **more), rows=30, cols=cols, forked=not typed
    ) as terminal:
        terminal.send(typed)
        terminal.wait_for(until)
        yield terminal
