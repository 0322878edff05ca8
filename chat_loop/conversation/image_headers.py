"""Reads the type and the size in pixels of an image from its bytes, without decoding it (pure).
https://www.w3.org/TR/png-3/ · https://www.w3.org/Graphics/JPEG/itu-t81.pdf (B.1) ·
https://www.w3.org/Graphics/GIF/spec-gif89a.txt ·
https://developers.google.com/speed/webp/docs/riff_container
"""

from __future__ import annotations

import struct
from struct import unpack_from

MAX_PIXELS = 64_000_000
"""An image with more would need too much memory."""
_STARTS = {
    b"\x89PNG\r\n\x1a\n": "image/png",
    b"\xff\xd8\xff": "image/jpeg",
    b"GIF87a": "image/gif",
    b"GIF89a": "image/gif",
}

_PNG_END = b"IEND\xaeB`\x82"


def media_type(data: bytes) -> str:
    """Return the media type of an image by its first bytes, or "" if it is not an image."""
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return "image/webp"
    return next((media for start, media in _STARTS.items() if data.startswith(start)), "")


def image_size(data: bytes) -> tuple[int, int]:
    """Return the width and the height of an image, both 0 when it is truncated or malformed."""
    sizes = {"image/png": _png, "image/jpeg": _jpeg, "image/gif": _gif, "image/webp": _webp}
    try:
        width, height, complete = sizes[media_type(data)](data)
    except struct.error:
        return 0, 0
    if width and height and complete:
        return (width, height)
    return (0, 0)


def _png(data: bytes) -> tuple[int, int, bool]:
    """Return width, height, and True if the end is there, as the functions below do."""
    width, height = unpack_from(">II", data, 16)
    return width, height, data[12:16] == b"IHDR" and _PNG_END in data[-64:]


def _jpeg(data: bytes) -> tuple[int, int, bool]:
    at = 2
    while True:  # segment by segment: a marker, its length, its content
        start, marker = unpack_from("BB", data, at)
        if start != 0xFF:
            return 0, 0, False
        if marker == 0xFF:  # any number of these may precede a marker
            at += 1
        elif 0xC0 <= marker <= 0xCF and marker not in (0xC4, 0xC8, 0xCC):  # a frame
            height, width = unpack_from(">HH", data, at + 5)
            return width, height, data.rfind(b"\xff\xd9") > at
        else:
            (length,) = unpack_from(">H", data, at + 2)
            at += 2 + max(2, length)


def _gif(data: bytes) -> tuple[int, int, bool]:
    width, height = unpack_from("<HH", data, 6)
    return width, height, b"\x3b" in data[13:][-64:]  # some writers append zeros


def _webp(data: bytes) -> tuple[int, int, bool]:
    (length,) = unpack_from("<I", data, 4)
    complete = length + 8 <= len(data) + 1  # the last byte may be padding
    match data[12:16]:
        case b"VP8X":
            (sizes,) = unpack_from("6s", data, 24)
            width, height = (int.from_bytes(part, "little") + 1 for part in (sizes[:3], sizes[3:]))
        case b"VP8L":
            (bits,) = unpack_from("<I", data, 21)
            width = (bits & 0x3FFF) + 1
            height = (bits >> 14 & 0x3FFF) + 1
        case _:
            width, height = (side & 0x3FFF for side in unpack_from("<HH", data, 26))
    return width, height, complete
