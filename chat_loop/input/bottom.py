"""Draws the bottom of the screen: a question, or the queued messages, the line and the status.

The composer says what there is to show. Everything that is printed above is drawn here as well,
because both share the terminal. docs/architecture.md follows a number from the chat to the screen.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

from msgspec import Struct
from msgspec.structs import replace
from prompt_toolkit.application import Application
from prompt_toolkit.data_structures import Size
from prompt_toolkit.formatted_text import StyleAndTextTuples

from chat_loop.characters import one_line
from chat_loop.display.questions import Drawn, Question, draw
from chat_loop.display.sanitizer import cut_to, in_encoding
from chat_loop.display.screen import Screen
from chat_loop.display.status import Status, status_line
from chat_loop.input.frames import FrameOutput
from chat_loop.input.host import Host
from chat_loop.input.layout import Rows
from chat_loop.input.start import InstantPrompt
from chat_loop.input.terminals import PASTE_QUESTION
from chat_loop.terminal import PROMPT

NARROW = 40
"""Below this many columns there is no status line."""
PLACEHOLDER = "Type a message, or ? for shortcuts"
QUEUED_SIGN = "   → "
MOST_QUEUED = 5
"""The most rows of queued messages above the line."""
STATUS_SECONDS = 1.0


class Shown(Struct, frozen=True, kw_only=True):
    """What the composer has to show now. A `hint` stands in the place of the status. The line is
    new until something is typed.
    """

    is_busy: bool
    is_new: bool
    is_hidden: bool
    question: Question | None
    queued: Sequence[str]
    hint: str


def rows_of(shown: Shown, status: Status, size: Size, encoding: str) -> Rows:
    """Return what is drawn at a size of the terminal."""
    question = shown.question
    has_room = size.columns > len(f"{PROMPT}{PLACEHOLDER}")
    return Rows(
        prompt=_prompt(encoding, is_busy=shown.is_busy),
        placeholder=PLACEHOLDER if shown.is_new and has_room and not shown.is_busy else "",
        question=None if question is None else question_rows(question, size, encoding),
        queued=_queued_rows(shown.queued, size, encoding),
        status=_status_row(status, shown.hint, size, encoding),
        is_hidden=shown.is_hidden,
    )


def text_size(size: Size) -> tuple[int, int]:
    """Return the columns and rows for a question: one column stays free."""
    return max(1, size.columns - 1), size.rows


def question_rows(question: Question, size: Size, encoding: str) -> Drawn:
    """Return a question as it is drawn at a size of the terminal."""
    drawn = draw(question, *text_size(size))
    rows = tuple((in_encoding(row, encoding), style) for row, style in drawn.rows)
    return replace(drawn, rows=rows, prompt=in_encoding(drawn.prompt, encoding))


def _prompt(encoding: str, *, is_busy: bool) -> StyleAndTextTuples:
    """Return the prompt; while the chat works it ends in an ellipsis."""
    if not is_busy:
        return [("class:prompt", PROMPT)]
    ellipsis = "…" if "utf" in encoding.lower() else "."
    return [("dim", PROMPT.replace(":", ellipsis))]


def _queued_rows(texts: Sequence[str], size: Size, encoding: str) -> list[str]:
    """Return a row for each of the last queued messages."""
    most = min(MOST_QUEUED, size.rows // 4)
    if not most:
        return []
    texts = [one_line(text) for text in texts]
    if len(texts) > most:
        hidden = len(texts) - most + 1
        texts = [f"{hidden} more queued", *texts[hidden:]]
    return [_cut(f"{QUEUED_SIGN}{text}", size, encoding) for text in texts]


def _status_row(status: Status, hint: str, size: Size, encoding: str) -> str:
    if size.columns < NARROW or size.rows < 4:
        return ""
    text = hint or status_line(status, status.parts, size.columns - 2)
    if text:
        return _cut(f" {text}", size, encoding)
    return ""


def _cut(text: str, size: Size, encoding: str) -> str:
    """Return a text in the terminal's encoding, cut to its width."""
    ellipsis = in_encoding("…", encoding)[:1]
    return cut_to(in_encoding(text, encoding), size.columns, ellipsis)


class BottomApplication(Application[None]):
    """An application that a new size makes draw, and erases nothing before."""

    def _on_resize(self) -> None:
        # the toolkit would go up by rows of the old size; `FrameOutput` knows better
        self.invalidate()


