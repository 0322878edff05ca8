"""The screen while a reply streams and the user types, in a pty and in tmux."""

from __future__ import annotations

import asyncio
import itertools
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

import pytest

from benchmarks.support.loopback import Loopback, Received, Reply
from chat_loop.values import Usage
from tests.support.mcp_descriptions import until
from tests.support.pty_chat import PtyChat


class TmuxChat:
    """A separate tmux server with one window, in which `argv` runs with exactly `env`."""

    def __init__(
        self, folder: Path, argv: Sequence[str], env: Mapping[str, str], *, cols: int, rows: int
    ) -> None:
        settings = folder / "tmux.conf"
        settings.write_text("set -g status off\nset -g escape-time 0\n")
        self._server = ("tmux", "-u", "-S", str(folder / "tmux"), "-f", str(settings))
        variables = [
            f"{name}={value}" for name, value in ({"TERM": "screen-256color"} | {**env}).items()
        ]
        size = ("-x", str(cols), "-y", str(rows))
        self._tmux("new-session", "-d", *size, "env", "-i", *variables, *argv)

    def _tmux(self, *arguments: str) -> str:
        done = subprocess.run(
            [*self._server, *arguments], capture_output=True, text=True, check=True
        )
        return done.stdout

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        # The server has ended by itself if the program has.
        subprocess.run([*self._server, "kill-server"], capture_output=True, check=False)

    def send(self, text: str) -> None:
        """Type `text` unchanged; a carriage return is Enter."""
        for part in re.split(r"(\r)", text):
            if part:
                self._tmux("send-keys", *(("Enter",) if part == "\r" else ("-l", part)))

    def resize(self, rows: int, cols: int) -> None:
        """Give the window another size; tmux wraps what is drawn, and tells the program later."""
        self._tmux("resize-window", "-x", str(cols), "-y", str(rows))

    def screen(self) -> list[str]:
        """Return the visible lines, without trailing blanks."""
        return [line.rstrip() for line in self._tmux("capture-pane", "-p").split("\n")]

    def text(self) -> str:
        """Return the lines that have scrolled off the top and the visible ones."""
        return self._tmux("capture-pane", "-p", "-S", "-")

    def wait_for(self, what: str | re.Pattern[str]) -> None:
        """Wait until the screen contains `what`."""
        pattern = re.compile(re.escape(what)) if isinstance(what, str) else what
        asyncio.run(until(lambda: pattern.search("\n".join(self.screen())) is not None))


pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform == "win32", reason="pseudo-terminals of POSIX"),
]

GOLDEN = Path(__file__).parents[1] / "golden" / "screens"
ARGV = [sys.executable, "-m", "chat_loop", "--model", "anthropic:claude-test"]
REPLY = (
    "A **bucket** holds tokens.\n\nEvery request takes one of them, ",
    "and they come back steadily.\n",
)
NARROWER = (60, 41, 90, 33)
"""Columns of a window of 100. The rows of its frame, when wrapped, are still fewer than the window's:
tmux keeps the others in its history.
"""
LONG_REPLY = """\
## head{0}

WORDS

- itmA{0} itmB{0}
  - itmC{0}

| colA{0} | colB{0} |
|---|---|
| celA{0} | celB{0} |

```
codA{0} codB{0}
```

end_{0}
"""
SECONDS = re.compile(r"[0-9]+(\.[0-9])? ?s\b")
PAUSE = re.compile(r"\nAssistant …[^\n]*")
"""Both match text that differs from run to run: a slow machine shows that the reply pauses."""


def screens(terminal: PtyChat | TmuxChat, server: Loopback, status: str) -> str:
    """Type during a reply; return the screens with a draft, with a queued message, and at the end,
    when the prompt is above the `status` line. Each is complete: its last line is there.
    """
    below = r"\n.*claude-test · Explain it" if status else ""
    terminal.wait_for(re.compile(r"^You:", re.MULTILINE))
    server.enqueue(Reply(chunks=REPLY, usage=Usage(input=900, output=30), stall_after=1))
    server.enqueue(Reply(chunks=("Until it is full.",), usage=Usage(input=950, output=9)))
    terminal.send("Explain it\r")
    server.stalled()
    terminal.wait_for("holds tokens")
    terminal.send("For how long?")
    terminal.wait_for(re.compile(rf"how\s+long\?{below}"))
    shown = [terminal.screen()]
    terminal.send("\r")
    terminal.wait_for(re.compile(rf"→ For how long\?\nYou…{below}$", re.MULTILINE))
    shown.append(terminal.screen())
    server.release()
    terminal.wait_for(re.compile(rf"full\..*^You:$.*{status}", re.MULTILINE | re.DOTALL))
    shown.append(terminal.screen())
    terminal.send("exit\r")
    texts = (PAUSE.sub("", "\n".join(lines).rstrip()) for lines in shown)
    return SECONDS.sub("1 s", "\n=====\n".join(texts)) + "\n"


