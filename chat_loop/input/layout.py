"""The layout of the composer: the line or a question, the menu, the status."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from msgspec import Struct
from prompt_toolkit.application import get_app
from prompt_toolkit.buffer import Buffer
from prompt_toolkit.filters import Condition, is_searching
from prompt_toolkit.formatted_text import AnyFormattedText, StyleAndTextTuples
from prompt_toolkit.layout import ConditionalContainer, Dimension, Layout, Window, processors
from prompt_toolkit.layout.containers import HSplit
from prompt_toolkit.layout.controls import BufferControl, FormattedTextControl, SearchBufferControl

from chat_loop.display.questions import Drawn
from chat_loop.input.menu import menu_height, menu_text
from chat_loop.terminal import PROMPT

_STYLES = {"green": "ansigreen", "red": "ansired", "cyan": "ansicyan"}
"""The editor's names for the colors of a diff."""


class Rows(Struct, frozen=True, kw_only=True):
    """What is drawn: the line with its prompt between queued messages and status, or a question. If
    it `is_hidden`, there is no line.
    """

    prompt: StyleAndTextTuples
    placeholder: str = ""
    question: Drawn | None = None
    queued: Sequence[str] = ()
    status: str = ""
    is_hidden: bool = False


def composer_layout(
    line: Buffer,
    answer: Buffer,
    rows: Callable[[], Rows],
) -> Layout:
    """Return the layout of `rows()`: the queued messages above the line, and the status below; or
    a question with the line of its `answer` instead.
    """
    is_asked = Condition(lambda: rows().question is not None)
    shows_line = ~is_asked & Condition(lambda: not rows().is_hidden)
    has_queued = Condition(lambda: bool(rows().queued))
    has_status = Condition(lambda: bool(rows().status))
    search = SearchBufferControl(Buffer(), input_processors=[processors.ReverseSearchProcessor()])
    marks = [
        processors.HighlightIncrementalSearchProcessor(),
        processors.HighlightSelectionProcessor(),
        processors.AfterInput(lambda: [("class:placeholder", rows().placeholder)]),
    ]

    def prefix(number: int, wrap: int) -> AnyFormattedText:
        if wrap:
            return ""
        if number:
            return " " * len(PROMPT)
        return rows().prompt

    line_window = Window(
        BufferControl(
            line,
            input_processors=marks,
            include_default_input_processors=False,
            search_buffer_control=search,
            preview_search=True,
        ),
        height=Dimension(min=1),
        wrap_lines=True,
        dont_extend_height=True,
        # wrapped rows begin at the margin, so that they can be copied
        get_line_prefix=prefix,
    )
    rows_window = Window(
        FormattedTextControl(lambda: _rows_text(rows().question)),
        height=lambda: _rows_height(rows().question),
        dont_extend_height=True,
    )
    answer_window = Window(
        BufferControl(answer),
        wrap_lines=True,
        dont_extend_height=True,
        get_line_prefix=lambda number, wrap: "" if number or wrap else _prompt(rows().question),
    )
    queued_window = Window(
        FormattedTextControl(lambda: [("class:queued", "\n".join(rows().queued))]),
        height=lambda: len(rows().queued),
    )
    status_window = Window(
        FormattedTextControl(lambda: [("class:status", rows().status)]), height=1
    )
    line_or_search = ConditionalContainer(line_window, ~is_searching, Window(search, height=1))
    menu_window = Window(
        FormattedTextControl(lambda: menu_text(line, *get_app().output.get_size()[::-1])),
        height=lambda: menu_height(line, get_app().output.get_size().rows),
    )
    is_open = Condition(lambda: menu_height(line, get_app().output.get_size().rows) > 0)
    body = HSplit(
        [
            ConditionalContainer(HSplit([rows_window, answer_window]), is_asked),
            ConditionalContainer(queued_window, shows_line & has_queued),
            ConditionalContainer(line_or_search, shows_line),
            ConditionalContainer(menu_window, shows_line & is_open),
            ConditionalContainer(status_window, shows_line & has_status),
            Window(),  # the rows of a menu that was open
        ]
    )
    return Layout(body, line_window)


def _rows_text(drawn: Drawn | None) -> StyleAndTextTuples:
    rows = drawn.rows if drawn is not None else ()
    text: StyleAndTextTuples = []
    for number, (row, style) in enumerate(rows):
        text.append(("", "\n" if number else ""))
        text.append((_STYLES.get(style, style), row))
    return text


def _rows_height(drawn: Drawn | None) -> Dimension:
    """Return the height of the rows above the answer, which gets its row first."""
    rows = 0
    if drawn is not None:
        rows = len(drawn.rows)
    return Dimension(min=0, max=rows, preferred=rows)


def _prompt(drawn: Drawn | None) -> str:
    return drawn.prompt if drawn is not None else ""
