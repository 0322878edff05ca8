"""The layout of the composer: the line or a question, the menu, the status."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from prompt_toolkit.application import get_app
from prompt_toolkit.buffer import Buffer
from prompt_toolkit.filters import Condition, is_searching
from prompt_toolkit.formatted_text import StyleAndTextTuples
from prompt_toolkit.layout import ConditionalContainer, Dimension, Layout, Window, processors
from prompt_toolkit.layout.containers import Float, FloatContainer, HSplit
from prompt_toolkit.layout.controls import BufferControl, FormattedTextControl, SearchBufferControl
from prompt_toolkit.layout.menus import CompletionsMenu

from chat_loop.display.questions import Drawn
from chat_loop.terminal import PROMPT

MENU_LINES = 8
_STYLES = {"green": "ansigreen", "red": "ansired", "cyan": "ansicyan"}
"""The editor's names for the colors of a diff."""


def composer_layout(
    line: Buffer,
    answer: Buffer,
    *,
    prompt: Callable[[], StyleAndTextTuples],
    question: Callable[[], Drawn | None],
    queued: Callable[[], Sequence[str]],
    status: Callable[[], str],
    is_hidden: Callable[[], bool],
) -> Layout:
    """Return the layout. The rows of `queued` are above the line. A question shows `answer`
    instead; `is_hidden` hides line and status.
    """
    is_asked = Condition(lambda: question() is not None)
    shows_line = ~is_asked & Condition(lambda: not is_hidden())
    search = SearchBufferControl(Buffer(), input_processors=[processors.ReverseSearchProcessor()])
    marks = [
        processors.HighlightIncrementalSearchProcessor(),
        processors.HighlightSelectionProcessor(),
    ]
    line_window = Window(
        BufferControl(
            line,
            input_processors=marks,
            include_default_input_processors=False,
            search_buffer_control=search,
            preview_search=True,
        ),
        height=lambda: _line_height(line, get_app().output.get_size().rows),
        wrap_lines=True,
        dont_extend_height=True,
        # wrapped rows begin at the margin, so that they can be copied
        get_line_prefix=lambda number, wrap: (
            "" if wrap else " " * len(PROMPT) if number else prompt()
        ),
    )
    rows_window = Window(
        FormattedTextControl(lambda: _rows_text(question())),
        height=lambda: _rows_height(question()),
        dont_extend_height=True,
    )
    answer_window = Window(
        BufferControl(answer),
        wrap_lines=True,
        dont_extend_height=True,
        get_line_prefix=lambda number, wrap: "" if number or wrap else _prompt(question()),
    )
    queued_window = Window(
        FormattedTextControl(lambda: [("class:queued", "\n".join(queued()))]),
        height=lambda: len(queued()),
    )
    status_window = Window(FormattedTextControl(lambda: [("class:status", status())]), height=1)
    line_or_search = ConditionalContainer(line_window, ~is_searching, Window(search, height=1))
    menu = CompletionsMenu(max_height=MENU_LINES, scroll_offset=1)
    body = HSplit(
        [
            ConditionalContainer(HSplit([rows_window, answer_window]), is_asked),
            ConditionalContainer(queued_window, shows_line & Condition(lambda: bool(queued()))),
            FloatContainer(
                ConditionalContainer(line_or_search, shows_line),
                [Float(menu, xcursor=True, ycursor=True)],
            ),
            ConditionalContainer(status_window, shows_line & Condition(lambda: bool(status()))),
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
    rows = len(drawn.rows) if drawn is not None else 0
    return Dimension(min=0, max=rows, preferred=rows)


def _prompt(drawn: Drawn | None) -> str:
    return drawn.prompt if drawn is not None else ""


def _line_height(line: Buffer, rows: int) -> Dimension:
    """Return the minimum height of the line, with room for its menu."""
    state = line.complete_state
    if state is None or not state.completions:
        return Dimension(min=1)
    return Dimension(min=max(1, min(MENU_LINES + 1, len(state.completions) + 1, rows - 3)))
