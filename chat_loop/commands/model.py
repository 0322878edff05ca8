"""The command that shows or switches the model."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING

from chat_loop.characters import one_line
from chat_loop.commands.registry import OptionValues, registry, usage_error
from chat_loop.errors import UsageError
from chat_loop.providers.choose import full_reference
from chat_loop.providers.effort import nearest
from chat_loop.values import USUAL_EFFORT, window_text

if TYPE_CHECKING:
    from chat_loop.agent.agent import Agent
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
        await _list_models(chat)
        return
    if len(words.split()) > 1:
        raise usage_error("model")
    added = await asyncio.to_thread(chat.plugins.all)
    known = [*chat.models.providers, *(name for plugin in added for name in plugin.providers)]
    reference = full_reference(words, known, conversation.agent.provider.name)
    if reference == now:
        chat.model_is_chosen = True
        conversation.ask_as_configured()
        display.line(f"Already using {_described(conversation.agent)}.", "dim")
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
    text = f"Switched to {_described(conversation.agent)}."
    text += f" Context: ~{budget.share:.0%} of {window}{guessed}"
    if conversation.options.limits.enabled and budget.used >= conversation.frame.trigger:
        text += "; it is compacted before your next message"
    display.prose(f"{text}.", "dim")


@registry.command("effort [LEVEL]", "Model and tools", shows="")
async def effort(chat: Chat, words: str, options: OptionValues) -> None:
    """Show how much the model is asked to think, or change it for this conversation.

    /effort high      from your next message on, also for other models and when it is resumed
    /effort off       no thinking, if the model can do without
    /effort default   what the model does by itself
    models: {NAME: {effort: low}} in the config sets it for new conversations. More thinking takes
    longer and costs more, and a change has the service read the conversation anew.
    """
    agent = chat.conversation.agent
    name = one_line(agent.model, 100)
    offered = agent.provider.efforts
    if not offered:
        raise UsageError(f"The effort of {name} cannot be changed.", "/model takes another one.")
    levels = ", ".join((*offered, USUAL_EFFORT))
    level = {"none": "off", "auto": USUAL_EFFORT}.get(words.lower(), words.lower())
    if not words:
        chat.display.prose(f"{effort_text(agent)}. Levels: {levels}.")
        return
    if level not in (*offered, USUAL_EFFORT):
        raise UsageError(f"{name} has no effort “{one_line(words, 40)}”.", f"It takes {levels}.")
    chat.conversation.ask_with_effort(level)
    text = effort_text(chat.conversation.agent)
    chat.display.prose(f"{text}, from your next message on.", "dim")


def effort_text(agent: Agent) -> str:
    """Return the effort of an agent's model in words, such as `Effort max, sent as high`."""
    asked = agent.parameters.effort
    if asked in ("", USUAL_EFFORT):
        return "Effort: the model’s own"
    sent = nearest(asked, agent.provider.efforts)
    if sent == asked:
        return f"Effort: {asked}"
    return f"Effort: {asked}, sent as {sent or 'the model’s own'}"


def _described(agent: Agent) -> str:
    """Return the name of the agent's model, with how it is asked."""
    asked = agent.parameters.text
    if asked:
        return f"{one_line(agent.model, 100)}, {asked}"
    return one_line(agent.model, 100)


async def _list_models(chat: Chat) -> None:
    offers = await asyncio.to_thread(chat.models.candidates)
    now = chat.conversation.agent.model
    chat.display.line(f"Using {_described(chat.conversation.agent)}.")
    if others := {name: note for name, note in offers.items() if name != now}:
        chat.display.line("Also available (/model NAME):", "dim")
        width = min(max(map(len, others)), 60)
    for name, note in others.items():
        chat.display.line(f"  {one_line(name, 100):<{width}}  {note}".rstrip())
