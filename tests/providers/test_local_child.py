"""The process of the embedded model: keys, signals, and its end."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import struct
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.support.environments import environment as plain_environment
from tests.support.mcp_descriptions import gone, runs, until
from tests.support.pty_chat import PtyChat
from tests.support.terminal_chat import PATIENCE, asked, exchanges

pytestmark = pytest.mark.skipif(
    sys.platform == "win32", reason="signals and pseudo-terminals of POSIX"
)

RUNTIME = Path(__file__).parents[1] / "support" / "fake_runtime"
PROMPT = re.compile(r"Time: .*You:", re.DOTALL)
LONG = (
    "A question of more than sixty-four characters, as a text expander writes it at once, and Enter"
)


def string(text: str) -> bytes:
    return struct.pack("<Q", len(text)) + text.encode()


def model_file(path: Path) -> Path:
    """Write the head of a GGUF file."""
    pairs = {
        "general.architecture": string("fake"),
        "tokenizer.chat_template": string("{{ messages }}"),
    }
    head = b"GGUF" + struct.pack("<IQQ", 3, 0, len(pairs))
    path.write_bytes(
        head + b"".join(string(key) + struct.pack("<I", 8) + value for key, value in pairs.items())
    )
    return path


@dataclass(frozen=True)
class Embedded:
    """A chat with a model of the fake runtime, which uses `folder`."""

    chat: PtyChat
    folder: Path

    @property
    def processes(self) -> list[int]:
        """The ids of the processes started for the model."""
        path = self.folder / "processes"
        return [int(line) for line in path.read_text().split()] if path.exists() else []

    def loading(self) -> int:
        """Wait until a separate process begins to load the model, and return its id."""
        asyncio.run(until(lambda: bool(self.processes)))
        return self.processes[-1]

    def go_on(self) -> None:
        """Let the model finish loading."""
        os.close(os.open(self.folder / "hold", os.O_WRONLY))
        (self.folder / "hold").unlink()

    def ask(self, text: str, shown: str | re.Pattern[str] = PROMPT) -> None:
        self.chat.mark()
        self.chat.line(text)
        self.chat.wait_for(shown, PATIENCE, output=True)


@contextmanager
def embedded(folder: Path, *, held: bool = False) -> Iterator[Embedded]:
    if held:
        os.mkfifo(folder / "hold")
    (folder / "config.yaml").write_text("auto_compact: {use_ai_summary: false}\n")
    command = [
        sys.executable,
        "-m",
        "chat_loop",
        "--model",
        f"local:{model_file(folder / 'm.gguf')}",
    ]
    fake = {"PYTHONPATH": str(RUNTIME), "FAKE_RUNTIME": str(folder)}
    with PtyChat(command, env=plain_environment(folder) | fake) as chat:
        chat.wait_for("context", PATIENCE)
        yield Embedded(chat, folder)
        if "Traceback" in chat.text():
            raise AssertionError(chat.text())


def leave(at: Embedded) -> None:
    at.chat.line("exit")
    assert at.chat.exit_code(PATIENCE) == 0


def test_keys_show_and_enter_sends_while_the_model_holds_its_interpreter(tmp_path: Path) -> None:
    with embedded(tmp_path, held=True) as at:
        process = at.loading()
        at.chat.send("half a li")
        at.chat.wait_for("You: half a li", PATIENCE)
        at.chat.send("ne")
        at.chat.wait_for("You: half a line", PATIENCE)
        at.chat.ctrl("c")
        at.chat.wait_for(re.compile(r"You:$", re.MULTILINE), PATIENCE)
        at.chat.mark()
        at.chat.line(LONG)
        at.chat.wait_for("Assistant …", PATIENCE, output=True)
        at.chat.send("typed ahead\r")
        at.go_on()
        at.chat.wait_for("said: typed ahead", PATIENCE, output=True)
        at.chat.wait_for(
            re.compile(r"said: typed ahead.*Time:.*You:", re.DOTALL), PATIENCE, output=True
        )
        leave(at)
        assert at.processes == [process]
        assert gone(process)
    assert asked(tmp_path) == [LONG, "typed ahead"]


def test_keys_show_while_the_process_is_stopped(tmp_path: Path) -> None:
    with embedded(tmp_path) as at:
        process = at.loading()
        at.ask("hello")
        os.kill(process, signal.SIGSTOP)
        at.chat.send("half a li")
        at.chat.wait_for("You: half a li", PATIENCE)
        at.chat.send("ne\r")
        at.chat.wait_for("Assistant …", PATIENCE)
        at.chat.mark()
        at.chat.ctrl("c")
        at.chat.wait_for("Interrupted", PATIENCE, output=True)
        os.kill(process, signal.SIGCONT)
        at.ask("are you there?", re.compile(r"are you there\?\r\n.*Time:.*You:", re.DOTALL))
        leave(at)
    assert asked(tmp_path) == ["hello", "half a line", "are you there?"]


def test_ctrl_c_keeps_what_came_and_the_model_stays_loaded(tmp_path: Path) -> None:
    with embedded(tmp_path) as at:
        at.ask("stall", "said: stall")
        at.chat.mark()
        at.chat.ctrl("c")
        at.chat.wait_for(re.compile(r"Interrupted.*You:", re.DOTALL), PATIENCE, output=True)
        at.ask("hello")
        assert len(at.processes) == 1
        leave(at)
    first, second = (exchange.reply for exchange in exchanges(tmp_path))
    assert first
    assert second
    assert (first.text, first.stop) == ("You said: stall", "interrupted")
    assert (second.text, second.stop) == ("You said: hello", "end")


def test_a_process_that_crashes_is_one_error_and_the_next_question_has_a_new_one(
    tmp_path: Path,
) -> None:
    with embedded(tmp_path) as at:
        at.ask("crash", re.compile(r"ended unexpectedly \(signal 9\).*You:", re.DOTALL))
        shown = " ".join(at.chat.text().split())
        assert shown.count("The embedded model's process ended unexpectedly (signal 9).") == 1
        assert "The next question starts it again." in shown
        assert "Signal 4: embedded models need AVX2, which this processor lacks." in shown
        at.ask("hello", "said: hello")
        assert len(set(at.processes)) == 2
        leave(at)
        assert all(map(gone, at.processes))
    assert asked(tmp_path) == ["crash", "hello"]


def test_what_the_runtime_prints_is_not_shown(tmp_path: Path) -> None:
    with embedded(tmp_path) as at:
        at.ask("hello")
        leave(at)
        assert b"NOISE" not in at.chat.raw


def at_the_prompt(at: Embedded) -> None:
    at.ask("hello")


def in_a_reply(at: Embedded) -> None:
    at.ask("stall", "said: stall")


def while_it_loads(at: Embedded) -> None:
    assert (at.folder / "hold").exists()


PHASES = [at_the_prompt, in_a_reply, while_it_loads]
ENDS: dict[str, Callable[[PtyChat], object]] = {
    "exit": lambda chat: chat.send("\x03\x03\x04"),
    "terminated": lambda chat: os.kill(chat._child.pid or 0, signal.SIGTERM),
    "hung up": lambda chat: chat.hang_up(),
    "killed": lambda chat: os.kill(chat._child.pid or 0, signal.SIGKILL),
}


@pytest.mark.slow
@pytest.mark.parametrize("end", ENDS)
@pytest.mark.parametrize("phase", PHASES, ids=[phase.__name__ for phase in PHASES])
def test_no_process_is_left(tmp_path: Path, phase: Callable[[Embedded], None], end: str) -> None:
    with embedded(tmp_path, held=phase is while_it_loads) as at:
        process = at.loading()
        phase(at)
        assert runs(process)
        ENDS[end](at.chat)
        at.chat.ended(PATIENCE)
        if phase is while_it_loads and end == "killed":
            at.go_on()  # only after loading can it notice that the chat has ended
        assert gone(process)
