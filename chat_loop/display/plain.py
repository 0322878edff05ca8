"""Plain output for scripts: results on standard output, everything else on standard error."""

from __future__ import annotations

import contextlib
import json
import os
import re
import sys
import threading
import time
from collections.abc import Callable, Iterator
from datetime import datetime
from typing import TYPE_CHECKING, TextIO, TypeVar

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
from chat_loop.display.sanitizer import cut_to, printable, without_controls, wrapped
from chat_loop.display.screen import SOON_SECONDS
from chat_loop.errors import ChatLoopError, OutputError
from chat_loop.events import (
    FIRST_RETRY,
    Event,
    Finished,
    Retrying,
    SessionFound,
    TextDelta,
    Warned,
)
from chat_loop.terminal import columns, screen_size
from chat_loop.values import size_text

if TYPE_CHECKING:
    from chat_loop.display.reply import ReplyText

T = TypeVar("T")
DRAWN_SECONDS = 0.1  # the shortest pause between two updates of a progress line


def out(text: str | bytes) -> None:
    """Write to standard output. Raises OutputError, but BrokenPipeError for a closed pipe."""
    try:
        if sys.stdout.isatty():
            if isinstance(text, bytes):
                text = text.decode("utf-8", "replace")
            sys.stdout.write(printable(text))
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
    if width > 0:
        text = wrapped(text, width, indent)
    out(f"{text}\n")


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
    if is_sure:
        return choice_of(question, answer) or ""
    return ""


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
    if isinstance(value, datetime):
        return value.isoformat()
    return str(value)


class PlainDisplay:
    """Shows events where there is no chat: replies on standard output, and problems on standard
    error. With `as_json`, each event is a line of JSON on standard output instead.

    A terminal gets a reply rendered in the colors of `theme`, unless that is empty. A pipe gets it
    as the model wrote it, but with control codes made visible, since a terminal may be behind it.
    """

    def __init__(self, theme: str = "", *, wraps: bool = True, as_json: bool = False) -> None:
        self._as_json = as_json
        self._rendered: ReplyText | None = None
        if theme and sys.stdout.isatty() and os.environ.get("TERM") != "dumb":
            from chat_loop.display.reply import ReplyText, markdown_on  # scripts do not wait for it

            self._rendered = ReplyText(_write_on, markdown_on(sys.stdout, theme, wraps=wraps))
        self._held = ""  # a carriage return that may belong to a newline
        self._has_begun = self._after_tools = False
        """The reply has begun; its next text follows a tool call, and so needs a new paragraph."""
        self._warnings: list[Event] = []
        self._is_broken = False
        """Standard output has failed, and gets nothing any more."""

    def show(self, event: Event) -> None:
        """Show an event, but no warning twice. Raises as `out`, once."""
        if isinstance(event, Warned):
            if event in self._warnings:
                return
            self._warnings.append(event)
        if self._as_json:
            name = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", type(event).__name__).lower()
            self._put(out_json, {"event": name, **asdict(event)})
            return
        match event:
            case TextDelta(text):
                if self._after_tools:
                    text = f"\n\n{text}"
                self._put(self._feed, text)
                self._has_begun = True
                self._after_tools = False
            case Finished():
                self._after_tools = event.stop == "tool" and self._has_begun
            case SessionFound() if event.damage:
                err(f"Session {event.id} is damaged: {event.damage[0]}")
            case Warned():
                err(" ".join(filter(None, (event.message, event.hint))))
            case Retrying() if event.attempt == FIRST_RETRY:
                err(f"{event.reason} Trying again ({event.attempt}/{event.attempts}).")

    def fail(self, error: ChatLoopError) -> None:
        """Print the event of an error that ends a run, with `as_json`. Raises as `out`."""
        if self._as_json:
            value = {"event": "error", "message": error.message, "hint": error.hint}
            self._put(out_json, value)

    async def settle(self) -> None:
        """Wait until the reply up to now is drawn."""
        if self._rendered is not None:
            await self._rendered.settle()

    def end(self, *, stopped: bool) -> None:
        """End the reply; if it was `stopped`, without what is not drawn. Raises as `out`."""
        self._put(self._finish, stopped)

    def _put(self, write: Callable[[T], None], value: T) -> None:
        if self._is_broken:
            return
        try:
            write(value)
        except (BrokenPipeError, OutputError):
            self._is_broken = True
            raise

    def _feed(self, text: str) -> None:
        """Write the next piece of a reply, or keep it to be drawn."""
        if self._rendered is not None:
            self._rendered.feed(text)
            return
        text = self._held + text
        self._held = "\r" if text.endswith("\r") else ""
        out(without_controls(text.removesuffix(self._held)))

    def _finish(self, stopped: bool) -> None:
        if self._has_begun:
            self._feed("\n")
        held = self._held
        self._held = ""
        if held:
            out(without_controls(held))
        rendered = self._rendered
        if rendered is not None:
            if stopped:
                rendered.drop()
            rendered.finish()
            if rendered.begun:
                _write_on("\n")  # a rendered reply has no newline at its end


def _write_on(text: str) -> None:
    """Write text that has its styles already."""
    sys.stdout.write(text)
    sys.stdout.flush()


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
