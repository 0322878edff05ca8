"""The sessions on the whole screen: a list, a filter, a preview, and what the keys do."""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys
from collections.abc import Callable, Collection, Iterator, Sequence
from datetime import datetime
from typing import Any, Literal, Protocol

from prompt_toolkit.application import Application
from prompt_toolkit.buffer import Buffer
from prompt_toolkit.data_structures import Size
from prompt_toolkit.filters import Condition
from prompt_toolkit.formatted_text import StyleAndTextTuples as Text
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.keys import Keys
from prompt_toolkit.layout import (
    BufferControl,
    DynamicContainer,
    FormattedTextControl,
    HSplit,
    Layout,
    VSplit,
    Window,
)
from prompt_toolkit.layout.containers import AnyContainer
from prompt_toolkit.layout.processors import BeforeInput
from prompt_toolkit.output.defaults import create_output

from chat_loop.browser.list import SessionList, display_name, tags_text, when_text
from chat_loop.browser.preview import Preview, Previews, safe_text
from chat_loop.display.rows import compactions_text
from chat_loop.display.text import cells, cut_to, one_line
from chat_loop.errors import ChatLoopError, UsageError
from chat_loop.sessions.records import SessionRow
from chat_loop.wording import counts_text, plural

ESCAPE_SECONDS = 0.1
"""How long an escape character waits for the rest of a key before it is the key Esc."""
MIN_COLUMNS_BESIDE = 100
"""From this many columns on the preview stands beside the list, else below."""
MIN_LINES_PREVIEW = 16
"""From this many lines on there is a preview below without asking for it."""
MIN_LINES_TITLES = 6
"""From this many lines on the columns have titles."""
MIN_LINES_BOTH = 9
"""With fewer lines there is room for a list or a preview."""
LONGEST_FILTER = 200
KEYS = (
    ("↑ ↓  k j", "one session up, down"),
    ("PgUp PgDn", "a page up, down"),
    ("Home End  g G", "the newest, the oldest"),
    ("Enter", "resume the selected session"),
    ("/", "filter: all words must match"),
    ("Esc", "clear the filter, else leave"),
    ("→ ←  u", "unfold, fold a chain"),
    ("Tab  p", "preview on, off"),
    ("e", "open the file in your editor"),
    ("d", "move to the trash, after asking"),
    ("Ctrl-Z", "suspend"),
    ("q  Ctrl-C", "leave without choosing"),
)
LINES = {"up": -1, "k": -1, "c-p": -1, "down": 1, "j": 1, "c-n": 1}
PAGES = {"pageup": -1, "c-b": -1, "pagedown": 1, "c-f": 1, " ": 1}
ALIASES = {"g": "home", "G": "end", "f1": "?", "p": "c-i", "f5": "c-l", "c-j": "c-m", "delete": "d"}
Act = Literal["resume", "edit"]


class SavedSessions(Protocol):
    """The sessions. All but `preview` are called between two drawings, and hold the screen up."""

    def rows(self, unfolded: Collection[str]) -> Sequence[SessionRow]:
        """Return the newest first; a chain is its newest session unless `unfolded` has its id.
        Raises ChatLoopError.
        """

    def preview(self, row: SessionRow) -> Preview:
        """Return what is known of a session; never raise. Called in a thread, one at a time."""

    def trash(self, row: SessionRow) -> str:
        """Move it to the trash; return a sentence that says so. Raises ChatLoopError."""

    async def edit(self, row: SessionRow) -> None:
        """Open its file in the user's editor, with the terminal as it was before. Raises
        ChatLoopError.
        """


async def browse(source: SavedSessions, *, now: datetime, words: str = "") -> SessionRow | None:
    """Let the user choose a session on the whole screen; return None when none was chosen. `words`
    filter from the start.

    The terminal is left as it was found, whatever happens. Raises UsageError where there is no
    terminal that can show it, what `shelf.rows` raises at the beginning, and EOFError when the
    terminal goes away.
    """
    if not (sys.stdin.isatty() and os.isatty(1)) or os.environ.get("TERM") == "dumb":
        raise UsageError("There is no terminal that can show the browser.", "sessions lists them.")
    sessions = SessionList(now)
    sessions.filter(words)
    sessions.set_rows(source.rows(frozenset()))
    if sessions.row is not None and sessions.row.current:  # nobody goes on with what is open
        sessions.select(1)
    return await _Browser(source, sessions, words).run()


