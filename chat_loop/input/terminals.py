"""What is known of a terminal from the environment. What it does not tell is not used."""

from __future__ import annotations

from collections.abc import Mapping

_MODERN_VARIABLES = (
    *("ALACRITTY_WINDOW_ID", "GHOSTTY_RESOURCES_DIR", "ITERM_SESSION_ID", "KITTY_WINDOW_ID"),
    *("KONSOLE_VERSION", "TMUX", "VTE_VERSION", "WEZTERM_PANE", "WT_SESSION"),
)
_MODERN_PROGRAMS = ("Apple_Terminal", "ghostty", "iTerm.app", "vscode", "WezTerm")
_MODERN_NAMES = ("alacritty", "foot", "tmux", "xterm-ghostty", "xterm-kitty")
_KITTY_VARIABLES = ("ALACRITTY_WINDOW_ID", "GHOSTTY_RESOURCES_DIR", "KITTY_WINDOW_ID")
_KITTY_PROGRAMS = ("ghostty", "WezTerm")
_KITTY_NAMES = ("alacritty", "foot", "xterm-ghostty", "xterm-kitty")

KITTY_KEYS = ("\x1b[>0u", "\x1b[<u")
"""Push the plain encoding of keys, and pop it: what was on before is on again."""
XTERM_KEYS = ("\x1b[>4;0m", "\x1b[>4m")
"""Turn modifyOtherKeys off, and back to the terminal's own setting."""
PASTE_QUESTION = "\x1b[?2004$p"
"""Ask whether the terminal marks pastes (DECRQM)."""


def _is_screen(environment: Mapping[str, str]) -> bool:
    """Return True inside of GNU screen, which hides the terminal whose variables it inherits."""
    return environment.get("TERM", "").startswith("screen") and not environment.get("TMUX")


def marks_pastes(environment: Mapping[str, str]) -> bool:
    """Return True for a terminal that is known to mark pastes."""
    if _is_screen(environment):
        return False
    return (
        any(environment.get(name) for name in _MODERN_VARIABLES)
        or environment.get("TERM_PROGRAM", "") in _MODERN_PROGRAMS
        or environment.get("TERM", "").startswith(_MODERN_NAMES)
    )


def backs_over_wraps(environment: Mapping[str, str]) -> bool:
    """Return True inside of tmux, whose Backspace undoes the wrapping of a narrower window.

    That of GNU screen goes up from any row. If one of the two is inside of the other, the name of
    the terminal tells which only if it is tmux's.
    """
    if environment.get("TERM", "").startswith("tmux"):
        return True
    return bool(environment.get("TMUX")) and not environment.get("STY")


def can_be_asked(environment: Mapping[str, str]) -> bool:
    """Return True for a terminal that answers PASTE_QUESTION, or drops it."""
    return environment.get("TERM", "").startswith("xterm") and not marks_pastes(environment)


def key_protocol(environment: Mapping[str, str]) -> tuple[str, str]:
    """Return what turns the plain encoding of keys on, and what puts back the one from before.

    Both are empty for a terminal that may not know them; the keys are decoded in any case.
    """
    if _is_screen(environment):
        return "", ""
    if environment.get("TMUX") or environment.get("XTERM_VERSION"):
        return XTERM_KEYS
    has_kitty = (
        any(environment.get(name) for name in _KITTY_VARIABLES)
        or environment.get("TERM_PROGRAM", "") in _KITTY_PROGRAMS
        or environment.get("TERM", "").startswith(_KITTY_NAMES)
    )
    return KITTY_KEYS if has_kitty else ("", "")
