"""Commands about what the model is given: compact, pin."""

from __future__ import annotations

from chat_loop.commands.chat import Chat
from chat_loop.commands.registry import registry
from chat_loop.errors import UsageError


@registry.command("compact", argument="[FOCUS]", bare="compact")
async def compact(chat: Chat, argument: str) -> None:
    """Summarise the session, save it, and go on in a new one that starts from the summary."""
    before = chat.conversation.budget.used
    if await chat.conversation.compact(argument):
        after = chat.conversation.budget.used
        chat.display.line(f"Context: {before:,} → {after:,} tokens.", "dim")


@registry.command("pin", argument="TEXT")
async def pin(chat: Chat, argument: str) -> None:
    """Keep a text word for word through every compaction and resume; without a text, list the pins."""
    conversation = chat.conversation
    if not argument:
        if not conversation.pins:
            raise UsageError("Nothing is pinned.", "/pin TEXT keeps a text word for word.")
        for text in conversation.pins:
            chat.display.line(f"- {text}")
        return
    conversation.pin(argument)
    chat.display.line(f"Pinned; {len(conversation.pins)} in all.", "dim")
