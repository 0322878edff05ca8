"""Characters as they are seen: a letter with its accents, a joined emoji, a flag (pure).

The usual part of the extended grapheme clusters of https://unicode.org/reports/tr29/.
"""

from __future__ import annotations

from unicodedata import category

LOOKED_AT = 64
"""Code points before the cursor in which the last character is looked for; longer ones are taken in
parts.
"""
_JOINER = "\u200d"


def first(text: str) -> int:
    """How many code points the first character of a text has; 0 when it is empty."""
    size = min(len(text), 1)
    if _is_flag(text[:1]) and _is_flag(text[1:2]):
        size = 2
    while size < len(text) and (
        _extends(text[size]) or (text[size - 1] == _JOINER and not text[size].isascii())
    ):
        size += 1
    return size


def last(text: str) -> int:
    """How many code points the last character of a text has; 0 when it is empty."""
    text, size = text[-LOOKED_AT:], 0
    while text:
        size = first(text)
        text = text[size:]
    return size


def _extends(sign: str) -> bool:
    """Whether a code point belongs to the one before it: accents, selectors, joiners, colours of
    the skin, tags.
    """
    if sign.isascii():
        return False
    return (
        category(sign) in ("Mn", "Me", "Mc")
        or sign == _JOINER
        or "\U0001f3fb" <= sign <= "\U0001f3ff"
        or "\U000e0020" <= sign <= "\U000e007f"
        or "\u1160" <= sign <= "\u11ff"
    )


def _is_flag(sign: str) -> bool:
    return "\U0001f1e6" <= sign <= "\U0001f1ff"
