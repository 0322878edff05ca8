"""The composer: one application at the bottom of the terminal, which runs as long as the chat.

It shows the lines that still change, the line that the user types, and the status. The user can
type while a reply streams.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import signal
import sys
import time
from collections import deque
from collections.abc import AsyncIterator, Callable, Mapping
from pathlib import Path
from typing import cast

from prompt_toolkit import filters
from prompt_toolkit.application import in_terminal, set_app
from prompt_toolkit.buffer import Buffer
from prompt_toolkit.completion import DynamicCompleter, ThreadedCompleter
from prompt_toolkit.cursor_shapes import ModalCursorShapeConfig, SimpleCursorShapeConfig
from prompt_toolkit.document import Document
from prompt_toolkit.enums import DEFAULT_BUFFER, EditingMode
from prompt_toolkit.filters import Always, Condition, Filter, is_searching
from prompt_toolkit.input.typeahead import get_typeahead, store_typeahead
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent, merge_key_bindings
from prompt_toolkit.output import ColorDepth
from prompt_toolkit.styles import Style

from chat_loop.display.nonblocking import drain
from chat_loop.display.questions import Question
from chat_loop.display.sanitizer import printable
from chat_loop.display.screen import Screen
from chat_loop.errors import ChatLoopError
from chat_loop.input import editor
from chat_loop.input.bottom import Bottom, BottomApplication, Shown, question_rows, text_size
from chat_loop.input.bursts import BurstInput
from chat_loop.input.frames import FrameOutput
from chat_loop.input.history import PrivateHistory
from chat_loop.input.host import Host
from chat_loop.input.keys import AltKeys, Mode, Pastes, bindings, end_line
from chat_loop.input.layout import composer_layout
from chat_loop.input.lines import EDIT_HINT, EntryReader, clean
from chat_loop.input.pasting import Pasting
from chat_loop.input.pictures import Pictures
from chat_loop.input.queued import Queued, TypedEntry
from chat_loop.input.start import InstantPrompt
from chat_loop.input.terminals import backs_over_wraps, can_be_asked, key_protocol, marks_pastes
from chat_loop.tasks import report_bug
from chat_loop.terminal import Modes, Terminal
from chat_loop.values import Picture

MENU_OPENERS = re.compile(r"[/#]\S*|(?:[/#]resume|resume) .*|(?:.*\s)?@\S*", re.DOTALL)
"""Text before the cursor that opens the menu as it is typed: a command, a session, or a file."""
MENU_SECONDS = 0.08
"""The pause in typing after which the menu opens."""
EDITED_CHARACTERS = 20_000
EDITED_LINES = 200
"""Larger texts from an editor are folded."""
ESCAPE_SECONDS = 0.1
"""The time that Escape waits for the rest of a key sequence."""
STYLES = {
    "prompt": "bold ansigreen",
    "placeholder": "dim",
    "queued": "dim",
    "choices": "dim",
    "choices.chosen": "nodim bold",
    "status": "dim",
}
TWICE_SECONDS = 1.5
"""Ctrl-C pressed again within this time quits."""
BACK = "/rewind"
"""What Escape twice on an empty line enters."""
HELD_HINT = "not sent: Enter sends, Up edits them"


Context = dict[str, object]
"""What asyncio tells an exception handler of a loop."""


class Composer(EntryReader):
    """Reads entries below everything that the chat prints on `screen`.

    `host` is the chat. `instant` is the prompt that was drawn before this module was loaded.
    `close` restores the silenced `terminal`. `keys` is "vi" or "emacs". Escape twice on an empty
    line enters `BACK`.
    """

    has_editor = True
    _is_new = True
    """True until the user types something."""
    _leaves = False
    """True after Ctrl-D: the chat ends when no message waits any more."""
    _hidden = False
    _is_lent = False
    """True while another program, or the shell, has the terminal."""

    def __init__(
        self,
        screen: Screen,
        host: Host,
        *,
        history: Path,
        instant: InstantPrompt | None,
        terminal: Terminal,
        keys: str,
    ) -> None:
        self._screen = screen
        self._host = host
        self._instant = instant
        self._terminal = terminal
        self._output = cast(
            FrameOutput, FrameOutput.from_pty(sys.stdout, term=os.environ.get("TERM"))
        )
        self._output.key_protocol = key_protocol(os.environ)
        self._output.backs_over_wraps = backs_over_wraps(os.environ)
        self._output.enable_cpr = False  # the cursor's position is not needed; some never answer
        self._entries = deque[TypedEntry | KeyboardInterrupt]()
        """What `read` returns or raises before the queued messages."""
        self._queued = Queued()
        self._arrived = asyncio.Event()
        self._last_entry = TypedEntry("", [])
        self._busy = True
        """True while the chat works; entries are queued."""
        self._key_at = time.monotonic()
        self._modes: Modes = []
        """The terminal's settings while keys are read."""
        self._question: Question | None = None
        self._answer: asyncio.Future[str] | None = None
        """Receives the answer to the question; None while there is no question."""
        self._menu_timer: asyncio.TimerHandle | None = None
        self._completes_later = False
        """True if Tab was pressed while the menu is loaded: its first choice is taken then."""
        self._interrupted_at = -TWICE_SECONDS
        """The monotonic time of the last Ctrl-C; typing resets it."""
        self._escaped_at = -TWICE_SECONDS
        """The same of Escape on an empty line."""
        self._pastes = Pastes()
        self._pictures = Pictures(host.image_count)
        self._mode = Mode()
        self._history = PrivateHistory(history, self._has_names)
        self._line = self._make_line()
        self._pasting = Pasting(self._line, host, self._pastes, self._pictures, self._end_line)
        self._answer_line = Buffer(multiline=False, accept_handler=self._accept_answer)
        self._bottom = Bottom(
            screen,
            self._output,
            host,
            self._shown,
            instant=instant,
            asks_for_pastes=can_be_asked(os.environ),
        )
        vi = keys == "vi"
        line_keys = bindings(
            self._mode,
            edit=self._edit_line,
            paste=self._pasting.paste,
            paste_clipboard=self._pasting.paste_clipboard,
            names=lambda: (*self._pastes.folded, *self._pictures.named),
        )
        own_keys = merge_key_bindings([line_keys, self._bindings()])
        works = Condition(lambda: self._busy or self._question is not None)
        # in vi, Escape often comes together with the command behind it
        prefixes = filters.vi_mode & (filters.vi_insert_mode | ~works)
        self._input = BurstInput(
            sys.stdin,
            takes_text=~filters.vi_navigation_mode,
            takes_alt=AltKeys(own_keys, prefixes),
            line=lambda: self._line.text,
            is_command=host.is_command,
            marks_pastes=marks_pastes(os.environ),
        )
        self._app = BottomApplication(
            layout=composer_layout(
                self._line,
                self._answer_line,
                lambda: self._bottom.rows,
            ),
            style=Style.from_dict(STYLES),
            include_default_pygments_style=False,
            editing_mode=EditingMode.VI if vi else EditingMode.EMACS,
            cursor=ModalCursorShapeConfig() if vi else SimpleCursorShapeConfig(),
            key_bindings=own_keys,
            input=self._input,
            output=self._output,
            color_depth=ColorDepth.DEPTH_1_BIT if os.environ.get("NO_COLOR") else None,
            erase_when_done=True,
            reverse_vi_search_direction=True,
        )
        self._app.ttimeoutlen = ESCAPE_SECONDS
        self._app.after_render += lambda _: self._note_drawn()
        self._running: asyncio.Task[None] | None = None
        self._stop_work: Callable[[], object] = lambda: None
        """Stops the running work."""
        self._report_others: Callable[[asyncio.AbstractEventLoop, Context], object] | None = None
        """The loop's handler of exceptions, for those that are not of the terminal."""

    def _make_line(self) -> Buffer:
        line = Buffer(
            name=DEFAULT_BUFFER,
            history=self._history,
            completer=ThreadedCompleter(DynamicCompleter(self._host.completer)),
            multiline=False,
            accept_handler=self._accept,
        )
        line.on_text_changed += lambda _: self._note_typing()
        line.on_text_insert += lambda _: self._note_insertion()
        line.on_completions_changed += lambda _: self._complete_pending()
        return line

    # The life of the application

    async def start(self, stop: Callable[[], object]) -> None:
        """Draw the composer, and read keys from now on; `stop` stops the running work."""
        self._stop_work = stop
        loop = asyncio.get_running_loop()
        self._report_others = loop.get_exception_handler()
        loop.set_exception_handler(self._fail)
        if self._instant is not None:
            store_typeahead(self._input, self._input.keys_of(self._instant.take()))
        self._running = loop.create_task(
            self._app.run_async(handle_sigint=False, set_exception_handler=False)
        )
        self._running.add_done_callback(self._ended)
        self._handle_stops(True)
        self._bottom.start(self._app)

    async def close(self) -> None:
        if self._running is not None:
            if self._app.is_running and not self._app.is_done:
                self._app.exit()
            await asyncio.wait({self._running})
            report_bug(self._running)
            self._handle_stops(False)
            if self._menu_timer is not None:
                self._menu_timer.cancel()
            await self._pasting.stop()
            with contextlib.suppress(OSError):  # the terminal is gone
                self._bottom.close()
        self._terminal.restore()

    def _fail(self, loop: asyncio.AbstractEventLoop, context: Context) -> None:
        """End the application when reading or drawing fails because the terminal is gone."""
        error = context.get("exception")
        if not (isinstance(error, OSError) and "handle" in context):
            if self._report_others is None:
                loop.default_exception_handler(context)
            else:
                self._report_others(loop, context)
        elif self._app.is_running and not self._app.is_done:
            self._app.exit(exception=error)

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._arrived.set()
        if self._answer is not None:
            self._refuse(EOFError())

    # Reading

    async def read(self) -> str:
        """Return the next entry. Raises EOFError on Ctrl-D and KeyboardInterrupt on Ctrl-C, both on
        an empty line.
        """
        assert self._running is not None
        self._screen.end_exchange()
        self._busy = False
        self._bottom.forget_status()
        self._key_at = time.monotonic()
        if not self._line.text:
            self._app.vi_state.reset()
        self._app.invalidate()
        try:
            while (entry := self._next_entry()) is None:
                if self._running.done():
                    self._running.result()
                    raise EOFError
                self._arrived.clear()
                await self._arrived.wait()
        finally:
            self._busy = True
            self._app.invalidate()
        self._last_entry = entry
        self._host.echo(entry.text)
        typed = entry.text
        for paste in entry.pastes:
            typed = typed.replace(paste, " ", 1)
        self.pictures = self._pictures.pasted(typed)
        self.typed = clean(self._pictures.expand(typed))
        return clean(self._pastes.expand(self._pictures.expand(entry.text)))

    def _has_names(self, text: str) -> bool:
        return self._pastes.has(text) or self._pictures.has(text)

    def _next_entry(self) -> TypedEntry | None:
        """Return what was entered next, if anything was. Raises as `read`."""
        if self._entries:
            entry = self._entries.popleft()
            if isinstance(entry, KeyboardInterrupt):
                raise entry
            return entry
        queued = self._queued.next()
        if queued is None and self._leaves:
            raise EOFError
        return queued

    @property
    def idle_seconds(self) -> float:  # type: ignore[override]
        return time.monotonic() - self._key_at

    def _note_typing(self) -> None:
        self._is_new = False
        self._completes_later = False
        self._key_at = time.monotonic()
        self._interrupted_at = -TWICE_SECONDS  # the next Ctrl-C counts as the first
        self._escaped_at = -TWICE_SECONDS

    def put_back(self) -> None:
        self._pause_queue(self._last_entry)

    def offer(self, text: str, hint: str = EDIT_HINT) -> bool:
        self._keep_draft()
        self._pause_queue(TypedEntry(self._pastes.fold(text, EDITED_CHARACTERS, EDITED_LINES), []))
        self._mode.offered = True
        self._mode.hint = hint
        return True

    def enter(self, text: str) -> None:
        self._entries.append(TypedEntry(clean(text), []))

    def pause_queue(self) -> None:
        self._pause_queue()

    def _pause_queue(self, *entries: TypedEntry) -> None:
        """Let `entries` and the queued messages wait for the user; take the first into the line
        unless something is typed there.
        """
        entered = [entry for entry in self._entries if isinstance(entry, TypedEntry)]
        self._entries.clear()
        self._queued.hold(*entries, *entered)
        if self._queued and not (self._line.text or self._queued.is_edited):
            self._edit_entry(self._queued.first())

    def _typed_entry(self) -> TypedEntry:
        return TypedEntry(self._line.text, self._pastes.shown)

    def _edit_entry(self, entry: TypedEntry) -> None:
        """Put an entry into the line."""
        self._pastes.shown = entry.pastes
        self._line.document = Document(entry.text)

    def _edit_before(self) -> None:
        self._edit_entry(self._queued.before(self._typed_entry()))

    def _edit_after(self) -> None:
        self._edit_entry(self._queued.after(self._typed_entry()))

    def _keep_draft(self) -> None:
        """Empty the line. Up brings back what was typed there."""
        if self._line.text:
            self._history.keep_draft(self._line.text)
        self._line.reset()
        self._pastes.shown = []
        self._queued.drop()

    async def ask(self, question: Question) -> str:
        """Show the question instead of the line, which keeps the text typed there."""
        self._question = question
        answer = self._answer = asyncio.get_running_loop().create_future()
        self._app.layout.focus(self._answer_line)
        self._app.invalidate()
        try:
            return clean(await answer)
        finally:
            if self._answer is answer:  # the caller was stopped
                self._end_question("")

    def give_back(self, text: str) -> None:
        self._line.document = Document("\n".join(filter(None, (text, self._line.text))))

    def know(self, pictures: Mapping[str, Picture]) -> None:
        self._pictures.know(pictures)

    def screen_size(self) -> tuple[int, int]:
        return text_size(self._output.get_size())

    def _shown(self) -> Shown:
        hint = self._mode.hint
        if not hint and self._queued.is_held and self._queued:
            hint = HELD_HINT
        return Shown(
            is_busy=self._busy,
            is_new=self._is_new,
            is_hidden=self._hidden,
            question=self._question,
            queued=self._queued.texts,
            hint=hint,
        )

    def _note_drawn(self) -> None:
        if not self._modes and not self._app.is_done:
            self._modes = self._terminal.modes()
        self._host.ready()

    def _bindings(self) -> KeyBindings:
        """Return the keys that stop work, quit, suspend, and edit queued messages."""
        keys = KeyBindings()
        mode = self._mode
        at_line = filters.has_focus(DEFAULT_BUFFER)
        is_asked = Condition(lambda: self._question is not None)
        is_busy = Condition(lambda: self._busy) & ~is_asked
        is_alone = Condition(lambda: not self._app.key_processor.input_queue)  # else an Alt key
        is_escape = is_alone & ~filters.vi_insert_mode
        is_empty = Condition(lambda: not self._app.current_buffer.text)
        is_multiline = Condition(lambda: mode.multiline)
        is_edited = Condition(lambda: self._queued.is_edited)
        is_first_row = Condition(lambda: self._line.document.on_first_line)
        is_last_row = Condition(lambda: self._line.document.on_last_line)
        has_queued = Condition(lambda: bool(self._queued)) & is_empty & ~is_multiline
        can_move = at_line & ~filters.has_completions & ~is_searching

        @keys.add("c-c", filter=at_line)
        @keys.add("c-d", filter=at_line & is_empty & is_multiline)
        def give_up(event: KeyPressEvent) -> None:
            if not (self._line.text or mode.multiline):
                self._press_ctrl_c()
            elif mode.offered:
                self._interrupt()
            self._keep_draft()
            mode.reset()

        def bind(key: str, condition: Filter, act: Callable[[], None], eager: bool = False) -> None:
            keys.add(key, filter=condition, eager=eager)(lambda _: act())

        bind("c-c", is_busy | ~at_line & ~is_searching, self._press_ctrl_c)
        bind("escape", (is_busy | is_asked) & is_escape, self._interrupt, eager=True)
        is_idle = at_line & is_empty & ~is_busy & ~is_asked & ~is_multiline & ~is_searching
        bind("escape", is_idle & is_escape, self._press_escape, eager=True)
        close_menu = self._line.cancel_completion
        bind("escape", at_line & filters.has_completions & is_escape, close_menu, eager=True)
        bind("c-\\", Always(), lambda: signal.raise_signal(signal.SIGQUIT))
        bind("c-d", is_empty & ~is_searching & ~is_multiline, lambda: self._refuse(EOFError()))
        bind("up", can_move & (has_queued | is_edited & is_first_row), self._edit_before)
        bind("down", can_move & is_edited & is_last_row, self._edit_after)
        bind("c-z", Always(), self._suspend)
        bind("tab", at_line & Condition(self._loads_menu), self._complete_later)
        is_pasting = Condition(lambda: bool(self._pasting))
        bind("enter", at_line & is_pasting, self._pasting.enter_later)
        return keys

    def _note_insertion(self) -> None:
        self._pasting.stay()
        self._open_menu_soon()

    def _end_line(self) -> None:
        end_line(self._line, self._mode)

    def _open_menu_soon(self) -> None:
        """Open the menu when nothing more is typed for a moment."""
        # Not at each key: a Tab could not insert what all choices have in common while they load.
        if self._menu_timer is not None:
            self._menu_timer.cancel()
        self._menu_timer = asyncio.get_running_loop().call_later(MENU_SECONDS, self._open_menu)

    def _open_menu(self) -> None:
        line = self._line
        if not line.complete_state and MENU_OPENERS.fullmatch(line.document.text_before_cursor):
            line.start_completion()

    def _loads_menu(self) -> bool:
        state = self._line.complete_state
        return state is not None and not state.completions

    def _complete_later(self) -> None:
        self._completes_later = True

    def _complete_pending(self) -> None:
        """Do what a Tab asked for that came before the choices, unless more was typed since."""
        if self._loads_menu():
            return
        if self._completes_later and self._line.complete_state is not None:
            self._line.complete_next()
        self._completes_later = False

    def _press_escape(self) -> None:
        """Show the user's messages when Escape is pressed twice."""
        now = time.monotonic()
        twice = now - self._escaped_at < TWICE_SECONDS
        self._escaped_at = -TWICE_SECONDS if twice else now
        if twice:
            self.enter(BACK)
            self._arrived.set()

    def _accept(self, buffer: Buffer) -> bool:
        if self._busy and self._host.stops(buffer.text):
            self._stop_for(buffer.text)
            return bool(self._line.text)  # the line may have a queued message now
        is_open = self._busy and not self._queued.is_edited and not self._pictures.has(buffer.text)
        is_taken = is_open and self._host.answers(buffer.text)
        if not is_taken:
            self._enter(self._typed_entry(), is_answer=self._mode.offered)
        self._pastes.shown = []
        self._mode.reset()
        self._app.vi_state.reset()
        self._arrived.set()
        return False

    def _enter(self, entry: TypedEntry, *, is_answer: bool) -> None:
        """Take what was typed as the next entry, or as a queued message. An empty one lets queued
        messages go, unless it `is_answer` to an offered text.
        """
        queued = self._queued
        if queued.is_edited and entry.text:
            queued.add(entry)
            queued.is_held = False
        elif self._busy and entry.text:
            queued.add(entry)
        elif entry.text or is_answer or not (self._busy or queued):
            queued.drop()
            self._entries.append(entry)
        else:
            queued.drop()
            queued.is_held = False

    def _stop_for(self, text: str) -> None:
        """Stop what runs, and make `text` the next entry. What was queued was meant for the
        conversation as it was, and waits for the user.
        """
        self._line.reset()
        self._queued.drop()
        self._pause_queue()
        self._entries.append(TypedEntry(text, []))
        self._arrived.set()
        self._interrupt()

    def _accept_answer(self, buffer: Buffer) -> bool:
        answer = self._answer
        text = buffer.text
        self._end_question(text)
        if answer is not None:
            answer.set_result(text)
        return False

    def _end_question(self, answer: str) -> None:
        """Print the question and its answer; the next keys go to the line again."""
        if self._question is not None:
            size = self._output.get_size()
            drawn = question_rows(self._question, size, self._screen.encoding)
            rows = "".join(f"{row}\n" for row, _ in drawn.rows)
            self._screen.write(f"{rows}{drawn.prompt}{printable(answer)}\n")
        self._answer = None
        self._question = None
        self._answer_line.reset()
        self._app.layout.focus(self._line)
        self._app.invalidate()

    def _refuse(self, error: KeyboardInterrupt | EOFError) -> None:
        """Raise an error from `ask` while it waits, else from `read`."""
        answer = self._answer
        if answer is not None:
            self._end_question("")
            answer.set_exception(error)
            return
        if isinstance(error, KeyboardInterrupt):
            self._entries.append(error)
        else:
            self._leaves = True
        self._arrived.set()

    def _press_ctrl_c(self) -> None:
        """Stop the running work; pressed twice, leave the chat as Ctrl-D does."""
        now = time.monotonic()
        twice = now - self._interrupted_at < TWICE_SECONDS
        self._interrupted_at = now
        if twice:
            self._refuse(EOFError())
        else:
            self._interrupt()

    def _interrupt(self) -> None:
        """Stop the running work. If `read` or `ask` waits, raise KeyboardInterrupt from it."""
        if self._busy and self._answer is None:
            self._stop_work()  # not by a signal, which could arrive during the next work
        else:
            self._refuse(KeyboardInterrupt())

    def refresh(self) -> None:
        self._bottom.forget_status()
        self._app.invalidate()

    def hide(self) -> None:
        self._hidden = True
        self._app.invalidate()

    # Other programs on the terminal

    async def edit(self, text: str) -> str:
        async with self.release_terminal():
            return await editor.edit_text(text)

    @contextlib.asynccontextmanager
    async def release_terminal(self) -> AsyncIterator[None]:
        with set_app(self._app):
            self._bottom.erase()
            self._is_lent = True
            try:
                async with in_terminal():
                    sys.stdout.write(self._screen.take())
                    drain(sys.stdout)
                    yield
            finally:
                self._is_lent = False
        self._app.key_processor.feed_multiple(get_typeahead(self._app.input))
        self._app.key_processor.process_keys()

    async def _edit_line(self, buffer: Buffer) -> None:
        """Edit the line in the user's editor, with its pastes expanded."""
        try:
            text = self._pastes.expand_for_edit(self._pictures.expand(buffer.text))
            text = clean(await self.edit(text))
        except ChatLoopError as error:
            self._host.show_error(error)
            return
        buffer.document = Document(self._pastes.fold(text, EDITED_CHARACTERS, EDITED_LINES))

    def _suspend(self) -> None:
        """Give the terminal back and stop, as on Ctrl-Z, until the user continues the program."""
        if not self._is_lent:
            self._is_lent = True
            self._bottom.erase()
            self._app.create_background_task(self._stop())

    async def _stop(self) -> None:
        """Stop with all processes of the job, as the terminal would have stopped them."""
        try:
            async with in_terminal():
                self._handle_stops(False)
                os.kill(0, signal.SIGTSTP)
                self._handle_stops(True)
        finally:
            self._is_lent = False

    def _handle_stops(self, handles: bool) -> None:
        """Handle the signals that stop and continue the program, or leave them to the system."""
        loop = asyncio.get_running_loop()
        for number, act in ((signal.SIGTSTP, self._suspend), (signal.SIGCONT, self._continue)):
            if handles:
                loop.add_signal_handler(number, act)
            else:
                loop.remove_signal_handler(number)

    def _continue(self) -> None:
        """Set the terminal's modes again and draw, after a stop that gave nothing back."""
        if self._is_lent or not self._app.is_running:
            return
        self._terminal.set_modes(self._modes)
        self._bottom.draw_again()
