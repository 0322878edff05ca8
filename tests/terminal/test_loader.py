"""What is loaded behind the prompt: each job fails for itself."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.support.environments import environment
from tests.support.headless import ECHO
from tests.support.injected_bugs import bug
from tests.support.pty_chat import PtyChat

pytestmark = pytest.mark.slow

JOBS = (
    "chat_loop.providers.scripted:EchoProvider.warm",
    "chat_loop.library.indexer:Indexer.start",
    "chat_loop.commands.registry:Registry.add_plugins",
    "chat_loop.sessions.organizing:remove_leftovers",
)


def test_each_job_that_fails_is_one_sentence_and_the_others_are_done(tmp_path: Path) -> None:
    home = tmp_path / "home"
    variables = environment(home) | bug(tmp_path / "code", *JOBS)
    command = [sys.executable, "-m", "chat_loop", *ECHO]
    with PtyChat(command, env=variables, cols=220, rows=40) as chat:
        chat.wait_for("context")
        chat.line("hello")
        chat.wait_for("Time: ")
        for job in JOBS:
            chat.wait_for(f"in {job}")
        chat.line("exit")
        assert chat.exit_code() == 0
        shown = chat.text()
    assert shown.count("Something went wrong in chat-loop: TypeError") == len(JOBS)
    assert shown.count("The rest goes on.") == len(JOBS)
    assert "Traceback" not in shown
    assert (home / "chat-loop.log").read_text().count("Traceback (most recent") == len(JOBS)
