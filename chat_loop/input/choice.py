"""One thing that a text being typed can become."""

from __future__ import annotations

from msgspec import Struct


class Choice(Struct, frozen=True, kw_only=True):
    """`text` takes the place of the `length` characters before the cursor. The menu shows `shown`,
    else the text, and behind it `note`.
    """

    text: str
    length: int
    shown: str = ""
    note: str = ""
