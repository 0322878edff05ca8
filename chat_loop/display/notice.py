"""Telling that a reply has come, to somebody who looks elsewhere by now."""

from __future__ import annotations

from chat_loop.display.manager import DisplayManager
from chat_loop.display.text import one_line


def notice(display: DisplayManager, how: str) -> None:
    """Ring the terminal's bell (`bell`), or have it notify the desktop (`osc9`); nothing where there is no terminal."""
    if not display.is_terminal or how == "off":
        return
    display.out.write("\x07" if how == "bell" else f"\x1b]9;chat-loop: {one_line(display.agent, 60)} has answered\x07")
    display.out.flush()
