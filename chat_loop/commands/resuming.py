"""Commands that list the saved conversations, and continue one."""

from __future__ import annotations

import asyncio
import contextlib
import re
import shlex
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from msgspec import Struct, field
from msgspec.structs import replace

from chat_loop.characters import exact_line
from chat_loop.commands.answering_model import kept_parameters, provider_for, sentences_on
from chat_loop.commands.chat import Chat
from chat_loop.commands.references import NEWEST, PAGE, elsewhere_text, find_last, unreadable_text
from chat_loop.commands.registry import OptionValues, registry, usage_error
from chat_loop.commands.session import trash
from chat_loop.conversation import continuing
from chat_loop.conversation.continuing import Resumption
from chat_loop.display import earlier, listings
from chat_loop.display.conversation_rows import cost_of, nothing_text
from chat_loop.display.display_manager import DisplayManager
from chat_loop.display.preview import Preview, preview_of
from chat_loop.display.questions import Question
from chat_loop.errors import SessionError, SessionNotFound, UsageError
from chat_loop.input.editor import open_file
from chat_loop.library import filters
from chat_loop.library.filters import SessionFilter
from chat_loop.library.library import BROWSED
from chat_loop.library.lineage import own_sessions
from chat_loop.sessions import naming, summary_block
from chat_loop.sessions.copies import adopt_conflict_copies
from chat_loop.sessions.files import lock_session
from chat_loop.sessions.manager import LoadedSession, SessionManager
from chat_loop.sessions.records import Session, SessionRow
from chat_loop.values import dollars_text

RESUME_OPTIONS = r"(?:[ \t]+--(?:full|summary|quick|last[ \t]+[0-9]{1,9}))*"
WAIT_SECONDS = 0.25  # between two looks at the lock of a session


@registry.command(
    "sessions [WORDS]",
    "Sessions",
    bare="sessions",
    flags=("unfold", "all"),
    valued=filters.NAMES,
    shows=r"(?!browse).*",
)
async def sessions(chat: Chat, argument: str, options: OptionValues) -> None:
    """List conversations, most recent first; resume takes the numbers, * is the open one.

    /sessions WORDS         with these words in the name, id, agent, tags, project or summary
    /sessions browse        in a full-screen browser, with previews
    --unfold                list each session of a conversation separately
    --all                   all of them, also -p runs and conversations without a reply
    --tag T, --agent A, --project P, --since DATE, --before DATE (2026-11-21, or an age such as 30d)
    """
    first, _, rest = argument.partition(" ")
    if first == "browse":
        await _browse(chat, rest)
        return
    everything = "all" in options
    if argument == "all":  # an old word
        everything = True
        argument = ""
        chat.display.prose("/sessions all is /sessions --all now; all works until 1.0.", "dim")
    wanted = filters.filter_of(options, chat.sessions.now(), argument)
    fold = "unfold" not in options
    page = None if everything else PAGE
    await _list(chat, page, wanted=wanted, fold=fold, everything=everything)


class BrowsedSessions(Struct):
    """The saved sessions that the browser shows."""

    chat: Chat
    shared: Sequence[SessionRow] = ()  # the rows of a team's library, which is not read again
    trashed: set[str] = field(default_factory=set)

    def rows(self) -> Sequence[SessionRow]:
        """Return the conversations."""
        if self.chat.library.shared is None:
            (rows, _), _ = self.chat.library.rows(here=self.chat.here_id)
        else:
            rows = [row for row in self.shared if row.id not in self.trashed]
        return self.chat.sessions.pointers.named(rows)

    def preview(self, row: SessionRow) -> Preview:
        """Return the facts and the last exchanges of a session."""
        library = self.chat.library.shared
        try:
            if library is not None and not row.path.is_file():
                stored, _ = library.session(row.id)
                if stored is not None:
                    return preview_of(stored, ())
            loaded = self.chat.sessions.load(row.path)
        except SessionError as error:
            return Preview(about=[("Damage", error.message)])
        price = cost_of(row.spent, self.chat.conversation.options.cost)
        return preview_of(loaded.session, loaded.damage, dollars_text(price) if price else "")

    def trash(self, row: SessionRow) -> str:
        """Move a conversation to the trash."""
        links, _ = self.chat.library.links()
        where = trash(self.chat, own_sessions(row.id, links))
        self.trashed.add(row.id)
        return where

    async def edit(self, row: SessionRow) -> None:
        """Open a session's file in the editor. Raises SessionLocked while it is open elsewhere."""
        if not row.path.is_file():
            raise SessionNotFound(f"The file of session {row.id} is not in this folder.")
        with contextlib.ExitStack() as stack:
            with contextlib.suppress(OSError):  # a disk without locks can still be read
                stack.enter_context(contextlib.closing(lock_session(row.path.parent, row.id)))
            await open_file(row.path)


