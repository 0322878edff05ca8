"""What a path that is being typed after `@` can become (act): a look into one folder, bounded in
time and number.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator

from chat_loop.attach import LONGEST, OPENERS

MOST = 200
"""Completions that are offered."""
MOST_SEEN = 20_000
"""Entries of a folder that are looked at."""
SECONDS = 0.15


def completions(before: str) -> Iterator[tuple[str, int]]:
    """The completions of the text before the cursor, as (new text, how many characters it takes the
    place of).

    In the order of their names, folders with a slash at their end; hidden names only when they are
    asked for with a dot. A name with blanks is put into quotes.
    """
    word = _word(before[-2 * LONGEST :])
    if word is None:
        return
    quoted = word.startswith('"')
    typed = word[1:] if quoted else word
    folder, slash, start = typed.rpartition("/")
    for name, is_folder in _names(os.path.expanduser(f"{folder}{slash}") or ".", start):  # noqa: PTH111
        path = f"{folder}{slash}{name}"
        if quoted or any(sign.isspace() for sign in path):
            path = f'"{path}/' if is_folder else f'"{path}"'
        elif is_folder:
            path += "/"
        yield path, len(word)


def _word(before: str) -> str | None:
    """What stands between the last `@` that begins a word and the cursor; None when no path is
    being typed.
    """
    line = before.rpartition("\n")[2]
    at = line.rfind("@")
    while at >= 0:
        if at == 0 or line[at - 1].isspace() or line[at - 1] in OPENERS:
            word = line[at + 1 :]
            if word.startswith('"'):
                return None if '"' in word[1:] else word
            return None if any(sign.isspace() for sign in word) else word
        at = line.rfind("@", 0, at)
    return None


def _names(folder: str, start: str) -> list[tuple[str, bool]]:
    """(name, whether it is a folder) of a folder's entries that begin so."""
    found: list[tuple[str, bool]] = []
    limit = time.monotonic() + SECONDS
    try:
        with os.scandir(folder) as entries:
            for seen, entry in enumerate(entries):
                if (
                    seen >= MOST_SEEN
                    or len(found) >= MOST
                    or (not seen % 100 and time.monotonic() > limit)
                ):
                    break
                name = entry.name
                hidden = name.startswith(".") and not start.startswith(".")
                if name.startswith(start) and not hidden and name.isprintable() and '"' not in name:
                    found.append((name, entry.is_dir()))
    except (OSError, ValueError):
        return []
    return sorted(found)
