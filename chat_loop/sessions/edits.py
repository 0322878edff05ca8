"""Changes to the bytes of a stored transcript (pure): a seal, another header, a name or tags.

Everything else is taken over byte for byte, so that an edit by hand or a damaged record stays as it
is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime

from msgspec.structs import replace

from chat_loop.sessions import marker, writer
from chat_loop.sessions.escape import encode_line
from chat_loop.sessions.naming import title
from chat_loop.sessions.parser import BOM, Parsed
from chat_loop.sessions.records import Header, Name, Note, Seal, Session, Tag, Untag

TORN = f"\n{marker.write('torn')}\n".encode()


def append_seal(data: bytes, parsed: Parsed, seal: Seal) -> bytes:
    """Return `data` with the totals in its header and the summary block at its end; an earlier seal
    is replaced.

    `parsed` is what `parse(data)` returned, with a session.
    """
    session = parsed.session
    assert session is not None
    data = data[: parsed.tail].removeprefix(BOM)
    if parsed.torn and session.seal is None:
        data += TORN
    header = replace(
        session.header, name=session.name, tags=session.tags, title=title(session, seal)
    )
    return (
        replace_header(data, session, header)
        + writer.tail(seal, session.totals, header.minor).encode()
    )


def replace_header(data: bytes, session: Session, header: Header) -> bytes:
    """Return `data` with another header, which has the session's totals; without one, `data`."""
    end = _header_end(data)
    newline = data.find(b"\n", end + 1)
    if not end or newline < 0:
        return data
    return writer.head(header, session.totals).encode() + data[newline + 1 :]


def update_metadata(
    data: bytes, parsed: Parsed, at: datetime, name: str | None, tags: Sequence[str] | None
) -> bytes:
    """Return `data` with another name or other tags: in the header of a sealed session, else as
    records. None leaves them as they are.
    """
    session, data = parsed.session, data.removeprefix(BOM)
    assert session is not None
    if session.seal is not None:
        fields = {} if name is None else {"Name": encode_line(name)}
        fields |= {} if tags is None else {"Tags": ", ".join(tags)}
        return _with_fields(data, fields, spaced=session.header.minor > 0)
    notes: list[Note] = [] if name is None else [Name(at=at, text=name)]
    if tags is not None:
        notes += [Tag(at=at, text=tag) for tag in tags if tag not in session.tags]
        notes += [Untag(at=at, text=tag) for tag in session.tags if tag not in tags]
    return data + (TORN if parsed.torn else b"") + "".join(map(writer.note, notes)).encode()


def _header_end(data: bytes) -> int:
    """Return where the line break before the header's end marker stands; 0: there is no such
    header.
    """
    if not data.startswith(marker.PREFIX + b"session"):
        return 0
    return max(0, data.find(b"\n" + marker.PREFIX + b"end"))


def _with_fields(data: bytes, fields: Mapping[str, str], *, spaced: bool) -> bytes:
    """Return `data` with other values for some of the header's fields, `spaced` by empty lines. An
    empty value leaves no line.
    """
    end = _header_end(data)
    lines = data[:end].split(b"\n")
    for field, value in fields.items():
        while at := next((at for at, one in enumerate(lines) if one.startswith(_label(field))), 0):
            del lines[at - 1 if spaced and not lines[at - 1].strip() else at : at + 1]
        before = tuple(map(_label, writer.FIELDS[: writer.FIELDS.index(field)]))
        at = max(
            (number for number, line in enumerate(lines, 1) if line.startswith(before)),
            default=len(lines),
        )
        line = _label(field) + b" " + value.encode()
        lines[at:at] = ([b"", line] if spaced else [line]) if value else []
    return b"\n".join(lines) + data[end:]


def _label(field: str) -> bytes:
    return f"**{field}:**".encode()
