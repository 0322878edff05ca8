"""Commands about pins: texts that every summary block of the chain carries word for word."""

from __future__ import annotations

from chat_loop.commands.chat import Chat
from chat_loop.commands.registry import registry
from chat_loop.errors import UsageError


@registry.command("pin", argument="TEXT")
async def pin(chat: Chat, argument: str) -> None:
    """Keep a text word for word through every compaction and resume."""
    if not argument:
        await pins(chat, "")
        return
    conversation = chat.conversation
    conversation.pin(argument)
    chat.display.line(f"Pinned; {len(conversation.thread.pins)} in all.", "dim")


@registry.command("pins")
async def pins(chat: Chat, argument: str) -> None:
    """List the pins; the numbers are those that unpin takes."""
    if not chat.conversation.thread.pins:
        raise UsageError("Nothing is pinned.", "/pin TEXT keeps a text word for word.")
    for number, text in enumerate(chat.conversation.thread.pins, 1):
        chat.display.line(f"{number}  {text}")


@registry.command("unpin", argument="N")
async def unpin(chat: Chat, argument: str) -> None:
    """Carry a pin no further: by its number in the list of pins, or its text."""
    standing = chat.conversation.thread.pins
    if not standing:
        raise UsageError("Nothing is pinned.", "/pin TEXT keeps a text word for word.")
    if argument in standing:
        text = argument
    elif argument.isascii() and argument.isdigit() and 1 <= int(argument[:9]) <= len(standing):
        text = standing[int(argument[:9]) - 1]
    else:
        raise UsageError(
            f"Which pin? unpin takes a number from 1 to {len(standing)}.", "/pins lists them."
        )
    chat.conversation.unpin(text)
    chat.display.line(f"Unpinned; {len(chat.conversation.thread.pins)} left.", "dim")
