"""Commands that look into saved sessions: search, show, quote."""

from __future__ import annotations

from typing import TYPE_CHECKING

from chat_loop.commands.references import Place
from chat_loop.commands.registry import registry
from chat_loop.display.hits import ShownHit, show_exchange, show_hits, show_session
from chat_loop.errors import SessionError, UsageError
from chat_loop.library.filters import filter_of
from chat_loop.sessions.naming import name_of
from chat_loop.sessions.records import Exchange, Session, Undo

if TYPE_CHECKING:
    from chat_loop.commands.chat import Chat
    from chat_loop.library.search import FolderHit

HITS = 10
EXCERPT = 60
"""Tokens of a text that are shown of a hit."""
_LOOK = "/search WORDS finds what was said, sessions lists the saved ones."


@registry.command(
    "search",
    "Sessions",
    argument="WORDS",
    valued=("agent", "tag", "project", "since", "before"),
)
async def search(chat: Chat, argument: str) -> None:
    """Find what was said in any session; the numbers are those that show, quote and resume take.

    Ids, numbers and paths are found as they stand.
    --tag T, --agent A, --project P, --since DATE, --before DATE (2026-11-21, or an age such as 30d)
    """
    from chat_loop.library.search import search_all  # not before something is searched

    asked = registry.arguments("search", argument)
    if not asked.words:
        hint = "For example: /search token bucket --since 7d"
        raise UsageError("Search for what?", hint)
    wanted = filter_of(asked.values, chat.sessions.now())
    found, trouble = await chat.look(
        lambda library: search_all(library, asked.words, wanted, HITS, chat.semantic)
    )
    for sentence in (trouble, chat.semantic.new_problem() if chat.semantic is not None else ""):
        if sentence:
            chat.display.warn(sentence)
    places = [Place(hit.row.id, hit.exchange.query.number) for hit in found]
    chat.number((place.session for place in places), places)
    marked = tuple(word for word in asked.words.split() if len(word) > 1)
    shown = []
    for hit in found:
        said = {"User": "You", "Assistant": hit.row.agent or "Assistant"}
        shown.append(
            ShownHit(
                name=hit.row.name or hit.row.id,
                tags=hit.row.tags,
                number=hit.exchange.query.number,
                at=hit.exchange.query.at,
                excerpts=tuple((said.get(who, who), text) for who, text in excerpts_of(hit)),
                related=hit.related,
                marked=marked,
            )
        )
    show_hits(chat.display, shown, chat.sessions.now())


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


@registry.command("show", "Sessions", argument="N|ID [QUERY]")
async def show(chat: Chat, argument: str) -> None:
    """Show a hit of the last search whole, or a session: its summary and its exchanges.

    /show 2                 the second hit of the last search, or session of the last list
    /show 2 5               query 5 of that session
    """
    reference, number = _place(chat, argument)
    if not reference:
        text = "Which one? show takes a number of the last search or list, or an id."
        raise UsageError(text, _LOOK)
    loaded = chat.load(reference)
    if number is None:
        show_session(chat.display, loaded.session, loaded.damage)
    else:
        show_exchange(chat.display, loaded.session, _exchange(loaded.session, number))


@registry.command("quote", "Sessions", argument="N|ID [QUERY]")
async def quote(chat: Chat, argument: str) -> None:
    """Take a hit of the last search, or a session's exchange, into your next message.

    /quote 2                the second hit of the last search
    /quote 2 5              query 5 of the second session of the last list
    """
    reference, number = _place(chat, argument)
    if not reference or number is None:
        text = "Quote what? A number of the last search, or a session and its query."
        raise UsageError(text, _LOOK)
    session = chat.load(reference).session
    exchange, header = _exchange(session, number), session.header
    place = f"({header.id}, query {exchange.query.number}, {exchange.query.at:%Y-%m-%d})"
    source = f"From “{name_of(session)}” {place}"
    lines = [f"{source}:", f"You: {exchange.query.text}"]
    if exchange.reply is not None:
        lines.append(f"{header.agent}: {exchange.reply.text}")
    quoted = (f"> {line}".rstrip() for line in "\n".join(lines).split("\n"))
    chat.quotes.append("\n".join(quoted))
    chat.display.line(f"{source} goes with your next message.", "dim")


def _place(chat: Chat, argument: str) -> tuple[str, int | None]:
    """Return what names a session, and the number of a query: of a hit of the last search, or the
    last word.
    """
    reference, _, query = argument.rpartition(" ")
    if reference and query.isascii() and query.isdigit():
        return reference.strip(), int(query[:9])
    if argument.isascii() and argument.isdigit() and 0 < int(argument[:9]) <= len(chat.hits):
        place = chat.hits[int(argument[:9]) - 1]
        return place.session, place.query
    return argument, None


def _exchange(session: Session, number: int) -> Exchange:
    found = next((one for one in session.exchanges if one.query.number == number), None)
    if found is not None:
        return found
    if any(isinstance(entry, Undo) and entry.number == number for entry in session.entries):
        text = f"Query {number} of that session was undone."
        raise SessionError(text, "Its words stand in the file only.")
    raise SessionError(
        f"There is no query {number} in that session: {session.numbers}.",
        "show without it shows the last.",
    )
