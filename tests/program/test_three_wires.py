"""One conversation on three wires: Anthropic's, then OpenAI's with a smaller window, then an
embedded model.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from benchmarks.support.loopback import Loopback, Received, Reply, talk
from chat_loop.sessions.parser import parse
from chat_loop.sessions.records import ModelChange, Session
from chat_loop.sessions.rows import read_rows
from chat_loop.sessions.writer import render
from chat_loop.values import Usage
from tests.support.environments import environment
from tests.support.pty_chat import PtyChat
from tests.support.real_model import smollm2_path

REPLIED = re.compile(r"Time: \d+\.\ds")


@dataclass(frozen=True)
class Program:
    """The options and the environment of a program to start."""

    options: tuple[str, ...]
    environment: dict[str, str]
    home: Path
    patience: float

    @contextmanager
    def start(self, *more: str, cols: int = 100) -> Iterator[PtyChat]:
        argv = (sys.executable, "-m", "chat_loop", *self.options, *more)
        with PtyChat(argv, env=self.environment, rows=50, cols=cols) as chat:
            chat.wait_for("You: ", timeout=60)
            chat.wait_for("context", timeout=60)
            yield chat

    def sessions(self) -> list[Session]:
        """Return the sessions on disk, oldest first. Each must be undamaged and equal to its
        rendering.
        """
        found = []
        for row in reversed(read_rows(self.home / "sessions")):
            data = row.path.read_bytes()
            parsed = parse(data)
            assert parsed.damage == ()
            assert parsed.session is not None
            assert render(parsed.session) == data
            found.append(parsed.session)
        return found


def say(chat: PtyChat, text: str, patience: float, until: str | re.Pattern[str] = REPLIED) -> None:
    """Send a line; wait until its reply has ended and the prompt is back."""
    chat.mark()
    chat.line(text)
    chat.wait_for(until, timeout=patience, output=True)
    chat.wait_for(re.compile(r"You: .*context", re.DOTALL), timeout=patience, output=True)


pytestmark = pytest.mark.slow

LONG = "Tell me of the harbour: " + "the boats, the berths and the tide. " * 36


def answering(request: Received) -> Reply:
    """Echo, and estimate tokens as a quarter of the characters."""
    size = sum(map(len, (request.system, *request.texts))) // 4
    return Reply(chunks=talk(request).chunks, usage=Usage(input=size, output=20))


def test_from_wire_to_wire_to_the_embedded_model(tmp_path: Path) -> None:
    model = f"local:{smollm2_path()}"
    (tmp_path / "config.yaml").write_text(
        "auto_compact: {use_ai_summary: false}\nproviders: {local: {context: 2048}}\nmodels: "
        "{gpt-4: {window: 800}}\n"
    )
    with Loopback(answering) as server:
        keys = {
            "ANTHROPIC_API_KEY": "k",
            "ANTHROPIC_BASE_URL": server.url,
            "OPENAI_API_KEY": "k",
            "OPENAI_BASE_URL": f"{server.url}/v1",
        }
        program = Program(
            ("--model", "anthropic:claude-opus-4-1"), environment(tmp_path, **keys), tmp_path, 60
        )
        with program.start(cols=140) as chat:
            say(chat, "Our gateway listens on port 8443.", 60)
            for _ in range(2):
                chat.mark()
                chat.send(LONG)  # this much counts as a paste, so Enter is sent separately
                chat.wait_for(re.compile(r"tide\.\s*\n[^\n]*context"))
                say(chat, "", 60)
            chat.mark()
            chat.line("/model openai:gpt-4")
            told = re.compile(r"Switched to openai:gpt-4. Context: ~\d+% of 800; it is compacted")
            chat.wait_for(told, output=True)
            say(chat, "And now in fewer words?", 60)
            assert "📦 Compacted" in chat.output()
            chat.mark()
            chat.line(f"/model {model}")
            chat.wait_for(
                re.compile(r"Switched to local:.*. Context: ~\d+% of 2K"), output=True, timeout=60
            )
            say(chat, "Which port?", 120)
            chat.mark()
            chat.line("/stats")
            chat.wait_for("Cost of the session", output=True)
            chat.wait_for(re.compile(r"^openai:gpt-4\S* +\d", re.MULTILINE))
            chat.ctrl("d")
            assert chat.exit_code() == 0

    assert {request.wire for request in server.requests} == {"anthropic", "openai"}
    [asked] = [request for request in server.requests if request.wire == "openai"]
    assert "8443" in " ".join(asked.texts), (
        "a fact of the first wire is in what the second was sent"
    )
    first, *others = program.sessions()
    assert first.header.model == "anthropic:claude-opus-4-1"
    assert [entry.text for entry in first.entries if isinstance(entry, ModelChange)] == [
        "openai:gpt-4"
    ]
    assert others[0].header.model == "openai:gpt-4"
    switches = [
        entry.text
        for session in others
        for entry in session.entries
        if isinstance(entry, ModelChange)
    ]
    assert [*switches, others[-1].header.model][0] == model
    last = others[-1].exchanges[-1]
    assert last.query.text == "Which port?"
    assert last.reply is not None
    assert last.reply.text.strip()
    restoration = others[0].restoration
    assert restoration is not None
    assert "8443" in restoration.block
