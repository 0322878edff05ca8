"""Reading one record's body: the decoration that the writer put around the text is taken off
again.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

from chat_loop.sessions import writer
from chat_loop.sessions.escape import decode, decode_line
from chat_loop.sessions.marker import Marker
from chat_loop.sessions.records import (
    ID_PATTERN,
    IMAGES,
    REF_PATTERN,
    Attachment,
    Call,
    Entry,
    Query,
    Recall,
    Reply,
    Restoration,
    Result,
    Undo,
)

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
"""The time of what has none."""
_NOTES = {kind: (entry, label) for entry, (kind, label) in writer.NOTES.items()}
KINDS = frozenset(
    {
        "query",
        "reply",
        "acknowledgment",
        "call",
        "result",
        "recall",
        "attachment",
        "restoration",
        "undo",
        *_NOTES,
    }
)
"""The markers that open a body record."""


def _unlabelled(lines: list[str], label: str) -> str:
    """The body without its label: on the first line, or on a line of its own followed by an empty
    one.
    """
    first, rest = (lines[0], lines[1:]) if lines else ("", [])
    if first == label:
        lines = rest[1:] if rest[:1] == [""] else rest
    elif first.startswith(f"{label} "):
        lines = [first.removeprefix(f"{label} "), *rest]
    return decode("\n".join(lines))


def _unfolded(lines: list[str]) -> str:
    """The text of a fold."""
    body = lines[writer.FOLDED :]
    if body[-2:] == ["", "</details>"]:
        body = body[:-2]
    return decode("\n".join(body))


def _ref(opened: Marker, key: str) -> str:
    value = opened.values.get(key, "")
    return value if REF_PATTERN.fullmatch(value) else ""


def _id(opened: Marker, key: str) -> str:
    value = opened.values.get(key, "")
    return value if ID_PATTERN.fullmatch(value) else ""


def _attachment(opened: Marker, lines: list[str], number: int, at: datetime) -> Attachment:
    media = opened.values.get("type", "")
    return Attachment(
        number=number,
        at=at,
        name=decode_line(lines[0].removeprefix(f"{writer.ATTACHED} ")) if lines else "",
        media=media,
        size=opened.number("size") or 0,
        sha256=opened.values.get("sha", ""),
        text="" if media in IMAGES else _unfolded(lines[2:]),
        width=opened.number("width") or 0,
        height=opened.number("height") or 0,
    )


def read(opened: Marker, end: Marker | None, lines: list[str], agent: str) -> Entry:
    """The entry that a body record is. `end` is None for one that was interrupted; `agent` is who
    replies.
    """
    at = opened.time("at") or EPOCH
    number = opened.number("n") or 0
    if opened.kind == "query":
        return Query(number=number, at=at, text=_unlabelled(lines[1:], writer.YOU))
    if opened.kind in _NOTES:
        note, label = _NOTES[opened.kind]
        return note(at=at, text=_unlabelled(lines, label))
    if opened.kind == "undo":
        return Undo(number=number, at=at)
    if opened.kind == "recall":
        return Recall(number=number, at=at, text=_unfolded(lines))
    if opened.kind == "attachment":
        return _attachment(opened, lines, number, at)
    if opened.kind == "call":
        values = opened.values
        return Call(
            number=number,
            at=at,
            id=values.get("id", ""),
            name=values.get("name", ""),
            arguments=_unfolded(lines),
        )
    if opened.kind == "result":
        return Result(
            number=number,
            at=at,
            id=opened.values.get("id", ""),
            text=_unfolded(lines),
            failed=opened.values.get("failed") == "yes",
            seconds=end.seconds("time") if end else None,
        )
    if opened.kind == "restoration":
        return Restoration(
            at=at,
            parent_created=opened.time("of") or EPOCH,
            queries=opened.number("queries") or 0,
            tokens=opened.number("tokens") or 0,
            grandparent=_id(opened, "grandparent"),
            block=_unfolded(lines[4:]),
            depth=max(2, opened.number("depth") or 2),
            since=_ref(opened, "since"),
            fresh=_ref(opened, "fresh"),
            until=_ref(opened, "until"),
            merged=_id(opened, "merged"),
        )
    reply = Reply(
        number=number, at=at, text=_unlabelled(lines, writer.label(agent)), stop="interrupted"
    )
    if end is None:
        return reply
    failed = end.values.get("failed") == "yes"
    return replace(
        reply,
        stop=end.stop() or "end",
        seconds=end.seconds("time"),
        usage=end.usage(),
        failed=failed,
    )
