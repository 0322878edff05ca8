"""The form of the sequences that a terminal sends: complete, begun, and broken off.

It needs nothing but the standard library, so that a chat without a line editor starts fast.
"""

from __future__ import annotations

import re

PASTE_START = "\x1b[200~"
PASTE_END = "\x1b[201~"

_CSI = r"\[(?:\[[A-E]|M[\s\S]{3}|[0-?]*[ -/]*[@-LN-Z\\-~]|[0-?]+[ -/]*M)"
_SS3 = r"O[0-9;]*[A-Za-z]"
COMPLETE = re.compile(
    rf"\x1b(?:\x1b?(?:{_CSI}|{_SS3})|[\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\)|[^\x1b\[\]OPX^_])"
)
PARTIAL = re.compile(
    r"\x1b(?:\x1b?(?:\[(?:\[|M[\s\S]{0,2}|[0-?]*[ -/]*)|O[0-9;]*)?|[\]PX^_][^\x07\x1b]*\x1b?)"
)
BROKEN = re.compile(r"\x1b(?:\[(?:\[|[0-?]*[ -/]*)|[\]PX^_][^\x07\x1b]*|O[0-9;]*)?")
_CTRL_KEYS = re.compile(r"\x1b\[(?:27;5;(\d+)~|(\d+);5u)")


def without_sequences(text: str) -> str:
    """Return a line without its sequences; Ctrl with a letter becomes its control character."""
    if "\x1b" not in text:
        return text
    text = _CTRL_KEYS.sub(lambda key: chr(int(key[1] or key[2]) & 0x1F), text)
    return BROKEN.sub("", COMPLETE.sub("", text))
