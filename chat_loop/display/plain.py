"""Plain output for scripts: results on standard output, everything else on standard error."""

from __future__ import annotations

import contextlib
import json
import os
import sys
import threading
import time
from collections.abc import Iterator
from datetime import datetime
from typing import Protocol, TextIO

from msgspec import Struct
from msgspec.structs import asdict

from chat_loop.display.questions import (
    NOT_SURE,
    Drawn,
    Question,
    act_lines,
    choice_of,
    draw,
    sure_question,
)
from chat_loop.display.screen import SOON_SECONDS
from chat_loop.display.text import cut_to, printable, without_controls, wrapped
from chat_loop.errors import OutputError
from chat_loop.events import FIRST_RETRY, Event, Retrying, SessionFound, Warned
from chat_loop.terminal import columns, screen_size
from chat_loop.values import size_text

DRAWN_SECONDS = 0.1  # the shortest pause between two updates of a progress line


def out(text: str | bytes) -> None:
    """Write to standard output. Raises OutputError, but BrokenPipeError for a closed pipe."""
    try:
        if sys.stdout.isatty():
            decoded = text.decode("utf-8", "replace") if isinstance(text, bytes) else text
            sys.stdout.write(printable(decoded))
        elif isinstance(text, bytes):
            sys.stdout.flush()
            sys.stdout.buffer.write(text)
        else:
            sys.stdout.write(text)
        sys.stdout.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        raise OutputError(error) from error


def out_line(text: str, indent: int = 0) -> None:
    """Write a line. On a terminal, wrap it and indent its continuation. Raises OutputError."""
    width = columns(unknown=0) - 1
    out((wrapped(text, width, indent) if width > 0 else text) + "\n")


def err(text: str) -> None:
    """Write printable text to standard error, wrapped on a terminal. Ignore failures."""
    width = columns(sys.stderr, unknown=0) - 1
    text = wrapped(text, width, 0) if width > 0 else printable(text)
    with contextlib.suppress(OSError):
        sys.stderr.write(f"{text}\n")


def ask(question: Question) -> str:
    """Ask on the terminal, below the act, and return the choice; an empty text if the user makes
    none. The answer comes from standard input.
    """
    size = screen_size(_terminal())
    drawn = draw(question, *size)
    if not drawn.is_long:
        _print_act(question)
    choice: str | None = "view"
    while choice == "view":
        answer = _answer(drawn)
        choice = choice_of(question, answer, is_long=drawn.is_long)
        if choice == "view":
            _print_act(question)
    if choice != NOT_SURE:
        return choice or ""
    is_sure = _answer(draw(sure_question(question), *size)).strip().lower() == "yes"
    return choice_of(question, answer) or "" if is_sure else ""


def _terminal() -> TextIO:
    """Return the standard stream that a user sees."""
    return sys.stderr if sys.stderr.isatty() else sys.stdout


def _print_act(question: Question) -> None:
    _terminal().writelines(f"{line}\n" for line, _ in act_lines(question))


def _answer(drawn: Drawn) -> str:
    """Show a question, and return the line that answers it."""
    terminal = _terminal()
    terminal.writelines(f"{row}\n" for row, _ in drawn.rows)
    terminal.write(drawn.prompt)
    terminal.flush()
    return sys.stdin.readline()


def out_json(value: object) -> None:
    """Write a value as one line of JSON."""
    out(json.dumps(value, default=_plain) + "\n")


def _plain(value: object) -> object:
    if isinstance(value, Struct):
        return asdict(value)
    return value.isoformat() if isinstance(value, datetime) else str(value)


class ReplyWriter(Protocol):
    """Writes a reply to standard output."""

    def feed(self, text: str) -> None:
        """Write the next piece, or keep it to be drawn. Raises as `out`."""

    async def settle(self) -> None:
        """Wait until everything is drawn."""

    def end(self, *, stopped: bool) -> None:
        """End the reply. If it was stopped, what is not drawn yet is not drawn."""


