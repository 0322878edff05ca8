"""Commands about the context: compact and back, summarize, context, pins."""

from __future__ import annotations

import asyncio

from chat_loop.commands.chat import Chat
from chat_loop.commands.registry import OptionValues, pick, registry, usage_error
from chat_loop.context import activity
from chat_loop.context.budget import messages_in, parts
from chat_loop.context.request import left_out, token_estimates
from chat_loop.conversation import continuing
from chat_loop.conversation.conversation_options import FEEDBACK
from chat_loop.conversation.stored_context import without_secrets
from chat_loop.display import panels
from chat_loop.display.questions import Question
from chat_loop.errors import UsageError
from chat_loop.sessions import summary_block
from chat_loop.sessions.records import Summary
from chat_loop.values import Usage, dollars_text, plural


@registry.command(
    "compact [FOCUS]", "Context", bare="compact", flags=("preview", "force"), valued=("focus",)
)
async def compact(chat: Chat, argument: str, options: OptionValues) -> None:
    """Summarize and continue in a new session; --preview asks first.

    /compact ports and paths   what the summary must keep
    /compact --preview         see and edit the summary first
    --focus WORDS              what the summary must keep, as in the shell
    Long conversations are compacted automatically when the window fills up. The words stay in the
    session's file; /uncompact goes back to them.
    """
    focus = f"{options.get('focus', '')} {argument}".strip()
    if "preview" in options:
        await _preview(chat, focus)
        return
    await chat.conversation.compact(focus)


async def _preview(chat: Chat, focus: str) -> None:
    """Show a compaction and let the user edit, accept or reject it."""
    conversation = chat.conversation

    def announce(model: str, usage: Usage) -> None:
        price = conversation.options.cost(model, usage)
        sizes = f"about {usage.input:,} tokens in, at most {usage.output:,} out"
        most = f"{'at most ' if price else ''}{dollars_text(price)}"
        chat.display.prose(f"The summary by {model}: {sizes}, {most}.", "dim")

    accept = Question("Compact?", ("yes", "no", "edit"))
    draft = await conversation.draft(focus, announce=announce)
    panels.show_draft(chat.display, draft.compaction, draft.plan.keep, draft.summary)
    while (answer := await chat.ask(accept)) == "edit":
        summary = await _edited(chat, draft.summary, "not compacted")
        if summary != draft.summary:
            draft = conversation.edited(draft, summary)
            panels.show_block(chat.display, summary)
    if answer == "yes":
        await conversation.take(draft)
    else:
        chat.display.line("Not compacted.", "dim")


async def _edited(chat: Chat, summary: Summary, refusal: str) -> Summary:
    """Return a summary as the user edited it. Raises UsageError if nothing is left of it."""
    text = await chat.reader.edit(summary_block.render(summary, grouped=False))
    edited = summary_block.parse(text)
    has_lists = any(getattr(edited, name) for name in summary_block.LISTS)
    if not (has_lists or edited.background.strip()):
        raise UsageError(f"The edited summary is empty: {refusal}.", "Keep a line of it.")
    safe = without_secrets(edited)
    if safe != edited:
        chat.display.warn("Secrets are left out of a summary.")
    return safe


@registry.command("uncompact", "Context")
async def uncompact(chat: Chat, argument: str, options: OptionValues) -> None:
    """Undo the last compaction: continue with the full words instead of the summary."""
    conversation = chat.conversation
    plan = await continuing.uncompact(
        conversation.planning(), conversation.live, conversation.context
    )
    if plan.left_out:
        newest = len(plan.carried)
        others = plural(plan.left_out, "message")
        text = f"Not everything fits: the newest {plural(newest, 'message')} would be restored"
        chat.display.prose(f"{text} word for word, the {others} before them stay summarized.")
        if not await chat.confirm("Continue?", "Not changed."):
            return
    await conversation.accept(plan, acknowledge=False)
    tokens = conversation.budget.used
    chat.display.prose(f"Compaction undone: {tokens:,} tokens in the context.", "dim")


@registry.command("summary [edit|good|bad [NOTE]]", "Context")
async def summary(chat: Chat, argument: str, options: OptionValues) -> None:
    """Show the summary that this session begins with; good or bad judges it for the next one.

    /summary edit              change it in your editor, for the next message on
    /summary bad no ports      what the model is told when it writes the next one, or this one again
    """
    conversation = chat.conversation
    display = chat.display
    block = conversation.summary
    judgment = argument.partition(" ")
    if block is None:
        text = "This session does not begin with a summary."
        raise UsageError(text, "compact makes one; /history shows those before it.")
    if argument == "edit":
        await _edit_summary(chat, block)
        return
    if judgment[0] in ("good", "bad"):
        await conversation.background.cancel()  # the summary in preparation ignores it
        conversation.keep_setting(FEEDBACK, ": ".join(filter(None, map(str.strip, judgment))))
        display.prose("Noted for the next one. To redo this one: /uncompact, then compact.", "dim")
        return
    if argument:
        raise usage_error("summary")
    panels.show_block(display, block)
    if feedback := conversation.session.settings.get(FEEDBACK):
        display.prose(f"\nYour feedback: {feedback}", "dim")


