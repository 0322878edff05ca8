"""Entries typed into a chat, and the queries that came of them."""

from __future__ import annotations

import re
from pathlib import Path

from tests.support.pty_chat import PtyChat
from tests.support.terminal_chat import saved


def asked(home: Path) -> list[str]:
    """What was said to the model."""
    return [exchange.query.text for exchange in saved(home).exchanges]


def entered(terminal: PtyChat, keys: str) -> None:
    """Type something that ends an entry, and wait for its reply."""
    terminal.mark()
    terminal.send(keys)
    terminal.wait_for(re.compile(r"Time: \d.*You:", re.DOTALL), timeout=60, output=True)


def told_of_pastes(printed: bytes) -> bool:
    """Whether the terminal was last asked to say where a paste begins and ends."""
    return printed.rfind(b"\x1b[?2004h") > printed.rfind(b"\x1b[?2004l")