class _Browser:
    """The screen and its keys. `_mode` is choosing, typing a filter, asked about the trash, or
    reading what the keys do.
    """

    def __init__(self, source: SavedSessions, sessions: SessionList, words: str) -> None:
        self._source = source
        self._sessions = sessions
        self._mode: Literal["list", "filter", "ask", "keys"] = "list"
        self._notice = ""
        self._pane: bool | None = None
        """The user's choice to show the preview; None without one."""
        self._scroll = 0
        self._filter = Buffer(multiline=False, on_text_changed=lambda _: self._apply_filter())
        self._filter.text = words
        self._rows = Window(sessions)
        self._title = Window(FormattedTextControl(sessions.title), height=1)
        self._preview = Window(FormattedTextControl(self._preview_text), wrap_lines=True)
        self._help = Window(FormattedTextControl(self._help_text))
        self._filter_window = Window(
            BufferControl(self._filter, input_processors=[BeforeInput("/")]),
            width=lambda: min(cells(self._filter.text) + 2, self._size().columns),
            height=1,
        )
        self._hints = Window(FormattedTextControl(self._bottom_line), height=1)
        self._output = create_output()
        self._app: Application[Act | None] = Application(
            output=self._output,
            layout=Layout(DynamicContainer(self._container)),
            key_bindings=self._bindings(),
            full_screen=True,
            include_default_pygments_style=False,
        )
        self._app.ttimeoutlen = ESCAPE_SECONDS
        self._previews = Previews(source.preview, self._app.invalidate)

    async def run(self) -> SessionRow | None:
        while True:
            with _exit_on_error(self._app):
                act = await self._app.run_async(handle_sigint=False, set_exception_handler=False)
            row = self._sessions.row
            if act != "edit" or row is None:
                return row if act == "resume" else None
            with self._show_errors():  # the terminal is the editor's: the screen is opened again
                await self._source.edit(row)
            self._previews.forget()
            self._read_rows()

    # The screen

    def _size(self) -> Size:
        return self._output.get_size()

    def _shows_preview(self) -> bool:
        """Return True when a screen of this size shows a preview."""
        rows, columns = self._size().rows - 1, self._size().columns
        if columns >= MIN_COLUMNS_BESIDE and rows >= MIN_LINES_BOTH:
            return self._pane is not False
        return rows >= MIN_LINES_PREVIEW if self._pane is None else self._pane

    def _container(self) -> AnyContainer:
        """Return the parts of the screen for its size: its last line is the bottom line."""
        rows, columns = self._size().rows - 1, self._size().columns
        titled = [self._title] if rows >= MIN_LINES_TITLES else []
        part: AnyContainer = HSplit([*titled, self._rows])
        if self._mode == "keys":
            part = self._help
        elif self._shows_preview():
            if columns >= MIN_COLUMNS_BESIDE and rows >= MIN_LINES_BOTH:
                bar = [Window(width=1), Window(width=1, char="│", style="dim"), Window(width=1)]
                preview = HSplit([self._preview], width=columns * 2 // 5)
                part = VSplit([part, *bar, preview])
            elif rows < MIN_LINES_BOTH:
                part = self._preview
            else:
                line = Window(height=1, char="─", style="dim")
                preview = HSplit([self._preview], height=(rows - len(titled)) // 2)
                part = HSplit([part, line, preview])
        bottom = (
            VSplit([self._filter_window, self._hints]) if self._mode == "filter" else self._hints
        )
        # On one line alone the selected session counts more than the keys.
        return HSplit([part, bottom] if rows > 0 else [self._rows])

    def _preview_text(self) -> Text:
        """Return the selected session: its row at once, the rest when it has been read. A text
        takes a line of the screen, three where there is room.
        """
        row, now = self._sessions.row, self._sessions.now
        if row is None:
            return []
        size = self._size()
        beside = size.columns >= MIN_COLUMNS_BESIDE and size.rows > MIN_LINES_BOTH
        width = size.columns * 2 // 5 if beside else size.columns
        height = size.rows - 1 if beside else size.rows // 2
        lines = 3 if height >= MIN_LINES_PREVIEW else 1
        facts = (
            safe_text(row.id, 100),
            when_text(row.updated, now, short=False),
            safe_text(row.agent, 40),
            counts_text(row.queries, row.tokens or 0) if row.queries is not None else "",
            tags_text(row),
            compactions_text(row),
            f"{plural(row.folded, 'older session')} folded" if row.folded else "",
            f"{plural(row.shared, 'query')} shared with other branches" if row.shared else "",
        )
        text: Text = []

        def add(style: str, words: str, name: str = "") -> None:
            words = cut_to(words, width * lines - cells(name) - 2 * bool(name))
            text.extend([("bold", f"{name}: ")] if name else [])
            text.append((style, f"{words}\n"))

        add("bold", display_name(row))
        add("dim", " · ".join(filter(None, facts)))
        preview = self._previews.get(row)
        if preview is None:
            add("dim", "…")
            return text
        for title in preview.title if lines > 1 else preview.title[:1]:
            add("dim", title)
        for note in preview.notes:
            add("", f"! {note}")
        for name, items in preview.sections:
            add("", items, name)
        room = height - sum(-(-cells(part[1]) // width) for part in text)
        fitting = max(1, (room - 2) // (2 * lines))
        earlier = preview.earlier + len(preview.exchanges[:-fitting])
        if lines > 1 and preview.exchanges:
            text += [
                ("bold", "\nLast words"),
                ("dim", f" ({earlier:,} earlier)\n" if earlier else "\n"),
            ]
        for exchange in preview.exchanges[-fitting:]:
            for speaker, words in exchange:
                add("", words, speaker)
        return text

    def _help_text(self) -> Text:
        wide = self._size().columns >= 50
        text: Text = []
        for keys, does in KEYS[self._scroll :]:
            text.append(("bold", f"  {keys:<15} " if wide else f"{keys}\n  "))
            text.append(("", f"{does}\n"))
        return text

    def _bottom_line(self) -> Text:
        """Return the bottom line: a notice or a question, and the keys for which there is room."""
        width, row = self._size().columns, self._sessions.row
        text = safe_text(self._notice, 500)
        if self._mode == "filter":
            width -= cells(self._filter.text) + 2
        elif self._mode == "ask" and row is not None:
            before, after = "Trash “", "”? y/n"
            if width >= 44:
                before, after = "Move “", "” to the trash? y/n"
            room = max(1, width - cells(before + after))
            text = f"{before}{cut_to(display_name(row), room)}{after}"
        line: Text = [("", cut_to(text, width))] if text else []
        room = width - cells(text)
        for key, does in self._key_hints():
            gap = "  " if line else " " if self._mode == "filter" else ""
            if (needed := cells(f"{gap}{key} {does}")) <= room:
                room -= needed
                line += [("bold", f"{gap}{key}"), ("dim", f" {does}")]
        return line

    def _key_hints(self) -> list[tuple[str, str]]:
        """Return the keys of the bottom line and what they do, the most important first."""
        row, chain = self._sessions.row, self._sessions.chain
        clear = [("Esc", "clear")] if self._sessions.words else []
        match self._mode:
            case "filter":
                return [("Enter", "list"), ("Esc", "clear")]
            case "ask":
                return []  # the question names its keys
            case "keys":
                return [("any key", "back")]
        if row is None:
            return [*clear, ("q", "leave"), *([("/", "filter")] if clear else [])]
        hints = [("Enter", "resume"), ("?", "keys"), ("q", "leave"), ("/", "filter"), *clear]
        if chain or row.folded:
            hints.append(("u", "fold" if chain else "unfold"))
        preview = "hide preview" if self._shows_preview() else "preview"
        return [*hints, ("e", "edit"), ("d", "trash"), ("p", preview)]

    # The keys

    def _bindings(self) -> KeyBindings:
        bindings = KeyBindings()
        types = Condition(lambda: self._mode == "filter")
        bindings.add("c-c")(lambda _: self._app.exit(result=None))
        bindings.add("c-z")(lambda _: self._app.suspend_to_background())
        bindings.add(Keys.Any, filter=~types)(self._handle_key)
        for key in ("enter", "c-j", "tab", "up", "down", "c-p", "c-n"):
            bindings.add(key, filter=types)(lambda _: self._list())
        for key, pages in PAGES.items():
            if key != " ":
                bindings.add(key, filter=types)(lambda _, pages=pages: self._turn(pages))
        bindings.add("escape", filter=types, eager=True)(lambda _: self._clear())
        empty = types & Condition(lambda: not self._filter.text)
        bindings.add("c-h", filter=empty)(lambda _: self._list())
        return bindings

    def _list(self) -> None:
        self._mode = "list"
        self._app.layout.focus(self._rows)

    def _turn(self, pages: int) -> None:
        self._list()
        self._sessions.move(pages * self._sessions.page)

    def _clear(self) -> None:
        self._filter.text = ""
        self._list()

    def _apply_filter(self) -> None:
        if len(self._filter.text) > LONGEST_FILTER:
            self._filter.text = self._filter.text[:LONGEST_FILTER]
        blank = " " if self._filter.text.endswith(" ") else ""
        self._sessions.filter(safe_text(self._filter.text, LONGEST_FILTER) + blank)

    def _handle_key(self, event: KeyPressEvent) -> None:
        """Handle a key while no filter is typed; ignore unknown ones."""
        pressed = event.key_sequence[-1].key
        key = pressed.value if isinstance(pressed, Keys) else pressed
        self._notice = ""
        steps = LINES.get(key, 0) or PAGES.get(key, 0) * self._sessions.page
        if self._mode == "ask":
            self._mode = "list"
            if key in ("y", "Y"):
                self._trash()
            else:
                self._notice = "Nothing was moved."
        elif self._mode == "keys" and steps:
            step = 1 if steps > 0 else -1
            self._scroll = max(0, min(self._scroll + step, len(KEYS) - 1))
        elif self._mode == "keys":
            self._mode = "list"
        elif steps:
            self._sessions.move(steps)
        else:
            self._handle_list_key(key)

    def _handle_list_key(self, key: str) -> None:
        acts: dict[str, Callable[[], object]] = {
            "home": lambda: self._sessions.select(0),
            "end": lambda: self._sessions.select(sys.maxsize),
            "escape": self._clear if self._sessions.words else self._app.exit,
            "q": self._app.exit,
            "/": self._type,
            "?": self._help_keys,
            "c-i": self._switch_preview,
            "c-l": self._read_rows,
        }
        if self._sessions.row is not None:
            acts |= {
                "c-m": lambda: self._app.exit(result="resume"),
                "e": lambda: self._app.exit(result="edit"),
                "d": self._ask,
                "right": lambda: self._read_rows(self._sessions.unfold()),
                "left": lambda: self._read_rows(self._sessions.fold()),
                "u": lambda: self._read_rows(self._sessions.unfold() or self._sessions.fold()),
            }
        act = acts.get(ALIASES.get(key, key))
        if act is not None:
            act()

    def _type(self) -> None:
        self._mode = "filter"
        self._app.layout.focus(self._filter_window)

    def _help_keys(self) -> None:
        self._mode, self._scroll = "keys", 0

    def _switch_preview(self) -> None:
        self._pane = not self._shows_preview()

    def _ask(self) -> None:
        self._mode = "ask"

    def _trash(self) -> None:
        row = self._sessions.row
        if row is not None:
            with self._show_errors():
                self._notice = self._source.trash(row)
            self._read_rows()

    def _read_rows(self, changed: bool = True) -> None:
        if changed:
            with self._show_errors():
                self._sessions.set_rows(self._source.rows(self._sessions.unfolded))

    @contextlib.contextmanager
    def _show_errors(self) -> Iterator[None]:
        """Show what fails in the bottom line."""
        try:
            yield
        except ChatLoopError as error:
            self._notice = one_line(f"{error.message} {error.hint}", 500)


@contextlib.contextmanager
def _exit_on_error(app: Application[Act | None]) -> Iterator[None]:
    """End the browser when a key or a drawing fails, instead of printing over the screen."""
    loop = asyncio.get_running_loop()
    before = loop.get_exception_handler()

    def handle(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        error = context.get("exception")
        running = app.is_running and not app.is_done
        if "handle" in context and isinstance(error, BaseException) and running:
            app.exit(exception=error)
        elif before is not None:
            before(loop, context)
        else:
            loop.default_exception_handler(context)

    loop.set_exception_handler(handle)
    try:
        yield
    finally:
        loop.set_exception_handler(before)
