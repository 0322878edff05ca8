"""The first instants of a chat: signals end it in silence, with the terminal restored, and keys
that are typed before the editor is loaded show at once, and mean what they mean later.
"""

from __future__ import annotations

import os
import re
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.support.environments import environment
from tests.support.pty_chat import PtyChat
from tests.support.terminal_chat import PATIENCE, WHEN_TOLD, settings

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform == "win32", reason="signals and pseudo-terminals of POSIX"),
]

AIMED = """
import os, signal, sys

def wait(frame, event, argument):
    if event == "return" and frame.f_code.co_name == "end_on_signals":
        sys.setprofile(aim)

def aim(frame, event, argument):
    if event == "call" and frame.f_code.co_qualname in (sys.argv[2], "Composer.read"):
        sys.setprofile(None)
        os.kill(os.getpid(), int(sys.argv[1]))

sys.setprofile(wait)
from chat_loop.cli import main
sys.exit(main(["--model", "scripted:echo"]))
"""
"""A chat that sends itself a signal when a function is called after the prompt was drawn, at the
latest when it reads.
"""

PLACES = (
    "_get_module_lock.<locals>.cb",  # a callback of an import, where an exception goes nowhere
    "BaseEventLoop.__init__",
    "BaseSelectorEventLoop._make_self_pipe",
    "Interactive.__init__",
    "Interactive.run",
    "Composer.start",
)


@pytest.mark.parametrize(
    ("place", "number"),
    [*((place, signal.SIGTERM) for place in PLACES), (PLACES[1], signal.SIGHUP)],
)
def test_a_signal_in_the_first_instants(place: str, number: signal.Signals, tmp_path: Path) -> None:
    command = ["/bin/sh", "-c", WHEN_TOLD, "sh", sys.executable, "-c", AIMED, f"{number:d}", place]
    with PtyChat(command, env=environment(tmp_path)) as chat:
        before = settings(chat)
        chat.line("")
        assert chat.exit_code(PATIENCE) == 128 + number
        shown = chat.raw.decode()
        assert "Exception ignored" not in shown
        assert "Traceback" not in shown
        assert "never awaited" not in shown
        assert settings(chat) == before


HELD = """
import sys

class Hold:
    def find_spec(self, name, path=None, target=None):
        if name == "prompt_toolkit":
            with open(sys.argv[1]) as told:
                exec(told.read())

sys.meta_path.insert(0, Hold())
from chat_loop.cli import main
sys.exit(main(["--model", "scripted:echo"]))
"""
"""A chat that does what it is told, through a FIFO, before its editor is loaded."""


@contextmanager
def held(home: Path, cols: int = 80) -> Iterator[PtyChat]:
    """Yield a chat at its prompt, before its editor is loaded."""
    os.mkfifo(home / "told")
    words = [sys.executable, "-c", HELD, str(home / "told")]
    command = ["/bin/sh", "-c", WHEN_TOLD, "sh", *words]
    with PtyChat(command, env=environment(home), cols=cols) as chat:
        before = settings(chat)
        chat.line("")
        chat.wait_for("You:", PATIENCE)
        yield chat
        assert chat.exit_code(PATIENCE) in (0, 1, 128 + signal.SIGTERM)
        assert settings(chat) == before
        modes = re.findall(r"\x1b\[\?2004[hl]", chat.raw.decode())
        assert modes[-1].endswith("l"), "pastes are not marked any more"


def load(home: Path, orders: str = "") -> None:
    (home / "told").write_text(orders)


def leave(chat: PtyChat) -> None:
    chat.wait_for(re.compile("You: .*context", re.DOTALL), PATIENCE)
    chat.ctrl("c")
    chat.ctrl("d")


@pytest.mark.parametrize(
    ("typed", "echo", "line"),
    [
        ("helxo\x7f\x7flo", "You: hello", "You: hello"),
        ("one\rtwo", "You: one", "You: two"),
        ("abc\x03xyz", "You: abc", "You: xyz"),
        ("ab\x1b[Dc", "You: ab", "You: acb"),
        ("\x1b[200~a\nb\x1b[201~!", "You:", "You: a"),
        ("日本語 ok\x7f", "You: 日本語 o", "You: 日本語 o"),
    ],
)
def test_keys_before_the_editor(typed: str, echo: str, line: str, tmp_path: Path) -> None:
    with held(tmp_path) as chat:
        chat.send(typed)
        chat.wait_for(re.compile(f"^{echo}$", re.MULTILINE), PATIENCE)
        load(tmp_path)
        chat.wait_for("context", PATIENCE)
        chat.wait_for(re.compile(rf"{line}[^│]*context", re.DOTALL), PATIENCE)
        if "\r" in typed:
            chat.wait_for("You said: one", PATIENCE)
        shown = "\n".join(chat.screen())
        assert shown.count(echo) == 1 or echo not in line
        if "200~" in typed:
            chat.line("")
            chat.wait_for(re.compile("You said: a.*b!", re.DOTALL), PATIENCE)
        leave(chat)


def test_the_echo_of_parts_and_of_a_line_that_does_not_fit(tmp_path: Path) -> None:
    with held(tmp_path, cols=40) as chat:
        for part, echo in ((b"a\xd0", "a"), (b"\x96b\xe6\x97", "aЖb"), (b"\xa5", "aЖb日")):
            os.write(chat._child.fileno(), part)
            chat.wait_for(f"You: {echo}", PATIENCE)
        chat.send("x" * 50)
        chat.wait_for(re.compile("日x{20}"), PATIENCE)
        chat.resize(24, 20)
        load(tmp_path)
        chat.line("")
        chat.wait_for(re.compile("said: aЖb日x"), PATIENCE)
        assert chat.text().count("You: aЖb") == 1
        chat.ctrl("d")


def test_ctrl_d_before_the_editor_leaves(tmp_path: Path) -> None:
    with held(tmp_path) as chat:
        chat.ctrl("d")
        load(tmp_path)


@pytest.mark.parametrize("order", ["", "raise MemoryError", "raise ImportError('broken')"])
def test_the_terminal_is_given_back_before_the_editor(order: str, tmp_path: Path) -> None:
    with held(tmp_path) as chat:
        chat.send("typed")
        chat.wait_for("You: typed", PATIENCE)
        if order:
            load(tmp_path, order)
            chat.wait_for("No memory is left" if "Memory" in order else "broken", PATIENCE)
            assert "typed" not in "\n".join(chat.screen())
        else:
            os.kill(chat.pid, signal.SIGTERM)
