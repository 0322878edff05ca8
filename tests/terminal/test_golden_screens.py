"""A whole conversation in a terminal, as the screen shows it at the end."""

from __future__ import annotations

import asyncio
import functools
import os
import re
import sys
import time
from datetime import UTC, datetime
from pathlib import Path

import pytest

from benchmarks.support.loopback import Loopback, Reply
from chat_loop.values import Usage
from tests.support.environments import environment
from tests.support.headless import WAITS
from tests.support.mcp_descriptions import until
from tests.support.pty_chat import PtyChat

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform == "win32", reason="pseudo-terminals of POSIX"),
]

PATIENCE = 60
TALKS = Path(__file__).parents[1] / "golden" / "screens"
REPLY = """\
# Token buckets 漢字

A **bucket** holds *tokens*; `take()` asks for one. 日本語の文章はこのように折り返されます。

| Name | Rate | 説明 |
|---|--:|---|
| small | 10 | 少ない |
| large | 100,000 | a long description that needs more room |

1. First
2. Second
   - nested
     - deeper
- [x] done

> A quote of some words that may be longer than the line.

```python
def take(n: int = 1) -> bool:  # 👍🏽
    return n <= left
```

See [the paper](https://example.org/a/very/long/path/that/does/not/fit/into/twenty/columns).
"""
TYPED = (
    "/context",
    "/stats",
    "/rename Buckets",
    "/pin Never block.",
    "/pin",
    "/help compact",
    "/no",
    "/compact",
)
LATER = ("What was that?", "/sessions", "/resume 1", "/tree")
BEGINNING = ("/compact", "/resume 1")
"""Lines that begin a session. Each waits for a new second, since the ids of two sessions that begin
in the same second differ in length.
"""
MODES: dict[str, dict[str, str]] = {
    "dark": {},
    "light": {},
    "plain": {"NO_COLOR": "1"},
    "dumb": {"TERM": "dumb"},
}
COLOR = re.compile(r"\x1b\[[0-9;]*(3[0-7]|38;[0-9;]+|9[0-7])m")
STANDING = (
    "assistant_20261122_120000",
    "today 12:00",
    "22, 12:00",
    "Time: 0.0s",
    "200 tokens: the summary",
    "→ 300 tokens",
    "400 tokens) · Hello",
)
"""Texts whose digits differ from run to run. A token count is an estimate, or exact, depending on
whether the encoding has been loaded.
"""


def steady(text: str) -> str:
    """Return the text with fixed digits where runs differ, even across line breaks."""
    text = re.sub(r"[A-Z][a-z]{2}(?=\s[0-9]{2},\s[0-9]{2}:[0-9]{2})", "Nov", text)
    text = re.sub(
        r"((?:System prompt|This session \(1\))\s+)([0-9,]+)",
        lambda found: found[1] + re.sub("[0-9]", "1", found[2]),  # an estimate, or exact
        text,
    )
    # A busy machine takes ten seconds for a reply, and two minutes up to the list of sessions.
    text = re.sub(r"Time: [0-9]+\.", "Time: 0.", text)
    text = re.sub(r"(?<= )(?: [0-9]|[0-9]{2})m(?=  |$)", "now", text, flags=re.MULTILINE)
    for standing in STANDING:
        parts = [
            r"[0-9]" if sign.isdigit() else r"\s+" if sign == " " else re.escape(sign)
            for sign in standing
        ]
        pattern = r"(\n?)".join(f"({part})" for part in parts)
        text = re.sub(pattern, functools.partial(_instead, standing), text)
    return text


def _instead(standing: str, found: re.Match[str]) -> str:
    """Return the text found, with the digits of `standing`. Every second group is a line break."""
    signs = [sign for pair in zip(standing, [""] * len(standing), strict=True) for sign in pair]
    return "".join(
        sign if group.isdigit() else group
        for sign, group in zip(signs, found.groups(), strict=False)
    )


def noon() -> str:
    """Return a time zone in which it is noon, so that the day does not change during a test."""
    return f"XXX{datetime.now(UTC).hour - 12}"  # POSIX wants a name of three letters


