"""Telling that something has come that took long, to somebody who looks elsewhere by now."""

from __future__ import annotations

from chat_loop.display.manager import DisplayManager
from chat_loop.display.text import one_line


def notice(display: DisplayManager, how: str, what: str) -> None:
    """Ring the terminal's bell (`bell`), or have it notify the desktop of `what` (`osc9`); nothing
    in a pipe.
    """
    if not display.is_terminal or how == "off":
        return
    display.out.write("\x07" if how == "bell" else f"\x1b]9;chat-loop: {one_line(what, 100)}\x07")
    display.out.flush()
