"""Ten screens of a chat, as pictures: `python -m tests.support.screen_pictures` writes them into
`docs/screens/`.

Each picture shows one moment of the same conversation four times: in 80 and in 40 columns, in a dark
and a light terminal, and without color. A server on this machine plays the model. A picture is only
written when each of its screens has the words that it must have.
"""

from __future__ import annotations

import json
import re
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from html import escape
from pathlib import Path

import pyte

from benchmarks.support.loopback import Loopback, Received, Reply
from chat_loop.values import ToolCall, Usage
from tests.support.pty_chat import PtyChat
from tests.support.svg import COLORS, FONT, HEIGHT, MARGIN, WIDTH, lines_of, runs, shown

FOLDER = Path(__file__).parents[2] / "docs" / "screens"
ROWS = 30
COLUMNS = (80, 40)
GAP, CAPTION = 24.0, 22.0
"""Pixels between two screens, and above each for its caption."""
AT_PROMPT = re.compile(r"^You:(?: Type a message.*)?\n.*context", re.MULTILINE)
"""The input line is empty, and the status is below it."""
WORDS = {
    "1-start": "You:",
    "2-menu": "/compact",
    "3-reply": "token bucket",
    "4-command": "/run",
    "5-approval": "pytest -q",
    "6-queue": "And in Go?",
    "7-compaction": "compact",
    "8-return": "Ten per second",
    "9-sessions": "Which oil",
    "10-browser": "Which oil",
}
"""The pictures, with words that must be on each of their screens."""
LIMITS = """\
A **token bucket** is refilled steadily; see [RFC 2698](https://www.rfc-editor.org/rfc/rfc2698).

| way | largest burst |
|---|---:|
| fixed window | twice the limit |
| token bucket | its size |

> Bursts are normal here: take the bucket.

```python
def take(bucket, now):
    bucket.level += (now - bucket.at) * bucket.rate
    return bucket.level >= 1  # a token is left
```"""
QUEUED = ("And in Go?", "Then in Rust")
STORY = (
    "The harbor limits what each boat may ask of its berths, so that one of them cannot keep the "
    "others out. "
)
OTHERS = ("Which oil for the deck?", "Name the new boat")
TOPIC = "How to limit the berth API"
SUMMARY = f"""\
**Background Context:** Initial session.

**Current Session Summary:**
**Topics Discussed:**
- {TOPIC} [1.1]

**Decisions Made:**
- The limit is ten per second for each boat [1.4]

**Pending:**
- A load test before the regatta [1.3]"""
TALK = {
    "Limit the berth API: how?": LIMITS,
    "Run the tests": "",
    "Write the limiter": STORY * 3,
    "Tell me everything about limits": STORY * 60,
    "The limit is ten per second": "Noted. Ten per second for each boat.",
}
Screens = dict[str, tuple[bytes, int]]
"""What a terminal had received at each picture, and its columns."""
Keep = Callable[[str, PtyChat], None]
"""A function that keeps the screen of a program as the picture of a name."""


def played(request: Received) -> Reply:
    """Answer with the talk above."""
    if request.system.startswith("Task: session summary"):
        others = [line for line in OTHERS if line in request.query]
        summary = SUMMARY
        if others:
            summary = SUMMARY.replace(TOPIC, others[0].rstrip("?"))
        return Reply(chunks=(summary,), usage=Usage(input=4_000, output=90))
    said = request.texts[-1] if request.texts else ""
    query = next((query for query in TALK if query in said[-300:]), "")
    if query == "Run the tests":
        call = ToolCall("t1", "run_command", json.dumps({"command": "pytest -q tests/limits"}))
        return Reply(chunks=("I run them. ",), calls=(call,))
    text = TALK.get(query, "All clear.")
    words = re.findall(r"\S+\s*", text)
    size = sum(map(len, (request.system, *request.texts))) // 4
    return Reply(
        chunks=tuple(words),
        usage=Usage(input=size, output=len(words)),
        stall_after=20 if query == "Write the limiter" else None,
    )


@contextmanager
def chat(home: Path, url: str, cols: int, color: bool, *more: str) -> Iterator[PtyChat]:
    """Yield the program in a terminal, with its own home."""
    environment = {
        "CHAT_LOOP_HOME": str(home / "own"),
        "HOME": str(home),
        "LANG": "C.UTF-8",
        "TERM": "xterm-256color",
        "ANTHROPIC_API_KEY": "k",
        "ANTHROPIC_BASE_URL": url,
        "PATH": "/usr/bin:/bin",
    }
    if not color:
        environment["NO_COLOR"] = "1"
    command = [sys.executable, "-m", "chat_loop", "--model", "anthropic:berths-1", *more]
    with PtyChat(command, env=environment, rows=ROWS, cols=cols, cwd=home / "harbor") as program:
        yield program


def typed(program: PtyChat, text: str) -> None:
    """Type `text`, and wait until it shows."""
    program.send(text)
    program.wait_for(text[-12:])


def said(program: PtyChat, text: str) -> None:
    """Send a line, and wait until its reply has ended."""
    typed(program, text)
    program.mark()
    program.send("\r")
    program.wait_for(re.compile(r"Time: \d"), output=True)
    program.wait_for(AT_PROMPT)


def left(program: PtyChat) -> None:
    program.ctrl("d")
    program.exit_code()