async def _browse(chat: Chat, argument: str = "") -> None:
    """Let the user choose one of the sessions that match `words`, and resume it."""
    from chat_loop.browser.app import browse  # loads the editor's library

    shared = chat.library.shared is not None
    (rows, _), _ = await chat.look(  # shows progress, which the browser does not
        lambda library: library.rows(BROWSED if shared else 1, here=chat.here_id)
    )
    if not chat.reader.has_editor:
        raise UsageError("The browser needs a terminal.", "sessions lists them.")
    async with chat.reader.release_terminal():
        row = await browse(BrowsedSessions(chat, rows), now=chat.sessions.now(), words=argument)
    if row is not None:
        await resume(chat, row.id, {"quick": ""})


async def _list(
    chat: Chat,
    limit: int | None = PAGE,
    *,
    wanted: SessionFilter | None = None,
    fold: bool = True,
    everything: bool = False,
) -> None:
    """Show the newest `limit` rows, as `Library.rows` returns them."""
    for text in await asyncio.to_thread(adopt_conflict_copies, chat.sessions):
        chat.display.prose(text)
    (rows, more), warning = await chat.look(
        lambda library: library.rows(
            limit, here=chat.here_id, wanted=wanted, fold=fold, everything=everything
        )
    )
    if warning:
        chat.display.line(warning, "dim")
    chat.number_rows(rows, exact=not fold)
    if not rows:
        chat.display.line(nothing_text(filtered=bool(wanted)))
    now = chat.sessions.now()
    cost = chat.conversation.options.cost
    named = chat.sessions.pointers.named(rows)
    listings.show_sessions(chat.display, named, more, now, cost)


@registry.command(
    "resume [N|ID|WORDS]",
    "Sessions",
    bare=rf"resume(?:[ \t]+(\S+{RESUME_OPTIONS}))?",
    flags=("full", "summary", "quick"),
    valued=("last",),
)
async def resume(chat: Chat, argument: str, options: OptionValues) -> None:
    """Continue a saved conversation; alone, choose one in the browser.

    All words of a short one come back, else its summary and its last message.
    /resume last            the last conversation of this project
    /resume 3 --summary     from its summary, however short it is
    /resume 3 --last 5      from its summary and its last 5 messages
    /resume 3 --full        every word, as far as they fit
    /resume 3 --quick       at once: the model does not confirm it
    """
    if not (argument or options):
        if chat.display.is_terminal and chat.reader.has_editor:
            await _browse(chat)
            return
        await _list(chat)
        if chat.listed:
            chat.display.line("Type resume and a number, or resume last.", "dim")
        return
    quick = "quick" in options
    by_summary = "summary" in options or "last" in options
    mode = chat.config.resume.mode
    whole = "full" in options or (mode == "full" and not by_summary)
    by_summary = by_summary or mode == "summary"
    last = int(options["last"]) if re.fullmatch("[0-9]{1,9}", options.get("last", "")) else 0
    is_contrary = "full" in options and ("last" in options or "summary" in options)
    if not argument or is_contrary or ("last" in options and not last):
        raise usage_error("resume")
    conversation = chat.conversation
    display = chat.display
    path = await (_last(chat, argument) if argument in NEWEST else chat.path(argument))
    display.line("Loading session...", symbol="📋")
    display.begin_waiting("Reading the session …")
    loaded = await asyncio.to_thread(_load, chat, path, None if whole else max(1, last))
    if chat.can_ask and chat.sessions.is_open_elsewhere(loaded):
        choice = await choose_of_open(chat, loaded)
        if choice == "wait":
            await resume(chat, argument, options)  # the conversation may have a newer session now
        if choice != "branch":
            return
    if not await confirm_agent(chat, loaded.session):
        return
    resumed = await _go_on(chat, loaded, last=last, whole=whole, summary=by_summary, quick=quick)
    missing = resumed.missing
    if missing and chat.reader.has_editor and conversation.summarize_missing(missing):
        text = "The model writes the summary in the background."
        display.prose(text, "dim", symbol="📝")


