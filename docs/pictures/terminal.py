"""The pictures of the terminal in the documentation: `python -m docs.pictures.terminal` takes them
of real runs.

The long conversation of the tour is compacted and continued; a server on this machine plays the
model. A picture is only written with the words that it must have, and without those of a failure.
"""

from __future__ import annotations

import re
import sys
import tempfile
import tomllib
from collections.abc import Callable
from datetime import datetime
from pathlib import Path

import msgspec

from benchmarks.support.loopback import Loopback, Received, Reply
from chat_loop.subcommands import tour
from chat_loop.subcommands.tour_past import PastExchange, write_past
from chat_loop.tokens import TokenCounter
from chat_loop.values import Usage
from docs.pictures.svg import shown, svg
from tests.support.pty_chat import PtyChat

DOCS = Path(__file__).parents[1]
COLS, ROWS = 92, 32
LARGEST = 60_000
AT_PROMPT = re.compile(r"^You:(?: Type a message.*)?$\n.*context", re.MULTILINE)
"""The input line is empty, and the status is below it."""
WORDS = {
    "terminal-reply": ("Compare the token bucket", "Two ways to limit", "largest burst", "Time:"),
    "terminal-queue": ("Write the limiter", "The level rises", "And in Go?", "Then in Rust"),
    "terminal-compact": (
        "in: 61,",
        "Compacted 61.",
        "decisions",
        "facts kept",
        "What did we decide so far?",
        "first Monday",
        "To port 8443",
    ),
    "terminal-resume": (
        "Found: Assistant",
        "Which port does the API move to?",
        "Decisions: We take the token bucket",
        "Who is called before the pumps are stopped?",
        "extension 204",
    ),
    "terminal-stats": ("Cost of the session", "1 compaction", "61.", "facts kept"),
    "terminal-browser": (
        "Bookings before the regatta",
        "What wood",
        "Write a line",
        "Topics: Who is called",
    ),
}
"""The pictures, each with words that it must have."""
FORBIDDEN = ("Traceback", "Error", "error", "failed", "No command", "not in my script")
CONFIG = """\
models: {berths-1: {window: 100000, input_price: 3, output_price: 15}}
memory: {enabled: false}
"""
SCRIPT = tomllib.loads(Path(tour.__file__).with_suffix(".toml").read_text("utf-8"))
COUNTER = TokenCounter()
REPLIES = {
    "Which boats may lie at berth 17?": "Those of up to 11 meters, because of the crane.",
    "What did we decide so far?": """\
1. A **token bucket** limits each boat to 100 requests per minute, with bursts of 25.
2. The API moves to port 8443; the old proxy keeps 8080 until the spring.
3. Backups are kept for 30 days, and one is restored on the first Monday of each month.
4. Nobody stops the pumps before the harbor office, extension 204, was called.""",
    "Which port does the API move to?": (
        "To port 8443. The old proxy keeps 8080 until the spring [1.5]."
    ),
    "Who is called before the pumps are stopped?": (
        "The harbor office, **extension 204**, before anybody touches the switch [1.10]."
    ),
    "What wood do we take for the kitchen fronts?": (
        "Oak, oiled twice: it can be sanded again where it wears."
    ),
    "Write a line about the sea.": (
        "The sea keeps no minutes of what it was told, and forgets nothing."
    ),
    "Compare the token bucket with a fixed window.": """\
## Two ways to limit

1. A **fixed window** counts requests per minute, and forgets them when the next minute begins:
   - whoever comes at its end and again at the next one's beginning gets *twice* his share.
2. A **token bucket** is refilled steadily; see [RFC 2698](https://www.rfc-editor.org/rfc/rfc2698).

| way | memory per user | largest burst |
|---|---:|---|
| fixed window | 8 bytes | twice the limit |
| token bucket | 16 bytes | the bucket's size |

> Bursts are normal here: take the bucket, and make it as large as the burst that you mean to allow.

```python
def take(bucket: Bucket, now: float) -> bool:
    bucket.level = min(bucket.size, bucket.level + (now - bucket.at) * bucket.rate)
    bucket.at = now  # refilled when somebody looks
    return bucket.level >= 1
```""",
}
CRANE, DECIDED, PORT, PUMPS, WOOD, SEA, COMPARE = REPLIES
WRITE = "Write the limiter."
QUEUED = ("And in Go?", "Then in Rust.")
LIMITER = """\
The level rises with the time that went by, up to the size of the bucket:

```python
def refill(bucket: Bucket, now: float) -> None:
    passed = now - bucket.at
    bucket.level = min(bucket.size, bucket.level + passed * bucket.rate)
    bucket.at = now
```"""
SHORT = """\
**Background Context:** Initial session.

**Current Session Summary:**
**Topics Discussed:**
- {} [1.1]

**Decisions Made:**
- none

**Pending:**
- none"""
Chat = Callable[..., PtyChat]
"""A function that starts a chat with the given arguments."""