@pytest.mark.parametrize("program", ["pty", "tmux"])
@pytest.mark.parametrize("cols", [20, 80, 200])
def test_typing_during_a_reply(tmp_path: Path, cols: int, program: str) -> None:
    status = "" if cols == 20 else "Explain it"  # a narrow terminal has no status line
    with Loopback() as server:
        env = _environment(tmp_path, server)
        if program == "pty":
            with PtyChat(ARGV, env, rows=24, cols=cols, forked=True) as terminal:
                shown = screens(terminal, server, status)
        else:
            _require_tmux()
            with TmuxChat(tmp_path, ARGV, env, rows=24, cols=cols) as window:
                shown = screens(window, server, status)
    golden = GOLDEN / f"typing-{cols}.txt"
    if os.environ.get("CHAT_LOOP_WRITE_GOLDEN") and program == "pty":
        golden.write_text(shown)
    assert shown == golden.read_text()


def test_a_draft_as_high_as_the_screen_leaves_nothing_in_the_scrollback(tmp_path: Path) -> None:
    _require_tmux()
    drafts = [f"draft {number}" for number in range(10)]
    with Loopback() as server:
        server.enqueue(Reply(chunks=("It holds ", "tokens.\n\nThey ", "come back."), stall_after=1))
        env = _environment(tmp_path, server)
        with TmuxChat(tmp_path, ARGV, env, rows=12, cols=80) as window:
            window.wait_for(re.compile(r"^You:", re.MULTILINE))
            window.send("Explain it\r")
            server.stalled()
            window.wait_for("It holds")
            window.send("\n".join(drafts))
            window.wait_for(drafts[-1])
            server.release()
            window.wait_for(re.compile(r"^You: draft 0$", re.MULTILINE))
            window.wait_for("Explain it")
            history = window.text()
            assert [history.count(draft) for draft in drafts] == [1] * len(drafts)
            assert history.count("It holds") == 1


@pytest.mark.parametrize(
    ("program", "words", "most_copies"),
    [("pty", "abcde", 0), ("tmux", "abcdefghijklmnopqrst", 4)],
)
def test_a_resize_at_each_instant_of_a_reply_loses_no_word_and_copies_none(
    tmp_path: Path, program: str, words: str, most_copies: int
) -> None:
    """tmux wraps long lines; the emulator of the pty would cut them off. tmux may also take its new
    size between two writes of the program, which no program can know: a row may then stay.
    """
    reply = LONG_REPLY.replace("WORDS", " ".join(f"par{word}{{0}}" for word in words))

    def pieces(number: str) -> tuple[str, ...]:
        return tuple(re.findall(r"[\s\S]{1,24}", reply.format(number)))

    def answer(request: Received) -> Reply:
        number = request.query[:3]
        return Reply(chunks=pieces(number), stall_after=int(number))

    widths = itertools.cycle(NARROWER)
    instants = [f"{number:03}" for number in range(len(pieces("000")))]
    with Loopback(answer) as server:
        env = _environment(tmp_path, server) | {"TMUX": str(tmp_path)}
        with _window(program, tmp_path, env) as window:
            window.wait_for(re.compile(r"^You:", re.MULTILINE))
            window.send("000 said\r")
            for number, after in itertools.zip_longest(instants, instants[1:]):
                server.stalled(int(number))
                window.resize(24, next(widths))
                if after:
                    window.send(f"{after} said and typed as long as a row\r")
                window.resize(24, next(widths))  # before the program hears of the first
                server.release()
            window.wait_for(re.compile(rf"end_{number}\n.*^You:", re.DOTALL | re.MULTILINE))
            shown = "".join(window.text().split())
    found = [word.format(number) for word in re.findall(r"\w+\{0}", reply) for number in instants]
    found += [f"{number}said" for number in instants]
    counts = {word: shown.count(word) for word in found}
    assert [word for word, count in counts.items() if not count] == []
    copied = {word: count for word, count in counts.items() if count > 1}
    assert len(copied) <= most_copies, copied


def _window(program: str, folder: Path, env: dict[str, str]) -> PtyChat | TmuxChat:
    if program == "pty":
        return PtyChat(ARGV, env, rows=24, cols=100, forked=True)
    _require_tmux()
    return TmuxChat(folder, ARGV, env, rows=24, cols=100)


def _environment(home: Path, server: Loopback) -> dict[str, str]:
    (home / "sessions").mkdir()  # the greeting names the folder, and the length of that name varies
    return {
        "CHAT_LOOP_HOME": str(home),
        "HOME": str(home),
        "PATH": "/usr/bin:/bin",
        "LANG": "C.UTF-8",
        "TZ": "UTC",
        "ANTHROPIC_API_KEY": "sk-test",
        "ANTHROPIC_BASE_URL": server.url,
    }


def _require_tmux() -> None:
    """Skip the test without tmux; fail instead when CI_REQUIRE_SHELLS is 1."""
    if shutil.which("tmux") is None:
        if os.environ.get("CI_REQUIRE_SHELLS") == "1":
            pytest.fail("tmux is not installed")
        pytest.skip("tmux is not installed")
