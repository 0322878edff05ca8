"""Chats through a pipe against a server on loopback."""

from __future__ import annotations

from pathlib import Path

from benchmarks.support.loopback import Loopback
from chat_loop.sessions.manager import SessionManager
from chat_loop.sessions.records import Session
from tests.support.headless import run

QUESTION = "Our port is 8443."
WAITS = "auto_compact: {summary_on_exit: wait}\n"
"""A config with which an exit waits for its summary. Otherwise a busy machine leaves the summary to
another process after 3 seconds.
"""


def keys(server: Loopback) -> dict[str, str]:
    return {"OPENAI_API_KEY": "k", "OPENAI_BASE_URL": f"{server.url}/v1"}


def chat(home: Path, server: Loopback, *lines: str, options: tuple[str, ...] = ()) -> str:
    """Run a chat through a pipe; return its output."""
    result = run(
        home, "--model", "openai:test-model", *options, stdin="".join(f"{line}\n" for line in lines).encode(),
        keys=keys(server),
    )  # fmt: skip
    assert result.returncode == 0, result.stderr.decode()
    return result.stdout.decode()


def files(home: Path) -> dict[str, bytes]:
    """Return the content of each transcript by its name."""
    return {path.stem: path.read_bytes() for path in (home / "sessions").glob("*.md")}


def session(home: Path, identity: str) -> Session:
    return SessionManager(home / "sessions").load(home / "sessions" / f"{identity}.md").session


def begun(home: Path, server: Loopback) -> str:
    """Run a chat with one exchange and a summary; return the session's id. The config is WAITS."""
    (home / "config.yaml").write_text(WAITS)
    chat(home, server, QUESTION, "exit")
    [identity] = files(home)
    server.requests.clear()
    return identity
