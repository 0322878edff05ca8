"""Entries typed into a chat, and the queries that result from them."""

from __future__ import annotations

import re
from pathlib import Path

from tests.support.pty_chat import PtyChat
from tests.support.terminal_chat import saved


def asked(home: Path) -> list[str]:
    """Return the queries that were sent to the model."""
    return [exchange.query.text for exchange in saved(home).exchanges]


def entered(terminal: PtyChat, keys: str) -> None:
    """Type keys that end an entry, and wait for the reply."""
    terminal.mark()
    terminal.send(keys)
    terminal.wait_for(re.compile(r"Time: \d.*You:", re.DOTALL), timeout=60, output=True)


def told_of_pastes(printed: bytes) -> bool:
    """Return True if the program last turned on bracketed paste rather than off."""
    return printed.rfind(b"\x1b[?2004h") > printed.rfind(b"\x1b[?2004l")
