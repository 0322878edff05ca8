"""What a file's first bytes say of an image (pure): its kind and its size in pixels. Nothing is
ever decoded.

PNG: https://www.w3.org/TR/png-3/ · JPEG: https://www.w3.org/Graphics/JPEG/itu-t81.pdf (B.1) · GIF:
https://www.w3.org/Graphics/GIF/spec-gif89a.txt · WebP:
https://developers.google.com/speed/webp/docs/riff_container
"""

from __future__ import annotations

from msgspec import Struct

PNG = b"\x89PNG\r\n\x1a\n"
_SIZES = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}
"""The JPEG markers of a frame, which hold its size."""
_BARE = frozenset((0x01, *range(0xD0, 0xD8)))
"""The JPEG markers without a length."""


class Picture(Struct, frozen=True):
    """An image by its header; sizes in pixels."""

    media: str
    width: int
    height: int


class Damaged(Exception):
    """It begins as an image and is none: cut off, or not as its kind says."""


def kind(head: bytes) -> str:
    """The media type that a file's first 16 bytes stand for, empty when it is no image that models
    take.
    """
    if head.startswith(PNG):
        return "image/png"
    if head.startswith(b"\xff\xd8\xff"):
        return "image/jpeg"
    if head.startswith((b"GIF87a", b"GIF89a")):
        return "image/gif"
    return "image/webp" if head[:4] == b"RIFF" and head[8:12] == b"WEBP" else ""


def picture(data: bytes) -> Picture | None:
    """The image that a whole file is, None when it is none. Raises Damaged when it is cut off."""
    media = kind(data[:16])
    match media:
        case "image/png":
            width, height = _png(data)
        case "image/jpeg":
            width, height = _jpeg(data)
        case "image/gif":
            width, height = _gif(data)
        case "image/webp":
            width, height = _webp(data)
        case _:
            return None
    if not (width and height):
        raise Damaged
    return Picture(media, width, height)


def _big(data: bytes, at: int, length: int) -> int:
    piece = data[at : at + length]
    if len(piece) < length:
        raise Damaged
    return int.from_bytes(piece, "big")


def _little(data: bytes, at: int, length: int) -> int:
    return int.from_bytes(_big(data, at, length).to_bytes(length, "big"), "little")


def _png(data: bytes) -> tuple[int, int]:
    if data[12:16] != b"IHDR":
        raise Damaged
    at, name = len(PNG), b""
    while name != b"IEND":  # chunk by chunk: length, name, content, checksum
        name = data[at + 4 : at + 8]
        at += 12 + _big(data, at, 4)
        if at > len(data):
            raise Damaged
    return _big(data, 16, 4), _big(data, 20, 4)


def _jpeg(data: bytes) -> tuple[int, int]:
    at = 2
    while True:
        if _big(data, at, 1) != 0xFF:
            raise Damaged
        marker = _big(data, at + 1, 1)
        if marker == 0xFF:  # a marker may stand behind any number of these
            at += 1
        elif marker in _BARE:
            at += 2
        elif marker in _SIZES:
            height, width = _big(data, at + 5, 2), _big(data, at + 7, 2)
            if data.rfind(b"\xff\xd9") <= at:
                raise Damaged
            return width, height
        else:
            at += 2 + max(2, _big(data, at + 2, 2))


def _gif(data: bytes) -> tuple[int, int]:
    if b"\x3b" not in data[13:][-64:]:  # the trailer; some writers let zeros follow
        raise Damaged
    return _little(data, 6, 2), _little(data, 8, 2)


def _webp(data: bytes) -> tuple[int, int]:
    if _little(data, 4, 4) + 8 > len(data) + 1:  # the last byte may be padding
        raise Damaged
    match data[12:16]:
        case b"VP8X":
            return _little(data, 24, 3) + 1, _little(data, 27, 3) + 1
        case b"VP8L":
            bits = _little(data, 21, 4)
            return (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
        case b"VP8 ":
            return _little(data, 26, 2) & 0x3FFF, _little(data, 28, 2) & 0x3FFF
        case _:
            raise Damaged
