"""The picker of models: all that can be chosen, and a line in which one types to search."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from prompt_toolkit.application import Application
from prompt_toolkit.buffer import Buffer
from prompt_toolkit.data_structures import Point
from prompt_toolkit.formatted_text import StyleAndTextTuples as Text
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.layout import (
    FormattedTextControl,
    HSplit,
    UIContent,
    UIControl,
    Window,
)
from prompt_toolkit.output.defaults import create_output
from prompt_toolkit.widgets import TextArea

from chat_loop.browser.full_screen import full_screen
from chat_loop.characters import one_line
from chat_loop.display.sanitizer import cells, cut_to
from chat_loop.values import Offered, matching

LAST = 1 << 40
"""A place after every model."""


async def choose(
    models: Sequence[Offered], now: str, about: Callable[[Offered], str], words: str = ""
) -> Offered | None:
    """Let the user choose one of the models that match `words`; `now` is the reference of the one
    that is in use, and `about` returns what is known of a model. Return None if none is chosen.
    Raises EOFError when the terminal is gone.
    """
    rows = _ModelRows(models, now, about)
    rows.search(words)
    line = TextArea(words, multiline=False, prompt="  Search: ")

    def searched(buffer: Buffer) -> None:
        rows.search(buffer.text)

    line.buffer.on_text_changed += searched
    keys = KeyBindings()
    title = Window(FormattedTextControl(rows.title), height=1)
    screen = HSplit([title, Window(rows, cursorline=True), line])
    app: Application[Offered | None] = full_screen(screen, line, keys, create_output())

    def bind(names: str, act: Callable[[], object]) -> None:
        def press(_: KeyPressEvent) -> None:
            act()

        for name in names.split():
            keys.add(name, eager=True)(press)

    def leave() -> None:
        if line.text:
            line.text = ""
        else:
            app.exit()

    def take() -> None:
        if rows.offer is not None:
            app.exit(result=rows.offer)

    bind("up c-p", lambda: rows.select(rows.selected - 1))
    bind("down c-n", lambda: rows.select(rows.selected + 1))
    bind("pageup", lambda: rows.select(rows.selected - rows.page))
    bind("pagedown", lambda: rows.select(rows.selected + rows.page))
    bind("c-home", lambda: rows.select(0))
    bind("c-end", lambda: rows.select(LAST))
    bind("enter c-j", take)
    bind("escape", leave)
    bind("c-c", app.exit)
    return await app.run_async(handle_sigint=False)


class _ModelRows(UIControl):
    """The models that match, one of which is selected. Only the rows on the screen are drawn."""

    def __init__(
        self, models: Sequence[Offered], now: str, about: Callable[[Offered], str]
    ) -> None:
        self.selected = 0
        self.page = 10  # the number of lines at the last drawing
        self._models = models
        self._now = now
        self._about = about
        self._words = ""
        self._shown = models

    @property
    def offer(self) -> Offered | None:
        """The selected model; None if nothing matches."""
        if self._shown:
            return self._shown[self.selected]
        return None

    def search(self, words: str) -> None:
        """Show the models that match all words, and select the first; without words, show all, and
        select the one that is in use.
        """
        self._words = words
        self._shown = matching(self._models, words)
        self.selected = 0
        if not words.strip():
            self._select_used()

    def select(self, place: int) -> None:
        """Select the model at `place`, or the nearest one."""
        self.selected = max(0, min(place, len(self._shown) - 1))

    def _select_used(self) -> None:
        for place, offer in enumerate(self._shown):
            if offer.reference == self._now:
                self.selected = place
                return

    def title(self) -> Text:
        """Return the line above the list: how many there are, the keys, and the unit."""
        count = f"  Models: {len(self._models):,}"
        if self._words.strip():
            count = f"  Models: {len(self._shown):,} of {len(self._models):,} match"
        return [("bold", count), ("dim", "  Enter choose  Esc leave  $ per million tokens")]

    def create_content(self, width: int, height: int) -> UIContent:
        self.page = max(1, height)
        top = max(0, self.selected - height)
        near = self._shown[top : top + 2 * height]
        names = min(max((cells(offer.reference) for offer in near), default=0), width // 2 + 8)
        return UIContent(
            get_line=lambda at: self._line(at, width, names),
            line_count=max(1, len(self._shown)),
            cursor_position=Point(x=0, y=self.selected),
            show_cursor=False,
        )

    def _line(self, place: int, width: int, names: int) -> Text:
        if not self._shown:
            return [("dim", "  No model matches.")]
        offer = self._shown[place]
        mark = ">" if place == self.selected else " "
        name = cut_to(one_line(offer.reference, 200), max(8, width - 4))
        name += " " * (names - cells(name))
        about = one_line(self._about(offer), 200)
        if offer.reference == self._now:
            about = " · ".join(filter(None, (about, "in use")))
        room = width - cells(name) - 5
        return [("", f"{mark} {name}"), ("dim", f"  {cut_to(about, room)}" if room > 5 else "")]
