"""Key bindings that the editor does not have by itself."""

from __future__ import annotations

import asyncio
import select
from collections.abc import Callable, Coroutine
from typing import Any

from prompt_toolkit.application import Application, get_app
from prompt_toolkit.buffer import Buffer
from prompt_toolkit.document import Document
from prompt_toolkit.enums import DEFAULT_BUFFER
from prompt_toolkit.filters import (
    Condition,
    Filter,
    emacs_insert_mode,
    emacs_mode,
    has_focus,
    has_selection,
    vi_insert_mode,
    vi_navigation_mode,
)
from prompt_toolkit.input import Input
from prompt_toolkit.input.ansi_escape_sequences import ANSI_SEQUENCES
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.key_binding.key_processor import KeyPress
from prompt_toolkit.keys import Keys
from wcwidth import iter_graphemes

from chat_loop.input.lines import MULTILINE_MARK, clean
from chat_loop.input.pastes import Pastes

PASTE_KEYS = 8
"""An Enter with this many keys behind it was pasted; nobody types so fast."""
FLOOD_KEYS = 64
"""From this many waiting keys on, they are inserted at once."""
MAX_GRAPHEME = 64
"""The most code points of one visible character."""
GRACE_SECONDS = 0.05
"""Enter at the end of a burst waits so long: only when more keys follow was it pasted."""
NEWLINES = ("\x1b\r", "\x1b\n", "\x1b[13;2u", "\x1b[13;3u", "\x1b[27;2;13~", "\x1b[27;3;13~")
"""Alt-Enter, and Shift-Enter and Alt-Enter of terminals that tell them from Enter: they are
Ctrl-J.
"""

ANSI_SEQUENCES.update(dict.fromkeys(NEWLINES, Keys.ControlJ))


class Lines:
    """The decision whether Enter ends the entry or only its line.

    `offered`: the line began with a text to be changed, which Ctrl-C gives up at once. `multiline`:
    it was opened with two backslashes, and an empty line ends it. `ahead`: what is read now was
    typed before the prompt stood; `waiting(seconds)`: more can be read within so long. `pasting`:
    what is read now is a paste. `flood`: what came of a paste that the terminal does not announce;
    it is put into the line when no more of it waits. `held`: an Enter at its end, which ends the
    entry unless more keys follow at once.
    """

    def __init__(self, waiting: Callable[[float], bool], pastes: Pastes) -> None:
        self.multiline = False
        self.offered = False
        self.ahead = True
        self.waiting = waiting
        self.pastes = pastes
        self.pasting = False
        self.flood: list[str] = []
        self.held: asyncio.TimerHandle | None = None

    def reset(self) -> None:
        """Reset the state for a new entry."""
        self.multiline = self.offered = False
        self.flood.clear()
        if self.held is not None:
            self.held.cancel()
            self.held = None

    def draw(self, buffer: Buffer) -> None:
        """Note that the screen is about to show the keys read so far."""
        if (self.ahead or self.pasting) and not self.waiting(0):
            self.ahead = False
            self.pasting = self.held is not None
            self.insert_flood(buffer)

    def insert_flood(self, buffer: Buffer) -> None:
        """Insert the pasted text into the line."""
        if self.flood:
            text = clean("".join(self.flood))
            self.flood.clear()
            given_up, shown = self.pastes.extend(buffer.document.text_before_cursor, text)
            buffer.delete_before_cursor(given_up)
            buffer.insert_text(shown)

    def continues(self, buffer: Buffer) -> bool:
        """Return True when Enter would not end the entry."""
        document = buffer.document
        if document.text == MULTILINE_MARK or self._is_paste():
            return True
        if self.multiline:
            return not document.is_cursor_at_the_end or bool(document.current_line.strip())
        return ends_with_backslash(document)

    def enter(self, buffer: Buffer) -> None:
        """Handle Enter: end the entry or its line, or wait for more keys."""
        if self.pasting and not (get_app().key_processor.input_queue or self.waiting(0)):
            self.hold(buffer)
        elif self.continues(buffer):
            self._continue(buffer)
        else:
            if self.multiline:
                buffer.document = Document(buffer.text.rstrip("\n"))
            buffer.validate_and_handle()

    def hold(self, buffer: Buffer) -> None:
        """Hold an Enter at the end of a burst of keys until it is clear whether more follow."""
        self.pasting = True
        self.held = asyncio.get_running_loop().call_later(
            GRACE_SECONDS, self._release, get_app(), buffer
        )

    def release_held(self, buffer: Buffer) -> None:
        """Insert a held Enter into the line: another key follows it."""
        if self.held is not None:
            self.held.cancel()
            self.held = None
            self.flood.append("\n")
            self.insert_flood(buffer)

    def _release(self, app: Application[str], buffer: Buffer) -> None:
        if not app.is_running or app.is_done:
            return
        if self.waiting(0):
            self.release_held(buffer)
            return
        self.held, self.pasting = None, False
        self.insert_flood(buffer)
        self.enter(buffer)

    def _continue(self, buffer: Buffer) -> None:
        """Handle Enter within an entry."""
        if self.flood:
            self.flood.append("\n")
        elif self.pasting or self.multiline:
            buffer.insert_text("\n")
        elif buffer.text == MULTILINE_MARK:
            buffer.reset()
            self.multiline = True
        else:
            buffer.delete_before_cursor()
            buffer.insert_text("\n")

    def is_flooded(self) -> bool:
        """Return True when more input waits than anybody can type."""
        return bool(self.flood) or (
            not self.ahead and len(get_app().key_processor.input_queue) >= FLOOD_KEYS
        )

    def _is_paste(self) -> bool:
        """A terminal may paste without saying so: then much follows an Enter at once. Typed ahead,
        each is one.
        """
        if not self.ahead and not self.pasting:
            keys = [
                press
                for press in get_app().key_processor.input_queue
                if press.key != Keys.CPRResponse
            ]
            self.pasting = len(keys) >= PASTE_KEYS or (bool(keys) and self.waiting(0))
        return self.pasting


