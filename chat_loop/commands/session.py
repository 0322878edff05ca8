"""Commands about sessions: leave, list, resume, begin anew, name, tag."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Collection, Sequence
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING

from msgspec.structs import replace

from chat_loop.commands.chat import Chat, Listing
from chat_loop.commands.references import PAGE
from chat_loop.commands.registry import Quit, registry
from chat_loop.display.lists import show_sessions
from chat_loop.display.rows import cost_of
from chat_loop.display.text import one_line
from chat_loop.errors import SessionError, SessionNotFound, UsageError
from chat_loop.library.filters import filter_of
from chat_loop.sessions import summary_block
from chat_loop.sessions.files import take_lock
from chat_loop.sessions.manager import Loaded
from chat_loop.sessions.naming import name_of, validate_name, validate_tag
from chat_loop.sessions.partial import newest_first
from chat_loop.sessions.records import Session, SessionRow, Summary
from chat_loop.values import Usage
from chat_loop.wording import counted, dollars_text

if TYPE_CHECKING:
    from chat_loop.browser.preview import Preview

FILTERS = ("tag", "agent", "project", "since", "before")
MOST_TAGS = 20
SHOWN = 8
"""Items of each list of a summary that are shown when it is resumed."""


@registry.command("exit", "Sessions", bare="exit|quit", aliases=("quit",))
async def leave(chat: Chat, argument: str) -> None:
    """Save the session with a summary and leave (Ctrl-D does the same; Ctrl-C skips the
    summary).
    """
    raise Quit


@registry.command(
    "sessions",
    "Sessions",
    argument="[WORDS]",
    bare="sessions",
    flags=("unfold", "all"),
    valued=FILTERS,
)
async def sessions(chat: Chat, argument: str) -> None:
    """List the conversations, last used first; resume takes the numbers, * is the one that is open.

    /sessions WORDS         those with these words in the name, id, agent, tags, project or summary
    /sessions all           all of them; /sessions more: the next ones
    /sessions browse        in a full-screen browser, with previews
    --unfold                every session of a conversation by itself
    --all                   runs of -p and conversations without a reply as well
    --tag T, --agent A, --project P, --since DATE, --before DATE (2026-11-21, or an age such as 30d)
    """
    asked = registry.arguments("sessions", argument)
    first, _, rest = asked.words.partition(" ")
    if first == "browse":
        await _browse(chat, rest)
        return
    if asked.words == "more":
        await _list(chat, chat.listing, first=chat.listing.shown)
        return
    every = asked.words == "all"
    listing = Listing(
        filter_of(asked.values, chat.sessions.now(), "" if every else asked.words),
        None if every else PAGE,
        fold="unfold" not in asked.flags,
        hidden="all" in asked.flags,
    )
    await _list(chat, listing)


async def _list(chat: Chat, listing: Listing, first: int = 0) -> None:
    """Show the page of a listing after the `first` rows."""
    limit = None if listing.page is None else first + listing.page
    (rows, more), trouble = await chat.look(
        lambda library: library.rows(
            limit,
            wanted=listing.wanted,
            fold=listing.fold,
            here=chat.here_id,
            everything=listing.hidden,
        )
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


async def _browse(chat: Chat, words: str) -> None:
    """Let the user choose on the whole screen, and resume what was chosen."""
    from chat_loop.browser.app import browse  # loads the editor's library, which a pipe lacks

    (rows, _), _ = await chat.look(lambda library: library.rows(here=chat.here_id))
    chat.number_rows(rows)
    row = await browse(BrowsedSessions(chat, rows), now=chat.sessions.now(), words=words)
    chat.attended()
    if row is not None:
        await resume(chat, f"{row.id} --quick")


class BrowsedSessions:
    """The saved sessions as the browser wants them. `first` is what it begins with."""

    def __init__(self, chat: Chat, first: Sequence[SessionRow] | None = None) -> None:
        self._chat = chat
        self._first = first

    def rows(self, unfolded: Collection[str]) -> Sequence[SessionRow]:
        """Return the conversations, after those of `unfolded` their older sessions."""
        first, self._first = self._first, None
        if first is not None and not unfolded:
            return first
        return self._chat.library.rows(unfolded=unfolded, here=self._chat.here_id)[0]

    def preview(self, row: SessionRow) -> Preview:
        """Return what is known of a session."""
        from chat_loop.browser.preview import Preview, preview_of

        try:
            loaded = self._chat.sessions.load(row.path)
        except SessionError as error:
            return Preview(notes=(error.message,))
        price = cost_of(row, self._chat.conversation.options.cost)
        return preview_of(loaded.session, loaded.damage, "" if not price else dollars_text(price))

    def trash(self, row: SessionRow) -> str:
        """Move a session to the trash."""
        from chat_loop.sessions.trash import take_away

        take_away(row.path)
        return f"{row.id} is in the trash; chat-loop sessions restore {row.id} brings it back."

    async def edit(self, row: SessionRow) -> None:
        """Open a session's file in the editor. Raises SessionLocked while it is open elsewhere."""
        held = None
        with contextlib.suppress(OSError):  # a disk that refuses locks can be looked at
            held = take_lock(row.path.parent, row.id)
        try:
            await self._chat.open_file(row.path)
        finally:
            if held is not None:
                held.release()


