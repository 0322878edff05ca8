"""Terminal output of an application at the bottom of the screen, and of the text above it.

While the application does not change, it is not rendered when text is printed above it: its last
frame is sent again.
"""

from __future__ import annotations

from collections.abc import Sequence

from prompt_toolkit.data_structures import Size
from prompt_toolkit.output.vt100 import Vt100_Output

from chat_loop.display.sanitizer import cells, in_encoding


class FrameOutput(Vt100_Output):
    """Sends everything that is drawn at one time as one piece, so that no half of it is shown."""

    _rows: Sequence[str] = ()  # the rows above the frame that still change
    _size = Size(0, 0)  # the size of the terminal when they were printed
    _frame = ""  # the last frame; empty if the application has drawn something else since
    _start = _cursor_row = 0
    _is_held = False
    _has_set_keys = False
    backs_over_wraps = False
    """True for a terminal whose Backspace goes back over the end of a row that it has wrapped."""
    key_protocol = ("", "")
    """What turns the plain encoding of keys on, and what puts back the one from before."""

    def enable_bracketed_paste(self) -> None:
        """Have pastes marked and keys encoded plainly, when the application begins to draw."""
        super().enable_bracketed_paste()
        if not self._has_set_keys:
            self.write_raw(self.key_protocol[0])
        self._has_set_keys = True

    def disable_bracketed_paste(self) -> None:
        """Put both back, whenever another program gets the terminal."""
        super().disable_bracketed_paste()
        if self._has_set_keys:
            self.write_raw(self.key_protocol[1])
        self._has_set_keys = False

    def write(self, data: str) -> None:
        """Write the text of a cell, as one of the same width that the terminal's encoding has."""
        shown = in_encoding(data, self.encoding() or "utf-8")
        super().write(shown if cells(shown) == cells(data) else "?" * cells(data))

    def flush(self) -> None:
        if not self._is_held:
            super().flush()

    def hold(self) -> None:
        """Send nothing until `end_frame` or `release`."""
        self._is_held = True

    def release(self) -> None:
        """Send the output that was held."""
        self._is_held = False
        self.flush()

    def shows(self, rows: Sequence[str]) -> bool:
        """Return True when `rows` are above the frame and the terminal has the same size."""
        return rows == self._rows and self.get_size() == self._size

    def can_repeat(self) -> bool:
        """Return True when the terminal shows the last frame and still has the same size."""
        return bool(self._frame) and self.get_size() == self._size

    def print_above(self, text: str, rows: Sequence[str]) -> None:
        """Replace the rows above the frame with settled text and new `rows`. The cursor is at the
        start of the frame before and after this.
        """
        self._go_up(len(self._rows))
        self.erase_down()
        self.write_raw(text)
        self.disable_autowrap()
        self.write_raw("".join(f"{row}\x1b[0m\r\n" for row in rows))
        self.enable_autowrap()
        self._rows = rows
        self._size = self.get_size()
        self._start = len(self._buffer)

    def end_frame(self, cursor_row: int) -> None:
        """Send what was drawn. It is a whole frame, which can be repeated, only if it was held."""
        frame = ""
        if self._is_held:
            frame = "".join(self._buffer[self._start :])
        self._frame = frame.replace(self.key_protocol[0], "")  # it counts how often it is set
        self._cursor_row = cursor_row
        self.release()

    def return_to_start(self) -> None:
        """Move from the cursor's place in the frame to the start of the frame."""
        self._go_to_row_start()
        self._go_up(self._cursor_row)
        self._cursor_row = 0
        self.reset_attributes()
        self.enable_autowrap()

    def _go_up(self, rows: int) -> None:
        """Go up from the start of a drawn row, however many rows the terminal has made of it.

        tmux wraps the drawn rows long before a program can know of the new size.
        """
        if not self.backs_over_wraps:
            self.cursor_up(rows)
            return
        for _ in range(rows):
            self.cursor_up(1)
            self._go_to_row_start()

    def _go_to_row_start(self) -> None:
        self.write_raw("\r")
        if self.backs_over_wraps:
            # twice, because a wide character that does not fit leaves a column free
            self.write_raw("\b" * (2 * self._size.columns))

    def repeat_frame(self, text: str, rows: Sequence[str]) -> None:
        """Print `text` and `rows` above the frame, and send the frame again."""
        cursor_row = self._cursor_row
        self.return_to_start()
        self.print_above(text, rows)
        self._cursor_row = cursor_row
        self.write_raw(self._frame)
        self.flush()

    def forget(self) -> None:
        """Forget what was drawn, because another program has used the terminal since."""
        self._rows = ()
        self._frame = ""
        self._cursor_row = 0

    def erase_rows(self) -> None:
        """Erase the rows above the frame, and forget the frame. The cursor must be at its start."""
        self.print_above("", [])
        self.flush()
        self._frame = ""
