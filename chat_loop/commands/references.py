"""Which session a command means: a number of the last listing, an id, `last`, `.`, or words of its
name.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from chat_loop.commands.chat import PAGE, Chat
from chat_loop.display.lists import show_sessions
from chat_loop.display.rows import has_number
from chat_loop.errors import SessionNotFound, UsageError
from chat_loop.library.filters import SessionFilter
from chat_loop.sessions.manager import Loaded
from chat_loop.sessions.records import ID_PATTERN, SessionRow


def own_id(chat: Chat) -> str:
    """The id of the session that is open; empty while there is no file."""
    live = chat.conversation.live
    return "" if live.empty else live.header.id


def here_id(chat: Chat) -> str:
    """Return the id of the newest saved session of the conversation that is open: it may go on from
    one, and have no file of its own yet.
    """
    return own_id(chat) or chat.conversation.live.header.parent


def numbered_ids(rows: Iterable[SessionRow]) -> list[str]:
    """Return the ids that the numbers of a list stand for."""
    return [row.id for row in rows if has_number(row)]


def path_of(chat: Chat, reference: str) -> Path:
    """The file of the session that is meant. Raises SessionNotFound, UsageError for one that has
    not begun.

    Words that fit several sessions list them, so that the next command can name one by its number.
    """
    if reference == ".":
        live = chat.conversation.live
        if live.empty and not live.header.parent:
            raise UsageError(
                "This conversation has not begun.", "Say something first, or name a saved one."
            )
        return chat.sessions.directory / f"{live.header.parent}.md" if live.empty else live.path
    named = chat.sessions.directory / f"{reference}.md"
    whole = reference != "last" and not reference.isdigit() and ID_PATTERN.fullmatch(reference)
    if whole and named.exists():
        return named  # a whole id needs no listing
    number = (
        int(reference) if reference.isascii() and reference.isdigit() and len(reference) < 10 else 0
    )
    if not chat.listed:
        rows, _ = chat.library.rows(max(PAGE, number + 1), here=here_id(chat))
        chat.listed, chat.hits = numbered_ids(rows), []
    if reference == "last":
        return _last(chat)
    try:
        return chat.sessions.find(reference, chat.listed)
    except SessionNotFound as error:
        if error.several or (reference.isascii() and reference.isdigit()):
            raise
        found = _by_words(chat, reference)
        if found is None:
            raise
        return found


def _by_words(chat: Chat, reference: str) -> Path | None:
    """The session whose name or summary has these words; None when one word fits none."""
    if all(word.isdigit() for word in reference.split()):
        raise UsageError("Which session? One number or id is wanted.", "sessions lists them.")
    rows, more = chat.library.rows(PAGE, wanted=SessionFilter(words=reference), here=here_id(chat))
    rows = [row for row in rows if not row.current]
    if not rows and " " not in reference:
        return None
    if not rows:
        raise SessionNotFound(
            f"No session fits “{reference[:40]}”.", "sessions lists them; /search looks inside."
        )
    if len(rows) == 1:
        return rows[0].path
    chat.listed, chat.hits = numbered_ids(rows), []
    show_sessions(chat.display, rows, more, chat.sessions.now())
    what = f"{len(rows) + more} sessions fit “{reference[:40]}”."
    raise SessionNotFound(what, "Say which one by its number.")


def load(chat: Chat, reference: str) -> Loaded:
    """Read the session that is meant; the open one as it is now. Raises SessionError."""
    path = path_of(chat, reference)
    conversation = chat.conversation
    if path == conversation.live.path and not conversation.live.empty:
        return Loaded(conversation.session, path, open=True)
    return chat.sessions.load(path)


def _last(chat: Chat) -> Path:
    """The session that was used last, other than the open one."""
    identity = chat.sessions.current()
    if (
        identity
        and identity != own_id(chat)
        and (chat.sessions.directory / f"{identity}.md").exists()
    ):
        return chat.sessions.directory / f"{identity}.md"
    rows, _ = chat.library.rows(2, here=here_id(chat))
    path = next((row.path for row in rows if not row.current), None)
    if path is None:
        raise SessionNotFound(
            "There is no session to go on with.", "Just say something: one begins."
        )
    return path