@registry.command(
    "resume",
    "Sessions",
    argument="[N|ID|WORDS]",
    bare=r"resume(?:[ \t]+(\S+))?",
    flags=("full", "quick"),
    valued=("last",),
)
async def resume(chat: Chat, argument: str) -> None:
    """Go on with a saved session, from its summary; alone it lists them.

    /resume last            the session that was used last
    /resume 3 --last 5      and its last 5 exchanges in their own words
    /resume 3 --full        all its words, as far as they fit
    /resume 3 --quick       at once: its summary is shown, and no model is asked to confirm it
    """
    if not argument:
        await _list(chat, Listing())
        if chat.listed:
            chat.display.line("Type resume and a number, or resume last.", "dim")
        return
    asked = registry.arguments("resume", argument)
    whole, quick = "full" in asked.flags, "quick" in asked.flags
    last = _last(asked.values["last"]) if "last" in asked.values else 0
    if not asked.words or (whole and last):
        text = "Which session? resume takes a number, an id, or words of its name."
        raise UsageError(text, "sessions lists them.")
    loaded = _loaded(chat, chat.path(asked.words), None if whole else max(1, last))
    if not await _same_agent(chat, loaded.session):
        return
    conversation, display = chat.conversation, chat.display
    offer = await conversation.offers(quick=quick).resumed(loaded, last=last, whole=whole)
    parts = ["the summary"] if offer.block else []
    if carried := len(offer.carried):
        parts.append(counted(carried, "exchange"))
    confirmed = offer.answered and not quick
    tokens = conversation.would_hold(offer.block, offer.carried, acknowledged=confirmed)
    price = conversation.options.cost(conversation.agent.model, Usage(input=tokens))
    costs = f", {dollars_text(price)}" if price else ""
    display.line(f"  {tokens:,} tokens{costs}: {' and '.join(parts)}", "dim")
    if offer.left_out:
        text = f"  {counted(offer.left_out, 'exchange')} would not fit and stay summarized."
        display.prose(text, "dim", indent=2)
    await conversation.accept(offer, acknowledge=not quick)
    if offer.block and not (confirmed and conversation.options.acknowledge):
        _show_restored(chat, summary_block.parse(offer.block))


def _show_restored(chat: Chat, summary: Summary) -> None:
    """Show what is resumed: the beginning of each list of its block, and how much else there is."""
    lists: dict[str, tuple[str, ...]] = {}
    for name in ("topics", "decisions", "pending", "pinned", "key_facts"):
        items = getattr(summary, name)
        lists[name] = tuple(one_line(item, 300) for item in items[:SHOWN])
        if len(items) > SHOWN:
            lists[name] += (f"… and {len(items) - SHOWN} more",)
    shown = Summary(background=one_line(summary.background, 600), **lists)
    chat.display.reply(summary_block.render(shown))
    rest = {"file": summary.files, "tool": summary.tools}
    if told := ", ".join(counted(len(items), noun) for noun, items in rest.items() if items):
        chat.display.line(f"and {told}", "dim")


