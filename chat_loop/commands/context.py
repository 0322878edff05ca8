"""Commands about what the model is given: compact and back, summarize, context."""

from __future__ import annotations

from typing import TYPE_CHECKING

from chat_loop.commands.chat import Chat
from chat_loop.commands.options import given
from chat_loop.commands.registry import registry
from chat_loop.context.budget import messages_in
from chat_loop.errors import UsageError
from chat_loop.sessions import summary_block
from chat_loop.sessions.records import Summary
from chat_loop.values import Usage
from chat_loop.wording import counted, dollars_text

if TYPE_CHECKING:
    from chat_loop.context.proposal import Draft
    from chat_loop.conversation.compaction import May

SHOWN = 40
"""How many sentences of the archive are listed at most."""


@registry.command("compact", argument="[FOCUS]", bare="compact")
async def compact(chat: Chat, argument: str) -> None:
    """Summarize and go on in a new session; --preview asks first, --diff lists what only the
    archive has.

    /compact ports and paths   and say what the summary must keep
    /compact --preview         see the summary and the sizes first; it can be edited there
    /compact --force           even where it would not make the context smaller; else you are asked
    /compact --diff            the sentences with exact values that the archive alone holds
    It happens by itself when the window fills up. The words stay in the session's file; /uncompact
    goes back to them.
    """
    asked = given("compact", argument, flags=("preview", "diff", "force"))
    if "diff" in asked.flags:
        _diff(chat)
    elif "preview" in asked.flags:
        await _preview(chat, asked.words)
    else:
        await chat.conversation.compact(
            asked.words, None if "force" in asked.flags else _asking(chat)
        )


def _asking(chat: Chat) -> May:
    """Return what asks the user about a compaction that gains nothing; where nobody can be asked it
    declines.
    """

    async def may(before: int, after: int) -> bool:
        sizes = f"{before:,} tokens now, about {after:,} after."
        if not chat.asks:
            chat.display.warn(f"Not compacted: {sizes}", "/compact --force compacts all the same.")
            return False
        if await chat.confirm(f"{sizes} Compact anyway? [y/N] "):
            return True
        chat.display.line("Not compacted.", "dim")
        return False

    return may


async def _preview(chat: Chat, focus: str) -> None:
    from chat_loop.display.panels import show_block, show_draft  # not before it is asked for

    draft = await chat.conversation.compaction.draft(focus)
    if draft is None:
        return
    show_draft(chat.display, draft.compaction, draft.plan.keep, summary_block.render(draft.summary))
    while True:
        answer = await chat.ask("Compact so? (y, n, or e to edit) ")
        if answer in ("y", "yes"):
            await chat.conversation.take(draft)
            return
        if answer not in ("e", "edit"):
            chat.display.line("Not compacted.", "dim")
            return
        draft = chat.conversation.compaction.edited(draft, await _edited(chat, draft))
        show_block(chat.display, summary_block.render(draft.summary))


async def _edited(chat: Chat, draft: Draft) -> Summary:
    """The draft's summary as the user leaves it in the editor."""
    edited = summary_block.parse(
        await chat.edit(summary_block.render(draft.summary, grouped=False))
    )
    chat.attended()
    if not (
        edited.topics or edited.decisions or edited.pending or edited.pinned or edited.key_facts
    ):
        raise UsageError("Nothing is left of the summary: not compacted.", "Keep its headings.")
    return edited


def _diff(chat: Chat) -> None:
    found = chat.conversation.offers().only_in_archive()
    if not found:
        chat.display.line("Every sentence with an exact value is in the context.", "dim")
        return
    chat.display.prose(
        f"{counted(len(found), 'sentence')} with exact values stand in the archive only:"
    )
    for line in found[:SHOWN]:
        chat.display.prose(f"- {line}", indent=2)
    if len(found) > SHOWN:
        chat.display.line(
            f"… and {len(found) - SHOWN:,} more; /history --full shows everything.", "dim"
        )


@registry.command("uncompact")
async def uncompact(chat: Chat, argument: str) -> None:
    """Take the last compaction back: go on with the words of the session before it instead of its
    summary.
    """
    offer = await chat.conversation.offers().undone()
    if offer.left_out:
        fitting = len(offer.carried)
        chat.display.prose(
            f"All the words would not fit: the newest {counted(fitting, 'exchange')} would "
            "stand in their own words, "
            f"the {counted(offer.left_out, 'exchange')} before them stay summarized."
        )
        if not await chat.confirm("Go on so? (y/n) "):
            chat.display.line("Nothing is changed.", "dim")
            return
    tokens = chat.conversation.would_hold(offer.block, offer.carried)
    chat.display.line(f"The context will hold {tokens:,} tokens.", "dim")
    await chat.conversation.accept(offer, acknowledge=False)


@registry.command("summarize", argument="[FOCUS]")
async def summarize(chat: Chat, argument: str) -> None:
    """Compact, and show what became of it: messages, tokens, topics, decisions, files, commands."""
    from chat_loop.display.panels import show_summary  # not before it is asked for

    conversation = chat.conversation
    before = messages_in(conversation.thread.exchanges)
    chat.display.line("Summarizing conversation history...")
    draft = await conversation.compaction.draft(argument, _asking(chat))
    if draft is None or not await conversation.take(draft, acknowledge=False):
        return
    after = 1 + messages_in(conversation.thread.exchanges)
    show_summary(chat.display, draft.compaction, draft.summary, before, after)


@registry.command("context")
async def context(chat: Chat, argument: str) -> None:
    """Show what fills the model's window, part by part, and when it is compacted."""
    from chat_loop.context.budget import parts  # not before it is asked for
    from chat_loop.display.panels import show_context

    conversation = chat.conversation
    budget, options = conversation.budget, conversation.options
    found = parts(conversation.weights, budget, len(conversation.session.exchanges))
    show_context(chat.display, found, budget.used, budget.window, estimated=budget.estimated)
    if options.limits.enabled:
        chat.display.prose(f"Compacted by itself from {conversation.trigger:,} tokens on.", "dim")
    else:
        chat.display.prose("Automatic compaction is off; compact makes room.", "dim")
    if conversation.left_out:
        chat.display.prose(
            f"The oldest {counted(conversation.left_out, 'exchange')} are not sent: "
            "context.max_history_messages or max_history_tokens leaves them out.",
            "dim",
        )
    price = options.cost(conversation.agent.model, Usage(input=budget.used, estimated=True))
    if price is None:
        chat.display.line("The price of the model is unknown.", "dim")
    elif price:
        chat.display.line(
            f"The next request costs about {dollars_text(price)} plus the reply.", "dim"
        )
