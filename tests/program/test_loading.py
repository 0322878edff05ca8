"""Loading behind the prompt restores the interpreter's settings."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

import pytest

from tests.support.environments import environment
from tests.support.headless import ECHO, run
from tests.support.mcp_descriptions import until
from tests.support.pty_chat import PtyChat
from tests.support.terminal_chat import PATIENCE, command


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="pseudo-terminals of POSIX")
@pytest.mark.parametrize("options", [(), ("--plain",)])
def test_a_terminal_with_and_without_an_editor_loads_behind_the_prompt(
    tmp_path: Path, options: tuple[str, ...]
) -> None:
    """The sessions are indexed before the user types anything."""
    run(tmp_path, *ECHO, "-p", "hello")
    index = tmp_path / "sessions" / ".index.sqlite"
    assert not index.exists()
    with PtyChat([*command(), *options], env=environment(tmp_path)) as chat:
        chat.wait_for("You:", PATIENCE)
        asyncio.run(until(index.exists))
