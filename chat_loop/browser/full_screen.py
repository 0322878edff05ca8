"""The program that every browser and picker is: keys and windows on the whole screen."""

from __future__ import annotations

from typing import TypeVar

from prompt_toolkit.application import Application
from prompt_toolkit.key_binding import KeyBindings
from prompt_toolkit.layout import Layout
from prompt_toolkit.layout.containers import AnyContainer
from prompt_toolkit.layout.layout import FocusableElement
from prompt_toolkit.output import Output
from prompt_toolkit.styles import Style

T = TypeVar("T")
ESCAPE_SECONDS = 0.1  # the wait for the rest of a key before an escape character counts as Esc


def full_screen(
    screen: AnyContainer, focused: FocusableElement, keys: KeyBindings, output: Output
) -> Application[T]:
    """Return an application that shows `screen`, in which the selected row of a list is reversed.
    The keys go to the `focused` part.
    """
    app: Application[T] = Application(
        output=output,
        layout=Layout(screen, focused_element=focused),
        key_bindings=keys,
        style=Style([("cursor-line", "nounderline reverse")]),
        full_screen=True,
        include_default_pygments_style=False,
    )
    app.ttimeoutlen = ESCAPE_SECONDS
    return app
