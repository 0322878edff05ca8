"""Commands about chains and their branches: tree, fork, undo, merge."""

from __future__ import annotations

from typing import TYPE_CHECKING

from chat_loop.commands.registry import registry
from chat_loop.display.lists import SHOWN_NAME, Branch, show_contradiction, show_tree
from chat_loop.errors import SessionError, UsageError
from chat_loop.library.lineage import tree
from chat_loop.sessions.chain import ChainReader
from chat_loop.sessions.naming import first_words, name_of, shortened
from chat_loop.wording import counted

if TYPE_CHECKING:
    from chat_loop.commands.chat import Chat
    from chat_loop.conversation.resume import Merge

_EARLIER = (
    "/history shows what was said; /fork 1.2 goes on from query 2 of the chain's first session."
)
_GONE = {"1": 1, "2": 0, "b": None, "both": None}
"""An answer, and which line of a contradiction goes then."""


@registry.command("tree", "Branches", argument="[N|ID]")
async def lineage(chat: Chat, argument: str) -> None:
    """Show where a conversation comes from and where it branches, with tokens and compactions per
    session.
    """
    identity = chat.path(argument or ".").stem
    links = chat.library.links()
    if identity not in links:
        raise SessionError(f"Session {identity} is not saved yet.")
    nodes = tree(identity, links)
    rows = chat.library.rows_of(node.id for node in nodes)
    compactions = chat.library.compactions(node.id for node in nodes)
    branches = []
    for node in nodes:
        row = rows[node.id]
        branches.append(
            Branch(
                row=row,
                stem=node.stem,
                again=node.again,
                compaction="" if node.again else compactions.get(node.id, ""),
                words="" if node.again else row.words,
                until="" if node.again else row.until,
                merged="" if node.again else row.merged,
            )
        )
    chat.number(node.id for node in nodes)
    show_tree(chat.display, branches, chat.own_id, chat.sessions.now())


@registry.command("fork", "Branches", argument="[QUERY]")
async def fork(chat: Chat, argument: str) -> None:
    """Go on from an earlier query (the last, when none is named) in a session of its own; both ways
    stay.

    /fork 3                 after query 3 of this session
    /fork 1.2               after query 2 of the chain's first session
    """
    left, loaded = chat.path(".").stem, chat.load(".")
    exchanges, depth = loaded.session.exchanges, loaded.session.depth
    if not argument and not exchanges:
        raise UsageError("Nothing to fork in this session.", _EARLIER)
    session, _, query = (argument or str(exchanges[-1].query.number)).rpartition(".")
    session = session or str(depth)
    if not all(part.isascii() and part.isdigit() and len(part) < 9 for part in (query, session)):
        text = f"“{argument[:40]}” is not a query: fork takes a number such as 3."
        raise UsageError(text, _EARLIER)
    if back := depth - int(session):
        chain = ChainReader(chat.sessions).read(loaded.session)
        if not 1 <= back <= len(chain.loaded):
            text = f"There is no session {session} in this chain."
            raise UsageError(text, chain.broken or "/tree shows it.")
        loaded = chain.loaded[back - 1]
    offer = await chat.conversation.offers().forked(loaded, int(query))
    await chat.conversation.accept(offer, acknowledge=False)
    words = f"{counted(len(offer.carried), 'exchange')} in the context"
    words += f", {counted(offer.left_out, 'exchange')} summarized" if offer.left_out else ""
    kept = f"The original is saved: /resume {left}"
    chat.display.prose(f"Forked after query {query}: {words}. {kept}", "dim")


@registry.command("undo", "Branches")
async def undo(chat: Chat, argument: str) -> None:
    """Take the last query and its reply out of the conversation; the words stay in the file."""
    exchange = await chat.conversation.undo()
    chat.display.prose(f"Undone: “{shortened(exchange.query.text)}”", "dim")


@registry.command("merge", "Branches", argument="A [B]")
async def merge(chat: Chat, argument: str) -> None:
    """Go on with two branches as one: A and B, or this conversation and A; where they differ you
    decide.
    """
    references = argument.split()
    if len(references) not in (1, 2):
        text = "Which sessions? merge takes two, or one to merge with this conversation."
        raise UsageError(text, "sessions lists them; /tree shows the branches of a conversation.")
    first, second = map(chat.load, references if len(references) == 2 else [".", *references])
    offers = chat.conversation.offers()
    draft = await offers.merge(first, second)
    dropped: set[str] | None = None
    question = "These sessions are unrelated. Merge anyway? (y/n) "
    if draft.common or await chat.confirm(question):
        dropped = await _dropped(chat, draft)
    if dropped is None:
        chat.display.line("Not merged.", "dim")
        return
    offer = offers.merged(draft, dropped)
    conversation = chat.conversation
    tokens = conversation.would_hold(offer.block, offer.carried, acknowledged=True)
    ids = " and ".join(one.session.header.id for one in (draft.first, draft.second))
    chat.display.prose(f"Going on with both, {tokens:,} tokens. {ids} stay as they are.", "dim")
    await chat.conversation.accept(offer)


async def _dropped(chat: Chat, draft: Merge) -> set[str] | None:
    """Have the user choose between lines that contradict each other; return those that go, or None
    to leave all as it is.
    """
    both = (draft.first.session, draft.second.session)
    names = [session.header.id for session in both]
    for called in (first_words, name_of):  # what tells the two apart best
        found = [called(session) for session in both]
        if all(found) and found[0][:SHOWN_NAME] != found[1][:SHOWN_NAME]:
            names = found
    dropped: set[str] = set()
    for number, pair in enumerate(draft.contradictions, 1):
        lines = (pair.first, pair.second)
        if dropped.intersection(lines):
            continue
        show_contradiction(chat.display, number, len(draft.contradictions), names, lines)
        while (answer := await chat.ask("Which one holds? (1, 2, b for both, q to stop) ")) not in (
            *_GONE,
            *("q", "quit", "n", "no", ""),
        ):
            chat.display.line("1 or 2 keeps that one, b both; q merges nothing.", "dim")
        if answer not in _GONE:
            return None
        if (gone := _GONE[answer]) is not None:
            dropped.add(lines[gone])
    return dropped