async def _go_on(
    chat: Chat, loaded: LoadedSession, *, last: int, whole: bool, summary: bool, quick: bool
) -> Resumption:
    """Begin a child of a session, in which its own model answers if that can be had. Show where the
    conversation was left, and have it acknowledged.
    """
    conversation = chat.conversation
    display = chat.display
    provider = await provider_for(chat, loaded.session)
    for sentence in sentences_on(loaded.session, conversation.agent):
        display.prose(sentence, "dim")
    if chat.memory is not None:
        chat.memory.fit(provider.window.tokens)
    display.begin_waiting("Reading the session …")
    planning = conversation.planning(loaded.session, provider)
    async with contextlib.AsyncExitStack() as unused:
        if provider is not conversation.agent.provider:
            unused.push_async_callback(provider.close)
        resumed = await continuing.resume(
            planning, loaded, last=last, whole=whole, summary=summary, quick=quick
        )
        display.stop_waiting()
        plan = replace(resumed.plan, provider=provider)
        await conversation.accept(plan, acknowledge=False)
        unused.pop_all()
    if sentence := kept_parameters(loaded.session, conversation.agent, chat.config):
        display.prose(sentence, "dim")
    _show_restored(display, resumed)
    if resumed.confirmed:
        await conversation.acknowledge()
    return resumed


async def choose_of_open(chat: Chat, loaded: LoadedSession, act: str = "resumed") -> str:
    """Ask how to go on with a session that another process has open, and wait for its end or show
    it if the user wants that: then it is not `resumed`. Return the choice; empty if there is none.
    """
    sentence = f"Session {loaded.session.id} is open in another process."
    choice = await chat.ask(Question(sentence, ("wait", "read", "branch")))
    display = chat.display
    if choice == "wait":
        display.begin_waiting("Waiting until it is closed there …")
        while chat.sessions.is_open_elsewhere(loaded):  # noqa: ASYNC110 - a lock tells nobody
            await asyncio.sleep(WAIT_SECONDS)
        display.stop_waiting()
    if choice == "read":
        name = naming.name_of(loaded.session)
        listings.show_session(display, name, loaded.session, ())
    if choice in ("read", ""):
        title = f"Not {act}."
        if choice:
            title = f"Shown, not {act}."
        display.prose(f"{title} {chat.conversation.fallback_text}", "dim")
    return choice


async def _last(chat: Chat, reference: str) -> Path:
    """Return the file of the newest session of this project. If there is none, ask whether to take
    that of another project. Raises SessionError.
    """
    look = partial(find_last, chat.sessions, chat.here_id, chats=reference == "last")
    found = await asyncio.to_thread(look)
    if found.unreadable:
        chat.display.warn(unreadable_text(found))
    if not found.is_here:
        text = elsewhere_text(found, chat.sessions)
        if not chat.can_ask:
            command = f"{chat.display.resume_command()} --resume {found.row.id}"
            raise SessionNotFound(text, f"{command} continues it here.")
        if not await chat.confirm(f"{text} Continue it here?"):
            raise SessionNotFound("Not continued.", "Send a message to begin a new conversation.")
    return found.row.path


def _show_restored(display: DisplayManager, resumed: Resumption) -> None:
    """Show where the conversation was left, and the beginning of its summary."""
    if resumed.left_at is not None:
        earlier.show_exchange(display, resumed.left_at)
    if resumed.plan.block:
        earlier.show_summary(display, summary_block.parse(resumed.plan.block))


def _load(chat: Chat, path: Path, last: int | None) -> LoadedSession:
    """Read the session to be resumed, or only the ends of a long one. Raises SessionError."""
    live = chat.conversation.live
    if path == live.path and not live.is_empty:
        raise SessionError("That session is already open.")
    try:
        loaded = _read(chat.sessions, path, last)
    except SessionNotFound:
        raise
    except SessionError as error:
        text = f"Session can't be resumed: {error.message}"
        raise SessionError(text, chat.conversation.fallback_text) from error
    parent = chat.sessions.session_file(loaded.session.header.parent)
    with contextlib.suppress(SessionError):
        if loaded.session.is_bare and parent != live.path:  # nothing came after its parent
            return _read(chat.sessions, parent, last)
    return loaded


def _read(sessions: SessionManager, path: Path, last: int | None) -> LoadedSession:
    """Read a session or, unless `last` is None, only the ends of a long one."""
    # the middle of a long session is not needed
    ends = None
    if last is not None:
        ends = sessions.load_ends(path, last)
    return ends or sessions.load(path)


async def confirm_agent(chat: Chat, session: Session, act: str = "resumed") -> bool:
    """Ask if the session was made with another agent. Return False if the user says no: then it is
    not `resumed`.
    """
    agent = chat.conversation.agent
    header = session.header
    if header.agent_path == agent.path:
        return True
    hint = f"With that one: chat-loop --agent {shlex.quote(header.agent_path)} --resume {header.id}"
    created = header.agent_path or header.agent
    now = agent.path or agent.name
    chat.display.warn(
        f"Session created with {exact_line(created)}, using {now}.",
        hint if header.agent_path else "",
    )
    refusal = f"Not {act}. {chat.conversation.fallback_text}"
    return await chat.confirm("Different agent detected. Continue?", refusal)
