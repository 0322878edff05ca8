"""Commands about sessions: leave, list, resume, begin anew."""

from __future__ import annotations

import os
from collections.abc import Sequence
from shlex import quote

from msgspec.structs import replace

from chat_loop.commands.chat import Chat, Listing
from chat_loop.commands.options import given
from chat_loop.commands.references import PAGE
from chat_loop.commands.registry import Quit, registry
from chat_loop.display.lists import show_sessions
from chat_loop.display.text import one_line
from chat_loop.errors import SessionError, SessionNotFound, UsageError
from chat_loop.library.filters import filter_of
from chat_loop.sessions import summary_block
from chat_loop.sessions.partial import newest_first
from chat_loop.sessions.records import Header, Session, Summary
from chat_loop.values import Usage
from chat_loop.wording import counted, dollars_text

SHOWN = 8
"""Items of each list of a summary that are shown when it is gone on with."""


@registry.command("exit", bare="exit|quit", aliases=("quit",))
async def leave(chat: Chat, argument: str) -> None:
    """Save the session with a summary and leave (Ctrl-D does the same; Ctrl-C skips the
    summary).
    """
    if argument:
        raise UsageError(
            "exit takes nothing after it.",
            "Type exit to leave; a leading space sends a line as text.",
        )
    raise Quit


@registry.command("sessions", argument="[WORDS]", bare="sessions")
async def sessions(chat: Chat, argument: str) -> None:
    """List the conversations, last used first; resume takes the numbers, * is the one that is open.

    /sessions WORDS         those with these words in the name, id, agent, tags, project or summary
    /sessions all           all of them; /sessions more: the next ones
    /sessions browse        in a full-screen browser, with previews
    --unfold                every session of a conversation by itself
    --all                   runs of -p and conversations without a reply as well
    --tag T, --agent A, --project P, --since DATE, --before DATE (2026-11-21, or an age such as 30d)
    """
    asked = given(
        "sessions",
        argument,
        valued=("tag", "agent", "project", "since", "before"),
        flags=("unfold", "all"),
    )
    if asked.words.partition(" ")[0] == "browse":
        await _browse(chat, asked.words.partition(" ")[2])
        return
    if asked.words == "more":
        await _list(chat, chat.listing, further=True)
        return
    everything = asked.words == "all"
    wanted = filter_of(asked.values, chat.sessions.now(), "" if everything else asked.words)
    chat.listing = Listing(
        wanted,
        None if everything else PAGE,
        fold="unfold" not in asked.flags,
        hidden="all" in asked.flags,
    )
    await _list(chat, chat.listing)


async def _browse(chat: Chat, words: str) -> None:
    """Let the user choose on the whole screen, and go on with what was chosen."""
    from chat_loop.browser.app import (
        browse,
    )  # loads the editor's library, which a pipe does not need
    from chat_loop.commands.shelf import ChatShelf

    (rows, _), _ = await chat.look(lambda library, _: library.rows(here=chat.here_id))
    chat.number_rows(rows)
    row = await browse(ChatShelf(chat, rows), now=chat.sessions.now(), words=words)
    chat.attended()
    if row is not None:
        await resume(chat, f"{row.id} --quick")


async def _list(chat: Chat, listing: Listing, *, further: bool = False) -> None:
    """Show a page of a listing: the first, or the one after what is shown."""
    first = listing.shown if further else 0
    limit = None if listing.page is None else first + listing.page
    (rows, more), trouble = await chat.look(
        lambda library, _: library.rows(
            limit,
            wanted=listing.wanted,
            fold=listing.fold,
            here=chat.here_id,
            everything=listing.hidden,
        ),
    )
    if trouble:
        chat.display.line(trouble, "dim")
    if first and len(rows) <= first:
        chat.display.line("There are no more.", "dim")
        return
    chat.number_rows(rows)
    chat.listing = replace(listing, shown=len(rows))
    show_sessions(
        chat.display,
        rows,
        more,
        chat.sessions.now(),
        first=first,
        filtered=bool(listing.wanted),
        hidden=not rows and bool(newest_first(chat.sessions.directory)),
        cost=chat.conversation.options.cost,
    )


