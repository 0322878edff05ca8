"""One thing that a text being typed can become."""

from __future__ import annotations

from chat_loop.frozen import dataclass


@dataclass(frozen=True, kw_only=True)
class Choice:
    """`text` takes the place of the `length` characters before the cursor. The menu shows `shown`,
    else the text, and behind it `note`.
    """

    text: str
    length: int
    shown: str = ""
    note: str = ""
