"""Whole conversations with the program: what a user types, and what a server, the disk and the
screen see of it.

    with Chats(tmp_path, "anthropic") as chats:
        chats.replies["read the notes"] = [call("read_file", path="notes.txt"), "It is 8443."]
        played = chats.play("Please read the notes.", "/compact", "exit")
        assert played.requests[0].messages == ("user: Please read the notes.",)

Nothing here knows how the program is made. It gets arguments, lines, files and replies, and leaves
output, files and requests. What differs from run to run is replaced: `session-1` stands for the id
of the oldest session (in what is typed as well), HOME for the folder, MARK and DIGEST for hashes, and
DATE, TIME and SERVER for these.
"""

from __future__ import annotations

import json
import os
import re
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, Self

import pytest
from msgspec.structs import replace

from benchmarks.support.loopback import Loopback, Received, Reply, failing
from chat_loop.values import ToolCall, Usage
from tests.support import fork_server
from tests.support.pty_chat import PtyChat

Wire = Literal["openai", "anthropic"]
WIRES: tuple[Wire, ...] = ("openai", "anthropic")
ONE_WIRE_QUICK = ("openai", pytest.param("anthropic", marks=pytest.mark.slow))
"""The wires, for a long conversation in which they hardly differ."""

Answer = str | Reply
Step = str | Callable[[], object]
"""A line to type (several lines are one entry), or a function to call once the line before it has
been answered.
"""

SUMMARY = """\
**Background Context:** Initial session.

**Current Session Summary:**
**Topics Discussed:**
- The test was talked about [1.1]

**Decisions Made:**
- none

**Pending:**
- none
"""
ACKNOWLEDGED = "I am ready to continue."
PROMPT = b"\nYou: "
WAITING = (PROMPT, b"[y]es [n]o")
"""The ends of an output after which the program waits for a line."""

Kind = Literal["reply", "summary", "acknowledgment"]


def call(name: str, text: str = "", /, **arguments: object) -> Reply:
    """Return a reply that says `text` and calls a tool."""
    calls = (ToolCall(f"call_{name}", name, json.dumps(arguments)),)
    return Reply(chunks=(text,) if text else (), calls=calls)


@dataclass(frozen=True)
class Asked:
    """A request in a notation that is the same for both wires."""

    kind: Kind
    wire: Wire
    system: str
    tools: tuple[str, ...]
    messages: tuple[str, ...]
    """A line for each text, call and result, in their order: `user: Hi`, `assistant: Hello`,
    `call: read_file {"path": "a"}`, `result: 1`.
    """
    roles: tuple[str, ...]
    """The roles of the wire's own messages, without the system prompt."""
    body: Any
    """The JSON as the server got it."""
    usage: Usage
    """The tokens that the server reported."""

    @property
    def text(self) -> str:
        """All messages as one text."""
        return "\n".join(self.messages)

    @property
    def block(self) -> str:
        """The summary block that the conversation begins with; empty if there is none."""
        _, _, rest = self.messages[0].partition("<!-- SESSION_SUMMARY_START -->\n")
        return rest.partition("<!-- SESSION_SUMMARY_END -->")[0]

    @property
    def cost(self) -> str:
        """What the program shows of the reported tokens."""
        usage = self.usage
        return f"Time: TIME | Tokens: {usage.total:,} (in: {usage.input:,}, out: {usage.output:,})"


@dataclass(frozen=True)
class Played:
    """One run of the program."""

    code: int
    shown: str
    """The standard output, with prompts and typed lines."""
    errors: str
    asked: tuple[Asked, ...]
    """All requests in their order."""

    @property
    def requests(self) -> tuple[Asked, ...]:
        """The requests for replies to the user."""
        return self._of("reply")

    @property
    def summaries(self) -> tuple[Asked, ...]:
        return self._of("summary")

    @property
    def acknowledgments(self) -> tuple[Asked, ...]:
        return self._of("acknowledgment")

    def _of(self, kind: Kind) -> tuple[Asked, ...]:
        return tuple(asked for asked in self.asked if asked.kind == kind)

    def after(self, line: str) -> str:
        """Return what was shown after a typed line, up to the next prompt."""
        _, found, rest = self.shown.partition(f"You: {line}\n")
        assert found, f"{line!r} was not typed:\n{self.shown}"
        return rest.partition(PROMPT.decode())[0]


