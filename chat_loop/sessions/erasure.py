"""Remove content from sessions for good (pure): a text, or everything that a session got from a
purged parent. A visible mark replaces it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Iterable
from typing import TypeVar

from msgspec import Struct
from msgspec.structs import asdict, replace

from chat_loop.errors import UsageError
from chat_loop.sessions import marker
from chat_loop.sessions.escape import decode
from chat_loop.sessions.records import (
    PURGED_PARENT,
    REMOVED,
    ArchiveContext,
    Attachment,
    Call,
    Covered,
    Entry,
    Opaque,
    QueryEntry,
    Reply,
    Restoration,
    Result,
    Session,
    Tag,
    Untag,
)
from chat_loop.sessions.writer import with_digest
from chat_loop.values import sha256

MIN_TEXT = 4  # characters: a shorter text occurs in too many words
_CUT = "…"  # ends an excerpt that was shortened
_HEADER = [*set(marker.HEADER.values()) - {"parent"}]

Value = TypeVar("Value", bound=Struct)


class Eraser:
    """Replaces a text with a mark, in any case, with any white space between its words, and as
    escaped in transcripts and JSON. Where an excerpt was cut, it replaces the part that is left.
    """

    def __init__(self, text: str) -> None:
        words = decode(text).split()
        self._text = " ".join(words).lower()
        if len(self._text) < MIN_TEXT:
            raise UsageError(f"The text has fewer than {MIN_TEXT} characters: give more of it.")
        pattern = r"(?:\s|\\[nrt])+".join("".join(map(_character, word)) for word in words)
        self._pattern = re.compile(pattern, re.IGNORECASE)
        self.count = 0  # the number of replacements

    def __call__(self, text: str) -> str:
        return REMOVED.join(map(self._replace, text.split(REMOVED)))

    def _replace(self, text: str) -> str:
        text, count = self._pattern.subn(REMOVED, text)
        self.count += count
        parts = text.split(_CUT)  # where an excerpt was cut, a part of the text may be left
        if len(parts) == 1:
            return text
        for size in range(len(self._text) - 1, MIN_TEXT - 1, -1):
            for at in range(len(parts) - 1):
                if parts[at][-size:].lower() == self._text[:size]:
                    parts[at] = parts[at][:-size] + REMOVED
                    self.count += 1
                if parts[at + 1][:size].lower() == self._text[-size:]:
                    parts[at + 1] = REMOVED + parts[at + 1][size:]
                    self.count += 1
        return _CUT.join(parts)


def _character(sign: str) -> str:
    """Return the pattern of a character and of its escaped forms."""
    if sign.isascii() and sign.isalnum():
        return sign
    forms = dict.fromkeys((sign, json.dumps(sign)[1:-1], f"⟦U+{ord(sign):04X}⟧"))
    pattern = f"(?:{'|'.join(map(re.escape, forms))})"
    if sign == "<":  # backslashes escape a line that looks like a marker
        pattern = r"\\*" + pattern
    return pattern


def without_text(session: Session, erase: Eraser, *, keeps_opaque: bool = False) -> Session:
    """Return a session without a text; ids, dates and the names of tools and models stay. Unless it
    `keeps_opaque`, the parts that only a service can read are removed, too.
    """
    header = _without(session.header, erase, _HEADER)
    tags = tuple(tag for tag in header.tags if erase(tag) == tag)
    header = replace(header, tags=tags)
    seal = session.seal
    if seal is not None and seal.summary is not None:
        summary = _without(seal.summary, erase, asdict(seal.summary))
        if summary != seal.summary:
            seal = replace(seal, summary=summary)
            if seal.digest and not seal.edited:
                seal = with_digest(seal, header.minor)
    entries = []
    for entry in session.entries:
        if isinstance(entry, Opaque) and not (keeps_opaque and erase(entry.text) == entry.text):
            continue
        changed = _without(entry, erase, _texts_of(entry))
        if isinstance(changed, Attachment) and changed.text != getattr(entry, "text", ""):
            data = changed.text.encode("utf-8", "replace")
            changed = replace(changed, size=len(data), sha256=sha256(data))
        if changed == entry or not isinstance(entry, Tag | Untag):  # a mark is not a valid tag
            entries.append(changed)
    return replace(session, header=header, entries=tuple(entries), seal=seal)


def queries_with(session: Session, erase: Eraser) -> set[int]:
    """Return the numbers of the queries of a session that have a text, in any of their records."""
    found = set()
    for entry in session.entries:
        if isinstance(entry, QueryEntry) and _without(entry, erase, _texts_of(entry)) != entry:
            found.add(entry.number)
    return found


def without_covered(session: Session, is_covered: Callable[[Covered], bool]) -> Session:
    """Return a session without the covered blocks that `is_covered` names: their words may be
    summarized again.
    """
    kept = (
        entry for entry in session.entries if not (isinstance(entry, Covered) and is_covered(entry))
    )
    return replace(session, entries=tuple(kept))


def _texts_of(entry: Entry) -> set[str]:
    """Return the attributes of an entry that may have a text of the user or the model."""
    names = {"text", "arguments", "block"}.intersection(type(entry).__struct_fields__)
    if isinstance(entry, Attachment):
        names.add("name")
    return names


def _without(value: Value, erase: Eraser, names: Iterable[str]) -> Value:
    """Return a value with a text erased from the attributes `names`, texts or tuples of texts."""
    texts: dict[str, str | tuple[str, ...]] = {}
    for name in names:
        content = getattr(value, name)
        texts[name] = tuple(map(erase, content))
        if isinstance(content, str):
            texts[name] = erase(content)
    return replace(value, **texts)


def without_parent(session: Session, archive_tools: Collection[str]) -> Session:
    """Return a session without the content from a purged ancestor: the restored block and the
    answer to it, passages of the archive, the summary, the title, and the parts that only a service
    can read. Its own words stay.
    """
    calls = [entry for entry in session.entries if isinstance(entry, Call)]
    asked = {(call.number, call.id) for call in calls if call.name in archive_tools}

    def without(entry: Entry) -> Entry:
        match entry:
            case Restoration() | Covered():
                return replace(entry, block=PURGED_PARENT)
            case ArchiveContext() | Reply(number=0):
                return replace(entry, text=REMOVED)
            case Result() if (entry.number, entry.id) in asked:
                return replace(entry, text=REMOVED)
        return entry

    seal = session.seal
    if seal is not None:
        gone: dict[str, None] = dict.fromkeys(("summary", "usage", "seconds", "covers"))
        seal = replace(seal, source="none", digest="", edited=False, **gone)
    header = replace(session.header, title="", parent_path="")
    kept = (entry for entry in session.entries if not isinstance(entry, Opaque))
    return replace(session, header=header, entries=tuple(map(without, kept)), seal=seal)