async def _edit_summary(chat: Chat, before: Summary) -> None:
    """Let the user edit the summary that the session begins with, and continue with that."""
    conversation = chat.conversation
    summary = await _edited(chat, before, "not changed")
    if summary == before:
        chat.display.line("Not changed.", "dim")
        return
    plan = continuing.with_summary(
        conversation.planning(), conversation.live, conversation.context, summary
    )
    await conversation.accept(plan, acknowledge=False)
    text = "The model gets the edited summary with your next message."
    chat.display.prose(f"{text} The session before has the old one.", "dim")


@registry.command("summarize [FOCUS]", "Context")
async def summarize(chat: Chat, argument: str, options: OptionValues) -> None:
    """Compact, and report messages, tokens, topics, decisions, files and commands."""
    conversation = chat.conversation
    before = messages_in(conversation.context.exchanges)
    chat.display.line("Summarizing conversation history...")
    draft = await conversation.draft(argument)
    if await conversation.take(draft, acknowledge=False):
        after = 1 + messages_in(conversation.context.exchanges)
        counts = activity.counts(draft.summary, conversation.context.unsummarized)
        panels.show_summary(chat.display, draft.compaction, draft.summary, counts, before, after)


@registry.command("context", "Context", shows="")
async def context(chat: Chat, argument: str, options: OptionValues) -> None:
    """Show what fills the model's window and when it is compacted."""
    conversation = chat.conversation
    display = chat.display
    budget = conversation.budget
    settings = conversation.options
    frame = conversation.frame
    weights = token_estimates(frame, conversation.context)
    filling = parts(weights, budget, len(conversation.session.exchanges))
    panels.show_context(display, filling, budget.used, budget.window, estimated=budget.estimated)
    if settings.limits.enabled:
        display.prose(f"Auto-compacts at {frame.trigger:,} tokens.", "dim")
    else:
        display.prose("Automatic compaction is off; compact makes room.", "dim")
    if chat.memory is not None and chat.memory.line != "Memory: none":
        display.prose(chat.memory.line, "dim")
    if frame.calibration.doubt:
        display.prose(frame.calibration.doubt, "dim")
    if older := left_out(frame, conversation.context):
        limits = "context.max_history_messages or max_history_tokens"
        count = plural(older, "message")
        display.prose(f"The oldest {count} are not sent: {limits} leaves them out.", "dim")
    price = settings.cost(conversation.agent.model, Usage(input=budget.used, estimated=True))
    if price is None:
        display.prose("The price of the model is unknown.", "dim")
    elif price:
        display.prose(f"The next request costs about {dollars_text(price)} plus the reply.", "dim")


@registry.command("why TEXT", "Context", shows=r".*")
async def why(chat: Chat, argument: str, options: OptionValues) -> None:
    """Show where a text of this conversation comes from, and what became of it.

    /why port 5544          who said it, which summaries kept it, what replaced or dropped it
    A value or a whole sentence tells the most. What is not in the context any more is shown with
    the command that brings it back.
    """
    from chat_loop.commands import origins  # loads the ledger

    if not argument:
        raise usage_error("why")
    sessions, problem = await asyncio.to_thread(chat.chain)
    found = await asyncio.to_thread(origins.find, argument, sessions)
    display = chat.display
    if problem:
        display.warn(problem)
    if not found.is_found:
        hint = "/search looks in all conversations, and by meaning."
        raise UsageError("This conversation does not say that.", hint)
    display.prose(origins.heading(found))
    for label, text in origins.rows(found, chat.sessions.now()):
        display.prose(f"  {label:<{origins.LABEL}}{text}", indent=origins.LABEL + 2)


@registry.command("pin [--remove] TEXT", "Context", flags=("remove",), shows="")
async def pin(chat: Chat, argument: str, options: OptionValues) -> None:
    """Keep text verbatim through every compaction and resume. Alone, list the pins.

    --remove N              remove a pin, by its number in the list or its text
    """
    if "remove" in options:
        await unpin(chat, argument, {})
        return
    if not argument:
        await list_pins(chat, "", {})
        return
    chat.conversation.pin(argument)
    chat.display.line(f"Pinned ({plural(len(chat.conversation.context.pins), 'pin')}).", "dim")


@registry.command("decide TEXT", "Context")
async def decide(chat: Chat, argument: str, options: OptionValues) -> None:
    """Record a decision. Compaction and resume keep it word for word, like a pin."""
    if not argument:
        raise usage_error("decide")
    chat.conversation.pin(f"{summary_block.DECIDED}{argument}")
    chat.display.line("Decision saved. Compaction won't change it.", "dim")


@registry.command("pins", "Context", shows="", now="/pin")
async def list_pins(chat: Chat, argument: str, options: OptionValues) -> None:
    """List the pins: an old word for /pin."""
    for number, text in enumerate(_pins(chat), 1):
        chat.display.line(f"{number}  {text}")


@registry.command("unpin N", "Context", now="/pin --remove N")
async def unpin(chat: Chat, argument: str, options: OptionValues) -> None:
    """Remove a pin: an old word for /pin --remove N."""
    pins = _pins(chat)
    chat.conversation.unpin(pins[pick("pin --remove", pins, argument)])
    chat.display.line(f"Unpinned; {len(chat.conversation.context.pins)} left.", "dim")


def _pins(chat: Chat) -> tuple[str, ...]:
    """Return the pins. Raises UsageError when there are none."""
    if not chat.conversation.context.pins:
        raise UsageError("There are no pins.", "/pin TEXT keeps a text word for word.")
    return chat.conversation.context.pins