class Bottom:
    """Draws what `shown()` returns on `output`, and above it what is printed on `screen`.

    `instant` is the prompt that was drawn before this module was loaded. If it `asks_for_pastes`,
    the terminal is asked once whether it marks them.
    """

    _app: Application[None]

    def __init__(
        self,
        screen: Screen,
        output: FrameOutput,
        host: Host,
        shown: Callable[[], Shown],
        *,
        instant: InstantPrompt | None,
        asks_for_pastes: bool,
    ) -> None:
        self._screen = screen
        self._output = output
        self._host = host
        self._shown = shown
        self._instant = instant
        self._asks_for_pastes = asks_for_pastes
        self._status: Status | None = None
        self._is_paint_due = False
        self._timer: asyncio.TimerHandle | None = None
        self.rows = Rows(prompt=[])
        """What is drawn, or was drawn last."""

    def start(self, app: Application[None]) -> None:
        """Draw the bottom as part of an application that runs."""
        self._app = app
        app.before_render += lambda _: self._before_render()
        app.after_render += lambda _: self._after_render()
        loop = asyncio.get_running_loop()
        self._screen.attach(lambda: self._paint_soon(loop))

    def close(self) -> None:
        """Print what is left directly. Raises OSError if the terminal is gone."""
        if self._timer is not None:
            self._timer.cancel()
        self._output.release()
        self._screen.detach()

    def erase(self) -> None:
        """Erase everything that is drawn below the settled text."""
        self._return_to_start()
        self._output.erase_rows()

    def forget_status(self) -> None:
        """Ask for the status again, which may have changed."""
        self._status = None

    def draw_again(self) -> None:
        """Draw everything, because another program has used the terminal since."""
        self._output.forget()
        self._app.renderer.reset()
        self._app.invalidate()

    def _return_to_start(self) -> None:
        """Go to the start of the frame, if there is one. The next drawing takes its place."""
        renderer = self._app.renderer
        if renderer.last_rendered_screen is not None:
            self._output.return_to_start()
        renderer.reset()

    def _paint_soon(self, loop: asyncio.AbstractEventLoop) -> None:
        if not self._is_paint_due:
            self._is_paint_due = True
            loop.call_soon_threadsafe(self._paint)

    def _paint(self) -> None:
        """Print above the composer, which is rendered again only if it has changed."""
        self._is_paint_due = False
        drawn = self._app.renderer.last_rendered_screen
        # what is printed while the chat is idle, such as a warning, may change the status
        changes = self._app.invalidated or not self._shown().is_busy
        if drawn is None or changes or not self._output.can_repeat():
            self._app.invalidate()
            return
        live = self._live_rows(self._output.get_size(), drawn.height)
        self._output.repeat_frame(self._screen.take(), live)
        self._draw_later()

    def _live_rows(self, size: Size, height: int) -> list[str]:
        """Return the last of the changing rows that fit above a composer of `height` rows."""
        # Keep one row of settled text: tmux saves text that is erased from the first row on.
        rows = size.rows - height - 1
        if not self._screen.shows_below:
            rows = min(size.rows // 3, rows)
        live = self._screen.live(size.columns, rows)
        if live:
            return live.split("\n")
        return []

    def _before_render(self) -> None:
        """Print above the composer, which is then drawn again below it."""
        output = self._output
        text = self._screen.take()
        size = output.get_size()
        shown = self._shown()
        if self._status is None or not shown.is_busy:
            self._status = self._host.status()
        self.rows = rows_of(shown, self._status, size, self._screen.encoding)
        live: list[str] = []
        if not self._app.is_done:
            height = self._app.layout.container.preferred_height(size.columns, size.rows).preferred
            live = self._live_rows(size, height)
        if not (text or self._instant) and output.shows(live):
            return  # only the differences are drawn
        output.hold()
        if self._instant is not None:
            output.write_raw(self._instant.erasure())
            self._instant = None
        if self._asks_for_pastes:
            self._asks_for_pastes = False
            # the line is erased where a terminal shows the question instead
            output.write_raw(f"{PASTE_QUESTION}\r\x1b[K")
        self._return_to_start()
        output.print_above(text, live)

    def _after_render(self) -> None:
        drawn = self._app.renderer.last_rendered_screen
        row = 0
        if drawn is not None:
            row = drawn.get_cursor_position(self._app.layout.current_window).y
        self._output.end_frame(row)
        self._draw_later()

    def _draw_later(self) -> None:
        """Schedule the next drawing if the waiting line or the status changes by itself."""
        seconds = None
        if self._shown().is_busy:
            seconds = self._screen.waiting.next_turn()
        draw = self._paint
        if seconds is None and self._host.status_changes():
            seconds = STATUS_SECONDS
            draw = self._app.invalidate
        if self._timer is not None:
            self._timer.cancel()
        if seconds is not None:
            self._timer = asyncio.get_running_loop().call_later(seconds, draw)