def talk(program: PtyChat, keep: Keep, server: Loopback) -> None:
    """Type, ask, run a command, be asked, and queue messages."""
    program.wait_for("context")
    keep("1-start", program)
    program.send("/")
    program.wait_for("/compact")
    keep("2-menu", program)
    program.ctrl("u")
    program.wait_for(AT_PROMPT)
    said(program, "Limit the berth API: how?")
    keep("3-reply", program)
    program.mark()
    program.line("!seq 20")
    program.wait_for("/run", output=True)
    program.wait_for(AT_PROMPT)
    keep("4-command", program)
    program.line("Run the tests")
    program.wait_for("[y]es")
    keep("5-approval", program)
    program.mark()
    program.send("n\r")
    program.wait_for(re.compile(r"Time: \d"), output=True)
    program.wait_for(AT_PROMPT)
    for line, shows in (("Write the limiter", "The harbor"), *((line, line) for line in QUEUED)):
        program.line(line)
        program.wait_for(shows)
    keep("6-queue", program)
    program.mark()
    server.release()
    program.wait_for(re.compile(r"(Time: \d.*){3}", re.DOTALL), output=True)
    program.wait_for(AT_PROMPT)


def screens_of(home: Path, server: Loopback, cols: int, color: bool) -> Screens:
    """Have the conversation in a terminal of `cols` columns."""
    (home / "harbor").mkdir(parents=True)
    (home / "own").mkdir()
    (home / "own" / "config.yaml").write_text("models: {berths-1: {window: 16000}}\n")
    kept: Screens = {}

    def keep(name: str, program: PtyChat) -> None:
        text = "\n".join(program.screen())
        assert WORDS[name] in text, f"{name} has no {WORDS[name]!r}:\n{text}"
        kept[name] = bytes(program.raw), cols

    for line in OTHERS:
        with chat(home, server.url, cols, color) as other:
            other.wait_for("context")
            said(other, line)
            left(other)
    with chat(home, server.url, cols, color, "--new-session", "--tools", "run_command") as first:
        talk(first, keep, server)
        said(first, "Tell me everything about limits")
        said(first, "The limit is ten per second")
        said(first, "/compact")
        keep("7-compaction", first)
        left(first)
    with chat(home, server.url, cols, color, "-c") as second:
        second.wait_for(WORDS["8-return"])
        second.wait_for(AT_PROMPT)
        keep("8-return", second)
        second.mark()
        second.line("sessions")
        second.wait_for(WORDS["9-sessions"], output=True)
        second.wait_for(AT_PROMPT)
        keep("9-sessions", second)
        left(second)
    with chat(home, server.url, cols, color, "sessions", "browse") as third:
        third.wait_for(WORDS["10-browser"])
        third.wait_for("Topics:")  # of the preview
        keep("10-browser", third)
        third.send("q")
        third.exit_code()
    return kept


def used_lines(screen: pyte.Screen) -> int:
    """Return the number of lines up to the last one that is not empty."""
    filled = [row for row, line in enumerate(screen.display) if line.strip()]
    return max(filled, default=0) + 1


def panel(screen: pyte.Screen, left: float, top: float, theme: str, caption: str) -> list[str]:
    """Return the elements of one screen, drawn in the colors of a theme."""
    width = screen.columns * WIDTH + 2 * MARGIN
    height = used_lines(screen) * HEIGHT + 2 * MARGIN
    box = f'x="{left:.0f}" y="{top:.0f}" width="{width:.0f}" height="{height:.0f}"'
    parts = [
        f'<text x="{left:.0f}" y="{top - 7:.0f}" class="caption">{escape(caption)}</text>',
        f'<g class="{theme}">',
        f'<rect class="paper" rx="8" {box}/>',
    ]
    for row, line in enumerate(lines_of(screen)[: used_lines(screen)]):
        parts += runs(line, top + MARGIN + row * HEIGHT, left + MARGIN)
    return [*parts, "</g>"]


def picture(name: str, colored: Sequence[Screens], plain: Sequence[Screens]) -> str:
    """Return one picture of all screens of one moment."""
    parts: list[str] = []
    top = CAPTION
    right = 0.0
    rows = (("dark", colored, "dark"), ("light", colored, "light"), ("light", plain, "no color"))
    for theme, runs_of_it, caption in rows:
        left = 0.0
        height = 0.0
        for run in runs_of_it:
            raw, cols = run[name]
            screen = shown(raw, cols, ROWS)
            parts += panel(screen, left, top, theme, f"{cols} columns, {caption}")
            left += cols * WIDTH + 2 * MARGIN + GAP
            height = max(height, used_lines(screen) * HEIGHT + 2 * MARGIN)
        right = max(right, left - GAP)
        top += height + GAP + CAPTION
    rules = [
        f".{theme} .{color}{{fill:{inks[column]}}}"
        for column, theme in enumerate(("light", "dark"))
        for color, inks in COLORS.items()
    ]
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {right:.0f} {top - GAP:.0f}" '
        f'width="{right:.0f}" role="img" aria-label="chat-loop: {name.partition("-")[2]}">\n'
        f"<style>.caption{{fill:#808080;font-size:13px}}{''.join(rules)}</style>\n"
        f'<g font-family="{FONT}" font-size="14">\n' + "\n".join(parts) + "\n</g>\n</svg>\n"
    )


def pictures() -> Mapping[str, str]:
    """Return the pictures by name."""
    runs_by_color: dict[bool, list[Screens]] = {}
    with Loopback(played) as server, tempfile.TemporaryDirectory() as folder:
        for color in (True, False):
            runs_by_color[color] = [
                screens_of(Path(folder) / f"{color}-{cols}", server, cols, color)
                for cols in COLUMNS
            ]
    return {name: picture(name, runs_by_color[True], runs_by_color[False]) for name in WORDS}


def main() -> None:
    """Write the pictures."""
    FOLDER.mkdir(exist_ok=True)
    for name, text in pictures().items():
        (FOLDER / f"{name}.svg").write_text(text)


if __name__ == "__main__":
    main()
