"""Commands that look into saved sessions: search, show, quote."""

from __future__ import annotations

from typing import TYPE_CHECKING

from chat_loop.commands.chat import Chat, Place
from chat_loop.commands.options import given
from chat_loop.commands.registry import registry
from chat_loop.errors import SessionError, UsageError
from chat_loop.library.filters import filter_of
from chat_loop.sessions.naming import name_of
from chat_loop.sessions.records import Exchange, Session, Undo

if TYPE_CHECKING:
    from chat_loop.display.hits import ShownHit
    from chat_loop.library.search import FolderHit

HITS = 10
_LOOK = "/search WORDS finds what was said, sessions lists the saved ones."
EXCERPT = 60
"""Tokens of a text that are shown of a hit."""


@registry.command("search", argument="WORDS")
async def search(chat: Chat, argument: str) -> None:
    """Find what was said in any session; the numbers are those that show, quote and resume take.

    Ids, numbers and paths are found as they stand.
    --tag T, --agent A, --project P, --since DATE, --before DATE (2026-11-21, or an age such as 30d)
    """
    from chat_loop.display.hits import show_hits
    from chat_loop.library.search import search_all  # not before something is searched

    asked = given("search", argument, valued=("agent", "tag", "project", "since", "before"))
    if not asked.words:
        raise UsageError(
            "What shall be found? search takes words.",
            "For example: /search token bucket --since 7d",
        )
    wanted = filter_of(asked.values, chat.sessions.now())
    found, trouble = await chat.look(
        lambda library, progress: search_all(
            library, asked.words, wanted, HITS, progress, chat.semantic
        ),
    )
    for sentence in (trouble, chat.semantic.untold() if chat.semantic is not None else ""):
        if sentence:
            chat.display.warn(sentence)
    chat.number(
        (hit.row.id for hit in found),
        (Place(hit.row.id, hit.exchange.query.number) for hit in found),
    )
    show_hits(chat.display, [_shown(hit, asked.words) for hit in found], chat.sessions.now())


def excerpts_of(found: FolderHit) -> list[tuple[str, str]]:
    """Return who said what of a hit: the sentences that fit, and a word of what stands around."""
    from chat_loop.library.archive_text import excerpt
    from chat_loop.library.search import texts
    from chat_loop.tokens import estimate

    excerpts = []
    for part, (who, text) in enumerate(texts(found.exchange)):
        places = [place for place in found.places if place.part == part]
        if text.strip() and (places or (part < 2 and not found.places)):
            excerpts.append((who, excerpt(text, places, EXCERPT, estimate)))
    return excerpts


def _shown(found: FolderHit, words: str) -> ShownHit:
    from chat_loop.display.hits import ShownHit

    said = {"User": "You", "Assistant": found.row.agent or "Assistant"}
    return ShownHit(
        name=found.row.name or found.row.id,
        tags=found.row.tags,
        number=found.exchange.query.number,
        at=found.exchange.query.at,
        excerpts=tuple((said.get(who, who), text) for who, text in excerpts_of(found)),
        related=found.related,
        marked=tuple(word for word in words.split() if len(word) > 1),
    )


@registry.command("show", argument="N|ID [QUERY]")
async def show(chat: Chat, argument: str) -> None:
    """Show a hit of the last search whole, or a session: its summary and its exchanges.

    /show 2                 the second hit of the last search, or session of the last list
    /show 2 5               query 5 of that session
    """
    from chat_loop.display.hits import show_exchange, show_session  # not before it is asked for

    reference, query = _reference(argument)
    if not reference:
        raise UsageError(
            "Which one? show takes a number of the last search or list, or an id.", _LOOK
        )
    place = _hit(chat, reference) if not query else None
    loaded = chat.load(place.session if place is not None else reference)
    if place is None and not query:
        show_session(chat.display, loaded.session, loaded.damage)
        return
    show_exchange(
        chat.display,
        loaded.session,
        _exchange(loaded.session, place.query if place else int(query)),
    )


@registry.command("quote", argument="N|ID [QUERY]")
async def quote(chat: Chat, argument: str) -> None:
    """Take a hit of the last search, or a session's exchange, into your next message.

    /quote 2                the second hit of the last search
    /quote 2 5              query 5 of the second session of the last list
    """
    reference, query = _reference(argument)
    place = _hit(chat, reference) if reference and not query else None
    if not reference or (place is None and not query):
        raise UsageError(
            "What shall be quoted? A number of the last search, or a session and its query.", _LOOK
        )
    loaded = chat.load(place.session if place is not None else reference)
    exchange = _exchange(loaded.session, place.query if place is not None else int(query))
    header = loaded.session.header
    lines = [
        (
            f"From “{name_of(loaded.session)}” ({header.id}, query {exchange.query.number}, "
            f"{exchange.query.at:%Y-%m-%d}):"
        )
    ]
    lines += [f"You: {exchange.query.text}"]
    lines += [f"{header.agent}: {exchange.reply.text}"] if exchange.reply is not None else []
    chat.quotes.append(
        "\n".join(f"> {line}".rstrip() for text in lines for line in text.split("\n"))
    )
    chat.display.line(f"{lines[0].removesuffix(':')} goes with your next message.", "dim")


def _reference(argument: str) -> tuple[str, str]:
    """What names a session, which may be words, and the number of a query, or an empty text."""
    reference, _, query = argument.rpartition(" ")
    return (reference.strip(), query) if reference and _is_number(query) else (argument, "")


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) < 9


def _hit(chat: Chat, reference: str) -> Place | None:
    """The hit with this number, when the last listing was a search."""
    if not (reference.isascii() and reference.isdigit() and chat.hits):
        return None
    number = int(reference[:9])
    return chat.hits[number - 1] if 1 <= number <= len(chat.hits) else None


def _exchange(session: Session, number: int) -> Exchange:
    found = next((one for one in session.exchanges if one.query.number == number), None)
    if found is None:
        if any(isinstance(entry, Undo) and entry.number == number for entry in session.entries):
            raise SessionError(
                f"Query {number} of that session was undone.", "Its words stand in the file only."
            )
        raise SessionError(
            f"There is no query {number} in that session: {session.numbers}.",
            "show without it shows the last.",
        )
    return found
