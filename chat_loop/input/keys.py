"""Key bindings that the editor lacks, and the handling of pastes."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from itertools import islice

from msgspec import Struct
from prompt_toolkit import filters
from prompt_toolkit.buffer import Buffer
from prompt_toolkit.document import Document
from prompt_toolkit.enums import DEFAULT_BUFFER
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent, merge_key_bindings
from prompt_toolkit.key_binding.defaults import load_key_bindings
from prompt_toolkit.key_binding.key_bindings import KeyBindingsBase
from prompt_toolkit.keys import Keys
from wcwidth import iter_graphemes

from chat_loop.input.lines import MULTILINE_MARK
from chat_loop.values import plural

FOLD_CHARACTERS = 2_000
FOLD_LINES = 20
MULTILINE_HINT = "multi-line: empty line sends, Ctrl-C cancels"
MAX_GRAPHEME = 64
"""The most code points of one visible character."""


class Pastes:
    """The pastes of this run. In the line, a name with its size replaces a long paste."""

    def __init__(self) -> None:
        self.folded: dict[str, str] = {}
        """The pastes by the names that stand for them in the line."""
        self._count = 0
        self.shown: list[str] = []
        """Unfolded pastes of several lines in the current entry."""

    def fold(self, text: str, characters: int = FOLD_CHARACTERS, lines: int = FOLD_LINES) -> str:
        """Return `text`, or the name that replaces it in the line if it is long."""
        count = text.count("\n") + 1
        if len(text) <= characters and count <= lines:
            if count > 1:
                self.shown.append(text)
            return text
        self._count += 1
        size = f"{plural(len(text), 'character')}, {plural(count, 'line')}"
        name = f"[paste {self._count}: {size}]"
        self.folded[name] = text
        return name

    def has(self, text: str) -> bool:
        """Return True when `text` contains the name of a folded paste."""
        return any(name in text for name in self.folded)

    def expand(self, text: str) -> str:
        """Return `text` with its folded pastes expanded."""
        for name, whole in self.folded.items():
            text = text.replace(name, whole, 1)
        return text

    def expand_for_edit(self, text: str) -> str:
        """Return `text` expanded for an editor, and record its pastes as shown unfolded."""
        self.shown += [whole for name, whole in self.folded.items() if name in text]
        return self.expand(text)


class Mode(Struct):
    """The state of the entry that is being typed. A `multiline` entry began with two backslashes
    and ends with an empty line. An `offered` entry began with a text that Ctrl-C gives up. The user
    sees `hint`.
    """

    multiline: bool = False
    offered: bool = False
    hint: str = ""

    def reset(self) -> None:
        """Begin a new entry."""
        self.multiline = False
        self.offered = False
        self.hint = ""


class AltKeys:
    """Tells whether Alt with a key does something: in the line's `own` keys, or the editor's.

    While `prefixes()` is true, Escape is a key of its own before any other, as in vi.
    """

    def __init__(self, own: KeyBindingsBase, prefixes: Callable[[], bool]) -> None:
        self._own = own
        self._prefixes = prefixes
        self._all: KeyBindingsBase | None = None

    def __call__(self, keys: tuple[Keys | str, ...]) -> bool:
        """Return True if the keys, of which the first is Escape, do something."""
        if self._prefixes():
            return True
        if self._all is None:  # loaded with the first Alt key, because it takes a while
            self._all = merge_key_bindings([self._own, load_key_bindings()])
        found = self._all.get_bindings_for_keys(keys)
        longer = self._all.get_bindings_starting_with_keys(keys)
        return any(binding.filter() for binding in (*found, *longer))


def bindings(
    mode: Mode,
    *,
    edit: Callable[[Buffer], Awaitable[None]],
    paste: Callable[[Buffer, str], None],
    paste_clipboard: Callable[[], None],
    names: Callable[[], Iterable[str]],
) -> KeyBindings:
    """Return the keys of the line. `edit` opens it in the user's editor, and `paste` inserts what
    was pasted. What stands for a long paste or an image has one of the `names()`.
    """
    keys = KeyBindings()
    at_line = filters.has_focus(DEFAULT_BUFFER)
    inserting = at_line & (filters.emacs_insert_mode | filters.vi_insert_mode)

    @keys.add("c-j", filter=inserting)
    def newline(event: KeyPressEvent) -> None:
        event.current_buffer.insert_text("\n")

    @keys.add("enter", filter=inserting)
    def enter(event: KeyPressEvent) -> None:
        end_line(event.current_buffer, mode)

    @keys.add(Keys.BracketedPaste)
    def paste_text(event: KeyPressEvent) -> None:
        paste(event.current_buffer, event.data)

    @keys.add("c-v", filter=inserting)
    @keys.add("escape", "v", filter=at_line & filters.emacs_insert_mode)
    def take_clipboard(event: KeyPressEvent) -> None:
        paste_clipboard()

    @keys.add("c-x", "c-e", filter=at_line & filters.emacs_mode & ~filters.has_selection)
    @keys.add("v", filter=at_line & filters.vi_navigation_mode)
    async def edit_line(event: KeyPressEvent) -> None:
        await edit(event.current_buffer)

    # The editor's own keys move over code points; these move over visible characters.

    @keys.add("left", filter=inserting)
    @keys.add("c-b", filter=inserting & filters.emacs_mode)
    def left(event: KeyPressEvent) -> None:
        before = event.current_buffer.document.current_line_before_cursor
        event.current_buffer.cursor_left(length_at_end(before, event.arg))

    @keys.add("right", filter=inserting)
    @keys.add("c-f", filter=inserting & filters.emacs_mode)
    def right(event: KeyPressEvent) -> None:
        after = event.current_buffer.document.current_line_after_cursor
        event.current_buffer.cursor_right(length_at_start(after, event.arg))

    @keys.add("c-h", filter=inserting)
    def backspace(event: KeyPressEvent) -> None:
        before = event.current_buffer.document.text_before_cursor
        length = name_at_end(before, names()) or length_at_end(before, event.arg)
        event.current_buffer.delete_before_cursor(length)

    @keys.add("delete", filter=inserting)
    def delete(event: KeyPressEvent) -> None:
        after = event.current_buffer.document.text_after_cursor
        length = name_at_start(after, names()) or length_at_start(after, event.arg)
        event.current_buffer.delete(length)

    return keys


def end_line(buffer: Buffer, mode: Mode) -> None:
    """Handle Enter: end the entry, or only its line."""
    document = buffer.document
    before = document.text_before_cursor
    backslashes = len(before) - len(before.rstrip("\\"))
    if document.text == MULTILINE_MARK:
        buffer.reset()
        mode.multiline = True
        mode.hint = MULTILINE_HINT
    elif mode.multiline:
        if document.is_cursor_at_the_end and not document.current_line.strip():
            buffer.document = Document(buffer.text.rstrip("\n"))
            buffer.validate_and_handle()
        else:
            buffer.insert_text("\n")
    elif document.is_cursor_at_the_end_of_line and backslashes % 2:  # the last one is not escaped
        buffer.delete_before_cursor()
        buffer.insert_text("\n")
    else:
        buffer.validate_and_handle()


def name_at_end(text: str, names: Iterable[str]) -> int:
    """Return the length of a name that `text` ends with, and of one space behind it; 0 for none."""
    for name in names:
        for ending in (name, f"{name} "):
            if text.endswith(ending):
                return len(ending)
    return 0


def name_at_start(text: str, names: Iterable[str]) -> int:
    """Return the length of a name that `text` begins with; 0 for none."""
    return next((len(name) for name in names if text.startswith(name)), 0)


def length_at_start(text: str, count: int = 1) -> int:
    """Return the number of code points in the first `count` visible characters of a text."""
    count = max(1, count)
    return sum(map(len, islice(iter_graphemes(text[: MAX_GRAPHEME * count]), count)))


def length_at_end(text: str, count: int = 1) -> int:
    """Return the number of code points in the last `count` visible characters of a text."""
    count = max(1, count)
    return sum(map(len, [*iter_graphemes(text[-MAX_GRAPHEME * count :])][-count:]))
