"""Small images of every kind, made by hand: nothing here reads an image."""

from __future__ import annotations

import struct
import zlib
from base64 import b64encode
from hashlib import sha256

from chat_loop.sessions.records import IMAGES


def _chunk(name: bytes, content: bytes) -> bytes:
    return (
        struct.pack(">I", len(content))
        + name
        + content
        + struct.pack(">I", zlib.crc32(name + content))
    )


def png(width: int = 4, height: int = 3, *, noise: bytes = b"") -> bytes:
    """Return a blue rectangle; `noise` makes the file larger than necessary."""
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    pixels = zlib.compress((b"\0" + b"\x40\x80\xff" * width) * height)
    extra = _chunk(b"tEXt", noise) if noise else b""
    return (
        b"\x89PNG\r\n\x1a\n"
        + _chunk(b"IHDR", header)
        + extra
        + _chunk(b"IDAT", pixels)
        + _chunk(b"IEND", b"")
    )


def huge_png(width: int, height: int) -> bytes:
    """Return a file of a few bytes whose header claims a huge size."""
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + _chunk(b"IHDR", header) + _chunk(b"IEND", b"")


def jpeg(width: int = 4, height: int = 3) -> bytes:
    """Return the frame of a JPEG, with a comment and fill bytes before its size."""
    comment = b"\xff\xfe" + struct.pack(">H", 7) + b"hello"
    frame = b"\xff\xff\xc2" + struct.pack(">HBHHB", 8, 8, height, width, 0)
    return (
        b"\xff\xd8\xff\xe0"
        + struct.pack(">H", 4)
        + b"\0\0"
        + comment
        + frame
        + b"\xff\xda\0\2\1\2\3\xff\xd9"
    )


def gif(width: int = 4, height: int = 3) -> bytes:
    return (
        b"GIF89a"
        + struct.pack("<HH", width, height)
        + b"\0\0\0"
        + b"\x2c"
        + bytes(9)
        + b"\2\1\0\0"
        + b"\x3b"
    )


def webp(width: int = 4, height: int = 3, kind: bytes = b"VP8X") -> bytes:
    """Return the header of a WebP file; `kind` is the type of its first chunk."""
    match kind:
        case b"VP8X":
            content = (
                bytes(4) + (width - 1).to_bytes(3, "little") + (height - 1).to_bytes(3, "little")
            )
        case b"VP8L":
            content = (
                b"\x2f" + ((width - 1) | (height - 1) << 14).to_bytes(4, "little") + b"\0\0\0\0\0"
            )
        case _:
            content = b"\0\0\0\x9d\x01\x2a" + struct.pack("<HH", width, height)
    chunk = kind + struct.pack("<I", len(content)) + content
    return b"RIFF" + struct.pack("<I", 4 + len(chunk)) + b"WEBP" + chunk


def place(data: bytes, media: str = "image/png") -> str:
    """Return the path of a stored image, relative to the sessions folder."""
    return f"attachments/{sha256(data).hexdigest()}.{IMAGES[media]}"


def base64(data: bytes) -> str:
    return b64encode(data).decode()
