"""Sealing (pure): the bytes of a transcript, with the totals in its header and the summary block at its end.

What stands between them is taken over byte for byte, so that an edit by hand or a damaged record stays as it is.
"""

from __future__ import annotations

from chat_loop.sessions import marker, transcript
from chat_loop.sessions.parse import Parsed
from chat_loop.sessions.records import Seal

TORN = f"\n{marker.write('torn')}\n".encode()


def sealed(data: bytes, parsed: Parsed, seal: Seal) -> bytes:
    """Return `data` sealed. `parsed` is what `parse(data)` returned, with a session; an earlier seal is replaced."""
    session = parsed.session
    assert session is not None
    totals = session.totals
    if session.seal is not None:
        data = data.removesuffix(transcript.tail(session.seal, totals).encode())
    if parsed.torn:
        data += TORN
    end = data.find(b"\n" + marker.PREFIX + b"end")
    newline = data.find(b"\n", end + 1)
    if data.startswith(marker.PREFIX + b"session") and end >= 0 and newline >= 0:
        data = transcript.head(session.header, totals).encode() + data[newline + 1 :]
    return data + transcript.tail(seal, totals).encode()
