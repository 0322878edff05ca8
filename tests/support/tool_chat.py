"""A chat whose model calls tools, and the questions about these calls."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from benchmarks.support.loopback import Loopback, Reply
from chat_loop.values import ToolCall
from tests.support.pty_chat import PtyChat

PATIENCE = 60
PROMPT = re.compile(r"You:.*context ", re.DOTALL)
ASKED = "[y]es [n]o [a]lways, always in this [p]roject ("
TOOLS = "read_file,write_file,edit_file,run_command"


def calling(*calls: tuple[str, Mapping[str, object]], text: str = "") -> Reply:
    made = (
        ToolCall(f"w{number}", name, json.dumps(given))
        for number, (name, given) in enumerate(calls)
    )
    return Reply(chunks=(text,) if text else (), calls=tuple(made))


@contextmanager
def chatting(
    home: Path,
    server: Loopback,
    cols: int = 80,
    rows: int = 40,
    tools: str = TOOLS,
    options: Sequence[str] = (),
) -> Iterator[PtyChat]:
    """Yield the program at its prompt, in the folder `project` below its home."""
    project = home / "project"
    project.mkdir(exist_ok=True)
    environment = {
        "CHAT_LOOP_HOME": str(home / "own"),
        "HOME": str(home),
        "LANG": "C.UTF-8",
        "TERM": "xterm-256color",
        "OPENAI_API_KEY": "sk-test",
        "OPENAI_BASE_URL": f"{server.url}/v1",
        "PATH": "/usr/bin:/bin",
    }
    command = [
        sys.executable,
        "-m",
        "chat_loop",
        "--model",
        "openai:gpt-test",
        "--tools",
        tools,
        *options,
    ]
    with PtyChat(command, env=environment, cwd=project, rows=rows, cols=cols, forked=True) as chat:
        chat.wait_for("You:" if "--plain" in options else PROMPT, PATIENCE)
        yield chat


def at_prompt(chat: PtyChat) -> None:
    chat.wait_for(re.compile(r"Time:.*You:", re.DOTALL), PATIENCE, output=True)
