"""Whole runs in a real terminal (chat, compact, exit, resume) with both SDKs and a real model."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from chat_loop.sessions.records import Session
from tests.support.environments import environment
from tests.support.real_model import smollm2_path
from tests.support.whole_runs import REPLIED, Program, say

pytestmark = pytest.mark.slow


def whole_run(program: Program) -> list[Session]:
    """Have two exchanges, compact, have another, and exit; then start again, list the sessions,
    resume, have one more exchange, and exit. Return the sessions.

    If the model cannot write summaries, code writes them, and there is no summary at the exit.
    """
    patience = program.patience
    restored = REPLIED if program.acknowledges else None
    with program.start() as chat:
        say(chat, "Our port is 8443.", patience)
        say(chat, "Thanks.", patience)
        chat.mark()
        chat.line("/pin port 8443")
        chat.wait_for("Pinned (1 pin).", timeout=patience, output=True)
        say(chat, "/compact", patience, restored or "Starting new session with summary...")
        made = " ✓" if program.summarizes else ""
        assert f"Generating session summary...{made}" in chat.output()
        assert "Saved session:" in chat.output()
        assert "Starting new session with summary..." in chat.output()
        told = [chat.output()]
        say(chat, "Which port?", patience)
        chat.mark()
        chat.line("exit")
        chat.wait_for("Conversation saved successfully!", timeout=patience, output=True)
        assert chat.exit_code(timeout=60) == 0
        assert "Goodbye!" in chat.output()
        told.append(chat.output())
        resume = re.search(r"--resume (\S+)", chat.output())
        assert resume is not None
    with program.start() as chat:
        chat.mark()
        chat.line("sessions")
        chat.wait_for(
            re.compile(r"^ *1  .* · compacted +now .* tokens$", re.MULTILINE), timeout=patience
        )
        say(chat, "resume 1", patience, restored or "Restoring context...")
        assert "Found: Assistant" in chat.output()
        assert "Restoring context..." in chat.output()
        say(chat, "And now?", patience)
        chat.ctrl("d")
        chat.wait_for("Conversation saved successfully!", timeout=patience, output=True)
        assert chat.exit_code(timeout=60) == 0
        told.append(chat.output())
    found = program.sessions()
    assert [session.totals.queries for session in found] == [2, 1, 1]
    assert [session.header.parent for session in found] == [
        "",
        found[0].header.id,
        found[1].header.id,
    ]
    assert found[1].header.id == resume.group(1)
    for session, text in zip(found, told, strict=True):
        assert session.seal is not None
        if session.seal.summary is not None:
            assert session.seal.summary.pinned == ("port 8443",)
        elif program.summarizes:
            assert "Summary failed: " in text
    return found


@pytest.mark.timeout(900)
def test_a_whole_run_on_a_real_embedded_model(tmp_path: Path) -> None:
    model = smollm2_path()
    # A small model continues until it is stopped, above all in acknowledgments and summaries.
    config = (
        "providers: {local: {max_tokens: 12, threads: 1}}\n"
        "auto_compact: {summary_max_tokens: 100, summary_on_exit: false}\n"
        "resume: {acknowledge: false}\n"
    )
    (tmp_path / "config.yaml").write_text(config)
    program = Program(
        ("--model", f"local:{model}"), environment(tmp_path), tmp_path, 180,
        acknowledges=False, summarizes=False,
    )  # fmt: skip
    found = whole_run(program)
    assert len(found) > 1
    for session in found:
        assert session.seal is not None
        assert session.exchanges
        for exchange in session.exchanges:
            assert exchange.reply is not None
            assert exchange.reply.usage is not None
            assert exchange.reply.usage.output <= 12
        assert session.totals.session.total > 0
        assert not session.totals.session.estimated
