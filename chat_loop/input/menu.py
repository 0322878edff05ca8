"""The menu of completions below the line, as plain text: what is chosen stands out."""

from __future__ import annotations

from prompt_toolkit.buffer import Buffer
from prompt_toolkit.formatted_text import StyleAndTextTuples

from chat_loop.display.sanitizer import cells, cut_to

MENU_LINES = 8
_NAME_COLUMNS = 40
"""The most columns of names, if notes follow them."""


def menu_height(line: Buffer, rows: int) -> int:
    """Return the height of the menu of `line` on a screen of `rows`; 0 if it is closed."""
    state = line.complete_state
    count = 0
    if state is not None:
        count = len(state.completions)
    return min(count, MENU_LINES, max(0, rows - 3))


def menu_text(line: Buffer, columns: int, rows: int) -> StyleAndTextTuples:
    """Return the rows of the menu. If some are out of sight, the last one says where it is."""
    state = line.complete_state
    height = menu_height(line, rows)
    if state is None or not height:
        return []
    count = len(state.completions)
    chosen = state.complete_index
    is_cut = count > height > 1
    shown = height - is_cut
    first = max(0, min((chosen or 0) - shown // 2, count - shown))
    visible = state.completions[first : first + shown]
    width = min(max(cells(item.display_text) for item in visible), _NAME_COLUMNS)
    text: StyleAndTextTuples = []
    for number, item in enumerate(visible, first):
        name = item.display_text
        if item.display_meta_text:
            name += " " * (width - cells(name))
        row = cut_to(f"  {name}  {item.display_meta_text}".rstrip(), columns - 1)
        style = "class:choices"
        if number == chosen:
            style = "class:choices.chosen"
        text.append((style, row))
        text.append(("", "\n"))
    if is_cut:
        text.append(("class:choices", f"  ({(chosen or 0) + 1}/{count})"))
        return text
    return text[:-1]
