"""Commands about chains and their branches: tree, fork, undo, merge."""

from __future__ import annotations

from chat_loop.commands.chat import Chat
from chat_loop.commands.references import load, own_id, path_of
from chat_loop.commands.registry import registry
from chat_loop.display.lists import Branch, show_contradiction, show_tree
from chat_loop.errors import SessionError, UsageError
from chat_loop.library.lineage import tree
from chat_loop.sessions.naming import shortened
from chat_loop.wording import counted


@registry.command("tree", argument="[N|ID]")
async def lineage(chat: Chat, argument: str) -> None:
    """Show where a conversation comes from and where it branches, with tokens and compactions per session."""
    identity = path_of(chat, argument).stem if argument else own_id(chat)
    if not identity:
        raise UsageError("This conversation has not begun.", "/tree N shows the chain of a saved one.")
    links = chat.library.links()
    if identity not in links:
        raise SessionError(f"Session {identity} is not saved yet.")
    nodes = tree(identity, links)
    compactions = chat.library.compactions(node.id for node in nodes)
    branches = [
        Branch(chat.library.row(node.id), node.stem, node.again, compactions.get(node.id, "")) for node in nodes
    ]
    chat.listed, chat.hits = [node.id for node in nodes], []
    show_tree(chat.display, branches, own_id(chat), chat.sessions.now())


@registry.command("fork", argument="[QUERY]")
async def fork(chat: Chat, argument: str) -> None:
    """Go on from an earlier query (the last, when none is named) in a session of its own; both ways stay."""
    conversation = chat.conversation
    exchanges = conversation.session.exchanges
    if not exchanges:
        raise UsageError("Nothing was said in this session that could be forked.", "/tree shows its chain.")
    reference = argument.partition(".")[2] or argument
    if argument and not (reference.isascii() and reference.isdigit() and len(reference) < 9):
        raise UsageError(
            f"Which query? fork takes a number up to {exchanges[-1].query.number}.", "/history shows them."
        )
    number = int(reference) if argument else exchanges[-1].query.number
    before = conversation.live.header.id
    offer = await conversation.resuming().forked(load(chat, "."), number)
    await conversation.accept(offer, acknowledge=False)
    chat.display.prose(
        f"Forked after query {number}: {counted(len(offer.beginning.carried), 'exchange')} in the context. "
        f"The other way is kept: /resume {before}",
        "dim",
    )
    chat.listed = []


@registry.command("undo")
async def undo(chat: Chat, argument: str) -> None:
    """Take the last query and its reply out of the conversation; the words stay in the file."""
    exchange = await chat.conversation.undo()
    chat.display.prose(f"Undone: “{shortened(exchange.query.text)}”", "dim")


@registry.command("merge", argument="A [B]")
async def merge(chat: Chat, argument: str) -> None:
    """Go on with two branches as one: with A and B, or with this conversation and A. You decide where they differ."""
    references = argument.split()
    if len(references) not in (1, 2):
        raise UsageError("Which sessions? merge takes two numbers or ids, or one to merge with this conversation.")
    first, second = (load(chat, one) for one in (references if len(references) == 2 else [".", *references]))
    merging = chat.conversation.merging()
    draft = await merging.merge(first, second)
    if not draft.common and not await chat.confirm("They have no session in common. Merge all the same? (y/n) "):
        chat.display.line("Not merged.", "dim")
        return
    dropped: list[str] = []
    for number, pair in enumerate(draft.contradictions, 1):
        show_contradiction(chat.display, number, len(draft.contradictions), pair.first, pair.second)
        answer = await chat.ask("Which one holds? (1, 2, b for both, q to stop) ")
        if answer == "1":
            dropped.append(pair.second)
        elif answer == "2":
            dropped.append(pair.first)
        elif answer not in ("b", "both"):
            chat.display.line("Not merged.", "dim")
            return
    offer = merging.offer(draft, dropped)
    chat.display.line(
        f"  {offer.tokens:,} tokens: the summaries of {first.session.header.id} and {second.session.header.id}", "dim"
    )
    await chat.conversation.accept(offer)
    chat.listed = []
