"""The pictures of the terminal in the documentation: `python -m tests.support.terminal_pictures`
takes them of real runs.

A server on this machine plays the model.
"""

from __future__ import annotations

import re
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from benchmarks.support.loopback import Loopback, Received, Reply
from chat_loop.values import Usage
from tests.support.pty_chat import PtyChat
from tests.support.svg import shown, svg

DOCS = Path(__file__).parents[2] / "docs"
COLS, ROWS = 92, 36
LARGEST = 60_000
AT_PROMPT = re.compile(r"^You:$\n.*context", re.MULTILINE)
"""The input line is empty, and the status is below it."""
CONFIG = (
    "models: {berths-1: {window: 8000, input_price: 3, output_price: 15}}\nmemory: {enabled: "
    "false}\n"
)
TALK = {
    "Explain how a token bucket works, as to somebody who has never heard of it.": (
        "Picture a bucket that hangs under a dripping tap. The tap drips at a steady pace, "
        "whether anybody is "
        "there or not, and when the bucket is full what comes runs over the edge and is lost. "
        "Whoever wants "
        "something has to take a drop out of the bucket, and whoever finds it empty has to "
        "come back later. That "
        "is all. What makes it useful is that it knows two things at once. How fast the tap "
        "drips says how much "
        "may be taken in the long run, and how large the bucket is says how much may be taken "
        "in one go by "
        "somebody who has been away for a while. Most people who ask for something do so in "
        "that manner: nothing "
        "for a long time, then a handful of things at once, then nothing again. A rule that "
        "only knows the pace "
        "would send them away although they have taken less than their share, and a rule that "
        "only knows the "
        "handful would let somebody come back with a new one again and again. The bucket lets "
        "the first through "
        "and stops the second, and it needs no clock that rings and no list of who came when: "
        "it is enough to "
        "remember how full the bucket was when somebody last looked, and to add what has "
        "dripped since."
    ),
    "We limit the berth API to 100 requests per minute per user. Does it fit?": (
        "It does. Keep one bucket per user in Redis, refilled when a request comes, and "
        "answer 429 with a Retry- "
        "After that says when the next token is there."
    ),
    "The regatta is on 2027-06-12, and the API must hold that day.": (
        "Then test with the shape of that morning: 40 requests per second for ten minutes, "
        "and stop when Redis "
        "needs more than 5 ms."
    ),
    "Decision: we go with the token bucket, because bursts are normal here.": (
        "Noted. Put it beside the code as docs/adr-017.md, with its reason and its date."
    ),
    "When is the regatta, and what did we decide?": (
        "The regatta is on 2027-06-12. You decided for the token bucket, because bursts are "
        "normal here [1.4]."
    ),
    "What wood do we take for the kitchen fronts?": "Oak, oiled twice: it can be sanded again where it wears.",
    "Write a line about the sea.": "The sea keeps no minutes of what it was told, and forgets "
    "nothing.",
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
NOTHING = "\n\n**Decisions Made:**\n- none\n\n**Pending:**\n- none"
LONG_WINDED = 6
"""The first answer repeats its text this often, so that there is something to compact."""
SHORT = (
    "**Background Context:** Initial session.\n\n**Current Session Summary:**\n**Topics "
    "Discussed:**"
)
SUMMARY = """\
**Background Context:** Initial session.

**Current Session Summary:**
**Topics Discussed:**
- How a token bucket works [1.1]
- Limits of the berth API [1.2]

**Decisions Made:**
- Token bucket, because bursts are normal [1.4]

**Pending:**
- Load test before the regatta [1.3]"""


def played(request: Received) -> Reply:
    """Answer with the talk above; acknowledge a restored context."""
    size = sum(map(len, (request.system, *request.texts))) // 4
    said = request.texts[-1] if request.texts else ""
    if request.system.startswith("Task: session summary"):
        [topic] = [query for query in TALK if query in said][:1] or [""]
        text = (
            SUMMARY
            if topic == next(iter(TALK))
            else f"{SHORT}\n- {topic.rstrip('?.')} [1.1]{NOTHING}"
        )
        return Reply(chunks=(text,), usage=Usage(input=size, output=len(text) // 4))
    text = next((answer for query, answer in TALK.items() if query in said[-300:]), "")
    text = "\n\n".join([text] * LONG_WINDED) if text == next(iter(TALK.values())) else text
    text = text or "I have the context: the rate limiter of the berth API, and what was decided."
    words = text.split(" ")
    return Reply(
        chunks=(words[0], *(f" {word}" for word in words[1:])),
        usage=Usage(input=size, output=len(words)),
    )


def say(chat: PtyChat, text: str) -> None:
    """Send a line and wait until the prompt is back."""
    chat.send(text)
    chat.wait_for(text)  # typed in one go with Enter, it would be a paste
    chat.mark()
    chat.send("\r")
    chat.wait_for(re.compile(r"Time: \d+\.\ds"), output=True)
    chat.wait_for(AT_PROMPT)


def keep(chat: PtyChat, name: str, since: int) -> None:
    """Write a picture of the output from byte `since` on."""
    picture = svg(shown(bytes(chat.raw[since:]), COLS, ROWS))
    assert len(picture) < LARGEST, f"{name}: {len(picture)} characters"
    (DOCS / f"{name}.svg").write_text(picture)


Chat = Callable[..., PtyChat]
"""A function that starts a chat with the given arguments."""


def leave(chat: PtyChat) -> None:
    chat.ctrl("d")
    chat.exit_code()


def picture_of_a_reply(chat: Chat, folder: Path, query: str) -> None:
    with chat("--sessions-dir", str(folder / "talks")) as newcomer:
        newcomer.wait_for("context", timeout=60)
        say(newcomer, query)
        keep(newcomer, "terminal-reply", 0)
        leave(newcomer)


def picture_of_a_compaction(chat: Chat, talk: Sequence[str]) -> None:
    with chat("--new-session") as first:
        first.wait_for("context", timeout=60)
        for query in talk[:3]:
            say(first, query)
        since = len(first.raw)
        say(first, talk[3])
        say(first, "/compact")
        keep(first, "terminal-compact", since)
        leave(first)


def pictures_of_going_on(chat: Chat, query: str) -> None:
    with chat() as second:
        second.wait_for("context", timeout=60)
        second.line("sessions")
        second.wait_for("resume")
        say(second, "resume 1")
        say(second, query)
        keep(second, "terminal-resume", 0)
        since = len(second.raw)
        second.mark()
        second.line("/stats")
        second.wait_for("Cost of the session", output=True)
        second.wait_for(re.compile(r"You: .*context", re.DOTALL), output=True)
        keep(second, "terminal-stats", since)
        leave(second)


def picture_of_the_browser(chat: Chat) -> None:
    with chat("sessions", "browse") as third:
        third.wait_for("When is the regatta", timeout=60)
        keep(
            third, "terminal-browser", len(third.raw) - len(third.raw.rpartition(b"\x1b[?1049h")[2])
        )
        third.send("q")
        leave(third)


def main() -> None:
    """Write the pictures into `docs/`."""
    *talk, again, wood, sea, compare = TALK
    with Loopback(played) as server, tempfile.TemporaryDirectory() as folder:
        home = Path(folder) / "harbour"
        home.mkdir()
        (home / "config.yaml").write_text(CONFIG)
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

        picture_of_a_reply(chat, Path(folder), compare)
        for query in (wood, sea):
            with chat() as other:
                other.wait_for("context", timeout=60)
                say(other, query)
                leave(other)
        picture_of_a_compaction(chat, talk)
        pictures_of_going_on(chat, again)
        picture_of_the_browser(chat)


if __name__ == "__main__":
    main()