def _another_second() -> None:
    begun = int(time.time())
    asyncio.run(until(lambda: int(time.time()) > begun))


def entered(terminal: PtyChat, line: str, *, dumb: bool) -> None:
    """Type a line, then Enter; wait until the prompt is back."""
    terminal.mark()
    if dumb:
        terminal.line(line)
        terminal.wait_for(re.compile(r"You: $"), PATIENCE, output=True)
        return
    terminal.send(line)
    terminal.wait_for(line[-1:], PATIENCE, output=True)
    terminal.send("\r")
    styles = r"(?:\x1b\[[0-9;]*m)*"
    blank = rf"(?: |{styles}\r\n +{styles})"  # long lines wrap
    words = blank.join(map(re.escape, line.split(" ")))
    entered = re.compile(rf"You: {styles}{words}{styles}\r\n")
    terminal.wait_for(entered, PATIENCE, output=True)
    terminal.wait_for(re.compile(r"^You:$", re.MULTILINE), PATIENCE)


def talk(home: Path, cols: int, mode: str) -> PtyChat:
    """Have the whole conversation; return the terminal after its end."""
    dumb = mode == "dumb"
    (home / "config.yaml").write_text(
        f"display: {{theme: {mode if mode in ('dark', 'light') else 'auto'}}}\n{WAITS}"
    )
    (home / "sessions").mkdir()  # the greeting names the folder, and the length of that name varies
    with Loopback() as server:
        keys = {"ANTHROPIC_API_KEY": "sk-test", "ANTHROPIC_BASE_URL": server.url}
        env = environment(home, TZ=noon(), **keys, **MODES[mode])
        command = [sys.executable, "-m", "chat_loop", "--model", "anthropic:claude-test"]
        with PtyChat(command, env=env, cols=cols, rows=24) as terminal:
            prompt = r"You:.*context" if cols >= 40 and not dumb else "You:"
            terminal.wait_for(re.compile(prompt, re.DOTALL), PATIENCE)
            entered(terminal, "Hello", dumb=dumb)
            _another_second()
            entered(terminal, "/clear", dumb=dumb)
            pieces = tuple(REPLY[start : start + 7] for start in range(0, len(REPLY), 7))
            server.enqueue(Reply(chunks=pieces, usage=Usage(input=900, output=210)))
            entered(terminal, "Explain the bucket, please", dumb=dumb)
            for line in (*TYPED, *LATER):
                if line in BEGINNING:
                    _another_second()
                entered(terminal, line, dumb=dumb)
            terminal.send("exit")
            terminal.send("\r")
            assert terminal.exit_code(PATIENCE) == 0
            terminal.text()
            return terminal


@pytest.mark.parametrize("cols", [20, 80, pytest.param(200, marks=pytest.mark.nightly)])
def test_a_whole_conversation(tmp_path: Path, cols: int) -> None:
    shown = steady(talk(tmp_path, cols, "dark").text())
    golden = TALKS / f"{cols}.txt"
    if os.environ.get("CHAT_LOOP_WRITE_GOLDEN"):
        golden.parent.mkdir(exist_ok=True)
        golden.write_text(shown)
    assert shown == golden.read_text()


@pytest.mark.parametrize("mode", ["light", "plain"])
def test_colors_change_nothing_else(tmp_path: Path, mode: str) -> None:
    terminal = talk(tmp_path, 80, mode)
    assert steady(terminal.text()) == (TALKS / "80.txt").read_text()
    assert bool(COLOR.search(terminal.raw.decode())) == (mode == "light")


def test_a_dumb_terminal_is_sent_no_sequence(tmp_path: Path) -> None:
    terminal = talk(tmp_path, 80, "dumb")
    golden = TALKS / "dumb.txt"
    if os.environ.get("CHAT_LOOP_WRITE_GOLDEN"):
        golden.write_text(steady(terminal.text()))
    assert steady(terminal.text()) == golden.read_text()
    assert b"\x1b" not in terminal.raw