def is_plain_key(press: KeyPress) -> bool:
    """Return True when a pasted key only inserts a character."""
    return press.key in (Keys.ControlM, Keys.ControlI) or (
        len(press.data) == 1 and press.data.isprintable()
    )


def ends_with_backslash(document: Document) -> bool:
    """Return True when an unescaped backslash ends the line before the cursor."""
    before = document.text_before_cursor
    return (
        document.is_cursor_at_the_end_of_line and (len(before) - len(before.rstrip("\\"))) % 2 == 1
    )


def has_input(source: Input, seconds: float) -> bool:
    """Return True when a terminal has input to read within so many seconds; False where that is
    unknown.
    """
    try:
        return bool(select.select([source.fileno()], [], [], seconds)[0])
    except (OSError, ValueError, NotImplementedError):
        return False


def bindings(
    lines: Lines,
    *,
    edit: Callable[[Buffer], Coroutine[Any, Any, None]],
) -> KeyBindings:
    """Return the keys of the line; `edit` opens it in the user's editor."""
    keys = KeyBindings()
    at_line = has_focus(DEFAULT_BUFFER)
    inserting = at_line & (emacs_insert_mode | vi_insert_mode)
    continues = Condition(lambda: lines.continues(get_app().current_buffer))
    in_multiline = Condition(lambda: lines.multiline)

    _add_pasting(keys, lines, inserting)
    _add_characters(keys, inserting)

    @keys.add("c-j", filter=inserting)
    def newline(event: KeyPressEvent) -> None:
        # Before the program had the terminal, Enter was sent as this.
        if event.data == "\n" and lines.ahead:
            enter(event)
        else:
            event.current_buffer.insert_text("\n")

    @keys.add("enter", filter=inserting & (continues | in_multiline))
    def enter(event: KeyPressEvent) -> None:
        lines.enter(event.current_buffer)

    async def editor(event: KeyPressEvent) -> None:
        await edit(event.current_buffer)

    keys.add("c-x", "c-e", filter=at_line & emacs_mode & ~has_selection)(editor)
    keys.add("v", filter=at_line & vi_navigation_mode)(editor)
    return keys


def _add_characters(keys: KeyBindings, inserting: Filter) -> None:
    """Bind the keys that move over or delete one visible character (a grapheme)."""

    @keys.add("left", filter=inserting)
    @keys.add("c-b", filter=inserting & emacs_mode)
    def left(event: KeyPressEvent) -> None:
        for _ in range(_repeat_count(event)):
            event.current_buffer.cursor_left(
                last_length(event.current_buffer.document.current_line_before_cursor)
            )

    @keys.add("right", filter=inserting)
    @keys.add("c-f", filter=inserting & emacs_mode)
    def right(event: KeyPressEvent) -> None:
        for _ in range(_repeat_count(event)):
            event.current_buffer.cursor_right(
                first_length(event.current_buffer.document.current_line_after_cursor)
            )

    @keys.add("c-h", filter=inserting)
    def backspace(event: KeyPressEvent) -> None:
        for _ in range(_repeat_count(event)):
            event.current_buffer.delete_before_cursor(
                last_length(event.current_buffer.document.text_before_cursor)
            )

    @keys.add("delete", filter=inserting)
    def delete(event: KeyPressEvent) -> None:
        for _ in range(_repeat_count(event)):
            event.current_buffer.delete(
                first_length(event.current_buffer.document.text_after_cursor)
            )


def first_length(text: str) -> int:
    """Return how many code points the first character of a text has."""
    return len(next(iter_graphemes(text[:MAX_GRAPHEME]), ""))


def last_length(text: str) -> int:
    """Return how many code points the last character of a text has."""
    *_, character = ("", *iter_graphemes(text[-MAX_GRAPHEME:]))
    return len(character)


def _repeat_count(event: KeyPressEvent) -> int:
    """Return the repeat count of a key, set with Alt and a number before it."""
    return max(1, event.arg)


def _add_pasting(keys: KeyBindings, lines: Lines, inserting: Filter) -> None:
    is_flooded = Condition(lines.is_flooded)

    @keys.add(Keys.BracketedPaste)
    def paste(event: KeyPressEvent) -> None:
        event.current_buffer.insert_text(lines.pastes.fold(clean(event.data)))

    @keys.add("tab", filter=inserting & (is_flooded | Condition(lambda: lines.pasting)))
    @keys.add(Keys.Any, filter=inserting & is_flooded)
    def flood(event: KeyPressEvent) -> None:
        # Key by key, or drawn between its pieces, each would cost a look at all the text before it.
        lines.pasting = True
        queue, text = event.app.key_processor.input_queue, lines.flood
        if is_plain_key(event.key_sequence[0]):
            text.append(event.data)
        while queue or lines.waiting(GRACE_SECONDS):
            if not queue:
                queue.extend(event.app.input.read_keys())
            if not queue or not is_plain_key(queue[0]):
                break
            text.append(queue.popleft().data)
        if queue or not lines.waiting(0):  # another key wants the line as it is now
            entered = not queue and bool(text) and text[-1] == "\r"
            if entered:
                text.pop()
            lines.insert_flood(event.current_buffer)
            if entered:
                lines.hold(event.current_buffer)
