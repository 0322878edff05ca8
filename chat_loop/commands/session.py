"""Commands about sessions and their branches: list, resume, name, tag, fork, undo, merge, leave."""

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
from chat_loop.commands.answering_model import (
    kept_parameters,
    provider_for,
    provider_for_both,
    sentences_on,
)
from chat_loop.commands.branches import counting, is_reference
from chat_loop.commands.chat import Chat, Listed
from chat_loop.commands.facts import ask_about_files
from chat_loop.commands.references import (
    NEWEST,
    PAGE,
    elsewhere_text,
    find_last,
    unreadable_text,
)
from chat_loop.commands.registry import OptionValues, Quit, registry, usage_error
from chat_loop.conversation import child_plan, continuing
from chat_loop.conversation.continuing import Planning, Resumption
from chat_loop.display import earlier, listings
from chat_loop.display.conversation_rows import cost_of, name_text, nothing_text
from chat_loop.display.display_manager import DisplayManager
from chat_loop.display.preview import Preview, preview_of
from chat_loop.display.questions import Question
from chat_loop.errors import SessionError, SessionNotFound, UsageError
from chat_loop.input.editor import open_file
from chat_loop.library.filters import SessionFilter, filter_of
from chat_loop.library.library import BROWSED, Library
from chat_loop.library.lineage import Node, own_sessions, tree
from chat_loop.library.shared import Answer
from chat_loop.sessions import naming, summary_block
from chat_loop.sessions.chain import exchange_of
from chat_loop.sessions.copies import adopt_conflict_copies
from chat_loop.sessions.files import lock_session
from chat_loop.sessions.manager import LoadedSession, SessionManager
from chat_loop.sessions.organizing import move_to_trash
from chat_loop.sessions.records import Session, SessionRow
from chat_loop.tokens import estimate
from chat_loop.values import dollars_text, plural

FILTERS = ("tag", "agent", "project", "since", "before")
MAX_HITS = 10
RESUME_OPTIONS = r"(?:[ \t]+--(?:full|summary|quick|last[ \t]+[0-9]{1,9}))*"
WAIT_SECONDS = 0.25  # between two looks at the lock of a session


@registry.command("exit", "Sessions", bare="exit|quit", aliases=("quit",))
async def leave(chat: Chat, argument: str, options: OptionValues) -> None:
    """Save the conversation with a summary and quit (so does Ctrl-D; Esc skips the summary)."""
    raise Quit