class Chats:
    """A home of the program, and a server with replies, in a `with` block.

    The server counts a token for each `characters_per_token` of a request, or asks `count`. If `served_window` is
    set, it refuses more tokens. Each reply to the user comes from the last entry of `replies` whose
    key stands in the user's last message; a list has one entry for each step of a tool loop whose
    results are all in the request, an iterator one for each request. Otherwise the reply repeats
    the beginning of the message.
    """

    def __init__(self, folder: Path, wire: Wire = "openai", window: int = 32_000) -> None:
        self.home = folder / "home"
        self.project = folder / "project"
        self.wire = wire
        self.window = window
        self.replies: dict[str, Answer | Sequence[Answer] | Iterator[Answer]] = {}
        self.summary: Answer = SUMMARY
        self.acknowledgment: Answer = ACKNOWLEDGED
        self.characters_per_token = 4
        self.count: Callable[[Received], int] | None = None
        self.served_window = 0
        self.variables: dict[str, str] = {}  # replace those of the environment
        self.server = Loopback(self._answer)
        self._printed = fork_server.Printed()
        self._ids: list[str] = []
        self._usages: dict[int, Usage | None] = {}
        self.home.mkdir(parents=True)
        self.project.mkdir()
        self.configure()

    def __enter__(self) -> Self:
        self.server.__enter__()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.server.__exit__(kind, error, trace)

    def configure(self, *, on_exit: str = "wait", **settings: Mapping[str, object]) -> None:
        """Write the config: these sections, a window for the model, and what an exit does about its
        summary: it waits (a busy machine would otherwise leave it to another process).
        """
        config: dict[str, Mapping[str, object]] = {
            "models": {"test-model": {"window": self.window}},
            "search": {"meaning": False},
            **settings,
        }
        config["auto_compact"] = {"summary_on_exit": on_exit, **settings.get("auto_compact", {})}
        (self.home / "config.yaml").write_text(json.dumps(config))

    @property
    def environment(self) -> dict[str, str]:
        variables = {
            "CHAT_LOOP_HOME": str(self.home),
            "HOME": str(self.home),
            "PATH": "/usr/bin:/bin",
            "LANG": "C.UTF-8",
            "TZ": "UTC",
            "OPENAI_API_KEY": "k",
            "OPENAI_BASE_URL": f"{self.server.url}/v1",
            "ANTHROPIC_API_KEY": "k",
            "ANTHROPIC_BASE_URL": self.server.url,
        }
        return variables | self.variables

    @property
    def model(self) -> str:
        return f"{self.wire}:test-model"

    def play(self, *steps: Step, options: Sequence[str] = ()) -> Played:
        """Run a chat. Each line is typed at its prompt; the end of the input follows the last."""
        printed = self._printed = fork_server.Printed()
        return self._run(("--model", self.model, *options), self._typed(steps, printed), printed)

    def interrupt_at(self, text: str) -> Callable[[], None]:
        """Return a step after which Ctrl-C is pressed once `text` is shown."""

        def press(start: int) -> None:
            if self._printed.wait_for([text.encode()], start):
                os.kill(self._printed.pid, signal.SIGINT)

        def wait() -> None:
            threading.Thread(target=press, args=(self._printed.size,)).start()

        return wait

    def terminal(self, *options: str, model: bool = True) -> PtyChat:
        """Return a chat in a pseudo-terminal, for what only a terminal shows. Without `model`, the
        options or the session decide which one answers.
        """
        named = ["--model", self.model] if model else []
        given = [self._real(option) for option in options]
        command = [sys.executable, "-m", "chat_loop", *named, *given]
        return PtyChat(command, self.environment, cwd=self.project, forked=True)

    def run(self, *arguments: str, stdin: str = "") -> Played:
        """Run the program with other arguments, such as `-p` or `sessions list`."""
        return self._run(arguments, self._real(stdin).encode(), fork_server.Printed())

    def transcripts(self) -> dict[str, str]:
        """Return the text of each session's file by its name, such as `session-1`, oldest first."""
        self._look()
        texts = {}
        for number, identity in enumerate(self._ids, start=1):
            path = self.home / "sessions" / f"{identity}.md"
            if path.exists():
                texts[f"session-{number}"] = self._same(path.read_text())
        return texts

    def path(self, name: str) -> Path:
        """Return the path of the transcript of, for example, `session-1`."""
        return self.home / "sessions" / f"{self._real(name)}.md"

    def lose(self, name: str) -> None:
        """Remove a transcript, and return when the second that it is named after is over: a session
        that begins within it would get the same name.
        """
        path = self.path(name)
        path.unlink()
        while time.strftime("%Y%m%d_%H%M%S", time.gmtime()) in path.stem:
            time.sleep(0.01)

    def _run(
        self, arguments: Sequence[str], stdin: bytes | Iterable[bytes], printed: fork_server.Printed
    ) -> Played:
        before = len(self.server.requests)
        given = [self._real(argument) for argument in arguments]
        done = fork_server.run(given, self.environment, stdin, self.project, printed=printed)
        self._look()
        return Played(
            code=done.returncode,
            shown=self._same(done.stdout.decode()),
            errors=self._same(done.stderr.decode()),
            asked=tuple(self._asked(request) for request in self.server.requests[before:]),
        )

    def _typed(self, steps: Sequence[Step], printed: fork_server.Printed) -> Iterator[bytes]:
        running = printed.wait_for(WAITING)
        for step in steps:
            if not running:
                return
            if not isinstance(step, str):
                step()
                continue
            line = self._real(step)
            before = printed.size
            yield f"\\\\\n{line}\n\n".encode() if "\n" in line else f"{line}\n".encode()
            running = printed.wait_for(WAITING, before)

    def _answer(self, request: Received) -> Reply:
        kind, tokens = _kind(request), size(request.body) // self.characters_per_token
        if self.count is not None:
            tokens = self.count(request)
        if self.served_window and tokens > self.served_window:
            return _too_long(request, tokens, self.served_window)
        if kind == "summary":
            answer = self.summary
        elif kind == "acknowledgment":
            answer = self.acknowledgment
        else:
            answer = self._reply(messages(request))
        reply = Reply(chunks=_pieces(answer)) if isinstance(answer, str) else answer
        if reply.usage == Usage():
            said = sum(len(piece) for piece in reply.chunks)
            usage = Usage(input=tokens, output=said // self.characters_per_token + 1)
            reply = replace(reply, usage=usage)
        self._usages[id(request)] = reply.usage
        return reply

    def _reply(self, said: Sequence[str]) -> Answer:
        users = [number for number, line in enumerate(said) if line.startswith("user: ")]
        query = said[users[-1]].rpartition("SESSION_SUMMARY_END -->")[2].removeprefix("user: ")
        since = said[users[-1] + 1 :]
        rounds = sum(
            line.startswith("result: ") and not since[number].startswith("result: ")
            for number, line in enumerate(since[1:])
        )
        for key, answer in reversed(self.replies.items()):
            if key in query:
                if isinstance(answer, str | Reply):
                    return answer
                return next(answer) if isinstance(answer, Iterator) else answer[rounds]
        return f"You said: {query.rpartition(chr(10))[2][:60]}"

    def _asked(self, request: Received) -> Asked:
        body = request.body
        names = [tool.get("function", tool)["name"] for tool in body.get("tools", ())]
        roles = [message["role"] for message in body["messages"]]
        return Asked(
            kind=_kind(request),
            wire="anthropic" if request.wire == "anthropic" else "openai",
            system=request.system,
            tools=tuple(names),
            messages=tuple(self._same(line) for line in messages(request)),
            roles=tuple(role for role in roles if role != "system"),
            body=body,
            usage=self._usages.get(id(request)) or Usage(),
        )

    def _look(self) -> None:
        """Number the sessions that are new, oldest first."""
        new = {path.stem for path in (self.home / "sessions").glob("*.md")} - set(self._ids)
        self._ids += sorted(new, key=_age)

    def _real(self, text: str) -> str:
        def identity(match: re.Match[str]) -> str:
            return self._ids[int(match[1]) - 1]

        self._look()
        self._look()
        return re.sub(r"\bsession-(\d+)\b", identity, text)

    def _same(self, text: str) -> str:
        """Return a text without what differs from run to run."""
        for number, identity in reversed(list(enumerate(self._ids, start=1))):
            text = re.sub(rf"{re.escape(identity)}(?!_?\d)", f"session-{number}", text)
        text = text.replace(str(self.home), "HOME").replace(str(self.project), "PROJECT")
        text = text.replace(self.server.url.removeprefix("http://"), "SERVER")
        for pattern, same in _CHANGING:
            text = pattern.sub(same, text)
        return text


def _age(identity: str) -> list[tuple[int, str]]:
    """Return a key that sorts ids by time; the second one of the same second ends in `_2`."""
    return [(len(part), part) for part in identity.split("_")]


_CHANGING = [
    (re.compile(pattern), same)
    for pattern, same in (
        (r"\b\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d)?([+-]\d\d:\d\d)?", "DATE"),
        (r"\b[A-Z][a-z]{2} \d\d, \d\d:\d\d\b", "DATE"),
        (r"\(\d\d:\d\d:\d\d\)", "(TIME)"),
        (r"\bTime: \d+\.\ds", "Time: TIME"),
        (r"\btime=\d+\.\d+", "time=TIME"),
        (r"\bblock=[0-9a-f]{16}\b", "block=DIGEST"),
        (r"==== [0-9a-f]{8} ====", "==== MARK ===="),
    )
]


def field(transcript: str, name: str) -> str:
    """Return a field of a transcript's header as its reader sees it; empty if it is missing."""
    found = re.search(rf"^\*\*{name}:\*\* \[?(.*?)(\]\(.*\))? *$", transcript, re.MULTILINE)
    return found[1] if found else ""


def echoed(*queries: str) -> tuple[str, ...]:
    """Return the messages of queries that the server answered by repeating them."""
    return tuple(
        line for query in queries for line in (f"user: {query}", f"assistant: You said: {query}")
    )


def size(body: Any) -> int:
    """Return the characters of a request that a server would count."""
    read = {name: body.get(name, "") for name in ("system", "messages", "tools")}
    marks = ', "cache_control": {"type": "ephemeral"}'
    return len(json.dumps(read, ensure_ascii=False).replace(marks, ""))


def _too_long(request: Received, tokens: int, window: int) -> Reply:
    if request.wire == "anthropic":
        message = f"prompt is too long: {tokens} tokens > {window} maximum"
        return failing(400, "invalid_request_error", message)
    message = (
        f"This model's maximum context length is {window} tokens. However, your messages resulted "
        f"in {tokens} tokens."
    )
    return failing(400, "invalid_request_error", message, code="context_length_exceeded")


def messages(request: Received) -> tuple[str, ...]:
    """Return a request's messages in the notation of `Asked.messages`."""
    lines: list[str] = []
    for message in request.body["messages"]:
        role = message["role"]
        content = message.get("content")
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content or []
        if role == "system":
            continue
        if role == "tool":
            lines += [f"result: {_text(blocks)}"]
            continue
        texts = [block["text"] for block in blocks if block["type"] == "text"]
        lines += [
            f"result: {_text(block.get('content', ''))}"
            for block in blocks
            if block["type"] == "tool_result"
        ]
        lines += [f"{role}: {chr(10).join(texts)}"] if texts else []
        lines += ["image"] * sum(block["type"] in ("image", "image_url") for block in blocks)
        lines += [
            _call(block["name"], block["input"]) for block in blocks if block["type"] == "tool_use"
        ]
        lines += [
            _call(made["function"]["name"], json.loads(made["function"]["arguments"]))
            for made in message.get("tool_calls", ())
        ]
    return tuple(lines)


def _text(content: str | list[dict[str, Any]]) -> str:
    if isinstance(content, str):
        return content
    return "\n".join(block.get("text", "") for block in content)


def _call(name: str, arguments: object) -> str:
    return f"call: {name} {json.dumps(arguments, ensure_ascii=False)}"


def _pieces(text: str) -> tuple[str, ...]:
    """Return a text in the pieces of a stream."""
    return text[: len(text) // 2], text[len(text) // 2 :]


def _kind(request: Received) -> Kind:
    if request.system.startswith("Task: session summary"):
        return "summary"
    if request.query.endswith("Keep your response concise."):
        return "acknowledgment"
    return "reply"
