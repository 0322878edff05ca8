"""The terminal's own settings: silent during a reply, and restored after every exit."""

from __future__ import annotations

import os
import re
import signal
import sys
import termios
from pathlib import Path

import pytest

from benchmarks.support.loopback import Loopback
from chat_loop.providers.models.store import CATALOGUE, SMOLLM2
from tests.support.environments import environment
from tests.support.ports import closed_port
from tests.support.pty_chat import PtyChat
from tests.support.real_model import smollm2_path
from tests.support.terminal_chat import (
    PATIENCE,
    PROMPT,
    STALLING,
    WHEN_TOLD,
    chatting,
    command,
    exchanges,
    settings,
    told_of_pastes,
)

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform == "win32", reason="signals and pseudo-terminals of POSIX"),
]

ENDING = [signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT]
SECOND_PROMPT = re.compile(r"Interrupted.*You:", re.DOTALL)


def echoes(chat: PtyChat) -> bool:
    """Return True when the terminal itself echoes the typed keys."""
    return bool(settings(chat)[3] & termios.ECHO)


def state(process: int) -> str:
    """Return the letter of a process's state, T for a stopped one."""
    return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]


def test_no_echo_in_a_reply_after_a_model_was_chosen(tmp_path: Path) -> None:
    found = smollm2_path()
    (tmp_path / "config.yaml").write_text("auto_compact: {summary_on_exit: false}\n")
    models = sorted(CATALOGUE, key=lambda model: not model.recommended)
    with PtyChat([sys.executable, "-m", "chat_loop", "--local"], env=environment(tmp_path)) as chat:
        chat.wait_for("Number [1], or n for none:", PATIENCE)
        assert echoes(chat)
        (tmp_path / "models").mkdir()
        (tmp_path / "models" / f"{SMOLLM2.name}.gguf").symlink_to(found)
        chat.line(str(models.index(SMOLLM2) + 1))
        chat.wait_for(PROMPT, PATIENCE)
        assert not echoes(chat)
        chat.mark()
        chat.line("Tell a very, very long story about a baker.")
        chat.wait_for("Assistant:", PATIENCE, output=True)
        assert not echoes(chat)
        chat.ctrl("c")
        chat.wait_for(SECOND_PROMPT, PATIENCE, output=True)
        chat.ctrl("d")
        assert chat.exit_code(PATIENCE) == 0
        assert echoes(chat)


def test_keys_typed_before_the_choice_of_a_model_are_no_answer_to_it(tmp_path: Path) -> None:
    """Otherwise they would come before the answer, and Enter alone would choose the first model."""
    nowhere = {"PIP_INDEX_URL": f"http://127.0.0.1:{closed_port()}/simple"}
    with PtyChat(
        [sys.executable, "-m", "chat_loop", "--local"], env=environment(tmp_path) | nowhere
    ) as chat:
        chat.wait_for("You:", PATIENCE)
        chat.send("a question\r")
        chat.wait_for("Number [1], or n for none:", PATIENCE)
        chat.line("3")
        assert chat.exit_code(PATIENCE) == 2
        assert "or n for none: 3\nSmolLM2 135M" in chat.text()


def test_ctrl_z_in_a_reply_gives_the_terminal_back_and_fg_silences_it_again(tmp_path: Path) -> None:
    shell = environment(tmp_path) | {"PS1": "shell: "}
    with Loopback() as server, PtyChat(["/bin/bash", "--norc", "-i"], env=shell) as chat:
        chat.wait_for("shell: ", PATIENCE)
        server.enqueue(STALLING)
        chat.line(" ".join(command(server)))
        chat.wait_for(PROMPT, PATIENCE)
        chat.line("hello")
        chat.wait_for("Half a sentence", PATIENCE)
        for _ in range(2):
            assert not echoes(chat)
            chat.mark()
            chat.ctrl("z")
            chat.wait_for("Stopped", PATIENCE, output=True)
            chat.mark()
            chat.line("stty -a; echo do''ne")
            chat.wait_for("done", PATIENCE, output=True)
            assert " echo " in chat.output()
            chat.mark()
            chat.line("fg")
            chat.wait_for(re.compile(r"chat_loop.*\x1b\[\?2004h", re.DOTALL), PATIENCE, output=True)
        assert not echoes(chat)
        assert told_of_pastes(bytes(chat.raw))
        chat.mark()
        server.release()
        chat.wait_for(re.compile(r"no more.*^You:$", re.DOTALL | re.MULTILINE), PATIENCE)
        chat.ctrl("z")
        chat.wait_for("Stopped", PATIENCE, output=True)
        chat.mark()
        chat.line("fg")
        chat.wait_for("You:", PATIENCE, output=True)
        assert not echoes(chat)
        chat.line("exit")
        chat.wait_for(re.compile(r"saved.*shell: ", re.DOTALL), PATIENCE, output=True)
        chat.line("exit")
        chat.exit_code(PATIENCE)


