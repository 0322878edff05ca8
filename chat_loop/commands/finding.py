"""Commands that find what was said, show it, and quote it."""

from __future__ import annotations

import re

from chat_loop.commands.branches import counting, is_reference
from chat_loop.commands.chat import Chat, Listed
from chat_loop.commands.registry import OptionValues, registry, usage_error
from chat_loop.display import listings
from chat_loop.library import filters
from chat_loop.sessions import naming
from chat_loop.sessions.chain import exchange_of
from chat_loop.tokens import estimate

MAX_HITS = 10


@registry.command("search WORDS", "Sessions", valued=filters.NAMES, shows=r".*")
async def search(chat: Chat, argument: str, options: OptionValues) -> None:
    """Search all conversations; show, quote and resume take the numbers of the hits.

    Ids, numbers and paths are matched exactly.
    --tag T, --agent A, --project P, --since DATE, --before DATE (2026-11-21, or an age such as 30d)
    """
    from chat_loop.library.search import excerpts_of, search_all  # loads the index

    if not argument:
        raise usage_error("search")
    wanted = filters.filter_of(options, chat.sessions.now())
    hits, warning = await chat.look(
        lambda library: search_all(library, argument, wanted, MAX_HITS, chat.semantic)
    )
    problem = ""
    if chat.semantic is not None:
        problem = chat.semantic.problem
    for sentence in filter(None, (warning, problem)):
        chat.display.warn(sentence)
    chat.listed = [Listed(hit.row.id, hit.exchange.number) for hit in hits]
    marked = [word for word in argument.split() if len(word) > 1]
    shown = [(hit.row, hit.exchange.query, hit.related, excerpts_of(hit, estimate)) for hit in hits]
    listings.show_hits(chat.display, shown, marked, chat.sessions.now())


@registry.command("show [MESSAGE | N|ID [MESSAGE]]", "Sessions", shows=r".*")
async def show(chat: Chat, argument: str, options: OptionValues) -> None:
    """Show a message and its reply in full, a search hit, or a session with its summary.

    /show                   the last message, with the output of its tools
    /show 2                 the second hit of the last search, or session of the last list
    /show 2 5               message 5 of that session
    /show 2.14              message 14 of the second session of this conversation
    """
    if not argument and (exchanges := chat.conversation.context.exchanges):
        listings.show_exchange(chat.display, chat.conversation.session, exchanges[-1])
        return
    if is_reference(argument):
        found = counting(chat, argument)
        listings.show_exchange(chat.display, found.loaded.session, found.exchange)
        return
    reference, number = _message_named(chat, argument)
    if not reference:
        raise usage_error("show")
    loaded = await chat.load(reference, stored=True)
    if number is None:
        name = naming.name_of(loaded.session)
        listings.show_session(chat.display, name, loaded.session, loaded.damage)
    else:
        listings.show_exchange(chat.display, loaded.session, exchange_of(loaded.session, number))


@registry.command("quote MESSAGE | N|ID [MESSAGE]", "Sessions")
async def quote(chat: Chat, argument: str, options: OptionValues) -> None:
    """Quote a search hit, or a message of a session, in your next message.

    /quote 2                the second hit of the last search
    /quote 2 5              message 5 of the second session of the last list
    /quote 2.14             message 14 of the second session of this conversation
    """
    if is_reference(argument):
        found = counting(chat, argument)
        session = found.loaded.session
        exchange = found.exchange
    else:
        reference, number = _message_named(chat, argument)
        if not reference or number is None:
            raise usage_error("quote")
        session = (await chat.load(reference, stored=True)).session
        exchange = exchange_of(session, number)
    header = session.header
    origin = f"({header.id}, {exchange.ref}, {exchange.query.at:%Y-%m-%d})"
    source = f"From “{naming.name_of(session)}” {origin}"
    quoted = f"{source}:\nYou: {exchange.query.text}"
    if exchange.reply is not None:
        quoted += f"\n{header.agent}: {exchange.reply.text}"
    chat.quotes.append("\n".join(f"> {line}".rstrip() for line in quoted.split("\n")))
    chat.display.line(f"{source} goes with your next message.", "dim")


def _message_named(chat: Chat, argument: str) -> tuple[str, int | None]:
    """Return the reference to a session, and the number of a query if one is named."""
    reference = argument
    number = None
    if match := re.fullmatch(r"(.*\S)\s+([0-9]{1,9})", argument):
        reference = match[1]
        number = int(match[2])
    if re.fullmatch(r"[0-9]{1,9}", reference) and 0 < int(reference) <= len(chat.listed):
        item = chat.listed[int(reference) - 1]
        if item.query is not None:
            return item.id, item.query if number is None else number
    return reference, number
