"""Commands about branches: fork, rewind, undo, redo, tree, merge. The words stay in the files."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from chat_loop.characters import one_line
from chat_loop.commands.answering_model import provider_for_both
from chat_loop.commands.chat import Chat, Listed
from chat_loop.commands.registry import OptionValues, registry, usage_error
from chat_loop.commands.restoring import offer_files
from chat_loop.commands.resuming import choose_of_open, confirm_agent
from chat_loop.conversation import child_plan, continuing
from chat_loop.conversation.attachments import pictures_in
from chat_loop.conversation.child_plan import ChildPlan
from chat_loop.conversation.continuing import Planning
from chat_loop.display import listings
from chat_loop.errors import SessionError, UsageError
from chat_loop.library.library import Library
from chat_loop.library.lineage import Node, tree
from chat_loop.library.shared import Answer
from chat_loop.sessions import reach
from chat_loop.sessions.manager import LoadedSession
from chat_loop.sessions.naming import MAX_NAME
from chat_loop.sessions.reach import Found
from chat_loop.sessions.records import Change, Exchange, SessionRow
from chat_loop.tokens import estimate
from chat_loop.values import plural


class Later(Struct, frozen=True):
    """What was said from a message on, and the files that tools changed there."""

    exchanges: Sequence[Exchange]
    changes: Sequence[Change]


def is_reference(text: str) -> bool:
    """Return True for a reference with the place of its session, such as 2.14."""
    match = reach.REFERENCE.fullmatch(text)
    return match is not None and match[1] is not None


def own(chat: Chat) -> LoadedSession:
    """Return the open session, which may have no file yet."""
    live = chat.conversation.live
    return LoadedSession(live.session, live.path, is_open=True)


def message_of(chat: Chat, reference: str) -> Found:
    """Return the message with a reference, by default the last one. Raises UsageError."""
    if reference:
        return reach.find(chat.sessions, own(chat), reference)
    return reach.newest(chat.sessions, own(chat), chat.conversation.context.carried)


def counting(chat: Chat, reference: str) -> Found:
    """Return the same. Raises UsageError if it does not count."""
    found = message_of(chat, reference)
    if not found.counts:
        text = f"{found.ref} is not part of this conversation: it was undone, or left behind."
        raise UsageError(text, f"/fork {found.ref} goes on from it.")
    return found


def is_last(chat: Chat, found: Found) -> bool:
    """Return True for the last message of the conversation."""
    newest = message_of(chat, "").exchange
    number = found.exchange.number
    return (newest.session, newest.number) == (found.exchange.session, number)


def later_than(chat: Chat, found: Found) -> Later:
    """Return what was said from a message on."""
    number = found.exchange.number
    exchanges = [each for each in found.session.exchanges if each.number >= number]
    changes = []
    for entry in found.session.entries:
        if isinstance(entry, Change) and entry.number >= number:
            changes.append(entry)
    if found.session.id == chat.conversation.session.id:
        return Later(exchanges, changes)
    line = reach.line_of(chat.sessions, own(chat))
    for view in line.sessions:
        if view.session.id == found.session.id:
            break
        session = line.read(view, chat.sessions.load).session
        exchanges += session.exchanges
        changes += [entry for entry in session.entries if isinstance(entry, Change)]
    return Later(exchanges, changes)


async def go_before(chat: Chat, found: Found) -> ChildPlan:
    """Continue in a new session from before a message. Raises UsageError and SessionError."""
    conversation = chat.conversation
    plan = await continuing.before(conversation.planning(), found, conversation.context)
    await conversation.accept(plan, acknowledge=False, is_branch=True)
    return plan


async def take_back(chat: Chat, found: Found) -> None:
    """Take the last message of the conversation out of the context, or go back to before another
    one. Raises UsageError and SessionError.
    """
    conversation = chat.conversation
    last = is_last(chat, found)
    if not (last and conversation.context.can_undo(found.exchange)):
        await go_before(chat, found)
    if last:
        await conversation.undo(found.exchange)


@registry.command("fork [MESSAGE]", "Branches", aliases=("branch",), valued=("at",))
async def fork(chat: Chat, argument: str, options: OptionValues) -> None:
    """Continue from an earlier message (default: the last) in a new session; both are kept.

    /fork 3                 after message 3 of this session
    /fork 2.14              after message 14 of the second session of this conversation
    --at MESSAGE            after this message, as in the shell
    It also takes a message that was undone.
    """
    conversation = chat.conversation
    reference = options.get("at", argument)
    found = message_of(chat, reference)
    planning = conversation.planning()
    context = conversation.context
    if reference or context.session.exchanges or not context.session.header.parent:
        plan = await continuing.fork(planning, found.loaded, found.exchange.number)
    else:
        plan = continuing.as_begun(planning, context)
    original = chat.here_id
    await conversation.accept(plan, acknowledge=False, is_branch=True)
    _show_branch(chat, plan, f"Forked after {found.ref}", original)


@registry.command("rewind [MESSAGE]", "Branches", flags=("summarize",), stops=True)
async def rewind(chat: Chat, argument: str, options: OptionValues) -> None:
    """Go back to before a message in a new session; the original is kept. Alone, choose one.

    /rewind 3               to before message 3 of this session
    /rewind 2.14            to before message 14 of the second session of this conversation
    --summarize             summarize what is before it instead, and keep the messages from it on
    Esc twice on an empty line shows your messages as well; a pipe takes the last one.
    """
    if "summarize" in options:
        await _summarize(chat, counting(chat, argument))
        return
    if not argument and chat.display.is_terminal and chat.reader.has_editor:
        await _choose(chat)
        return
    await _go_back(chat, counting(chat, argument))


async def _choose(chat: Chat) -> None:
    """Let the user choose one of the messages, newest first, and what to do with it."""
    from chat_loop.browser.message_picker import Messages, choose  # loads the editor's library

    of_conversation = reach.messages_of(chat.sessions, own(chat))
    messages = await asyncio.to_thread(Messages, of_conversation)
    if not messages.read:
        raise UsageError(reach.NOTHING, "")
    async with chat.reader.release_terminal():
        choice = await choose(messages)
    if choice is None:
        return
    found = counting(chat, choice.exchange.ref)
    match choice.act:
        case "rewind":
            await _go_back(chat, found)
            text = found.exchange.query.text
            files = found.exchange.attached
            chat.reader.know(pictures_in(text, files, chat.sessions.images.data))
            # a space before a query that looks like a command makes it text
            chat.reader.give_back(text if registry.parse(text) is None else f" {text}")
        case "fork":
            await fork(chat, found.ref, {})
        case "summarize":
            await _summarize(chat, found)


async def _go_back(chat: Chat, found: Found) -> None:
    """Go back to before a message, and offer to restore files."""
    later = later_than(chat, found)
    original = chat.here_id
    plan = await go_before(chat, found)
    _show_branch(chat, plan, f"Rewound to before {found.ref}", original)
    await offer_files(chat, later.changes, later.exchanges)


async def _summarize(chat: Chat, found: Found) -> None:
    """Compact everything before a message of the context."""
    conversation = chat.conversation
    await conversation.take(await conversation.draft(keep_from=found.exchange))


def _show_branch(chat: Chat, plan: ChildPlan, title: str, original: str) -> None:
    words = f"{plural(len(plan.carried), 'message')} in the context"
    if plan.left_out:
        words += f", {plural(plan.left_out, 'message')} summarized"
    text = f"{title}: {words}. Go back: /resume {original}"
    chat.display.prose(text, "dim")


@registry.command("undo [MESSAGE]", "Branches", stops=True)
async def undo(chat: Chat, argument: str, options: OptionValues) -> None:
    """Remove the last message, or another one, and its reply from the context.

    The file keeps them, and /redo brings them back. Files that tools changed for the reply are
    named; they are restored if you say yes.
    """
    found = counting(chat, argument)
    exchange = found.exchange
    number = exchange.number
    later = later_than(chat, found)
    if is_last(chat, found):
        await take_back(chat, found)
    elif chat.conversation.context.can_undo(exchange):
        changes = [change for change in later.changes if change.number == number]
        later = Later([exchange], changes)
        await chat.conversation.undo(exchange)
    else:
        text = f"{found.ref} is only in a summary now."
        raise UsageError(text, f"/rewind {found.ref} goes back to before it.")
    beginning = one_line(exchange.query.text, MAX_NAME)
    chat.display.prose(f"Undone: “{beginning}” (/redo brings it back)", "dim")
    await offer_files(chat, later.changes, later.exchanges)


@registry.command("redo", "Branches")
async def redo(chat: Chat, argument: str, options: OptionValues) -> None:
    """Bring back the message that was undone last, until something new is said."""
    undone = reach.last_undone(chat.sessions, own(chat))
    if undone is None:
        raise UsageError("Nothing was undone.", "/undo removes the last message.")
    if not undone.is_newest:
        text = f"Something new was said since {undone.ref} was undone."
        raise UsageError(text, f"/fork {undone.ref} goes on from it.")
    exchange = message_of(chat, undone.ref).exchange
    await chat.conversation.redo(exchange)
    beginning = one_line(exchange.query.text, MAX_NAME)
    chat.display.prose(f"Back again: “{beginning}”", "dim")


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
            choice = await choose_of_open(chat, loaded, "merged")
            if choice == "wait":
                await merge(chat, argument, options)
            if choice != "branch":
                return
        if not await confirm_agent(chat, loaded.session, "merged"):
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
