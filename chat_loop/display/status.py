"""The status line (pure), shortened to fit; its numbers are those of /info and /context."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import Struct

from chat_loop.display.text import cells, cut_to, one_line
from chat_loop.values import Window
from chat_loop.wording import compact_number, dollars_text, window_text

BAR = 6
"""Cells of the bar that shows how full the context is."""
NOT_SAVED = "NOT SAVED"
"""Never left out: unsaved words matter more than any number."""
_STEPS = ("session", "tokens", "model", "cost", "context", "session", "summary", "context", "model")
"""The order in which parts are shortened, one step each, while the line is too wide."""


class Status(Struct, frozen=True, kw_only=True):
    """The contents of the status line. `share` is how full the window is, `tokens` what the session
    took in all.

    `cost` is in US dollars, None when it is not known. `summary` is the state of the summary that
    is made in the background, empty when there is none.
    """

    model: str
    share: float
    window: Window
    estimated: bool
    tokens: int = 0
    cost: float | None = None
    session: str = ""
    unsaved: bool = False
    summary: str = ""


def status_line(status: Status, parts: Sequence[str], width: int) -> str:
    """Return the line with these `parts`, in order, on at most `width` columns."""
    forms = {name: list(found) for name, found in _forms(status).items() if name in parts}
    steps = iter(_STEPS)
    while True:
        told = [forms[name][0] for name in dict.fromkeys(parts) if name in forms]
        line = " · ".join(filter(None, (*told, NOT_SAVED if status.unsaved else "")))
        if cells(line) <= width:
            return line
        step = next(steps, None)
        if step is None:
            return cut_to(line, width)
        if step in forms and len(forms[step]) > 1:
            forms[step].pop(0)


def _forms(status: Status) -> Mapping[str, Sequence[str]]:
    """Return each part in full, then its shorter and shorter forms; empty drops it."""
    model = one_line(status.model, 60)
    mark = "~" if status.estimated else ""
    filled = min(BAR, max(round(status.share * BAR), 1 if status.share >= 0.01 else 0))
    share = f"context {mark}{status.share:.0%}"
    whole = f"{share} of {window_text(status.window.tokens, status.window.guessed)}"
    return {
        "model": (model, cut_to(model.partition(":")[2] or model, 24), ""),
        "context": (f"{'█' * filled}{'░' * (BAR - filled)} {whole}", whole, share),
        "tokens": (f"{compact_number(status.tokens)} tokens" if status.tokens else "", ""),
        "cost": (dollars_text(status.cost) if status.cost else "", ""),
        "session": (cut_to(one_line(status.session), 40), cut_to(one_line(status.session), 20), ""),
        "summary": (f"summary {status.summary}" if status.summary else "", ""),
    }
