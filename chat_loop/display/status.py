"""The status line (pure), shortened to fit; its numbers are those of /info and /context."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from chat_loop.display.text import cells, cut_to, one_line
from chat_loop.values import Window, compact_number, dollars_text, window_text

BAR = 6
"""Cells of the bar that shows how full the context is."""
NOT_SAVED = "NOT SAVED"
"""Never left out: unsaved words matter more than any number."""


class Status(Struct, frozen=True, kw_only=True):
    """The contents of the status line; `tokens` and `cost` in dollars are those of the session."""

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
    model, session = one_line(status.model, 60), one_line(status.session)
    filled = min(BAR, max(round(status.share * BAR), 1 if status.share >= 0.01 else 0))
    share = f"context {'~' if status.estimated else ''}{status.share:.0%}"
    context = f"{share} of {window_text(status.window.tokens, status.window.guessed)}"
    texts = {
        "model": model,
        "tokens": f"{compact_number(status.tokens)} tokens" if status.tokens else "",
        "cost": dollars_text(status.cost) if status.cost else "",
        "session": cut_to(session, 40),
        "summary": f"summary {status.summary}" if status.summary else "",
    }
    steps = (  # the texts become shorter in this order; an empty one drops the part
        ("context", f"{'█' * filled}{'░' * (BAR - filled)} {context}"),
        ("session", cut_to(session, 20)),
        ("tokens", ""),
        ("model", cut_to(model.partition(":")[2] or model, 24)),
        ("cost", ""),
        ("context", context),
        ("session", ""),
        ("summary", ""),
        ("context", share),
        ("model", ""),
    )
    for name, text in steps:
        texts[name] = text
        wanted = [texts.get(part, "") for part in dict.fromkeys(parts)]
        line = " · ".join(filter(None, (*wanted, NOT_SAVED if status.unsaved else "")))
        if cells(line) <= width:
            return line
    return cut_to(line, width)
