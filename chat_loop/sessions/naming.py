"""The name of a session (pure): the user's name, or the summary's title, or its first words."""

from __future__ import annotations

import re
import unicodedata

from chat_loop.characters import one_line
from chat_loop.errors import UsageError
from chat_loop.sessions.records import TAG_PATTERN, Seal, Session

MAX_NAME = 80  # characters of a name
_REFERENCES = re.compile(r"\s{0,3}\[[\d.,;\s–-]{1,40}(?:reply|user)?\]")

_PICTURES = re.compile(r"\[image \d{1,9}: [^\]\n]{1,60}\]")
"""What stands for a pasted image, such as `[image 1: 1280×720, 240 KB]`."""


def name_of(session: Session) -> str:
    """Return the name for a listing; empty when nothing was said yet."""
    return session.name or session.header.title or first_words(session)


def title(session: Session, seal: Seal) -> str:
    """Return the title of a session with this seal. A child keeps its conversation's title."""
    before = session.header.title
    if before and session.header.parent:
        return before
    if seal.source != "model" or seal.summary is None or not seal.summary.topics:
        return before
    return one_line(_REFERENCES.sub("", seal.summary.topics[0]), MAX_NAME)


def first_words(session: Session) -> str:
    """Return the first line of the first query with text, preferably one that is not a quote."""
    for query in session.queries:
        if text := query.text.strip():
            lines = text.split("\n")
            unquoted = (line for line in lines if line.strip() and line[0] != ">")
            line = next(unquoted, lines[0])
            return one_line(_PICTURES.sub("", line).strip() or line, MAX_NAME)
    return ""


def validate_name(text: str) -> str:
    """Return a name on one line. Raises UsageError when it is too long."""
    name = " ".join(text.split())
    if len(name) > MAX_NAME:
        raise UsageError(f"A name has at most {MAX_NAME} characters; this one has {len(name):,}.")
    return name


def validate_tag(text: str) -> str:
    """Return a tag in lower case. Raises UsageError when it is invalid."""
    tag = unicodedata.normalize("NFC", text.strip().lstrip("#")).lower()
    if TAG_PATTERN.fullmatch(tag) is None:
        hint = "Tags are up to 40 letters, digits and any of _ . / + - without spaces."
        raise UsageError(f"“{text[:40]}” is not a tag.", hint)
    return tag
