"""Runs of the program without a terminal, and the sessions that the runs leave."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from benchmarks.support.loopback import Loopback
from chat_loop.sessions.manager import SessionManager
from chat_loop.sessions.records import Query, Reply, Session
from chat_loop.sessions.rows import read_rows
from tests.support import fork_server
from tests.support.environments import environment

ECHO = ("--model", "scripted:echo")


def run(
    home: Path,
    *arguments: str,
    stdin: bytes = b"",
    keys: dict[str, str] | None = None,
    prefix: tuple[str, ...] = (),
) -> subprocess.CompletedProcess[bytes]:
    """Run the program with a clean environment and `home` as its home. `prefix` is a command that
    runs the program.
    """
    environment = {
        "CHAT_LOOP_HOME": str(home),
        "PATH": "/usr/bin:/bin",
        "LANG": "C.UTF-8",
        "TZ": "UTC",
    }
    environment |= keys or {}
    if not prefix:
        return fork_server.run(arguments, environment, stdin)
    return subprocess.run(
        [*prefix, sys.executable, "-m", "chat_loop", *arguments],
        input=stdin,
        capture_output=True,
        env=environment,
        timeout=fork_server.PATIENCE_SECONDS,
        check=False,
    )


def saved(home: Path) -> list[Session]:
    sessions = SessionManager(home / "sessions")
    return [sessions.load(row.path).session for row in read_rows(sessions.directory)]


def said(session: Session) -> list[str]:
    return [entry.text for entry in session.entries if isinstance(entry, Query | Reply)]


def output(home: Path, *arguments: str) -> str:
    """Return the output of a command that succeeds and writes nothing to standard error."""
    result = run(home, "sessions", *arguments)
    assert (result.returncode, result.stderr.decode()) == (0, "")
    return result.stdout.decode()


def stdout(home: Path, *arguments: str) -> str:
    """Return the output of a command that succeeds; ignore standard error."""
    result = run(home, "sessions", *arguments)
    assert result.returncode == 0
    return result.stdout.decode().strip()


def failure(home: Path, *arguments: str, code: int = 1) -> str:
    """Return the standard error of a command that fails; it must print nothing else."""
    result = run(home, "sessions", *arguments)
    assert (result.returncode, result.stdout.decode()) == (code, "")
    return result.stderr.decode()


def load(home: Path, identity: str) -> Session:
    return SessionManager(home / "sessions").load(home / "sessions" / f"{identity}.md").session


def session_ids(home: Path) -> list[str]:
    rows = json.loads(run(home, "sessions", "list", "--unfold", "--json").stdout)["sessions"]
    return [row["id"] for row in rows]


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


def begun(home: Path, server: Loopback) -> str:
    """Run a chat with one exchange and a summary; return the session's id. The config is WAITS."""
    (home / "config.yaml").write_text(WAITS)
    chat(home, server, QUESTION, "exit")
    [identity] = files(home)
    server.requests.clear()
    return identity


COMPACT = "/compact"
AT_LENGTH = (
    "Let us look at that again when there is more time for it, and think of what it means for "
    "the rest. " * 12
)


def chat_at_home(
    home: Path, server: Loopback, model: str, keys: dict[str, str], *lines: str
) -> str:
    """Run a chat in its own home with a window of 64K; return its output."""
    name = model.partition(":")[2]
    (home / "config.yaml").write_text(
        f"models: {{{name}: {{window: 64000}}}}\n"
        f"providers: {{compatible: {{base_url: '{server.url}/v1'}}}}\n"
    )
    typed = "\n".join(lines).encode()
    done = fork_server.run(("--model", model), environment(home, **keys), typed, home)
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout.decode()