@registry.command("resume", argument="[N|ID|WORDS]", bare=r"resume(?:[ \t]+(\S+))?")
async def resume(chat: Chat, argument: str) -> None:
    """Go on with a saved session, from its summary; alone it lists them.

    /resume last            the session that was used last
    /resume 3 --last 5      and its last 5 exchanges in their own words
    /resume 3 --full        all its words, as far as they fit
    /resume 3 --quick       at once: its summary is shown, and no model is asked to confirm it
    """
    if not argument:
        chat.listing = Listing()
        await _list(chat, chat.listing)
        if chat.listed:
            chat.display.line("Type resume and a number, or resume last.", "dim")
        return
    reference, last, whole, quick = _mode(argument)
    path = chat.path(reference)
    if path == chat.conversation.live.path and not chat.conversation.live.empty:
        raise SessionError("That is the session you are in.")
    chat.display.line("Loading session...", symbol="📋")
    try:
        ends = (
            None if whole else chat.sessions.load_ends(path, max(1, last))
        )  # a long one's middle is not needed
        loaded = ends or chat.sessions.load(path)
    except SessionNotFound:
        raise
    except SessionError as error:
        otherwise = chat.conversation.otherwise
        raise SessionError(f"Session can't be resumed: {error.message}", otherwise) from error
    if await _different_agent(chat, loaded.session):
        return
    offer = await chat.conversation.offers(quick=quick).resumed(loaded, last=last, whole=whole)
    words = f" and {counted(len(offer.carried), 'exchange')}" if offer.carried else ""
    what = f"the summary{words}" if offer.block else words.removeprefix(" and ")
    confirmed = offer.answered and not quick
    tokens = chat.conversation.would_hold(offer.block, offer.carried, acknowledged=confirmed)
    price = chat.conversation.options.cost(chat.conversation.agent.model, Usage(input=tokens))
    costs = f", {dollars_text(price)}" if price else ""
    chat.display.line(f"  {tokens:,} tokens{costs}: {what}", "dim")
    if offer.left_out:
        chat.display.prose(
            f"  {counted(offer.left_out, 'exchange')} would not fit and stay summarized.",
            "dim",
            indent=2,
        )
    await chat.conversation.accept(offer, acknowledge=not quick)
    if offer.block and (quick or not (chat.conversation.options.acknowledge and offer.answered)):
        _show_restored(chat, summary_block.parse(offer.block))


def _show_restored(chat: Chat, summary: Summary) -> None:
    """Show what a session goes on from: the beginning of each list of its block, and how much else
    there is.
    """
    names = ("topics", "decisions", "pending", "pinned", "key_facts")
    lists = {name: _first(getattr(summary, name)) for name in names}
    chat.display.reply(
        summary_block.render(Summary(background=one_line(summary.background, 600), **lists))
    )
    rest = {"file": summary.files, "tool": summary.tools}
    if told := ", ".join(counted(len(items), noun) for noun, items in rest.items() if items):
        chat.display.line(f"and {told}", "dim")


def _first(items: Sequence[str]) -> tuple[str, ...]:
    more = len(items) - SHOWN
    shown = tuple(one_line(item, 300) for item in items[:SHOWN])
    return (*shown, f"… and {more} more") if more > 0 else shown


def _mode(argument: str) -> tuple[str, int, bool, bool]:
    """The session, how many of its last exchanges, whether all of them, and whether no model is
    asked.

    Raises UsageError.
    """
    asked = given("resume", argument, valued=("last",), flags=("full", "quick"))
    number = asked.values.get("last", "1")
    if not (number.isascii() and number.isdigit() and len(number) < 10 and int(number)):
        raise UsageError("--last takes a number of exchanges.", "For example: /resume 3 --last 5.")
    if not asked.words or ("full" in asked.flags and asked.values):
        raise UsageError(
            "Which session? resume takes a number, an id, or words of its name.",
            "sessions lists them.",
        )
    words = asked.words.split()
    if len(words) > 1 and all(word.isdigit() for word in words):
        raise UsageError("Which session? resume takes one number or id.", "sessions lists them.")
    return (
        asked.words,
        int(number) if asked.values else 0,
        "full" in asked.flags,
        "quick" in asked.flags,
    )


@registry.command("clear")
async def clear(chat: Chat, argument: str) -> None:
    """Save the session and begin a fresh one with an empty context and an empty screen."""
    await chat.conversation.leave("clear")
    chat.clear_screen()
    chat.display.line("A fresh session; nothing is carried over.", "dim")


def _way_back(header: Header) -> str:
    """How the session is resumed with the agent that made it, when that has a file."""
    if not header.agent_path:
        return ""
    if not os.path.lexists(header.agent_path):
        return "That file is not there any more."
    return f"With that one: chat-loop --agent {quote(header.agent_path)} --resume {header.id}"


async def _different_agent(chat: Chat, session: Session) -> bool:
    """Ask when the session was made with another agent; True when the user says no."""
    agent, header = chat.conversation.agent, session.header
    if header.agent_path == agent.path and (header.agent in ("", agent.name) or agent.path):
        return False
    created = header.agent_path or header.agent
    chat.display.warn(
        f"Session created with {created}, using {agent.path or agent.name}.", _way_back(header)
    )
    if await chat.confirm("Different agent detected. Continue? (y/n) "):
        return False
    chat.display.line(f"Not resumed. {chat.conversation.otherwise}")
    return True
