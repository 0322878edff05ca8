"""The picker of models: all that can be chosen, and a line in which one types to search."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from prompt_toolkit.application import Application
from prompt_toolkit.buffer import Buffer
from prompt_toolkit.formatted_text import StyleAndTextTuples as Text
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.layout import (
    FormattedTextControl,
    HSplit,
    UIContent,
    Window,
)
from prompt_toolkit.output.defaults import create_output
from prompt_toolkit.widgets import TextArea

from chat_loop.browser.full_screen import full_screen
from chat_loop.browser.row_list import RowList
from chat_loop.characters import one_line
from chat_loop.display.sanitizer import cells, cut_to
from chat_loop.values import Offered, matching


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

    rows.bind_moves(bind, ("up c-p", "down c-n", "pageup", "pagedown", "c-home", "c-end"))
    bind("enter c-j", take)
    bind("escape", leave)
    bind("c-c", app.exit)
    return await app.run_async(handle_sigint=False)


class _ModelRows(RowList):
    def __init__(
        self, models: Sequence[Offered], now: str, about: Callable[[Offered], str]
    ) -> None:
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

    def count(self) -> int:
        return len(self._shown)

    def _select_used(self) -> None:
        for number, offer in enumerate(self._shown):
            if offer.reference == self._now:
                self.selected = number
                return

    def title(self) -> Text:
        """Return the line above the list: how many there are, the keys, and the unit."""
        count = f"  Models: {len(self._models):,}"
        if self._words.strip():
            count = f"  Models: {len(self._shown):,} of {len(self._models):,} match"
        return [("bold", count), ("dim", "  Enter choose  Esc leave  $ per million tokens")]

    def create_content(self, width: int, height: int) -> UIContent:
        top = max(0, self.selected - height)
        near = self._shown[top : top + 2 * height]
        names = min(max((cells(offer.reference) for offer in near), default=0), width // 2 + 8)
        return self.content(height, lambda number: self._line(number, width, names))

    def _line(self, number: int, width: int, names: int) -> Text:
        if not self._shown:
            return [("dim", "  No model matches.")]
        offer = self._shown[number]
        mark = ">" if number == self.selected else " "
        name = cut_to(one_line(offer.reference, 200), max(8, width - 4))
        name += " " * (names - cells(name))
        about = one_line(self._about(offer), 200)
        if offer.reference == self._now:
            about = " · ".join(filter(None, (about, "in use")))
        room = width - cells(name) - 5
        return [("", f"{mark} {name}"), ("dim", f"  {cut_to(about, room)}" if room > 5 else "")]
