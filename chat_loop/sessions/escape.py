"""Escaping of free text in a transcript: `decode(encode(text)) == text` for every string."""

from __future__ import annotations

import re

UNSAFE_RANGES = (
    "\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\ufff9-\ufffb"
    "\ud800-\udfff\U000e0000-\U000e007f"
)
"""The characters that a transcript never holds as themselves. The file format fixes them
(docs/format.md): they do not follow Unicode or `characters.py`, or an old file would change.
"""
_UNSAFE = re.compile(f"[{UNSAFE_RANGES}]|⟦(?=U\\+)")
_TOKEN = re.compile(r"⟦U\+([0-9A-F]{4,6})⟧")
_DECODABLE = re.compile(f"[{UNSAFE_RANGES}⟦]")
_MARKER_LINE = re.compile(r"^([ \t]*)(?=\\*<!--)", re.MULTILINE)
_ESCAPED_LINE = re.compile(r"^([ \t]*)\\(?=\\*<!--)", re.MULTILINE)
_UNDECIDED_LINE = re.compile(r"[ \t]*\\*(?:<(?:!-?)?)?")
_UNDECIDED_TOKEN = re.compile(r"⟦U?\Z")


def _character(token: re.Match[str]) -> str:
    """Return the character of a token that `encode` wrote; other tokens stay as they are."""
    number = int(token[1], 16)
    if number > 0x10FFFF or token[1] != f"{number:04X}" or not _DECODABLE.fullmatch(chr(number)):
        return token[0]
    return chr(number)


def visible(text: str) -> str:
    """Make control characters and the like visible; newline and tab stay."""
    return _UNSAFE.sub(lambda match: f"⟦U+{ord(match[0]):04X}⟧", text)


def encode(text: str) -> str:
    """Return `text` as it is written in a transcript's body."""
    return _MARKER_LINE.sub(r"\1\\", visible(text))


def decode(text: str) -> str:
    """Invert `encode`. Text that it never writes stays as it is."""
    return _TOKEN.sub(_character, _ESCAPED_LINE.sub(r"\1", text))


def encode_line(text: str) -> str:
    """Return `text` as one line, for a header field: newlines and tabs are shown as well."""
    return visible(text).replace("\n", "⟦U+000A⟧").replace("\t", "⟦U+0009⟧")


def encode_field(text: str) -> str:
    """Return `text` as one line that keeps a space at its end, which editors remove."""
    line = encode_line(text)
    return f"{line[:-1]}⟦U+0020⟧" if line.endswith(" ") else line


def decode_line(text: str) -> str:
    """Invert `encode_line`; a space at the end of a header field may be shown as well."""
    text = text.replace("⟦U+000A⟧", "\n").replace("⟦U+0009⟧", "\t").replace("⟦U+0020⟧", " ")
    return _TOKEN.sub(_character, text)


class StreamEncoder:
    """`encode` for text in pieces. It holds back an end that may still become a marker or token."""

    def __init__(self) -> None:
        self._held = ""
        self._inside_line = False

    def feed(self, text: str, *, last: bool = False) -> str:
        """Add the next piece. Return the text that can be written now, all of it if `last`."""
        text = self._held + text
        cut = len(text)
        start = text.rfind("\n") + 1
        if last:
            pass
        elif (start or not self._inside_line) and _UNDECIDED_LINE.fullmatch(text, start):
            cut = start
        elif undecided := _UNDECIDED_TOKEN.search(text):
            cut = undecided.start()
        self._held = text[cut:]
        text = text[:cut]
        head, newline, rest = text.partition("\n")
        beginning = visible(head) if self._inside_line else encode(head)
        if text:
            self._inside_line = not text.endswith("\n")
        return beginning + newline + encode(rest)
