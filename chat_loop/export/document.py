"""A chain as one markdown document: a list of its sessions, then their transcripts as they are, one
after the other.

    <!-- chat:export v=1 sessions=3 -->      the list, for the reader; the number tells a document that was cut off
    <!-- chat:end -->

    <!-- chat:session v=1 id=… -->           a transcript

A line that is a session's marker begins a transcript. No text can hold such a line, since the
format escapes it; so nothing that was said can move the border between two sessions. One session
alone is exported as its transcript.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from chat_loop.sessions import marker
from chat_loop.sessions.escape import encode_line
from chat_loop.sessions.records import IMAGE_FOLDER, Session
from chat_loop.sessions.writer import render

KIND = "export"
_BORDER = b"\n---\n\n"


class Parts(Struct, frozen=True):
    """A document taken apart: the transcripts in order, and how many it says it holds (None: it
    does not say).
    """

    transcripts: tuple[bytes, ...]
    promised: int | None = None


def joined(sessions: Sequence[Session], folder: str = IMAGE_FOLDER) -> bytes:
    """Return the sessions as one document; its links to images lead into `folder`, a part of a
    URL.
    """
    transcripts = [render(session, folder) for session in sessions]
    if len(sessions) == 1:
        return transcripts[0]
    return _BORDER.join([_contents(sessions).encode(), *transcripts])


def taken_apart(data: bytes) -> Parts:
    """Return the transcripts of a document. Bytes without a session's marker come back without
    transcripts.
    """
    promised = None
    starts: list[int] = []
    fenced = False
    position = 0
    while position < len(data):
        end = data.find(b"\n", position)
        end = len(data) if end < 0 else end
        found = (
            marker.read(data[position:end]) if data.startswith(marker.PREFIX, position) else None
        )
        if found is not None:
            if found.kind == KIND and not starts:
                promised = found.number("sessions")
            elif found.kind == "session" and not fenced:
                starts.append(position)
            fenced = (
                found.kind == "torn"
            )  # a header that was torn off is written again in the same transcript
        position = end + 1
    ends = [*starts[1:], len(data)]
    pieces = (
        data[start:end].removesuffix(_BORDER) for start, end in zip(starts, ends, strict=False)
    )
    return Parts(tuple(pieces), promised)


def _contents(sessions: Sequence[Session]) -> str:
    agent = encode_line(sessions[-1].header.agent) if sessions else "No"
    lines = [
        marker.write(KIND, {"v": "1", "sessions": str(len(sessions))}),
        f"# {agent}: a conversation in {len(sessions)} sessions",
        "",
        "| | Session | Date | Queries | Tokens |",
        "|---:|---|---|---:|---:|",
    ]
    for number, session in enumerate(sessions, 1):
        totals, header = session.totals, session.header
        when = f"{header.created:%Y-%m-%d %H:%M}"
        lines.append(
            f"| {number} | {header.id} | {when} | {totals.queries} | {totals.combined:,} |"
        )
    return "\n".join([*lines, marker.write("end"), ""])