def test_a_shell_that_restores_nothing_has_its_terminal_back_after_ctrl_z(tmp_path: Path) -> None:
    with Loopback() as server, chatting(tmp_path, server) as (chat, before):
        server.enqueue(STALLING)
        chat.line("hello")
        chat.wait_for("Half a sentence", PATIENCE)
        process = chat._child.pid
        assert process
        # The program leads its session, and in that case the system ignores Ctrl-Z. The program
        # continues, as silent as before.
        chat.mark()
        chat.ctrl("z")
        chat.wait_for(re.compile(r"\x1b\[\?2004l.*\x1b\[\?2004h", re.DOTALL), PATIENCE, output=True)
        assert state(process) != "T"
        assert settings(chat) != before
        assert not echoes(chat)


@pytest.mark.parametrize("number", ENDING)
@pytest.mark.parametrize("place", ["prompt", "reply", "browser"])
def test_what_ends_the_program_gives_the_terminal_back(
    number: signal.Signals, place: str, tmp_path: Path
) -> None:
    with Loopback() as server, chatting(tmp_path, server) as (chat, before):
        server.enqueue(STALLING)
        if place == "reply":
            chat.line("hello")
            chat.wait_for("Half a sentence", PATIENCE)
        elif place == "browser":
            chat.line("/sessions browse")
            chat.wait_for("q leave", PATIENCE)
        os.kill(chat._child.pid or 0, number)
        assert chat.exit_code(PATIENCE) == 128 + number
        assert settings(chat) == before
        assert not told_of_pastes(bytes(chat.raw))
        assert chat.raw.count(b"\x1b[?1049h") == chat.raw.count(b"\x1b[?1049l")
        assert "Traceback" not in chat.text()
    if place == "reply":
        (exchange,) = exchanges(tmp_path)
        assert exchange.reply
        assert (exchange.reply.text.rstrip(), exchange.reply.stop) == (
            "Half a sentence",
            "interrupted",
        )


@pytest.mark.parametrize("number", ENDING)
def test_what_ends_the_program_while_it_starts_gives_the_terminal_back(
    number: signal.Signals, tmp_path: Path
) -> None:
    # The question is asked before the chat handles signals; with a model the moment would be too
    # short to hit.
    with PtyChat([sys.executable, "-m", "chat_loop", "--local"], env=environment(tmp_path)) as chat:
        before = settings(chat)
        chat.wait_for("Number [1], or n for none:", PATIENCE)
        os.kill(chat._child.pid or 0, number)
        assert chat.exit_code(PATIENCE) == 128 + number
        assert settings(chat) == before
        assert "Traceback" not in chat.text()


@pytest.mark.parametrize("options", [(), ("--name", "x")], ids=["instant prompt", "no prompt"])
def test_an_error_while_the_chat_is_built_gives_the_terminal_back(
    options: tuple[str, ...], tmp_path: Path
) -> None:
    (tmp_path / "config.yaml").write_text("auto_compact: {summary_provider: nonsense}\n")
    started = ["/bin/sh", "-c", WHEN_TOLD, "sh", *command(), *options]
    with PtyChat(started, env=environment(tmp_path)) as chat:
        before = settings(chat)
        chat.line("")
        assert chat.exit_code(PATIENCE) == 2
        assert settings(chat) == before
        assert "nonsense" in chat.text()
        assert "Traceback" not in chat.text()
