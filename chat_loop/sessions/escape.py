r"""Free text in a transcript: two bijections, so that text can never be read as structure.

1. Characters that do not survive editors or terminals (C0 but newline and tab, DEL, C1, carriage
   return, lone surrogates, line separators, bidirectional controls, byte order mark, tags) are
   written visibly as `⟦U+XXXX⟧`; a literal `⟦` before `U+` is written the same way.
2. A line that could be taken for a marker, that is one matching `^[ \t]*\\*<!--`, gains one
   backslash. In markdown `\<!--` shows the characters instead of hiding a comment.

`decode(encode(text)) == text` for every string, and `encode(text)` is always encodable as UTF-8.
"""

from __future__ import annotations

import re

_RANGES = (
    "\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\ufff9-\ufffb"
    "\ud800-\udfff\U000e0000-\U000e007f"
)
_UNSAFE = re.compile(f"[{_RANGES}]|⟦(?=U\\+)")
_SAFE_TOKEN = re.compile(r"⟦U\+([0-9A-F]{4,6})⟧")
_DECODABLE = re.compile(f"[{_RANGES}⟦]")
_MARKER_LINE = re.compile(r"^([ \t]*)(?=\\*<!--)", re.MULTILINE)
_STUFFED_LINE = re.compile(r"^([ \t]*)\\(?=\\*<!--)", re.MULTILINE)
_UNDECIDED_LINE = re.compile(r"[ \t]*\\*(?:<(?:!-?)?)?")
_UNDECIDED_TOKEN = re.compile(r"⟦U?\Z")


def _token(match: re.Match[str]) -> str:
    return f"⟦U+{ord(match.group()):04X}⟧"


def _character(match: re.Match[str]) -> str:
    number = int(match.group(1), 16)
    if (
        number <= 0x10FFFF
        and _DECODABLE.fullmatch(chr(number))
        and f"{number:04X}" == match.group(1)
    ):
        return chr(number)
    return match.group()  # written by hand: only what `encode` writes is read back


def visible(text: str) -> str:
    """Show every character that editors and terminals would swallow or obey; newline and tab
    stay.
    """
    return _UNSAFE.sub(_token, text)


def encode(text: str) -> str:
    """Return `text` as it stands in a transcript's body."""
    return _MARKER_LINE.sub(r"\1\\", visible(text))


def decode(text: str) -> str:
    """Return what `encode` was given. Text that `encode` never writes, such as a hand edit, is
    taken as it stands.
    """
    return _SAFE_TOKEN.sub(_character, _STUFFED_LINE.sub(r"\1", text))


def encode_line(text: str) -> str:
    """Return `text` as one line, for a header field: a newline is shown as well."""
    return visible(text).replace("\n", "⟦U+000A⟧").replace("\t", "⟦U+0009⟧")


def decode_line(text: str) -> str:
    """Return what `encode_line` was given."""
    return _SAFE_TOKEN.sub(_character, text.replace("⟦U+000A⟧", "\n").replace("⟦U+0009⟧", "\t"))


class StreamEncoder:
    """`encode` for text that arrives in pieces: the pieces' results join to `encode` of the whole.

    A line is held back only while it could still become a marker, a `⟦` only while it could still
    become a token.
    """

    def __init__(self) -> None:
        self._held = ""
        self._inside_line = False

    def feed(self, text: str) -> str:
        """Take the next piece; return what can be written now."""
        text = self._held + text
        start = text.rfind("\n") + 1
        if (start or not self._inside_line) and _UNDECIDED_LINE.fullmatch(text, start):
            cut = start
        else:
            undecided = _UNDECIDED_TOKEN.search(text)
            cut = undecided.start() if undecided else len(text)
        self._held = text[cut:]
        return self._encode(text[:cut])

    def finish(self) -> str:
        """Return what was held back."""
        text, self._held = self._held, ""
        return self._encode(text)

    def _encode(self, text: str) -> str:
        if not text:
            return ""
        head, newline, rest = text.partition("\n")
        result = (visible(head) if self._inside_line else encode(head)) + newline + encode(rest)
        self._inside_line = not text.endswith("\n")
        return result
