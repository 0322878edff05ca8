"""A chain as one markdown document: a list of its sessions, then their transcripts as they are.

    <!-- chat:export v=1 sessions=3 -->      the list, for the reader; the number reveals a cut
    <!-- chat:end -->

    <!-- chat:session v=1 id=… -->           a transcript

A line with a session's marker begins a transcript. No text can contain such a line, since the
format escapes it, so nothing that was said can move the border between two sessions. One session
alone is exported as its transcript.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

from chat_loop.sessions import marker
from chat_loop.sessions.escape import encode_line
from chat_loop.sessions.records import IMAGE_FOLDER, Session
from chat_loop.sessions.writer import render

_KIND = "export"
_BORDER = b"\n---\n\n"


def write(sessions: Sequence[Session], folder: str = IMAGE_FOLDER) -> bytes:
    """Return the sessions as one document; its links to images lead into `folder`, a URL's part."""
    transcripts = [render(session, folder) for session in sessions]
    if len(sessions) == 1:
        return transcripts[0]
    agent = encode_line(sessions[-1].header.agent) if sessions else "No"
    lines = [
        marker.write(_KIND, {"v": "1", "sessions": str(len(sessions))}),
        f"# {agent}: a conversation in {len(sessions)} sessions",
        "",
        "| | Session | Date | Queries | Tokens |",
        "|---:|---|---|---:|---:|",
    ]
    for number, session in enumerate(sessions, 1):
        totals, header = session.totals, session.header
        values = f"{header.created:%Y-%m-%d %H:%M} | {totals.queries} | {totals.combined:,}"
        lines.append(f"| {number} | {header.id} | {values} |")
    contents = "\n".join([*lines, marker.write("end"), ""])
    return _BORDER.join([contents.encode(), *transcripts])


def split(data: bytes) -> tuple[list[bytes], int | None]:
    """Return the transcripts of a document, and how many it promises (None: it does not say).

    There are none in bytes without a session's marker.
    """
    promised, torn = None, False
    starts: list[int] = []
    for line in re.finditer(rb"^" + re.escape(marker.PREFIX) + rb"[^\n]*", data, re.MULTILINE):
        found = marker.read(line.group())
        if found is not None:
            if found.kind == _KIND and not starts:
                promised = found.number("sessions")
            elif found.kind == "session" and not torn:
                starts.append(line.start())
            torn = found.kind == "torn"  # a torn header is written again in the same transcript
    borders = pairwise([*starts, len(data)])
    return [data[start:end].removesuffix(_BORDER) for start, end in borders], promised
