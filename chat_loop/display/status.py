"""Texts of the status line, with the numbers of /info and /context, and of the start (pure)."""

from __future__ import annotations

import os
from collections.abc import Sequence

from msgspec import Struct

from chat_loop.characters import one_line
from chat_loop.display.sanitizer import cells, cut_to
from chat_loop.values import Window, compact_number, dollars_text, window_text

BAR = 6  # cells of the bar that shows how full the context is
NOT_SAVED = "NOT SAVED"  # never left out: unsaved words matter more than any number
NOT_UPLOADED = "not uploaded"


class Status(Struct, frozen=True, kw_only=True):
    """The contents of the status line; `tokens` and `cost` in dollars are those of the
    conversation since the program started.
    """

    model: str
    share: float
    window: Window
    estimated: bool
    tokens: int = 0
    cost: float | None = None
    session: str = ""
    unsaved: bool = False
    parts: Sequence[str] = ()  # the names of what is shown, in this order
    behind: bool = False  # the session store is missing something
    summary: str = ""


def status_line(status: Status, parts: Sequence[str], width: int) -> str:
    """Return the line with `parts`, in that order, in at most `width` columns."""
    model = one_line(status.model, 60)
    session = one_line(status.session)
    filled = min(BAR, round(status.share * BAR))
    if status.share >= 0.01:
        filled = max(1, filled)
    mark = "~" if status.estimated else ""
    share = f"context {mark}{status.share:.0%}"
    context = f"{share} of {window_text(status.window.tokens, status.window.guessed)}"
    texts = {"model": model, "session": cut_to(session, 40)}
    if status.tokens:
        texts["tokens"] = f"{compact_number(status.tokens)} tokens used"
    if status.cost:
        texts["cost"] = dollars_text(status.cost)
    if status.summary:
        texts["summary"] = f"summary {status.summary}"
    steps = (  # the texts become shorter in this order; an empty one drops the part
        ("context", f"{'█' * filled}{'░' * (BAR - filled)} {context}"),
        ("session", cut_to(session, 20)),
        ("tokens", ""),
        ("context", context),
        ("session", ""),
        ("model", cut_to(model.partition(":")[2] or model, 24)),
        ("context", share),
        ("model", ""),
        ("summary", ""),
        ("cost", ""),
    )
    for name, text in steps:
        texts[name] = text
        wanted = [NOT_SAVED] * status.unsaved + [NOT_UPLOADED] * status.behind
        wanted += [texts.get(part, "") for part in dict.fromkeys(parts)]
        line = " · ".join(filter(None, wanted))
        if cells(line) <= width:
            return line
    return cut_to(line, width)


def home_text(folder: str) -> str:
    """Return the path of a folder, with `~` for the user's home."""
    home = os.path.expanduser("~")  # noqa: PTH111 - Path.expanduser fails without a home
    if folder.startswith(f"{home}/") and home != "/":
        return f"~{folder.removeprefix(home)}"
    return folder


def offer(name: str, when: str, columns: int, project: str = "") -> str:
    """Return the offer to resume a session, perhaps of another `project`, of which the folder's
    name is shown, on one line of at most `columns` if it fits.
    """
    folder = project.rstrip("/").rpartition("/")[2] or project
    where = ""
    if project:
        where = f", in {cut_to(one_line(folder, 40), 20)}"
    rest = f' ({when}) · type "resume last" to continue'
    room = columns - cells(f"Last time{where}: {rest}") - 1
    return f"Last time{where}: {cut_to(one_line(name, 50), max(room, 10))}{rest}"


def greeting(directory: str) -> str:
    """Return the line of the first start."""
    return f"Conversations are markdown files in {one_line(home_text(directory), 400)}"