def played(request: Received) -> Reply:
    """Answer with a reply above; acknowledge a restored context."""
    said = request.texts[-1] if request.texts else ""
    text = "I have the context: the booking API, the regatta, and what was decided."
    for query, reply in REPLIES.items():
        if query in said[-300:]:
            text = reply
    if request.system.startswith("Task: session summary"):
        topics = [query for query in (*REPLIES, WRITE) if query in said]
        is_first = "booking-1.log" in said
        text = SCRIPT["summary"] if is_first else SHORT.format(topics[0].rstrip("?."))
    if WRITE in said[-300:]:
        text = LIMITER
    words = text.split(" ")
    size = sum(map(COUNTER.count, (request.system, *request.texts)))
    return Reply(
        chunks=(words[0], *(f" {word}" for word in words[1:])),
        usage=Usage(input=size, output=COUNTER.count(text)),
        stall_after=24 if text == LIMITER else None,
    )


def say(chat: PtyChat, text: str, ends: str = r"Time: \d+\.\ds") -> None:
    """Send a line and wait until the prompt is back."""
    chat.send(text)
    chat.wait_for(text)
    chat.mark()
    chat.send("\r")
    chat.wait_for(re.compile(ends), output=True)
    chat.wait_for(AT_PROMPT)


def keep(chat: PtyChat, name: str, since: int) -> None:
    """Write a picture of the output from byte `since` on."""
    screen = shown(bytes(chat.raw[since:]), COLS, ROWS)
    text = "\n".join(screen.display)
    assert [word for word in WORDS[name] if word not in text] == [], text
    assert [word for word in FORBIDDEN if word in text] == [], text
    picture = svg(screen)
    assert len(picture) < LARGEST, f"{name}: {len(picture)} characters"
    (DOCS / f"{name}.svg").write_text(picture)


def leave(chat: PtyChat) -> None:
    chat.ctrl("d")
    chat.exit_code()


def picture_of_a_reply(chat: Chat, folder: Path) -> None:
    with chat("--sessions-dir", str(folder / "talks")) as newcomer:
        newcomer.wait_for("context", timeout=60)
        say(newcomer, COMPARE)
        keep(newcomer, "terminal-reply", 0)
        leave(newcomer)


def picture_of_a_queue(chat: Chat, server: Loopback) -> None:
    with chat("--new-session") as worker:
        worker.wait_for("context", timeout=60)
        for line, shows in ((WRITE, "def refill"), *((line, line) for line in QUEUED)):
            worker.line(line)
            worker.wait_for(shows)
        keep(worker, "terminal-queue", 0)
        worker.mark()
        server.release()
        worker.wait_for(re.compile(r"(Time: \d.*){3}", re.DOTALL), output=True)
        worker.wait_for(AT_PROMPT)
        leave(worker)


def picture_of_a_compaction(chat: Chat) -> None:
    with chat("-c") as first:
        first.wait_for("extension 204", timeout=60)
        first.wait_for(AT_PROMPT)
        since = len(first.raw)
        say(first, CRANE)
        say(first, "compact")
        say(first, DECIDED)
        say(first, PORT)
        keep(first, "terminal-compact", since)
        leave(first)


def pictures_of_going_on(chat: Chat) -> None:
    with chat("-c") as second:
        second.wait_for("shows the rest", timeout=60)
        second.wait_for(AT_PROMPT)
        say(second, PUMPS)
        keep(second, "terminal-resume", 0)
        since = len(second.raw)
        say(second, "/stats", "Cost of the session")
        keep(second, "terminal-stats", since)
        leave(second)


def picture_of_the_browser(chat: Chat) -> None:
    for query in (WOOD, SEA):
        with chat("--new-session") as other:
            other.wait_for("context", timeout=60)
            say(other, query)
            leave(other)
    with chat("sessions", "browse") as third:
        third.wait_for("Bookings before the regatta", timeout=60)
        third.wait_for("Topics: Write a line")
        third.send("G")
        third.wait_for("Topics: Who is called")
        since = len(third.raw) - len(third.raw.rpartition(b"\x1b[?1049h")[2])
        keep(third, "terminal-browser", since)
        third.send("q")
        third.exit_code()


def main() -> None:
    """Write the pictures into `docs/`."""
    COUNTER.load()
    with Loopback(played) as server, tempfile.TemporaryDirectory() as folder:
        home = Path(folder) / "harbor"
        sessions = home / "sessions"
        sessions.mkdir(parents=True)
        sessions.chmod(0o700)
        past = msgspec.convert(SCRIPT["past"], tuple[PastExchange, ...])
        write_past(sessions, past, datetime.now().astimezone(), str(home))
        config = home / "config.yaml"
        keys = {"ANTHROPIC_API_KEY": "k", "ANTHROPIC_BASE_URL": server.url}
        paths = {
            "CHAT_LOOP_HOME": str(home),
            "HOME": folder,
            "PATH": "/usr/bin:/bin",
            "LANG": "C.UTF-8",
        }
        argv = [sys.executable, "-m", "chat_loop", "--model", "anthropic:berths-1"]

        def chat(*more: str) -> PtyChat:
            return PtyChat([*argv, *more], env=keys | paths, rows=ROWS, cols=COLS, cwd=home)

        config.write_text(CONFIG)
        picture_of_a_reply(chat, Path(folder))
        config.write_text(f"{CONFIG}resume: {{mode: full}}\n")
        picture_of_a_compaction(chat)
        config.write_text(CONFIG)
        pictures_of_going_on(chat)
        picture_of_the_browser(chat)
        picture_of_a_queue(chat, server)


if __name__ == "__main__":
    main()
