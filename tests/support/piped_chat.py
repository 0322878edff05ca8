"""Chats through a pipe against a server on loopback."""

from __future__ import annotations

from pathlib import Path

from benchmarks.support.loopback import Loopback
from chat_loop.sessions.manager import SessionManager
from chat_loop.sessions.records import Session
from tests.support.headless import run

QUESTION = "Our port is 8443."


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
    """Run a chat with one exchange and a summary, in a home without a config; return the session's
    id.
    """
    config = home / "config.yaml"
    config.write_text("summary: {on_exit: wait}\n")  # however long a busy machine needs for it
    chat(home, server, QUESTION, "exit")
    config.unlink()
    [identity] = files(home)
    server.requests.clear()
    return identity
