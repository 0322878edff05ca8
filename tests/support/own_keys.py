"""Chats and subcommands with one of the program's own keys in the environment."""

from __future__ import annotations

from pathlib import Path

from benchmarks.support.loopback import Loopback
from tests.support import fork_server
from tests.support.environments import environment
from tests.support.headless import chat_at_home

KEY = "zq-Private-Key-77Xy88Zw-own"
MODEL = "openai:gpt-4.1"


def run(home: Path, server: Loopback, *lines: str, key: str = KEY) -> str:
    keys = {"OPENAI_API_KEY": key, "OPENAI_BASE_URL": f"{server.url}/v1"}
    return chat_at_home(home, server, MODEL, keys, *lines)


def command(home: Path, *arguments: str) -> str:
    """Return the output of `chat-loop sessions …`, standard error included."""
    done = fork_server.run(
        ["sessions", *arguments], environment(home, OPENAI_API_KEY=KEY), cwd=home
    )
    return (done.stdout + done.stderr).decode()
