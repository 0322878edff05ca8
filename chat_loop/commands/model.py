"""The command that shows or switches the model."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING

from chat_loop.characters import one_line
from chat_loop.commands.registry import OptionValues, registry, usage_error
from chat_loop.providers.choose import full_reference
from chat_loop.values import window_text

if TYPE_CHECKING:
    from chat_loop.commands.chat import Chat


@registry.command("model [NAME]", "Model and tools")
async def model(chat: Chat, words: str, options: OptionValues) -> None:
    """Show the current model and the available ones, or switch to another.

    NAME is PROVIDER:MODEL, a provider's name for its default model, or another model of the
    current provider. What does not fit the new model's window is compacted before your next
    message.
    """
    conversation = chat.conversation
    display = chat.display
    now = conversation.agent.model
    if not words:
        await _list_models(chat, now)
        return
    if len(words.split()) > 1:
        raise usage_error("model")
    added = await asyncio.to_thread(chat.plugins.all)
    known = [*chat.models.providers, *(name for plugin in added for name in plugin.providers)]
    reference = full_reference(words, known, conversation.agent.provider.name)
    if reference == now:
        chat.model_is_chosen = True
        display.line(f"Already using {one_line(reference, 100)}.", "dim")
        return
    # this may ask a server for its models
    provider = await asyncio.to_thread(chat.models.provide, reference)
    async with AsyncExitStack() as unused:
        unused.push_async_callback(provider.close)
        await asyncio.to_thread(provider.warm)
        unused.pop_all()
    await conversation.switch(provider)
    chat.model_is_chosen = True
    if chat.memory is not None and chat.memory.fit(provider.window.tokens):
        conversation.remember()
    budget = conversation.budget
    window = window_text(budget.window.tokens, False)
    guessed = " (guessed)" if budget.window.guessed else ""
    text = f"Switched to {one_line(conversation.agent.model, 100)}."
    text += f" Context: ~{budget.share:.0%} of {window}{guessed}"
    if conversation.options.limits.enabled and budget.used >= conversation.frame.trigger:
        text += "; it is compacted before your next message"
    display.prose(f"{text}.", "dim")


async def _list_models(chat: Chat, now: str) -> None:
    offers = await asyncio.to_thread(chat.models.candidates)
    chat.display.line(f"Using {one_line(now, 100)}.")
    if others := {name: note for name, note in offers.items() if name != now}:
        chat.display.line("Also available (/model NAME):", "dim")
        width = min(max(map(len, others)), 60)
    for name, note in others.items():
        chat.display.line(f"  {one_line(name, 100):<{width}}  {note}".rstrip())