class PipedReply(ReplyWriter):
    """Writes a reply as the model wrote it, but with control codes made visible, since a terminal
    may be behind the pipe.
    """

    def __init__(self) -> None:
        self._held = ""  # a carriage return that may belong to a newline

    def feed(self, text: str) -> None:
        text = self._held + text
        self._held = "\r" if text.endswith("\r") else ""
        out(without_controls(text.removesuffix(self._held)))

    async def settle(self) -> None:
        """Everything is written at once."""

    def end(self, *, stopped: bool) -> None:
        held = self._held
        self._held = ""
        if held:
            out(without_controls(held))


class RenderedReply(ReplyWriter):
    """Renders a reply on a terminal, in the colors of `theme`."""

    def __init__(self, theme: str, *, wraps: bool) -> None:
        from chat_loop.display.reply import ReplyText, markdown_on  # scripts do not wait for it

        self._reply = ReplyText(self._write, markdown_on(sys.stdout, theme, wraps=wraps))

    def feed(self, text: str) -> None:
        self._reply.feed(text)

    async def settle(self) -> None:
        await self._reply.settle()

    def end(self, *, stopped: bool) -> None:
        if stopped:
            self._reply.drop()
        self._reply.finish()
        if self._reply.begun:
            self._write("\n")  # a rendered reply has no newline at its end

    @staticmethod
    def _write(text: str) -> None:
        sys.stdout.write(text)
        sys.stdout.flush()


def reply_writer(theme: str, *, wraps: bool) -> ReplyWriter:
    """Return what writes a reply: rendered on a terminal, unless `theme` is empty."""
    if not (sys.stdout.isatty() and theme) or os.environ.get("TERM") == "dumb":
        return PipedReply()
    return RenderedReply(theme, wraps=wraps)


def tell(event: Event) -> None:
    """Report the problem of an event, if any, on standard error."""
    if isinstance(event, SessionFound) and event.damage:
        err(f"Session {event.id} is damaged: {event.damage[0]}")
    elif isinstance(event, Warned):
        err(" ".join(filter(None, (event.message, event.hint))))
    elif isinstance(event, Retrying) and event.attempt == FIRST_RETRY:
        err(f"{event.reason} Trying again ({event.attempt}/{event.attempts}).")


class Meter:
    """One line of progress on standard error, if that is a terminal."""

    def __init__(self) -> None:
        self._terminal = sys.stderr.isatty() and os.environ.get("TERM") != "dumb"
        self._began = time.monotonic()
        self._source = ""
        self._drawn = 0.0

    def show(self, done: int, total: int, source: str) -> None:
        """Show how many of `total` bytes came from `source`."""
        sizes = f"{size_text(done)} of {size_text(total)}"
        # A source that stalls at its first byte must not leave an older count on the line.
        at_once = done == total or source != self._source
        self._source = source
        self._draw(f"{done / total:4.0%}  {sizes}  {source}", at_once=at_once)

    def count(self, done: float, total: int, what: str) -> None:
        """Show, after a short delay, how many of `total` items are done. Erase it at the end."""
        if done == total:
            self.end("\r\x1b[K")
        elif time.monotonic() - self._began >= SOON_SECONDS:
            self._draw(f"{done / total:4.0%}  {int(done):,} of {total:,} {what}")

    @contextlib.contextmanager
    def clock(self, text: str) -> Iterator[None]:
        """Show `text` with the seconds that have passed while the context is open."""
        ended = threading.Event()

        def tick() -> None:
            while not ended.wait(1.0):
                self._draw(f"{text} … {time.monotonic() - self._began:.0f} s")

        thread = threading.Thread(target=tick, daemon=True)
        thread.start()
        try:
            yield
        finally:
            ended.set()
            thread.join()
            self.end("\r\x1b[K")

    def _draw(self, text: str, *, at_once: bool = False) -> None:
        now = time.monotonic()
        if self._terminal and (at_once or now - self._drawn >= DRAWN_SECONDS):
            sys.stderr.write(f"\r{cut_to(text, columns(sys.stderr) - 1)}\x1b[K")
            sys.stderr.flush()
            self._drawn = now

    def end(self, text: str = "\n") -> None:
        """End the line, if there is one, with `text`."""
        if self._drawn:
            sys.stderr.write(text)
            sys.stderr.flush()
            self._drawn = 0.0
