"""`chat-loop tour`: runs the program itself with a scripted model and lines already typed.

A long conversation is there already. It is compacted, left, and continued in the two ways that
there are: with the last words on the screen, and from its summary.
"""

from __future__ import annotations

import argparse
import asyncio
import re
import tempfile
import threading
import tomllib
from collections import deque
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path

import msgspec
from msgspec.structs import replace

from chat_loop import config, interactive
from chat_loop.commands.chat import Chat
from chat_loop.display.plain import out_line
from chat_loop.display.questions import Question
from chat_loop.loop import ChatLoop
from chat_loop.options import parse
from chat_loop.parts import build
from chat_loop.providers.scripted import EchoProvider
from chat_loop.sessions.files import working_folder
from chat_loop.subcommands.tour_past import PastExchange, write_past
from chat_loop.terminal import columns
from chat_loop.tokens import TokenCounter
from chat_loop.values import Message, Request, Window

RUNS = {"compacting": ("--continue",), "returning": ("--continue",), "choosing": ()}
"""The runs of the program, each with its options."""
WINDOW = 100_000  # tokens
Step = Mapping[str, str]
"""A sentence, the line to enter after it, and the model's reply to that line, if it is known."""
JOIN_SECONDS = 10.0
HINT = "Enter runs this line, Ctrl-C ends the tour"
SETTINGS = config.Config(
    model="scripted:tour",
    discover_servers=False,
    memory=config.MemoryConfig(enabled=False),
    search=config.SearchConfig(meaning=False),
    auto_compact=config.AutoCompactConfig(summary_on_exit="wait"),
)
ALL_WORDS = replace(SETTINGS, resume=config.ResumeConfig(mode="full"))
"""For the first run, in which the long conversation is not compacted yet."""
END = (
    "That was the tour; its sessions are deleted. To start for real:",
    "  chat-loop providers   shows which models you can use",
    "  chat-loop             starts a chat; /help lists its commands",
)


def run(options: argparse.Namespace) -> int:
    """Run the program once for each part of the tour; return the exit code."""
    text = Path(__file__).with_suffix(".toml").read_text("utf-8")
    script = tomllib.loads(text)
    steps: list[Step] = []
    for name in RUNS:
        steps += script[name]
    model = ScriptedModel(steps, script["summary"])
    past = msgspec.convert(script["past"], tuple[PastExchange, ...])
    with tempfile.TemporaryDirectory(prefix="chat-loop-tour-", ignore_cleanup_errors=True) as home:
        state = config.find_paths().state  # a traceback must outlive the tour
        paths = config.Paths(Path(home) / "config.yaml", Path(home), state)
        folder = paths.sessions(SETTINGS)
        folder.mkdir(mode=0o700)
        project = str(working_folder() or "")
        write_past(folder, past, datetime.now().astimezone() - timedelta(days=1), project)
        settings = ALL_WORDS
        for name, arguments in RUNS.items():
            todo = deque(script[name])
            chosen = parse([*arguments, *(["--plain"] if options.plain else [])])
            parts = build(chosen, settings, paths)
            settings = SETTINGS
            try:
                code = interactive.run(parts, model, partial(GuidedLoop, todo, steps))
            finally:
                _join_threads()
            out_line("")
            if code or todo:
                out_line("You left the tour; its sessions are deleted.")
                return code
    for line in END:
        out_line(line, 4)
    return 0


def _join_threads() -> None:
    """Wait for the threads of a chat that has ended: they may write a file into its folder."""
    for thread in threading.enumerate():
        if thread is not threading.current_thread():
            thread.join(JOIN_SECONDS)


class GuidedLoop(ChatLoop):
    """A chat that offers the line of the next step until it is entered, or enters it in a pipe."""

    def __init__(self, todo: deque[Step], steps: Sequence[Step], chat: Chat) -> None:
        super().__init__(chat)
        self._todo = todo
        self._steps = steps

    async def read(self) -> str:
        """Show the next step, and return the next entry; Ctrl-C ends the tour."""
        step = self._todo[0]
        reader = self.chat.reader
        number = f"{self._steps.index(step) + 1}/{len(self._steps)}"
        try:
            if not reader.has_editor and self._cancelled:
                raise KeyboardInterrupt
            self._display.out.end_exchange()
            self._display.prose(f"{number} · {step['text']}", "bold cyan")
            if not reader.offer(step["line"], HINT):
                if self.chat.can_ask and columns(unknown=0):
                    await reader.ask(Question(f"Enter runs: {step['line']}", choices=()))
                reader.enter(step["line"])
            line = await reader.read()
        except KeyboardInterrupt:
            self._quits = True
            raise asyncio.CancelledError from None
        if line.strip() == step["line"]:
            self._todo.popleft()
        return line


class ScriptedModel(EchoProvider):
    """Answers scripted lines from the script, others with the best matching line of a summary."""

    model = "tour"

    def __init__(self, steps: Sequence[Step], summary: str) -> None:
        super().__init__(Window(WINDOW))
        self._summary = summary
        self._counter = TokenCounter()
        threading.Thread(target=self._counter.load, daemon=True).start()
        self._replies = {step["line"]: step.get("reply") for step in steps}
        self.pause_seconds = 0.02 if columns(unknown=0) else 0.0

    def count(self, text: str) -> int:
        self._counter.load()
        return self._counter.count(text)

    def reply(self, request: Request) -> Message:
        asked = request.messages[-1].text
        if request.grammar is not None:
            is_first = "booking-1.log" in asked
            return Message("assistant", self._summary) if is_first else super().reply(request)
        words = re.findall(r"\w{4,}", asked.lower())
        given = "\n".join(message.text for message in request.messages)
        lines = re.findall(r"^[-+] (.+?)(?: \[[^\]]*\])?$", given, re.MULTILINE)
        shared = 0
        best = ""
        for line in lines:
            found = sum(word in line.lower() for word in words)
            if found > shared or (found == shared and len(line) < len(best)):
                shared = found
                best = line
        text = "This is not in my script."
        if shared:
            text = f"My context says: “{best}”"
        if "\n" in asked:  # a restored context
            text = "I have read the summary and can continue."
        return Message("assistant", self._replies.get(asked) or text)
