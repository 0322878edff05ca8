"""What of a session is stored outside its file (pure): texts without secrets, and numbers that a
table can hold.
"""

from __future__ import annotations

from msgspec.structs import replace

from chat_loop.sessions.records import SessionRow

LONGEST = 1 << 20
"""Characters of a text that the index keeps; what is behind them is found in the file only."""
LARGEST = (1 << 63) - 1


def kept(text: str) -> str:
    """A text without secrets, as it can be stored."""
    from chat_loop.redact import redacted  # not for a listing that reads no file

    return redacted(text[:LONGEST].encode("utf-8", "replace").decode())


def number(value: int | None) -> int | None:
    """A number as a table can hold it."""
    return None if value is None else min(max(value, -LARGEST), LARGEST)


def shown(row: SessionRow) -> SessionRow:
    """A row that was read from a file, as the index gives it."""
    return replace(
        row,
        agent=kept(row.agent),
        project=kept(row.project),
        name=kept(row.name),
        words=kept(row.words),
        spent=None
        if row.spent is None
        else tuple((kept(model), usage) for model, usage in row.spent),
        queries=number(row.queries),
        tokens=number(row.tokens),
        depth=min(row.depth, LARGEST),
    )