@registry.command(
    "sessions [WORDS]",
    "Sessions",
    bare="sessions",
    flags=("unfold", "all"),
    valued=FILTERS,
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
    filters = filter_of(options, chat.sessions.now(), argument)
    fold = "unfold" not in options
    page = None if everything else PAGE
    await _list(chat, page, wanted=filters, fold=fold, everything=everything)


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
        where = _trash(self.chat, own_sessions(row.id, links))
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
        choice = await _choose_of_open(chat, loaded)
        if choice == "wait":
            await resume(chat, argument, options)  # the conversation may have a newer session now
        if choice != "branch":
            return
    if not await _confirm_agent(chat, loaded.session):
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


async def _choose_of_open(chat: Chat, loaded: LoadedSession, act: str = "resumed") -> str:
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


async def _confirm_agent(chat: Chat, session: Session, act: str = "resumed") -> bool:
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


@registry.command("clear", "Sessions", aliases=("new",))
async def clear(chat: Chat, argument: str, options: OptionValues) -> None:
    """Save the conversation and start a new one on an empty screen."""
    chat.display.clear_screen()
    await chat.conversation.leave("clear")
    chat.display.line("New session; nothing is carried over.", "dim")
    memory = chat.memory
    if memory is not None and chat.can_ask and not all(f.answer for f in memory.project_files):
        await ask_about_files(chat, memory)


@registry.command("rename [NAME]", "Sessions")
async def rename(chat: Chat, argument: str, options: OptionValues) -> None:
    """Name this conversation; without NAME, go back to the automatic name."""
    chat.conversation.describe(name=naming.validate_name(argument))
    name = naming.name_of(chat.conversation.session)
    how = "will be named after its first words"
    if name:
        how = f"is named “{name}”"
    _show_change(chat, f"This conversation {how}.")


@registry.command("tag [TAG …]", "Sessions", flags=("remove",))
async def add_tags(chat: Chat, argument: str, options: OptionValues) -> None:
    """Tag this conversation; without TAG, show its tags.

    --remove                take these tags off
    """
    if "remove" in options:
        await remove_tags(chat, argument, {})
        return
    before = chat.conversation.session.tags
    _set_tags(chat, tuple(dict.fromkeys((*before, *_tags_in(argument)))))


@registry.command("untag TAG …", "Sessions", now="/tag --remove TAG")
async def remove_tags(chat: Chat, argument: str, options: OptionValues) -> None:
    """Remove tags: an old word for /tag --remove TAG."""
    before = chat.conversation.session.tags
    removed = _tags_in(argument)
    if not removed or not {*removed} <= {*before}:
        tags = "It has no tags."
        if before:
            tags = f"Its tags: {' '.join(before)}."
        raise UsageError("/tag --remove takes tags of this conversation.", tags)
    _set_tags(chat, tuple(tag for tag in before if tag not in removed))


def _tags_in(argument: str) -> list[str]:
    return [naming.validate_tag(word) for word in argument.replace(",", " ").split()]


def _set_tags(chat: Chat, tags: tuple[str, ...]) -> None:
    if tags != chat.conversation.session.tags:
        chat.conversation.describe(tags=tags)
    _show_change(chat, f"Tags: {' '.join(f'#{tag}' for tag in tags)}" if tags else "No tags.")


def _show_change(chat: Chat, text: str) -> None:
    chat.display.prose(text, "dim")
    if chat.conversation.live.is_empty:
        chat.display.prose("It is saved with your first message.", "dim")


@registry.command("tree [N|ID]", "Branches", shows=r".*")
async def show_tree(chat: Chat, argument: str, options: OptionValues) -> None:
    """Show where a conversation comes from and where it branches."""
    identity = (await chat.path(argument or ".", stored=True)).stem

    def look(library: Library) -> Answer[tuple[Sequence[Node], dict[str, SessionRow]]]:
        links, problem = library.relatives([identity])
        nodes = tree(identity, links) if identity in links else ()
        rows, warning = library.rows_of(node.id for node in nodes)
        return Answer((nodes, rows), problem or warning)

    (nodes, rows), _ = await chat.look(look)
    if not nodes:
        raise SessionError(f"Session {identity} is not saved yet.")
    chat.listed = [Listed(node.id, is_exact=True) for node in nodes]
    drawn = [(rows[node.id], node.stem, node.again) for node in nodes]
    listings.show_tree(chat.display, drawn, chat.own_id, chat.sessions.now())


@registry.command("delete [N|ID]", "Sessions", aliases=("trash",))
async def delete(chat: Chat, argument: str, options: OptionValues) -> None:
    """Move this conversation, or another one, to the trash; asks first.

    Sessions that a branch needs stay. An ID in the middle of a conversation moves that one session.
    """
    path = await chat.path(argument or ".")
    identity = path.stem
    links, _ = await chat.look(Library.links)
    sessions = own_sessions(identity, links)
    rows, _ = await chat.look(lambda library: library.rows_of([identity]))
    name = f"“{identity}”"
    if identity in rows:
        name = f"“{name_text(rows[identity])}”"
    if len(sessions) > 1:
        name += f" ({plural(len(sessions), 'session')})"
    if not await chat.confirm(f"Move {name} to the trash?", "Not moved."):
        return
    if identity == chat.here_id:
        await chat.conversation.leave("clear")
    chat.display.prose(_trash(chat, sessions), "dim")
    chat.number_rows(())


def _trash(chat: Chat, sessions: Sequence[str]) -> str:
    """Move sessions to the trash; return a sentence that says so. Raises SessionError."""
    return move_to_trash(chat.sessions, *map(chat.sessions.session_file, sessions))


@registry.command("merge A [B]", "Branches")
async def merge(chat: Chat, argument: str, options: OptionValues) -> None:
    """Continue two branches as one: A and B, or this conversation and A."""
    references = argument.split()
    if len(references) not in (1, 2):
        raise usage_error("merge")
    both = [".", *references]
    if len(references) == 2:
        both = references
    first, second = [await chat.load(reference) for reference in both]
    for loaded in (first, second):
        if loaded.session.id == chat.own_id:
            continue
        if chat.can_ask and chat.sessions.is_open_elsewhere(loaded):
            choice = await _choose_of_open(chat, loaded, "merged")
            if choice == "wait":
                await merge(chat, argument, options)
            if choice != "branch":
                return
        if not await _confirm_agent(chat, loaded.session, "merged"):
            return
    await _merge(chat, first, second)


async def _merge(chat: Chat, first: LoadedSession, second: LoadedSession) -> None:
    """Begin a child of two sessions, after asking about what that costs and who answers in it."""
    conversation = chat.conversation
    branches = continuing.branches_of(conversation.planning(), first, second, chat.own_id)
    question = "These sessions are unrelated. Merge anyway?"
    if branches.fork:
        question = "Merge?"
    provider = await provider_for_both(chat, first.session, second.session)
    async with contextlib.AsyncExitStack() as unused:
        if provider is not conversation.agent.provider:
            unused.push_async_callback(provider.close)
        planning = conversation.planning(provider=provider)
        costs = _merge_costs(planning, continuing.unsummarized(planning, branches))
        asks = not branches.fork or (costs and chat.can_ask)
        if asks and not await chat.confirm(question, "Not merged.", act=costs):
            return
        plan = replace(await continuing.merge(planning, branches), provider=provider)
        tokens = child_plan.child_tokens(planning.frame, plan, acknowledged=planning.acknowledges)
        text = f"Continuing both, {tokens:,} tokens. The two stay as they are."
        chat.display.prose(text, "dim")
        await conversation.accept(plan, acknowledge=False)
        unused.pop_all()
    await conversation.acknowledge()


def _merge_costs(planning: Planning, unsummarized: Sequence[LoadedSession]) -> tuple[str, ...]:
    """Return a sentence about the summaries that a merge has to pay for, if any."""
    if not unsummarized:
        return ()
    model = planning.answering.model
    summarizer = planning.options.summarizer_for(model.partition(":")[0])
    if summarizer is not None:
        model = f"{summarizer.name}:{summarizer.model}"
    tokens = 0
    for loaded in unsummarized:
        for exchange in loaded.session.exchanges:
            tokens += estimate(exchange.query.text)
            if exchange.reply is not None:
                tokens += estimate(exchange.reply.text)
    count = plural(len(unsummarized), "summary")
    return (f"{model} writes {count} first, of about {tokens:,} tokens.",)


@registry.command("search WORDS", "Sessions", valued=FILTERS, shows=r".*")
async def search(chat: Chat, argument: str, options: OptionValues) -> None:
    """Search all conversations; show, quote and resume take the numbers of the hits.

    Ids, numbers and paths are matched exactly.
    --tag T, --agent A, --project P, --since DATE, --before DATE (2026-11-21, or an age such as 30d)
    """
    from chat_loop.library.search import excerpts_of, search_all  # loads the index

    if not argument:
        raise usage_error("search")
    filters = filter_of(options, chat.sessions.now())
    hits, warning = await chat.look(
        lambda library: search_all(library, argument, filters, MAX_HITS, chat.semantic)
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