def _last(number: str) -> int:
    """Read the value of --last. Raises UsageError."""
    if not re.fullmatch(r"0*[1-9][0-9]{0,8}", number):
        hint = "For example: /resume 3 --last 5."
        raise UsageError("--last takes a number of exchanges.", hint)
    return int(number)


def _loaded(chat: Chat, path: Path, last: int | None) -> Loaded:
    """Read the session to be resumed: its ends, or all of it. Raises SessionError."""
    live = chat.conversation.live
    if path == live.path and not live.empty:
        raise SessionError("That is the session you are in.")
    chat.display.line("Loading session...", symbol="📋")
    try:
        # the middle of a long one is not needed
        ends = None if last is None else chat.sessions.load_ends(path, last)
        return ends or chat.sessions.load(path)
    except SessionNotFound:
        raise
    except SessionError as error:
        text = f"Session can't be resumed: {error.message}"
        raise SessionError(text, chat.conversation.otherwise) from error


async def _same_agent(chat: Chat, session: Session) -> bool:
    """Ask when the session was made with another agent; False when the user says no."""
    agent, header = chat.conversation.agent, session.header
    if header.agent_path == agent.path and (header.agent in ("", agent.name) or agent.path):
        return True
    hint = f"With that one: chat-loop --agent {quote(header.agent_path)} --resume {header.id}"
    if not header.agent_path or not Path(header.agent_path).exists():  # noqa: ASYNC240 - one look
        hint = "That file is not there any more." if header.agent_path else ""
    created, now = header.agent_path or header.agent, agent.path or agent.name
    chat.display.warn(f"Session created with {created}, using {now}.", hint)
    if await chat.confirm("Different agent detected. Continue? (y/n) "):
        return True
    chat.display.line(f"Not resumed. {chat.conversation.otherwise}")
    return False


@registry.command("clear", "Sessions")
async def clear(chat: Chat, argument: str) -> None:
    """Save the session and begin a fresh one with an empty context and an empty screen."""
    await chat.conversation.leave("clear")
    chat.clear_screen()
    chat.display.line("A fresh session; nothing is carried over.", "dim")


@registry.command("rename", "Sessions", argument="[NAME]")
async def rename(chat: Chat, argument: str) -> None:
    """Call this conversation so; with no name it is called after its summary or first words
    again.
    """
    chat.conversation.rename(validate_name(argument))
    called = name_of(chat.conversation.session)
    how = f"is called “{called}”" if called else "will be called by its first words"
    chat.display.prose(f"This conversation {how}.", "dim")
    _warn_unsaved(chat)


@registry.command("tag", "Sessions", argument="[TAG …]")
async def add_tags(chat: Chat, argument: str) -> None:
    """Tag this conversation; /sessions --tag finds it. With no tag, show those it has."""
    standing = chat.conversation.session.tags
    tags = tuple(dict.fromkeys((*standing, *map(validate_tag, argument.replace(",", " ").split()))))
    if len(tags) > MOST_TAGS:
        raise UsageError(f"A conversation has at most {MOST_TAGS} tags.")
    if tags != standing:
        chat.conversation.tag(tags)
    _show_tags(chat)


@registry.command("untag", "Sessions", argument="TAG …")
async def remove_tags(chat: Chat, argument: str) -> None:
    """Take tags off this conversation."""
    gone = [validate_tag(word) for word in argument.replace(",", " ").split()]
    standing = chat.conversation.session.tags
    if not gone or any(one not in standing for one in gone):
        has = " ".join(f"#{one}" for one in standing) or "none"
        hint = f"This conversation has {has}."
        raise UsageError("Which tag? untag takes tags that are there.", hint)
    chat.conversation.tag([one for one in standing if one not in gone])
    _show_tags(chat)


def _show_tags(chat: Chat) -> None:
    tags = " ".join(f"#{one}" for one in chat.conversation.session.tags)
    chat.display.line(f"Tags: {tags}" if tags else "No tags.", "dim")
    _warn_unsaved(chat)


def _warn_unsaved(chat: Chat) -> None:
    if chat.conversation.live.empty:
        chat.display.prose("It is saved with your first message.", "dim")
