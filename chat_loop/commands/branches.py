"""Commands about chains and their branches: tree, fork, undo, merge."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from chat_loop.commands.chat import Chat
from chat_loop.commands.registry import registry
from chat_loop.display.lists import SHOWN_NAME, Branch, show_contradiction, show_tree
from chat_loop.errors import SessionError, UsageError
from chat_loop.library.lineage import Node, tree
from chat_loop.sessions.chain import ChainReader
from chat_loop.sessions.manager import Loaded
from chat_loop.sessions.naming import first_words, name_of, shortened
from chat_loop.sessions.records import Session, SessionRow
from chat_loop.wording import counted

if TYPE_CHECKING:
    from chat_loop.context.merge import Contradiction

_EARLIER = (
    "/history shows what was said; /fork 1.2 goes on from query 2 of the chain's first session."
)
_WHICH = "Which one holds? (1, 2, b for both, q to stop) "
_GONE = {"1": 1, "2": 0, "b": None, "both": None}
"""An answer, and which line of the pair goes then."""


@registry.command("tree", argument="[N|ID]")
async def lineage(chat: Chat, argument: str) -> None:
    """Show where a conversation comes from and where it branches, with tokens and compactions per
    session.
    """
    identity = (
        chat.path(argument).stem
        if argument
        else chat.own_id or chat.conversation.session.header.parent
    )
    if not identity:
        raise UsageError(
            "This conversation has not begun.", "/tree N shows the chain of a saved one."
        )
    links = chat.library.links()
    if identity not in links:
        raise SessionError(f"Session {identity} is not saved yet.")
    nodes = tree(identity, links)
    rows = chat.library.rows_of(node.id for node in nodes)
    compactions = chat.library.compactions(node.id for node in nodes)
    branches = [_branch(chat, rows[node.id], node, compactions.get(node.id, "")) for node in nodes]
    chat.number(node.id for node in nodes)
    show_tree(chat.display, branches, chat.own_id, chat.sessions.now())


def _branch(chat: Chat, row: SessionRow, node: Node, compaction: str) -> Branch:
    opening = None if node.again else chat.sessions.opening(node.id)
    if opening is None:
        return Branch(row, node.stem, node.again)
    given = opening.restoration
    return Branch(
        row=row,
        stem=node.stem,
        compaction=compaction,
        words=first_words(opening),
        until=given.until if given is not None else "",
        merged=given.merged if given is not None else "",
    )


@registry.command("fork", argument="[QUERY]")
async def fork(chat: Chat, argument: str) -> None:
    """Go on from an earlier query (the last, when none is named) in a session of its own; both ways
    stay.

    /fork 3                 after query 3 of this session
    /fork 1.2               after query 2 of the chain's first session
    """
    conversation = chat.conversation
    left, live = chat.path(".").stem, chat.load(".")
    loaded, number = _query(chat, live, argument)
    offer = await conversation.offers().forked(loaded, number)
    await conversation.accept(offer, acknowledge=False)
    words = f"{counted(len(offer.carried), 'exchange')} in the context"
    words += f", {counted(offer.left_out, 'exchange')} summarized" if offer.left_out else ""
    chat.display.prose(
        f"Forked after query {number}: {words}. The other way is kept: /resume {left}", "dim"
    )


def _query(chat: Chat, live: Loaded, argument: str) -> tuple[Loaded, int]:
    """The session and the number of a query: `3` of the open session, `1.3` of the first one of its
    chain.

    Raises UsageError when there is no such session.
    """
    exchanges, depth = live.session.exchanges, live.session.depth
    if not argument:
        if not exchanges:
            raise UsageError("Nothing was said in this session that could be forked.", _EARLIER)
        return live, exchanges[-1].query.number
    session, dot, query = argument.rpartition(".")
    if not all(
        part.isascii() and part.isdigit() and len(part) < 9
        for part in (query, session if dot else "1")
    ):
        raise UsageError(
            f"“{argument[:40]}” is not a query: fork takes a number such as 3.", _EARLIER
        )
    if not dot or int(session) == depth:
        return live, int(query)
    chain = ChainReader(chat.sessions).read(live.session)
    back = depth - int(session)
    if not 1 <= back <= len(chain.loaded):
        raise UsageError(
            f"There is no session {session} in this chain.", chain.broken or "/tree shows it."
        )
    return chain.loaded[back - 1], int(query)


@registry.command("undo")
async def undo(chat: Chat, argument: str) -> None:
    """Take the last query and its reply out of the conversation; the words stay in the file."""
    if argument:
        raise UsageError(
            "undo takes the last query out, one at a time.",
            "/fork QUERY goes back to an earlier one.",
        )
    exchange = await chat.conversation.undo()
    chat.display.prose(f"Undone: “{shortened(exchange.query.text)}”", "dim")


@registry.command("merge", argument="A [B]")
async def merge(chat: Chat, argument: str) -> None:
    """Go on with two branches as one: A and B, or this conversation and A; where they differ you
    decide.
    """
    references = argument.split()
    if len(references) not in (1, 2):
        raise UsageError(
            "Which sessions? merge takes two numbers or ids, or one to merge with this "
            "conversation.",
            "sessions lists them; /tree shows the branches of a conversation.",
        )
    first, second = (
        chat.load(one) for one in (references if len(references) == 2 else [".", *references])
    )
    offers = chat.conversation.offers()
    draft = await offers.merge(first, second)
    if not draft.common and not await chat.confirm(
        "They have no session in common. Merge all the same? (y/n) "
    ):
        chat.display.line("Not merged.", "dim")
        return
    ids = [one.session.header.id for one in (draft.first, draft.second)]
    names = _told_apart(draft.first.session, draft.second.session)
    dropped = await _decided(chat, draft.contradictions, names)
    if dropped is None:
        chat.display.line("Not merged.", "dim")
        return
    offer = offers.merged(draft, dropped)
    tokens = chat.conversation.would_hold(offer.block, offer.carried, acknowledged=True)
    chat.display.prose(
        f"Going on with both, {tokens:,} tokens. {ids[0]} and {ids[1]} stay as they are.", "dim"
    )
    await chat.conversation.accept(offer)


def _told_apart(first: Session, second: Session) -> Sequence[str]:
    """What two branches are called here: by their names, else by their own first words, else by
    their ids.
    """
    for called in (name_of, first_words):
        names = [called(first), called(second)]
        if all(names) and names[0][:SHOWN_NAME] != names[1][:SHOWN_NAME]:
            return names
    return [first.header.id, second.header.id]


async def _decided(
    chat: Chat, contradictions: Sequence[Contradiction], names: Sequence[str]
) -> set[str] | None:
    """Have the user choose between lines that contradict each other; those that go, or None to
    leave all as it is.
    """
    dropped: set[str] = set()
    for number, pair in enumerate(contradictions, 1):
        if dropped & {pair.first, pair.second}:
            continue
        show_contradiction(
            chat.display, number, len(contradictions), names, (pair.first, pair.second)
        )
        while (answer := await chat.ask(_WHICH)) not in _GONE and answer not in (
            "q",
            "quit",
            "n",
            "no",
            "",
        ):
            chat.display.line("1 or 2 keeps that one, b both; q merges nothing.", "dim")
        if answer not in _GONE:
            return None
        gone = _GONE[answer]
        dropped |= set() if gone is None else {(pair.first, pair.second)[gone]}
    return dropped
