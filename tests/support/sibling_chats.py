"""Chats through a pipe that compact again and again."""

from __future__ import annotations

from pathlib import Path

from benchmarks.support.loopback import Loopback
from tests.support import fork_server
from tests.support.environments import environment

COMPACT = "/compact"
AT_LENGTH = (
    "Let us look at that again when there is more time for it, and think of what it means for "
    "the rest. " * 12
)


def configure(home: Path, server: Loopback, model: str, window: int = 64_000) -> None:
    name = model.partition(":")[2]
    (home / "config.yaml").write_text(
        f"models: {{{name}: {{window: {window}}}}}\nproviders: {{compatible: {{base_url: "
        f"'{server.url}/v1'}}}}\n"
    )


def chat(home: Path, model: str, keys: dict[str, str], lines: list[str], *options: str) -> str:
    """Run the program with its input from a pipe; return what it prints."""
    done = fork_server.run(
        ["--model", model, *options], environment(home, **keys), "\n".join(lines).encode(), home
    )
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout.decode()
