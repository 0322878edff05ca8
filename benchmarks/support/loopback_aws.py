"""AWS's event stream as a server writes it
(https://docs.aws.amazon.com/AmazonS3/latest/API/RESTSelectObjectAppendix.html).

A frame consists of its length, the length of its headers, a checksum of both, the headers, the
payload, and a checksum of everything.
"""

from __future__ import annotations

import base64
import json
import struct
from binascii import crc32

CONTENT_TYPE = "application/vnd.amazon.eventstream"

_STRING = 7
"""The type of a header with a text value."""


def framed(headers: dict[str, str], payload: bytes) -> bytes:
    """Return one frame."""
    packed = b"".join(
        struct.pack("!B", len(name))
        + name.encode()
        + struct.pack("!BH", _STRING, len(value))
        + value.encode()
        for name, value in headers.items()
    )
    prelude = struct.pack("!II", 12 + len(packed) + len(payload) + 4, len(packed))
    body = prelude + struct.pack("!I", crc32(prelude)) + packed + payload
    return body + struct.pack("!I", crc32(body))


def chunk(data: bytes) -> bytes:
    """Return a part of a reply: an event of the model's own wire."""
    payload = json.dumps({"bytes": base64.b64encode(data).decode(), "p": "abcdefghij"}).encode()
    return framed(
        {":event-type": "chunk", ":content-type": "application/json", ":message-type": "event"},
        payload,
    )


def exception(kind: str, message: str) -> bytes:
    """Return the end of a reply that failed."""
    headers = {
        ":exception-type": kind,
        ":content-type": "application/json",
        ":message-type": "exception",
    }
    return framed(headers, json.dumps({"message": message}).encode())


def from_sse(events: bytes) -> bytes:
    """Return server-sent events as frames."""
    lines = (
        line.removeprefix(b"data: ") for line in events.split(b"\n") if line.startswith(b"data: ")
    )
    return b"".join(map(chunk, lines))
