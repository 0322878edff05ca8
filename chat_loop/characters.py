"""Characters that a terminal does not draw as themselves, and two ways to show them.

`readable` is for reading: it keeps the joiners and marks that scripts and emoji need. `exact` is
for consent: it shows everything, so that two texts never look alike.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

Range = tuple[int, int]
"""The first and the last code point."""

DEFAULT_IGNORABLE: tuple[Range, ...] = (
    (0x00AD, 0x00AD),  # soft hyphen
    (0x034F, 0x034F),  # combining grapheme joiner
    (0x061C, 0x061C),  # Arabic letter mark
    (0x115F, 0x1160),  # Hangul fillers
    (0x17B4, 0x17B5),  # Khmer inherent vowels
    (0x180B, 0x180F),  # Mongolian variation selectors, vowel separator
    (0x200B, 0x200F),  # zero-width space and joiners, direction marks
    (0x202A, 0x202E),  # embeddings and overrides of direction
    (0x2060, 0x206F),  # word joiner, invisible operators, isolates, deprecated formats
    (0x3164, 0x3164),  # Hangul filler
    (0xFE00, 0xFE0F),  # variation selectors
    (0xFEFF, 0xFEFF),  # zero-width no-break space
    (0xFFA0, 0xFFA0),  # halfwidth Hangul filler
    (0xFFF0, 0xFFF8),  # reserved
    (0x1BCA0, 0x1BCA3),  # shorthand formats
    (0x1D173, 0x1D17A),  # musical formats
    (0xE0000, 0xE0FFF),  # tags, variation selectors, reserved
)
"""Default_Ignorable_Code_Point of DerivedCoreProperties.txt, the same from Unicode 14 to 16."""

_NEEDED: tuple[Range, ...] = (
    (0x00AD, 0x00AD),
    (0x034F, 0x034F),
    (0x061C, 0x061C),
    (0x115F, 0x1160),
    (0x17B4, 0x17B5),
    (0x180B, 0x180F),
    (0x200B, 0x200F),
    (0x2060, 0x2060),
    (0xFE00, 0xFE0F),
    (0xE0100, 0xE01EF),
)
"""The ignorable characters that stay in what is read: they join, select a variant, mark a harmless
direction, or tell where a line may break.
"""

_OBEYED: tuple[Range, ...] = (
    (0x0000, 0x0008),
    (0x000B, 0x001F),
    (0x007F, 0x009F),
    (0x2028, 0x2029),  # line and paragraph separators
    (0xD800, 0xDFFF),  # surrogates
    (0xFFF9, 0xFFFB),  # interlinear annotations
    (0xFFFE, 0xFFFF),  # noncharacters
)
"""What terminals act on, cannot encode, or hide, although it is not ignorable. Newlines and tabs
are layout.
"""


def _class(ranges: Iterable[Range]) -> str:
    """Return ranges as the inside of a character class."""
    return "".join(f"\\U{first:08x}-\\U{last:08x}" for first, last in ranges)


_TAGS = "\U0001f3f4[\U000e0030-\U000e0039\U000e0061-\U000e007a]"
_FLAG = f"{_TAGS}{{3,6}}\U000e007f"
"""The flag of a part of a country: a black flag, its code in tags, and the tag that ends it."""
_MARKS = re.compile(f"[{_class(_NEEDED)}]")
_BEGUN_FLAG = re.compile(f"{_TAGS}{{0,6}}\\Z")
_PICTURES = ((0x2400, 0x2409), (0x240B, 0x2421))
"""The pictures of control characters, but of the newline, which stays. One in a text must not look
like the character itself.
"""
_BLANKS = ((0x2800, 0x2800),)
"""Printable characters that draw nothing: a Braille pattern without dots."""
_MISLEADING = re.compile(f"[{_class((*DEFAULT_IGNORABLE, *_PICTURES, *_BLANKS))}]")
_READING = re.compile(
    f"({_FLAG})|(?![{_class(_NEEDED)}])[{_class((*DEFAULT_IGNORABLE, *_OBEYED))}]"
)
_NOT_ASCII = re.compile(r"[^\n -~]+")
_LOOKS_SPELLED = re.compile(r"<(?=U\+|[0-9]+ spaces?>)")
LONG_BLANK = 32
"""The number of spaces from which on they are counted instead of drawn."""
_SPACES = re.compile(rf" {{{LONG_BLANK},}}|(?<=[^\n ]) +$|^ {{2,}}$", re.MULTILINE)


def picture(character: str) -> str:
    """Return what is shown for a character that is not drawn: its picture or its number."""
    code = ord(character)
    if code < 0x20:
        return chr(0x2400 + code)
    if code == 0x7F:
        return "␡"
    return f"<U+{code:04X}>"


def readable(text: str, show: Callable[[str], str] = picture) -> str:
    """Return `text` with what a terminal would obey and what hides something replaced by what
    `show` returns for it. Joiners, direction marks and flags stay.
    """
    if text.isascii() and text.isprintable():
        return text
    return _READING.sub(lambda match: match[1] or show(match[0]), text)


def one_line(text: str, length: int = 200) -> str:
    """Return readable text on one line of at most `length` characters; `…` replaces what is cut."""
    text = text.strip()
    if len(text) <= length and "  " not in text and text.isascii() and text.isprintable():
        return text
    begun = text[: 4 * length]
    flat = " ".join(readable(begun.replace("\r\n", "\n")).split())
    if len(flat) <= length and begun == text:
        return flat
    return f"{flat[: length - 1].rstrip()}…"


def exact(text: str) -> str:
    """Return `text` with everything visible that is not drawn as itself. Different texts have
    different results. Newlines stay. Spaces at the end of a line and many in a row are counted.
    """
    text = _LOOKS_SPELLED.sub("<U+003C>", text)
    text = _NOT_ASCII.sub(lambda match: _exact_run(match[0]), text)
    return _SPACES.sub(lambda match: _counted(len(match[0])), text)


def exact_line(text: str) -> str:
    """Return `exact` on one line, with its newlines visible."""
    return exact(text).replace("\n", "␊")


def begun_flag(text: str) -> int:
    """Return the length of the end of `text` that more text may complete to a flag."""
    begun = _BEGUN_FLAG.search(text, max(0, len(text) - 7))
    if begun:
        return len(begun[0])
    return 0


def without_marks(text: str) -> str:
    """Return `text` without the marks that `readable` keeps: terminals disagree on their width."""
    return _MARKS.sub("", text)


def _exact_run(run: str) -> str:
    if run.isprintable() and not _MISLEADING.search(run):
        return run
    return "".join(map(_exact_character, run))


def _exact_character(character: str) -> str:
    if character.isprintable() and not _MISLEADING.match(character):
        return character
    return picture(character)


def _counted(spaces: int) -> str:
    return f"<{spaces} space{'s' * (spaces != 1)}>"
