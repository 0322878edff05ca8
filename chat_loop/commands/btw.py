"""The command that asks beside the conversation."""

from __future__ import annotations

from chat_loop.characters import one_line
from chat_loop.commands.chat import Chat
from chat_loop.commands.registry import OptionValues, registry, usage_error
from chat_loop.values import STOPS, tokens_text

FIRST_WORDS = 60


@registry.command("btw QUESTION", "Conversation", shows=r".+")
async def btw(chat: Chat, argument: str, options: OptionValues) -> None:
    """Ask beside the conversation, also during a reply; the model forgets it afterwards.

    /btw what was the port?   answered with the whole context, without tools
    The question and the answer are in the file, and no later request or summary has them.
    """
    if not argument:
        raise usage_error("btw")
    display = chat.display
    display.begin_waiting("Asking …")
    reply = await chat.conversation.beside(argument)
    display.stop_waiting()
    display.line(f"Beside the conversation: “{one_line(argument, FIRST_WORDS)}”", "dim")
    display.reply(reply.text)
    parts = [f"Time: {reply.seconds:.1f}s"]
    if reply.usage is not None:
        parts.append(f"Tokens: {tokens_text(reply.usage)}")
    if reply.stop in STOPS:
        parts.append(STOPS[reply.stop].capitalize())
    display.prose(" | ".join(parts), "dim")
